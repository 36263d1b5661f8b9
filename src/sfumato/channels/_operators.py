"""The matrix of a law over many labels, as a product and never as an array.

K-ary response, projective reports and labels that are released as true have matrices of two values only:

    K[s, p] = high where released cell s lies in the set of label p, low elsewhere.

So K v = low Σ v + (high − low) A v, and A is the identity or the incidence of a projective space, whose product is one
transform. At 20,000 labels the array would take 3 to 13 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.projective import Projective
from sfumato.channels.substitution import Substitution
from sfumato.counts import FloatArray, Grid, IntArray

if TYPE_CHECKING:
    from sfumato.channels.base import Channel

BoolArray = NDArray[np.bool_]

DENSE_LABELS = 1024
"""Up to so many labels a matrix is an array: at most 32 MB, and products of arrays are the quickest."""
ROW_CELLS = 2**20
"""Cells of the matrix that are looked at together."""


class LabelSets(Protocol):
    """Which released cells belong to which label; the relation is the same read either way."""

    @property
    def shape(self) -> tuple[int, int]:
        """Released cells × labels."""

    @property
    def set_size(self) -> int:
        """How many released cells belong to each label."""

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """For every released cell the sum over the labels that it belongs to."""

    def labels_of(self, amounts: FloatArray) -> FloatArray:
        """For every label the sum over the released cells that belong to it."""

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Whether each cell (one row) belongs to each label (one column)."""

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Whether cell i belongs to label i."""


@dataclass(frozen=True)
class OwnCells:
    """One released cell a label: itself."""

    size: int
    set_size = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Labels × labels."""
        return self.size, self.size

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """Themselves."""
        return amounts

    labels_of = cells_of

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Equality."""
        return np.asarray(cells[:, None] == labels[None, :])

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Equality."""
        return np.asarray(cells == labels)


