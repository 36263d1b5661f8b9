"""Every value of a column that is released as true, with how many rows have it: exact quantiles, and groups by single numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.questions.sums import CellSums
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Values by combination of codes, in order, with their rows; those of two parts of a table add up."""

    codes: IntArray
    values: FloatArray
    rows: IntArray

    @classmethod
    def of(cls, codes: IntArray, values: FloatArray, rows: IntArray | None = None) -> ValueCounts:
        """Return the counts of values that are present, each standing for `rows` rows."""
        kept = np.isfinite(values)
        codes, values = codes[kept], values[kept]
        weights = np.ones(len(values), dtype=np.int64) if rows is None else rows[kept]
        order = np.lexsort((values, codes))
        codes, values, weights = codes[order], values[order], weights[order]
        first = np.ones(len(values), dtype=bool)
        first[1:] = (np.diff(codes) != 0) | (np.diff(values) != 0)
        starts = np.flatnonzero(first)
        return cls(codes[starts], values[starts], np.add.reduceat(weights, starts) if len(starts) else weights)

    def __add__(self, other: ValueCounts) -> ValueCounts:
        return ValueCounts.of(
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.rows, other.rows]),
        )


def count_values(name: str, cells: CellSums | None, table: Table, rows: IntArray) -> ValueCounts:
    """Count the values of a column, by combination of codes where there are axes."""
    codes = np.zeros(len(rows), dtype=np.int64) if cells is None else cells.codes(table, len(rows))
    return ValueCounts.of(codes, table[name].values)


def counter(name: str, cells: CellSums | None = None) -> partial[ValueCounts]:
    """Return what an engine folds to count the values of a column."""
    return partial(count_values, name, cells)


def quantile(values: FloatArray, rows: IntArray, level: float, *, interpolated: bool) -> float:
    """Return a quantile of values that stand for several rows each, in order.

    Between two values it is (n − 1) q from the first on, as SQL's PERCENTILE_CONT; else the least value that a share q of the
    rows does not exceed.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0]), np.array([1, 1]), 0.5, interpolated=True)
    1.5
    >>> quantile(np.array([1.0, 2.0]), np.array([1, 1]), 0.5, interpolated=False)
    1.0
    """
    upto = np.cumsum(rows)
    n = int(upto[-1])
    if not interpolated:
        return float(values[np.searchsorted(upto, max(int(np.ceil(level * n - 1e-12)), 1))])
    place = level * (n - 1)
    lower = int(np.floor(place))
    below, above = (values[np.searchsorted(upto, min(rank, n - 1) + 1)] for rank in (lower, lower + 1))
    return float(below + (above - below) * (place - lower))
