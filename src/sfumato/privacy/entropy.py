"""How much a release leaves open, in bits."""

from __future__ import annotations

import math

import numpy as np

from sfumato.channels import Kernel, TwoLevels
from sfumato.counts import FloatArray


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


def entropy_privacy(prior: FloatArray, kernel: Kernel | FloatArray, widths: FloatArray) -> float:
    """Return Π = 2^h(X|Z): the width of the uniform variable that is as uncertain as X is, given Z (Agrawal & Aggarwal 2001).

    h(X) = −Σ p log₂(p/width) for a density that is constant on each cell, and h(X|Z) = h(X) − I(X;Z).
    """
    seen = prior > 0
    own = -float(np.sum(prior[seen] * np.log2(prior[seen] / widths[seen])))
    return 2.0 ** (own - mutual_information(prior, kernel))


def privacy_loss(prior: FloatArray, kernel: Kernel | FloatArray) -> float:
    """Return 1 − 2^(−I(X;Z)): the share of privacy that the release costs (Agrawal & Aggarwal 2001)."""
    return 1 - 2.0 ** -mutual_information(prior, kernel)
