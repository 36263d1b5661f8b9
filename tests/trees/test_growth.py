"""Growth against a brute-force twin, and the properties that counting must have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.counts import Grid
from sfumato.errors import DataError, UsageError
from sfumato.trees.grow import coded_rows
from sfumato.trees.grow.coded_rows import CodedRows
from sfumato.trees.grow.growth import Limits, grow
from sfumato.trees.grow.pruning import KeepAll
from sfumato.trees.grow.splits import BinarySplitter, gini


def gini_of(classes, weights, k):
    """n × gini, record by record."""
    n = sum(weights)
    if n == 0:
        return 0.0
    return n - sum(sum(w for y, w in zip(classes, weights, strict=True) if y == c) ** 2 for c in range(k)) / n


def twin(codes, sizes, unordered, classes, weights, k, min_leaf, depth):
    """The best split of a list of records by trying every cut and every subset; then the same for both sides."""
    rows = range(len(classes))
    total = sum(weights)
    counts = [sum(weights[r] for r in rows if classes[r] == c) for c in range(k)]
    best = None
    for a, size in enumerate(sizes):
        known = [r for r in rows if codes[a][r] >= 0]
        before = gini_of([classes[r] for r in known], [weights[r] for r in known], k)
        if a in unordered:
            present = sorted({codes[a][r] for r in known})
            lefts = [
                {present[0], *rest} for m in range(len(present) - 1) for rest in itertools.combinations(present[1:], m)
            ]
        else:
            lefts = [set(range(cut + 1)) for cut in range(size - 1)]
        for left in lefts:
            sides = [[r for r in known if (codes[a][r] in left) == side] for side in (True, False)]
            if any(sum(weights[r] for r in s) < max(min_leaf, 1e-9) for s in sides):
                continue
            after = sum(gini_of([classes[r] for r in s], [weights[r] for r in s], k) for s in sides)
            if before - after > (1e-9 * total if best is None else best[0] + 1e-9):
                best = (before - after, a, left, sides)
    if best is None or depth == 0 or total < 2 * min_leaf or max(counts) == total:
        return ("leaf", counts)
    _, a, left, sides = best
    heavier = 0 if sum(weights[r] for r in sides[0]) >= sum(weights[r] for r in sides[1]) else 1
    sides[heavier] += [r for r in rows if codes[a][r] < 0]
    below = [
        twin([[c[r] for r in s] for c in codes], sizes, unordered, [classes[r] for r in s], [weights[r] for r in s], k,
             min_leaf, depth - 1)
        for s in (sorted(side) for side in sides)
    ]  # fmt: skip
    return ("split", best[0], counts, below)


def shape(growth, node=0):
    """The gains and class counts of a growth, nested as the twin's."""
    counts = growth.counts[node].tolist()
    if growth.attribute[node] < 0:
        return ("leaf", counts)
    return ("split", growth.gain[node], counts, [shape(growth, c) for c in growth.child_numbers(node)])


def same(a, b):
    """Equal gains and, where no tie blurs it, equal counts all the way down."""
    assert a[0] == b[0]
    if a[0] == "leaf":
        np.testing.assert_allclose(a[1], b[1], atol=1e-9)
        return
    np.testing.assert_allclose(a[1], b[1], atol=1e-7)
    np.testing.assert_allclose(a[2], b[2], atol=1e-9)
    for left, right in zip(a[3], b[3], strict=True):
        same(left, right)


@st.composite
def tables(draw, classes=2, kinds=(True, False)):
    n = draw(st.integers(2, 40))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    codes = [draw(st.lists(st.integers(-1, s - 1), min_size=n, max_size=n)) for s in sizes]
    unordered = frozenset(a for a in range(len(sizes)) if draw(st.sampled_from(kinds)))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))
    weighted = draw(st.booleans())
    weights = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)) if weighted else [1] * n
    return codes, sizes, unordered, y, weights, weighted


def grown(table, k, **kwargs):
    codes, sizes, unordered, y, weights, weighted = table
    return grow(
        [np.array(c, np.int16) for c in codes],
        [Grid(atoms=np.arange(s, dtype=float)) for s in sizes],
        np.array(y),
        k,
        np.array(weights, float) if weighted else None,
        ordered=[a not in unordered for a in range(len(sizes))],
        pruner=KeepAll(),
        **kwargs,
    )


