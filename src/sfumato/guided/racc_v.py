"""RACC-V: rotation around the centre that never leaves the cluster's Voronoi cell and keeps its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.clusters.partition import LabelArray, Partition
from sfumato.counts import FloatArray
from sfumato.guided.racc import RACC
from sfumato.guided.voronoi import checked_margin, reach, scatter, settle, walls
from sfumato.parameters import parameter
from sfumato.randomness import Stream


@dataclass(frozen=True)
class RACCV(RACC):
    """RACC, redrawn for records that leave their cell, then settled: labels and centres are an exact fixed point."""

    law: ClassVar[str] = "racc-v"
    keeps_labels: ClassVar[bool] = True
    rotation: str = parameter("haar", "haar: any direction; pairs: an angle per pair of attributes")
    margin: float = parameter(0.1, "part of the way to its cell's wall that every record stays away from it")
    tries: int = parameter(50, "redraws of a record outside its cell before it is drawn towards the centre")

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_margin(self.law, self.margin, self.tries)

    def _release(self, table: FloatArray, labels: LabelArray, centres: FloatArray, stream: Stream) -> FloatArray:
        pairs = self._pairs(table.shape[1], stream)
        partition = Partition.of(labels, len(centres))
        out = np.empty_like(table)
        for i, place in partition.slices():
            rows = partition.order[place]
            cell = walls(centres, i)
            original = table[rows] - centres[i]
            offsets = self._turned(original, pairs, stream)
            outside = np.flatnonzero(reach(offsets, cell) > 1 - self.margin)
            for _ in range(self.tries):
                if not len(outside):
                    break
                offsets[outside] = self._turned(original[outside], pairs, stream)
                outside = outside[reach(offsets[outside], cell) > 1 - self.margin]
            settle(offsets, cell, self.margin, scatter(original))
            offsets += centres[i]
            out[rows] = offsets
        return out
