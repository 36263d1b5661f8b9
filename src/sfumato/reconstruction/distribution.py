"""The result of a reconstruction: masses on a grid, how they came about, and how sure they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.channels import Kernel
from sfumato.counts import FloatArray, Grid, lattice_range
from sfumato.errors import UsageError
from sfumato.reconstruction.closed_form import gamma_of
from sfumato.reconstruction.em import Fit
from sfumato.reconstruction.penalised import MAX_CELLS, AveragedFit, Expansion, Family, merge_cells
from sfumato.reconstruction.problem import Design, Problem
from sfumato.reconstruction.quadratic import Differences


@dataclass(frozen=True, eq=False)
class Source:
    """What the bands are computed from when they are first asked for."""

    problem: Problem
    fit: Fit
    collect: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of the true values of one attribute.

    Parameters
    ----------
    name : str
        The attribute.
    grid : Grid
        The cells of the true values.
    mass : array
        The share of each cell; the shares sum to one.
    n : float
        The number of released values that it rests on.
    method, iterations, stopped
        How it was fitted, in how many steps, and why they ended.
    trail : tuple of float
        The log-likelihood (nats) before each kept step and after the last.
    missing : float
        Rows without a value, which take no part.
    impossible : float
        Released values that the stated law cannot produce, which take no part.
    source : Source, optional
        What the bands are computed from.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.counts import Grid
    >>> ages = Distribution("age", Grid.cells(0, 100, 4), np.array([0.1, 0.4, 0.4, 0.1]), 1000, "counts")
    >>> ages.mean(), float(ages.quantile(0.5))
    (50.0, 50.0)
    >>> ages.lower.round(3)
    array([0.083, 0.37 , 0.37 , 0.083])
    """

    name: str
    grid: Grid
    mass: FloatArray
    n: float
    method: str
    iterations: int = 0
    stopped: str = ""
    trail: tuple[float, ...] = ()
    missing: float = 0.0
    impossible: float = 0.0
    source: Source | None = field(default=None, repr=False)

    @cached_property
    def bands(self) -> Bands:
        """Standard errors and 95 % bands, computed when first asked for."""
        if self.source is None:
            return multinomial_bands(self.mass, self.n)
        s = self.source
        return compute_bands(s.problem, s.fit, collect=s.collect)

    @property
    def standard_error(self) -> FloatArray:
        """One standard error of each mass."""
        return self.bands.standard_error

    @property
    def lower(self) -> FloatArray:
        """Lower ends of the 95 % bands."""
        return self.bands.lower

    @property
    def upper(self) -> FloatArray:
        """Upper ends of the 95 % bands."""
        return self.bands.upper

    @property
    def density(self) -> FloatArray:
        """Mass divided by the width of the cell."""
        return self.mass / np.diff(self.grid.finite_edges)

    @property
    def _numeric(self) -> Grid:
        if self.grid.labels is not None:
            raise UsageError(f"{self.name}: its values are categories, which have no order to compute with")
        return self.grid

    def mean(self) -> float:
        """Return Σ P × centre."""
        return float(self.mass @ self._numeric.centres)

    def sd(self) -> float:
        """Return the standard deviation, values spread evenly over each cell: its own variance is (width² − step²)/12."""
        grid = self._numeric
        inside = 0.0
        if grid.edges is not None:
            inside = float(self.mass @ np.maximum(np.diff(grid.finite_edges) ** 2 - grid.step**2, 0.0)) / 12
        between = float(self.mass @ (grid.centres - self.mean()) ** 2)
        return float(np.sqrt(between + inside))

    def cdf(self, x: float | FloatArray) -> FloatArray:
        """Return P(true value ≤ x)."""
        grid = self._numeric
        points = np.asarray(x, dtype=np.float64)
        below = np.concatenate([[0.0], np.cumsum(self.mass)])
        below[-1] = 1.0
        if grid.atoms is not None:
            return below[np.searchsorted(grid.atoms, points, side="right")]
        return np.interp(points, grid.finite_edges, below)

    def quantile(self, q: float | FloatArray) -> FloatArray:
        """Return the smallest value that at least a share `q` of the true values does not exceed."""
        grid = self._numeric
        level = np.asarray(q, dtype=np.float64)
        if ((level < 0) | (level > 1)).any():
            raise UsageError(f"{self.name}: quantile {q} must lie between 0 and 1")
        upto = np.cumsum(self.mass)
        upto[-1] = 1.0
        cell = np.minimum(np.searchsorted(upto, level - 1e-12, side="left"), grid.size - 1)
        if grid.atoms is not None:
            return grid.atoms[cell]
        edges = grid.finite_edges
        start = upto[cell] - self.mass[cell]
        inside = np.clip((level - start) / np.where(self.mass[cell] > 0, self.mass[cell], 1.0), 0.0, 1.0)
        return edges[cell] + inside * (edges[cell + 1] - edges[cell])

    def sample(self, n: int, seed: int = 0) -> FloatArray:
        """Draw `n` values from the distribution: codes for categories, lattice points where the values lie on a lattice."""
        rng = np.random.default_rng(seed)
        cells = rng.choice(self.grid.size, size=n, p=self.mass / self.mass.sum())
        if self.grid.atoms is not None:
            return self.grid.atoms[cells]
        edges, step = self.grid.finite_edges, self.grid.step
        if not step:
            return edges[cells] + rng.random(n) * (edges[cells + 1] - edges[cells])
        first, last = lattice_range(edges, step)
        members = np.maximum(last - first + 1, 1)
        return (first[cells] + np.floor(rng.random(n) * members[cells])) * step

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: edges or categories, mass, band, and how it came about."""
        out: dict[str, Any] = {}
        if self.grid.labels is not None:
            out["categories"] = list(self.grid.labels)
        elif self.grid.atoms is not None:
            out["categories"] = [float(a) for a in self.grid.atoms]
        else:
            out["edges"] = [float(e) for e in self.grid.finite_edges]
        out |= {
            "mass": [float(p) for p in self.mass],
            "lower": [float(p) for p in self.lower],
            "upper": [float(p) for p in self.upper],
            "standard_error": [float(p) for p in self.standard_error],
            "n": float(self.n),
            "missing": float(self.missing),
            "method": self.method,
            "iterations": self.iterations,
            "stopped": self.stopped,
        }
        if self.trail:
            out["log_likelihood"] = self.trail[-1]
        if self.impossible:
            out["impossible"] = float(self.impossible)
        return out


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
    q = problem.predict(mass)
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
