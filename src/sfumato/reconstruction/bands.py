"""How sure a reconstruction is: a standard error and a 95 % band for each cell.

The truth is the distribution that the rows were drawn from. The channel decides between two ways:

- substitution and other kernels that can be inverted: the unbiased estimate is linear in the counts, and the counts are
  multinomial through the channel. These bands keep their promise cell by cell, whichever of inverse, projection, exact, em
  or auto gave the masses;
- noise on ordered cells: normal posterior intervals under the smoothness priors that the penalties of `auto` stand for,
  with the distance between its candidates added (Buckland, Burnham & Augustin 1997), widened to the interval of a rougher
  posterior (see `rough_posterior`), since a hump that the noise hides is missing in every candidate. They promise an average:
  of the cells of a shape whose humps have standard deviations of 6 % of the domain or more, about 95 % or more contain the
  truth. They promise nothing about a single cell: at a spike, an edge or a narrower hump it may always be missed.
  docs/guide/miner.md has the measured shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.channels import Kernel
from sfumato.counts import FloatArray
from sfumato.reconstruction.closed_form import gamma_of
from sfumato.reconstruction.em import Fit
from sfumato.reconstruction.penalised import MAX_CELLS, AveragedFit, Expansion, Family, merge_cells
from sfumato.reconstruction.problem import Design, Problem
from sfumato.reconstruction.quadratic import Differences

Z = 1.959963984540054
"""Standard errors on each side of a 95 % band."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Standard error and the ends of the 95 % band, one of each per cell."""

    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray


def wilson(share: FloatArray, n: float, z: float = Z) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval for a binomial share: the p with |share − p| ≤ z √(p(1−p)/n).

    Parameters
    ----------
    share
        Observed shares.
    n
        The number of trials.
    z
        Standard errors on each side.

    Returns
    -------
    tuple of arrays
        The lower and the upper ends.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = wilson(np.array([0.5]), 100)
    >>> low.round(3), high.round(3)
    (array([0.404]), array([0.596]))
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return centre - half, centre + half


def multinomial_bands(mass: FloatArray, n: float) -> Bands:
    """Return the bands of values released as true: each count is binomial."""
    lower, upper = wilson(mass, n)
    return Bands(np.sqrt(mass * (1 - mass) / n), np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0))


def gamma_bands(share: FloatArray, n: float, gamma: float) -> Bands:
    """Return the bands through substitution: y_i is binomial with q_i = a p_i + b, so its interval is one of p_i = (q_i − b)/a."""
    size = len(share)
    a, b = (gamma - 1) / (gamma + size - 1), 1 / (gamma + size - 1)
    lower, upper = wilson(share, n)
    error = np.sqrt(share * (1 - share) / n) / a
    return Bands(error, np.clip((lower - b) / a, 0.0, 1.0), np.clip((upper - b) / a, 0.0, 1.0))


def report_bands(share: FloatArray, n: float, design: Design) -> Bands:
    """Return the bands from reports: the hits of each value are binomial with r = q + (p−q) P, so their interval is one of P."""
    hits, slope = np.clip(design.hits(share), 0.0, 1.0), design.inside - design.outside
    lower, upper = wilson(hits, n)
    error = np.sqrt(hits * (1 - hits) / n) / slope
    ends = (np.clip((end - design.outside) / slope, 0.0, 1.0) for end in (lower, upper))
    return Bands(error, *ends)


def linear_bands(problem: Problem, mass: FloatArray) -> Bands:
    """Return the bands of X̂ = K⁺y: Var X̂_p = (Σ_s L[p,s]² q_s − (L q)_p²)/n with L = K⁺ and q = K P."""
    inverse = np.linalg.pinv(problem.kernel.dense())
    estimate = inverse @ problem.share
    q = problem.expected(mass)
    q = q / q.sum()
    error = np.sqrt(np.maximum(inverse**2 @ q - (inverse @ q) ** 2, 0.0) / problem.n)
    return Bands(error, np.clip(estimate - Z * error, 0.0, 1.0), np.clip(estimate + Z * error, 0.0, 1.0))


def averaged_bands(problem: Problem, fit: AveragedFit, collect: FloatArray | None = None) -> Bands:
    """Return bands of se_p = Σ_j w_j √(Var_j(p) + (P_j(p) − P(p))²), the unconditional standard error of an average of models.

    It knows only the candidates; `widen` adds what none of them shows.
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
    return widen(_around_mass(mass, error), mass, rough_posterior(problem, around), gather)


def widen(narrow: Bands, mass: FloatArray, posterior: Posterior, gather: FloatArray) -> Bands:
    """Extend the bands over the interval of a rougher posterior; se_p becomes √(Var(p) + (M(p) − P(p))²) where that is larger."""
    mean, variance = gather @ posterior.mean, _variances(posterior.covariance, gather)
    half = Z * np.sqrt(variance)
    return Bands(
        np.maximum(narrow.standard_error, np.sqrt(variance + (mean - mass) ** 2)),
        np.minimum(narrow.lower, np.clip(mean - half, 0.0, 1.0)),
        np.maximum(narrow.upper, np.clip(mean + half, 0.0, 1.0)),
    )


def smoothness_bands(problem: Problem, mass: FloatArray) -> Bands:
    """Return bands from the same priors around masses found in another way; in blocks where the grid is too fine to invert."""
    if problem.size == 1:
        return multinomial_bands(mass, problem.n)
    if problem.size > MAX_CELLS:
        blocks, spread = merge_cells(problem)
        factor = -(-problem.size // MAX_CELLS)
        coarse = np.add.reduceat(mass, np.arange(0, problem.size, factor))
        return _around_mass(mass, spread @ smoothness_bands(blocks, coarse).standard_error)
    family = Family.on(problem.widths if problem.widths is not None else np.ones(problem.size))
    around = Expansion.of(problem)
    spreads = candidate_covariances(problem, np.tile(mass, (len(family.names), 1)), around)
    gather = np.eye(problem.size)
    narrow = _around_mass(mass, np.mean([np.sqrt(_variances(c, gather)) for c in spreads], axis=0))
    return widen(narrow, mass, rough_posterior(problem, around), gather)


def candidate_covariances(problem: Problem, candidates: FloatArray, around: Expansion) -> list[FloatArray]:
    """Return the covariance (A + ½λ² DᵀD + C)⁻¹ of each candidate, held to Σ P = 1.

    A penalty λ|t| is the prior of a Laplace variable of variance 2/λ². With a normal one of the same variance in its place the
    posterior is normal. Its spread holds bias as well as chance, which is why such intervals of smoothed estimates
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