@dataclass(frozen=True)
class ReportSets:
    """The codes in the set of each value of a `projective` law."""

    law: Projective

    @property
    def shape(self) -> tuple[int, int]:
        """Codes × values."""
        return self.law.reports, self.law.bin_grid.size

    @property
    def set_size(self) -> int:
        """S."""
        return self.law.space.set_size

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """By one transform."""
        return self.law.space.quick_hits(np.concatenate([amounts, np.zeros(self.law.reports - len(amounts))]))

    def labels_of(self, amounts: FloatArray) -> FloatArray:
        """By one transform."""
        return self.law.space.quick_hits(amounts)[: self.law.bin_grid.size]

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """⟨x, y⟩ = 0."""
        return self.law.space.orthogonal(cells, labels)

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """⟨x, y⟩ = 0."""
        points = self.law.space.points
        return np.asarray((points[cells] * points[labels]).sum(axis=1) % self.law.space.order == 0)


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """K, or its transpose; it takes part in products as an array does."""

    sets: LabelSets
    low: float
    high: float
    turned: bool = False

    ndim = 2
    __array_ufunc__ = None
    """Arrays leave products with it to `__rmatmul__`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Released cells × labels."""
        return self.sets.shape[::-1] if self.turned else self.sets.shape

    @property
    def T(self) -> TwoLevels:  # noqa: N802 - as arrays call it
        """The transpose."""
        return replace(self, turned=not self.turned)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        if right.ndim == 1:
            return self._product(right)
        return np.stack([self._product(column) for column in right.T], axis=1)

    def __rmatmul__(self, left: FloatArray) -> FloatArray:
        if left.ndim == 1:
            return self.T @ left
        return np.stack([self.T @ row for row in left]) if len(left) else np.zeros((0, self.shape[1]))

    def _product(self, vector: FloatArray) -> FloatArray:
        summed = self.sets.labels_of(vector) if self.turned else self.sets.cells_of(vector)
        # Transforms leave crumbs of either sign where a sum is nothing.
        return self.low * vector.sum() + (self.high - self.low) * (
            np.maximum(summed, 0.0) if self._positive(vector) else summed
        )

    @staticmethod
    def _positive(vector: FloatArray) -> bool:
        return bool(vector.min(initial=0.0) >= 0)

    def max(self, axis: int, initial: float = 0.0) -> FloatArray:
        """A bound from below that tells what is possible at all: `high` where every line has a member, else `low`."""
        level = self.high if isinstance(self.sets, OwnCells) else self.low
        return np.full(self.shape[1 - axis], max(level, initial))

    def rows(self, cells: IntArray, labels: IntArray | None = None) -> BoolArray:
        """Of some lines, whether each entry is `high`; in the order of `labels` where that is given."""
        every = np.arange(self.shape[1]) if labels is None else labels
        return self.sets.incidence(every, cells).T if self.turned else self.sets.incidence(cells, every)

    def dense(self, cells: IntArray) -> FloatArray:
        """Some lines as an array."""
        return np.where(self.rows(cells), self.high, self.low)

    def at(self, cells: IntArray, labels: IntArray) -> FloatArray:
        """K[cells[i], labels[i]]."""
        return np.where(self.sets.pairs(cells, labels), self.high, self.low)

    def in_parts(self, cells: IntArray) -> Iterator[slice]:
        """Runs of `cells` whose lines can be held together."""
        step = max(1, ROW_CELLS // self.shape[1])
        for begin in range(0, len(cells), step):
            yield slice(begin, min(begin + step, len(cells)))

    def argmax(self, axis: int) -> IntArray:
        """The place of the first `high` entry along an axis: over labels, the first that each released cell is likeliest from."""
        if axis == 0:
            return self.T.argmax(axis=1)
        cells = np.arange(self.shape[0])
        return np.concatenate([self.rows(cells[part]).argmax(axis=1) for part in self.in_parts(cells)])

    @property
    def column_entropy(self) -> float:
        """H(Y | X = p) in bits, the same for every label p: s released cells of `high`, the others of `low`."""
        inside, outside = self.sets.set_size, self.sets.shape[0] - self.sets.set_size
        low = self.low * np.log2(self.low) if self.low > 0 else 0.0
        return float(-inside * self.high * np.log2(self.high) - outside * low)


@dataclass(frozen=True, eq=False)
class WithGap:
    """The same with a last row and column for the missing value, which no law touches."""

    known: TwoLevels

    ndim = 2
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """One more each way."""
        return self.known.shape[0] + 1, self.known.shape[1] + 1

    @property
    def T(self) -> WithGap:  # noqa: N802 - as arrays call it
        """The transpose."""
        return WithGap(self.known.T)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return np.concatenate([self.known @ right[:-1], right[-1:]])

    def __rmatmul__(self, left: FloatArray) -> FloatArray:
        return np.concatenate([left[..., :-1] @ self.known, left[..., -1:]], axis=-1)


def is_implied(kernel: object) -> bool:
    """Whether a matrix is no array but takes its place in products."""
    return isinstance(kernel, TwoLevels | WithGap)


def two_levels(channel: Channel | None, true: Grid) -> TwoLevels | None:
    """The matrix of a law on the labels `true`, where it has two values; None where it is of another kind."""
    if true.atoms is None or not np.array_equal(true.points, np.arange(true.size)):
        return None
    if channel is None:
        return TwoLevels(OwnCells(true.size), 0.0, 1.0)
    if isinstance(channel, Projective) and channel.size == true.size:
        return TwoLevels(ReportSets(channel), 1 / channel.total, (channel.gamma or np.nan) / channel.total)
    if isinstance(channel, Substitution) and channel.gamma is not None and channel.size == true.size:
        if channel.edges is not None or channel.values is not None:
            return None
        total = channel.gamma + channel.size - 1
        return TwoLevels(OwnCells(true.size), 1 / total, channel.gamma / total)
    return None


def label_matrix(channel: Channel | None, true: Grid) -> FloatArray | None:
    """The same in the place of an array, for more than `DENSE_LABELS` labels; None where an array will do."""
    return cast("FloatArray | None", two_levels(channel, true)) if true.size > DENSE_LABELS else None
