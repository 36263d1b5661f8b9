"""What a release says about itself: no bound where there is none, and what a bound covers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.channels import SquareWave, Substitution
from sfumato.description import describe_manifest, readme
from sfumato.plans import Plan
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Missing, Role, Schema


def test_the_readme_says_what_was_done_and_how_to_check_the_data(tmp_path: Path) -> None:
    made = sf.release("iris", None, tmp_path / "r", noise="laplace", privacy=0.5)
    text = readme(made.manifest)
    assert (tmp_path / "r/README.md").read_text("utf-8") == text
    assert all(f"| {c.attribute.name} |" in text for c in made.manifest.columns)
    assert made.manifest.data.sha256 in text


def test_a_true_column_leaves_the_record_without_a_bound_and_the_others_with_theirs(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "y"] * 50, "c": ["p", "q"] * 50})
    plan = replace(Plan.propose(table, target="c"), channels={"a": Substitution(gamma=3.0)})
    record = describe_manifest(release(table, plan, tmp_path / "r").manifest)["record"]
    assert record["epsilon"] is None
    assert record["infinite"] == ["c"]
    assert record["modified_only"]["epsilon"] == pytest.approx(np.log(3))
    assert "no bound, since c is released as it is. Over the modified attributes alone: ε = 1.10" in record["in_words"]


def test_an_epsilon_beside_visible_gaps_says_what_it_covers(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "y", None, "y"] * 30})
    plan = replace(Plan.propose(table), channels={"a": Substitution(gamma=3.0)})
    words = describe_manifest(release(table, plan, tmp_path / "r").manifest)["attributes"]["a"]["privacy"][
        "epsilon_in_words"
    ]
    assert words == "1.099 among values that are there; who has none is seen"


def _weights_and_labels(gaps: bool, target: str | None = None) -> tuple[pa.Table, Plan]:
    weights = [40.0, None if gaps else 50.0, 90.0, 140.0] * 30
    table = pa.table({"label": ["x", "y", None, "y"] * 30, "weight": weights, "c": ["p", "q"] * 60})
    table = table if target else table.drop_columns(["c"])
    columns = (
        Attribute("label", Kind.CATEGORICAL, Categories(("x", "y")), missing=Missing.CATEGORY),
        Attribute("weight", Kind.INTEGER, Interval(40, 140)),
        *([Attribute("c", Kind.CATEGORICAL, Categories(("p", "q")), Role.TARGET, Consent.TRUE)] if target else []),
    )
    return table, Plan(Schema(columns), {"label": Substitution(epsilon=1.0), "weight": SquareWave(epsilon=1.0)})


def test_a_record_with_visible_gaps_is_given_no_bound_in_words_or_numbers(tmp_path: Path) -> None:
    table, plan = _weights_and_labels(gaps=True)
    about = describe_manifest(release(table, plan, tmp_path / "r").manifest)
    record = about["record"]
    assert (record["epsilon"], record["gamma"], "rho" in record) == (None, None, False)
    assert record["infinite"] == record["missing_public"] == ["weight"]
    assert "seen for certain" in record["reason"]
    assert 'missing = "category"' in record["next_step"]
    assert record["same_gaps_only"]["epsilon"] == pytest.approx(2.0)
    assert "no bound, since missing cells of weight are left missing" in record["in_words"]
    assert "Between records with the same cells missing: ε = 2.00" in record["in_words"]
    assert 'missing = "category"' in record["in_words"]
    assert {n: a["missing_public"] for n, a in about["attributes"].items()} == {"label": False, "weight": True}
    assert about["attributes"]["weight"]["privacy"]["missing_public"]
    assert "missing_public" not in about["attributes"]["label"]["privacy"]


def test_a_record_without_gaps_keeps_its_bound(tmp_path: Path) -> None:
    record = describe_manifest(release(*_weights_and_labels(gaps=False), tmp_path / "r").manifest)["record"]
    assert record["epsilon"] == pytest.approx(2.0)
    assert "Per record over all attributes: ε = 2.00" in record["in_words"]
    assert "missing_public" not in record


def test_visible_gaps_and_a_true_column_are_both_named(tmp_path: Path) -> None:
    record = describe_manifest(release(*_weights_and_labels(gaps=True, target="c"), tmp_path / "r").manifest)["record"]
    assert record["epsilon"] is None
    assert set(record["infinite"]) == {"weight", "c"}
    assert record["modified_only"]["epsilon"] is None
    assert record["modified_only"]["same_gaps_only"]["epsilon"] == pytest.approx(2.0)
    assert "since c is released as it is, and missing cells of weight are left missing" in record["in_words"]
    assert (
        "Over the modified attributes alone, between records with the same cells missing: ε = 2.00"
        in record["in_words"]
    )


def test_labels_with_missing_among_them_are_counted_with_it(tmp_path: Path) -> None:
    about = describe_manifest(release(*_weights_and_labels(gaps=False), tmp_path / "r").manifest)
    assert about["attributes"]["label"]["privacy"]["in_words"].endswith(" of 3 labels, missing among them")
