"""Tables in, in blocks: CSV, gzipped CSV, Parquet, Arrow, and any dataframe that speaks Arrow.

A source yields blocks of rows in order and never holds more than one; a sink (`outputs`) takes them. Nothing here knows what the
columns mean: that is the part of `cells`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from sfumato import datasets
from sfumato.counts import IntArray
from sfumato.errors import CellError, DataError, UsageError
from sfumato.io.csv_files import CSV_ENDINGS, CsvSource, check_header, first_line
from sfumato.text import join_names

BLOCK_ROWS = 65_536
"""Rows in flight at a time; results do not depend on it."""
ENDINGS = (*CSV_ENDINGS, ".parquet", ".pq")
UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


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


def open_table(table: Any, encoding: str = "utf-8") -> Source:
    """Open a path, a bundled table's name, an Arrow table, or any dataframe with the Arrow interface.

    Parameters
    ----------
    table : str, Path, pyarrow.Table or dataframe
        What to read. A folder of files is one table.
    encoding : str
        The encoding of CSV files.

    Returns
    -------
    Source
        The table, not read yet.

    Examples
    --------
    >>> iris = open_table("iris")
    >>> iris.columns[-1], next(read_blocks(iris, rows=100)).rows
    ('class', 100)
    """
    if isinstance(table, str | Path):
        path = Path(table)
        if not path.exists() and str(table) in datasets.names():
            path = datasets.path(str(table))
        return _open_path(path, str(table), encoding)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if hasattr(table, "__arrow_c_stream__"):
        return ArrowSource("the table", _to_arrow(table))
    if hasattr(table, "columns") and hasattr(table, "batches") and hasattr(table, "name"):
        source: Source = table
        return source
    raise UsageError(f"a table cannot be read from {type(table).__name__}; give a path, a dataframe or an Arrow table")


def _open_path(path: Path, name: str, encoding: str) -> Source:
    if path.is_dir():
        return FolderSource(path, name, encoding)
    if path.exists() and not path.is_file():
        raise DataError(f"{name} is not a file but a pipe or a device; write it to a file first")
    if not path.exists():
        raise DataError(
            f"there is no file {name}, and no bundled table of that name ({join_names(datasets.names(), 12)}); name another"
        )
    return _open_file(path, name, encoding)


def _open_file(path: Path, name: str, encoding: str) -> CsvSource | ParquetSource:
    endings = "".join(path.suffixes).lower()
    if endings.endswith(CSV_ENDINGS):
        return CsvSource(path, name, encoding)
    if endings.endswith(ENDINGS):
        return ParquetSource(path, name)
    raise DataError(f"{name}: unsupported extension; convert it to .csv, .csv.gz, .tsv or .parquet")


def _to_arrow(frame: Any) -> pa.Table:
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the dataframe cannot be read: {first_line(error)}; give each column one type") from None
    names = check_header(table.column_names, "the table")
    # A dataframe that was filtered carries the numbers of its rows along; they are not a column of the table.
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
        """Yield slices of the table."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=BLOCK_ROWS)


class ParquetSource:
    """A Parquet file, read by row groups."""

    def __init__(self, path: Path, name: str) -> None:
        import pyarrow.parquet as pq

        self.name, self.path = name, path
        try:
            with pq.ParquetFile(path) as file:
                self.rows = int(file.metadata.num_rows)
                self.columns = check_header(file.schema_arrow.names, name)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{name} cannot be read as Parquet: {first_line(error)}; is it complete?") from None

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield row groups in pieces."""
        return self.read_rows(columns, 0, self.rows)

    def read_rows(self, columns: tuple[str, ...], begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from `begin` up to `end`; only the row groups that hold some of them are read."""
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as file:
                sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
                firsts = np.cumsum([0, *sizes]).tolist()
                groups = [i for i, size in enumerate(sizes) if firsts[i] < end and firsts[i] + size > begin]
                place = firsts[groups[0]] if groups else 0
                for batch in file.iter_batches(batch_size=BLOCK_ROWS, row_groups=groups, columns=list(columns)):
                    low, high = max(begin - place, 0), min(end - place, batch.num_rows)
                    place += batch.num_rows
                    if low < high:
                        batch.validate(full=True)  # a damaged page may hold bytes that are not text
                        yield batch.slice(low, high - low)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name} cannot be read to its end: {first_line(error)}; is it complete?") from None


