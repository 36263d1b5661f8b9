"""Values on a lattice and the cells around them: rounding, cuts between cells, and probabilities over a whole cell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray, Grid, IntArray

MAX_OBSERVED_CELLS = 1024
"""An observed grid is made coarser rather than larger than this."""


def snap(values: FloatArray, step: float) -> FloatArray:
    """Round values to multiples of `step`, halves upward; decimal steps give the decimals people expect."""
    if not step:
        return values
    if step == 1.0:
        return _floor(values + 0.5)
    inverse = round(1.0 / step)
    if inverse > 1 and abs(inverse * step - 1.0) < 1e-12:
        out = values * inverse
        out += 0.5
        return np.divide(_floor(out), inverse, out=out)
    out = values / step
    out += 0.5
    return np.multiply(_floor(out), step, out=out)


def _floor(values: FloatArray) -> FloatArray:
    """Round down, in place."""
    return np.floor(values, out=values)


def decade(value: float) -> float:
    """Return the largest power of ten that is not above `value`; 0 where float64 has none."""
    return 10.0 ** math.floor(math.log10(value)) if 0 < value < math.inf else 0.0


def lattice_cut(cuts: FloatArray, step: float) -> FloatArray:
    """Return where the unrounded value stands when the released one reaches the cut.

    Released w = step·k with half-up rounding, so w ≥ c means k ≥ ⌈c/step⌉, that is, x + y ≥ step (⌈c/step⌉ − ½).
    """
    return cuts if not step else step * (np.ceil(cuts / step - 1e-9) - 0.5)


def inner_cuts(grid: Grid) -> FloatArray:
    """Return the cuts between neighbouring cells as `Grid.locate` sees them; beyond the outermost lie the tails."""
    return grid.finite_edges[1:-1] if grid.atoms is not None else grid.points[1:-1]


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
        edges = grid.points
        begin = np.ceil(edges[:-1] / grid.step - 1e-9)
        end = np.ceil(edges[1:] / grid.step - 1e-9) - 1
        end[-1] = np.floor(edges[-1] / grid.step + 1e-9)
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
