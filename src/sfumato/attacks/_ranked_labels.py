"""Posteriors over many labels, reduced to what an attack asks of them, a few released cells at a time.

Through a law of two levels the posterior of label p is high π_p or low π_p, up to a factor. With labels ranked by π once for
all, the labels inside the set of a released cell are in order, and so are those outside; sums along the ranks,

    I(r) = Σ π over the inside ones among the first r,   O(r) = Σ π over the outside ones,

say what stands before any label in the order of the posterior, so nothing is sorted again. Labels of equal posterior stand
with the inside ones first, those of none by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import TwoLevels
from sfumato.counts import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class _Lines:
    """Some released cells: which labels are inside, and the sums and numbers of those before each rank."""

    inside: NDArray[np.bool_]
    mass: FloatArray
    number: IntArray
    total: FloatArray


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """P(label | released cell) ∝ K[s, p] π_p; `doubt` of every posterior may be any label.

    With doubt δ the posterior is (1 − δ) times the plain one plus δ/d, which leaves the order as it is.
    """

    kernel: TwoLevels
    prior: FloatArray
    doubt: float = 0.0

    @cached_property
    def order(self) -> IntArray:
        """Labels by falling prior, equal ones by number."""
        return np.argsort(-self.prior, kind="stable")

    @cached_property
    def rank(self) -> IntArray:
        """The place of each label."""
        return np.argsort(self.order)

    @cached_property
    def _sorted(self) -> FloatArray:
        return self.prior[self.order]

    @cached_property
    def _upto(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self._sorted)])

    @cached_property
    def _inside_before(self) -> IntArray:
        """For an outside label of each rank, up to which rank inside ones stand before it: high π_r ≥ low π_j."""
        inner, outer = self.kernel.high * self._sorted, self.kernel.low * self._sorted
        return self._by_rank(np.searchsorted(-inner, -outer, side="right"))

    @cached_property
    def _outside_before(self) -> IntArray:
        """For an inside label of each rank, up to which rank outside ones stand before it: low π_j > high π_r."""
        inner, outer = self.kernel.high * self._sorted, self.kernel.low * self._sorted
        return self._by_rank(np.searchsorted(-outer, -inner, side="left"))

    def _by_rank(self, before: IntArray) -> IntArray:
        """Labels that have no prior stand by rank alone, inside or not."""
        return np.where(self._sorted > 0, before, np.arange(len(before)))

    def _lines(self, cells: IntArray) -> Iterator[tuple[slice, _Lines]]:
        for part in self.kernel.in_parts(cells):
            inside = self.kernel.inside(cells[part], self.order)
            ends = (len(inside), inside.shape[1] + 1)
            mass, number = np.zeros(ends), np.zeros(ends, np.int64)
            np.cumsum(inside * self._sorted, axis=1, out=mass[:, 1:])
            np.cumsum(inside, axis=1, out=number[:, 1:])
            total = self.kernel.low * (self._upto[-1] - mass[:, -1]) + self.kernel.high * mass[:, -1]
            yield part, _Lines(inside, mass, number, np.maximum(total, 1e-300))

    def _inner(self, lines: _Lines, at: IntArray, upto: IntArray) -> FloatArray:
        """Posterior of the inside labels before rank `upto`, for the given lines."""
        plain = self.kernel.high * lines.mass[at, upto] / lines.total[at]
        return (1 - self.doubt) * plain + self._crumb * lines.number[at, upto]

    def _outer(self, lines: _Lines, at: IntArray, upto: IntArray) -> FloatArray:
        """The same of the outside labels."""
        plain = self.kernel.low * (self._upto[upto] - lines.mass[at, upto]) / lines.total[at]
        return (1 - self.doubt) * plain + self._crumb * (upto - lines.number[at, upto])

    def _own(self, lines: _Lines, at: IntArray, rank: IntArray) -> FloatArray:
        level = np.where(lines.inside[at, rank], self.kernel.high, self.kernel.low)
        return (1 - self.doubt) * level * self._sorted[rank] / lines.total[at] + self._crumb

    @property
    def _crumb(self) -> float:
        return self.doubt / len(self.prior)

    def places(self, cells: IntArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        """For each released cell and label: the posterior of all labels that stand before it, and its own."""
        before, own = np.empty(len(cells)), np.empty(len(cells))
        different, where = np.unique(cells, return_inverse=True)
        turn = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[turn], np.arange(len(different) + 1))
        rank = self.rank[labels]
        for part, lines in self._lines(different):
            rows = turn[ends[part.start] : ends[part.stop]]
            at, r = where[rows] - part.start, rank[rows]
            inside = lines.inside[at, r]
            inner = np.where(inside, r, self._inside_before[r])
            outer = np.where(inside, self._outside_before[r], r)
            before[rows] = self._inner(lines, at, inner) + self._outer(lines, at, outer)
            own[rows] = self._own(lines, at, r)
        return before, own

    def guesses(self, cells: IntArray, level: float) -> tuple[IntArray, FloatArray]:
        """For each released cell the likeliest label, and how many labels the smallest set of posterior `level` holds."""
        picks, widths = np.empty(len(cells), np.int64), np.empty(len(cells))
        for part, lines in self._lines(cells):
            picks[part] = self.order[self._first(lines)]
            widths[part] = self._widths(lines, level)
        return picks, widths

    def _first(self, lines: _Lines) -> IntArray:
        """The rank of the likeliest label: the first inside one, unless the first of all is likelier."""
        best = lines.inside.argmax(axis=1)
        some = lines.inside[np.arange(len(best)), best]
        # Equal ones go to the label of the lower number, as the largest of a row is found.
        first, second = self.kernel.high * self._sorted[best], self.kernel.low * self._sorted[0]
        earlier = (first == second) & (self.order[best] < self.order[0])
        return np.where(some & ((first > second) | earlier), best, 0)

    def _widths(self, lines: _Lines, level: float) -> FloatArray:
        """Take labels until `level` is reached, of the last one only as much as needed.

        State 0 holds nothing, state j + 1 the outside labels before rank j and the inside ones that stand before an outside
        one of rank j. To the next state the label of rank j is taken first, if it is outside, and then inside ones. Labels
        without any posterior are in no set.
        """
        size = len(self.prior) if self.doubt else int(np.count_nonzero(self._sorted))
        at = np.arange(len(lines.total))
        stops = np.minimum(np.concatenate([[0], self._inside_before[:size], [size]]), size)

        def mass_in(state: IntArray) -> FloatArray:
            return self._inner(lines, at, stops[state]) + self._outer(lines, at, np.maximum(state - 1, 0))

        state = _bisect(mass_in, np.zeros(len(at), np.int64), np.full(len(at), size + 1), level)
        left = level - mass_in(state)
        outer = np.maximum(state - 1, 0)
        next_one = np.minimum(outer, size - 1)
        outside = (state > 0) & (outer < size) & ~lines.inside[at, next_one]
        own = np.where(outside, self._own(lines, at, next_one), 0.0)
        taken = _share(left, own)
        low = stops[state]
        high = np.where(left > own, stops[np.minimum(state + 1, size + 1)], low)
        need = self._inner(lines, at, low) + np.maximum(left - own, 0.0)
        inner = _bisect(lambda rank: self._inner(lines, at, rank), low, high, need)
        # Where the bisection ends, the sum grows: the label of that rank is inside, and is taken in part.
        following = np.where(inner < high, self._own(lines, at, np.minimum(inner, size - 1)), 0.0)
        part = _share(need - self._inner(lines, at, inner), following)
        return np.asarray(outer - lines.number[at, outer] + taken + lines.number[at, inner] + part)

    def dense(self, cells: IntArray) -> FloatArray:
        """The posteriors of some released cells, one row each; where nothing explains a cell, its likelihood."""
        lines = self.kernel.rows(cells)
        joint = lines * self.prior
        total = joint.sum(axis=1, keepdims=True)
        rest = lines / np.maximum(lines.sum(axis=1, keepdims=True), 1e-300)
        return np.where(total > 1e-280, joint / np.maximum(total, 1e-300), rest)


def _share(left: FloatArray, own: FloatArray) -> FloatArray:
    """How much of a label with posterior `own` it takes to make up what is left; nothing of one without any."""
    return np.where(own > 0, np.clip(left / np.where(own > 0, own, 1.0), 0.0, 1.0), 0.0)


def _bisect(of: Callable[[IntArray], FloatArray], low: IntArray, high: IntArray, bound: FloatArray | float) -> IntArray:
    """The largest place from low to high at which the rising function is not above the bound; `low` where it is nowhere."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = of(middle) <= bound
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low
