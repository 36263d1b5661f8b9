"""Where to cut a node: the best test over the cells of every attribute, for all nodes of a level at once.

A histogram is an array (nodes, classes, 1 + cells): cell 0 holds the rows whose value is missing, cell 1 + i those
with code i. Gini's index says how mixed the classes of a node are, and what a split gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, FloatArray, IntArray


def gini(counts: FloatArray, axis: int) -> FloatArray:
    """Return n − Σ n_j²/n, the classes along `axis`: gini(S) = 1 − Σ p_j² (Agrawal & Srikant 2000, section 4.1), times n.

    Measured in rows, gains of nodes of different size compare and missing values weigh as little as they should: a split is
    judged on the rows whose value is known.

    >>> import numpy as np
    >>> float(gini(np.array([6.0, 2.0]), axis=0))  # 8 − (36 + 4)/8
    3.0
    """
    return _impurity(counts, add_up(counts, axis), axis)


def _impurity(counts: FloatArray, total: FloatArray, axis: int) -> FloatArray:
    return np.asarray(total - add_up(np.square(counts), axis) / np.where(total > 0, total, 1.0))


def add_up(counts: FloatArray, axis: int) -> FloatArray:
    """Return the sum over the classes; of two, which are the rule, by one addition, since reductions over short axes are slow."""
    if counts.shape[axis] == 2 and axis == 1:
        return np.asarray(counts[:, 0] + counts[:, 1])
    return np.asarray(counts.sum(axis=axis))


def xlog2x(x: FloatArray) -> FloatArray:
    """Return x log2 x, and 0 at 0."""
    return np.asarray(x * np.log2(np.where(x > 0, x, 1.0)))


BranchArray = NDArray[np.uint8]
Best = tuple[FloatArray, BoolArray, FloatArray]
"""Of each node the gain of the best test of one attribute, which cells go left, and the bits that say which test it is."""

Counted = TypeVar("Counted", contravariant=True)
"""What a source of counts hands to its splitter: histograms here, sorted records for exact cuts."""

TIE_TOLERANCE = 1e-11
"""Gains this close, relative to the node's size, are equal: rounding must not choose between attributes."""

MAX_FREE_LABELS = 256
"""A subset of more labels than this must say more about the classes than it takes to write it down."""

MIN_GAIN = 1e-9
"""A gain below this share of a node's records is rounding, not a gain."""


@dataclass(frozen=True, eq=False)
class Splits:
    """One test for each node of a level.

    Attributes
    ----------
    attribute
        Which attribute is tested, −1 where no test helps.
    gain, bits
        What the test gains, and the bits it takes to say which test of the attribute it is.
    branch
        The child's number for every cell of the tested attribute (cell 0: missing), one row per node.
    children
        The number of children.
    cut
        Where cells are too many to list: the last code that goes to the first child. None for splitters that list them.
    """

    attribute: IntArray
    gain: FloatArray
    bits: FloatArray
    branch: BranchArray
    children: IntArray
    cut: IntArray | None = None

    @property
    def made(self) -> BoolArray:
        """Whether each node has a test."""
        return self.attribute >= 0

    @property
    def family(self) -> IntArray:
        """The node that each child comes from."""
        return np.repeat(np.flatnonzero(self.made), self.children[self.made])

    @property
    def first(self) -> IntArray:
        """The number of each node's first child, among the children of all nodes."""
        number = np.where(self.made, self.children, 0)
        return np.cumsum(number) - number

    @classmethod
    def join(cls, parts: Sequence[Splits]) -> Splits:
        """Return the tests of several runs of nodes, one after another."""
        if len(parts) == 1:
            return parts[0]
        values = {f.name: [getattr(part, f.name) for part in parts] for f in fields(cls)}
        joined: dict[str, Any] = {
            name: None if value[0] is None else np.concatenate(value) for name, value in values.items()
        }
        return cls(**joined)


