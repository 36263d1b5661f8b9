"""How sure a reconstruction is: a standard error and a 95 % band for each cell.

The truth meant is the distribution that the rows were drawn from. Two ways, by what the channel allows:

- substitution and other kernels that can be inverted: the unbiased estimate is linear in the counts, and the counts are
  multinomial through the channel. These bands hold what they promise cell by cell, whichever of inverse, projection,
  exact, em or auto gave the masses;
- noise on ordered cells: normal posterior intervals under the smoothness priors that the penalties of `auto` stand for,
  with the distance between its candidates added (Buckland, Burnham & Augustin 1997), widened to the interval of a rougher
  posterior (see `undersmoothed`), since a hump that the noise hides is missing in every candidate. They promise an average:
  of the cells of a shape whose humps have standard deviations of 6 % of the domain or more, about 95 % or more
  hold the truth. They promise nothing of a single cell: at a spike, an edge or a narrower hump a cell may be
  missed always. docs/guide/miner.md has the measured shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.channels import Kernel
from sfumato.counts import FloatArray
from sfumato.reconstruction.closed_form import gamma_of
from sfumato.reconstruction.em import Fit
from sfumato.reconstruction.penalised import MOST_CELLS, Averaged, Expansion, Family, in_blocks
from sfumato.reconstruction.problem import Design, Problem
from sfumato.reconstruction.quadratic import Differences

Z = 1.959963984540054
INVERTIBLE = 100.0
"""A kernel with a condition number up to this is inverted with confidence."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Standard error and the ends of the 95 % band, one each a cell."""

    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray


def wilson(share: FloatArray, n: float, z: float = Z) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval for a binomial share: the p with |share − p| ≤ z √(p(1−p)/n)."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return centre - half, centre + half


def multinomial_bands(mass: FloatArray, n: float) -> Bands:
    """Values released as true: each count is binomial."""
    lower, upper = wilson(mass, n)
    return Bands(np.sqrt(mass * (1 - mass) / n), np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0))


def gamma_bands(share: FloatArray, n: float, gamma: float) -> Bands:
    """Substitution: y_i is binomial with q_i = a p_i + b, so the interval of q_i is one of p_i = (q_i − b)/a."""
    size = len(share)
    a, b = (gamma - 1) / (gamma + size - 1), 1 / (gamma + size - 1)
    lower, upper = wilson(share, n)
    error = np.sqrt(share * (1 - share) / n) / a
    return Bands(error, np.clip((lower - b) / a, 0.0, 1.0), np.clip((upper - b) / a, 0.0, 1.0))


def report_bands(share: FloatArray, n: float, design: Design) -> Bands:
    """Reports: the hits of each value are binomial with r = q + (p−q) P, so the interval of r is one of P."""
    hits, slope = np.clip(design.hits(share), 0.0, 1.0), design.inside - design.outside
    lower, upper = wilson(hits, n)
    error = np.sqrt(hits * (1 - hits) / n) / slope
    ends = (np.clip((end - design.outside) / slope, 0.0, 1.0) for end in (lower, upper))
    return Bands(error, *ends)


def linear_bands(problem: Problem, mass: FloatArray) -> Bands:
    """X̂ = K⁺y: Var X̂_p = (Σ_s L[p,s]² q_s − (L q)_p²)/n with L = K⁺ and q = K P."""
    inverse = np.linalg.pinv(problem.kernel.dense())
    estimate = inverse @ problem.share
    q = problem.expected(mass)
    q = q / q.sum()
    error = np.sqrt(np.maximum(inverse**2 @ q - (inverse @ q) ** 2, 0.0) / problem.n)
    return Bands(error, np.clip(estimate - Z * error, 0.0, 1.0), np.clip(estimate + Z * error, 0.0, 1.0))


def averaged_bands(problem: Problem, fit: Averaged, collect: FloatArray | None = None) -> Bands:
    """se_p = Σ_j w_j √(Var_j(p) + (P_j(p) − P(p))²), the unconditional standard error of an average of models.

    It knows only of the candidates; `widened` adds what none of them shows.
    """
    gather = np.eye(problem.size) if collect is None else collect
    mass = gather @ fit.mass
    if fit.candidates is None or fit.weights is None:
        return multinomial_bands(mass, problem.n)
    error = np.zeros(len(mass))
    around = Expansion.of(problem)
    spreads = candidate_covariances(problem, fit.candidates, around)
    for weight, candidate, covariance in zip(fit.weights, fit.candidates, spreads, strict=True):
        error += weight * np.sqrt(_variances(covariance, gather) + (gather @ candidate - mass) ** 2)
    return widened(_around(mass, error), mass, undersmoothed(problem, around), gather)


