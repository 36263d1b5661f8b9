"""A release: data plus a public statement of how it was randomised."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import IntArray
from sfumato.engines import Engine
from sfumato.errors import GET_RELEASE_AGAIN, DataError, DraftWarning
from sfumato.findings import Note
from sfumato.io import BLOCK_ROWS, PLAIN, Source, check_columns, checksum, name_files_in_errors, open_table, read_blocks
from sfumato.plans import Plan
from sfumato.releases.manifest import DRAFT, Manifest
from sfumato.releases.reader import CountedTable, Reader, is_release, type_cells
from sfumato.releases.signature import read_signature, verify
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class Making:
    """What the owner of a new release should know, and no one else.

    Attributes
    ----------
    plan
        The plan that was followed.
    notes
        What happened, in sentences.
    warnings
        What to read before the release is given away.
    cautions
        What a recipient should bear in mind, as the README says it.
    changed
        For every column of a guided release, the share of its cells that differ from the original.
    mined_rows
        Rows that the trees of a guided release by counts were grown from.
    left_out
        Rows of the original, from 0 on, that a guided method left out.
    owner
        Figures of the original that a guided method measured.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = sf.release("iris", None, f"{folder}/release", method="leaf-swap")
    >>> 0 < made.making.changed["petal_width"] < 1
    True
    """

    plan: Plan | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[Note, ...] = ()
    cautions: tuple[Note, ...] = ()
    changed: Mapping[str, float] = field(default_factory=dict)
    mined_rows: int | None = None
    left_out: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    owner: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    """A release folder, opened: what a miner holds.

    Attributes
    ----------
    folder : Path
        The folder.
    manifest : Manifest
        The public statement of how the data was randomised.
    making : Making
        What only the owner should know of how it was made; nothing of this is in the folder.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = sf.release("iris", None, f"{folder}/release", privacy=0.5)
    ...     opened = sf.Release.open(f"{folder}/release")
    ...     opened == made, opened.to_arrow().num_rows
    (True, 150)
    """

    folder: Path
    manifest: Manifest
    making: Making = field(default_factory=Making, compare=False, repr=False)

    @classmethod
    def open(cls, folder: str | Path) -> Release:
        """Open a release folder and check that its data file is there; warn of a draft."""
        folder = Path(folder)
        release = cls(folder, Manifest.load(folder))
        if not release.data_path.exists():
            raise DataError(f"{folder} lacks its data file {release.manifest.data.file}; get the release again")
        if release.manifest.draft:
            warnings.warn(f"{folder} is a {DRAFT}", DraftWarning, stacklevel=2)
        return release

    @property
    def data_path(self) -> Path:
        """The data file, or the folder of its parts."""
        return self.folder / self.manifest.data.file

    def verify(self) -> None:
        """Check the data against the manifest's checksum, and a signed folder against its signature."""
        if checksum(self.data_path) != self.manifest.data.sha256:
            raise DataError(
                f"{self.data_path} is not the data the manifest speaks of (checksum); get the release again"
            )
        if read_signature(self.folder) is not None:
            verify(self)

    @cached_property
    def verified(self) -> Release:
        """The release itself, once data and signature are checked: once for each object, before any of its data is read."""
        self.verify()
        return self

    def read_table(self, names: list[str] | None = None, block_rows: int = BLOCK_ROWS) -> Table:
        """Read the released values with their laws into memory, for mining."""
        reader = Reader.of(self.manifest, names)
        source = self._source(open_table(self.verified.data_path, reading=PLAIN), reader)
        with name_files_in_errors(source):
            table = reader.join([reader(block) for block in read_blocks(source, reader.names, block_rows)])
        if reader.names:
            self._check_rows(table.rows)
        return table

    def count_table(self, engine: Engine, names: list[str] | None = None) -> CountedTable:
        """Open the released values with their laws, to be counted by an engine and never held."""
        reader = Reader.of(self.manifest, names)
        return CountedTable(reader, self._source(engine.open(self.verified.data_path), reader), engine)

    def _source(self, source: Source, reader: Reader) -> Source:
        """Return the data, if it holds what the manifest states, as far as that is known without reading it."""
        check_columns(source, reader.names, GET_RELEASE_AGAIN)
        if source.rows is not None:
            self._check_rows(source.rows)
            size = sum(p.stat().st_size for p in (self.data_path, *self.data_path.glob("*")) if p.is_file())
            if source.rows > 2**20 + 16 * size:  # blurred cells take a bit or more each, however they are packed
                raise DataError(
                    f"{self.data_path} states {source.rows:,} rows in {size:,} bytes, which no rows fit in; {GET_RELEASE_AGAIN}"
                )
        return source

    def _check_rows(self, rows: int) -> None:
        if rows != (stated := self.manifest.data.rows):
            raise DataError(
                f"{self.data_path} holds {rows:,} rows, and the manifest states {stated:,}; {GET_RELEASE_AGAIN}"
            )

    def to_arrow(self) -> pa.Table:
        """Return the released data as an Arrow table. Texts of a CSV file become what the manifest says: numbers, days, labels."""
        source = self._source(open_table(self.verified.data_path, reading=PLAIN), Reader.of(self.manifest))
        table = pa.Table.from_batches([b.batch for b in read_blocks(source)])
        for place, name in enumerate(table.column_names):
            if table.schema.field(place).type == pa.string() and name in self.manifest.schema.names:
                table = table.set_column(place, name, type_cells(self.manifest[name], table[name]))
        return table

    def describe(self) -> dict[str, Any]:
        """Return what the release says of itself: `sfumato.describe`."""
        return _verb("describe")(self)

    def reconstruct(self, **asked: Any) -> Any:
        """Estimate the distributions of the true values: `sfumato.reconstruct`."""
        return _verb("reconstruct")(self, **asked)

    def ask(self, question: str, **asked: Any) -> Any:
        """Answer a question in SQL: `sfumato.ask`."""
        return _verb("ask")(self, question, **asked)

    def fit(self, formula: str, **asked: Any) -> Any:
        """Fit a regression on the true values: `sfumato.fit`."""
        return _verb("fit")(formula, self, **asked)

    def mine(self, **asked: Any) -> Any:
        """Grow a decision tree: `sfumato.mine`."""
        return _verb("mine")(self, **asked)

    def model(self, **asked: Any) -> Any:
        """Model all columns together: `sfumato.model`."""
        return _verb("model")(self, **asked)

    def draws(self, m: int = 5, **asked: Any) -> Any:
        """Draw tables of plausible true rows: `sfumato.draws`."""
        return _verb("draws")(self, m, **asked)

    def synthesise(self, rows: int | None = None, **asked: Any) -> Any:
        """Make new rows from the model alone: `sfumato.synthesise`."""
        return _verb("synthesise")(self, rows, **asked)


def _verb(name: str) -> Callable[..., Any]:
    """Return a verb of the package. Verbs live in rooms above this one, so they come by the front door when they are called."""
    verb: Callable[..., Any] = getattr(importlib.import_module("sfumato"), name)
    return verb


def as_release(release: Release | str | Path) -> Release:
    """Return a release as it is, or opened from its folder; either is checked to be whole."""
    return (release if isinstance(release, Release) else Release.open(release)).verified


def open_pair(original: Any, release: Any) -> tuple[Any, Release]:
    """Return an original and its release, opened, in whichever order the two were given."""
    if is_release(original) and not is_release(release):
        original, release = release, original
    return original, as_release(release)
