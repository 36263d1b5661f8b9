"""One function per published formula.

Amplification γ, ε = ln γ, and beliefs that must not grow from ρ₁ to ρ₂ (Evfimievski et al. 2003; Dowd et al. 2006, §4); how much
a release leaves open, in bits; and what gaussian noise promises in the language of differential privacy, which has no finite ε
for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sfumato.channels import Kernel, Projective, TwoLevels
from sfumato.counts import FloatArray


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


def record_gamma(gammas: Iterable[float]) -> float:
    """Return γ of a whole record: independent noise on several attributes multiplies, so ε adds up; ∞ beyond float64."""
    epsilon = math.fsum(math.log(g) for g in gammas)
    return math.exp(epsilon) if epsilon < 709 else math.inf


def repeated_gamma(gamma: float, size: int, times: int) -> float:
    """Return γ after `times` substitutions in a row: M^t is gamma-diagonal with aᵗ, so γ_t = 1 + N aᵗ/(1 − aᵗ) → 1 (Theorem 2)."""
    kept = ((gamma - 1) / (gamma + size - 1)) ** times
    return 1 + size * kept / (1 - kept)


def substitution_entropy(gamma: float, size: int) -> float:
    """Return H(M) = −γ/t log₂(γ/t) − (N−1)/t log₂(1/t), t = γ+N−1 (Dowd et al. 2006, section 4)."""
    total = gamma + size - 1
    return -gamma / total * math.log2(gamma / total) + (size - 1) / total * math.log2(total)


def matrix_entropy(matrix: FloatArray, prior: FloatArray | None = None) -> float:
    """Return H(M) = Σ_j P_j H(j) for any column-stochastic matrix, P uniform unless given (section 4)."""
    columns = np.asarray(matrix, dtype=np.float64)
    weights = np.full(columns.shape[1], 1 / columns.shape[1]) if prior is None else prior
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(columns > 0, -columns * np.log2(columns), 0.0)
    return float(terms.sum(axis=0) @ weights)


def mutual_information(prior: FloatArray, kernel: Kernel | FloatArray) -> float:
    """Return I(X;Z) in bits, for true cells with this prior and K[s, p] = P(released in s | true in p).

    Where K is an operator of two levels, I = H(Z) − H(Z|X), and H(Z|X) is the same for every label.
    """
    if isinstance(kernel, TwoLevels):
        seen = kernel @ prior
        return float(-np.sum(seen[seen > 0] * np.log2(seen[seen > 0]))) - kernel.column_entropy * float(prior.sum())
    joint = (kernel if isinstance(kernel, np.ndarray) else kernel.dense()) * prior[None, :]
    product = joint.sum(axis=1, keepdims=True) * prior[None, :]
    some = joint > 0
    return float(np.sum(joint[some] * np.log2(joint[some] / product[some])))


def entropy_privacy(spread: float, bits: float) -> float:
    """Return Π = 2^h(X|Z), where h(X|Z) = h(X) − I(X;Z) (Agrawal & Aggarwal 2001).

    It is the width of the uniform variable that is as uncertain as X is, given Z.
    """
    return 2.0 ** (spread - bits)


def privacy_loss(bits: float) -> float:
    """Return 1 − 2^(−I(X;Z)): the share of privacy that the release costs (Agrawal & Aggarwal 2001)."""
    return 1 - 2.0**-bits


def report_entropy(channel: Projective) -> float:
    """Return H(Y | X) in bits: s codes of γ/T each, K − s of 1/T."""
    gamma, total, s = channel.guarantee().gamma, channel.total, channel.space.set_size
    return -gamma * s / total * math.log2(gamma / total) + (channel.reports - s) / total * math.log2(total)


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


def condition_number(gamma: float, size: int) -> float:
    """Return (γ+N−1)/(γ−1): eigenvalues of the gamma-diagonal matrix are 1 and a = (γ−1)/(γ+N−1)."""
    return (gamma + size - 1) / (gamma - 1)


def keep_probability(gamma: float, size: int) -> float:
    """Return γ/(γ+N−1): the probability that the released value is the true one, by keeping it or by chance."""
    return gamma / (gamma + size - 1)
