"""Random distance in the distance domain, RDD (Liu et al. 2012, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.guided.base import parameter
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.randomness import Stream


def distance_domains(table: FloatArray, labels: IntArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return D(i) = [least, largest] distance of cluster i's rows to its centre; [∞, −∞] for a cluster without rows."""
    distance = np.linalg.norm(table - centres[labels], axis=1)
    low, high = np.full(len(centres), np.inf), np.full(len(centres), -np.inf)
    np.minimum.at(low, labels, distance)
    np.maximum.at(high, labels, distance)
    return low, high


def fold_distance(distance: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Reflect the distance at the ends of [low, high] until it lies between them (Liu et al. 2012, eq. 2).

    The printed equation reflects once, which gives a negative distance beyond 2·high and one still outside where
    2·low − r > high. Reflecting again until it fits is a triangle wave of period 2(high − low).
    """
    width = high - low
    period = np.where(width > 0, 2 * width, 1.0)
    wave = width - np.abs(np.mod(distance - low, period) - width)
    return np.clip(np.where(width > 0, low + wave, low), low, high)


@dataclass(frozen=True)
class RDD(ClusterMethod):
    """Add gaussian noise to every number, then fold the distance to the centre back into the cluster's own range."""

    law: ClassVar[str] = "rdd"
    words: ClassVar[str] = "moved at random, with the distance to the cluster's centre kept in its range"
    sigma: float = parameter(0.1, "standard deviation of the noise, on the scaled table")

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < np.inf:
            raise UsageError(f"rdd: sigma = {self.sigma} is not a standard deviation; give a number from 0 on")

    def _release(self, table: FloatArray, labels: IntArray, centres: FloatArray, stream: Stream) -> FloatArray:
        low, high = distance_domains(table, labels, centres)
        out = stream.normal(*table.shape)
        out *= self.sigma
        out += table
        out -= centres[labels]
        distance = np.linalg.norm(out, axis=1)
        if len(at_centre := np.flatnonzero(distance == 0)):
            # No direction of its own: a random one, on which the folded distance is laid off.
            out[at_centre] = stream.normal(len(at_centre), table.shape[1])
            wanted = fold_distance(np.zeros(len(at_centre)), low[labels[at_centre]], high[labels[at_centre]])
            out[at_centre] *= (wanted / np.linalg.norm(out[at_centre], axis=1))[:, None]
        away = distance > 0
        factor = np.ones(len(table))
        factor[away] = fold_distance(distance[away], low[labels[away]], high[labels[away]]) / distance[away]
        out *= factor[:, None]
        out += centres[labels]
        return out