class Splitter(Protocol[Counted]):
    """Find the test of each node from what its source counted."""

    def best(self, counted: Counted, min_leaf: float, /) -> Splits:
        """Return the test of every node that has one; each side holds at least `min_leaf` rows."""

    def below(self, splits: Splits, counted: Counted, /) -> FloatArray:
        """Return class counts of the children of all split nodes, in order."""

    def least_bits(self, sizes: Sequence[int]) -> float:
        """Return a lower bound on `Splits.bits`, given how many cells each attribute has."""


@dataclass(frozen=True)
class BinarySplitter:
    """Two children: a cut between neighbouring cells of an ordered attribute, a subset of an unordered one's categories.

    Equal gains go to the attribute with the lowest index and there to the lowest cut. Missing values, and categories
    that no row of the node has, follow the heavier side.

    For two classes the best of all subsets is found by ordering categories by class share (Breiman et al. 1984,
    theorem 4.5). For more classes the order by each class's share is tried and the best cut of all is taken: that is
    greedy, and contains every split that isolates categories by how much of one class they hold.
    """

    categorical: frozenset[int] = frozenset()

    def least_bits(self, sizes: Sequence[int]) -> float:
        """Return log2(cells − 1) of the smallest ordered attribute; a subset can be down to a choice of one."""
        least = [0.0 if a in self.categorical else math.log2(max(size - 1, 1)) for a, size in enumerate(sizes)]
        return min(least, default=0.0)

    def best(self, histograms: Sequence[FloatArray], min_leaf: float) -> Splits:
        """Find the best test of every attribute, then choose for every node."""
        nodes = len(histograms[0])
        width = max(h.shape[2] for h in histograms)
        out = Splits(
            attribute=np.full(nodes, -1),
            gain=np.zeros(nodes),
            bits=np.zeros(nodes),
            branch=np.zeros((nodes, width), np.uint8),
            children=np.full(nodes, 2),
        )
        sizes = histograms[0].sum(axis=(1, 2))
        for a, histogram in enumerate(histograms):
            if histogram.shape[2] < 3:
                continue
            find = self._best_subset if a in self.categorical else self._best_cut
            gain, left, bits = find(histogram[:, :, 1:], sizes, min_leaf)
            better = (gain > out.gain + TIE_TOLERANCE * sizes) & self._pays(a, histogram, left, bits)
            out.attribute[better], out.gain[better], out.bits[better] = a, gain[better], bits[better]
            out.branch[better] = 0
            out.branch[better, 1 : left.shape[1] + 1] = ~left[better]
        out.attribute[out.gain <= MIN_GAIN * sizes] = -1
        self._send_missing(histograms, out)
        return out

    def _pays(self, a: int, histogram: FloatArray, left: BoolArray, bits: FloatArray) -> BoolArray:
        """Return whether a test says more about the classes than it takes to write down, which is asked of long lists only.

        With many labels and few rows of each, the best of 2^(v−1) − 1 subsets separates the classes by chance, and better
        than any true cut. It would win the node, and pruning, which counts the bits, would then undo all that is below.
        """
        if a not in self.categorical or histogram.shape[2] - 1 <= MAX_FREE_LABELS:
            return np.ones(len(bits), bool)
        known = histogram[:, :, 1:]
        first = np.einsum("ncb,nb->nc", known, left.astype(np.float64))
        second = known.sum(axis=2) - first
        saved = class_bits(first + second) - class_bits(first) - class_bits(second)
        return np.asarray(saved > bits)

    def below(self, splits: Splits, histograms: Sequence[FloatArray]) -> FloatArray:
        """Return sums of the histograms over each child's cells."""
        return child_counts(splits, histograms)

    def _best_cut(self, cells: FloatArray, sizes: FloatArray, min_leaf: float) -> Best:
        gain = cut_gains(cells, min_leaf)
        cut = first_best(gain, TIE_TOLERANCE * sizes)
        left = np.arange(cells.shape[2]) <= cut[:, None]
        bits = np.full(len(cut), math.log2(max(cells.shape[2] - 1, 1)))
        return gain[np.arange(len(cut)), cut], left, bits

    def _best_subset(self, cells: FloatArray, sizes: FloatArray, min_leaf: float) -> Best:
        nodes, classes, size = cells.shape
        at = np.arange(nodes)
        weight = cells.sum(axis=1)
        present = weight > 0
        best, left = np.zeros(nodes), np.zeros((nodes, size), bool)
        for c in range(1, classes) if classes == 2 else range(classes):
            share = np.where(present, cells[:, c] / np.where(present, weight, 1.0), np.inf)
            order = np.argsort(share, axis=1, kind="stable")
            gain = cut_gains(np.take_along_axis(cells, order[:, None, :], axis=2), min_leaf)
            cut = first_best(gain, TIE_TOLERANCE * sizes)
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(size)[None, :], axis=1)
            better = gain[at, cut] > best + TIE_TOLERANCE * sizes
            best[better], left[better] = gain[at, cut][better], (rank <= cut[:, None])[better]
        # A category that no record here has goes where most records go.
        heavier = np.where(left, weight, 0.0).sum(axis=1) * 2 >= weight.sum(axis=1)
        left = np.where(present, left, heavier[:, None])
        # The first present category is on the left, so that a split and its mirror image are one.
        mirrored = ~left[at, np.argmax(present, axis=1)]
        left[mirrored] = ~left[mirrored]
        return best, left, subset_bits(present.sum(axis=1))

    def _send_missing(self, histograms: Sequence[FloatArray], out: Splits) -> None:
        for a, histogram in enumerate(histograms):
            chosen = np.flatnonzero(out.attribute == a)
            weight = histogram[chosen].sum(axis=1)
            right = out.branch[chosen, : weight.shape[1]] == 1
            heavier = np.where(right, weight, 0.0)[:, 1:].sum(axis=1) * 2 > weight[:, 1:].sum(axis=1)
            out.branch[chosen, 0] = heavier


