"""Excel and OpenDocument workbooks, read whole: a sheet's rows have no place that can be found without the others."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import time, timedelta
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.io.formats.untyped import format_value, kinds_of, to_column
from sfumato.io.reading import Reading
from sfumato.io.sources import ArrowSource, check_header, first_line
from sfumato.text import join_names

WORKBOOK_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class WorkbookSource:
    """One sheet of a workbook, its first row with two cells or more as the header.

    Cells that Excel shows as days are days; a column of several types is a column of texts.
    """

    def __init__(self, path: Path, name: str, reading: Reading) -> None:
        sheet, rows, several = _read_sheet(path, name, reading.sheet)
        skip = _count_title_rows(rows) if reading.skip_rows is None else reading.skip_rows
        header, *body = rows[skip:] or [[]]
        width = max(
            (i + 1 for row in (header, *body) for i, cell in enumerate(row) if cell not in ("", None)), default=0
        )
        if not width:
            raise DataError(f"{name}: the sheet {sheet!r} is empty; name another with sheet=")
        names = check_header([format_value(c).strip() for c in header[:width]], f"{name}, sheet {sheet!r}")
        filled = [row[:width] for row in body if any(cell != "" for cell in row)]
        columns = [[_value(row[i]) for row in filled] for i in range(width)]
        arrays = [to_column(_whole(c), kinds_of(_whole(c))) for c in columns]
        self.name, self.path = name, path
        self.columns, self.rows = names, len(filled)
        self._table = ArrowSource(name, pa.Table.from_arrays(arrays, names=list(names)))
        named = reading.sheet if reading.sheet is not None else sheet if several else None
        self.reading = replace(reading, sheet=named, skip_rows=skip)

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield slices of the sheet."""
        return self._table.batches(columns)


def _read_sheet(path: Path, name: str, sheet: str | None) -> tuple[str, list[list[Any]], bool]:
    """Return the name of a sheet, its cells, and whether there are others with cells; None is the first that has any."""
    from python_calamine import CalamineError, load_workbook

    _check_extent(path, name)
    try:
        book = load_workbook(path)
        names = list(book.sheet_names)
        if sheet is not None:
            chosen = (
                names[int(sheet) - 1]
                if sheet not in names and sheet.isdigit() and 0 < int(sheet) <= len(names)
                else sheet
            )
            if chosen not in names:
                raise DataError(f"{name} has no sheet {sheet!r}; its sheets are {join_names(names)}")
            return chosen, book.get_sheet_by_name(chosen).to_python(skip_empty_area=False), False
        filled = [(n, rows) for n in names if (rows := book.get_sheet_by_name(n).to_python(skip_empty_area=False))]
    except (CalamineError, OSError, ValueError, IndexError) as error:
        raise DataError(
            f"{name} cannot be read as a workbook: {first_line(error)}; is it complete, and without a password?"
        ) from None
    if not filled:
        raise DataError(f"{name} is empty; a table needs a header and at least one row")
    return *filled[0], len(filled) > 1


def _check_extent(path: Path, name: str) -> None:
    """Raise DataError where a sheet spans more cells than memory holds: a reader lays out all of them for one in a far corner."""
    max_cells = 50_000_000
    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        return
    try:
        with zipfile.ZipFile(path) as book:
            for part in book.namelist():
                with book.open(part) as sheet:
                    rows, columns = _extent(sheet)
                if rows * columns > max_cells:
                    raise DataError(
                        f"{name}: {part} spans {rows:,} rows and {columns:,} columns, more than {max_cells:,} cells; delete what "
                        "stands far from the table, or save the sheet as CSV"
                    )
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, NotImplementedError, RuntimeError, ValueError):
        return  # the reader of workbooks says what is wrong


def _extent(sheet: IO[bytes]) -> tuple[int, int]:
    """Return the last row of a sheet's XML and its last column, at least 26: those before AA are not looked for."""
    rows, columns, rest = 0, 26, b""
    while chunk := sheet.read(1 << 20):
        text = rest + chunk
        places = re.findall(rb"""\br\s*=\s*["']([A-Z]{0,3})(\d{1,7})["']""", text) if b"<row" in text or rows else []
        rows = max([rows, *(int(row) for _, row in places)])
        columns = max([columns, *(_column_number(letters) for letters in {letters for letters, _ in places})])
        rest = text[-64:]
    return rows, columns


def _column_number(letters: bytes) -> int:
    """Return the number of a column by its letters.

    >>> _column_number(b"A"), _column_number(b"AA"), _column_number(b"XFD")
    (1, 27, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _count_title_rows(rows: list[list[Any]]) -> int:
    """Return how many rows stand before the first one with two cells or more: empty ones, and titles."""
    filled = [sum(cell != "" for cell in row) for row in rows]
    return next((i for i, count in enumerate(filled) if count > 1), next((i for i, c in enumerate(filled) if c), 0))


def _value(cell: Any) -> Any:
    return None if cell == "" else str(cell) if isinstance(cell, time | timedelta) else cell


def _whole(values: list[Any]) -> list[Any]:
    """Return numbers as whole ones where all are: Excel knows no others than floating ones."""
    exact = 2**53
    numbers = [v for v in values if type(v) is float]
    whole = all(v.is_integer() and abs(v) <= exact for v in numbers)
    return [int(v) if type(v) is float else v for v in values] if whole else values
