"""Methods that keep every row in the Voronoi cell of its centre, so that labels and centres are an exact fixed point of k-means.

With c_i the centre of a row's own cluster and z = y − c_i, the row is nearest to c_i iff for every other centre
2 z·(c_j − c_i) ≤ |c_j − c_i|². The largest left side over right side is the row's *reach*: 0 at the centre, 1 on
the wall of the cell. It is positively homogeneous in z, so shrinking z brings a row to any reach, and the cell,
being convex, holds the way. Labels and centres are an exact k-means fixed point iff every reach is at most 1 (here
1 − margin, so that rounding changes nothing) and every cluster has its centre as mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.clusters import CACHED_ROWS, Partition
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import parameter
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.guided.cluster.racc import RACC
from sfumato.randomness import Stream


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
    table: FloatArray, labels: IntArray, centres: FloatArray, margin: float = 0.0
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


@dataclass(frozen=True)
class CellMethod(ClusterMethod):
    """A method that keeps every row in its cell."""

    keeps_labels: ClassVar[bool] = True

    def keeps_cells(self, table: FloatArray, labels: IntArray, centres: FloatArray) -> bool:
        """Return whether every row lies in its own cluster's cell."""
        return bool(inside(table, labels, centres).all())


@dataclass(frozen=True)
class RACCV(CellMethod, RACC):
    """Turn rows as RACC does, but keep each in its cell: labels and centres are an exact fixed point of k-means."""

    law: ClassVar[str] = "racc-v"
    words: ClassVar[str] = "rotated around the cluster's centre, every record kept in its cluster's cell"
    rotation: str = parameter("haar", "haar: any direction; pairs: an angle per pair of attributes")
    margin: float = parameter(0.1, "part of the way to its cell's wall that every record stays away from it")
    tries: int = parameter(50, "redraws of a record outside its cell before it is drawn towards the centre")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_margin(self.law, self.margin, self.tries)

    def _release(self, table: FloatArray, labels: IntArray, centres: FloatArray, stream: Stream) -> FloatArray:
        pairs = self._pairs(table.shape[1], stream)
        partition = Partition.of(labels, len(centres))
        out = np.empty_like(table)
        for i, rows in partition.groups():
            cell = walls(centres, i)
            original = table[rows] - centres[i]
            offsets = self._turn(original, pairs, stream)
            outside = np.flatnonzero(reach(offsets, cell) > 1 - self.margin)
            for _ in range(self.tries):
                if not len(outside):
                    break
                offsets[outside] = self._turn(original[outside], pairs, stream)
                outside = outside[reach(offsets[outside], cell) > 1 - self.margin]
            settle(offsets, cell, self.margin, scatter(original))
            offsets += centres[i]
            out[rows] = offsets
        return out


@dataclass(frozen=True)
class SwapV(CellMethod):
    """Permute each attribute within each cluster; labels and centres are an exact fixed point of k-means.

    A row that lands outside its cell exchanges random attributes with a random other row of its cluster whenever
    that brings the two nearer to where they belong. Exchanges keep what permutations keep: every attribute of a cluster
    has exactly the values it had, so the mean is the centre, the scatter is what it was, and released values are genuine.
    Only in a cluster where some row finds no place in `tries` rounds, values are bent: that row is drawn towards
    the centre and the cluster settled.
    """

    law: ClassVar[str] = "swap-v"
    swaps: ClassVar[bool] = True
    words: ClassVar[str] = (
        "values swapped inside each cluster; a cluster in which some record finds no place so is drawn towards its centre"
    )
    reads: ClassVar[str] = (
        "Numbers are true ones, but as a rule another person's of the same cluster, or have been drawn towards its centre; "
        "labels are swapped, too. By chance a cell, or a whole row, is its own person's"
    )
    margin: float = parameter(0.1, "part of the way to its cell's wall that every record stays away from it")
    tries: int = parameter(
        200, "rounds of exchanges for records outside their cell before they are drawn to the centre"
    )

    def __post_init__(self) -> None:
        check_margin(self.law, self.margin, self.tries)

    def _release(self, table: FloatArray, labels: IntArray, centres: FloatArray, stream: Stream) -> FloatArray:
        partition = Partition.of(labels, len(centres))
        out = np.empty_like(table)
        for i, rows in partition.groups():
            cell, limit = walls(centres, i), 1.0 - self.margin
            original = table[rows]
            swapped = np.empty_like(original)
            for column in range(table.shape[1]):
                swapped[:, column] = original[np.argsort(stream.words(len(rows))), column]
            placed = _exchange(swapped, centres[i], cell, limit, self.tries, stream)
            original -= centres[i]
            offset = original.mean(axis=0)
            tolerance = 1e-12 * max(float(np.abs(centres[i]).max()), float(np.abs(original).max()))
            if not placed or float(np.abs(offset).max()) > tolerance:
                swapped -= centres[i]
                settle(swapped, cell, self.margin, scatter(original))
                swapped += centres[i]
            out[rows] = swapped
        return out


def _exchange(
    records: FloatArray, centre: FloatArray, cell: FloatArray, limit: float, tries: int, stream: Stream
) -> bool:
    """Exchange attributes between rows, in place, until all are within `limit`; whether that was reached."""
    rows, attributes = records.shape
    reaches = reach(records, cell, centre)
    outside = np.flatnonzero(reaches > limit)
    for _ in range(tries):
        if not len(outside):
            return True
        # Partners: distinct rows, none of which is itself outside, so that all exchanges of a round are disjoint.
        partner, first = np.unique(stream.integers(len(outside), rows), return_index=True)
        free = ~np.isin(partner, outside, assume_unique=True)
        a, b = outside[first[free]], partner[free]
        if not len(a):
            if len(outside) < 2:
                continue
            mixed = outside[stream.permutation(len(outside))]
            a, b = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 : len(mixed) // 2 * 2]
        give = stream.uniform(len(a), attributes) < 0.5
        new_a, new_b = np.where(give, records[b], records[a]), np.where(give, records[a], records[b])
        reach_a, reach_b = reach(new_a, cell, centre), reach(new_b, cell, centre)
        before = np.maximum(reaches[a] - limit, 0.0) + np.maximum(reaches[b] - limit, 0.0)
        after = np.maximum(reach_a - limit, 0.0) + np.maximum(reach_b - limit, 0.0)
        better = after < before
        records[a[better]], records[b[better]] = new_a[better], new_b[better]
        reaches[a[better]], reaches[b[better]] = reach_a[better], reach_b[better]
        touched = np.union1d(outside, b[better])
        outside = touched[reaches[touched] > limit]
    return not len(outside)
