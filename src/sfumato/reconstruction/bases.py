"""The cells in which a column is solved for, and the shapes that are simple on them.

A density that is simple on an even scale (an age, a weight) is fitted in equal cells. One with a narrow body and a long tail
(an income, a balance, a count with many zeros) is simple on a stretched scale, u = asinh((x − c)/d), which is even near the
anchor c and logarithmic far from it. A value that many rows share (a default, a round number) is an atom. All of them are
bases over one fine partition of the domain, so that one kernel serves all and their fits can be averaged.

Cells hold whole lattice points: an edge lies half a step between two values that the column can take, and even cells hold the
same number of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.channels import Channel, Transition
from sfumato.counts import FloatArray, Grid
from sfumato.schema import Attribute

STRETCH = 0.003
"""d of the stretched scale, as a share of the domain: below it the scale is even."""


@dataclass(frozen=True)
class Lattice:
    """The values that a numeric attribute can take: multiples of a step between two ends; all numbers where the step is 0.

    Examples
    --------
    >>> import sfumato as sf
    >>> ages = Lattice.of(sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(17, 90)))
    >>> ages.size, ages.even_edges(50)[:3]
    (74.0, array([16.5, 18.5, 20.5]))
    """

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, attribute: Attribute) -> Lattice:
        """Return the lattice of an attribute's declared values."""
        low, high, step = attribute.interval.low, attribute.interval.high, attribute.step or 0.0
        if not step:
            return cls(low, high, 0.0)
        return cls(math.ceil(low / step - 1e-9) * step, math.floor(high / step + 1e-9) * step, step)

    @property
    def size(self) -> float:
        """The number of values."""
        return round((self.high - self.low) / self.step) + 1.0 if self.step else math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """The outer edges: half a step beyond the first and the last value."""
        return self.low - self.step / 2, self.high + self.step / 2

    @property
    def width(self) -> float:
        """The distance between the outer edges."""
        return self.ends[1] - self.ends[0]

    def even_edges(self, cells: int, min_width: float = 0.0) -> FloatArray:
        """Return at most `cells` cells of `min_width` or more that hold the same number of values; the last may hold fewer."""
        first, last = self.ends
        if not self.step:
            most = int(self.width / min_width) if min_width else cells
            cells = max(1, min(cells, most))
            return np.asarray(first + np.arange(cells + 1) * (self.width / cells), dtype=np.float64)
        per_cell = max(1, math.ceil(self.size / cells - 1e-9), math.ceil(min_width / self.step - 1e-9))
        edges = first + np.arange(math.ceil(self.size / per_cell - 1e-9) + 1) * (per_cell * self.step)
        edges[-1] = last
        return np.asarray(edges, dtype=np.float64)

    def stretched_edges(self, anchor: float, cells: int) -> FloatArray:
        """Return about `cells` cells, equal on the scale stretched around `anchor`; none is narrower than a step."""
        first, last = self.ends
        begin, end = self.stretch(np.array([first, last]), anchor).tolist()
        u = np.linspace(begin, end, cells + 1)
        edges = anchor + STRETCH * self.width * np.sinh(u)
        if self.step:
            edges = self.low + (np.round((edges - self.low) / self.step - 0.5) + 0.5) * self.step
        edges[0], edges[-1] = first, last
        return np.unique(np.clip(edges, first, last))

    def stretch(self, x: FloatArray, anchor: float) -> FloatArray:
        """Return u = asinh((x − c)/d)."""
        return np.asarray(np.arcsinh((x - anchor) / (STRETCH * self.width)))

    def nearest(self, x: FloatArray) -> FloatArray:
        """Return the values of the lattice next to `x`."""
        if not self.step:
            return np.clip(x, self.low, self.high)
        return np.clip(self.low + np.round((x - self.low) / self.step) * self.step, self.low, self.high)

    def cell_of(self, value: float) -> FloatArray:
        """Return the edges of the cell that holds one value alone; a ten-thousandth of the domain where there is no step."""
        half = self.step / 2 or 0.5e-4 * self.width
        return np.clip([value - half, value + half], *self.ends)

    @property
    def anchors(self) -> tuple[float, ...]:
        """Where bodies are usually narrow: at the ends of the domain, and at zero."""
        return (self.low, self.high, 0.0) if self.low < 0 < self.high else (self.low, self.high)


