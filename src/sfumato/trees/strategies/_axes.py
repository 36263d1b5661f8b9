"""A column as an axis of a model: cells of the true value, bins of the released one, and the kernel between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from sfumato.channels import TwoLevels, WithGap, is_implied, label_matrix
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.schema import Attribute, Kind
from sfumato.table import Column, Table

TAIL = 1e-3
"""Released values beyond this quantile, and its mirror image, share the end bins."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute of a model of true values that is seen through a channel.

    Attributes
    ----------
    attribute, grid
        The column, and the cells of its true values.
    bins
        The bins of its released values.
    kernel
        K[s, p] = P(released in s | true in p). Where values are missing a last row and column stand for the missing
        value, which no channel touches: it is one more cell, known exactly.
    gaps
        Whether there is such a cell.
    """

    attribute: Attribute
    grid: Grid
    bins: Grid
    kernel: FloatArray
    gaps: bool

    @classmethod
    def of(cls, column: Column, cells: int, most_bins: int) -> Axis:
        """The natural grid of the true values in at most `cells` cells, the released ones in at most `most_bins` bins."""
        grid = column.true_grid(cells)
        gaps = bool(np.isnan(column.values).any())
        implied = label_matrix(column.channel, grid)
        if implied is not None:
            whole = cast("FloatArray", WithGap(cast("TwoLevels", implied))) if gaps else implied
            return cls(column.attribute, grid, column.observed_grid(grid), whole, gaps)
        if column.channel is None:
            bins, kernel = grid, np.eye(grid.size)
        else:
            bins = coarser(column.observed_grid(grid), column.values, most_bins)
            kernel = column.channel.transition(grid, bins)
        if gaps:
            kernel = np.pad(kernel, ((0, 1), (0, 1)))
            kernel[-1, -1] = 1.0
        return cls(column.attribute, grid, bins, kernel, gaps)

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @property
    def size(self) -> int:
        """How many cells the true values have, the missing one included."""
        return self.kernel.shape[1]

    @property
    def many_labels(self) -> bool:
        """Whether the kernel is no array but takes its place in products."""
        return is_implied(self.kernel)

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells hold neighbouring values."""
        return self.attribute.kind is not Kind.CATEGORICAL

    def smoothing(self, strength: float) -> float:
        """The strength of smoothing that suits the axis: none between categories, nor between a handful of atoms."""
        return strength if self.ordered and self.grid.edges is not None else 0.0

    def codes(self, column: Column) -> IntArray:
        """The bin of every released value; −1 where it is missing and no missing value was expected."""
        codes = column.located(self.bins)
        return np.where(codes < 0, self.bins.size, codes) if self.gaps else codes

    def cell_codes(self) -> IntArray:
        """The codes of the cells as a tree counts them: −1 for the missing one."""
        codes = np.arange(self.size)
        if self.gaps:
            codes[-1] = -1
        return codes


def coarser(bins: Grid, values: FloatArray, most: int) -> Grid:
    """At most `most` bins, cut where the grid is cut; the sparse tails become the end bins."""
    if bins.edges is None or bins.size <= most:
        return bins
    present = values[~np.isnan(values)]
    if not len(present):
        return bins
    low, high = np.quantile(present, [TAIL, 1 - TAIL])
    inner = bins.edges[1:-1]
    inner = inner[(inner >= low) & (inner <= high)]
    inner = inner[:: max(1, -(-(len(inner) + 1) // most))]
    return replace(bins, edges=np.concatenate([bins.edges[:1], inner, bins.edges[-1:]]))


def classified(table: Table) -> tuple[Table, IntArray]:
    """The rows that have a class, and their classes; refuses a table from which nothing can be learned."""
    if table.target is None:
        raise UsageError("a tree needs a class; declare the target column of the release")
    if not table.columns:
        raise UsageError("a tree needs at least one attribute beside the class; the release has none")
    known = table.codes >= 0
    if not known.any():
        raise DataError("no record has a class; check the target column of the release")
    return (table, table.codes) if known.all() else (table.take(known), table.codes[known])


def class_shares(classes: IntArray, size: int) -> FloatArray:
    """π_c with half a record added to each class, so that a class seen nowhere is unlikely rather than impossible."""
    counts = np.bincount(classes, minlength=size) + 0.5
    return np.asarray(counts / counts.sum())
