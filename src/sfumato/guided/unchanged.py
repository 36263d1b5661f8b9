"""Records that a release holds whole: as they are in every modified column, and unlike any other row of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.findings import Note
from sfumato.text import join_names


def are_unchanged(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], names: Iterable[str]
) -> NDArray[np.bool_]:
    """Return rows whose cells are what they were in all the named columns; missing in both is the same."""
    same = [(before[n] == after[n]) | (np.isnan(before[n]) & np.isnan(after[n])) for n in names]
    return np.asarray(np.logical_and.reduce(same)) if same else np.empty(0, np.bool_)


def are_single(values: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
    """Return rows that are like no other in all columns together."""
    codes: IntArray | None = None
    for column in values.values():
        _, own = np.unique(column, return_inverse=True)  # NaN is one value
        joined = own if codes is None else codes * (int(own.max(initial=0)) + 1) + own
        codes = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    if codes is None:
        return np.empty(0, np.bool_)
    return np.asarray(np.bincount(codes)[codes] == 1)


def unchanged_rows(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], modified: Iterable[str]
) -> NDArray[np.bool_]:
    """Return rows unchanged in all `modified` columns that no other row shares: who knows such a person finds a true row."""
    names = [n for n in after if n in set(modified)]
    if not names:
        return np.zeros(len(next(iter(after.values()))) if after else 0, np.bool_)
    return are_unchanged(before, after, names) & are_single(after)


def unchanged_note(records: int, rows: int) -> Note:
    """Return the note to the owner."""
    return Note(
        "SF227",
        f"{records:,} of {rows:,} records {'stays as it is' if records == 1 else 'stay as they are'} in every column that was "
        "modified, and no other row is the same: anyone who knows the values finds the row. The audit names it",
    )


def find_hardly_changed(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], names: Iterable[str]
) -> dict[str, float]:
    """Return columns of which hardly any value that is there before and after has changed, and the share that has.

    Where a tree tests a label, everybody in a leaf has the same, and swapping within leaves changes none; that missing cells
    moved does not hide it.
    """
    min_share = 0.05  # below it, a column protects hardly any person
    out = {}
    for name in sorted(n for n in names if n in before and n in after):
        there = ~np.isnan(before[name]) & ~np.isnan(after[name])
        share = float((before[name] != after[name])[there].mean()) if there.any() else 1.0
        if share < min_share:
            out[name] = share
    return out


def hardly_note(shares: Mapping[str, float]) -> Note:
    """Return the note to the owner."""
    named = [f"{name} ({share:.1%} changed)" for name, share in shares.items()]
    return Note("SF222", f"Hardly any value was changed, so take as released as it is: {join_names(named, 12)}")
