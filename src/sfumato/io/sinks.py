"""Tables out: one file or a folder of them, with the checksum of what was written."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import UsageError
from sfumato.io.atomic import open_new_file
from sfumato.text import join_names

ROW_GROUP = 131_072
"""Rows in a Parquet row group: fixed, so that files do not depend on the block size."""
FORMATS = ("parquet", "csv")


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
        """Discard whatever is written from now on: a writer that is closed after an error still writes its last bytes."""
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
    parts: int = 0
    """Files of a data folder; 0 where the data is one file."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `parts` stands only where there are several files."""
        return {k: v for k, v in asdict(self).items() if k != "parts" or v}

    @classmethod
    def folder(cls, name: str, parts: list[Written]) -> Written:
        """Return the entry of a folder: its checksum is that of the list `sha256sum` prints of its files, by name."""
        parts = sorted(parts, key=lambda p: p.file)
        lines = "".join(f"{p.sha256}  {p.file}\n" for p in parts)
        digest = hashlib.sha256(lines.encode()).hexdigest()
        rows, size = sum(p.rows for p in parts), sum(p.bytes for p in parts)
        return cls(name, Path(name).suffix.lstrip("."), rows, size, digest, len(parts))


def checksum(path: Path) -> str:
    """Return the SHA-256 of a data file, or of the `sha256sum` list of a data folder's files."""
    if path.is_dir():
        return Written.folder(path.name, [Written(p.name, "", 0, 0, checksum(p)) for p in path.iterdir()]).sha256
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def open_writer(
    folder: Path, form: str, schema: pa.Schema, name: str = "data"
) -> Iterator[tuple[Callable[[pa.RecordBatch], None], list[Written]]]:
    """Give a function that takes batches, and a list that holds a `Written` once the block ends without an error."""
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}; choose {join_names(FORMATS)}")
    path = folder / f"{name}.{form}"
    rows = 0
    done: list[Written] = []
    sink = _HashingFile(path)
    pending: list[pa.RecordBatch] = []
    try:
        writer = _writer(sink, form, schema)
    except BaseException:
        sink.close()
        raise
    try:

        def put(batch: pa.RecordBatch) -> None:
            nonlocal rows
            rows += batch.num_rows
            pending.append(batch)
            if sum(b.num_rows for b in pending) >= ROW_GROUP:
                *full, rest = _row_groups(pending)
                for group in full:
                    writer.write_table(group)
                pending[:] = rest.to_batches()

        yield put, done
        if pending:
            for group in _row_groups(pending):
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


def _row_groups(batches: list[pa.RecordBatch]) -> list[pa.Table]:
    table = pa.Table.from_batches(batches)
    return [table.slice(begin, ROW_GROUP) for begin in range(0, table.num_rows, ROW_GROUP)] + (
        [table.slice(table.num_rows)] if table.num_rows % ROW_GROUP == 0 else []
    )


def _writer(sink: Any, form: str, schema: pa.Schema) -> Any:
    if form == "csv":
        from pyarrow import csv as pacsv

        return pacsv.CSVWriter(sink, schema, write_options=pacsv.WriteOptions(quoting_style="needed"))
    import pyarrow.parquet as pq

    text = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)]
    # Noisy numbers repeat too seldom for a dictionary; trying one costs more than the rest of the writing.
    return pq.ParquetWriter(sink, schema, compression="snappy", use_dictionary=text or False)


def write_table(table: pa.Table, path: str | Path, *, force: bool = False) -> None:
    """Write a small table to a .csv or .parquet file that appears when it is complete."""
    path = Path(path)
    form = path.suffix.lower().lstrip(".")
    with open_new_file(path, force=force) as hidden:
        if form not in FORMATS:
            raise UsageError(f"{path}: unsupported extension; use .csv or .parquet")
        with hidden.open("wb") as sink, _writer(sink, form, table.schema) as writer:
            writer.write_table(table)
