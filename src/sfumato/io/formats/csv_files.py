"""CSV files, read as the texts they hold: the schema decides what those mean."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.io.formats.dialects import HEAD_BYTES, detect_dialect, detect_encoding, with_mark
from sfumato.io.formats.streams import COMPRESSED, READ_ERRORS, open_bytes
from sfumato.io.reading import SEPARATORS, Reading
from sfumato.io.sources import check_header, first_line

CSV_ENDINGS = tuple(ending + packed for ending in (".csv", ".tsv", ".txt") for packed in COMPRESSED)


class CsvSource:
    """A CSV file with a header; every value is read as text, and the schema decides what it means.

    What its reading leaves open is found out from the first lines (`dialects`).
    """

    def __init__(self, path: Path, name: str, reading: Reading = Reading()) -> None:  # noqa: B008
        self.name, self.path = name, path
        self.rows: int | None = None  # unknown until read
        try:
            with open_bytes(path) as raw:
                head = raw.read(HEAD_BYTES)
        except READ_ERRORS as error:
            raise DataError(f"{name} cannot be read: {first_line(error)}; is it a complete CSV file?") from None
        self.reading = detect_dialect(head, reading, "\t" if ".tsv" in path.suffixes[-2:] else ",")
        self.separator = self.reading.delimiter or ","
        self.encoding = self.reading.encoding or "utf-8"
        self._likely = detect_encoding(head)
        self.columns = self._header()

    def _bytes(self) -> Any:
        """Open the text from its header on; it is UTF-8 where lines had to be left out."""
        raw = open_bytes(self.path)
        if not self._filtered:
            return raw
        return io.BufferedReader(_Lines(raw, self.encoding, self.reading))

    @property
    def _filtered(self) -> bool:
        return bool(self.reading.skip_rows or self.reading.comment)

    @property
    def _text_encoding(self) -> str:
        return "utf-8" if self._filtered else self.encoding

    def _header(self) -> tuple[str, ...]:
        encoding = with_mark(self._text_encoding)
        try:
            # Bytes further down that are not text are found, with their row, when that row is read.
            with self._bytes() as raw, io.TextIOWrapper(raw, encoding, "surrogateescape", newline="") as text:
                names = next((r for r in csv.reader(text, delimiter=self.separator, strict=True) if r), None)
        except UnicodeError as error:
            raise DataError(
                f"{self.name} is not {self.encoding} text: {error}; name its encoding (encoding={self._likely})"
            ) from None
        except (*READ_ERRORS, csv.Error) as error:
            raise DataError(f"{self.name} cannot be read: {first_line(error)}; is it a complete CSV file?") from None
        if names is None:
            raise DataError(f"{self.name} is empty; a table needs a header and at least one row")
        for name in names:
            if stray := [c for c in name if "\udc80" <= c <= "\udcff"]:
                raise self._encoding_error("the header", bytes([ord(stray[0]) - 0xDC00]))
        if any("\0" in n for n in names) and self._likely.startswith("utf-16"):
            raise self._encoding_error("the header", b"\0")
        if any("\n" in n or "\0" in n for n in names):
            raise DataError(f"{self.name}: a column name holds a line break or a null character; is a quote left open?")
        return check_header(names, self.name)

    def _encoding_error(self, where: str, byte: bytes) -> DataError:
        likely = self._likely if self._likely != self.encoding else "latin-1"
        return DataError(
            f"{self.name}, {where}: byte 0x{byte.hex()} is not {self.encoding} text; "
            f"convert the file, or name its encoding (encoding={likely})"
        )

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Read text columns; raise DataError with the row number at a ragged row or at bytes that are not text."""
        from pyarrow import csv as pacsv

        read = 0
        try:
            with self._bytes() as raw:
                reader = pacsv.open_csv(
                    tail := _Tail(raw),
                    pacsv.ReadOptions(block_size=4 << 20, encoding=self._text_encoding, use_threads=False),
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
                if b"\n" in last and not tail.closes_a_quote(self._text_encoding):
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
        except READ_ERRORS as error:
            raise DataError(f"{self.name} cannot be read to its end: {first_line(error)}; is it complete?") from None

    def _first_ragged_row(self) -> tuple[int, list[str]] | None:
        """Return the line and the values of the first row with too many or too few of them, by reading the file once more."""
        with suppress(*READ_ERRORS, UnicodeError, csv.Error), self._bytes() as raw:
            text = io.TextIOWrapper(raw, self._text_encoding, "replace", newline="")
            rows = csv.reader(text, delimiter=self.separator)
            last = self.reading.skip_rows or 0
            for row in rows:
                if len(row) != len(self.columns) and (row or len(self.columns) == 1):
                    return last + 1, row
                last = rows.line_num + (self.reading.skip_rows or 0)
        return None

    def _ragged_error(self, line: int, row: list[str]) -> DataError:
        whole = self.separator.join(row)
        text = whole if len(whole) < 60 else whole[:57] + "…"
        signs = SEPARATORS.get(self.separator, repr(self.separator))
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


class _Lines(io.RawIOBase):
    """A text as UTF-8 without the lines before its header and without comments; a quoted value keeps all its lines."""

    def __init__(self, raw: Any, encoding: str, reading: Reading) -> None:
        self._text = io.TextIOWrapper(raw, with_mark(encoding), "strict", newline="")
        self._skip, self._comment = reading.skip_rows or 0, reading.comment
        self._quoted = False
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            lines = self._text.readlines(1 << 16)
            if not lines:
                return 0
            self._left = "".join(filter(self._keep, lines)).encode("utf-8", "surrogatepass")
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count

    def _keep(self, line: str) -> bool:
        if self._skip:
            self._skip -= 1
            return False
        if self._comment and not self._quoted and line.startswith(self._comment):
            return False
        self._quoted ^= line.count('"') % 2 == 1
        return True

    def close(self) -> None:
        if not self.closed:
            self._text.close()
        super().close()


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
