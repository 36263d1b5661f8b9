"""Rows that a release would expose: those of classes too small to hide in, and those that it holds whole.

A class stays readable where values only travel inside it. A class of one has no row to swap with, so its row would be published
whole and true; of a class of two, either one knows which values are the other's. So their rows are left out. Records without a
class are a class of their own.

A row is held whole where it is as it was in every modified column, and unlike any other row of the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.findings import Note
from sfumato.text import join_names

MIN_CLASS_ROWS = 3
"""A class with fewer rows is rare."""

STATEMENT = f"records of a class (or without one) that has fewer than {MIN_CLASS_ROWS} records are left out"
"""What a recipient is told, whether there are such rows or not."""


def is_rare(counts: IntArray) -> BoolArray:
    """Return which classes are rare, given how many rows each has; an empty class is not rare."""
    return np.asarray((counts > 0) & (counts < MIN_CLASS_ROWS))


def is_rare_row(classes: IntArray) -> BoolArray:
    """Return which rows are of a rare class; −1 stands for no class."""
    counts = np.bincount(classes + 1)
    return np.asarray(is_rare(counts)[classes + 1])


def rare_note(counts: IntArray, labels: Sequence[str], target: str) -> Note:
    """Return the note to the owner about rare classes: `counts` by class, first the rows without one."""
    names = ["no class", *(f"{target} = {label}" for label in labels)]
    rare = [f"{names[i]} ({int(counts[i])})" for i in np.flatnonzero(is_rare(counts))]
    return Note(
        "SF223",
        f"left out, since a class of fewer than {MIN_CLASS_ROWS} records does not hide its people: {join_names(rare, 12)}. To have "
        "them in the release, merge the class with another in the table, or give the records a class",
    )


def are_unchanged(before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], names: Iterable[str]) -> BoolArray:
    """Return rows whose cells are what they were in all the named columns; missing in both is the same."""
    same = [(before[n] == after[n]) | (np.isnan(before[n]) & np.isnan(after[n])) for n in names]
    return np.asarray(np.logical_and.reduce(same)) if same else np.empty(0, np.bool_)


def are_single(values: Mapping[str, FloatArray]) -> BoolArray:
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
) -> BoolArray:
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
