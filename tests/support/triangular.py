"""A law that is not in the house: all of it is in this file, and importing it is all that registers it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.channels import Additive, Guarantee
from sfumato.channels.base import Settled, wish
from sfumato.counts import FloatArray, IntArray, WordArray
from sfumato.randomness import uniform


@dataclass(frozen=True)
class Triangular(Additive):
    """Add triangular noise, the sum of two uniform ones."""

    law: ClassVar[str] = "triangular"
    scale_field: ClassVar[str] = "c"
    c: float | None = wish("half-width of the noise, in the attribute's own unit")

    _c = Settled[float]("c")

    def noise_in_words(self) -> str:
        return f"triangular noise between −{self._c:.6g} and {self._c:.6g}"

    def cdf(self, t: FloatArray) -> FloatArray:
        """(1 − |t|/c)²/2 from either end."""
        tail = 0.5 * np.square(1 - np.minimum(np.abs(t) / self._c, 1.0))
        return np.where(t < 0, tail, 1 - tail)

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """max(t, 0) + c (1 − |t|/c)³/6."""
        return np.maximum(t, 0.0) + self._c * (1 - np.minimum(np.abs(t) / self._c, 1.0)) ** 3 / 6

    def density(self, t: FloatArray) -> FloatArray:
        return np.maximum(1 - np.abs(t) / self._c, 0.0) / self._c

    def quantile_width(self, confidence: float) -> float:
        """P(|y| ≤ w/2) = 1 − (1 − w/2c)², so w = 2c (1 − √(1 − confidence))."""
        return 2 * (1 - math.sqrt(1 - confidence))

    def noise(self, words: WordArray) -> IntArray:
        drawn = self._c * (uniform(words[:, 0]) + uniform(words[:, 1]) - 1)
        return np.floor(drawn / self._step + 0.5).astype(np.int64)

    @property
    def reach(self) -> float:
        return self._c + (self.step or 0.0)

    def guarantee(self) -> Guarantee:
        return Guarantee(math.inf, "some released values are possible for one true value and impossible for another")