@settings(max_examples=150, deadline=None)
@given(tables(), st.integers(1, 4))
def test_the_root_split_gains_what_the_best_of_all_cuts_and_subsets_gains(table, min_leaf):
    codes, sizes, unordered, y, weights, _ = table
    expected = twin(codes, sizes, unordered, y, weights, 2, min_leaf, 1)
    found = grown(table, 2, limits=Limits(max_depth=1, min_leaf=min_leaf))
    assert (found.attribute[0] < 0) == (expected[0] == "leaf")
    if expected[0] == "split":
        assert found.gain[0] == pytest.approx(expected[1], abs=1e-7)


@settings(max_examples=150, deadline=None)
@given(tables(classes=3, kinds=(False,)), st.integers(1, 3))
def test_the_whole_tree_on_ordered_attributes_is_that_of_the_twin(table, min_leaf):
    codes, sizes, unordered, y, weights, _ = table
    expected = twin(codes, sizes, unordered, y, weights, 3, min_leaf, 4)
    same(shape(grown(table, 3, limits=Limits(max_depth=4, min_leaf=min_leaf))), expected)


@settings(max_examples=60, deadline=None)
@given(tables(classes=3, kinds=(True,)))
def test_a_subset_split_with_three_classes_never_gains_more_than_the_best_and_isolates_a_pure_category(table):
    codes, sizes, unordered, y, weights, _ = table
    best = twin(codes, sizes, unordered, y, weights, 3, 1, 1)
    found = grown(table, 3, limits=Limits(max_depth=1))
    assert (found.attribute[0] < 0) == (best[0] == "leaf")
    if best[0] == "split":
        assert 0.5 * best[1] <= found.gain[0] <= best[1] + 1e-7


def test_missing_values_follow_the_heavier_side_and_gain_counts_known_records_only():
    codes = [np.array([0, 0, 0, 1, 1, -1, -1])]
    y = np.array([0, 0, 0, 1, 1, 0, 1])
    growth = grow(codes, [Grid(atoms=np.arange(2.0))], y, 2, pruner=KeepAll())
    assert growth.gain[0] == pytest.approx(5 - (9 + 4) / 5)
    assert growth.branch[0, :3].tolist() == [0, 0, 1]
    assert growth.counts.tolist() == [[4, 3], [4, 1], [0, 2]]


def test_equal_gains_go_to_the_lowest_attribute_and_there_to_the_lowest_cut():
    code = np.array([0, 0, 3, 3])
    y = np.array([0, 0, 1, 1])
    growth = grow([3 - code, code], [Grid(atoms=np.arange(4.0))] * 2, y, 2, pruner=KeepAll())
    assert growth.attribute[0] == 0
    assert growth.branch[0, 1:].tolist() == [0, 1, 1, 1]


def random_table(n=3000, seed=5):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(-1, s, n).astype(np.int16) for s in (30, 12, 4, 7)]
    y = ((codes[0] > 14) ^ (codes[1] > 5)).astype(np.int64) + (rng.random(n) < 0.2)
    return codes, [Grid.cells(0, 1, 30), Grid.cells(0, 1, 12), Grid.categories("abcd"), Grid.categories("tuvwxyz")], y


def arrays(growth):
    return growth.counts, growth.attribute, growth.first_child, growth.branch, growth.gain


def assert_equal_growth(a, b):
    for left, right in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_array_equal(left, right)


def test_sibling_subtraction_changes_nothing(monkeypatch):
    codes, grids, y = random_table(600)
    derived = grow(codes, grids, y, 3, pruner=KeepAll())
    monkeypatch.setattr(coded_rows, "MAX_LEVEL_CELLS", 0)  # every node counted by itself
    assert_equal_growth(derived, grow(codes, grids, y, 3, pruner=KeepAll()))


