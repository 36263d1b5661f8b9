"""Voronoi cells of centres, and how a cluster is settled in its cell with its mean at the centre.

With c_i the centre of a row's own cluster and z = y − c_i, the row is nearest to c_i iff for every other centre
2 z·(c_j − c_i) ≤ |c_j − c_i|². The largest left side over right side is the row's *reach*: 0 at the centre, 1 on
the wall of the cell. It is positively homogeneous in z, so shrinking z brings a row to any reach, and the cell,
being convex, holds the way. Labels and centres are an exact k-means fixed point iff every reach is at most 1 (here
1 − margin, so that rounding changes nothing) and every cluster has its centre as mean.
"""

from __future__ import annotations

import numpy as np

from sfumato.clusters import CACHED_ROWS, LabelArray, Partition
from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError

MEAN_TOLERANCE = 1e-12
"""A mean this close to its centre, relative to the cluster's coordinates, is the centre."""


def check_margin(law: str, margin: float, tries: int) -> None:
    """Refuse a margin outside (0, 1) or a negative number of tries."""
    if not 0 < margin < 1:
        raise UsageError(f"{law}: margin = {margin}; give a part of the cell between 0 and 1, such as 0.1")
    if tries < 0:
        raise UsageError(f"{law}: tries = {tries}; give a whole number from 0 on")


def walls(centres: FloatArray, i: int) -> FloatArray:
    """Return the walls of cell i as columns 2 (c_j − c_i)/|c_j − c_i|², so that z @ walls ≤ 1 is the cell."""
    away = np.delete(centres, i, axis=0) - centres[i]
    squares = np.einsum("ij,ij->i", away, away)
    if (squares == 0).any():
        raise DataError(f"centre {i} coincides with another: no release can keep both clusters; take a smaller k")
    return np.ascontiguousarray((2.0 * away / squares[:, None]).T)


def reach(records: FloatArray, cell: FloatArray, centre: FloatArray | None = None) -> FloatArray:
    """Return how far each row is on its way from the centre (0) to the first wall (1); offsets, if no `centre` is given."""
    out = np.zeros(len(records))
    if cell.shape[1]:
        for begin in range(0, len(records), CACHED_ROWS):
            part = records[begin : begin + CACHED_ROWS]
            ((part if centre is None else part - centre) @ cell).max(axis=1, out=out[begin : begin + CACHED_ROWS])
    return out


def inside(
    table: FloatArray, labels: LabelArray, centres: FloatArray, margin: float = 0.0
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether each row lies in its own cluster's cell, `margin` away from the walls."""
    out = np.empty(len(table), np.bool_)
    partition = Partition.of(labels, len(centres))
    for i, rows in partition.groups():
        out[rows] = reach(table[rows] - centres[i], walls(centres, i)) <= 1.0 - margin
    return out


def shrink(offsets: FloatArray, reaches: FloatArray, limit: float) -> None:
    """Draw rows beyond `limit` towards their centre until they are at it, in place."""
    over = np.flatnonzero(reaches > limit)
    offsets[over] *= (limit / reaches[over])[:, None]


def scatter(offsets: FloatArray) -> float:
    """Return Σ |z|²."""
    return float(np.einsum("ij,ij->", offsets, offsets))


def settle(offsets: FloatArray, cell: FloatArray, margin: float, most_scatter: float) -> None:
    """Bring a cluster's offsets, in place, to mean zero, into their cell with margin, and to at most `most_scatter`.

    Shifting the mean to the centre pushes some rows over the margin, shrinking those moves the mean a little again;
    alternating both ends soon where cells are not extreme. A common contraction of the whole cluster keeps the mean at
    the centre and leads into the cell from anywhere: it closes what is left, so the result is right however the
    alternation went. It also keeps scatter from growing, without which the clustering could stop being the best one.
    """
    max_rounds = 100
    slack = 1e-3  # a cluster this close to its margin is contracted by as much: another round costs more than it saves
    limit = 1.0 - margin
    reaches = reach(offsets, cell)
    for _ in range(max_rounds):
        shrink(offsets, reaches, limit)
        offsets -= offsets.mean(axis=0)
        reaches = reach(offsets, cell)
        if reaches.max() <= limit * (1 + slack):
            break
    factor = min(1.0, limit / max(float(reaches.max()), limit))
    now = scatter(offsets)
    if now > most_scatter:
        factor = min(factor, float(np.sqrt(most_scatter / now)))
    if factor < 1.0:
        offsets *= factor
    # One more pass takes the rounding of large sums out of the mean.
    offsets -= offsets.mean(axis=0)
