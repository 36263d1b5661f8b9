"""Uniform noise (Agrawal & Srikant 2000, section 2): x + U[−α, α]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.channels.additive import Additive
from sfumato.channels.base import Guarantee, Settled, wish
from sfumato.counts import FloatArray, IntArray, WordArray, lattice_index, lattice_value
from sfumato.tables import choose, leading_bits, scaled_factor


@dataclass(frozen=True)
class Uniform(Additive):
    """Add uniform noise, rounded to a fixed grid.

    Parameters
    ----------
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain's range: at 95 %,
        0.95 × 2α = privacy × range. Give this or `alpha`.
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.
    step : float, optional
        Grid of the released values; the attribute's own unless given.
    alpha : float, optional
        Half-width of the noise, in the attribute's own unit.

    Notes
    -----
    No finite ε: a released value near the end of one person's reach is impossible for another.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> round(sf.Uniform(privacy=0.5).on(age).alpha, 2)
    26.32
    """

    law: ClassVar[str] = "uniform"
    scale_field: ClassVar[str] = "alpha"
    alpha: float | None = wish("half-width of the noise, in the attribute's own unit")

    _alpha = Settled[float]("alpha")
    _low = Settled[float]("low")
    _high = Settled[float]("high")

    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""
        return f"uniform noise between −{self._alpha:.6g} and {self._alpha:.6g}"

    @cached_property
    def _half(self) -> tuple[int, int]:
        """A and s: α is A/2ˢ steps."""
        return scaled_factor(Fraction(self._alpha) / Fraction(self._step), 30)

    @cached_property
    def drawn_alpha(self) -> float:
        """The α that is drawn, A step/2ˢ: that of the law to nine digits."""
        half, shift = self._half
        return math.ldexp(half, -shift) * self._step

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return (t + α)/2α within the support."""
        alpha = self.drawn_alpha
        return np.clip((t + alpha) / (2 * alpha), 0.0, 1.0)

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """Return (t + α)²/4α within the support, t beyond it."""
        alpha = self.drawn_alpha
        return (np.clip(t, -alpha, alpha) + alpha) ** 2 / (4 * alpha) + np.maximum(t - alpha, 0.0)

    def density(self, t: FloatArray) -> FloatArray:
        """Return 1/2α within the support."""
        return (np.abs(t) <= self._alpha) / (2 * self._alpha)

    def quantile_width(self, confidence: float) -> float:
        """Return 2 × confidence, in units of α."""
        return 2 * confidence

    def noise(self, words: WordArray) -> IntArray:
        """Draw ⌊(⌊u 2A⌋ − A)/2ˢ + ½⌋, so that the last values at either end have their part of a step."""
        half, shift = self._half
        out = choose(words[:, 0], 2 * half, (2 * half >> shift) + 1)
        out += (1 << shift - 1) - half
        out >>= shift
        return out

    def exact_table(self) -> dict[str, Any]:
        """Return A, s and the bits of a draw."""
        half, shift = self._half
        low, high = lattice_index(np.array([self._low, self._high]), self._step)
        most = (half - 1 + (1 << shift - 1)) >> shift
        worst = lattice_value(np.array([high, low, high + most]), self._step)
        return {
            "form": "rounded-uniform",
            "step": self._step,
            "half": hex(half),
            "shift": shift,
            "bits": leading_bits(2 * half, (2 * half >> shift) + 1),
            "worst": worst.tolist(),
        }

    @property
    def reach(self) -> float:
        """α, and half a step for the rounding."""
        return self._alpha + self._step

    def guarantee(self) -> Guarantee:
        """Return none: a released value near the end of one person's support is impossible for another."""
        return Guarantee(math.inf, "some released values are possible for one true value and impossible for another")
