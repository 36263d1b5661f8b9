"""Families of responses: the mean as a sum of exponentials of the linear predictor.

Poisson      μ = e^t, so the corrected score is exact (Nakamura 1990).
binomial     μ = 1/(1 + e^{−t}) is a sum of waves: on |t| < 2P − 6, μ = ½ + (1/P) Σ_{k odd} π/sinh(πω_k) sin(ω_k t), ω_k = kπ/2P,
             since the Fourier transform of μ′ is πω/sinh(πω). Coefficients fall like e^{−πω}, so few waves do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray
from sfumato.questions.regression.exponentials import ComplexArray


@dataclass(frozen=True, eq=False)
class Mean:
    """Re Σ_k c_k e^{κ_k t} for the mean, its derivative, and its square."""

    kappa: ComplexArray
    mean: ComplexArray
    slope: ComplexArray
    square: ComplexArray

    def keep(self, size: int) -> Mean:
        """Return the sum of the first terms only."""
        return Mean(self.kappa[:size], self.mean[:size], self.slope[:size], self.square[:size])

    @property
    def dropped(self) -> FloatArray:
        """The largest error of the mean if only the first k + 1 terms are kept."""
        sizes = np.abs(self.mean)
        return np.asarray(np.append(np.cumsum(sizes[::-1])[::-1][1:], 0.0))


def exponential_mean() -> Mean:
    """Return μ = e^t and μ² = e^{2t}."""
    kappa = np.array([1.0, 2.0], np.complex128)
    return Mean(kappa, np.array([1, 0j]), np.array([1, 0j]), np.array([0j, 1]))


def logistic_mean(reach: float) -> Mean:
    """Return the waves of 1/(1 + e^{−t}) for |t| up to `reach`; σ′ = σ − σ², so σ² has the same waves.

    Examples
    --------
    >>> mean = logistic_mean(5.0)
    >>> t = 1.5
    >>> round(float((mean.mean * np.exp(mean.kappa * t)).real.sum()), 6), round(1 / (1 + math.exp(-t)), 6)
    (0.817574, 0.817574)
    """
    largest = 5.5  # e^{−5.5π} is 3 · 10⁻⁸
    half = (reach + 16) / 2
    omega = np.arange(1, math.ceil(2 * half * largest / math.pi), 2) * math.pi / (2 * half)
    falls = np.pi / np.sinh(np.pi * omega) / half
    kappa = np.append(0.0, 1j * omega)
    mean = np.append(0.5, -1j * falls)  # Re(−i e^{iωt}) = sin ωt
    slope = np.append(0.0, omega * falls).astype(np.complex128)
    return Mean(kappa, mean, slope, mean - slope)
