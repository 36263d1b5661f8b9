"""The result of a reconstruction: masses on a grid, figures with intervals, how they came about, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from sfumato.channels import Kernel
from sfumato.counts import FloatArray, Grid, lattice_range
from sfumato.errors import UsageError
from sfumato.reconstruction.bases import Basis
from sfumato.reconstruction.closed_form import gamma_of
from sfumato.reconstruction.em import Fit
from sfumato.reconstruction.moments import Figure, Z
from sfumato.reconstruction.penalised import MAX_CELLS, AveragedFit, Candidate, Family, averaged_covariance
from sfumato.reconstruction.problem import Design, Problem
from sfumato.scales import Ruler


@dataclass(frozen=True, eq=False)
class Source:
    """What standard errors are computed from when they are first asked for.

    Parameters
    ----------
    problem, fit
        The counts, and the fit on the cells that were solved for.
    collect : array, optional
        Adds those cells up into the ones reported, shape (reported, solved).
    edges : array, optional
        The edges of the cells solved for, where they are not those reported.
    resolution : float
        Detail narrower than this is hidden by the noise.
    spikes : tuple of float
        Values at which many rows may lie without being told from others within the resolution.
    """

    problem: Problem
    fit: Fit
    collect: FloatArray | None = None
    edges: FloatArray | None = None
    resolution: float = 0.0
    spikes: tuple[float, ...] = ()

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of the masses solved for."""
        if isinstance(self.fit, AveragedFit):
            return averaged_covariance(self.problem, self.fit)
        if is_invertible(self.problem, self.fit):
            return linear_covariance(self.problem, self.fit.mass)
        return smoothness_covariance(self.problem, self.fit.mass)


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
        What standard errors are computed from.
    figures : tuple of Figure, optional
        Mean and variance without bias, where the law allows them.
    chosen : mapping
        Which shape was chosen from the release alone, and `why` in a sentence.
    ruler : Ruler, optional
        The scale that `grid` is on. Figures, `cdf`, `share`, `sample` and `to_dict` speak the unit of the column.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.counts import Grid
    >>> ages = Distribution("age", Grid.cells(0, 100, 4), np.array([0.1, 0.4, 0.4, 0.1]), 1000, "counts")
    >>> ages.mean(), ages.quantile(0.5)
    (50 ± 0.64, 50 ± 0.72)
    >>> ages.share(25, 50)
    0.4 ± 0.015
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
    figures: tuple[Figure, Figure] | None = field(default=None, repr=False)
    chosen: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ruler: Ruler | None = field(default=None, repr=False)

    @cached_property
    def bands(self) -> Bands:
        """Standard errors and 95 % bands, computed when first asked for."""
        return multinomial_bands(self.mass, self.n) if self.source is None else compute_bands(self.source, self.mass)

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

    @cached_property
    def fine(self) -> tuple[Grid, FloatArray]:
        """The cells that were solved for, and their masses: those reported, unless finer ones were added up to them."""
        if self.grid.labels is not None:
            raise UsageError(f"{self.name}: its values are categories, which have no order to compute with")
        if self.source is None or self.source.edges is None:
            return self.grid, self.mass
        return Grid(edges=self.source.edges, step=self.grid.step or _spacing(self.grid)), self.source.fit.mass

    @cached_property
    def _covariance(self) -> FloatArray:
        if self.source is None:
            return (np.diag(self.mass) - np.outer(self.mass, self.mass)) / self.n
        return self.source.covariance

    def combine(self, weights: FloatArray) -> Figure:
        """Return Σ weight × mass, one weight for each of the `fine` cells."""
        estimate = float(weights @ self.fine[1])
        return Figure(estimate, math.sqrt(max(float(weights @ self._covariance @ weights), 0.0)))

    def _values(self, places: Any) -> Any:
        """Return places in the unit of the column."""
        return places if self.ruler is None else self.ruler.to_values(places)

    def _places(self, values: Any) -> Any:
        """Return values in the unit of the column as they are on the grid."""
        return values if self.ruler is None else self.ruler.to_places(values)

    def _cell_points(self) -> FloatArray:
        """Return values spread evenly over each cell of a column on a scale, shape (cells, points)."""
        grid = self.fine[0]
        if grid.atoms is not None:
            return np.asarray(self._values(grid.atoms)[:, None])
        edges, points = grid.finite_edges, 16
        inside = (np.arange(points) + 0.5) / points
        return np.asarray(self._values(edges[:-1, None] + np.diff(edges)[:, None] * inside))

    def mean(self) -> Figure:
        """Return the mean: without bias from released values and law where they allow it, else Σ P × centre."""
        if self.figures is not None:
            return self.figures[0]
        return self.combine(self.fine_values())

    def variance(self) -> Figure:
        """Return the variance: without bias where the law allows it, else that of values spread evenly over each cell."""
        if self.figures is not None:
            return self.figures[1]
        grid, mass = self.fine
        if self.ruler is not None:
            spread = self.combine(((self._cell_points() - float(self.mean())) ** 2).mean(axis=1))
            return Figure(spread, spread.se, max(spread.low, 0.0))
        inside = np.zeros(grid.size)
        if grid.edges is not None:
            inside = np.maximum(np.diff(grid.finite_edges) ** 2 - grid.step**2, 0.0) / 12
        spread = self.combine((grid.centres - float(mass @ grid.centres)) ** 2 + inside)
        return Figure(spread, spread.se, max(spread.low, 0.0))

    def sd(self) -> Figure:
        """Return the standard deviation, the root of the variance."""
        variance = self.variance()
        root = math.sqrt(max(variance, 0.0))
        ends = (math.sqrt(max(end, 0.0)) for end in (variance.low, variance.high))
        return Figure(root, variance.se / (2 * root) if root else 0.0, *ends)

    def cdf(self, x: float | FloatArray) -> FloatArray:
        """Return P(true value ≤ x)."""
        grid, mass = self.fine
        points = np.asarray(self._places(x), dtype=np.float64)
        below = np.concatenate([[0.0], np.cumsum(mass)])
        below[-1] = 1.0
        if grid.atoms is not None:
            return below[np.searchsorted(grid.atoms, points, side="right")]
        if grid.step:  # a value of the lattice is counted whole: up to the edge half a step behind it
            first = grid.finite_edges[0] + grid.step / 2
            points = first + (np.floor((points - first) / grid.step + 1e-9) + 0.5) * grid.step
        return np.interp(points, grid.finite_edges, below)

    def share(self, low: float, high: float) -> Figure:
        """Return the share of true values from `low` to `high`, both included.

        Parameters
        ----------
        low, high
            Ends of a range; infinite ends are allowed.
        """
        if not low <= high:
            raise UsageError(f"{self.name}: the range {low:g} … {high:g} is upside down; give the lower end first")
        return _within_zero_and_one(self.combine(self.cover(low, high)))

    def cover(self, low: float, high: float) -> FloatArray:
        """Return which part of each of the `fine` cells lies from `low` to `high`, both included."""
        grid, _ = self.fine
        low, high = self._places(low), self._places(high)
        if grid.atoms is not None:
            return ((grid.atoms >= low) & (grid.atoms <= high)).astype(np.float64)
        edges = grid.finite_edges
        half = grid.step / 2
        first, last = max(low - half, edges[0]), min(high + half, edges[-1])
        covered = np.minimum(edges[1:], last) - np.maximum(edges[:-1], first)
        return np.asarray(np.clip(covered / np.diff(edges), 0.0, 1.0))

    def fine_values(self) -> FloatArray:
        """Return the mean value of each of the `fine` cells, in the unit of the column."""
        return self.fine[0].centres if self.ruler is None else self._cell_points().mean(axis=1)

    @overload
    def quantile(self, q: float) -> Figure: ...
    @overload
    def quantile(self, q: FloatArray) -> FloatArray: ...
    def quantile(self, q: float | FloatArray) -> Figure | FloatArray:
        """Return the smallest value that at least a share `q` of the true values does not exceed.

        Of a single share it is a figure. Its interval holds all values whose cumulated share may be `q`, and a spike that
        may lie so close that the noise hides the difference.
        """
        level = np.asarray(q, dtype=np.float64)
        if ((level < 0) | (level > 1)).any():
            raise UsageError(f"{self.name}: quantile {q} must lie between 0 and 1")
        grid, mass = self.fine
        upto = np.cumsum(mass)
        upto[-1] = 1.0
        cell = np.minimum(np.searchsorted(upto, level - 1e-12, side="left"), grid.size - 1)
        if grid.atoms is not None:
            places = grid.atoms[cell]
        else:
            edges, start = grid.finite_edges, upto[cell] - mass[cell]
            inside = np.clip((level - start) / np.where(mass[cell] > 0, mass[cell], 1.0), 0.0, 1.0)
            places = self._nearest(edges[cell] + inside * (edges[cell + 1] - edges[cell]))
        if level.ndim:
            return np.asarray(self._values(places))
        low, high = self._quantile_interval(float(level))
        low, value, high = (float(self._values(p)) for p in (min(low, places), places, max(high, places)))
        return Figure(value, (high - low) / (2 * Z), low, high)

    def _quantile_interval(self, level: float) -> tuple[float, float]:
        hidden, spikes = (0.0, ()) if self.source is None else (self.source.resolution, self.source.spikes)
        grid, mass = self.fine
        edges = grid.finite_edges
        error = np.sqrt(np.maximum(np.diag(np.cumsum(np.cumsum(self._covariance, axis=0), axis=1)), 0.0))
        calibration = 0.75  # so that quantiles of real columns are held as often as stated (benchmarks/real_columns.py)
        below, doubt = np.cumsum(mass), calibration * Z * error
        rising = np.arange(grid.size + 1) * 1e-12  # keeps both curves invertible where they are flat
        most = np.maximum.accumulate(np.concatenate([[0.0], below + doubt])) + rising
        least = np.minimum.accumulate(np.concatenate([[0.0], below - doubt])[::-1])[::-1] + rising
        least[-1] = most[-1] = max(1.0, most[-1])
        low, high = np.interp(level, most, edges), np.interp(level, least, edges)
        close = [s for s in spikes if low - hidden <= s <= high + hidden]
        low, high = np.clip([min([low, *close]), max([high, *close])], edges[0], edges[-1])
        if grid.atoms is not None:
            return float(grid.atoms[grid.locate(np.array([low]))[0]]), float(
                grid.atoms[grid.locate(np.array([high]))[0]]
            )
        return float(self._nearest(low)), float(self._nearest(high))

    def _nearest(self, x: Any) -> Any:
        """Return the lattice points next to `x`, where the values lie on a lattice; on a scale, an end or 0 that is next to it."""
        grid = self.fine[0]
        if self.ruler is not None:
            spike, narrow = (
                np.clip(self.ruler.to_places(0.0), 0.0, 1.0),
                1e-4,
            )  # where values crowd, in a cell of this width
            for place in (0.0, 1.0, float(spike)):
                x = np.where(np.abs(x - place) < narrow, place, x)
            return x
        if not grid.step or grid.edges is None:
            return x
        first, last = grid.finite_edges[0] + grid.step / 2, grid.finite_edges[-1] - grid.step / 2
        return np.clip(first + np.round((x - first) / grid.step) * grid.step, first, last)

    def sample(self, n: int, seed: int = 0) -> FloatArray:
        """Draw `n` values from the distribution: codes for categories, lattice points where the values lie on a lattice."""
        rng = np.random.default_rng(seed)
        grid, mass = (self.grid, self.mass) if self.grid.labels is not None else self.fine
        cells = rng.choice(grid.size, size=n, p=mass / mass.sum())
        if grid.atoms is not None:
            return np.asarray(self._values(grid.atoms[cells]))
        edges, step = grid.finite_edges, grid.step
        if not step:
            return np.asarray(self._values(edges[cells] + rng.random(n) * (edges[cells + 1] - edges[cells])))
        first, last = lattice_range(edges, step)
        members = np.maximum(last - first + 1, 1)
        return (first[cells] + np.floor(rng.random(n) * members[cells])) * step

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: edges or categories, mass, bands, figures with intervals, and how it came about."""
        out: dict[str, Any] = {}
        if self.grid.labels is not None:
            out["categories"] = list(self.grid.labels)
        elif self.grid.atoms is not None:
            out["categories"] = [float(a) for a in self._values(self.grid.atoms)]
        else:
            out["edges"] = [float(e) for e in self._values(self.grid.finite_edges)]
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
        if self.grid.labels is None:
            figures = {"mean": self.mean(), "variance": self.variance(), "sd": self.sd(), "median": self.quantile(0.5)}
            out |= {name: figure.to_dict() for name, figure in figures.items()}
        if self.chosen:
            out["chosen"] = dict(self.chosen)
        if self.trail:
            out["log_likelihood"] = self.trail[-1]
        if self.impossible:
            out["impossible"] = float(self.impossible)
        return out


def _spacing(grid: Grid) -> float:
    """Return the distance between atoms, which are all values of a lattice."""
    return float(np.diff(grid.points).min()) if grid.atoms is not None and grid.size > 1 else 0.0


def _within_zero_and_one(share: Figure) -> Figure:
    return Figure(min(max(share, 0.0), 1.0), share.se, max(share.low, 0.0), min(share.high, 1.0))


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


def linear_covariance(problem: Problem, mass: FloatArray) -> FloatArray:
    """Return the covariance of X̂ = K⁺y: (L diag(q) Lᵀ − Lq qᵀLᵀ)/n with L = K⁺ and q = K P."""
    inverse = np.linalg.pinv(problem.kernel.dense())
    q = problem.predict(mass)
    q = q / q.sum()
    mean = inverse @ q
    return np.asarray(((inverse * q) @ inverse.T - np.outer(mean, mean)) / problem.n)


def smoothness_covariance(problem: Problem, mass: FloatArray) -> FloatArray:
    """Return the covariance under the priors of the default, around masses found in another way."""
    if problem.size == 1:
        return np.zeros((1, 1))
    widths = problem.widths if problem.widths is not None else np.ones(problem.size)
    basis = Basis.of_cells(widths, MAX_CELLS)
    family = Family.on(basis.widths)
    blocks = (basis.spread > 0).T @ mass
    candidates = tuple(
        Candidate(name, basis, blocks[None], strength, rows, 0.0)
        for name, strength, rows in zip(family.names, family.priors, family.bands, strict=True)
    )
    even = np.full(len(candidates), 1 / len(candidates))
    prior = basis.spread @ blocks
    return averaged_covariance(
        problem, AveragedFit(mass, "", candidates=candidates, weights=even, doubts=even, prior=prior)
    )


def is_invertible(problem: Problem, fit: Fit) -> bool:
    """Return whether the kernel can be inverted with confidence, or was inverted."""
    max_condition = 100.0
    if problem.widths is None or fit.method in ("inverse", "projection"):
        return True
    return _condition(problem.kernel) <= max_condition


def compute_bands(source: Source, mass: FloatArray) -> Bands:
    """Return the bands that suit the kernel and the method."""
    problem, fit = source.problem, source.fit
    gamma = gamma_of(problem.kernel) if source.collect is None and problem.design is None else None
    if problem.design is not None:
        out = report_bands(problem.share, problem.n, problem.design)
    elif gamma is not None:
        out = gamma_bands(problem.share, problem.n, gamma)
    else:
        gather = np.eye(problem.size) if source.collect is None else source.collect
        error = np.sqrt(np.maximum(np.sum((gather @ source.covariance) * gather, axis=1), 0.0))
        centre = mass
        if not isinstance(fit, AveragedFit) and is_invertible(problem, fit):
            centre = gather @ (np.linalg.pinv(problem.kernel.dense()) @ problem.share)
        out = Bands(error, np.clip(centre - Z * error, 0.0, 1.0), np.clip(centre + Z * error, 0.0, 1.0))
    return Bands(out.standard_error, np.minimum(out.lower, mass), np.maximum(out.upper, mass))


def _condition(kernel: Kernel) -> float:
    if kernel.shape[0] < kernel.shape[1]:
        return math.inf
    return float(np.linalg.cond(kernel.dense()))