def cut_gains(cells: FloatArray, min_leaf: float) -> FloatArray:
    """Return n gini(S) − n₁ gini(S₁) − n₂ gini(S₂) of the cut after each cell but the last; −inf where a side is too small."""
    below = np.cumsum(cells, axis=2)
    total, left = below[:, :, -1:], below[:, :, :-1]
    right = total - left
    least = max(min_leaf, TIE_TOLERANCE)
    known, first, second = add_up(total, 1), add_up(left, 1), add_up(right, 1)
    fits = (first >= least) & (second >= least)
    gain = _impurity(total, known, 1) - _impurity(left, first, 1) - _impurity(right, second, 1)
    return np.where(fits, gain, -np.inf)


def child_counts(splits: Splits, histograms: Sequence[FloatArray]) -> FloatArray:
    """Return class counts of the children of all split nodes, in order."""
    first = splits.first
    out = np.zeros((len(splits.family), histograms[0].shape[1]))
    for a, histogram in enumerate(histograms):
        nodes = np.flatnonzero(splits.attribute == a)
        branch = splits.branch[nodes, : histogram.shape[2]]
        for child in range(int(splits.children[nodes].max(initial=0))):
            some = splits.children[nodes] > child
            here = branch[some] == child
            out[first[nodes[some]] + child] = np.einsum("ncb,nb->nc", histogram[nodes[some]], here.astype(np.float64))
    return out


def class_bits(counts: FloatArray) -> FloatArray:
    """Return Σ n_c log2(n/n_c): the code of the classes, given their shares (one row of counts per node)."""
    return np.asarray(xlog2x(counts.sum(axis=1)) - xlog2x(counts).sum(axis=1))


def first_best(score: FloatArray, tolerance: FloatArray) -> IntArray:
    """Return the first column of each row that comes within `tolerance` of the row's largest."""
    return np.argmax(score >= score.max(axis=1, keepdims=True) - tolerance[:, None], axis=1)


def subset_bits(categories: IntArray) -> FloatArray:
    """Return log2(2^(v−1) − 1): the ways to split v categories in two."""
    v = np.maximum(categories, 2) - 1.0
    return np.asarray(v + np.log2(-np.expm1(-v * math.log(2))))
