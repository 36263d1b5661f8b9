"""Tables in, in blocks.

A source yields blocks of rows in order and never holds more than one; a sink (`outputs`) takes them. Nothing here knows what the
columns mean: that is the part of `cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.counts import IntArray
from sfumato.errors import DataError, UsageError
from sfumato.text import join_names

BLOCK_ROWS = 65_536
"""Rows in flight at a time; results do not depend on it."""


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a table, and the number of the first.

    `numbers` are the row numbers where they are not consecutive; None otherwise.
    """

    start: int
    batch: pa.RecordBatch
    numbers: IntArray | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.batch.num_rows

    @property
    def row_numbers(self) -> IntArray:
        """The number of each row in its table."""
        return np.arange(self.start, self.start + self.rows) if self.numbers is None else self.numbers


class Source(Protocol):
    """A table that can be read from the beginning, block by block, any number of times."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in order."""

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, in pieces of any size."""


def read_blocks(source: Source, columns: Iterable[str] | None = None, rows: int = BLOCK_ROWS) -> Iterator[Block]:
    """Yield the table in blocks of exactly `rows` rows (the last may be shorter)."""
    if rows < 1:
        raise UsageError(f"a block cannot have {rows} rows; give at least 1")
    wanted = tuple(source.columns if columns is None else columns)
    check_columns(source, wanted)
    start = 0
    for batch in regroup(source.batches(wanted), rows):
        yield Block(start, batch)
        start += batch.num_rows


def check_columns(source: Source, columns: Iterable[str], remedy: str = "fix the plan, or name another column") -> None:
    """Raise DataError if the table lacks a column; `remedy` is the next step."""
    held = set(source.columns)
    if absent := [c for c in columns if c not in held]:
        raise DataError(
            f"{source.name} has no column {join_names(absent)}; its columns are {join_names(source.columns)}; {remedy}"
        )


def regroup(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of exactly `rows`."""
    held: list[pa.RecordBatch] = []
    waiting = 0
    for batch in batches:
        begin = 0
        while waiting + batch.num_rows - begin >= rows:
            held.append(batch.slice(begin, rows - waiting))
            begin += rows - waiting
            yield _join(held)
            held, waiting = [], 0
        if begin < batch.num_rows:
            held.append(batch.slice(begin))
            waiting += batch.num_rows - begin
    if held:
        yield _join(held)


def _join(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


@dataclass(frozen=True, eq=False)
class ArrowSource:
    """A table that is already in memory."""

    name: str
    table: pa.Table

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(self.table.column_names)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield slices of the table."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BLOCK_ROWS)


def check_header(names: list[str], where: str) -> tuple[str, ...]:
    """Return the column names; raise DataError unless each column has a name of its own."""
    if not names:
        raise DataError(f"{where} has no columns; a table needs a header and at least one row")
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise DataError(f"{where}: the column name {join_names(map(repr, twice))} occurs twice; rename one of them")
    if any(not n.strip() for n in names):
        first = next(i for i, n in enumerate(names, 1) if not n.strip())
        raise DataError(f"{where}: column {first} has no name; name it")
    return tuple(names)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
