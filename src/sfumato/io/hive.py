"""Columns that stand in the names of folders, as in ``year=2024/part-0.parquet``: one value for all rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa

MISSING_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What programs write for a missing value, which no folder can be named after."""


@dataclass(frozen=True)
class FolderColumns:
    """Names and values, from the outermost folder to the innermost; None is a missing value."""

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
        return FolderColumns((*self.given, (unquote(name), None if value == MISSING_FOLDER else unquote(value))))

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
