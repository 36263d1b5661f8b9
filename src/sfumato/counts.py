"""Grids and counts: all that mining ever needs of a table.

A `Grid` cuts a column into cells or atoms; its values may lie on a lattice, which noise is rounded to. `Counts` is a
contingency table over grids; ``a + b`` is the table of the rows of both, so blocks, processes and machines can count apart and
add up.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UsageError
from sfumato.schema import Attribute

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
WordArray = NDArray[np.uint64]
Scalar = TypeVar("Scalar", bound=np.generic)


def scatter(size: int, places: NDArray[Any], values: NDArray[Scalar], rest: float = math.nan) -> NDArray[Scalar]:
    """Return an array of `size` entries with `values` at `places`, and `rest` at all others.

    >>> import numpy as np
    >>> scatter(4, np.array([2, 0]), np.array([7, 8]), -1).tolist()
    [8, -1, 7, -1]
    """
    out = np.full(size, rest, values.dtype)
    out[places] = values
    return out


@dataclass(frozen=True, eq=False)
class Grid:
    """Either `edges` of half-open cells [e_i, e_{i+1}) (the last one closed), or `atoms`, single values.

    Parameters
    ----------
    edges : FloatArray, optional
        The edges of the cells, increasing. The outer two may be infinite: the end cells then hold the tails.
    atoms : FloatArray, optional
        The single values, increasing. Categories are the atoms 0, 1, 2, … with `labels`.
    step : float
        The values inside the cells lie on the lattice ``step × integer``; 0 means anywhere.
    labels : tuple of str, optional
        The names of the atoms.

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid.cells(0, 100, 4)
    >>> grid.centres.tolist(), grid.locate(np.array([0.0, 25.0, 99.0])).tolist()
    ([12.5, 37.5, 62.5, 87.5], [0, 1, 3])
    """

    edges: FloatArray | None = None
    atoms: FloatArray | None = None
    step: float = 0.0
    labels: tuple[str, ...] | None = field(default=None)

    def __post_init__(self) -> None:
        points = self.points
        if (self.edges is None) == (self.atoms is None):
            raise UsageError("a grid has either edges or atoms")
        if points.ndim != 1 or len(points) < (2 if self.atoms is None else 1) or not np.all(np.diff(points) > 0):
            raise UsageError("the edges or atoms of a grid must increase")

    @classmethod
    def cells(cls, low: float, high: float, size: int, step: float = 0.0) -> Grid:
        """Return the grid of `size` equal intervals over [low, high]."""
        return cls(edges=np.linspace(low, high, size + 1), step=step)

    @classmethod
    def categories(cls, labels: Sequence[str]) -> Grid:
        """Return the grid with one atom per category."""
        return cls(atoms=np.arange(len(labels), dtype=np.float64), labels=tuple(labels))

    @classmethod
    def over(cls, attribute: Attribute, size: int) -> Grid:
        """Return the natural grid of an attribute: its categories, its few whole numbers, or `size` equal cells."""
        if not attribute.kind.numeric:
            return cls.categories(attribute.categories)
        low, high = attribute.interval.low, attribute.interval.high
        step = attribute.step
        if low == high:
            return cls(atoms=np.array([low]))
        if step:
            first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
            values = last - first + 1
            max_atoms = 256  # a domain with more values is cut into cells rather than kept value by value
            if values <= min(max_atoms, max(size, 2)):
                return cls(atoms=np.arange(first, last + 1) * step)
            if attribute.kind.value != "real":
                # Whole cells of the lattice, half a step beyond each end, so that no cell is short of a value.
                return cls(edges=np.linspace((first - 0.5) * step, (last + 0.5) * step, size + 1), step=step)
        return cls.cells(low, high, size)

    @property
    def points(self) -> FloatArray:
        """The edges, or the atoms."""
        points = self.edges if self.edges is not None else self.atoms
        return np.empty(0) if points is None else points

    @property
    def size(self) -> int:
        """The number of cells or atoms."""
        return len(self.points) - (self.edges is not None)

    @cached_property
    def finite_edges(self) -> FloatArray:
        """Edges for drawing: infinite ends are brought in to one cell's width, atoms get half the way to their neighbours."""
        if self.edges is not None:
            edges = self.edges.copy()
            inner = np.diff(edges[np.isfinite(edges)])
            width = float(np.median(inner)) if len(inner) else 1.0
            if np.isinf(edges[0]):
                edges[0] = edges[1] - width
            if np.isinf(edges[-1]):
                edges[-1] = edges[-2] + width
            return edges
        atoms = self.points
        if len(atoms) == 1:
            return np.array([atoms[0] - 0.5, atoms[0] + 0.5])
        middle = (atoms[1:] + atoms[:-1]) / 2
        return np.concatenate([[2 * atoms[0] - middle[0]], middle, [2 * atoms[-1] - middle[-1]]])

    @property
    def inner_cuts(self) -> FloatArray:
        """The cuts between neighbouring cells as `locate` sees them; beyond the outermost lie the tails."""
        return self.points[1:-1] if self.atoms is None else self.finite_edges[1:-1]

    @cached_property
    def centres(self) -> FloatArray:
        """m(I_p): the mid-point of each cell, or the atom itself."""
        if self.atoms is not None:
            return self.atoms
        edges = self.finite_edges
        return (edges[1:] + edges[:-1]) / 2

    @cached_property
    def thresholds(self) -> FloatArray:
        """The values from which on the next cell begins: the inner edges, a few units in the last place lower.

        Binary fractions hold decimals only nearly: 0.3 as a person writes it is less than an edge that was computed as
        0.1 + 0.1 + 0.1, and still belongs to the cell that begins there.
        """
        if self.atoms is not None:
            return self.finite_edges[1:-1]
        largest = np.abs(self.points[np.isfinite(self.points)]).max(initial=0.0)
        return self.points[1:-1] - 4 * np.spacing(largest)

    @cached_property
    def _consecutive(self) -> bool:
        """Whether the atoms are consecutive whole numbers, as codes are: rounding then finds a cell without a search."""
        first = self.points[0]
        return self.atoms is not None and bool(first % 1 == 0 and np.all(self.atoms - first == np.arange(self.size)))

    def locate(self, values: FloatArray) -> IntArray:
        """Return the cell of each value: the nearest atom, or the interval it falls into; beyond the ends, the end cell."""
        if self._consecutive:
            place = values + (0.5 - self.points[0])
            # fmin and fmax send a missing value to the last cell, where a search sends it, too.
            np.fmin(place, self.size - 1, out=place)
            return np.fmax(place, 0, out=place).astype(np.int64)
        return np.searchsorted(self.thresholds, values, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Sums:
    """Arrays by name that are added up, block by block; those named min… and max… keep the least and the largest."""

    arrays: Mapping[Any, Any]

    def __add__(self, other: Sums) -> Sums:
        out = {}
        for name, mine in self.arrays.items():
            kind = name[0] if isinstance(name, tuple) else name
            merge = np.minimum if kind == "min" else np.maximum if kind == "max" else operator.add
            out[name] = merge(mine, other.arrays[name])
        return Sums(out)


@dataclass(frozen=True, eq=False)
class Counts:
    """How many rows (or how much weight) fall into each combination of cells; one array axis per grid.

    Parameters
    ----------
    grids : tuple of Grid
        One per axis.
    table : FloatArray
        The counts, of shape (size of each grid).

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid.categories(["no", "yes"])
    >>> one = Counts.of([grid], [np.array([0, 1, 1, -1])])  # −1 is a missing value
    >>> (one + one).table.tolist(), one.total
    ([2.0, 4.0], 3.0)
    """

    grids: tuple[Grid, ...]
    table: FloatArray

    def __post_init__(self) -> None:
        if self.table.shape != tuple(g.size for g in self.grids):
            raise UsageError(f"a table of shape {self.table.shape} does not fit its grids")

    @classmethod
    def of(cls, grids: Sequence[Grid], codes: Sequence[IntArray], weights: FloatArray | None = None) -> Counts:
        """Count rows by their cells; a negative code on any axis (a missing value) leaves the row out."""
        shape = tuple(g.size for g in grids)
        flat, present = codes[0], codes[0] >= 0
        for code, size in zip(codes[1:], shape[1:], strict=True):
            flat = flat * size + code
            present &= code >= 0
        if not present.all():
            flat, weights = flat[present], None if weights is None else weights[present]
        table = np.bincount(flat, weights, minlength=int(np.prod(shape))).astype(np.float64)
        return cls(tuple(grids), table.reshape(shape))

    def __add__(self, other: Counts) -> Counts:
        if self.table.shape != other.table.shape:
            raise UsageError(f"counts of shapes {self.table.shape} and {other.table.shape} cannot be added")
        return Counts(self.grids, self.table + other.table)

    @property
    def total(self) -> float:
        """n, the number of rows counted."""
        return float(self.table.sum())


MAX_OBSERVED_CELLS = 1024
"""An observed grid is made coarser rather than larger than this."""


def snap(values: FloatArray, step: float) -> FloatArray:
    """Round values to multiples of `step`, halves upward; decimal steps give the decimals people expect."""
    return lattice_value(lattice_index(values, step), step) if step else values


def lattice_index(values: FloatArray, step: float) -> FloatArray:
    """Return which multiple of `step` each value rounds to, halves upward: whole numbers in a new array."""
    if step == 1.0:
        out = values + 0.5
    elif parts := _whole_inverse(step):
        out = values * parts
        out += 0.5
    else:
        out = values / step
        out += 0.5
    return np.floor(out, out=out)


def lattice_value(index: FloatArray, step: float) -> FloatArray:
    """Return index × step, in place; tenths are divided by ten, which gives the decimals people expect."""
    if step == 1.0:
        return index
    if parts := _whole_inverse(step):
        return np.divide(index, parts, out=index)
    return np.multiply(index, step, out=index)


def _whole_inverse(step: float) -> float:
    """Return 1/step where that is a whole number above 1, else 0."""
    inverse = float(round(1.0 / step))
    return inverse if inverse > 1 and abs(inverse * step - 1.0) < 1e-12 else 0.0


def decade(value: float) -> float:
    """Return the largest power of ten that is not above `value`; 0 where float64 has none."""
    return 10.0 ** math.floor(math.log10(value)) if 0 < value < math.inf else 0.0


def lattice_cut(cuts: FloatArray, step: float) -> FloatArray:
    """Return where the unrounded value stands when the released one reaches the cut.

    Released w = step·k with half-up rounding, so w ≥ c means k ≥ ⌈c/step⌉, that is, x + y ≥ step (⌈c/step⌉ − ½).
    """
    return cuts if not step else step * (np.ceil(cuts / step - 1e-9) - 0.5)


def lattice_range(edges: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Return the first and the last multiple of `step` in each cell, in units of `step`."""
    begin = np.ceil(edges[:-1] / step - 1e-9)
    end = np.ceil(edges[1:] / step - 1e-9) - 1
    end[-1] = np.floor(edges[-1] / step + 1e-9)
    return begin, end


@dataclass(frozen=True, eq=False)
class Members:
    """The single values inside the cells of a grid, laid end to end; `first` is where each cell begins."""

    values: FloatArray
    first: IntArray

    @classmethod
    def of(cls, grid: Grid) -> Members | None:
        """Return the atoms, or the lattice points of each cell; None where there are none, or more than 64 in a cell.

        Beyond that many, values are as good as continuous.
        """
        if grid.atoms is not None:
            return cls(grid.atoms, np.arange(grid.size))
        if not grid.step:
            return None
        begin, end = lattice_range(grid.points, grid.step)
        sizes = (end - begin + 1).astype(np.int64)
        if sizes.max() > 64 or sizes.min() < 1:
            return None
        values = np.arange(begin[0], end[-1] + 1) * grid.step
        return cls(values, np.cumsum(sizes) - sizes)

    def mean(self, at_values: FloatArray) -> FloatArray:
        """Average over each cell what is known at every value (the last axis)."""
        sizes = np.diff(self.first, append=len(self.values))
        return np.asarray(np.add.reduceat(at_values, self.first, axis=-1) / sizes)


def cell_cdf(grid: Grid, points: FloatArray) -> FloatArray:
    """Return C[j, p] = P(X < points[j] | X in cell p), X uniform over the cell's values or its width."""
    members = Members.of(grid)
    if members is not None:
        return members.mean((members.values < points[:, None]).astype(np.float64))
    edges = grid.finite_edges
    low, high = edges[:-1], edges[1:]
    return np.clip((points[:, None] - low) / (high - low), 0.0, 1.0)


def differences(upper: FloatArray) -> FloatArray:
    """Return cell probabilities from the distribution function at the inner cuts: 0 before the first cell, 1 after the last.

    Over narrow cells G(cut − lo) − G(cut − hi) loses digits, so rounding can bend a flat stretch downward; a distribution
    function never falls, and no probability is negative.
    """
    ends = np.zeros((1, upper.shape[1]))
    rising = np.maximum.accumulate(np.clip(upper, 0.0, 1.0), axis=0)
    return np.diff(np.concatenate([ends, rising, ends + 1.0]), axis=0)
