"""A folder of files that are one table, and the columns that stand in the names of its subfolders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import pyarrow as pa

from sfumato.errors import CellError, DataError
from sfumato.io.sources import Source, first_line
from sfumato.text import join_names


class FileSource(Source, Protocol):
    """A table in one file."""

    @property
    def path(self) -> Path:
        """Where it lies."""


OpenFile = Callable[[Path, str], FileSource]
"""Opens a file; messages call it by the second argument."""


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

    file: FileSource
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

    def __init__(self, path: Path, name: str, open_file: OpenFile, endings: tuple[str, ...]) -> None:
        self.name, self.path = name, path
        self._open_file, self._endings = open_file, endings
        self.files: tuple[FiledSource, ...] = tuple(self._list_files(path, name, FolderColumns()))
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

    def _list_files(self, path: Path, name: str, beside: FolderColumns) -> Iterator[FiledSource]:
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
                yield from self._list_files(entry, called, inside)
                continue
            if not "".join(entry.suffixes).lower().endswith(self._endings):
                raise DataError(
                    f"{name} is a folder that holds other things than the .parquet or .csv files of one table, such as "
                    f"{entry.name}; name the file or folder in it, such as {name}/data.parquet"
                )
            file = self._open_file(entry, called)
            yield FiledSource(file, beside.without(file.columns))

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
        folder = _several_files(source)
        raise (error.in_file(*folder.place(error.row)) if folder else error) from None


def _several_files(source: Source) -> FolderSource | None:
    file = getattr(source, "file", source)  # a table's own, where it comes with its reading
    return file if isinstance(file, FolderSource) and len(file.files) > 1 else None


def describe_row(source: Source, row: int) -> str:
    """Return where a row stands: its number from 1 on, and the file where there are several."""
    folder = _several_files(source)
    if folder is None:
        return f"row {row + 1}"
    name, there = folder.place(row)
    return f"row {there + 1} of {name}"


def _cast_to_first(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.RecordBatch:
    try:
        return batch.select(schema.names).cast(schema)
    except (pa.ArrowException, KeyError) as error:
        raise DataError(f"{name} has other types than the first file of its folder: {first_line(error)}") from None
