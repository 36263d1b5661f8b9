"""Guided releases of tables that an engine holds: the same guarantees, whatever the rows are parted into."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines import Local
from sfumato.errors import LedgerError, UsageError
from sfumato.guided.base import make_method
from sfumato.guided.tree.class_noise import expected_changes
from sfumato.guided.tree.owner_tree import Segments
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releases.ledger import Ledger
from sfumato.releases.reader import count_original, gather_sample, read_original
from sfumato.releasing import release
from sfumato.schema import Role
from sfumato.trees.grow.c45 import c45

KEY = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(4)
    n = 3000
    colour = rng.integers(0, 4, n)
    size = rng.integers(0, 3, n)
    x = rng.random(n)
    label = np.where((colour >= 2) & (x > 0.4), "yes", "no")
    label = np.where(rng.random(n) < 0.15, np.where(label == "yes", "no", "yes"), label)
    colours = [None if gap else "rgbw"[c] for c, gap in zip(colour, rng.random(n) < 0.02, strict=True)]
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    data = {"colour": colours, "size": [f"s{s}" for s in size], "x": np.round(x, 3), "label": label}
    pq.write_table(pa.table(data), path)
    return path


@pytest.fixture(scope="module")
def plan(table: Path) -> Plan:
    return Plan.propose(table, target="label")


def made_by(
    table: Path, plan: Plan, folder: Path, law: str, engine: Local | None = None, **parameters: object
) -> Release:
    method = make_method(law, parameters)
    plan = replace(plan, method=method.to_dict(), channels={})
    return release(table, plan, folder, engine=engine or Local(gathers=False), key=KEY)


def labels(release: Release) -> np.ndarray:
    found = release.read_table().codes
    assert found is not None
    return found


def test_class_random_keeps_the_totals_of_every_leaf_exactly(table: Path, plan: Plan, tmp_path: Path) -> None:
    truth = read_original(table, plan)
    leaf = c45(truth).apply(truth)
    made = made_by(table, plan, tmp_path / "r", "class-random")
    new = labels(made)
    assert (new != truth.codes).mean() > 0.1
    for node in np.unique(leaf):
        here = leaf == node
        np.testing.assert_array_equal(np.bincount(new[here], minlength=2), np.bincount(truth.codes[here], minlength=2))
    assert made.manifest["label"].guided == "class-random"
    assert made.manifest["x"].clear
    np.testing.assert_array_equal(made.read_table()["x"].values, truth["x"].values)


@pytest.mark.parametrize("law", ["class-random", "class-probabilistic", "class-all-leaves"])
def test_class_noise_changes_as_many_labels_as_the_formula_says(
    table: Path, plan: Plan, tmp_path: Path, law: str
) -> None:
    truth = read_original(table, plan)
    leaf = np.unique(c45(truth).apply(truth), return_inverse=True)[1]
    counts = np.bincount(leaf * 2 + truth.codes, minlength=2 * (leaf.max() + 1)).reshape(-1, 2).astype(float)
    changed = (labels(made_by(table, plan, tmp_path / "r", law)) != truth.codes).sum()
    # The number of changes has at most binomial spread, √(n/4) = 27; four times that is one run in 15,000.
    assert abs(changed - expected_changes(counts)) < 4 * np.sqrt(len(leaf) / 4)


def test_detective_keeps_the_values_of_every_leaf_when_nothing_moves(table: Path, plan: Plan, tmp_path: Path) -> None:
    truth = read_original(table, plan)
    made = made_by(table, plan, tmp_path / "r", "detective", p=0.0)
    seen = made.read_table()
    for name in ("colour", "size"):
        own = Segments.of(truth, name)
        old, new = truth[name].values, seen[name].values
        np.testing.assert_array_equal(np.isnan(old), np.isnan(new))
        assert np.nanmean(old != new) > 0.1
        for node in np.unique(own.node):
            here = (own.node == node) & ~np.isnan(old)
            np.testing.assert_array_equal(np.sort(old[here]), np.sort(new[here]))


def test_detective_by_single_draws_follows_the_law_of_the_leaf(table: Path, plan: Plan, tmp_path: Path) -> None:
    truth = read_original(table, plan)
    seen = made_by(table, plan, tmp_path / "r", "detective", p=0.2, v=0.1, draws="iid").read_table()
    own = Segments.of(truth, "size")
    for node in own.leaves.tolist():
        here = own.node == node
        law, n = own.law(node, 0.2, 0.1, 1), int(here.sum())
        found = np.bincount(seen["size"].values[here].astype(int), minlength=len(law)) / n
        assert np.abs(found - law).max() < 4.5 * np.sqrt(0.25 / n)


@pytest.mark.parametrize("law", ["class-random", "detective", "leaf-swap"])
def test_the_release_does_not_depend_on_blocks_or_threads(table: Path, plan: Plan, tmp_path: Path, law: str) -> None:
    more = {"small": "keep"} if law == "leaf-swap" else {}
    parts = tmp_path / "parts"
    parts.mkdir()
    whole = pq.read_table(table)
    for i, begin in enumerate((0, 100, 2000)):
        pq.write_table(whole.slice(begin, (100, 1900, 1000)[i]), parts / f"{i}.parquet")
    first = made_by(table, plan, tmp_path / "a", law, **more)
    second = made_by(parts, plan, tmp_path / "b", law, Local(2, gathers=False), **more)
    assert first.to_arrow().equals(second.to_arrow())
    assert first.manifest == second.manifest


def test_a_changed_table_draws_afresh_and_the_ledger_refuses_it(table: Path, plan: Plan, tmp_path: Path) -> None:
    method = make_method("class-random", {})
    plan = replace(plan, method=method.to_dict(), channels={})
    options = {"engine": Local(gathers=False), "key": tmp_path / "key"}
    first = release(table, plan, tmp_path / "a", **options)
    again = release(table, plan, tmp_path / "b", **options)
    assert first.to_arrow().equals(again.to_arrow())
    whole = pq.read_table(table)
    flipped = whole["label"].to_pylist()
    flipped[7] = "yes" if flipped[7] == "no" else "no"
    pq.write_table(whole.set_column(3, "label", pa.array(flipped)), tmp_path / "t.parquet")
    with pytest.raises(LedgerError, match="fresh noise"):
        release(tmp_path / "t.parquet", plan, tmp_path / "c", **options)


@pytest.mark.parametrize("law", ["class-random", "leaf-swap"])
def test_a_correction_that_leaves_every_count_as_it_was_draws_afresh_too(
    table: Path, plan: Plan, tmp_path: Path, law: str
) -> None:
    method = make_method(law, {"small": "keep"} if law == "leaf-swap" else {})
    plan = replace(plan, method=method.to_dict(), channels={})
    options = {"engine": Local(gathers=False), "key": tmp_path / "key", "sample": 500}
    release(table, plan, tmp_path / "a", **options)
    whole = pq.read_table(table)
    truth = read_original(table, plan)
    mined = gather_sample(count_original(table, plan, Local()), 500)
    leaf = c45(mined.table).apply(truth)
    x = truth["x"].values.copy()
    free = np.setdiff1d(np.flatnonzero((leaf == leaf[mined.rows[0]]) & (truth.codes == 0)), mined.rows)
    one, other = free[0], free[x[free] != x[free[0]]][0]
    x[[one, other]] = x[[other, one]]  # two records of one leaf and class, which were not mined
    pq.write_table(whole.set_column(2, "x", pa.array(x)), tmp_path / "t.parquet")
    with pytest.raises(LedgerError, match="fresh noise"):
        release(tmp_path / "t.parquet", plan, tmp_path / "b", **options)
    release(table, plan, tmp_path / "c", **options)


@pytest.mark.parametrize("law", ["innocent", "framework", "rdd"])
def test_methods_that_need_the_whole_table_say_so(table: Path, plan: Plan, tmp_path: Path, law: str) -> None:
    with pytest.raises(
        UsageError, match="needs the whole table in the memory of one machine: run it with engine=Local"
    ):
        made_by(table, plan, tmp_path / "r", law)


def test_leaf_swap_keeps_every_table_by_leaf_and_class_exactly(table: Path, plan: Plan, tmp_path: Path) -> None:
    truth = read_original(table, plan)
    leaf = c45(truth).apply(truth)
    made = made_by(table, plan, tmp_path / "r", "leaf-swap", small="keep")
    seen = made.read_table()
    np.testing.assert_array_equal(seen.codes, truth.codes)
    for name in ("colour", "size", "x"):
        old, new = truth[name].values, seen[name].values
        assert np.mean((old != new) & ~(np.isnan(old) & np.isnan(new))) > 0.3
        for cell in np.unique(leaf * 2 + truth.codes):
            here = leaf * 2 + truth.codes == cell
            np.testing.assert_array_equal(np.sort(old[here]), np.sort(new[here]))
        assert made.manifest[name].guided == "leaf-swap"
    assert made.manifest.method["redraws"] == 0
    moved = {n: seen[n].values != truth[n].values for n in ("size", "x")}
    assert np.mean(moved["x"] & ~moved["size"]) > 0.05  # columns go their own ways


def test_leaf_swap_leaves_small_cells_out_where_asked(table: Path, plan: Plan, tmp_path: Path) -> None:
    truth = read_original(table, plan)
    cell = c45(truth).apply(truth) * 2 + truth.codes
    small = np.bincount(cell)[cell] < 100
    assert 0 < small.sum() < 3000
    made = made_by(table, plan, tmp_path / "r", "leaf-swap", small="suppress", least=100)
    assert made.manifest.data.rows == 3000 - small.sum()
    told = made.manifest.extra["public"]
    assert "records with fewer than 100 in their leaf and class are left out" in told["limits"]
    assert str(small.sum()) not in json.dumps(told)
    kept = made_by(table, plan, tmp_path / "k", "leaf-swap", small="keep", least=100)
    assert any("such a row is a fact about somebody" in limit for limit in kept.manifest.extra["public"]["limits"])
    np.testing.assert_array_equal(kept.read_table()["x"].values[small], truth["x"].values[small])
    with pytest.raises(UsageError, match="every leaf and class is a small cell"):
        made_by(table, plan, tmp_path / "n", "leaf-swap", small="suppress", least=5000)


def test_values_that_find_nobody_to_swap_with_are_counted_and_told_as_in_memory(
    table: Path, plan: Plan, tmp_path: Path
) -> None:
    method = make_method("leaf-swap", {"small": "keep", "least": 100, "redraws": 0})
    plan = replace(plan, method=method.to_dict(), channels={})
    apart = release(table, plan, tmp_path / "a", engine=Local(gathers=False), key=KEY)
    together = release(table, plan, tmp_path / "b", key=KEY)
    assert apart.making.warnings[0] == together.making.warnings[0]
    assert "values of" in apart.making.warnings[0]
    told = [made.manifest.extra["public"]["limits"] for made in (apart, together)]
    assert told[0] == told[1]


@pytest.mark.parametrize("law", ["class-random", "leaf-swap"])
def test_the_ledger_knows_law_and_class_of_a_guided_release(table: Path, plan: Plan, tmp_path: Path, law: str) -> None:
    method = make_method(law, {"small": "keep"} if law == "leaf-swap" else {})
    plan = replace(plan, method=method.to_dict(), channels={})
    release(table, plan, tmp_path / "a", engine=Local(gathers=False), key=tmp_path / "key")
    (entry,) = Ledger.of_key(tmp_path / "key").entries()
    assert set(entry.noise) == {"colour", "size", "x", "label"}
    assert entry.laws == {name: {"law": law} for name in entry.noise}


class KeysElsewhere(Local):
    """An engine whose workers are said to hold the key file."""

    keys_on_workers = True  # type: ignore[assignment]


def test_a_guided_release_sends_keys_and_says_so_where_none_may_travel(table: Path, plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave keys_on_workers"):
        made_by(table, plan, tmp_path / "r", "class-random", KeysElsewhere(gathers=False))
    assert not (tmp_path / "r").exists()


def test_what_needs_whole_releases_or_a_class_is_refused(table: Path, plan: Plan, tmp_path: Path) -> None:
    for law, parameters, words in (
        ("class-random", {"best_of": 3}, "compares whole releases"),
        ("detective", {"chained": True}, "follows values already released"),
        ("leaf-swap", {}, "small=climb exchanges values with rows of other leaves"),
        ("leaf-swap", {"small": "keep", "labels": True}, "labels=true deals values out by released labels"),
    ):
        with pytest.raises(UsageError, match=words):
            made_by(table, plan, tmp_path / "r", law, **parameters)
    bare = replace(plan, schema=type(plan.schema)(tuple(replace(a, role=Role.ATTRIBUTE) for a in plan.schema)))
    with pytest.raises(UsageError, match="needs a class"):
        made_by(table, bare, tmp_path / "r", "class-random")


def test_a_tree_of_a_sample_serves_all_rows(table: Path, plan: Plan, tmp_path: Path) -> None:
    method = make_method("class-random", {})
    plan = replace(plan, method=method.to_dict(), channels={})
    made = release(table, plan, tmp_path / "r", engine=Local(gathers=False), key=KEY, sample=500)
    assert made.making.mined_rows == 500
    assert made.manifest.extra["public"]["tree_from_rows"] == 500
    new, old = labels(made), read_original(table, plan).codes
    np.testing.assert_array_equal(np.bincount(new), np.bincount(old))
    assert made.making.changed["label"] == pytest.approx(float((new != old).mean()))
