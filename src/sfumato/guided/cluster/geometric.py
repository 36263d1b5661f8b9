"""Geometric perturbation, the rival (Chen, Sun & Liu 2007): one rotation and translation of the table, and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.guided.base import parameter
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.randomness import Stream


def haar_rotation(attributes: int, stream: Stream) -> FloatArray:
    """Return a rotation from the uniform (Haar) distribution on SO(d).

    Q of the QR of a Gaussian matrix is Haar on O(d) once its columns have the signs that make R's diagonal positive
    (without them Q depends on the algorithm); turning one column where det Q < 0 leaves Haar on SO(d).
    """
    q, r = np.linalg.qr(stream.normal(attributes, attributes))
    q *= np.where(np.diag(r) < 0, -1.0, 1.0)
    if np.linalg.det(q) < 0:
        q[:, 0] *= -1.0
    return q


@dataclass(frozen=True)
class Geometric(ClusterMethod):
    """Rotate, shift and blur all numbers together: y = x Rᵀ + t + N(0, σ²).

    Distances stay up to the noise, so k-means does too, unless the miner rescales.

    The rotation is one for all: 2d known rows undo it (see `known_sample_attack`), and then only the noise protects.
    """

    law: ClassVar[str] = "geometric"
    words: ClassVar[str] = (
        "rotated, shifted and blurred together with all other numbers: it no longer holds what its name says"
    )
    words_for_labels: ClassVar[str] = "labels permuted over the whole table"
    uses: ClassVar[str] = (
        "Distances between rows are kept up to the noise, and so are clusters, unless columns are rescaled. No column means "
        "anything by itself, and it cannot be corrected"
    )
    needs_clusters: ClassVar[bool] = False
    sigma: float = parameter(0.1, "standard deviation of the noise, on the scaled table")
    translation: float = parameter(1.0, "each attribute is moved by a common amount, uniform on [0, translation]")

    def __post_init__(self) -> None:
        if not (0 <= self.sigma < np.inf and 0 <= self.translation < np.inf):
            raise UsageError(
                f"geometric: sigma = {self.sigma} and translation = {self.translation}; give numbers from 0 on"
            )

    def _release(self, table: FloatArray, labels: IntArray, centres: FloatArray, stream: Stream) -> FloatArray:  # noqa: ARG002
        attributes = table.shape[1]
        rotation = haar_rotation(attributes, stream)
        move = stream.uniform(attributes) * self.translation
        out = table @ rotation.T
        out += move
        if self.sigma > 0:
            noise = stream.normal(*table.shape)
            noise *= self.sigma
            out += noise
        return out
