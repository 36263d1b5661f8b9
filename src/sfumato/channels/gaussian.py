"""Gaussian noise (Agrawal & Srikant 2000, section 2): x + N(0, σ²)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sfumato.channels.additive import Additive
from sfumato.channels.base import Guarantee, Settled, wish
from sfumato.counts import FloatArray
from sfumato.hashing import WordArray
from sfumato.randomness import normal


@dataclass(frozen=True)
class Gaussian(Additive):
    """Normal noise of standard deviation `sigma`, or as much of it as `privacy` asks for: 3.92 σ = privacy × range."""

    law: ClassVar[str] = "gaussian"
    sigma: float | None = wish("standard deviation of the noise, in the attribute's own unit")

    _sigma = Settled[float]("sigma")

    @property
    def scale(self) -> float | None:
        """σ."""
        return self.sigma

    def with_scale(self, scale: float) -> Self:
        """The law with σ settled."""
        return replace(self, privacy=None, sigma=scale)

    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""
        return f"normal noise of standard deviation {self._sigma:.6g}"

    def cdf(self, t: FloatArray) -> FloatArray:
        """Φ(t/σ)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(t / self._sigma))

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """T Φ(t/σ) + σ φ(t/σ), whose derivative is Φ(t/σ)."""
        return t * self.cdf(t) + self._sigma**2 * self.density(t)

    def density(self, t: FloatArray) -> FloatArray:
        """φ(t/σ)/σ."""
        return np.exp(-0.5 * (t / self._sigma) ** 2) / (self._sigma * math.sqrt(2 * math.pi))

    def quantile_width(self, confidence: float) -> float:
        """2 z: 1.35, 3.92, 6.58 σ at 50, 95, 99.9 % (the paper rounds the last to 6.8)."""
        from scipy.special import ndtri

        return float(2 * ndtri((1 + confidence) / 2))

    def noise(self, words: WordArray) -> FloatArray:
        """σ Φ⁻¹(U)."""
        draws = normal(words)
        draws *= self._sigma
        return draws

    @property
    def reach(self) -> float:
        """5 σ: beyond lies less than one value in a million."""
        return 5 * self._sigma

    def guarantee(self) -> Guarantee:
        """None: φ(y − x)/φ(y − x′) grows without bound as y does."""
        return Guarantee(math.inf, "the ratio of two normal densities grows without bound in the tails")
