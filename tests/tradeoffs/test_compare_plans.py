"""Two plans or drafts side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import cli
from sfumato.errors import UsageError

WEAK, STRONG = (sf.plan("iris", privacy=p) for p in (0.1, 1.0))


def test_the_stronger_plan_finds_fewer_people_and_errs_more():
    result = sf.compare_plans(WEAK, STRONG, "iris", targets=100)
    weak, strong = result.first.figures, result.second.figures
    assert weak["people_found"] > strong["people_found"]
    assert weak["distribution_error"] < strong["distribution_error"]
    assert result.first.columns["petal_width"]["law"] == "gaussian"
    assert result.rows == 150
    assert result == sf.compare_plans(WEAK, STRONG, "iris", targets=100)


def test_a_large_table_is_sampled_and_the_same_plan_twice_is_the_same():
    plan = sf.plan("adult", privacy=0.5)
    result = sf.compare_plans(plan, plan, "adult", sample=400, targets=20)
    assert result.rows == 400
    assert result.first.figures == result.second.figures


def test_drafts_are_judged_on_all_their_rows_shuffled_or_not(tmp_path):
    key = tmp_path / "k"
    drafts = [
        sf.release("iris", plan, tmp_path / str(n), key=key, draft=True, shuffle=bool(n))
        for n, plan in enumerate((WEAK, STRONG))
    ]
    with pytest.raises(UsageError, match="give the key"):
        sf.compare_plans(*drafts, "iris", targets=20)
    result = sf.compare_plans(*drafts, "iris", key=key, targets=50)
    assert result.first.figures["people_found"] > result.second.figures["people_found"]


def test_a_plan_and_a_draft_are_not_compared(tmp_path):
    draft = sf.release("iris", WEAK, tmp_path / "a", key=tmp_path / "k", draft=True)
    with pytest.raises(UsageError, match="two plans, or two folders"):
        sf.compare_plans(draft, STRONG, "iris")
    with pytest.raises(UsageError, match="too few rows"):
        sf.compare_plans(WEAK, STRONG, "iris", sample=10)


def test_the_command_line_shows_tables_or_one_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, plan in (("weak.toml", WEAK), ("strong.toml", STRONG)):
        Path(name).write_text(plan.to_toml())
    command = ["compare-plans", "weak.toml", "strong.toml", "--table", "iris", "--targets", "20"]
    shown = CliRunner().invoke(cli, command)
    assert shown.exit_code == 0, shown.stderr
    assert "people found beyond chance" in shown.stdout
    document = json.loads(CliRunner().invoke(cli, [*command, "--json"]).stdout)
    assert [plan["name"] for plan in document["plans"]] == ["weak.toml", "strong.toml"]
    assert {"people_found", "promises_broken", "tree_accuracy", "columns"} <= document["plans"][0].keys()
