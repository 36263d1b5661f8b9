"""A column as the whole-table model sees it: cells of true values, bins of released ones, and what lies inside a cell.

Numbers are solved for by themselves first (`reconstruct`), on up to a few hundred fine cells. The model counts in groups of
these, about 32, and inside a group the shape stays as found: the law of a group is the mean of the laws of its fine cells by
their masses. Labels are cells by themselves, and a missing value is one more cell, known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.channels import Additive, DenseKernel, Kernel, Transition, with_missing
from sfumato.counts import FloatArray, Grid, IntArray, lattice_range
from sfumato.modelling.chance import Chance
from sfumato.reconstruction import Lattice, cell_kernel, has_shape, reconstruct
from sfumato.schema import Attribute
from sfumato.table import Column

TINY = 1e-30


@dataclass(frozen=True, eq=False)
class Facet:
    """One column of the model.

    Parameters
    ----------
    column : Column
        The attribute and its law; the values are not used.
    fine : Grid
        The fine cells of the true values.
    mass : array
        The share of each fine cell.
    observed : Grid
        The bins of the released values.
    fine_kernel : Kernel
        P(bin | fine cell).
    first : array
        The first fine cell of each group; every fine cell is a group where this counts through all of them.
    gaps : bool
        Whether values are missing. The missing value is then the last cell and the last bin.
    """

    column: Column
    fine: Grid
    mass: FloatArray
    observed: Grid
    fine_kernel: Kernel
    first: IntArray
    gaps: bool

    @classmethod
    def of(cls, column: Column, max_cells: int = 32) -> Facet:
        """Look at a released column: solve for its fine cells, and group them.

        Parameters
        ----------
        column
            The released values with their law.
        max_cells
            Groups of numbers; labels are never grouped.
        """
        gaps = bool(np.isnan(column.values).any())
        if not column.attribute.kind.numeric:
            true = column.true_grid(1)
            transition = Transition.of(column.channel, true, column.observed_grid(true))
            mass = _label_shares(column, true, transition)
            return cls(column, true, mass, transition.observed, transition.matrix, np.arange(true.size), gaps)
        if column.channel is None:
            true = _own_cells(column, max_cells)
            counts = np.bincount(true.locate(column.values[~np.isnan(column.values)]), minlength=true.size)
            identity = DenseKernel(np.eye(true.size))
            return cls(column, true, counts / max(counts.sum(), 1), true, identity, np.arange(true.size), gaps)
        true, mass = _solve(column)
        observed = _observed_grid(column, true)
        if true.edges is not None and has_shape(column):
            kernel: Kernel = DenseKernel(
                cell_kernel(column.channel, true.edges, Lattice.of(column.attribute), observed)
            )
        else:
            kernel = Transition.of(column.channel, true, observed).matrix
        return cls(column, true, mass, observed, kernel, group_cells(mass, max_cells), gaps)

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.column.name

    @property
    def attribute(self) -> Attribute:
        """The attribute."""
        return self.column.attribute

    @cached_property
    def grouped(self) -> bool:
        """Whether some cells hold several fine ones."""
        return len(self.first) < self.fine.size

    @cached_property
    def inner(self) -> FloatArray:
        """The share of each fine cell in its group."""
        total = np.add.reduceat(self.mass, self.first)
        sizes = np.diff(self.first, append=self.fine.size)
        return np.asarray(self.mass / np.repeat(np.maximum(total, TINY), sizes))

    @cached_property
    def kernel(self) -> Kernel:
        """P(bin | cell), with a last row and column for the missing value where there are gaps."""
        kernel = self.fine_kernel
        if self.grouped:
            kernel = DenseKernel(np.add.reduceat(kernel.dense() * self.inner, self.first, axis=1))
        return with_missing(kernel) if self.gaps else kernel

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each cell, the missing one included as if one row in a thousand had it; the model finds its own."""
        shares = np.add.reduceat(self.mass, self.first)
        shares = np.append(shares, 1e-3) if self.gaps else shares
        return np.asarray(shares / shares.sum())

    @property
    def size(self) -> int:
        """The number of cells, the missing one included."""
        return len(self.first) + self.gaps

    @property
    def bins(self) -> int:
        """The number of bins, the missing one included."""
        return self.observed.size + self.gaps

    def codes(self, column: Column) -> IntArray:
        """Return the bin of every released value; −1 where it is missing and no missing value was expected."""
        codes = column.locate(self.observed)
        return np.where(codes < 0, self.observed.size, codes) if self.gaps else codes

    def values(self, cells: IntArray, codes: IntArray, column: Column | None, chance: Chance) -> FloatArray:
        """Draw a true value inside each cell, given what was released.

        Parameters
        ----------
        cells
            The cell of each row.
        codes
            The bin of each row; −1 where nothing was released.
        column
            The released values, or None where there are none.
        chance
            Where chance comes from, one number per row and step.

        Returns
        -------
        array
            Numbers on the column's lattice, places of labels, NaN where missing.
        """
        if not self.attribute.kind.numeric:
            return np.where(cells < self.fine.size, cells, np.nan).astype(np.float64)
        if self.column.channel is None and column is not None:
            return column.values
        missing = cells >= len(self.first)
        known = np.where(missing, 0, cells)
        fine = self._draw_fine(known, codes, chance) if self.grouped else known
        out = self._spread(fine, chance)
        if column is not None and isinstance(self.column.channel, Additive) and self.fine.edges is not None:
            self._sharpen(out, fine, column.values, chance)
        out[missing] = np.nan
        return out

    def _draw_fine(self, cells: IntArray, codes: IntArray, chance: Chance) -> IntArray:
        """Draw a fine cell of each group: by its mass times the law, P(fine) K[bin, fine]; by its mass where no bin is known."""
        kernel = np.append(
            self.fine_kernel.dense(), np.ones((1, self.fine.size)), axis=0
        )  # the last row is for code −1
        upto = np.cumsum((self.mass + TINY) * (kernel + TINY), axis=1)
        upto = np.pad(upto, ((0, 0), (1, 0))) / upto[:, -1:]
        rows = np.where((codes < 0) | (codes >= self.observed.size), self.observed.size, codes)
        last = np.append(self.first[1:], self.fine.size) - 1
        low, high = upto[rows, self.first[cells]], upto[rows, last[cells] + 1]
        ladder = (upto[:, 1:] + np.arange(len(upto))[:, None]).ravel()
        places = np.searchsorted(ladder, rows + low + chance.heights("fine cell") * (high - low), side="right")
        return np.clip(places - rows * self.fine.size, self.first[cells], last[cells])

    def _spread(self, fine: IntArray, chance: Chance) -> FloatArray:
        """Return an even draw of what a fine cell holds: its atom, one of its lattice points, or any number."""
        grid = self.fine
        fine = np.minimum(fine, grid.size - 1)
        if grid.atoms is not None:
            return grid.atoms[fine].astype(np.float64)
        edges, height = grid.finite_edges, chance.heights("value")
        if not grid.step:
            low, high = self.attribute.interval.low, self.attribute.interval.high
            return np.clip(edges[fine] + height * (edges[fine + 1] - edges[fine]), low, high)
        begin, end = lattice_range(edges, grid.step)
        members = np.maximum(end - begin + 1, 1)
        return (begin[fine] + np.floor(height * members[fine])) * grid.step

    def _sharpen(self, out: FloatArray, fine: IntArray, released: FloatArray, chance: Chance) -> None:
        """Draw anew where the noise is not much wider than the cell: released − N, N from the law where it leads into the cell.

        With x even over the cell, P(x | y) ∝ f(y − x) there, so N = F⁻¹(u) for u even between F(y − high) and F(y − low).
        """
        max_width, halvings = 0.5, 24  # of the law's scale; a shape inside narrower cells makes no difference
        law, edges = self.column.channel, self.fine.finite_edges
        if not isinstance(law, Additive) or law.scale is None:
            return
        low, high = edges[fine], edges[fine + 1]
        rows = np.flatnonzero((high - low > max_width * law.scale) & ~np.isnan(released))
        if not len(rows):
            return
        y, low, high = released[rows], low[rows], high[rows]
        least, most = law.cdf(y - high), law.cdf(y - low)
        target = least + chance.take(rows).heights("noise") * (most - least)
        below, above = y - high, y - low
        for _ in range(halvings):
            middle = (below + above) / 2
            over = law.cdf(middle) > target
            above, below = np.where(over, middle, above), np.where(over, below, middle)
        drawn = y - (below + above) / 2
        ends = self.attribute.interval
        if step := self.fine.step:
            begin, end = lattice_range(edges, step)
            drawn = np.clip(np.round(drawn / step), begin[fine[rows]], end[fine[rows]]) * step
        out[rows] = np.clip(drawn, ends.low, ends.high)