def compute_bands(problem: Problem, fit: Fit, *, collect: FloatArray | None = None) -> Bands:
    """Return the bands that suit the kernel and the method; `collect` adds up the cells solved for into those reported."""
    max_condition = 100.0  # a kernel with a condition number up to this is inverted with confidence
    gamma = gamma_of(problem.kernel) if collect is None and problem.design is None else None
    if problem.design is not None:
        out = report_bands(problem.share, problem.n, problem.design)
    elif gamma is not None:
        out = gamma_bands(problem.share, problem.n, gamma)
    elif isinstance(fit, AveragedFit):
        out = averaged_bands(problem, fit, collect)
    elif (
        problem.widths is None or fit.method in ("inverse", "projection") or _condition(problem.kernel) <= max_condition
    ):
        out = linear_bands(problem, fit.mass)
    else:
        out = smoothness_bands(problem, fit.mass)
    mass = fit.mass if collect is None else collect @ fit.mass
    return Bands(out.standard_error, np.minimum(out.lower, mass), np.maximum(out.upper, mass))


def _variances(covariance: FloatArray, gather: FloatArray) -> FloatArray:
    return np.maximum(np.sum((gather @ covariance) * gather, axis=1), 0.0)


def _condition(kernel: Kernel) -> float:
    if kernel.shape[0] < kernel.shape[1]:
        return math.inf
    return float(np.linalg.cond(kernel.dense()))


def _around_mass(mass: FloatArray, error: FloatArray) -> Bands:
    return Bands(error, np.clip(mass - Z * error, 0.0, 1.0), np.clip(mass + Z * error, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Posterior:
    """A normal distribution of the masses, held to Σ P = 1."""

    mean: FloatArray
    covariance: FloatArray


def roughness_precision(widths: FloatArray, roughness: float = 128.0) -> FloatArray:
    """Return DᵀS⁻¹D of the changes of slope D P, whose variance S is σ² times the width over which they happen.

    σ, the roughness, is how far the slope of the density strays over a domain of length one. A density f costs ∫ f″²/(2σ²)
    nats, a normal hump of weight w and standard deviation s 3 w²/(16 √π s⁵ σ²). With σ = 128 one of 40 % and s = 0.06 costs
    1.3 nats and is allowed; with s = 0.03 it costs 42 and is not.
    """
    share = widths / widths.sum()
    d = Differences.of(widths, 2).matrix
    spans = np.ones(len(d))
    spans[: len(share) - 2] = share[1:-1]
    return np.asarray(d.T @ (d / (roughness**2 * spans)[:, None]))


def rough_posterior(problem: Problem, around: Expansion, prior_rows: float = 5.0) -> Posterior:
    """Return what the released values leave open: a posterior under a prior rougher than the shapes that `auto` prefers.

    Noise hides a hump narrower than itself. Held-out values then favour the simplest shape, its fit is off by the whole hump,
    and no comparison of fits can show it. A band that is to contain this bias must assume how rough the truth may be. Here
    the slope of the density, on a domain of length one, moves like a Brownian motion of variance σ², and the masses have a
    Dirichlet prior worth a few rows, which keeps them positive. The spread of such a posterior holds bias as well as chance,
    so its intervals cover on average over the cells (Wahba 1983, Nychka 1988).

    This is Laplace's approximation: the minimum of ½PᵀHP − gᵀP − Σ c log P on Σ P = 1, and its curvature. H is the curvature of
    the log-likelihood plus the precision of the slopes, c the `prior_rows` spread evenly over the domain. Newton's
    method starts from the uniform density and stays inside P > 0.
    """
    max_steps, min_gain = 60, 1e-2  # nats: stop when a step would gain less than half of this
    widths = problem.widths if problem.widths is not None else np.ones(problem.size)
    a, g = around.terms(problem)
    h = a + roughness_precision(widths)
    share = widths / widths.sum()
    rows = prior_rows * share

    def height(p: FloatArray) -> float:
        return float(0.5 * p @ h @ p - g @ p - rows @ np.log(p))

    p, now = share, height(share)
    covariance = _covariance(h, rows, p)
    for _ in range(max_steps):
        slope = h @ p - g - rows / p
        step = -covariance @ slope
        gain = float(-slope @ step)
        if gain < min_gain:
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
