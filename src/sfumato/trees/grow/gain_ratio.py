"""C4.5's choice of a test: the best gain ratio among tests of at least average gain (Quinlan 1993; release 8, 1996).

A number is cut in two at ``≤ t``; its gain is reduced by log2(cuts)/N, the bits that name the cut. A category has one
branch for each of its values. Rows whose value is missing lower the gain by their share and form a branch of their
own in the split information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.trees.grow.impurity import xlog2x
from sfumato.trees.grow.sorted_rows import Level
from sfumato.trees.grow.splits import Splits

TOLERANCE = 1e-6
"""Gains and ratios closer than this are equal, and the first attribute, or the lowest cut, is taken."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best test of each attribute (first axis) at each node (second axis); `gain` and `ratio` in bits per row."""

    gain: FloatArray
    ratio: FloatArray
    possible: NDArray[np.bool_]
    cut: IntArray


@dataclass(frozen=True)
class GainRatioSplitter:
    """Choose tests by gain ratio: one branch per category, two branches for numbers."""

    def least_bits(self, sizes: Sequence[int]) -> float:  # noqa: ARG002
        """Return 0: nothing is known in advance."""
        return 0.0

    def best(self, level: Level, min_leaf: float) -> Splits:
        """Return the test of every open node, −1 where none is worth it."""
        tests = candidates(level, min_leaf)
        sizes = np.array(level.table.sizes)
        # A category with at least 0.3 values per row is left out of the mean gain.
        common = level.table.numeric | (sizes < 0.3 * level.total)
        attribute = choose_attribute(tests, common if common.any() else np.ones_like(common))
        nodes, at = np.arange(level.open), np.maximum(attribute, 0)
        return Splits(
            attribute=attribute,
            gain=np.where(attribute >= 0, tests.gain[at, nodes] * level.class_counts().sum(axis=1), 0.0),
            bits=np.zeros(level.open),
            branch=np.zeros((level.open, 1), np.uint8),
            children=np.where(level.table.numeric[at], 2, sizes[at]),
            cut=np.where(level.table.numeric[at], tests.cut[at, nodes], -1),
        )

    def below(self, splits: Splits, level: Level) -> FloatArray:
        """Return class counts of the children, by sending the rows there."""
        entry, child, weights = level.route(splits)
        children = int(splits.children[splits.attribute >= 0].sum())
        key = child * level.n_classes + level.classes[entry]
        counts = np.bincount(key, weights, children * level.n_classes)
        return counts.reshape(children, level.n_classes).astype(np.float64)


def candidates(level: Level, min_leaf: float) -> Candidates:
    """Return the best test of each attribute at each open node."""
    shape = (len(level.table.sizes), level.open)
    out = Candidates(np.zeros(shape), np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, np.int64))
    total = level.class_counts().sum(axis=1)
    cuts = level.cuts(min_leaf, TOLERANCE)
    at = level.numbers
    out.gain[at] = numeric_gain(np.where(cuts.number > 0, cuts.gain, 0.0), cuts.number, total)
    out.possible[at] = (cuts.number > 0) & (out.gain[at] > TOLERANCE)
    out.ratio[at] = gain_ratio(out.gain[at], split_information(np.stack([cuts.left, cuts.known - cuts.left]), total))
    out.cut[at] = cuts.last
    for a in np.flatnonzero(~level.table.numeric):
        for nodes, table in level.tables(int(a)):
            known = table[:, 1:]
            weight = known.sum(axis=2)
            out.possible[a, nodes] = (weight >= min_leaf - TOLERANCE).sum(axis=1) >= 2
            out.gain[a, nodes] = multiway_gain(known, total[nodes])
            out.ratio[a, nodes] = gain_ratio(out.gain[a, nodes], split_information(weight.T, total[nodes]))
    return out


def choose_attribute(tests: Candidates, common: NDArray[np.bool_]) -> IntArray:
    """Return the attribute with the best gain ratio among those of at least mean gain (over the `common` ones), −1 for none."""
    counted = tests.possible & common[:, None]
    number = counted.sum(axis=0)
    mean = np.where(counted, tests.gain, 0.0).sum(axis=0) / np.maximum(number, 1)
    margin = 1e-3  # a test may fall this far short of the mean gain and still be chosen
    worth = tests.possible & (tests.gain >= mean - margin) & (number > 0)
    best = np.zeros(tests.gain.shape[1])
    out = np.full(tests.gain.shape[1], -1)
    for a, ratio in enumerate(tests.ratio):
        better = worth[a] & (ratio > best + TOLERANCE)
        best[better], out[better] = ratio[better], a
    return out


def numeric_gain(gain: FloatArray, cuts: IntArray, total: FloatArray) -> FloatArray:
    """Return the gain per row, less log2(cuts)/N (Quinlan 1996, "Improved use of continuous attributes in C4.5").

    `gain` is H(known) − H(known | side) in bits times known rows, so that dividing by all N rows is C4.5's
    (share of known) × (gain of the known).
    """
    return (gain - np.log2(np.maximum(cuts, 1))) / total


def multiway_gain(table: FloatArray, total: FloatArray) -> FloatArray:
    """Return (f(n) − Σ_c f(n_c) − Σ_v f(n_v) + Σ_vc f(n_vc))/N with f(x) = x log2 x, for tables (node, value, class)."""
    by_value, by_class = table.sum(axis=2), table.sum(axis=1)
    before = xlog2x(by_value.sum(axis=1)) - xlog2x(by_class).sum(axis=1)
    after = xlog2x(by_value).sum(axis=1) - xlog2x(table).sum(axis=(1, 2))
    return np.asarray((before - after) / total)


def split_information(branches: FloatArray, total: FloatArray) -> FloatArray:
    """Return −Σ (n_v/N) log2(n_v/N) over the branches (first axis), rows with a missing value as one more branch."""
    unknown = np.maximum(total - branches.sum(axis=0), 0.0)
    return np.asarray((xlog2x(total) - xlog2x(branches).sum(axis=0) - xlog2x(unknown)) / total)


def gain_ratio(gain: FloatArray, information: FloatArray) -> FloatArray:
    """Return gain over split information; 0 where all rows take one branch."""
    some = information > TOLERANCE
    return np.asarray(np.where(some, gain / np.where(some, information, 1.0), 0.0))
