"""Open a table: whatever an owner has, in the spelling that the rest of the house reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato import datasets
from sfumato.errors import CellError, DataError, UsageError
from sfumato.findings import Note
from sfumato.io.detection import detect_spellings, find_stray, respell
from sfumato.io.formats import (
    ARROW_ENDINGS,
    CSV_ENDINGS,
    DATABASE_ENDINGS,
    DATABASE_URL,
    JSON_ENDINGS,
    PARQUET_ENDINGS,
    WORKBOOK_ENDINGS,
    ArrowFileSource,
    CsvSource,
    FileSource,
    FolderSource,
    JsonLinesSource,
    ParquetSource,
    QuerySource,
    WorkbookSource,
    spool_standard_input,
)
from sfumato.io.reading import PLAIN, Reading
from sfumato.io.sources import ArrowSource, Source, check_header, first_line
from sfumato.text import join_names

FOLDER_ENDINGS = (*(e for e in CSV_ENDINGS if ".txt" not in e), *PARQUET_ENDINGS, *ARROW_ENDINGS, *JSON_ENDINGS)
"""Files that may be parts of a table in a folder; a text there is more likely to be about the table."""
UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table with its reading: numbers and days come out in the plain spelling, whatever they look like in the file.

    Attributes
    ----------
    origin
        What was opened.
    file : Source
        The table as it stands.
    reading : Reading
        How it is read, with nothing left open.
    asked : Reading
        What the caller said of it.
    notes : tuple of Note
        What the owner should know of the reading.
    """

    origin: Any
    file: Source
    reading: Reading
    asked: Reading
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path | None:
        """The file or folder that was opened, if it was one."""
        return Path(self.origin) if isinstance(self.origin, str | Path) else None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.file.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in order."""
        return self.file.columns

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""
        return self.file.rows

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, in the plain spelling."""
        return respell_batches(self.file.batches(columns), self.reading)

    @property
    def remembered(self) -> Reading | None:
        """What a plan keeps of the reading: nothing of a plain table."""
        return Reading.from_dict(self.reading.to_dict()) if self.reading.words else None

    def only(self, columns: set[str]) -> ReadTable:
        """Return the same table, of which these columns alone may be spelled in another way than the plain one."""
        return replace(self, reading=self.reading.only(columns))


