"""Chance that belongs to the row: the same draws from any engine, whatever the blocks."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray, WordArray
from sfumato.hashing import draw_uniform, row_marks


@dataclass(frozen=True, eq=False)
class Chance:
    """Numbers from [0, 1), one per row, that depend on the row's number and on a name alone. They protect nothing.

    Parameters
    ----------
    marks : array
        One word per row.
    name : str
        Another name gives unrelated numbers.

    Examples
    --------
    >>> import numpy as np
    >>> chance = Chance.of_rows(np.arange(4), "seed 0")
    >>> every, last = chance.heights("cell"), chance.take(np.array([3])).heights("cell")
    >>> bool(every[3] == last[0])
    True
    """

    marks: WordArray
    name: str

    @classmethod
    def of_rows(cls, rows: IntArray, name: str) -> Chance:
        """Return the chance of these row numbers."""
        return cls(row_marks(rows), name)

    def derive(self, part: str) -> Chance:
        """Return unrelated numbers for a part of the work."""
        return Chance(self.marks, f"{self.name}/{part}")

    def take(self, rows: IntArray | BoolArray) -> Chance:
        """Return the chance of some of the rows."""
        return Chance(self.marks[rows], self.name)

    def heights(self, what: str) -> FloatArray:
        """Return U[0, 1) for each row."""
        return draw_uniform(self.marks, zlib.crc32(f"{self.name}/{what}".encode()))

    def times(self, what: str) -> IntArray:
        """Return how often each row is drawn where as many rows are drawn anew: Poisson counts of mean one."""
        most = 16  # a count beyond has a chance below 1e-14
        heights = np.cumsum(np.exp(-1.0) / np.cumprod(np.maximum(np.arange(most), 1.0)))
        return np.searchsorted(heights, self.heights(what), side="right").astype(np.int64)
