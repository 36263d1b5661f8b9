"""Classes with too few rows to be hidden among: their rows are left out where values only travel inside a class.

The class stays readable in such a release. A class of one has no row to swap with, so its row would be published whole
and true; of a class of two, either one knows which values are the other's. Records without a class are a class of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import IntArray
from sfumato.findings import Note
from sfumato.text import join_names

MIN_CLASS_ROWS = 3
"""A class with fewer rows is rare."""

STATEMENT = f"records of a class (or without one) that has fewer than {MIN_CLASS_ROWS} records are left out"
"""What a recipient is told, whether there are such rows or not."""


def is_rare(counts: IntArray) -> NDArray[np.bool_]:
    """Return which classes are rare, given how many rows each has; an empty class is not rare."""
    return np.asarray((counts > 0) & (counts < MIN_CLASS_ROWS))


def is_rare_row(classes: IntArray) -> NDArray[np.bool_]:
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
