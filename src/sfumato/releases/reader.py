"""Released cells as numbers with their laws: block by block to be counted, or all at once in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.channels import Channel
from sfumato.counts import FloatArray, IntArray
from sfumato.engines import Engine
from sfumato.errors import GET_RELEASE_AGAIN, GIVE_SAME_TABLE, DataError, UsageError
from sfumato.hashing import choose_rows
from sfumato.io import (
    PLAIN_SPELLING,
    Block,
    Decoder,
    Encoder,
    Source,
    check_columns,
    decode_dictionary,
    name_files_in_errors,
    open_known,
    read_blocks,
    released_attribute,
)
from sfumato.plans import Plan
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.schema import MAX_MAGNITUDE, Attribute, Interval, Kind, Role, day_number
from sfumato.table import Column, Original, Table, require_original

T = TypeVar("T")
Count = Callable[[Table, IntArray], T]
"""What is counted of some rows, given with their numbers; the counts of all blocks are added up."""


@dataclass(frozen=True)
class ReadColumn:
    """One column: how its cells are read, and the law they went through."""

    attribute: Attribute
    channel: Channel | None
    encoder: Encoder


@dataclass(frozen=True)
class Reader:
    """Turns blocks into tables. A frozen value: it travels to any worker as it is."""

    columns: tuple[ReadColumn, ...]
    target: ReadColumn | None = None
    """The class, where there is one with labels."""
    true: bool = False
    """Whether the cells are those of the original."""

    @classmethod
    def of(cls, manifest: Manifest, names: Sequence[str] | None = None) -> Self:
        """Read the released values; numbers may lie outside the domain, since noise led them there."""
        for name in names or ():
            manifest.schema[name]
        return cls._of(
            ReadColumn(c.attribute, c.channel, _encoder(c))
            for c in manifest.columns
            if names is None or c.attribute.name in names or c.attribute.role is Role.TARGET
        )

    @classmethod
    def of_original(cls, described: Plan | Manifest, remedy: str = GIVE_SAME_TABLE) -> Self:
        """Read the true values of the columns that a plan releases, or that a manifest says were released.

        `remedy` is the next step for a table that does not fit a manifest; messages about a plan speak to
        its owner.
        """
        if isinstance(described, Manifest):
            columns = [ReadColumn(c.attribute, None, Encoder(c.attribute, c.absent, remedy)) for c in described.columns]
        else:
            columns = [
                ReadColumn(a, None, Encoder(a, described.absent.get(a.name, ("",))))
                for a in described.schema
                if a.released
            ]
            if (target := described.schema.target) is not None and target.kind.numeric:
                raise UsageError(
                    f"{target.name}: a target of numbers has no classes; cut it into categories, or choose another target"
                )
        return replace(cls._of(columns), true=True)

    @classmethod
    def _of(cls, columns: Iterable[ReadColumn]) -> Self:
        held = [c for c in columns if c.attribute.role is not Role.IDENTIFIER]
        target = next((c for c in held if c.attribute.role is Role.TARGET), None)
        rest = [c for c in held if c is not target]
        if target is not None and target.attribute.kind.numeric:
            return cls((*rest, target))
        return cls(tuple(rest), target)

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [c.attribute.name for c in (*self.columns, *([self.target] if self.target else []))]

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes."""
        return self.target.attribute.categories if self.target else ()

    def __call__(self, block: Block) -> Table:
        """Return the rows of one block."""
        return self._table(lambda c: c.encoder(block.batch.column(c.attribute.name), block.start))

    @property
    def empty(self) -> Table:
        """The columns and their laws without any row."""
        return self._table(lambda _: np.empty(0))

    def join(self, parts: Sequence[Table]) -> Table:
        """Return the rows of several blocks together."""
        if not parts:
            return self.empty
        values = [
            np.concatenate([c.values for c in same]) for same in zip(*(p.all_columns for p in parts), strict=True)
        ]
        held = dict(zip(self.names, values, strict=True))
        return self._table(lambda c: held[c.attribute.name])

    def _table(self, values: Callable[[ReadColumn], FloatArray]) -> Table:
        columns = tuple(Column(c.attribute, c.channel, values(c)) for c in self.columns)
        target = self.target
        kind = Original if self.true else Table
        return kind(columns, None if target is None else Column(target.attribute, target.channel, values(target)))


def _encoder(column: ReleasedColumn) -> Encoder:
    cells = column.attribute
    if cells.ruler is not None and column.channel is not None and column.channel.reports is None:
        anything = replace(cells, scale=None, clip=False, domain=Interval(-MAX_MAGNITUDE, MAX_MAGNITUDE))
        return Encoder(anything, remedy=GET_RELEASE_AGAIN, ruler=cells.ruler, grid=column.channel.step or 0.0)
    if column.clear or not cells.kind.numeric:
        cells = cells if column.channel is None else released_attribute(cells, column.channel.reports)
    elif cells.kind is Kind.DATE and whole_outputs(cells, column.channel):
        cells = replace(cells, domain=Interval(day_number(date.min), day_number(date.max)), resolution=None)
    else:
        cells = replace(cells, kind=Kind.REAL, domain=Interval(-MAX_MAGNITUDE, MAX_MAGNITUDE), resolution=None)
    return Encoder(cells, remedy=GET_RELEASE_AGAIN)


