"""A column seen through its law: cells of the true value, cells of the released one, and the kernel K between them.

K[s, p] = P(released in s | true in p) is an array, or an operator that takes its place in products. K-ary response, projective
reports and labels that are released as true have matrices of two values only:

    K[s, p] = high where released cell s lies in the set of label p, low elsewhere.

So K v = low Σ v + (high − low) A v, where A is the identity or the incidence of a projective space, whose product is one
transform. At 20,000 labels the array would take 3 to 13 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sfumato.counts import BoolArray, FloatArray, Grid, IntArray

if TYPE_CHECKING:
    from sfumato.channels.base import Channel


MAX_CELLS_AT_ONCE = 2**20
"""Entries of an operator that are held at once."""


class CellRule(StrEnum):
    """How P(released in s | true in p) is computed."""

    EXACT = "exact"
    MIDPOINT = "midpoint"


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
    return TwoLevels(OwnCells(true.size), 0.0, 1.0) if channel is None else channel.operator(true.size)


MAX_DENSE_LABELS = 1024
"""Up to this many labels a kernel is an array: at most 32 MB, and products of arrays are the fastest."""


@dataclass(frozen=True, eq=False)
class Transition:
    """From cells of the true value to cells of the released one.

    Parameters
    ----------
    true : Grid
        The cells of the true value.
    observed : Grid
        The cells in which released values are counted.
    matrix : Kernel
        K[s, p] = P(released in `observed` cell s | true in `true` cell p).

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.counts import Grid
    >>> answer = sf.Attribute("answer", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> law = sf.Substitution(gamma=3.0).on(answer)
    >>> Transition.of(law, Grid.over(answer, 2)).matrix.dense()
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    true: Grid
    observed: Grid
    matrix: Kernel

    @classmethod
    def of(
        cls,
        channel: Channel | None,
        true: Grid,
        observed: Grid | None = None,
        *,
        rule: CellRule = CellRule.EXACT,
        max_dense: int | None = None,
    ) -> Transition:
        """Return the transition of a law.

        Parameters
        ----------
        channel
            The law; None where values are released as true, and K is the identity.
        true
            The cells of the true value.
        observed
            The cells in which released values are counted; by default those that the law proposes.
        rule
            How the probability of a cell is computed.
        max_dense
            With more labels than this the kernel is an operator where the law has one, an array otherwise.
        """
        if channel is None:
            observed = true
        elif observed is None:
            observed = channel.observed_grid(true)
        if true.size > (MAX_DENSE_LABELS if max_dense is None else max_dense):
            operator = label_operator(channel, true)
            if operator is not None:
                return cls(true, observed, operator)
        array = np.eye(true.size) if channel is None else channel.transition(true, observed, rule)
        return cls(true, observed, DenseKernel(array))

    @classmethod
    def reuse(
        cls, channel: Channel, true: Grid, *, rule: CellRule = CellRule.EXACT, max_dense: int | None = None
    ) -> Transition:
        """Return the same as `of` on the law's own observed grid, remembered: classes and nodes ask again and again."""
        key = channel, true.points.tobytes(), true.edges is not None, true.step, rule
        transition = _compute(*key, MAX_DENSE_LABELS if max_dense is None else max_dense)
        return replace(transition, true=true)

    @classmethod
    def of_matrix(cls, matrix: Kernel | FloatArray) -> Transition:
        """Return the transition of a bare matrix, its cells numbered from 0."""
        rows, columns = (Grid(atoms=np.arange(size, dtype=np.float64)) for size in matrix.shape)
        return cls(columns, rows, DenseKernel(matrix) if isinstance(matrix, np.ndarray) else matrix)


@lru_cache(maxsize=32)
def _compute(channel: Channel, points: bytes, cells: bool, step: float, rule: CellRule, max_dense: int) -> Transition:
    values = np.frombuffer(points)
    true = Grid(edges=values, step=step) if cells else Grid(atoms=values, step=step)
    made = Transition.of(channel, true, rule=rule, max_dense=max_dense)
    if isinstance(made.matrix, DenseKernel):
        made.matrix.array.setflags(write=False)
    return made


def coarsen(grid: Grid, values: FloatArray, max_cells: int, *, keep_last_cut: bool = False) -> Grid:
    """Return the observed grid cut into at most `max_cells` cells, at cuts of its own.

    The thousandth of the values at each end share the end cells. Every k-th of the cuts between is kept, for the smallest k
    that will do. A joint table also keeps the last cut (`keep_last_cut`), so that both its end cells hold nothing but
    tails; an axis of a tree's model does not, and its upper end cell may be wider.

    Parameters
    ----------
    grid
        The observed grid; one of atoms is returned as it is.
    values
        The released values; NaN where missing.
    max_cells
        The largest number of cells.
    keep_last_cut
        Whether the last cut below the upper tail is kept whatever k is.
    """
    tail = 0.001
    present = values[~np.isnan(values)]
    if grid.edges is None or grid.size <= max_cells or not len(present):
        return grid
    low, high = np.quantile(present, [tail, 1 - tail])
    every = grid.edges[1:-1]
    inner = every[(every >= low) & (every <= high)]
    if keep_last_cut:
        if len(inner) < 2:
            inner = every
        # k cuts make k + 1 cells, two of them tails; every factor-th cut and the last one leave at most `max_cells`.
        factor = -(-(len(inner) - 1) // max(max_cells - 2, 1))
        cuts = np.unique(np.concatenate([inner[::factor], inner[-1:]]))
    else:
        cuts = inner[:: max(1, -(-(len(inner) + 1) // max_cells))]
    return replace(grid, edges=np.concatenate([grid.edges[:1], cuts, grid.edges[-1:]]))
