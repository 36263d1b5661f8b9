"""A sample of a table that nobody holds: the rows whose numbers have the smallest hashes.

Any two tables of the same rows give the same sample, row for row, however they are parted; and a table that is no larger than
the sample is its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import IntArray
from sfumato.observed import ObservedTable
from sfumato.releases.reading import CountedTable, Reader
from sfumato.releases.sketch import SPREAD, mixed

SAMPLE = 100_000
"""Rows that are brought together where a method has to see records."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some rows in the order of their numbers, and how many there were to choose from."""

    table: ObservedTable
    rows: IntArray
    of: int
    size: int
    reader: Reader

    def __add__(self, other: Sampled) -> Sampled:
        table = self.reader.joined([self.table, other.table])
        rows = np.concatenate([self.rows, other.rows])
        return _smallest(table, rows, self.of + other.of, self.size, self.reader)

    @property
    def whole(self) -> bool:
        """Whether no row was left out."""
        return self.of == len(self.rows)


def _smallest(table: ObservedTable, rows: IntArray, of: int, size: int, reader: Reader) -> Sampled:
    if len(rows) > size:
        marks: NDArray[np.uint64] = mixed(rows.astype(np.uint64) * SPREAD + SPREAD)
        chosen = np.argpartition(marks, size)[:size]  # marks differ: the mixer is one-to-one
        table, rows = table.take(chosen), rows[chosen]
    order = np.argsort(rows)
    return Sampled(table.take(order), rows[order], of, size, reader)


@dataclass(frozen=True)
class Sampling:
    """What is counted of a block: its own sample."""

    reader: Reader
    size: int

    def __call__(self, table: ObservedTable, rows: IntArray) -> Sampled:
        """The rows of a block that may be in the sample of the whole."""
        return _smallest(table, rows, len(rows), self.size, self.reader)


def sampled(counted: CountedTable, size: int = SAMPLE) -> Sampled:
    """At most `size` rows."""
    return counted.fold(Sampling(counted.reader, size))
