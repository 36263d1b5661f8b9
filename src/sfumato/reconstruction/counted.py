"""Distributions from counts alone: two folds over the rows, and the same masses as from the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels.discrete import Discrete
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.observed import Column, ObservedTable
from sfumato.reconstruction.columns import true_grid


@dataclass(frozen=True, eq=False)
class Tables:
    """Several tables of counts that are added up together."""

    tables: tuple[IntArray, ...]

    def __add__(self, other: Tables) -> Tables:
        return Tables(tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)))


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many rows of each class (first those without) have no value (first), or fall into each cell of a grid."""

    names: tuple[str, ...]
    grids: tuple[Grid | None, ...]
    """None: one cell for all values."""

    def __call__(self, table: ObservedTable, rows: IntArray) -> Tables:
        """One table a name."""
        classes = np.full(len(rows), -1) if table.classes is None else table.classes
        k = len(table.labels) + 1
        out = []
        for name, grid in zip(self.names, self.grids, strict=True):
            column = table[name]
            cells = np.where(np.isnan(column.values), -1, 0) if grid is None else column.located(grid)
            size = 2 if grid is None else grid.size + 1
            key = (classes + 1) * size + cells + 1
            out.append(np.bincount(key, minlength=k * size).reshape(k, size))
        return Tables(tuple(out))


def weighted(column: Column, grid: Grid, counts: IntArray) -> tuple[Column, FloatArray]:
    """A column with one value in each cell and one missing value, and how many rows each stands for."""
    centres = grid.centres
    if not np.array_equal(grid.locate(centres), np.arange(grid.size)):
        raise UsageError(f"{column.name}: the cells of its grid are too narrow to be told apart; use fewer bins")
    return replace(column, values=np.append(np.nan, centres)), counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """What was counted of one column: on its grid overall, and on that of the classes, first row for no class."""

    column: Column
    overall: tuple[Grid, IntArray]
    by_class: tuple[Grid, IntArray] | None
    bins: int | None
    """Cells of the true values by class."""


def counted_columns(
    columns: Sequence[Column], labels: Sequence[str], folded: Any, *, bins: int | None, by_class: bool
) -> Mapping[str, ColumnCounts]:
    """Count the named columns by two folds: how many values there are, which settles the grids; then their cells.

    `folded` adds up what a count makes of all rows (see `releases.reading.CountedTable.fold`).
    """
    names = tuple(c.name for c in columns)
    present = folded(CellCounts(names, (None,) * len(names))).tables
    grids: list[Grid] = []
    class_bins: list[int | None] = []
    for column, table in zip(columns, present, strict=True):
        grids.append(column.observed_grid(true_grid(column, bins, float(table[:, 1].sum()))))
        known = table[1:, 1]
        own = bins
        if own is None and not isinstance(column.channel, Discrete):
            own = true_grid(column, None, float(known.sum()) / max(1, int((known > 0).sum()))).size
        class_bins.append(own)
        grids.append(column.observed_grid(true_grid(column, own, float(max(known.sum(), 1)))))
    twice = tuple(n for n in names for _ in range(2))
    counts = folded(CellCounts(twice, tuple(grids))).tables
    return {
        column.name: ColumnCounts(
            column,
            (grids[2 * i], counts[2 * i].sum(axis=0)),
            (grids[2 * i + 1], counts[2 * i + 1]) if by_class and labels else None,
            class_bins[i],
        )
        for i, column in enumerate(columns)
    }
