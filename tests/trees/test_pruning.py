"""Minimum description length, by hand and against a recursive twin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.counts import Grid
from sfumato.trees.grow.growth import Limits, grow
from sfumato.trees.grow.pruning import MDL, KeepAll, leaf_bits, parameter_bits, split_bits
from sfumato.trees.grow.splits import subset_bits


def test_the_code_of_a_leaf_by_hand():
    # 3 of A and 1 of B: 3 log2(4/3) + 1 log2 4 = 3.24511; ½ log2(4/2) = 0.5; log2(π/Γ(1)) = 1.65150.
    assert float(leaf_bits(np.array([3.0, 1.0]))) == pytest.approx(3.2451125 + 0.5 + 1.6514961, abs=1e-6)
    # Three classes, 2 of each: 6 log2 3 = 9.50978; log2(6/2) = 1.58496; log2(π^1.5/Γ(1.5)) = log2(2π) = 2.65150.
    assert float(leaf_bits(np.array([2.0, 2.0, 2.0]))) == pytest.approx(9.5097750 + 1.5849625 + 2.6514961, abs=1e-6)
    # A pure leaf of 8 pays for its shares alone: ½ log2 4 + log2 π.
    assert float(leaf_bits(np.array([8.0, 0.0]))) == pytest.approx(1 + 1.6514961, abs=1e-6)
    assert float(leaf_bits(np.array([0.0, 0.0]))) == 0
    assert float(leaf_bits(np.array([5.0]))) == 0


def test_the_code_of_a_split_by_hand():
    assert float(split_bits(8, math.log2(99))) == pytest.approx(3 + 6.6293566)
    # Four categories part in 2³ − 1 = 7 ways, two in one.
    np.testing.assert_allclose(subset_bits(np.array([4, 2])), [math.log2(7), 0], atol=1e-12)


def two_cells(a, b):
    """Records of two cells with class counts a and b."""
    codes = np.repeat([0, 0, 1, 1], [*a, *b])
    return grow([codes], [Grid(atoms=np.arange(2.0))], np.repeat([0, 1, 0, 1], [*a, *b]), 2, pruner=MDL())


def test_a_split_stays_exactly_when_it_shortens_the_message():
    # One attribute with one cut costs no bits, so: 1 + leaf(n) against 1 + (1 + leaf(n₁)) + (1 + leaf(n₂)).
    def pays(a, b):
        whole = np.array([a[0] + b[0], a[1] + b[1]], float)
        return float(leaf_bits(whole)) > 2 + float(leaf_bits(np.array(a, float))) + float(leaf_bits(np.array(b, float)))

    cases = [((n - e, e), (e, n - e)) for n in (3, 4, 6, 8, 10, 15, 20) for e in range(n // 2 + 1)]
    outcomes = {pays(a, b) for a, b in cases}
    assert outcomes == {True, False}
    for a, b in cases:
        assert (two_cells(a, b).leaves == 2) == pays(a, b), (a, b)


def table(n=4000, seed=3):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 20, n), rng.integers(0, 20, n), rng.integers(0, 5, n)]
    y = np.where(rng.random(n) < 0.25, rng.integers(0, 3, n), (codes[0] > 9) + (codes[1] > 12))
    return codes, [Grid.cells(0, 1, 20), Grid.cells(0, 1, 20), Grid.categories("abcde")], y


def test_pruning_agrees_with_a_recursive_twin():
    codes, grids, y = table()
    full = grow(codes, grids, y, 3, pruner=KeepAll())

    def cost(node):
        own = 1 + float(leaf_bits(full.counts[node]))
        if full.attribute[node] < 0:
            return own, 1
        below = [cost(c) for c in full.child_numbers(node)]
        subtree = 1 + math.log2(3) + float(full.bits[node]) + sum(c for c, _ in below)
        return (own, 1) if own <= subtree else (subtree, sum(leaves for _, leaves in below))

    assert grow(codes, grids, y, 3).leaves == cost(0)[1]


@pytest.mark.parametrize("classes", [2, 3, 9])
def test_not_growing_hopeless_nodes_comes_to_the_same_tree(classes):
    class Patient(MDL):
        def hopeless(self, counts, attributes, least_bits):
            return np.zeros(len(counts), bool)

    rng = np.random.default_rng(classes)
    codes = [rng.integers(0, s, 1500) for s in (2, 20, 6)]
    y = np.where(rng.random(1500) < 0.4, rng.integers(0, classes, 1500), codes[1] * classes // 20)
    grids = [Grid(atoms=np.arange(2.0)), Grid.cells(0, 1, 20), Grid.categories("abcdef")]
    early, patient = (grow(codes, grids, y, classes, pruner=p) for p in (MDL(), Patient()))
    np.testing.assert_array_equal(early.counts, patient.counts)
    np.testing.assert_array_equal(early.attribute, patient.attribute)


def test_pure_noise_is_pruned_to_the_root():
    rng = np.random.default_rng(8)
    codes = [rng.integers(0, 50, 5000) for _ in range(5)]
    assert grow(codes, [Grid.cells(0, 1, 50)] * 5, rng.integers(0, 2, 5000), 2).leaves == 1


def test_the_code_of_the_shares_never_falls_below_nothing():
    assert (parameter_bits(np.array([0.0, 0.1, 1.0, 5.0]), 30) >= 0).all()


def test_limits_and_pruning_go_together():
    codes, grids, y = table()
    growth = grow(codes, grids, y, 3, limits=Limits(max_leaves=4))
    assert growth.leaves <= 4
