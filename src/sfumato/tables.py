"""Tables in and out, in blocks: CSV, gzipped CSV, Parquet, Arrow, and any dataframe that speaks Arrow.

A source yields blocks of rows in order and never holds more than one; a sink takes them. Nothing here knows what the
columns mean: that is `encoding`'s part.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from sfumato import datasets
from sfumato.csv_files import CsvSource, check_header, first_line
from sfumato.errors import DataError, OutputError, UsageError, listed

BLOCK_ROWS = 65_536
"""Rows in flight at a time; results do not depend on it."""
ROW_GROUP = 131_072
"""Rows in a Parquet row group: fixed, so that files do not depend on the block size."""
UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a table, and the number of the first."""

    start: int
    batch: pa.RecordBatch

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.batch.num_rows


class Source(Protocol):
    """A table that can be read from the beginning, block by block, any number of times."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in order."""

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """The rows in order, in pieces of any size."""


def blocks(source: Source, columns: Iterable[str] | None = None, rows: int = BLOCK_ROWS) -> Iterator[Block]:
    """The table in blocks of exactly `rows` rows (the last may be shorter)."""
    if rows < 1:
        raise UsageError(f"a block of {rows} rows is no block; give at least 1")
    wanted = tuple(source.columns if columns is None else columns)
    if absent := [c for c in wanted if c not in source.columns]:
        raise DataError(
            f"{source.name} has no column {listed(absent)}; its columns are {listed(source.columns)}. "
            "Mend the plan, or name another column"
        )
    start = 0
    for batch in regrouped(source.batches(wanted), rows):
        yield Block(start, batch)
        start += batch.num_rows


def regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of exactly `rows`."""
    held: list[pa.RecordBatch] = []
    waiting = 0
    for batch in batches:
        begin = 0
        while waiting + batch.num_rows - begin >= rows:
            held.append(batch.slice(begin, rows - waiting))
            begin += rows - waiting
            yield _joined(held)
            held, waiting = [], 0
        if begin < batch.num_rows:
            held.append(batch.slice(begin))
            waiting += batch.num_rows - begin
    if held:
        yield _joined(held)


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def open_table(table: Any, encoding: str = "utf-8") -> Source:
    """A source for a path, a bundled table's name, an Arrow table, or any dataframe with the Arrow interface."""
    if isinstance(table, str | Path):
        path = Path(table)
        if not path.exists() and str(table) in datasets.names():
            path = datasets.path(str(table))
        return _open_path(path, str(table), encoding)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if hasattr(table, "__arrow_c_stream__"):
        return ArrowSource("the table", _arrow(table))
    if hasattr(table, "columns") and hasattr(table, "batches") and hasattr(table, "name"):
        source: Source = table
        return source
    raise UsageError(f"a table cannot be read from {type(table).__name__}; give a path, a dataframe or an Arrow table")


def _open_path(path: Path, name: str, encoding: str) -> Source:
    if path.is_dir():
        raise DataError(f"{name} is a folder; name the file in it, such as {name}/data.parquet")
    if not path.exists():
        raise DataError(
            f"there is no file {name}, and no bundled table of that name ({listed(datasets.names(), 12)}); name another"
        )
    endings = "".join(path.suffixes).lower()
    if endings.endswith((".csv", ".csv.gz")):
        return CsvSource(path, name, encoding)
    if endings.endswith((".parquet", ".pq")):
        return ParquetSource(path, name)
    raise DataError(f"{name}: the ending says neither .csv, .csv.gz nor .parquet; rename or convert the file")


def _arrow(frame: Any) -> pa.Table:
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the dataframe cannot be read: {first_line(error)}; give each column one type") from None
    names = check_header(table.column_names, "the table")
    # A dataframe that was filtered carries the numbers of its rows along; they are no column of anybody's table.
    return table.select([n for n in names if not UNNAMED_INDEX.fullmatch(n)])


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
        """Slices of the table."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BLOCK_ROWS)


class ParquetSource:
    """A Parquet file, read by row groups."""

    def __init__(self, path: Path, name: str) -> None:
        import pyarrow.parquet as pq

        self.name, self._path = name, path
        try:
            with pq.ParquetFile(path) as file:
                self._rows = file.metadata.num_rows
                self.columns = check_header(file.schema_arrow.names, name)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{name} cannot be read as Parquet: {first_line(error)}; is it complete?") from None

    @property
    def rows(self) -> int | None:
        """The number of rows, from the footer."""
        return int(self._rows)

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Row groups in pieces."""
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self._path, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=list(columns)):
                    batch.validate(full=True)  # a spoilt page may hold texts that are none
                    yield batch
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name} cannot be read to its end: {first_line(error)}; is it complete?") from None


