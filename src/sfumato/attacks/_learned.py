"""A law learned from a few known records, for columns whose release states none value by value (guided methods).

The residuals y − x of the known records, spread a little, serve as the noise of a number; their counts of (true, released)
labels, drawn towards the shares of the release, as the matrix of a label.
"""

from __future__ import annotations

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.channels import DenseKernel, Transition
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.reconstruction import paper_size
from sfumato.table import Column

FEWEST = 4
PSEUDO = 2.0
"""The weight, in records, of the shares of the whole release in each column of a learned matrix."""
BROAD = 0.02
"""The share of a learned noise that may be anything at all."""


def learned_belief(column: Column, rows: IntArray, values: FloatArray) -> Belief:
    """The belief about a guided column, from the rows whose true values are known."""
    released = column.values[rows]
    there = ~np.isnan(released) & ~np.isnan(values)
    if there.sum() < FEWEST:
        return Belief.of(column)
    x, y = values[there], released[there]
    present = column.values[~np.isnan(column.values)]
    grid = column.true_grid(paper_size(len(present)))
    observed = _observed(column, grid, present)
    shares = np.bincount(observed.locate(present), minlength=observed.size) / len(present)
    if column.attribute.kind.numeric:
        kernel = _noise(grid, observed, y - x, shares)
    else:
        kernel = np.tile(PSEUDO * shares[:, None], (1, grid.size))
        np.add.at(kernel, (observed.locate(y), grid.locate(x)), 1.0)
    kernel /= kernel.sum(axis=0, keepdims=True)
    mass = np.bincount(grid.locate(present), minlength=grid.size) / len(present)
    return Belief(column, Transition(grid, observed, DenseKernel(kernel)), mass, learned=True)


def _observed(column: Column, grid: Grid, present: FloatArray) -> Grid:
    """Cells of the true grid's width over all released values, which a rotation may have led out of the domain."""
    if not column.attribute.kind.numeric or grid.size == 1:
        return grid
    width = float(np.median(np.diff(grid.finite_edges)))
    low, high = min(present.min(), grid.finite_edges[0]), max(present.max(), grid.finite_edges[-1])
    cells = int(np.clip(np.ceil((high - low) / width), 1, 1000))
    return Grid.cells(low, high, cells) if high > low else grid


def _noise(grid: Grid, observed: Grid, residuals: FloatArray, shares: FloatArray) -> FloatArray:
    """K[s, p] ∝ mean over residuals r of φ((c_s − c_p − r)/h)/h, and a little of the release at large.

    h is Silverman's width, but not below half a cell: finer, the grid would show through.
    """
    width = float(np.median(np.diff(observed.finite_edges)))
    spread = min(residuals.std(), np.subtract(*np.quantile(residuals, [0.75, 0.25])) / 1.349)
    h = max(0.9 * spread * len(residuals) ** -0.2, width / 2)
    shifts = observed.centres[:, None] - grid.centres[None, :]
    kernel = np.zeros(shifts.shape)
    for r in residuals[:500]:
        kernel += np.exp(-0.5 * ((shifts - r) / h) ** 2)
    kernel /= np.maximum(kernel.sum(axis=0, keepdims=True), 1e-300)
    return (1 - BROAD) * kernel + BROAD * shares[:, None]
