"""The result of a reconstruction: masses on a grid, how they came about, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, Grid
from sfumato.errors import UsageError
from sfumato.reconstruction.bands import Bands, compute_bands, multinomial_bands
from sfumato.reconstruction.em import Fit
from sfumato.reconstruction.problem import Problem


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
        edges = self.grid.finite_edges
        step = self.grid.step
        if not step:
            return edges[cells] + rng.random(n) * (edges[cells + 1] - edges[cells])
        first = np.ceil(edges[:-1] / step - 1e-9)
        last = np.ceil(edges[1:] / step - 1e-9) - 1
        last[-1] = np.floor(edges[-1] / step + 1e-9)
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
