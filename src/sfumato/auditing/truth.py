"""The original, read as the release's manifest says: what only its owner has."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import GIVE_SAME_TABLE, DataError
from sfumato.guided import find_kept_rows
from sfumato.reconstruction import paper_size
from sfumato.releases import Manifest, Release, read_original
from sfumato.schema import Attribute, Role
from sfumato.table import Column, Original

Truth = dict[str, FloatArray]


def attributes_of(manifest: Manifest) -> dict[str, Attribute]:
    """The released attributes that hold something to protect, the class among them."""
    return {c.attribute.name: c.attribute for c in manifest.columns if c.attribute.role is not Role.IDENTIFIER}


def truth_of(manifest: Manifest, original: Original) -> Truth:
    """Return the columns of the original by name, in the order of the manifest."""
    values = {c.name: c.values for c in original.all_columns}
    return {name: values[name] for name in attributes_of(manifest)}


def original_of(release: Release, table: Any, encoding: str = "utf-8") -> tuple[Original, IntArray]:
    """Return the original of a release, row for row, and the numbers of its rows: some methods leave people out."""
    original = read_original(table, release.manifest, encoding=encoding)
    rows = np.arange(original.rows)
    if original.rows != release.manifest.data.rows and (kept := find_kept_rows(release.manifest, original)) is not None:
        original, rows = original.take(kept), np.flatnonzero(kept)
    check_rows(release, original.rows)
    return original, rows


def check_rows(release: Release, rows: int) -> None:
    """Raise DataError unless the original has as many rows as the release."""
    if rows != (stated := release.manifest.data.rows):
        raise DataError(f"the original has {rows:,} rows and the release {stated:,}; {GIVE_SAME_TABLE}")


def distribution(column: Column, truth: FloatArray) -> tuple[Grid, FloatArray]:
    """The true distribution of a column, on cells coarse enough to say nothing of single people."""
    known = truth[~np.isnan(truth)]
    grid = column.true_grid(paper_size(max(len(known), 1)))
    if not len(known):
        return grid, np.full(grid.size, 1.0 / grid.size)
    return grid, np.bincount(grid.locate(known), minlength=grid.size) / len(known)
