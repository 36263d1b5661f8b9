"""The one seam to reconstruction: the distribution of true values that an intruder can work out from the release."""

from __future__ import annotations

import math

import numpy as np

from sfumato.counts import FloatArray, Grid
from sfumato.observed import Column

MOST_CELLS = 800
CELLS_A_WIDTH = 20
"""So many cells make up the interval that the law promises, so that its width is not one of rounding."""


def reconstructed(column: Column) -> tuple[Grid, FloatArray]:
    """Grid and masses of the true values behind a released column."""
    from sfumato.reconstruction import reconstruct

    found = reconstruct(column)
    return found.grid, found.mass


def prior(column: Column) -> tuple[Grid, FloatArray]:
    """The reconstructed distribution, on cells fine enough for the law; counts themselves where values are true.

    A column without a single value has the distribution that knows nothing.
    """
    if np.isnan(column.values).all():
        grid = column.true_grid(100)
        return grid, np.full(grid.size, 1.0 / grid.size)
    if column.channel is None:
        grid = column.true_grid(100)
        codes = column.located(grid)
        counts = np.bincount(codes[codes >= 0], minlength=grid.size).astype(np.float64)
        return grid, counts / counts.sum()
    return refined(*reconstructed(column), column.channel.interval_width(0.95))


def refined(grid: Grid, mass: FloatArray, width: float) -> tuple[Grid, FloatArray]:
    """The same masses on cells of at most width/20, each old cell cut evenly."""
    if grid.edges is None or not np.isfinite(grid.edges).all():
        return grid, mass
    coarsest = float(np.diff(grid.edges).max())
    factor = min(math.ceil(coarsest * CELLS_A_WIDTH / width), max(1, MOST_CELLS // grid.size)) if width > 0 else 1
    if grid.step:
        factor = min(factor, max(1, math.floor(coarsest / grid.step + 1e-9)))
    if factor <= 1:
        return grid, mass
    places = np.arange(grid.size * factor + 1) / factor
    edges = np.interp(places, np.arange(grid.size + 1), grid.edges)
    return Grid(edges=edges, step=grid.step), np.repeat(mass / factor, factor)