class _HashingFile(io.RawIOBase):
    """A file that keeps the SHA-256 of what is written to it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("wb")
        self.digest = hashlib.sha256()
        self.size = 0
        self._abandoned = False

    def writable(self) -> bool:
        return True

    def abandon(self) -> None:
        """Let what is still to come go nowhere: a writer that is given up wants to write its last bytes all the same."""
        self._abandoned = True

    def write(self, data: Any) -> int:
        if self._abandoned:
            return len(data)
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@dataclass(frozen=True)
class Written:
    """What a sink wrote: enough for a recipient to check that nothing was lost."""

    file: str
    format: str
    rows: int
    bytes: int
    sha256: str


FORMATS = ("parquet", "csv")


@contextmanager
def writing(
    folder: Path, form: str, schema: pa.Schema
) -> Iterator[tuple[Callable[[pa.RecordBatch], None], list[Written]]]:
    """Give a function that takes batches, and a list that holds a `Written` once the block is left without an error."""
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}; choose {listed(FORMATS)}")
    path = folder / f"data.{form}"
    rows = 0
    done: list[Written] = []
    sink = _HashingFile(path)
    pending: list[pa.RecordBatch] = []
    try:
        writer = _parquet_writer(sink, schema) if form == "parquet" else _csv_writer(sink, schema)
    except BaseException:
        sink.close()
        raise
    try:

        def put(batch: pa.RecordBatch) -> None:
            nonlocal rows
            rows += batch.num_rows
            pending.append(batch)
            if sum(b.num_rows for b in pending) >= ROW_GROUP:
                *full, rest = _groups(pending)
                for group in full:
                    writer.write_table(group)
                pending[:] = rest.to_batches()

        yield put, done
        if pending:
            for group in _groups(pending):
                if group.num_rows:
                    writer.write_table(group)
        writer.close()
    except BaseException:
        sink.abandon()
        with suppress(Exception):
            writer.close()
        raise
    finally:
        sink.close()
    done.append(Written(path.name, form, rows, sink.size, sink.digest.hexdigest()))


def _groups(batches: list[pa.RecordBatch]) -> list[pa.Table]:
    table = pa.Table.from_batches(batches)
    return [table.slice(begin, ROW_GROUP) for begin in range(0, table.num_rows, ROW_GROUP)] + (
        [table.slice(table.num_rows)] if table.num_rows % ROW_GROUP == 0 else []
    )


def _parquet_writer(sink: Any, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    text = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)]
    # Noisy numbers repeat too seldom for a dictionary; trying one costs more than the rest of the writing.
    return pq.ParquetWriter(sink, schema, compression="snappy", use_dictionary=text or False)


def _csv_writer(sink: Any, schema: pa.Schema) -> Any:
    from pyarrow import csv as pacsv

    return pacsv.CSVWriter(sink, schema, write_options=pacsv.WriteOptions(quoting_style="needed"))


def write_table(table: pa.Table, path: str | Path, *, force: bool = False) -> None:
    """Write a small table to a .csv or .parquet file that appears when it is complete."""
    import os

    path = Path(path)
    if path.exists() and not force:
        raise OutputError(f"{path} exists already; name another output, or replace it with --force")
    form = path.suffix.lower().lstrip(".")
    if form not in FORMATS:
        raise UsageError(f"{path}: the ending says neither .csv nor .parquet; give it one of them")
    hidden = path.parent / f".{path.name}.partial-{os.getpid()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with hidden.open("wb") as sink:
            writer = _parquet_writer(sink, table.schema) if form == "parquet" else _csv_writer(sink, table.schema)
            writer.write_table(table)
            writer.close()
        hidden.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}; name another output") from None
    finally:
        hidden.unlink(missing_ok=True)
