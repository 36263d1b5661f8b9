"""Rare classes: nobody is released whole because there was nobody to swap with, and no count of the table is published."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.case import read_beside
from sfumato.auditing.comparison import compare
from sfumato.auditing.result import FOUND
from sfumato.auditing.runner import audit
from sfumato.engines import Local
from sfumato.errors import DataError, UsageError
from sfumato.guided.exposed_rows import are_single, are_unchanged, find_hardly_changed, unchanged_rows
from sfumato.guided.tree.framework import Framework
from sfumato.guided.tree.leaf_swap import LeafSwap
from sfumato.plans import Plan
from sfumato.randomness import SecretKey, Stream
from sfumato.releases import Release
from sfumato.releases.reader import read_original
from sfumato.releasing import release, with_method
from sfumato.schema import Consent, Schema
from sfumato.table import Column, Original

KEY = SecretKey(bytes(range(32)))
RARE, NONE = 0, 5


def people(rows=400):
    """One record has a class of its own, one has none; gaps, a constant column, ties."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 50, rows)
    label = np.where(x + rng.normal(0, 6, rows) > 25, "hi", "lo").astype(object)
    label[RARE], label[NONE] = "rare", None
    gaps = rng.random(rows) < 0.15
    return pa.table(
        {
            "x": pa.array(np.where(gaps, np.nan, x), pa.float64(), from_pandas=True),
            "y": rng.integers(0, 5, rows),
            "const": np.full(rows, 7),
            "ward": rng.choice(["a", "b", "c"], rows, p=[0.9, 0.09, 0.01]),
            "class": pa.array(label, pa.string()),
        }
    )


def planned(table, **method):
    plan = Plan.propose(table, target="class")
    return replace(plan, method={"law": "leaf-swap"} | method, channels={})


def made(table, folder, law="leaf-swap", **settings):
    return release(table, with_method(planned(table), law, settings), folder, key=KEY)


@pytest.mark.parametrize("small", ["climb", "blind", "suppress"])
@pytest.mark.parametrize("labels", [False, True])
def test_records_of_a_rare_class_are_left_out_and_the_owner_is_told_which(small, labels, tmp_path):
    table = people()
    found = made(table, tmp_path / "r", small=small, labels=labels)
    assert {RARE, NONE} <= set(found.making.left_out.tolist())
    seen = found.read_table()
    assert "rare" in seen.labels
    assert seen.rows == 400 - len(found.making.left_out)
    assert not np.isin(seen.codes, [-1, seen.labels.index("rare")]).any()
    assert "no class (1), class = rare (1)" in found.making.warnings[0]


def test_the_manifest_states_rules_and_no_count(tmp_path):
    table = people()
    for small in ("climb", "keep", "suppress", "blind"):
        found = made(table, tmp_path / small, small=small)
        public = json.loads((tmp_path / small / "manifest.json").read_text())["extra"]["public"]
        assert set(public) == {"limits"}
        readme = (tmp_path / small / "README.md").read_text()
        assert all(limit in readme for limit in public["limits"])
        assert ("fact about somebody" in readme) == (small == "keep")
        if small == "climb":  # the same words for a table that has no rare class
            assert made("iris", tmp_path / "i").manifest.extra["public"] == found.manifest.extra["public"]


