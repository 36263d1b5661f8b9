"""Amplification γ, ε = ln γ, and beliefs that must not grow from ρ₁ to ρ₂ (Evfimievski et al. 2003; Dowd et al. 2006, §4)."""

from __future__ import annotations

import math
from collections.abc import Iterable


def rho2_of_gamma(gamma: float, rho1: float) -> float:
    """Return the strongest belief that a prior of ρ₁ can become: ρ₂ = γρ₁/(1 − ρ₁ + γρ₁), the inverse of `gamma_of_rho`."""
    if math.isinf(gamma):
        return 1.0
    return gamma * rho1 / (1 - rho1 + gamma * rho1)


def rho1_of_gamma(gamma: float, rho2: float) -> float:
    """Return the weakest belief that can become ρ₂: ρ₁ = ρ₂/(ρ₂ + γ(1 − ρ₂))."""
    if math.isinf(gamma):
        return 0.0
    return rho2 / (rho2 + gamma * (1 - rho2))


def epsilon_of_gamma(gamma: float) -> float:
    """Return ε = ln γ."""
    return math.log(gamma)


def record_gamma(gammas: Iterable[float]) -> float:
    """Return γ of a whole record: independent noise on several attributes multiplies, so ε adds up; ∞ beyond float64."""
    epsilon = math.fsum(math.log(g) for g in gammas)
    return math.exp(epsilon) if epsilon < 709 else math.inf


def repeated_gamma(gamma: float, size: int, times: int) -> float:
    """Return γ after `times` substitutions in a row: M^t is gamma-diagonal with aᵗ, so γ_t = 1 + N aᵗ/(1 − aᵗ) → 1 (Theorem 2)."""
    kept = ((gamma - 1) / (gamma + size - 1)) ** times
    return 1 + size * kept / (1 - kept)
