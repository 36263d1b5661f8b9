"""Lloyd's two steps, k-means itself: nearest centre, then mean. No start, no restart, no tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.clusters.partition import LabelArray, cluster_means
from sfumato.counts import FloatArray

ROWS = 65536
"""Rows worked at a time: their distances to a dozen centres stay in the cache."""


def nearest_centre(table: FloatArray, centres: FloatArray) -> LabelArray:
    """The nearest centre of each row; the first of equally near ones."""
    # |x − c|² = |x|² − 2 x·c + |c|², and |x|² decides nothing. The common origin keeps the products small.
    origin = centres.mean(axis=0)
    shifted = centres - origin
    squares = np.einsum("ij,ij->i", shifted, shifted)
    out = np.empty(len(table), np.int64)
    for begin in range(0, len(table), ROWS):
        products = (table[begin : begin + ROWS] - origin) @ shifted.T
        products *= -2.0
        products += squares
        products.argmin(axis=1, out=out[begin : begin + ROWS])
    return out


@dataclass(frozen=True, eq=False)
class LloydRun:
    """Where Lloyd's iteration ended; `converged` when the last round changed no label."""

    labels: LabelArray
    centres: FloatArray
    rounds: int
    converged: bool


def lloyd(table: FloatArray, centres: FloatArray, rounds: int = 300) -> LloydRun:
    """Lloyd's iteration from the given centres until no label changes; a centre without rows stays where it is."""
    labels = nearest_centre(table, centres)
    for done in range(1, rounds + 1):
        means = cluster_means(table, labels, len(centres))
        centres = np.where(np.isnan(means), centres, means)
        after = nearest_centre(table, centres)
        if np.array_equal(after, labels):
            return LloydRun(labels, centres, done, converged=True)
        labels = after
    return LloydRun(labels, centres, rounds, converged=False)


def within_scatter(table: FloatArray, labels: LabelArray, centres: FloatArray) -> float:
    """Σ |x − c(x)|², what k-means makes small."""
    total = 0.0
    for begin in range(0, len(table), ROWS):
        part = table[begin : begin + ROWS] - centres[labels[begin : begin + ROWS]]
        total += float(np.einsum("ij,ij->", part, part))
    return total