def test_the_release_is_that_of_a_table_without_them():
    table = read_original(people(), planned(people()))
    rest = table.take(~np.isin(np.arange(table.rows), [RARE, NONE]))
    first, second = (LeafSwap().perturb(t, Stream(KEY)).table for t in (table, rest))
    for one, other in zip(first.columns, second.columns, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_two_of_a_class_are_as_few_as_one_and_three_are_enough():
    table = read_original(people(), planned(people()))
    rare = table.labels.index("rare")
    for more, out in ((1, 3), (2, 1)):
        classes = table.codes.copy()
        classes[np.arange(300, 300 + more)] = rare
        left = (
            LeafSwap()
            .perturb(Original(table.columns, Column.of_codes("label", table.labels, classes)), Stream(KEY))
            .left_out
        )
        assert len(left) == out


def test_numbers_that_the_framework_swaps_follow_the_same_rule_and_noise_does_not():
    table = read_original(people(), planned(people()))
    assert Framework(numbers="swap").perturb(table, Stream(KEY)).left_out.tolist() == [RARE, NONE]
    assert Framework().perturb(table, Stream(KEY)).table.rows == 400


def test_a_record_whom_no_leaf_of_its_class_can_give_anything_swaps_with_its_leaf():
    # Class b: alone on the left, and no value of the others satisfies what the left leaf asks of x, the only column.
    from sfumato.schema import Attribute, Interval, Kind
    from sfumato.trees.grow.c45 import c45

    x = np.r_[np.arange(20.0), 100 + np.arange(20.0)]
    classes = np.r_[np.zeros(20), np.ones(20)].astype(np.int64)
    classes[3] = 1
    table = Original(
        (Column(Attribute("x", Kind.REAL, Interval(0, 200)), None, x),), Column.of_codes("class", ("a", "b"), classes)
    )
    tree = c45(table)
    moved = 0
    for key in range(20):
        done = LeafSwap().perturb(table, Stream(SecretKey(bytes([key]) * 32)), tree=tree)
        np.testing.assert_array_equal(tree.apply(done.table), tree.apply(table))
        np.testing.assert_array_equal(np.sort(done.table["x"].values), x)
        assert any("exchanged their values with other classes of their leaf" in w for w in done.warnings)
        moved += done.table["x"].values[3] != x[3]
    assert moved >= 14  # one of twenty partners is itself


def test_the_owner_can_audit_and_compare_though_rows_are_left_out(tmp_path):
    table = people()
    made(table, tmp_path / "r")
    assert compare(table, tmp_path / "r").trees[0]["same_root"]
    found = audit(table, tmp_path / "r", targets=60)
    assert found.rows == 398
    rows = [w["row"] for w in found.to_dict()["records"]["worst"]]
    assert RARE + 1 not in rows
    assert max(rows) > 398 or NONE + 1 not in rows
    made(table, tmp_path / "s", small="suppress")
    compare(table, tmp_path / "s")


def test_another_release_is_laid_beside_row_by_row_though_rows_are_left_out(tmp_path):
    table = people()
    made(table, tmp_path / "r")
    made(table, tmp_path / "c", law="class-random")
    rows = np.delete(np.arange(400), [RARE, NONE])
    view = read_beside(Release.open(tmp_path / "c"), rows, table, "utf-8")
    np.testing.assert_array_equal(view["y"].values, table["y"].to_numpy()[rows])  # class noise leaves y in clear
    assert audit(table, tmp_path / "r", others=[tmp_path / "c"], targets=60).rows == 398
    with pytest.raises(DataError, match="leaves rows out that the release has; audit that one instead"):
        audit(table, tmp_path / "c", others=[tmp_path / "r"], targets=60)


def test_records_kept_whole_raise_an_alarm_that_names_them_to_the_owner_alone(tmp_path):
    table = people()
    found = made(table, tmp_path / "r", small="keep")
    assert any("stay as they are in every column that was modified" in w for w in found.making.warnings)
    seen = audit(table, tmp_path / "r", targets=60)
    assert {RARE + 1, NONE + 1} <= set(seen.whole)
    alarms = [a for a in seen.to_dict()["alarms"] if "released as they are in every modified column" in a["words"]]
    assert [a["level"] for a in alarms] == [FOUND]
    assert "rows of the original: 1, " in alarms[0]["items"][0]
    public = [a for a in seen.to_dict("public")["alarms"] if "every modified column" in a["words"]]
    assert public[0]["items"] == []
    assert "released whole" in seen.verdict


def test_true_columns_keep_their_rows_where_others_are_left_out(tmp_path):
    table = people()
    plan = planned(table)
    schema = Schema(tuple(replace(a, consent=Consent.TRUE if a.name == "y" else a.consent) for a in plan.schema))
    found = release(table, with_method(replace(plan, schema=schema), "leaf-swap", {}), tmp_path / "r", key=KEY)
    truth = np.delete(table["y"].to_numpy(), [RARE, NONE])
    np.testing.assert_array_equal(found.read_table()["y"].values, truth)


def test_by_counts_rare_classes_are_left_out_too(tmp_path):
    import pyarrow.parquet as pq

    table = people()
    pq.write_table(table, tmp_path / "t.parquet")
    for small, out in (("suppress", True), ("keep", False)):
        plan = planned(table, small=small)
        done = release(tmp_path / "t.parquet", plan, tmp_path / small, engine=Local(gathers=False), key=KEY)
        seen = Release.open(tmp_path / small).read_table()
        assert (seen.labels.index("rare") in seen.codes) is not out
        assert (-1 in seen.codes) is not out
        assert any("no class (1), class = rare (1)" in w for w in done.making.warnings) is out
        told = set(done.manifest.extra["public"])
        assert told == {"by_counts", "limits"} | (set() if out else {"tree_from_rows"})


def test_a_table_of_rare_classes_alone_is_refused():
    table = read_original(people(), planned(people()))
    few = table.take(np.array([RARE, NONE]))
    with pytest.raises(UsageError, match="no class has 3 records"):
        LeafSwap().perturb(few, Stream(KEY))


def test_whole_means_unchanged_and_unlike_any_other_row():
    nan = np.nan
    before = {"a": np.array([1.0, 1.0, nan, 4.0]), "b": np.array([0.0, 0.0, 2.0, 3.0])}
    after = {"a": np.array([1.0, 1.0, nan, 5.0]), "b": np.array([0.0, 0.0, 2.0, 3.0])}
    assert are_unchanged(before, after, ["a", "b"]).tolist() == [True, True, True, False]
    assert are_single(after).tolist() == [False, False, True, True]
    assert unchanged_rows(before, after, ["a", "b"]).tolist() == [False, False, True, False]
    assert unchanged_rows(before, after, ["b"]).tolist() == [False, False, True, True]
    assert not unchanged_rows(before, after, []).any()


def test_a_label_that_the_tree_tests_is_said_to_be_hardly_changed(tmp_path):
    """Everybody in a leaf has the same ward, so that swapping within leaves changes only who has none."""
    rng = np.random.default_rng(6)
    ward = np.array(["a", "b", "c"])[rng.integers(0, 3, 900)]
    sick = np.where(ward == "a", "yes", "no")
    table = pa.table(
        {
            "ward": pa.array(ward, mask=rng.random(900) < 0.1),
            "age": rng.integers(20, 80, 900),
            "sick": sick,
        }
    )
    plan = Plan.propose(table, target="sick")
    made = release(table, with_method(plan, "leaf-swap", {}), tmp_path / "r", key=SecretKey(bytes(range(32))))
    assert made.making.changed["ward"] > 0.05
    said = [w for w in made.making.warnings if w.startswith("Hardly any value was changed")]
    assert len(said) == 1
    assert "ward (" in said[0]
    assert "age" not in said[0]
    before = {"x": np.array([1.0, 2.0, np.nan, 4.0]), "y": np.array([1.0, 2.0, 3.0, np.nan])}
    after = {"x": np.array([1.0, np.nan, 2.0, 4.0]), "y": np.array([2.0, 1.0, 3.0, np.nan])}
    assert find_hardly_changed(before, after, ["x", "y"]) == {"x": 0.0}
