"""What a distant worker reads: some rows of one file, and the number of the first.

A row's number is its place in its file, after all rows of the files before it (by name). So it is the same however the table
is cut into pieces, and on every worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sfumato.errors import DataError, UsageError
from sfumato.io.csv_files import CSV_ENDINGS, CsvSource
from sfumato.io.sources import (
    BLOCK_ROWS,
    Block,
    FiledSource,
    FolderColumns,
    FolderSource,
    ParquetSource,
    Source,
    open_table,
    regroup,
)


@dataclass(frozen=True)
class Piece:
    """Rows `begin` up to `end` of a file (to its last if None); the first of them is row `start` of the table."""

    path: str
    name: str
    encoding: str
    begin: int
    end: int | None
    start: int
    beside: FolderColumns = field(default_factory=FolderColumns)
    """Columns by the folders that the file lies in."""

    def blocks(self, columns: Sequence[str], rows: int = BLOCK_ROWS) -> Iterator[Block]:
        """Yield the rows of the piece in blocks."""
        file = self._file()
        wanted = self.beside.columns_to_read(columns, file.columns)
        batches = (
            file.read_rows(wanted, self.begin, self.end)
            if isinstance(file, ParquetSource) and self.end is not None
            else file.batches(wanted)
        )
        start = self.start
        for batch in regroup(self.beside.add_to(batches, columns), rows):
            yield Block(start, batch)
            start += batch.num_rows

    def count(self) -> int:
        """Return how many rows the piece holds."""
        if self.end is not None:
            return self.end - self.begin
        file = self._file()
        return sum(batch.num_rows for batch in file.batches(file.columns[:1]))

    def _file(self) -> Source:
        if not Path(self.path).exists():
            raise DataError(
                f"{self.path} cannot be found by a worker; put the table where all workers see it under the same path"
            )
        path = Path(self.path)
        endings = "".join(path.suffixes).lower()
        if endings.endswith(CSV_ENDINGS):
            return CsvSource(path, self.name, self.encoding)
        return open_table(path) if self.end is None else ParquetSource(path, self.name)


def cut_into_pieces(source: Source, rows: int, count: Callable[[Sequence[Piece]], Sequence[int]]) -> list[Piece]:
    """Return the table of a source in pieces of about `rows` rows; a CSV file is one piece, since its rows begin anywhere.

    `count` is asked for the number of rows of CSV files that other files follow.
    """
    if rows < 1:
        raise UsageError(f"a piece cannot have {rows} rows; give at least 1")
    files = _source_files(source)
    unknown = [_whole_file(f) for f in files[:-1] if isinstance(f.file, CsvSource)]
    counted = iter(count(unknown) if unknown else ())
    out: list[Piece] = []
    start = 0
    for filed in files:
        whole = replace(_whole_file(filed), start=start)
        if isinstance(filed.file, CsvSource):
            out.append(whole)
            start += next(counted, 0)
            continue
        size = int(filed.rows or 0)
        out += [
            replace(whole, begin=begin, end=min(begin + rows, size), start=start + begin)
            for begin in range(0, size, rows)
        ]
        start += size
    return out


def _source_files(source: Source) -> tuple[FiledSource, ...]:
    if isinstance(source, FolderSource):
        return source.files
    if isinstance(source, CsvSource | ParquetSource):
        return (FiledSource(source),)
    raise UsageError(
        f"{source.name} is in this program's memory, and distant workers read files; write it to a .parquet file on "
        "shared storage, or give a Spark DataFrame"
    )


def _whole_file(filed: FiledSource) -> Piece:
    file = filed.file
    encoding = file.encoding if isinstance(file, CsvSource) else "utf-8"
    return Piece(str(file.path.resolve()), file.name, encoding, 0, None, 0, filed.beside)