def widened(found: Bands, mass: FloatArray, posterior: Posterior, gather: FloatArray) -> Bands:
    """Bands that also reach over the interval of a rougher posterior; se_p is then √(Var(p) + (M(p) − P(p))²) if larger."""
    mean, variance = gather @ posterior.mean, _variances(posterior.covariance, gather)
    half = Z * np.sqrt(variance)
    return Bands(
        np.maximum(found.standard_error, np.sqrt(variance + (mean - mass) ** 2)),
        np.minimum(found.lower, np.clip(mean - half, 0.0, 1.0)),
        np.maximum(found.upper, np.clip(mean + half, 0.0, 1.0)),
    )


def smoothness_bands(problem: Problem, mass: FloatArray) -> Bands:
    """The same priors around masses found in another way; blocks of cells where the grid is too fine to invert."""
    if problem.size == 1:
        return multinomial_bands(mass, problem.n)
    if problem.size > MOST_CELLS:
        blocks, spread = in_blocks(problem)
        factor = -(-problem.size // MOST_CELLS)
        coarse = np.add.reduceat(mass, np.arange(0, problem.size, factor))
        return _around(mass, spread @ smoothness_bands(blocks, coarse).standard_error)
    family = Family.on(problem.widths if problem.widths is not None else np.ones(problem.size))
    around = Expansion.of(problem)
    spreads = candidate_covariances(problem, np.tile(mass, (len(family.names), 1)), around)
    gather = np.eye(problem.size)
    found = _around(mass, np.mean([np.sqrt(_variances(c, gather)) for c in spreads], axis=0))
    return widened(found, mass, undersmoothed(problem, around), gather)


def candidate_covariances(problem: Problem, candidates: FloatArray, around: Expansion) -> list[FloatArray]:
    """The covariance (A + ½λ² DᵀD + C)⁻¹ of each candidate, held to Σ P = 1.

    A penalty λ|t| is the prior of a Laplace variable of variance 2/λ²; put a normal one of the same variance in its place
    and the posterior is normal. Its spread holds bias as well as chance, which is why such intervals of smoothed estimates
    cover on average over the cells (Wahba 1983, Nychka 1988). C = ½/max(P, 1/m)² is the curvature of −½ log P: positive
    masses have a scale. The smoothed candidate, which has no penalty, borrows the spread of the last one that has.
    """
    family = Family.on(problem.widths if problem.widths is not None else np.ones(problem.size))
    a = problem.n * around.curvature
    ones = np.ones(problem.size)
    out: list[FloatArray] = []
    for strength, rows, mass in zip(family.strengths, family.bands, candidates, strict=False):
        d = Differences(rows).matrix
        inverse = np.linalg.inv(a + strength**2 / 2 * d.T @ d + np.diag(0.5 / np.maximum(mass, 1 / problem.size) ** 2))
        column = inverse @ ones
        out.append(inverse - np.outer(column, column) / column.sum())
    while len(out) < len(candidates):
        out.append(out[-1])
    return out


def bands(problem: Problem, fit: Fit, *, collect: FloatArray | None = None) -> Bands:
    """The bands that suit the kernel and the method; `collect` adds up the cells solved for into those reported."""
    gamma = gamma_of(problem.kernel) if collect is None and problem.design is None else None
    if problem.design is not None:
        found = report_bands(problem.share, problem.n, problem.design)
    elif gamma is not None:
        found = gamma_bands(problem.share, problem.n, gamma)
    elif isinstance(fit, Averaged):
        found = averaged_bands(problem, fit, collect)
    elif problem.widths is None or fit.method in ("inverse", "projection") or _condition(problem.kernel) <= INVERTIBLE:
        found = linear_bands(problem, fit.mass)
    else:
        found = smoothness_bands(problem, fit.mass)
    mass = fit.mass if collect is None else collect @ fit.mass
    return Bands(found.standard_error, np.minimum(found.lower, mass), np.maximum(found.upper, mass))


def _variances(covariance: FloatArray, gather: FloatArray) -> FloatArray:
    return np.maximum(np.sum((gather @ covariance) * gather, axis=1), 0.0)


def _condition(kernel: Kernel) -> float:
    if kernel.shape[0] < kernel.shape[1]:
        return math.inf
    return float(np.linalg.cond(kernel.dense()))


def _around(mass: FloatArray, error: FloatArray) -> Bands:
    return Bands(error, np.clip(mass - Z * error, 0.0, 1.0), np.clip(mass + Z * error, 0.0, 1.0))


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
