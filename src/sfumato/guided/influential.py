"""Noise on leaf influential attributes, kept inside the leaf's own interval (LINFAPT): the record keeps its leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.guided.leaves import Leaves
from sfumato.guided.value_noise import Room, ValueNoise
from sfumato.observed import Column
from sfumato.randomness import Stream


def spread_of(column: Column) -> float:
    """The standard deviation of the known values."""
    known = column.values[~np.isnan(column.values)]
    return float(known.std()) if len(known) else 0.0


def inside_leaf(
    column: Column, leaves: Leaves, cells: NDArray[np.bool_], noise: ValueNoise, stream: Stream
) -> FloatArray:
    """The column with noise on some of its cells, each folded into the interval that its leaf allows.

    In a leaf that does not test the attribute that interval is the whole domain (LINNAPT).
    """
    values = column.values.copy()
    cells = cells & ~np.isnan(values)
    spread = spread_of(column)
    step = noise.step(column, spread)
    interval = column.attribute.interval
    if not step and noise.kind != "percent":
        return values  # no two values differ, and there is no lattice to move on
    low, high = leaves.interval(column.name, interval.low, interval.high, step or 1.0)
    leaf = leaves.number[cells]
    values[cells] = noise.drawn(values[cells], spread, Room(low[leaf], high[leaf], step), stream)
    return values
