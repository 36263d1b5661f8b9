"""Rows to be counted: those of a release, by an engine, or those of a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sfumato.counts import IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.io import BLOCK_ROWS
from sfumato.releases import CountedTable, Release, as_release
from sfumato.table import Column, Table

T = TypeVar("T")
Count = Callable[[Table, IntArray], T]


class Rows(Protocol):
    """Columns with their laws, and a fold over their rows."""

    @property
    def table(self) -> Table:
        """Columns, laws and labels."""

    def fold(self, count: Count[T]) -> T:
        """Return the sum of the counts of all rows."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """A table in memory, counted block by block."""

    table: Table

    def fold(self, count: Count[T]) -> T:
        """Return the sum of the counts of all rows."""
        total: Any = None
        for begin in range(0, max(self.table.rows, 1), BLOCK_ROWS):
            part = _slice(self.table, begin, min(begin + BLOCK_ROWS, self.table.rows))
            counted = count(part, np.arange(begin, begin + part.rows))
            total = counted if total is None else total + counted
        return total


@dataclass(frozen=True)
class _Flat:
    """A count of rows whose target is a column like any other."""

    count: Count[Any]

    def __call__(self, table: Table, rows: IntArray) -> Any:
        return self.count(Table(table.all_columns), rows)


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Rows that an engine counts and nobody holds."""

    counted: CountedTable

    @property
    def table(self) -> Table:
        """Columns, laws and labels."""
        return Table(self.counted.table.all_columns)

    def fold(self, count: Count[T]) -> T:
        """Return the sum of the counts of all rows."""
        out: T = self.counted.fold(_Flat(count))
        return out


def _slice(table: Table, begin: int, end: int) -> Table:
    def cut(column: Column) -> Column:
        return replace(column, values=column.values[begin:end])

    return Table(tuple(cut(c) for c in table.columns), None if table.target is None else cut(table.target))


@dataclass(frozen=True, eq=False)
class Source:
    """What a question is put to: a release or a table of released columns."""

    release: Release | None
    held: Table | None
    engine: Engine

    @classmethod
    def of(cls, source: Any, engine: Engine) -> Source:
        """Open a release, its folder, or a table in memory."""
        if isinstance(source, Table):
            return cls(None, source, engine)
        return cls(as_release(source), None, engine)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns with their laws, without rows."""
        if self.held is not None:
            return self.held.all_columns
        assert self.release is not None
        return self.release.count_table(self.engine).table.all_columns

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "the table" if self.release is None else str(self.release.folder)

    @property
    def rows_of_one(self) -> int:
        """How many rows share their noise at most, where noise belongs to an entity."""
        entities = None if self.release is None else self.release.manifest.entities
        return 1 if entities is None else entities.most_rows

    def rows(self, names: Sequence[str]) -> Rows:
        """Return the rows of some columns."""
        if self.held is not None:
            by_name = {c.name: c for c in self.held.all_columns}
            return HeldRows(Table(tuple(by_name[name] for name in names)))
        assert self.release is not None
        if self.engine.gathers:
            return HeldRows(Table(self.release.read_table(list(names)).all_columns))
        return FoldedRows(self.release.count_table(self.engine, list(names)))


def in_either_order(first: Any, second: Any) -> tuple[Any, Any]:
    """Return a text and what it is asked of, in whichever order the two were given.

    >>> in_either_order("release", "y ~ x")
    ('y ~ x', 'release')
    """
    texts = [isinstance(x, str) and "~" in x for x in (first, second)]
    if texts == [False, True]:
        return second, first
    if texts[0]:
        return first, second
    raise UsageError("no formula was given; write RESPONSE ~ TERM + TERM, such as 'salary ~ age + C(region)'")


def check_some_rows(present: float, what: str) -> None:
    """Raise DataError where no row has all the values that are needed."""
    if not present > 0:
        raise DataError(f"no row has a value in each of {what}; leave the empty column out")


def parts(rows: int, size: int = 4096) -> Iterator[slice]:
    """Cut rows into parts whose products stay in a cache."""
    for begin in range(0, rows, size):
        yield slice(begin, min(begin + size, rows))
