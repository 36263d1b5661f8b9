"""Parquet, Arrow and Feather files: columns that know their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import DataError
from sfumato.io.sources import BLOCK_ROWS, check_header, first_line

PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc", ".arrows")


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


class ArrowFileSource:
    """An Arrow file or stream (Feather is one), read batch by batch."""

    def __init__(self, path: Path, name: str) -> None:
        self.name, self.path = name, path
        self.rows: int | None = None  # known when read
        with self._reader() as reader:
            self.columns = check_header(reader.schema.names, name)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        try:
            with pa.OSFile(str(self.path)) as file:
                magic = file.read(6)
                file.seek(0)
                yield pa.ipc.open_file(file) if magic == b"ARROW1" else pa.ipc.open_stream(file)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name} cannot be read as Arrow: {first_line(error)}; is it complete?") from None

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the file."""
        with self._reader() as reader:
            stored = (
                (reader.get_batch(i) for i in range(reader.num_record_batches))
                if isinstance(reader, pa.ipc.RecordBatchFileReader)
                else reader
            )
            for batch in stored:
                batch.validate(full=True)
                yield batch.select(list(columns))
