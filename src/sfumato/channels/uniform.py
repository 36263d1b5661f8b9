"""Uniform noise (Agrawal & Srikant 2000, section 2): x + U[−α, α]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sfumato.channels.additive import Additive
from sfumato.channels.base import Guarantee, Settled, wish
from sfumato.counts import FloatArray
from sfumato.hashing import WordArray
from sfumato.randomness import uniform


@dataclass(frozen=True)
class Uniform(Additive):
    """Uniform noise of half-width `alpha`, or as much as `privacy` asks for: 0.95 × 2α = privacy × range."""

    law: ClassVar[str] = "uniform"
    alpha: float | None = wish("half-width of the noise, in the attribute's own unit")

    _alpha = Settled[float]("alpha")

    @property
    def scale(self) -> float | None:
        """α."""
        return self.alpha

    def with_scale(self, scale: float) -> Self:
        """The law with α settled."""
        return replace(self, privacy=None, alpha=scale)

    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""
        return f"uniform noise between −{self._alpha:.6g} and {self._alpha:.6g}"

    def cdf(self, t: FloatArray) -> FloatArray:
        """(t + α)/2α within the support."""
        return np.clip((t + self._alpha) / (2 * self._alpha), 0.0, 1.0)

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """(t + α)²/4α within the support, t beyond it."""
        inside = np.clip(t, -self._alpha, self._alpha)
        return (inside + self._alpha) ** 2 / (4 * self._alpha) + np.maximum(t - self._alpha, 0.0)

    def density(self, t: FloatArray) -> FloatArray:
        """1/2α within the support."""
        return (np.abs(t) <= self._alpha) / (2 * self._alpha)

    def quantile_width(self, confidence: float) -> float:
        """C × 2α."""
        return 2 * confidence

    def noise(self, words: WordArray) -> FloatArray:
        """α (2U − 1)."""
        draws = uniform(words)
        draws *= 2 * self._alpha
        draws -= self._alpha
        return draws

    @property
    def reach(self) -> float:
        """α, and half a step for the rounding."""
        return self._alpha + self._step

    def guarantee(self) -> Guarantee:
        """None: a released value near the end of one person's support is impossible for another."""
        return Guarantee(math.inf, "some released values are possible for one true value and impossible for another")
