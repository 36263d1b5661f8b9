"""What a distant worker is told to read: some rows of one file, and the number of the first.

A row's number is its place in its file, after all rows of the files before it (by name). So it is the same however the table
is cut into pieces, and whoever reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sfumato.errors import DataError, UsageError
from sfumato.io.csv_files import CSV_ENDINGS, CsvSource
from sfumato.io.hive import FolderColumns
from sfumato.io.sources import (
    BLOCK_ROWS,
    Block,
    FiledSource,
    FolderSource,
    ParquetSource,
    Source,
    open_table,
    regrouped,
)


@dataclass(frozen=True)
class Piece:
    """Rows `begin` up to `end` of a file (to its last if None), the first of which is row `start` of the table."""

    path: str
    name: str
    encoding: str
    begin: int
    end: int | None
    start: int
    beside: FolderColumns = field(default_factory=FolderColumns)
    """Columns by the folders that the file lies in."""

    def blocks(self, columns: Sequence[str], rows: int = BLOCK_ROWS) -> Iterator[Block]:
        """The rows of the piece in blocks."""
        file = self._file()
        wanted = self.beside.of_file(columns, file.columns)
        batches = (
            file.between(wanted, self.begin, self.end)
            if isinstance(file, ParquetSource) and self.end is not None
            else file.batches(wanted)
        )
        start = self.start
        for batch in regrouped(self.beside.added(batches, columns), rows):
            yield Block(start, batch)
            start += batch.num_rows

    def count(self) -> int:
        """How many rows the piece holds."""
        if self.end is not None:
            return self.end - self.begin
        file = self._file()
        return sum(batch.num_rows for batch in file.batches(file.columns[:1]))

    def _file(self) -> Source:
        if not Path(self.path).exists():
            raise DataError(
                f"{self.path} is not seen by a worker; put the table where all workers see it under the same path"
            )
        path = Path(self.path)
        endings = "".join(path.suffixes).lower()
        if endings.endswith(CSV_ENDINGS):
            return CsvSource(path, self.name, self.encoding)
        return open_table(path) if self.end is None else ParquetSource(path, self.name)


def pieces_of(source: Source, rows: int, count: Callable[[Sequence[Piece]], Sequence[int]]) -> list[Piece]:
    """The table of a source in pieces of about `rows` rows; a CSV file is one piece, as nobody knows where its rows begin.

    `count` is asked for the number of rows of CSV files, where others come after them.
    """
    if rows < 1:
        raise UsageError(f"a piece of {rows} rows is no piece; give at least 1")
    files = _files(source)
    unknown = [_whole(f) for f in files[:-1] if isinstance(_file_of(f), CsvSource)]
    counted = iter(count(unknown) if unknown else ())
    out: list[Piece] = []
    start = 0
    for filed in files:
        whole = replace(_whole(filed), start=start)
        file = _file_of(filed)
        if isinstance(file, CsvSource):
            out.append(whole)
            start += next(counted, 0)
            continue
        size = int(file.rows or 0)
        out += [
            replace(whole, begin=begin, end=min(begin + rows, size), start=start + begin)
            for begin in range(0, size, rows)
        ]
        start += size
    return out


def _files(source: Source) -> tuple[CsvSource | ParquetSource | FiledSource, ...]:
    files = source.files if isinstance(source, FolderSource) else (source,)
    out = tuple(f for f in files if isinstance(f, CsvSource | ParquetSource | FiledSource))
    if len(out) < len(files):
        raise UsageError(
            f"{source.name} lies in this program's memory; distant workers read files. Write it to a .parquet file on "
            "shared storage, or give a Spark DataFrame"
        )
    return out


def _file_of(filed: CsvSource | ParquetSource | FiledSource) -> CsvSource | ParquetSource:
    return filed.file if isinstance(filed, FiledSource) else filed


def _whole(filed: CsvSource | ParquetSource | FiledSource) -> Piece:
    file = _file_of(filed)
    beside = filed.beside if isinstance(filed, FiledSource) else FolderColumns()
    encoding = file.encoding if isinstance(file, CsvSource) else "utf-8"
    return Piece(str(file.path.resolve()), file.name, encoding, 0, None, 0, beside)
