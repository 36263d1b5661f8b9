"""K[s, p] = P(released in s | true in p): an array, or an operator that takes its place in products.

K-ary response, projective reports and labels that are released as true have matrices of two values only:

    K[s, p] = high where released cell s lies in the set of label p, low elsewhere.

So K v = low Σ v + (high − low) A v, where A is the identity or the incidence of a projective space, whose product is one
transform. At 20,000 labels the array would take 3 to 13 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.projective import Projective
from sfumato.channels.substitution import Substitution
from sfumato.counts import FloatArray, Grid, IntArray

if TYPE_CHECKING:
    from sfumato.channels.base import Channel

BoolArray = NDArray[np.bool_]

MAX_CELLS_AT_ONCE = 2**20
"""Entries of an operator that are held at once."""


class Kernel(Protocol):
    """K[s, p] = P(released in s | true in p), one row per released cell, one column per true cell."""

    @property
    def shape(self) -> tuple[int, int]:
        """Released cells × true cells."""

    @property
    def T(self) -> Kernel:  # noqa: N802 - as arrays call it
        """Return the transpose."""

    def __matmul__(self, right: FloatArray, /) -> FloatArray:
        """Return K @ right, for a vector or for columns."""

    def __rmatmul__(self, left: FloatArray, /) -> FloatArray:
        """Return left @ K, for a vector or for rows."""

    def rows(self, codes: IntArray) -> FloatArray:
        """Return K[codes], shape (codes, columns)."""

    def at(self, codes: IntArray, cells: IntArray) -> FloatArray:
        """Return K[codes[i], cells[i]] for every i."""

    def likeliest(self) -> IntArray:
        """Return for each row the first column with its largest entry."""

    def dense(self) -> FloatArray:
        """Return K as an array."""


@dataclass(frozen=True, eq=False)
class DenseKernel:
    """A kernel that is an array.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = DenseKernel(np.array([[0.9, 0.2], [0.1, 0.8]]))
    >>> kernel @ np.array([0.5, 0.5])
    array([0.55, 0.45])
    >>> kernel.T.rows(np.array([1]))
    array([[0.2, 0.8]])
    """

    array: FloatArray

    __array_ufunc__ = None  # arrays leave products with it to __rmatmul__

    @property
    def shape(self) -> tuple[int, int]:
        """Released cells × true cells."""
        rows, columns = self.array.shape
        return rows, columns

    # Products with a vector are fastest row by row, from either side; both layouts are made once and shared with T.
    @cached_property
    def _by_rows(self) -> FloatArray:
        return np.ascontiguousarray(self.array)

    @cached_property
    def _by_columns(self) -> FloatArray:
        return np.ascontiguousarray(self.array.T)

    @property
    def T(self) -> DenseKernel:  # noqa: N802 - as arrays call it
        """Return the transpose."""
        out = DenseKernel(self.array.T)
        out.__dict__.update(_by_rows=self._by_columns, _by_columns=self._by_rows)
        return out

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return np.asarray(self._by_rows @ right)

    def __rmatmul__(self, left: FloatArray) -> FloatArray:
        return np.asarray(self._by_columns @ left if left.ndim == 1 else left @ self.array)

    def rows(self, codes: IntArray) -> FloatArray:
        """Return K[codes]."""
        return self.array[codes]

    def at(self, codes: IntArray, cells: IntArray) -> FloatArray:
        """Return K[codes[i], cells[i]] for every i."""
        return self.array[codes, cells]

    def likeliest(self) -> IntArray:
        """Return for each row the first column with its largest entry."""
        return self.array.argmax(axis=1)

    def dense(self) -> FloatArray:
        """Return the array itself, laid out by rows."""
        return self._by_rows


class LabelSets(Protocol):
    """Which released cells belong to which label; the relation is the same read either way."""

    @property
    def shape(self) -> tuple[int, int]:
        """Released cells × labels."""

    @property
    def set_size(self) -> int:
        """The number of released cells that belong to each label."""

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """Sum, for every released cell, over the labels that it belongs to."""

    def labels_of(self, amounts: FloatArray) -> FloatArray:
        """Sum, for every label, over the released cells that belong to it."""

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether each cell (a row) belongs to each label (a column)."""

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether cell i belongs to label i."""


@dataclass(frozen=True)
class OwnCells:
    """One released cell per label: the label itself."""

    size: int
    set_size = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Labels × labels."""
        return self.size, self.size

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """Return the amounts as they are."""
        return amounts

    labels_of = cells_of

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether they are equal."""
        return np.asarray(cells[:, None] == labels[None, :])

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether they are equal."""
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
        """s, the same for every value."""
        return self.law.space.set_size

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """Sum by one transform."""
        return self.law.space.quick_hits(np.concatenate([amounts, np.zeros(self.law.reports - len(amounts))]))

    def labels_of(self, amounts: FloatArray) -> FloatArray:
        """Sum by one transform."""
        return self.law.space.quick_hits(amounts)[: self.law.bin_grid.size]

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether ⟨x, y⟩ = 0."""
        return self.law.space.orthogonal(cells, labels)

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether ⟨x, y⟩ = 0."""
        points = self.law.space.points
        return np.asarray((points[cells] * points[labels]).sum(axis=1) % self.law.space.order == 0)


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """A kernel of two values: `high` where a released cell lies in the set of a label, `low` elsewhere."""

    sets: LabelSets
    low: float
    high: float
    transposed: bool = False

    __array_ufunc__ = None  # arrays leave products with it to __rmatmul__

    @property
    def shape(self) -> tuple[int, int]:
        """Released cells × labels."""
        return self.sets.shape[::-1] if self.transposed else self.sets.shape

    @property
    def T(self) -> TwoLevels:  # noqa: N802 - as arrays call it
        """Return the transpose."""
        return replace(self, transposed=not self.transposed)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        if right.ndim == 1:
            return self._product(right)
        return np.stack([self._product(column) for column in right.T], axis=1)

    def __rmatmul__(self, left: FloatArray) -> FloatArray:
        if left.ndim == 1:
            return self.T @ left
        return np.stack([self.T @ row for row in left]) if len(left) else np.zeros((0, self.shape[1]))

    def _product(self, vector: FloatArray) -> FloatArray:
        summed = self.sets.labels_of(vector) if self.transposed else self.sets.cells_of(vector)
        if vector.min(initial=0.0) >= 0:
            summed = np.maximum(summed, 0.0)  # transforms leave crumbs of either sign where a sum is zero
        return self.low * vector.sum() + (self.high - self.low) * summed

    def inside(self, codes: IntArray, columns: IntArray | None = None) -> BoolArray:
        """Return whether K[codes][:, columns] is `high`; all columns by default."""
        every = np.arange(self.shape[1]) if columns is None else columns
        return self.sets.incidence(every, codes).T if self.transposed else self.sets.incidence(codes, every)

    def rows(self, codes: IntArray) -> FloatArray:
        """Return K[codes]."""
        return np.where(self.inside(codes), self.high, self.low)

    def at(self, codes: IntArray, cells: IntArray) -> FloatArray:
        """Return K[codes[i], cells[i]] for every i."""
        pairs = self.sets.pairs(cells, codes) if self.transposed else self.sets.pairs(codes, cells)
        return np.where(pairs, self.high, self.low)

    def in_parts(self, codes: IntArray) -> Iterator[slice]:
        """Cut `codes` into runs whose rows fit into memory together."""
        step = max(1, MAX_CELLS_AT_ONCE // self.shape[1])
        for begin in range(0, len(codes), step):
            yield slice(begin, min(begin + step, len(codes)))

    def likeliest(self) -> IntArray:
        """Return for each row the first column that is `high`; the first of all where none is."""
        codes = np.arange(self.shape[0])
        return np.concatenate([self.inside(codes[part]).argmax(axis=1) for part in self.in_parts(codes)])

    def dense(self) -> FloatArray:
        """Return K as an array."""
        return self.rows(np.arange(self.shape[0]))

    @property
    def gamma(self) -> float | None:
        """γ where the matrix is gamma-diagonal, None elsewhere."""
        return self.high / self.low if isinstance(self.sets, OwnCells) and self.low > 0 else None

    @property
    def column_entropy(self) -> float:
        """H(Y | X = p) in bits, the same for every label p: s released cells of `high`, the others of `low`."""
        inside, outside = self.sets.set_size, self.sets.shape[0] - self.sets.set_size
        low = self.low * np.log2(self.low) if self.low > 0 else 0.0
        return float(-inside * self.high * np.log2(self.high) - outside * low)


@dataclass(frozen=True, eq=False)
class WithMissing:
    """An operator with one more row and column, the last ones, for the missing value, which no law touches."""

    known: TwoLevels

    __array_ufunc__ = None  # arrays leave products with it to __rmatmul__

    @property
    def shape(self) -> tuple[int, int]:
        """One more each way."""
        return self.known.shape[0] + 1, self.known.shape[1] + 1

    @property
    def T(self) -> WithMissing:  # noqa: N802 - as arrays call it
        """Return the transpose."""
        return WithMissing(self.known.T)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return np.concatenate([self.known @ right[:-1], right[-1:]])

    def __rmatmul__(self, left: FloatArray) -> FloatArray:
        return np.concatenate([left[..., :-1] @ self.known, left[..., -1:]], axis=-1)

    def rows(self, codes: IntArray) -> FloatArray:
        """Return K[codes]."""
        missing = codes == self.known.shape[0]
        out = np.zeros((len(codes), self.shape[1]))
        out[~missing, :-1] = self.known.rows(codes[~missing])
        out[missing, -1] = 1.0
        return out

    def at(self, codes: IntArray, cells: IntArray) -> FloatArray:
        """Return K[codes[i], cells[i]] for every i."""
        absent, unknown = codes == self.known.shape[0], cells == self.known.shape[1]
        entries = self.known.at(np.where(absent, 0, codes), np.where(unknown, 0, cells))
        return np.where(absent | unknown, (absent & unknown).astype(np.float64), entries)

    def likeliest(self) -> IntArray:
        """Return for each row the first column with its largest entry."""
        return np.append(self.known.likeliest(), self.known.shape[1])

    def dense(self) -> FloatArray:
        """Return K as an array."""
        return self.rows(np.arange(self.shape[0]))


def with_missing(kernel: Kernel) -> Kernel:
    """Return the kernel with a last row and column for the missing value, which is released as it is."""
    if isinstance(kernel, TwoLevels):
        return WithMissing(kernel)
    array = np.pad(kernel.dense(), ((0, 1), (0, 1)))
    array[-1, -1] = 1.0
    return DenseKernel(array)


def label_operator(channel: Channel | None, true: Grid) -> TwoLevels | None:
    """Return the kernel of a law on the labels `true` where it has two values; None where it has more."""
    if true.atoms is None or not np.array_equal(true.points, np.arange(true.size)):
        return None
    if channel is None:
        return TwoLevels(OwnCells(true.size), 0.0, 1.0)
    if isinstance(channel, Projective) and channel.size == true.size:
        return TwoLevels(ReportSets(channel), 1 / channel.total, channel.guarantee().gamma / channel.total)
    if isinstance(channel, Substitution) and channel.gamma is not None and channel.size == true.size:
        if channel.edges is not None or channel.values is not None:
            return None
        total = channel.gamma + channel.size - 1
        return TwoLevels(OwnCells(true.size), 1 / total, channel.gamma / total)
    return None