def type_cells(column: ReleasedColumn, texts: pa.ChunkedArray) -> pa.Array:
    """Return the texts of a released column as numbers, days or labels, with nulls where cells are empty."""
    encoder = _encoder(column)
    cells = encoder.attribute
    if cells.domain is None or not cells.kind.numeric:
        labels = decode_dictionary(texts)
        declared = cells.domain is not None and "" in cells.categories
        return labels if declared else pc.if_else(pc.equal(labels, ""), pa.scalar(None, pa.string()), labels)
    values = encoder.read(texts)
    known = values[~np.isnan(values)]
    whole = whole_outputs(cells, None) or whole_outputs(column.attribute, column.channel)
    return Decoder(cells, whole and bool(np.all(known == np.floor(known))))(values)


@dataclass(frozen=True)
class Counting:
    """Read a block and count it: what an engine folds."""

    reader: Reader
    count: Count[Any]

    def __call__(self, block: Block) -> Any:
        """Count one block."""
        return self.count(self.reader(block), block.row_numbers)


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A table that is never held, only counted: its columns and laws, and an engine that adds up counts of its rows."""

    reader: Reader
    source: Source
    engine: Engine

    @property
    def table(self) -> Table:
        """Columns, laws and labels, without rows."""
        return self.reader.empty

    def fold(self, count: Count[T]) -> T:
        """Return the sum of the counts of all rows."""
        columns = self.reader.names or list(self.source.columns[:1])
        total: T | None = self.engine.fold(Counting(self.reader, count), self.source, columns)
        if total is None:
            raise DataError(f"{self.source.name} has no rows; there is nothing to count")
        return total

    def sample(self, size: int) -> Table:
        """Return at most `size` rows, chosen by a hash of their numbers."""
        return gather_sample(self, size).table


def read_original(
    table: Any, described: Plan | Manifest, *, encoding: str | None = None, remedy: str = GIVE_SAME_TABLE
) -> Original:
    """Read the original: the true values of the columns that a plan or a manifest describes.

    Parameters
    ----------
    table
        The owner's table: a path, a bundled name, an Arrow table or a dataframe.
    described
        The plan of a release, or the manifest of one that was made.
    encoding
        The encoding of CSV files.
    remedy
        What a message advises where the table does not fit the manifest.

    Returns
    -------
    Original
        All rows, in memory.

    Examples
    --------
    >>> from sfumato.plans import Plan
    >>> iris = read_original("iris", Plan.propose("iris"))
    >>> iris.rows, iris.labels
    (150, ('Iris-setosa', 'Iris-versicolor', 'Iris-virginica'))
    """
    _refuse_release(table)
    reader = Reader.of_original(described, remedy)
    source = open_described(table, described, encoding)
    if isinstance(described, Manifest):
        check_columns(source, reader.names, remedy)
    with name_files_in_errors(source):
        parts = [reader(block) for block in read_blocks(source, reader.names)]
    return require_original(reader.join(parts), "read_original")


def count_original(
    table: Any, described: Plan | Manifest, engine: Engine, *, encoding: str | None = None
) -> CountedTable:
    """Open the original to be counted by an engine, never held; `gather_sample` brings some of its rows together."""
    _refuse_release(table)
    return CountedTable(Reader.of_original(described), engine.open(open_described(table, described, encoding)), engine)


def open_described(table: Any, described: Plan | Manifest, encoding: str | None = None) -> Any:
    """Open the original as its plan remembers it, or by what its texts look like; other spellings stand for numbers and days only.

    A plan without a reading is one of a plain table.
    """
    reading = described.reading or PLAIN_SPELLING if isinstance(described, Plan) else None
    numeric = {a.name for a in described.schema if a.kind.numeric}
    return open_known(table, encoding, reading, numeric)


def is_release(table: Any) -> bool:
    """Whether this is a release, opened or by its folder."""
    return hasattr(table, "manifest") or (isinstance(table, str | Path) and (Path(table) / "manifest.json").exists())


def _refuse_release(table: Any) -> None:
    if is_release(getattr(table, "path", table)) or is_release(table):
        raise UsageError(
            f"{getattr(table, 'folder', table)} is a release, not an original; give the table it was made from"
        )


SAMPLE = 100_000
"""Rows that are brought together where a method has to see rows."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some rows in the order of their numbers, and how many there were to choose from."""

    table: Table
    rows: IntArray
    of: int
    size: int
    reader: Reader

    def __add__(self, other: RowSample) -> RowSample:
        table = self.reader.join([self.table, other.table])
        rows = np.concatenate([self.rows, other.rows])
        return _smallest(table, rows, self.of + other.of, self.size, self.reader)

    @property
    def whole(self) -> bool:
        """Whether no row was left out."""
        return self.of == len(self.rows)


def _smallest(table: Table, rows: IntArray, of: int, size: int, reader: Reader) -> RowSample:
    chosen = choose_rows(rows, size)
    chosen = chosen[np.argsort(rows[chosen])]
    return RowSample(table.take(chosen), rows[chosen], of, size, reader)


@dataclass(frozen=True)
class Sampling:
    """What is counted of a block: its own sample."""

    reader: Reader
    size: int

    def __call__(self, table: Table, rows: IntArray) -> RowSample:
        """Return the rows of a block that may be in the sample of the whole."""
        return _smallest(table, rows, len(rows), self.size, self.reader)


def gather_sample(counted: CountedTable, size: int = SAMPLE) -> RowSample:
    """Bring at most `size` rows together, chosen by a hash of their numbers."""
    return counted.fold(Sampling(counted.reader, size))


def whole_outputs(attribute: Attribute, channel: Channel | None) -> bool:
    """Return whether all released values are whole numbers, so that they are written as such."""
    if attribute.kind not in (Kind.INTEGER, Kind.DATE):
        return False
    if channel is None:
        return True
    if channel.representatives is not None:
        return bool(np.all(channel.representatives == np.floor(channel.representatives)))
    return channel.step is not None and channel.step > 0 and float(channel.step).is_integer()
