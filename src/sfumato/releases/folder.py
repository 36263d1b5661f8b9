"""A release: data plus a public statement of how it was randomised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sfumato.engines import Engine
from sfumato.errors import GET_RELEASE_AGAIN, DataError
from sfumato.io import BLOCK_ROWS, Source, check_columns, checksum, name_files_in_errors, open_table, read_blocks
from sfumato.releases.manifest import Manifest
from sfumato.releases.reader import CountedTable, Reader, typed_cells
from sfumato.table import Table


@dataclass(frozen=True)
class Release:
    """A release folder, opened: what a miner holds."""

    folder: Path
    manifest: Manifest
    notes: tuple[str, ...] = ()
    """What the owner should know of the making of it; nothing of this is in the folder."""

    @classmethod
    def open(cls, folder: str | Path) -> Release:
        """Open a release folder and check that its data file is there."""
        folder = Path(folder)
        release = cls(folder, Manifest.load(folder))
        if not release.data_path.exists():
            raise DataError(f"{folder} lacks its data file {release.manifest.data.file}; get the release again")
        return release

    @property
    def data_path(self) -> Path:
        """The data file, or the folder of its parts."""
        return self.folder / self.manifest.data.file

    def verify(self) -> None:
        """Check the data against the manifest's checksum."""
        if checksum(self.data_path) != self.manifest.data.sha256:
            raise DataError(
                f"{self.data_path} is not the data the manifest speaks of (checksum); get the release again"
            )

    def observed(self, names: list[str] | None = None, block_rows: int = BLOCK_ROWS) -> Table:
        """The released values with their laws, in memory, for mining."""
        reader = Reader.of(self.manifest, names)
        source = self._source(open_table(self.data_path), reader)
        with name_files_in_errors(source):
            table = reader.joined([reader(block) for block in read_blocks(source, reader.names, block_rows)])
        if reader.names:
            self._check_rows(table.rows)
        return table

    def counted(self, engine: Engine, names: list[str] | None = None) -> CountedTable:
        """The released values with their laws, to be counted by an engine and never held."""
        reader = Reader.of(self.manifest, names)
        return CountedTable(reader, self._source(engine.open(self.data_path), reader), engine)

    def _source(self, source: Source, reader: Reader) -> Source:
        """The data, if it holds what the manifest states, as far as that is known without reading it."""
        check_columns(source, reader.names, GET_RELEASE_AGAIN)
        if source.rows is not None:
            self._check_rows(source.rows)
        return source

    def _check_rows(self, rows: int) -> None:
        if rows != (stated := self.manifest.data.rows):
            raise DataError(
                f"{self.data_path} holds {rows:,} rows, and the manifest states {stated:,}; {GET_RELEASE_AGAIN}"
            )

    def to_arrow(self) -> pa.Table:
        """The released data as an Arrow table. Texts of a CSV file become what the manifest says: numbers, days, labels."""
        source = open_table(self.data_path)
        table = pa.Table.from_batches([b.batch for b in read_blocks(source)])
        for place, name in enumerate(table.column_names):
            if table.schema.field(place).type == pa.string() and name in self.manifest.schema.names:
                table = table.set_column(place, name, typed_cells(self.manifest[name], table[name]))
        return table
