"""Rows that are like their neighbours are seen in one pass, block by block, and the owner is told to shuffle them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

from sfumato.cli.app import cli
from sfumato.plans import Plan
from sfumato.plans.profile import LabelsAlong, NumbersAlong, is_ordered


def table(n=2000, shuffled=False):
    rng = np.random.default_rng(1)
    out = pa.table(
        {
            "income": np.sort(rng.gamma(2, 20_000, n).round()).astype(np.int64),
            "ward": np.sort(rng.choice(["east", "north", "south", "west"], n)),
            "age": rng.integers(18, 91, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    return out.take(rng.permutation(n)) if shuffled else out


@pytest.mark.parametrize("cut", [0, 1, 7, 500, 999, 1000])
def test_numbers_of_two_blocks_add_up_to_those_of_one(cut):
    values = 1e9 + np.random.default_rng(0).normal(size=1000).cumsum()
    both = NumbersAlong.of(values[:cut]) + NumbersAlong.of(values[cut:])
    assert both.likeness == pytest.approx(NumbersAlong.of(values).likeness, abs=1e-9)
    assert both.likeness == pytest.approx(np.corrcoef(values[1:], values[:-1])[0, 1], abs=0.02)


@pytest.mark.parametrize("cut", [0, 1, 7, 500, 999, 1000])
def test_labels_of_two_blocks_add_up_to_those_of_one(cut):
    texts = np.repeat(np.random.default_rng(0).choice(list("abc"), 250), 4)
    whole = LabelsAlong.of(pa.array(texts))
    assert LabelsAlong.of(pa.array(texts[:cut])) + LabelsAlong.of(pa.array(texts[cut:])) == whole
    shares = np.unique(texts, return_counts=True)[1] / 1000
    expected = (np.mean(texts[1:] == texts[:-1]) - (shares**2).sum()) / (1 - (shares**2).sum())
    assert whole.likeness == pytest.approx(expected)


def test_chance_and_odd_columns_are_no_order():
    rng = np.random.default_rng(0)
    assert not any(is_ordered(NumbersAlong.of(rng.normal(size=300))) for _ in range(200))
    assert not any(is_ordered(LabelsAlong.of(pa.array(rng.choice(list("aab"), 300)))) for _ in range(200))
    for values in ([], [1.0], [2.0] * 50, [np.nan] * 5, [1e308, -1e308] * 50):
        assert not is_ordered(NumbersAlong.of(np.array(values, dtype=float)))
    assert not is_ordered(LabelsAlong.of(pa.array([], pa.string())))
    assert not is_ordered(LabelsAlong.of(pa.array(["same"] * 100)))
    assert not is_ordered(NumbersAlong.of(np.arange(4.0)))  # sorted, but by chance one time in twelve


def test_a_plan_names_the_columns_that_are_sorted_and_none_of_a_shuffled_table():
    plan = Plan.propose(table())
    assert plan.ordered == ("income", "ward")
    assert "shuffle the rows" in plan.notes["income"]
    assert "shuffle" not in plan.notes["age"]
    assert "shuffle the rows" in plan.to_toml()
    shuffled = Plan.propose(table(shuffled=True))
    assert shuffled.ordered == ()
    assert "shuffle" not in shuffled.to_toml()


def test_plan_and_release_warn_on_the_command_line(tmp_path):
    path = tmp_path / "people.csv"
    pyarrow.csv.write_csv(table(600), path)
    runs = [["plan", str(path)], ["release", str(path), "-o", str(tmp_path / "r"), "--key", str(tmp_path / "key")]]
    for arguments in runs:
        found = CliRunner().invoke(cli, arguments)
        assert found.exit_code == 0
        assert "neighbouring rows are alike in income, ward" in found.output.replace(" and ", ", ")
        assert "the plan has shuffle = true" in found.output