@dataclass(frozen=True, eq=False)
class Basis:
    """A family of densities on the cells of a partition.

    Parameters
    ----------
    name : str
        How it is called in `chosen`.
    spread : array
        The masses of the partition's cells for one unit of each coefficient, shape (cells, coefficients).
    widths : array
        Widths of the basis's own cells on the scale on which its densities are simple. Coefficients beyond them are atoms.
    price : float
        Nats that held-out values must bring before it weighs as much as the plainest basis.
    """

    name: str
    spread: FloatArray
    widths: FloatArray
    price: float = 0.0

    @property
    def atoms(self) -> int:
        """The number of coefficients that are atoms."""
        return self.spread.shape[1] - len(self.widths)

    @classmethod
    def of_cells(cls, widths: FloatArray, max_cells: int) -> Basis:
        """Return the basis of the cells themselves, neighbours joined where there are more than `max_cells`."""
        block = np.arange(len(widths)) // -(-len(widths) // max_cells)
        total = np.bincount(block, widths).astype(np.float64)
        spread = np.zeros((len(widths), len(total)))
        spread[np.arange(len(widths)), block] = widths / total[block]
        return cls("even", spread, total)

    def with_atoms(self, cells: FloatArray, *, kind: str, price: float = 0.0) -> Basis:
        """Return the basis with atoms: `cells` holds the masses of each, shape (cells, atoms)."""
        return replace(
            self, name=f"{self.name} with {kind}", spread=np.hstack([self.spread, cells]), price=self.price + price
        )


def share_cells(edges: FloatArray, others: FloatArray) -> FloatArray:
    """Return the part of each cell of `others` that lies in each cell of `edges`, shape (cells, other cells).

    Examples
    --------
    >>> import numpy as np
    >>> share_cells(np.array([0.0, 1.0, 4.0]), np.array([0.0, 2.0, 4.0]))
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """
    low = np.maximum(edges[:-1, None], others[None, :-1])
    high = np.minimum(edges[1:, None], others[None, 1:])
    return np.asarray(np.maximum(high - low, 0.0) / np.diff(others))


def cell_kernel(channel: Channel, edges: FloatArray, lattice: Lattice, observed: Grid) -> FloatArray:
    """Return K between cells and the observed grid; a cell of few lattice points is the mean over them, others are even."""
    max_points = 8
    kernel = Transition.of(channel, Grid(edges=edges), observed).matrix.dense().copy()
    if not lattice.step:
        return kernel
    first = np.round((edges[:-1] - lattice.low) / lattice.step + 0.5)
    sizes = np.round(np.diff(edges) / lattice.step).astype(np.int64)
    few = np.flatnonzero((sizes <= max_points) & (sizes > 0))
    if len(few):
        starts = np.cumsum(sizes[few]) - sizes[few]
        places = np.arange(sizes[few].sum()) - np.repeat(starts, sizes[few]) + np.repeat(first[few], sizes[few])
        points = Grid(atoms=lattice.low + places * lattice.step)
        at_points = Transition.of(channel, points, observed).matrix.dense()
        kernel[:, few] = np.add.reduceat(at_points, starts, axis=1) / sizes[few]
    return kernel


def join_narrow(edges: FloatArray, min_width: float) -> FloatArray:
    """Return the edges without those that would leave a cell narrower than `min_width`."""
    kept = [edges[0]]
    for edge in edges[1:-1]:
        if edge - kept[-1] >= min_width and edges[-1] - edge >= min_width:
            kept.append(edge)
    return np.array([*kept, edges[-1]])
