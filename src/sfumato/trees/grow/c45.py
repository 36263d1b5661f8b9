"""A C4.5-like builder: gain ratio, multiway categories, exact cuts, pessimistic pruning, deterministic ties.

It follows C4.5 release 8 with Weka J48's exact normal quantile in the error bound (C4.5 interpolates a table) and without
subtree raising. Rows with missing values are fractional while the tree grows, as in C4.5; when the finished tree is
applied, they follow the branch with most rows, so that every row has one leaf.

A test has the best gain ratio among tests of at least average gain (Quinlan 1993; release 8, 1996). A number is cut in two at
``≤ t``; its gain is reduced by log2(cuts)/N, the bits that name the cut. A category has one branch for each of its values.
Rows whose value is missing lower the gain by their share and form a branch of their own in the split information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.scales import RESOLUTION
from sfumato.schema import Attribute
from sfumato.table import Column, Table
from sfumato.text import join_names
from sfumato.trees.grow.growth import Growth, Limits, grow_from
from sfumato.trees.grow.pruning import KeepAll, Pessimistic, Pruner
from sfumato.trees.grow.sorted_rows import Coded, Level, SortedRows
from sfumato.trees.grow.splits import Splits, xlog2x
from sfumato.trees.tree import Node, Test, Tree


def c45(
    table: Table, *, min_leaf: float = 2.0, confidence: float = 0.25, prune: bool = True, max_depth: int | None = None
) -> Tree:
    """Grow the tree of a table of true values; rows without a class are left out.

    Parameters
    ----------
    table
        Columns released as true (or not released at all), and a target.
    min_leaf
        At least two branches of a test hold this many rows.
    confidence
        CF of the pessimistic error bound; smaller prunes more.
    prune, max_depth
        Whether to collapse and prune, and where to stop at the latest.

    Returns
    -------
    Tree
        Tests in true units, with the class counts of every node.
    """
    table = with_known_class(table)
    pruner: Pruner = Pessimistic(confidence) if prune else KeepAll()
    coded = Coded.of(
        [c.values for c in table.columns],
        [c.attribute.kind.numeric for c in table.columns],
        [0 if c.attribute.kind.numeric else len(c.attribute.labels) for c in table.columns],
    )
    source = SortedRows(coded, table.codes, len(table.labels))
    growth = grow_from(source, GainRatioSplitter(), pruner, Limits(min_leaf=min_leaf, max_depth=max_depth))
    return build_tree(growth, [c.attribute for c in table.columns], coded, table.required_target)


def with_known_class(table: Table) -> Table:
    """Return the rows that have a class; raise an error unless a tree can be grown from them."""
    if table.target is None:
        raise UsageError("a tree needs a class; name the target column")
    if noisy := [c.name for c in table.columns if c.channel is not None]:
        raise UsageError(f"{join_names(noisy)} was perturbed by a channel; this builder needs true values")
    if not (table.codes >= 0).any():
        raise DataError("no record has a class; check the target column")
    return table if (table.codes >= 0).all() else table.take(np.flatnonzero(table.codes >= 0))


def build_tree(growth: Growth, attributes: list[Attribute], coded: Coded, target: Column) -> Tree:
    """Return the tree in true units: codes become thresholds and labels."""
    total = growth.counts.sum(axis=1)
    nodes = []
    for i, (a, counts) in enumerate(zip(growth.attribute.tolist(), growth.counts.tolist(), strict=True)):
        if a < 0:
            nodes.append(Node(tuple(counts)))
            continue
        children = growth.child_numbers(i)
        heaviest = int(np.argmax(total[children.start : children.stop]))
        attribute = attributes[a]
        if attribute.kind.numeric:
            threshold = float(coded.values[a][growth.cut[i]])
            if attribute.ruler is not None:  # a place is rounded, and its value is a little beside the true one
                threshold = float(attribute.ruler.to_values(threshold + RESOLUTION))
            test = Test(attribute.name, threshold=threshold, closed=True, missing=heaviest)
        else:
            test = Test(attribute.name, groups=tuple((v,) for v in attribute.labels), missing=heaviest)
        nodes.append(Node(tuple(counts), test, tuple(children)))
    return Tree(tuple(attributes), target.attribute.labels, tuple(nodes), "c4.5", target.name)


TOLERANCE = 1e-6
"""Gains and ratios closer than this are equal, and the first attribute, or the lowest cut, is taken."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best test of each attribute (first axis) at each node (second axis); `gain` and `ratio` in bits per row."""

    gain: FloatArray
    ratio: FloatArray
    possible: BoolArray
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
        children = len(splits.family)
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


def choose_attribute(tests: Candidates, common: BoolArray) -> IntArray:
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