@dataclass(frozen=True)
class FolderColumns:
    """Columns that stand in the names of folders, as in ``year=2024/part-0.parquet``: one value for all rows of a file.

    Names and values, from the outermost folder to the innermost; None is a missing value.
    """

    given: tuple[tuple[str, str | None], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.given)

    def inside(self, folder: str) -> FolderColumns | None:
        """Return the columns of files in a subfolder; None where its name is not of the form NAME=VALUE."""
        name, equals, value = folder.partition("=")
        if not equals or not name:
            return None
        missing = value == "__HIVE_DEFAULT_PARTITION__"  # what programs write, since no folder is named after nothing
        return FolderColumns((*self.given, (unquote(name), None if missing else unquote(value))))

    def without(self, columns: Sequence[str]) -> FolderColumns:
        """Return these columns without those that the file holds itself."""
        return FolderColumns(tuple(pair for pair in self.given if pair[0] not in columns))

    def columns_to_read(self, columns: Sequence[str], held: Sequence[str]) -> tuple[str, ...]:
        """Return what to read from the file for the wanted columns: at least one, so that the number of rows is known."""
        return tuple(c for c in columns if c not in self.names) or tuple(held[:1])

    def add_to(self, batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches with all wanted columns in order: the folders' values beside those of the file."""
        if not self.given:
            yield from batches
            return
        values = dict(self.given)
        for batch in batches:
            arrays = [
                pa.repeat(pa.scalar(values[c], pa.string()), batch.num_rows) if c in values else batch.column(c)
                for c in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


@dataclass(frozen=True, eq=False)
class FiledSource:
    """A file whose folders may give its rows further columns."""

    file: CsvSource | ParquetSource
    beside: FolderColumns = FolderColumns()

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The file's columns, then those of its folders."""
        return (*self.file.columns, *self.beside.names)

    @property
    def rows(self) -> int | None:
        """The number of rows, if the file knows it."""
        return self.file.rows

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the file's rows, each with the values of the folders."""
        read = self.beside.columns_to_read(columns, self.file.columns)
        return self.beside.add_to(self.file.batches(read), columns)


class FolderSource:
    """A folder of files that are one table: rows in the order of the files' names, then as they stand in each.

    Subfolders of the form NAME=VALUE are read as well, and give their rows a column NAME where the files have none of that
    name. Other subfolders are refused: it is unclear whether they belong to the table.
    """

    def __init__(self, path: Path, name: str, encoding: str = "utf-8") -> None:
        self.name, self.path = name, path
        self.files: tuple[FiledSource, ...] = tuple(_list_files(path, name, FolderColumns(), encoding))
        if not self.files:
            raise DataError(
                f"{name} is a folder without a .parquet or .csv file of a table; name the file or folder in it"
            )
        self.columns = self.files[0].columns
        if odd := next((f for f in self.files if set(f.columns) != set(self.columns)), None):
            raise DataError(
                f"{odd.name} has the columns {join_names(odd.columns)}, and {self.files[0].name} has {join_names(self.columns)}; "
                "the files of one table need the same columns"
            )

    @property
    def rows(self) -> int | None:
        """The number of rows, if every file knows its own."""
        known = [f.rows for f in self.files]
        return None if None in known else sum(r for r in known if r is not None)

    def place(self, row: int) -> tuple[str, int]:
        """Return the file that holds a row of the table, and its number there; files of unknown length are counted."""
        for file in self.files[:-1]:
            rows = sum(b.num_rows for b in file.batches(file.columns[:1])) if file.rows is None else file.rows
            if row < rows:
                return file.name, row
            row -= rows
        return self.files[-1].name, row

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the rows file after file."""
        first: pa.Schema | None = None
        for file in self.files:
            for batch in file.batches(columns):
                first = batch.schema if first is None else first
                # One file's whole numbers are another's fractions: read them as the first does.
                yield batch if batch.schema == first else _cast_to_first(batch, first, file.name)


@contextmanager
def name_files_in_errors(source: Source) -> Iterator[None]:
    """Add the file, and the row in it, to errors about a cell of a table in several files."""
    try:
        yield
    except CellError as error:
        raise (error.in_file(*source.place(error.row)) if _in_several_files(source) else error) from None


def _in_several_files(source: Source) -> TypeGuard[FolderSource]:
    return isinstance(source, FolderSource) and len(source.files) > 1


def describe_row(source: Source, row: int) -> str:
    """Return where a row stands: its number from 1 on, and the file where there are several."""
    if not _in_several_files(source):
        return f"row {row + 1}"
    name, there = source.place(row)
    return f"row {there + 1} of {name}"


def _cast_to_first(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.RecordBatch:
    try:
        return batch.select(schema.names).cast(schema)
    except (pa.ArrowException, KeyError) as error:
        raise DataError(f"{name} has other types than the first file of its folder: {first_line(error)}") from None


def _list_files(path: Path, name: str, beside: FolderColumns, encoding: str) -> Iterator[FiledSource]:
    """Yield the files of a folder and of its NAME=VALUE subfolders by name; names that begin with a dot or _ are left out."""
    try:
        entries = sorted(path.iterdir(), key=lambda p: p.name)
    except OSError as error:
        raise DataError(f"the folder {name} cannot be read: {error.strerror}; name another") from None
    for entry in entries:
        called = f"{name}/{entry.name}"
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            inside = beside.inside(entry.name)
            if inside is None:
                raise DataError(
                    f"{called} is a folder inside the folder {name}, and its name is not of the form NAME=VALUE, so it is "
                    f"unclear whether its rows belong to the table; move its files into {name}, or name the table's own folder"
                )
            if inside.names.count(inside.names[-1]) > 1:
                raise DataError(f"{called}: two folders give the column {inside.names[-1]!r}; rename one of them")
            yield from _list_files(entry, called, inside, encoding)
            continue
        if not "".join(entry.suffixes).lower().endswith(ENDINGS):
            raise DataError(
                f"{name} is a folder that holds other things than the .parquet or .csv files of one table, such as "
                f"{entry.name}; name the file or folder in it, such as {name}/data.parquet"
            )
        file = _open_file(entry, called, encoding)
        yield FiledSource(file, beside.without(file.columns))
