"""SWAP-V: every attribute swapped on its own inside each cluster, with every row kept in its Voronoi cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.clusters import LabelArray, Partition
from sfumato.counts import FloatArray
from sfumato.guided.cluster._voronoi import MEAN_TOLERANCE, check_margin, reach, scatter, settle, walls
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.parameters import parameter
from sfumato.randomness import Stream


@dataclass(frozen=True)
class SwapV(ClusterMethod):
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
    keeps_labels: ClassVar[bool] = True
    margin: float = parameter(0.1, "part of the way to its cell's wall that every record stays away from it")
    tries: int = parameter(
        200, "rounds of exchanges for records outside their cell before they are drawn to the centre"
    )

    def __post_init__(self) -> None:
        check_margin(self.law, self.margin, self.tries)

    def _release(self, table: FloatArray, labels: LabelArray, centres: FloatArray, stream: Stream) -> FloatArray:
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
            tolerance = MEAN_TOLERANCE * max(float(np.abs(centres[i]).max()), float(np.abs(original).max()))
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
