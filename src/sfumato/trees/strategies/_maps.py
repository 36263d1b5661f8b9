"""Maps: the class-conditional joint distribution of a few attributes, reconstructed through all their channels at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.reconstruction import apply_along_axes, fit_separable
from sfumato.table import Column, Table
from sfumato.trees.strategies._axes import Axis, class_shares


@dataclass(frozen=True, eq=False)
class JointMap:
    """P(true cells | class) for every class, and the shares of the classes."""

    axes: tuple[Axis, ...]
    masses: tuple[FloatArray, ...]
    shares: FloatArray

    @property
    def weights(self) -> FloatArray:
        """π_c P(cells | class c), the class on the first axis; they add up to 1."""
        return np.stack([share * mass for share, mass in zip(self.shares, self.masses, strict=True)])

    @property
    def separation(self) -> float:
        """Σ_x max_c π_c P(x | c): how often the map's own best guess of the class would be right."""
        return float(self.weights.max(axis=0).sum())

    def class_log_loss(self, table: Table) -> FloatArray:
        """−log P(class | released values) of each record; one that lies off the axes is judged by class shares alone."""
        # No class is thought less likely than this, so that one surprising record cannot decide a comparison.
        min_mass = 1e-12
        places = cell_numbers(self.axes, table)
        kernels = [axis.kernel for axis in self.axes]
        pairs = zip(self.shares, self.masses, strict=True)
        seen = np.stack([share * apply_along_axes(kernels, mass).ravel() for share, mass in pairs]) + min_mass
        loss = -np.log(seen[table.codes, places] / seen[:, places].sum(axis=0))
        return np.where(places < 0, -np.log(self.shares)[table.codes], loss)


def cell_numbers(axes: Sequence[Axis], table: Table) -> IntArray:
    """The place of every record in the flat table of released bins; −1 where a value is missing unexpectedly."""
    out = np.zeros(table.rows, np.int64)
    present = np.ones(table.rows, bool)
    for axis in axes:
        codes = axis.codes(table[axis.name])
        present &= codes >= 0
        out = out * axis.kernel.shape[0] + codes
    return np.where(present, out, -1)


def fit_map(axes: Sequence[Axis], table: Table, *, iterations: int, smoothing: float) -> JointMap:
    """EM(S) for each class; the kernel is separable, so a step is one small matrix product an axis."""
    places = cell_numbers(axes, table)
    kernels = [axis.kernel for axis in axes]
    strengths = [axis.smoothing(smoothing) for axis in axes]
    shape = tuple(kernel.shape[0] for kernel in kernels)
    masses = []
    for c in range(len(table.labels)):
        here = places[(table.codes == c) & (places >= 0)]
        counts = np.bincount(here, minlength=math.prod(shape)).astype(np.float64).reshape(shape)
        # Without axes there is one cell, and all is in it.
        masses.append(fit_separable(kernels, counts, strengths, iterations).mass if axes else np.ones(()))
    return JointMap(tuple(axes), tuple(masses), class_shares(table.codes, len(table.labels)))


LONG_SIZES = ((100,), (52, 52), (36, 36, 14), (22, 16, 14, 8))
"""Cells of the long axes in the order of choice, for one to four of them: what was chosen first is drawn finest."""

MAX_CELLS = 45_000

MAX_BINS = (110, 64, 40, 40)
"""Bins of an axis at most, for maps of one to four attributes."""


def axis_sizes(natural: Sequence[int], fixed: Sequence[bool]) -> list[int]:
    """How many cells each axis of a map gets, given the size it would have by itself and whether that is fixed."""
    min_cells = 6
    # Axes with more cells than this can be cut coarser; shorter ones, and categories, keep their natural cells.
    long_axis = 16
    long = [i for i, (size, stays) in enumerate(zip(natural, fixed, strict=True)) if size > long_axis and not stays]
    out = list(natural)
    shape = LONG_SIZES[min(len(long), len(LONG_SIZES)) - 1]
    for rank, i in enumerate(long):
        out[i] = min(natural[i], shape[min(rank, len(shape) - 1)])
    while math.prod(out) > MAX_CELLS and any(out[i] > min_cells for i in long):
        for i in long:
            out[i] = max(min_cells, int(0.9 * out[i]))
    return out


def map_axes(columns: Sequence[Column]) -> list[Axis]:
    """The axes of a map of these columns, bins a little finer than cells."""
    natural = [column.true_grid(LONG_SIZES[0][0]) for column in columns]
    sizes = axis_sizes([grid.size for grid in natural], [grid.labels is not None for grid in natural])
    most = MAX_BINS[min(len(columns), len(MAX_BINS)) - 1] if columns else 0
    bins = [max(16, min(most, size + size // 10 + 1)) for size in sizes]
    return [Axis.of(column, size, most) for column, size, most in zip(columns, sizes, bins, strict=True)]
