"""Counts before substitution from counts after it (Dowd, Xu & Zhang 2006), in closed form for the gamma-diagonal matrix.

Functions act along the last axis, so that several tables are reconstructed at once. X are the counts of true values, y those of
released ones, n = Σ y, N the number of values, γ the amplification of M = ((γ−1) I + J)/(γ+N−1).
"""

from __future__ import annotations

import numpy as np

from sfumato.channels import Kernel, TwoLevels
from sfumato.counts import FloatArray
from sfumato.reconstruction.em import Fit
from sfumato.reconstruction.problem import Design, Problem


def inverse_counts(y: FloatArray, gamma: float) -> FloatArray:
    """Return X̂ = M⁻¹ y (equation 1): X̂_i = ((γ+N−1) y_i − n)/(γ−1).

    Since J/N is a projection, M⁻¹ = ((γ+N−1) I − J)/(γ−1). Unbiased; entries may be negative; they sum to n.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_counts(np.array([70.0, 20.0, 10.0]), gamma=3.0)
    array([125.,   0., -25.])
    """
    size = y.shape[-1]
    return ((gamma + size - 1) * y - y.sum(axis=-1, keepdims=True)) / (gamma - 1)


def clip_negative(x: FloatArray) -> FloatArray:
    """Set negative elements to zero, which strictly reduces the error E (Proposition 1).

    A true count is at least 0, so 0 is nearer to it than any negative number; the other elements stay. The sum grows.

    Examples
    --------
    >>> import numpy as np
    >>> clip_negative(np.array([125.0, 0.0, -25.0]))
    array([125.,   0.,   0.])
    """
    return np.maximum(x, 0.0)


def renormalise(x: FloatArray) -> FloatArray:
    """Clip, then scale back to the sum it had: otherwise the last values of Algorithm 2 get no rows.

    Examples
    --------
    >>> import numpy as np
    >>> renormalise(np.array([125.0, 0.0, -25.0]))
    array([100.,   0.,   0.])
    """
    kept = clip_negative(x)
    return kept * (x.sum(axis=-1, keepdims=True) / kept.sum(axis=-1, keepdims=True))


def project_to_simplex(x: FloatArray) -> FloatArray:
    """Return the nearest point, in Euclid's distance, of {z ≥ 0, Σ z = Σ x}: z_i = max(x_i − τ, 0).

    With x sorted downwards, τ = (Σ_{i≤k} x_i − Σ x)/k for the largest k that leaves x_k > τ.

    Examples
    --------
    >>> import numpy as np
    >>> project_to_simplex(np.array([90.0, 30.0, -20.0]))
    array([80., 20.,  0.])
    """
    total = x.sum(axis=-1, keepdims=True)
    down = -np.sort(-x, axis=-1)
    tau = (np.cumsum(down, axis=-1) - total) / np.arange(1, x.shape[-1] + 1)
    last = np.sum(down > tau, axis=-1, keepdims=True) - 1
    return np.maximum(x - np.take_along_axis(tau, last, axis=-1), 0.0)


def exact_counts(y: FloatArray, gamma: float) -> FloatArray:
    """Return the exact maximum of the likelihood over X ≥ 0, Σ X = n, without iteration.

    A released value is i with probability q_i = a p_i + b, a = (γ−1)/(γ+N−1), b = 1/(γ+N−1). Maximise Σ y_i log q_i over
    q_i ≥ b, Σ q = 1. With multipliers λ of the sum and μ_i ≥ 0 of the bounds, y_i/q_i = λ − μ_i and μ_i (q_i − b) = 0, so

        q_i = max(y_i/λ, b):

    water-filling. If the k largest y are above the floor, Σ q = 1 gives λ_k = Σ_{i≤k} y_i / (1 − (N−k) b), and k is the
    largest number with y_k > b λ_k. Then p_i = (q_i − b)/a. The objective is strictly concave in q where y > 0, and M has
    an inverse, so this is the maximum that EM climbs to.

    Examples
    --------
    >>> import numpy as np
    >>> exact_counts(np.array([70.0, 20.0, 10.0]), gamma=3.0).round(6)
    array([100.,   0.,   0.])
    """
    size = y.shape[-1]
    a, b = (gamma - 1) / (gamma + size - 1), 1 / (gamma + size - 1)
    total = y.sum(axis=-1, keepdims=True)
    down = -np.sort(-y, axis=-1)
    free = np.arange(1, size + 1)
    level = np.cumsum(down, axis=-1) / (1 - (size - free) * b)
    last = np.maximum(np.sum(down > b * level, axis=-1, keepdims=True) - 1, 0)
    q = np.maximum(y / np.take_along_axis(level, last, axis=-1), b)
    return total * (q - b) / a


def nearest_distribution(x: FloatArray) -> FloatArray:
    """Return the nearest distribution: move every element by the same amount to a sum of one, then project."""
    return project_to_simplex(x + (1 - x.sum(axis=-1, keepdims=True)) / x.shape[-1])


def unbiased_shares(design: Design, share: FloatArray) -> FloatArray:
    """Return P̂(x) = (hits − q)/(p−q) from the shares of the reports.

    Whether a report lies in the set of value x is a coin with q + (p−q) P(x), so the number of hits of each value is binomial
    and P̂ is unbiased. Entries may be negative, and need not sum to one.
    """
    return (design.hits(share) - design.outside) / (design.inside - design.outside)


def gamma_of(kernel: Kernel) -> float | None:
    """Return γ if the kernel is gamma-diagonal: one value on the diagonal, a smaller one everywhere else."""
    if isinstance(kernel, TwoLevels):
        return kernel.gamma
    size = kernel.shape[0]
    if kernel.shape != (size, size) or size < 2:
        return None
    array = kernel.dense()
    diagonal, off = array[0, 0], array[0, 1]
    if not 0 < off < diagonal:
        return None
    form = np.full_like(array, off)
    np.fill_diagonal(form, diagonal)
    return float(diagonal / off) if np.allclose(array, form, rtol=1e-9, atol=1e-14) else None


def invert_shares(problem: Problem) -> FloatArray:
    """Return M⁻¹ y as shares: in closed form for the gamma-diagonal kernel and for reports, by least squares for any other."""
    if problem.design is not None:
        return unbiased_shares(problem.design, problem.share)
    gamma = gamma_of(problem.kernel)
    if gamma is not None:
        return inverse_counts(problem.share, gamma)
    return np.asarray(np.linalg.lstsq(problem.kernel.dense(), problem.share, rcond=None)[0], dtype=np.float64)


def fit_inverse(problem: Problem) -> Fit:
    """Fit the paper's estimate with its error reduction: renormalise; for any other kernel, project."""
    x = invert_shares(problem)
    closed = problem.design is not None or gamma_of(problem.kernel) is not None
    return _fit(problem, renormalise(x) if closed else project_to_simplex(x / x.sum()), "inverse")


def fit_projection(problem: Problem) -> Fit:
    """Fit the paper's estimate, moved to the nearest distribution."""
    x = invert_shares(problem)
    return _fit(
        problem,
        nearest_distribution(x) if problem.design is not None else project_to_simplex(x / x.sum()),
        "projection",
    )


def fit_exact(problem: Problem) -> Fit | None:
    """Fit the maximum of the likelihood in closed form; None where the kernel is not gamma-diagonal."""
    gamma = gamma_of(problem.kernel) if problem.design is None else None
    return None if gamma is None else _fit(problem, exact_counts(problem.share, gamma), "exact")


def _fit(problem: Problem, mass: FloatArray, method: str) -> Fit:
    return Fit(mass / mass.sum(), method, (problem.log_likelihood(mass / mass.sum()),))