def test_weights_of_one_change_nothing_and_weights_stand_for_repeated_records():
    codes, grids, y = random_table()
    assert_equal_growth(
        grow(codes, grids, y, 3, pruner=KeepAll()), grow(codes, grids, y, 3, np.ones(len(y)), pruner=KeepAll())
    )
    times = np.random.default_rng(1).integers(1, 4, len(y))
    repeated = grow([np.repeat(c, times) for c in codes], grids, np.repeat(y, times), 3)
    assert_equal_growth(repeated, grow(codes, grids, y, 3, times.astype(float)))


def test_the_order_of_records_does_not_matter():
    codes, grids, y = random_table()
    order = np.random.default_rng(2).permutation(len(y))
    assert_equal_growth(grow(codes, grids, y, 3), grow([c[order] for c in codes], grids, y[order], 3))


def test_histograms_of_halves_add_up_to_those_of_the_whole():
    codes, grids, y = random_table()
    sizes = [g.size for g in grids]

    def counted(rows):
        return next(CodedRows.of([c[rows] for c in codes], sizes, y[rows], 3).count_open_nodes())

    whole, first, second = counted(slice(None)), counted(slice(0, 1111)), counted(slice(1111, None))
    for w, a, b in zip(whole, first, second, strict=True):
        np.testing.assert_array_equal(w, a + b)


def test_limits_are_kept():
    codes, grids, y = random_table()
    growth = grow(codes, grids, y, 3, limits=Limits(max_depth=3, min_leaf=40), pruner=KeepAll())
    assert growth.depth.max() <= 3
    assert growth.counts.sum(axis=1).min() >= 40
    full = grow(codes, grids, y, 3, pruner=KeepAll())
    assert np.all((full.attribute >= 0) | (full.gain == 0))


def test_best_first_takes_the_largest_gains():
    codes, grids, y = random_table()
    full = grow(codes, grids, y, 3, pruner=KeepAll())
    for leaves in (1, 2, 5, 17):
        part = grow(codes, grids, y, 3, limits=Limits(max_leaves=leaves), pruner=KeepAll())
        assert part.leaves == leaves
        chosen = np.sort(part.gain[part.attribute >= 0])
        # Naive best-first: expand the open node with the largest gain, again and again.
        reached, taken = [0], []
        while len(taken) < leaves - 1:
            node = max((n for n in reached if full.attribute[n] >= 0), key=lambda n: (full.gain[n], -n))
            reached.remove(node)
            reached += list(full.child_numbers(node))
            taken.append(full.gain[node])
        np.testing.assert_allclose(chosen, np.sort(taken))


def test_one_class_one_record_and_constant_columns_give_a_single_leaf():
    grid = [Grid(atoms=np.arange(3.0))]
    assert grow([np.array([0, 1, 2])], grid, np.zeros(3, int), 2).size == 1
    assert grow([np.array([1])], grid, np.array([1]), 2).size == 1
    assert grow([np.ones(10, int)], grid, np.arange(10) % 2, 2).size == 1
    assert grow([np.full(10, -1)], grid, np.arange(10) % 2, 2).size == 1


def test_wrong_input_is_refused_in_words():
    grid = [Grid(atoms=np.arange(3.0))]
    with pytest.raises(DataError, match="no row"):
        grow([np.array([], int)], grid, np.array([], int), 2)
    with pytest.raises(UsageError, match="at least one attribute"):
        grow([], [], np.array([0]), 2)
    with pytest.raises(UsageError, match="outside −1 … 2"):
        grow([np.array([3])], grid, np.array([0]), 2)
    with pytest.raises(UsageError, match="numbered 0 … 1"):
        grow([np.array([1])], grid, np.array([2]), 2)
    with pytest.raises(UsageError, match="max_leaves"):
        Limits(max_leaves=0)


def test_gini_by_hand():
    assert gini(np.array([[3.0, 1.0]]), 1)[0] == pytest.approx(4 * (1 - (9 + 1) / 16))
    assert gini(np.zeros((1, 2)), 1)[0] == 0


def test_another_splitter_grows_through_the_same_loop():
    codes, grids, _ = random_table()
    y = (codes[0] > 14).astype(np.int64) + (codes[1] > 5)
    growth = grow(codes, grids, y, 3, splitter=BinarySplitter(frozenset({2, 3})))
    assert growth.attribute[0] in (0, 1)
    assert growth.leaves >= 4
