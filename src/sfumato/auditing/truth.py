"""The original, read as the release's manifest says: what only its owner has."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import GIVE_SAME_TABLE, DataError
from sfumato.guided import find_kept_rows
from sfumato.io import Encoder, check_columns, name_files_in_errors, open_table, read_blocks
from sfumato.reconstruction import paper_size
from sfumato.releases import Manifest, Reader, Release
from sfumato.schema import Attribute, Role
from sfumato.table import Column

Truth = dict[str, FloatArray]


def attributes_of(manifest: Manifest) -> dict[str, Attribute]:
    """The released attributes that hold something to protect, the class among them."""
    return {c.attribute.name: c.attribute for c in manifest.columns if c.attribute.role is not Role.IDENTIFIER}


def read_truth(manifest: Manifest, table: Any, encoding: str = "utf-8", remedy: str = GIVE_SAME_TABLE) -> Truth:
    """The true values of the released columns of a table, numbers as they are and labels as codes."""
    encoders = {name: Encoder(a, manifest[name].absent, remedy) for name, a in attributes_of(manifest).items()}
    parts: dict[str, list[FloatArray]] = {name: [] for name in encoders}
    source = open_table(table, encoding)
    check_columns(source, list(parts), remedy)
    with name_files_in_errors(source):
        for block in read_blocks(source, list(parts)):
            for name, encoder in encoders.items():
                parts[name].append(encoder(block.batch.column(name), block.start))
    return {name: np.concatenate(p) if p else np.empty(0) for name, p in parts.items()}


def distribution(column: Column, truth: FloatArray) -> tuple[Grid, FloatArray]:
    """The true distribution of a column, on cells coarse enough to say nothing of single people."""
    known = truth[~np.isnan(truth)]
    grid = column.true_grid(paper_size(max(len(known), 1)))
    if not len(known):
        return grid, np.full(grid.size, 1.0 / grid.size)
    return grid, np.bincount(grid.locate(known), minlength=grid.size) / len(known)


def read_original(release: Release, table: Any, encoding: str = "utf-8") -> tuple[Truth, IntArray]:
    """The original of a release, row for row, and the numbers of the rows: some methods leave people out."""
    truth = read_truth(release.manifest, table, encoding)
    rows = len(next(iter(truth.values()))) if truth else 0
    kept = np.arange(rows)
    if rows != release.manifest.data.rows:
        reader = Reader.of_original(release.manifest)
        source = open_table(table, encoding)
        found = find_kept_rows(release.manifest, reader.joined([reader(b) for b in read_blocks(source, reader.names)]))
        if found is None:
            stated = release.manifest.data.rows
            raise DataError(f"the original has {rows:,} rows and the release {stated:,}; {GIVE_SAME_TABLE}")
        kept = np.flatnonzero(found)
        truth = {name: values[kept] for name, values in truth.items()}
    return truth, kept
