"""Nearest rows of a mixed table by Gower's distance: range-scaled differences of numbers, 0 or 1 for labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Targets, View
from sfumato.counts import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Space:
    """Columns prepared for distances, with the rows in random order, so that ties fall by chance."""

    numbers: tuple[tuple[str, NDArray[np.float32], float], ...]
    labels: tuple[tuple[str, NDArray[np.int32]], ...]
    order: IntArray

    @classmethod
    def of(cls, view: View, targets: Mapping[str, FloatArray], names: Sequence[str], seed: int) -> Space:
        """The named columns; numbers are divided by their range over release and targets together."""
        order = np.random.default_rng(seed).permutation(view.rows)
        numbers, labels = [], []
        for name in names:
            column = view[name].unadjusted()
            if column.attribute.kind.numeric:
                both = np.concatenate([column.values, targets[name]])
                known = both[~np.isnan(both)]
                span = float(np.ptp(known)) if len(known) else 0.0
                scale = span if span > 0 else 1.0
                numbers.append((name, (column.values[order] / scale).astype(np.float32), scale))
            else:
                labels.append((name, _codes(column.values)[order]))
        return cls(tuple(numbers), tuple(labels), order)

    def distances(self, targets: Mapping[str, FloatArray], part: slice) -> NDArray[np.float32]:
        """Targets × rows; absence is at distance 0 from absence and 1 from everything else."""
        out = np.zeros((part.stop - part.start, len(self.order)), np.float32)
        gap = np.empty_like(out)
        for name, values, scale in self.numbers:
            queries = (targets[name][part] / scale).astype(np.float32)
            np.subtract(queries[:, None], values[None, :], out=gap)
            np.abs(gap, out=gap)
            if np.isnan(values).any() or np.isnan(queries).any():
                both = np.isnan(queries)[:, None] & np.isnan(values)[None, :]
                gap[np.isnan(gap)] = 1.0
                gap[both] = 0.0
            out += gap
        for name, codes in self.labels:
            out += _codes(targets[name][part])[:, None] != codes[None, :]
        return out

    def nearest(self, targets: Targets, k: int) -> IntArray:
        """Return for each target the `k` nearest rows, the nearest first."""
        size, rows = targets.size, len(self.order)
        k = min(k, rows - (targets.without is not None))
        place = np.empty(rows, np.int64)
        place[self.order] = np.arange(rows)
        out = np.empty((size, k), np.int64)
        step = max(1, 1_000_000 // max(rows, 1))  # targets × rows at a time: their distances stay in the cache
        for begin in range(0, size, step):
            part = slice(begin, min(begin + step, size))
            distances = self.distances(targets.known, part)
            if targets.without is not None:
                distances[np.arange(len(distances)), place[targets.without[part]]] = np.inf
            if k == 1:
                found = distances.argmin(axis=1)[:, None]
            else:
                found = np.argpartition(distances, k - 1, axis=1)[:, :k]
                near = np.take_along_axis(distances, found, axis=1)
                found = np.take_along_axis(found, np.argsort(near, axis=1, kind="stable"), axis=1)
            out[part] = self.order[found]
        return out


def _codes(values: FloatArray) -> NDArray[np.int32]:
    return np.where(np.isnan(values), -1, values).astype(np.int32)
