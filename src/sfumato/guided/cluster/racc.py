"""Rotation around the centre of clustering, RACC (Liu et al. 2012, section 3.2), in any number of dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.guided.base import parameter
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.randomness import Stream

ROTATIONS = ("pairs", "haar")
RATIO_LAWS = ("constant", "uniform", "ball")

Pairs = tuple[tuple[int, int], ...]


def disjoint_pairs(attributes: int, stream: Stream) -> Pairs:
    """Return random disjoint pairs of attributes; an odd one out is paired with one already rotated, lest it stay in clear."""
    order = stream.permutation(attributes).tolist()
    pairs = [(order[i], order[i + 1]) for i in range(0, attributes - 1, 2)]
    if attributes > 1 and attributes % 2:
        pairs.append((order[-1], order[0]))
    return tuple(pairs)


def turn_in_pairs(offsets: FloatArray, pairs: Pairs, stream: Stream) -> FloatArray:
    """Turn each pair of each row by its own angle in [0, 2π) (eqs. 4 and 5).

    r cos(θ + α) and r sin(θ + α) with α = atan2(y, x) are the rotation matrix applied to (x, y); no arctangent, so
    nothing is undefined at x = 0. One attribute alone has two directions only: a random sign.
    """
    rows, attributes = offsets.shape
    if attributes == 1:
        return offsets * np.where(stream.uniform(rows) < 0.5, -1.0, 1.0)[:, None]
    out = offsets.copy()
    for a, b in pairs:
        theta = stream.uniform(rows)
        theta *= 2 * np.pi
        cos, sin = np.cos(theta), np.sin(theta)
        x, y = out[:, a].copy(), out[:, b]
        out[:, a] = cos * x - sin * y
        out[:, b] = sin * x + cos * y
    return out


def turn_anyhow(offsets: FloatArray, stream: Stream) -> FloatArray:
    """Move each row to its own distance in a uniformly random direction: the image under a Haar-distributed rotation."""
    out = stream.normal(*offsets.shape)
    if offsets.shape[1] == 1:
        np.sign(out, out=out)
    out *= (np.sqrt(np.einsum("ij,ij->i", offsets, offsets)) / np.sqrt(np.einsum("ij,ij->i", out, out)))[:, None]
    return out


@dataclass(frozen=True)
class RACC(ClusterMethod):
    """Turn every row around its centre by a random angle, and draw it in by a random ratio d_j in (0, 1] (eq. 3)."""

    law: ClassVar[str] = "racc"
    words: ClassVar[str] = "rotated around the centre of its cluster"
    rotation: str = parameter("pairs", "pairs: an angle per pair of attributes; haar: any direction")
    ratio_law: str = parameter(
        "constant", "constant: d = ratio; uniform: on (least, ratio]; ball: ratio · U^(1/attributes)"
    )
    ratio: float = parameter(1.0, "the largest ratio of released to original distance from the centre, in (0, 1]")
    least: float = parameter(0.0, "the least ratio under the uniform law, in [0, ratio)")

    @classmethod
    def row_in_words(cls, stated: Mapping[str, Any], numbers: int) -> str:  # noqa: ARG003 - whatever the ratio
        """Say what a row may be taken for; turning a single number about a centre leaves it two places."""
        mirrored = "; a single number can only be mirrored at its centre, so about half of them are true, or nearly so"
        return f"{cls.reads}{mirrored if numbers == 1 else ''}."

    def __post_init__(self) -> None:
        if self.rotation not in ROTATIONS:
            raise UsageError(f"{self.law}: rotation = {self.rotation!r} is unknown; choose pairs or haar")
        if self.ratio_law not in RATIO_LAWS:
            raise UsageError(f"{self.law}: ratio_law = {self.ratio_law!r} is unknown; choose constant, uniform or ball")
        if not (0 < self.ratio <= 1 and 0 <= self.least < self.ratio):
            raise UsageError(
                f"{self.law}: ratios from {self.least} to {self.ratio}; they need 0 ≤ least < ratio ≤ 1, "
                "or records leave their cluster"
            )

    def _turn(self, offsets: FloatArray, pairs: Pairs, stream: Stream) -> FloatArray:
        """Return rows as offsets from their centres, turned and drawn in."""
        out = turn_anyhow(offsets, stream) if self.rotation == "haar" else turn_in_pairs(offsets, pairs, stream)
        if self.ratio_law == "constant":
            if self.ratio != 1.0:
                out *= self.ratio
            return out
        u = 1.0 - stream.uniform(len(out))  # on (0, 1]: no row falls onto its centre
        if self.ratio_law == "uniform":
            out *= (self.least + (self.ratio - self.least) * u)[:, None]
        else:
            out *= (self.ratio * u ** (1 / out.shape[1]))[:, None]
        return out

    def _pairs(self, attributes: int, stream: Stream) -> Pairs:
        return disjoint_pairs(attributes, stream) if self.rotation == "pairs" else ()

    def _release(self, table: FloatArray, labels: IntArray, centres: FloatArray, stream: Stream) -> FloatArray:
        pairs = self._pairs(table.shape[1], stream)
        out = self._turn(table - centres[labels], pairs, stream)
        out += centres[labels]
        return out
