"""What gaussian noise promises in the language of differential privacy, which has no finite ε for it."""

from __future__ import annotations

import math


def _phi(t: float) -> float:
    return 0.5 * math.erfc(-t / math.sqrt(2))


def gaussian_delta(epsilon: float, span: float, sigma: float) -> float:
    """Return δ(ε) of x + N(0, σ²) for any two values of a domain of width `span`, exactly (Balle & Wang 2018, theorem 8).

    δ = Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ).
    """
    ratio = span / sigma
    return _phi(ratio / 2 - epsilon / ratio) - math.exp(min(epsilon, 700.0)) * _phi(-ratio / 2 - epsilon / ratio)


def gaussian_epsilon(delta: float, span: float, sigma: float) -> float:
    """Return the least ε at which the noise is (ε, δ)-differentially private; δ(ε) falls as ε grows, so bisection finds it."""
    low, high = 0.0, 1.0
    while gaussian_delta(high, span, sigma) > delta:
        high *= 2
        if high > 600:
            return math.inf
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, span, sigma) > delta else (low, middle)
    return high
