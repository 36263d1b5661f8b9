"""Gaussian noise (Agrawal & Srikant 2000, section 2): x + N(0, σ²)."""

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
from sfumato.tables import CELLS_PER_SIGMA, choose, half_normal, leading_bits, scaled_factor


@dataclass(frozen=True)
class Gaussian(Additive):
    """Add normal noise, rounded to a fixed grid.

    Parameters
    ----------
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain's range: at 95 %,
        3.92 σ = privacy × range. Give this or `sigma`.
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.
    step : float, optional
        Grid of the released values; the attribute's own unless given.
    sigma : float, optional
        Standard deviation of the noise, in the attribute's own unit.

    Notes
    -----
    No finite ε: the ratio of two normal densities grows without bound in the tails.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> law = sf.Gaussian(privacy=0.5).on(age)
    >>> round(law.sigma, 2)
    12.76
    >>> law.in_words()
    'true value plus normal noise of standard deviation 12.7553, rounded to multiples of 1'
    """

    law: ClassVar[str] = "gaussian"
    scale_field: ClassVar[str] = "sigma"
    sigma: float | None = wish("standard deviation of the noise, in the attribute's own unit")

    _sigma = Settled[float]("sigma")
    _low = Settled[float]("low")
    _high = Settled[float]("high")

    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""
        return f"normal noise of standard deviation {self._sigma:.6g}"

    @cached_property
    def _cell(self) -> tuple[int, int]:
        """R and s: a cell of 1/512 σ is R/2ˢ steps wide."""
        return scaled_factor(Fraction(self._sigma) / Fraction(self._step) / CELLS_PER_SIGMA, 31)

    @cached_property
    def drawn_sigma(self) -> float:
        """The σ that is drawn, 512 R step/2ˢ: that of the law to ten digits, and itself where there is no grid."""
        if not self._step:
            return self._sigma
        width, shift = self._cell
        return math.ldexp(CELLS_PER_SIGMA * width, -shift) * self._step

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return Φ(t/σ), straight between multiples of σ/512."""
        return half_normal().cdf(t / self.drawn_sigma)

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """Return ∫ F from −∞ to t."""
        return self.drawn_sigma * half_normal().cdf_integral(t / self.drawn_sigma)

    def density(self, t: FloatArray) -> FloatArray:
        """Return φ(t/σ)/σ."""
        return np.exp(-0.5 * (t / self._sigma) ** 2) / (self._sigma * math.sqrt(2 * math.pi))

    def quantile_width(self, confidence: float) -> float:
        """Return 2 z: 1.35, 3.92, 6.58 σ at 50, 95, 99.9 % (the paper rounds the last to 6.8)."""
        from scipy.special import ndtri

        return float(2 * ndtri((1 + confidence) / 2))

    def noise(self, words: WordArray) -> IntArray:
        """Draw ±⌊(i R + ⌊u R⌋)/2ˢ + ½⌋: cell i of |z| by one word, the place u in it by the other."""
        width, shift = self._cell
        first = np.ascontiguousarray(words[:, 0])
        out = half_normal().table.locate(first)
        out *= width
        out += choose(words[:, 1], width, (width >> shift) + 1)
        out += 1 << shift - 1
        out >>= shift
        first &= np.uint64(1)
        sign = first.view(np.int64)
        np.negative(sign, out=sign)
        out ^= sign
        out -= sign
        return out

    def exact_table(self) -> dict[str, Any] | None:
        """Return R, s and the bits of the place in a cell; the cells are those of the normal table."""
        width, shift = self._cell
        low, high = lattice_index(np.array([self._low, self._high]), self._step)
        most = (len(half_normal().table.starts) * width - 1 + (1 << shift - 1)) >> shift
        worst = lattice_value(np.array([high, low, high + most]), self._step)
        return {
            "form": "rounded-normal",
            "step": self._step,
            "width": hex(width),
            "shift": shift,
            "bits": leading_bits(width, (width >> shift) + 1),
            "worst": worst.tolist(),
        }

    @property
    def reach(self) -> float:
        """5 σ: beyond lies less than one value in a million."""
        return 5 * self._sigma

    def guarantee(self) -> Guarantee:
        """Return none: φ(y − x)/φ(y − x′) grows without bound as y does."""
        return Guarantee(math.inf, "the ratio of two normal densities grows without bound in the tails")