def group_cells(mass: FloatArray, size: int) -> IntArray:
    """Return where groups of neighbouring cells begin, at most `size` of them, none with much more of √mass than another.

    Equal shares of √mass lie between equal widths, which spend cells on empty tails, and equal masses, which leave tails none.

    Examples
    --------
    >>> import numpy as np
    >>> group_cells(np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]), 4).tolist()
    [0, 1, 3, 5]
    """
    if len(mass) <= size:
        return np.arange(len(mass))
    least = 1e-4  # cells without rows still lead somewhere
    weight = np.sqrt(np.maximum(mass, 0.0)) + least
    first, room = [0], size
    left, held = float(weight.sum()), 0.0
    for place, amount in enumerate(weight):
        if place and room > 1 and held + amount / 2 > left / room:
            first.append(place)
            left, held, room = left - held, 0.0, room - 1
        held += float(amount)
    return np.array(first)


def _solve(column: Column) -> tuple[Grid, FloatArray]:
    """Return the fine cells of a blurred column of numbers, and their masses."""
    grid, mass = reconstruct(column).fine
    return grid, np.maximum(mass, 0.0) / np.maximum(mass, 0.0).sum()


def _observed_grid(column: Column, fine: Grid) -> Grid:
    """Return bins that lose little: a third of the noise wide, as far as 512 bins go."""
    min_bins, max_bins = 64, 512
    law = column.channel
    if not isinstance(law, Additive) or law.scale is None:
        return column.observed_grid(fine)
    ends = column.attribute.interval
    bins = int(np.clip(3 * ends.range / law.scale, min_bins, max_bins))
    return column.observed_grid(Grid.cells(ends.low, ends.high, bins))


def _own_cells(column: Column, size: int) -> Grid:
    """Return cells of numbers that were released as true, each with about as many of them; a value many share is alone."""
    values = column.values[~np.isnan(column.values)]
    if not len(values):
        return column.true_grid(size)
    known, counts = np.unique(values, return_counts=True)
    first = group_cells(counts / counts.sum(), size)
    if len(known) <= size:
        return Grid(atoms=known)
    cuts = (known[first[1:]] + known[first[1:] - 1]) / 2
    lattice = Lattice.of(column.attribute)
    low, high = min(lattice.ends[0], known[0]), max(lattice.ends[1], known[-1])
    return Grid(edges=np.unique(np.concatenate([[low], cuts, [high]])), step=column.attribute.step or 0.0)


def _label_shares(column: Column, true: Grid, transition: Transition) -> FloatArray:
    """Return the share of every label, none of them zero."""
    codes = column.locate(transition.observed)
    if not (codes >= 0).any():
        return np.full(true.size, 1 / true.size)
    least = 0.5 / len(codes)
    shares = np.maximum(reconstruct(column).mass, 0.0) + least
    return np.asarray(shares / shares.sum())
