"""What the released values leave open: a posterior under a prior that is rougher than the shapes `auto` prefers.

Noise hides a hump narrower than itself. Held-out values then favour the simplest shape, its fit is off by the whole hump,
and no comparison of fits can say so: the data do not know. A band that is to contain this bias must take for granted how
rough the truth may be. Here: the slope of the density, on a domain of length one, moves like a Brownian motion of variance
σ², and the masses have a Dirichlet prior worth a few rows, which keeps them positive. The spread of such a posterior holds
bias as well as chance, so that its intervals cover on average over the cells (Wahba 1983, Nychka 1988).

A density f costs ∫ f″²/(2σ²) nats, a normal hump of weight w and standard deviation s 3 w²/(16 √π s⁵ σ²): with σ = 128 one
of 40 % and s = 0.06 costs 1.3 nats and is allowed, with s = 0.03 it costs 42 and is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray
from sfumato.reconstruction.penalised import Expansion
from sfumato.reconstruction.problem import Problem
from sfumato.reconstruction.quadratic import Differences

ROUGHNESS = 128.0
"""σ: how far the slope of the density strays over a domain of length one."""

EVEN_ROWS = 5.0
"""The Dirichlet prior counts as so many rows spread evenly over the domain."""

MOST_STEPS = 60
DECREMENT = 1e-2
"""Newton's method stops when a step would gain less than half of this, in nats."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """A normal distribution of the masses, held to Σ P = 1."""

    mean: FloatArray
    covariance: FloatArray


def roughness_precision(widths: FloatArray, roughness: float = ROUGHNESS) -> FloatArray:
    """DᵀS⁻¹D of the changes of slope D P, whose variance S is σ² times the width over which they happen."""
    share = widths / widths.sum()
    d = Differences.of(widths, 2).matrix
    spans = np.ones(len(d))
    spans[: len(share) - 2] = share[1:-1]
    return np.asarray(d.T @ (d / (roughness**2 * spans)[:, None]))


def undersmoothed(problem: Problem, around: Expansion) -> Posterior:
    """Laplace's approximation of the posterior: the minimum of ½PᵀHP − gᵀP − Σ c log P on Σ P = 1, and its curvature.

    H is the curvature of the log-likelihood plus the precision of the slopes, c the rows of the Dirichlet prior. Newton's
    method from the even distribution; steps stay inside P > 0.
    """
    widths = problem.widths if problem.widths is not None else np.ones(problem.size)
    a, g = around.terms(problem)
    h = a + roughness_precision(widths)
    share = widths / widths.sum()
    rows = EVEN_ROWS * share

    def height(p: FloatArray) -> float:
        return float(0.5 * p @ h @ p - g @ p - rows @ np.log(p))

    p, now = share, height(share)
    covariance = _covariance(h, rows, p)
    for _ in range(MOST_STEPS):
        slope = h @ p - g - rows / p
        step = -covariance @ slope
        gain = float(-slope @ step)
        if gain < DECREMENT:
            break
        length = min(1.0, 0.95 / max(float(np.max(-step / p)), 1e-12))
        while (then := height(p + length * step)) > now - 1e-4 * length * gain and length > 1e-6:
            length /= 2
        p, now = p + length * step, then
        covariance = _covariance(h, rows, p)
    return Posterior(p / p.sum(), covariance)


def _covariance(h: FloatArray, rows: FloatArray, p: FloatArray) -> FloatArray:
    inverse = np.linalg.inv(h + np.diag(rows / p**2))
    column = inverse.sum(axis=1)
    return np.asarray(inverse - np.outer(column, column) / column.sum())
