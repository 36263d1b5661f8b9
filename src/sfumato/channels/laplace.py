"""Laplace noise: x + Laplace(b), the additive law with a finite ε on a bounded domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.channels.additive import Additive
from sfumato.channels.base import Guarantee, Settled, wish
from sfumato.counts import FloatArray, Grid, WordArray, snap
from sfumato.randomness import exponential, sign


@dataclass(frozen=True)
class Laplace(Additive):
    """Add Laplace noise, rounded to a fixed grid; ε is finite.

    Parameters
    ----------
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain's range: at 95 %,
        2 ln 20 · b = privacy × range. Give this or `b`.
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.
    step : float, optional
        Grid of the released values; the attribute's own unless given.
    b : float, optional
        Scale of the noise, in the attribute's own unit.

    Notes
    -----
    ε = range/b, since the domain is bounded.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> law = sf.Laplace(b=50).on(age)
    >>> round(law.guarantee().epsilon, 6)
    2.0
    """

    law: ClassVar[str] = "laplace"
    scale_field: ClassVar[str] = "b"
    b: float | None = wish("scale of the noise, in the attribute's own unit")

    _b = Settled[float]("b")
    _low = Settled[float]("low")
    _high = Settled[float]("high")

    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""
        return f"Laplace noise of scale {self._b:.6g}"

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ½ e^{t/b} below zero, 1 − ½ e^{−t/b} above."""
        half = 0.5 * np.exp(-np.abs(t) / self._b)
        return np.where(t < 0, half, 1 - half)

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """Return max(t, 0) + (b/2) e^{−|t|/b}."""
        return np.maximum(t, 0.0) + 0.5 * self._b * np.exp(-np.abs(t) / self._b)

    def density(self, t: FloatArray) -> FloatArray:
        """Return e^{−|t|/b} / 2b."""
        return np.exp(-np.abs(t) / self._b) / (2 * self._b)

    def quantile_width(self, confidence: float) -> float:
        """Return w, in units of b: P(|y| ≤ w/2) = 1 − e^{−w/2b} = c, so w = −2 b ln(1 − c)."""
        return -2 * math.log1p(-confidence)

    def noise(self, words: WordArray) -> FloatArray:
        """Draw ±b · Exp(1)."""
        return self._b * sign(words) * exponential(words)

    def fine_noise(self, words: WordArray) -> FloatArray:
        """Draw ±b · Exp(1) from two words each, so that even draws of 50 b and more lie closer together than the grid."""
        return self._b * sign(words[:, 0]) * exponential(words[:, 0], words[:, 1])

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Return x + y on the grid, cut off 16 b beyond the domain.

        Draws from finite words have a last value, and a last value would tell x from x′ for certain. Cut off where
        words still are fine (a tail of e⁻¹⁶⁻ᵋ/2 against a grain of 2⁻¹¹⁶), every output is possible for every input.
        """
        bottom, top = self._ends
        return snap(np.clip(values + self.fine_noise(words), bottom, top), self._step)

    def mean_cdf(self, true: Grid, cuts: FloatArray) -> FloatArray:
        """Return it as for any noise, but nothing is released beyond the ends."""
        bottom, top = self._ends
        inside = super().mean_cdf(true, np.clip(cuts, bottom, top))
        return np.where((cuts > top)[:, None], 1.0, np.where((cuts <= bottom)[:, None], 0.0, inside))

    @property
    def _ends(self) -> tuple[float, float]:
        return self._low - 16 * self._b, self._high + 16 * self._b

    @property
    def reach(self) -> float:
        """12 b: beyond lies one value in 160,000."""
        return 12 * self._b

    def guarantee(self) -> Guarantee:
        """Return e^ε with ε = R/b, since |log f(y−x) − log f(y−x′)| ≤ |x − x′|/b ≤ R/b; rounding afterwards cannot raise it.

        Beyond ε = 40 the tails of 128-bit draws grow coarser than the grid, and such a bound protects no one.
        """
        exponent = (self._high - self._low) / self._b
        if exponent > 40:
            return Guarantee(math.inf, f"ε = range/b = {exponent:.0f} is beyond any meaning")
        return Guarantee(math.exp(exponent))
