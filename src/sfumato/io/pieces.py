"""What a distant worker reads: some rows of one file, and the number of the first.

A row's number is its place in its file, after all rows of the files before it (by name). So it is the same however the table
is cut into pieces, and on every worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sfumato.errors import DataError, UsageError
from sfumato.io.formats import FiledSource, FileSource, FolderColumns, FolderSource, ParquetSource
from sfumato.io.input_tables import ReadTable, open_file, respell_batches
from sfumato.io.reading import PLAIN, Reading
from sfumato.io.sources import BLOCK_ROWS, Block, Source, regroup


@dataclass(frozen=True)
class Piece:
    """Rows `begin` up to `end` of a file (to its last if None); the first of them is row `start` of the table."""

    path: str
    name: str
    reading: Reading
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
        for batch in regroup(respell_batches(self.beside.add_to(batches, columns), self.reading, self.start), rows):
            yield Block(start, batch)
            start += batch.num_rows

    def count(self) -> int:
        """Return how many rows the piece holds."""
        if self.end is not None:
            return self.end - self.begin
        file = self._file()
        return sum(batch.num_rows for batch in file.batches(file.columns[:1]))

    def _file(self) -> FileSource:
        path = Path(self.path)
        if not path.exists():
            raise DataError(
                f"{self.path} cannot be found by a worker; put the table where all workers see it under the same path"
            )
        return open_file(path, self.name, self.reading)


def cut_into_pieces(source: Source, rows: int, count: Callable[[Sequence[Piece]], Sequence[int]]) -> list[Piece]:
    """Return the table of a source in pieces of about `rows` rows; a file that is not Parquet is one piece, since its rows
    begin anywhere.

    `count` is asked for the number of rows of such files that other files follow.
    """
    if rows < 1:
        raise UsageError(f"a piece cannot have {rows} rows; give at least 1")
    files, reading = _source_files(source)
    unknown = [_whole_file(f, reading) for f in files[:-1] if not isinstance(f.file, ParquetSource)]
    counted = iter(count(unknown) if unknown else ())
    out: list[Piece] = []
    start = 0
    for filed in files:
        whole = replace(_whole_file(filed, reading), start=start)
        if not isinstance(filed.file, ParquetSource):
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


def _source_files(source: Source) -> tuple[tuple[FiledSource, ...], Reading]:
    """Return the files of a table, and how they are read."""
    file, reading = (source.file, source.reading) if isinstance(source, ReadTable) else (source, PLAIN)
    if isinstance(file, FolderSource):
        return file.files, reading
    if isinstance(getattr(file, "path", None), Path):
        return (FiledSource(file),), reading  # type: ignore[arg-type]  # it has a path
    raise UsageError(
        f"{source.name} is in this program's memory, and distant workers read files; write it to a .parquet file on "
        "shared storage, or give a Spark DataFrame"
    )


def _whole_file(filed: FiledSource, reading: Reading) -> Piece:
    file = filed.file
    return Piece(str(file.path.resolve()), file.name, reading, 0, None, 0, filed.beside)