def respell_batches(batches: Iterator[pa.RecordBatch], reading: Reading, start: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the batches in the plain spelling; raise CellError at a number that belongs to another.

    `start` is the number of the first row.
    """
    if not reading.numbers and not reading.dates:
        yield from batches
        return
    for batch in batches:
        if stray := find_stray(batch, reading):
            column, place, text = stray
            raise CellError(
                column,
                start + place,
                f"{text!r} has a decimal point, and other numbers of the column have decimal commas; write all in one way",
            )
        yield respell(batch, reading)
        start += batch.num_rows


def open_table(
    table: Any,
    encoding: str | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
    comment: str | None = None,
    skip_rows: int | None = None,
    sheet: str | None = None,
    query: str | None = None,
    reading: Reading | None = None,
) -> Source:
    """Open a table of any kind: a file, a folder, a database, standard input, an Arrow table or a dataframe.

    What is not given is found out from the table, and told in the notes of the result.

    Parameters
    ----------
    table : str, Path, pyarrow.Table or dataframe
        A CSV file (also .gz, .bz2, .zst), Parquet, Arrow or Feather, JSON lines, a workbook, a folder of such files, the name
        of a bundled table, ``sqlite:///file.db?query=SELECT …`` (duckdb, postgresql), or "-" for standard input.
    encoding : str, optional
        The encoding of a text file.
    delimiter : str, optional
        The sign between fields of a CSV file.
    decimal, thousands : str, optional
        The decimal sign and the sign between thousands, of numbers that are written as texts.
    date_format : str, optional
        How days are written, as for `strptime`: "%d.%m.%Y".
    comment : str, optional
        Lines that begin with this sign are left out.
    skip_rows : int, optional
        Lines before the header that are left out.
    sheet : str, optional
        The sheet of a workbook, by its name or its number.
    query : str, optional
        The query whose answer is the table.
    reading : Reading, optional
        How a plan remembers that the table is read; what is given beside it comes first.

    Returns
    -------
    Source
        The table, not read yet.

    Examples
    --------
    >>> import sfumato as sf
    >>> iris = sf.open_table("iris")
    >>> iris.columns[-1], iris.notes
    ('class', ())
    """
    given = Reading(delimiter, decimal, thousands, date_format, encoding, comment, skip_rows, sheet, query)
    if isinstance(table, ReadTable):
        if given == Reading() and reading is None:
            return table
        given, table = given.over(table.asked), table.origin
    if hasattr(table, "columns") and hasattr(table, "batches") and hasattr(table, "name"):
        source: Source = table
        return source
    asked, whole = given, given.over(reading)
    if given.decimal or given.thousands:
        whole = replace(whole, numbers=None)
    if given.date_format:
        whole = replace(whole, dates=None)
    if isinstance(table, str | Path) and not Path(table).exists() and str(table) in datasets.names():
        whole = PLAIN
    file = _open_source(table, whole)
    dialect: Reading = getattr(file, "reading", whole)
    if isinstance(file, FolderSource):
        dialect = getattr(file.files[0].file, "reading", whole)
    found_out = detect_spellings(file.batches(file.columns), dialect)
    if date_format is not None and not found_out.reading.dates:
        raise DataError(
            f"{file.name}: no column holds days as {date_format}; give another date_format=, or leave it out"
        )
    return ReadTable(table, file, found_out.reading, asked, found_out.notes)


def open_known(table: Any, encoding: str | None, reading: Reading | None, numeric: set[str]) -> Any:
    """Open a table whose columns are declared: only those of numbers and days may be in another spelling than the plain one.

    A Spark DataFrame, or a source that is not a file's, is returned as it is.
    """
    if hasattr(table, "mapInArrow"):
        return table
    source = open_table(table, encoding, reading=reading)
    if not isinstance(source, ReadTable):
        return source
    named = {*(reading.numbers or ()), *(reading.dates or {})} if reading else set()
    if absent := sorted(named - set(source.columns)):
        raise DataError(
            f"{source.name} does not fit the reading in the plan ({reading.words if reading else ''}): it has no column "
            f"{join_names(absent)}, its columns are {join_names(source.columns)}; propose the plan anew, or change its [reading]"
        )
    return source.only(numeric)


def _open_source(table: Any, reading: Reading) -> Source:
    if isinstance(table, str) and DATABASE_URL.match(table):
        return QuerySource(table, reading)
    if isinstance(table, str) and table == "-":
        return open_file(spool_standard_input(), "standard input", reading)
    if isinstance(table, str | Path):
        path = Path(table)
        if not path.exists() and str(table) in datasets.names():
            path = datasets.path(str(table))
        return _open_path(path, str(table), reading)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if hasattr(table, "__arrow_c_stream__"):
        return ArrowSource("the table", _to_arrow(table))
    raise UsageError(f"a table cannot be read from {type(table).__name__}; give a path, a dataframe or an Arrow table")


def _open_path(path: Path, name: str, reading: Reading) -> Source:
    if path.is_dir():
        return FolderSource(path, name, partial(open_file, reading=reading), FOLDER_ENDINGS)
    if path.exists() and not path.is_file():
        raise DataError(f"{name} is not a file but a pipe or a device; write it to a file first")
    if not path.exists():
        raise DataError(
            f"there is no file {name}, and no bundled table of that name ({join_names(datasets.names(), 12)}); name another"
        )
    if path.suffix.lower() in DATABASE_ENDINGS:
        return QuerySource(f"{DATABASE_ENDINGS[path.suffix.lower()]}:///{path}", reading)
    return open_file(path, name, reading)


def open_file(path: Path, name: str, reading: Reading) -> FileSource:
    """Open one file by the ending of its name."""
    endings = "".join(path.suffixes).lower()
    if endings.endswith(CSV_ENDINGS):
        return CsvSource(path, name, reading)
    if endings.endswith(PARQUET_ENDINGS):
        return ParquetSource(path, name)
    if endings.endswith(ARROW_ENDINGS):
        return ArrowFileSource(path, name)
    if endings.endswith(JSON_ENDINGS):
        return JsonLinesSource(path, name, reading)
    if endings.endswith(WORKBOOK_ENDINGS):
        return WorkbookSource(path, name, reading)
    raise DataError(
        f"{name}: unsupported extension; convert it to .csv (also .gz, .bz2, .zst), .tsv, .parquet, .arrow, .jsonl or .xlsx"
    )


def _to_arrow(frame: Any) -> pa.Table:
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the dataframe cannot be read: {first_line(error)}; give each column one type") from None
    names = check_header(table.column_names, "the table")
    # A dataframe that was filtered carries the numbers of its rows along; they are not a column of the table.
    return table.select([n for n in names if not UNNAMED_INDEX.fullmatch(n)])
