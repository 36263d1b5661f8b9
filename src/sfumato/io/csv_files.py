"""CSV files, read as the texts they hold: the schema decides what those mean."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError, UsageError
from sfumato.text import join_names

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars (|)"}


class CsvSource:
    """A CSV file with a header; every value is read as text, and the schema decides what it means.

    Values are separated by commas, or by what the first lines show (`detect_separator`): semicolons, tabs or bars.
    """

    def __init__(self, path: Path, name: str, encoding: str = "utf-8") -> None:
        self.name, self.path, self.encoding = name, path, encoding
        self.separator = ","
        self.rows: int | None = None  # unknown until read
        try:
            "".encode(encoding)
        except (LookupError, ValueError):
            raise UsageError(f"there is no encoding {encoding!r}; common ones are utf-8, latin-1 and cp1252") from None
        self.columns = self._header()

    def _bytes(self) -> Any:
        return gzip.open(self.path, "rb") if self.path.suffix.lower() == ".gz" else self.path.open("rb")

    def _header(self) -> tuple[str, ...]:
        # Some programs begin a UTF-8 file with a byte-order mark, which is not part of the first name.
        marked = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
        try:
            # Bytes further down that are not text are found, with their row, when that row is read.
            with self._bytes() as raw, io.TextIOWrapper(raw, marked, "surrogateescape", newline="") as text:
                lines = list(islice(text, 20))  # the separator is detected from these
                self.separator = detect_separator(lines, "\t" if ".tsv" in self.path.suffixes[-2:] else ",")
                names = next(csv.reader(chain(lines, text), delimiter=self.separator, strict=True), None)
        except (OSError, EOFError, zlib.error, csv.Error) as error:
            raise DataError(f"{self.name} cannot be read: {first_line(error)}; is it a complete CSV file?") from None
        except UnicodeError as error:
            raise DataError(
                f"{self.name} is not {self.encoding} text: {error}; name its encoding (encoding={self._likely()})"
            ) from None
        if names is None:
            raise DataError(f"{self.name} is empty; a table needs a header and at least one row")
        for name in names:
            if stray := [c for c in name if "\udc80" <= c <= "\udcff"]:
                raise self._encoding_error("the header", bytes([ord(stray[0]) - 0xDC00]))
        if any("\0" in n for n in names) and self._likely() != "latin-1":
            raise self._encoding_error("the header", b"\0")
        if any("\n" in n or "\0" in n for n in names):
            raise DataError(f"{self.name}: a column name holds a line break or a null character; is a quote left open?")
        return check_header(names, self.name)

    def _encoding_error(self, where: str, byte: bytes) -> DataError:
        return DataError(
            f"{self.name}, {where}: byte 0x{byte.hex()} is not {self.encoding} text; "
            f"convert the file, or name its encoding (encoding={self._likely()})"
        )

    def _likely(self) -> str:
        """Guess the encoding of a file that is not the text it is taken for: UTF-16 has a byte-order mark, or many zeros."""
        try:
            with self._bytes() as raw:
                first = raw.read(64)
        except (OSError, EOFError, zlib.error):
            return "latin-1"
        if first.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        if len(first) > 1 and 0 in first[:2]:
            return "utf-16-le" if first[1] == 0 else "utf-16-be"
        return "latin-1"

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Read text columns; raise DataError with the row number at a ragged row or at bytes that are not text."""
        from pyarrow import csv as pacsv

        read = 0
        try:
            with self._bytes() as raw:
                reader = pacsv.open_csv(
                    tail := _Tail(raw),
                    pacsv.ReadOptions(block_size=4 << 20, encoding=self.encoding, use_threads=False),
                    pacsv.ParseOptions(
                        delimiter=self.separator,
                        newlines_in_values=True,
                        ignore_empty_lines=len(self.columns) > 1,
                    ),
                    pacsv.ConvertOptions(
                        column_types=dict.fromkeys(self.columns, pa.binary()),
                        include_columns=list(dict.fromkeys((*columns, self.columns[-1]))),
                        strings_can_be_null=False,
                    ),
                )
                last = b""
                for batch in reader:
                    if batch.num_rows:
                        last = batch.column(self.columns[-1])[-1].as_py()
                    yield self._as_text(batch.select(list(columns)), read)
                    read += batch.num_rows
                if b"\n" in last and not tail.closes_a_quote(self.encoding):
                    raise self._open_quote_error(read, last)
        except pa.ArrowException as error:
            if ragged := self._first_ragged_row():
                raise self._ragged_error(*ragged) from None
            if "Empty CSV file" in str(error):
                return
            raise DataError(f"{self.name} cannot be read as CSV: {first_line(error)}; fix that row") from None
        except UnicodeDecodeError as error:
            raise self._encoding_error(
                f"after row {read}", bytes(error.object[error.start : error.start + 1])
            ) from None
        except UnicodeError as error:
            raise DataError(f"{self.name} is not {self.encoding} text: {error}; name its encoding") from None
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.name} cannot be read to its end: {first_line(error)}; is it complete?") from None

    def _first_ragged_row(self) -> tuple[int, list[str]] | None:
        """Return the line and the values of the first row with too many or too few of them, by reading the file once more."""
        with suppress(OSError, EOFError, zlib.error, UnicodeError, csv.Error), self._bytes() as raw:
            text = io.TextIOWrapper(raw, self.encoding, "replace", newline="")
            rows = csv.reader(text, delimiter=self.separator)
            last = 0
            for row in rows:
                if len(row) != len(self.columns) and (row or len(self.columns) == 1):
                    return last + 1, row
                last = rows.line_num
        return None

    def _ragged_error(self, line: int, row: list[str]) -> DataError:
        whole = self.separator.join(row)
        text = whole if len(whole) < 60 else whole[:57] + "…"
        signs = SEPARATORS[self.separator]
        other = next((f"; is the table separated by {w}?" for s, w in SEPARATORS.items() if self._parts(s, row)), "")
        remedy = f"fix the row, or quote the values that hold {signs}{other}"
        if whole.count('"') % 2 or "\n" in whole:
            remedy = "close the quote that the row opens"
        sizes = f"{len(row)} values where the header has {len(self.columns)}"
        return DataError(f"{self.name}, line {line}: {sizes} ({text!r}); {remedy}")

    def _parts(self, sign: str, row: list[str]) -> bool:
        """Return whether `sign` separates values in the header, or in a row, where the file's own separator does not."""
        whole = self.columns[0] if len(self.columns) == 1 else row[0] if len(row) == 1 else ""
        return sign != self.separator and sign in whole

    def _open_quote_error(self, row: int, cell: bytes) -> DataError:
        """Explain a quote that is never closed: it turns the rest of the file into one value."""
        text = cell[:40].decode("utf-8", "replace")
        return DataError(
            f"{self.name}, column {self.columns[-1]!r}, row {row}: a quote is opened ({text!r} …) and never closed; "
            "close it, or double it if it is part of the value"
        )

    def _as_text(self, batch: pa.RecordBatch, read: int) -> pa.RecordBatch:
        arrays = []
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            try:
                arrays.append(array.cast(pa.string()))
            except pa.ArrowInvalid:
                for place, value in enumerate(array.to_pylist()):
                    try:
                        value.decode()
                    except UnicodeDecodeError as error:
                        where = f"column {name!r}, row {read + place + 1}"
                        raise self._encoding_error(where, value[error.start : error.start + 1]) from None
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def detect_separator(lines: list[str], usual: str = ",") -> str:
    """Return the separator of a file, judged by its first lines.

    It must separate the header, and the rows where there are any. The usual one gives way to another in two cases: the header
    fits the rows by the other and not by the usual one, or the other occurs in the header at least twice as often. Quoted
    signs do not count.
    """
    best, best_fits, best_signs = usual, False, 0
    for sign in (usual, *(s for s in SEPARATORS if s != usual)):
        widths = _widths(lines, sign)
        if not widths or widths[0] < 2 or (len(widths) > 1 and max(widths[1:]) < 2):
            continue
        fitting = widths.count(widths[0]) - 1
        fits, signs = 2 * fitting >= len(widths) - 1, widths[0] - 1
        if fits and sign == usual == "\t":  # the ending says so, and no one writes tabs by chance
            return sign
        if fits > best_fits or (fits == best_fits and signs >= 2 * best_signs):
            best, best_fits, best_signs = sign, fits, signs
    return best


def _widths(lines: list[str], sign: str) -> list[int]:
    """Return how many values each row has; a row that continues beyond these lines is left out."""
    out: list[int] = []
    with suppress(csv.Error):
        out.extend(len(record) for record in csv.reader(lines, delimiter=sign, strict=True) if record)
    return out


class _Tail:
    """A file that remembers the last bytes that were read from it."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._last = b""

    @property
    def closed(self) -> bool:
        return bool(self._raw.closed)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._raw.read(size)
        self._last = (self._last + data[-256:])[-256:]
        return data

    def close(self) -> None:
        self._raw.close()

    def closes_a_quote(self, encoding: str) -> bool:
        """Return whether the last character before the final line ends is a quote."""
        return self._last.decode(encoding, "ignore").rstrip("\r\n").endswith('"')


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
