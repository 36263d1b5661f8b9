"""Mean and variance of the true values without bias, from released values and the law alone.

Where E[Y | x] = α + βx, the weight w₁(y) = (y − α)/β has E[w₁ | x] = x, so its mean over the rows is an unbiased estimate of the
mean of their true values, whatever these are. Where E[Y² | x] = α₂ + β₂x + γ₂x², w₂(y) = (y² − α₂ − β₂ w₁)/γ₂ does the same for
x². Additive noise has β = 1; a square wave shrinks towards the middle, and still is linear. Laws of bins are not: they say
nothing of where in its bin a value lies, and their moments are those of the fitted distribution.

On a scale, mean and variance are those in the unit of the column. Noise maps a space of functions such as 1, e^{Lu} or 1, u, u² to
itself: E[φ(Y) | u] = B φ(u). Where x = c·φ(u), w₁ = (B⁻ᵀc)·φ(y) has E[w₁ | u] = x (see `Scale.functions`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sfumato.channels import Channel, Transition
from sfumato.counts import FloatArray, Grid, snap
from sfumato.reconstruction.bases import Lattice
from sfumato.scales import Ruler

Z = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


class Figure(float):
    """A number with its standard error and the 95 % interval of the figure it estimates.

    The interval speaks of the rows behind the release: it holds the figure that their owner would compute. It does not hold
    the chance by which these rows rather than others came into the table; `population_error` does, where it is known.

    Examples
    --------
    >>> mean = Figure(38.6, 0.15)
    >>> mean
    38.6 ± 0.15
    >>> round(mean.low, 2), round(mean.high, 2)
    (38.31, 38.89)
    """

    se: float
    low: float
    high: float
    population_error: float | None

    def __new__(
        cls,
        estimate: float,
        se: float,
        low: float | None = None,
        high: float | None = None,
        population_error: float | None = None,
    ) -> Self:
        """Return the figure; the interval is the estimate ± 1.96 standard errors unless its ends are given."""
        figure = super().__new__(cls, estimate)
        figure.se = se
        figure.low = estimate - Z * se if low is None else low
        figure.high = estimate + Z * se if high is None else high
        figure.population_error = population_error
        return figure

    def __repr__(self) -> str:
        return f"{float(self):.6g} ± {self.se:.2g}"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.se, self.low, self.high, self.population_error

    def to_dict(self) -> dict[str, float]:
        """Return plain data: estimate, se, low, high, to twelve digits: sums over blocks differ in the last ones."""
        out = {"estimate": float(self), "se": self.se, "low": self.low, "high": self.high}
        if self.population_error is not None:
            out["population_se"] = self.population_error
        return {name: float(f"{value:.12g}") for name, value in out.items()}


@dataclass(frozen=True)
class Scores:
    """The weights w₁ and w₂ of a law, on values scaled to [0, 1]: all that a worker needs to add up `Moments`."""

    low: float
    width: float
    linear: tuple[float, float]
    """α and β."""
    square: tuple[float, float, float]
    """α₂, β₂ and γ₂."""

    @property
    def unit(self) -> tuple[float, float]:
        """Where the unit of the weights begins, and its size."""
        return self.low, self.width

    def first(self, y: FloatArray) -> FloatArray:
        """Return w₁ of scaled released values."""
        return (y - self.linear[0]) / self.linear[1]

    def second(self, y: FloatArray) -> FloatArray:
        """Return w₂ of scaled released values."""
        a, b, c = self.square
        return (y**2 - a - b * self.first(y)) / c


@dataclass(frozen=True)
class RulerScores:
    """The weights of x and x² in the unit of a column on a scale, with x = 0 at the low and 1 at the high end of its domain."""

    ruler: Ruler
    coefficients: tuple[tuple[float, ...], tuple[float, ...]]
    """B⁻ᵀc of x and of x²."""
    low: float = 0.0
    width: float = 1.0

    @property
    def unit(self) -> tuple[float, float]:
        """Where the unit of the weights begins, and its size."""
        return self.ruler.low, self.ruler.high - self.ruler.low

    def first(self, y: FloatArray) -> FloatArray:
        """Return w₁ of released places."""
        return self._weigh(y, 1)

    def second(self, y: FloatArray) -> FloatArray:
        """Return w₂ of released places."""
        return self._weigh(y, 2)

    def _weigh(self, y: FloatArray, power: int) -> FloatArray:
        functions = self.ruler.scale.functions(y, self.ruler.span, power)
        assert functions is not None  # or there would be no coefficients
        return np.asarray(self.coefficients[power - 1] @ functions)


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a law, and the chance that they leave given the true value."""

    scores: Scores | RulerScores
    points: FloatArray
    """Scaled true values at which the chance is known."""
    released: FloatArray
    """Scaled released values, one per observed cell."""
    kernel: FloatArray

    @classmethod
    def of(cls, channel: Channel, lattice: Lattice) -> Weights | None:
        """Return the weights of a law; None where its first two moments are no polynomials of the true value."""
        cells, points, tolerance = 1000, 33, 3e-4
        low, width = lattice.low, lattice.high - lattice.low
        true = np.unique(lattice.nearest(np.linspace(lattice.low, lattice.high, points)))
        if channel.step:  # a law sees values rounded to its grid, and is linear there; between, rounding has no bias
            on_grid = np.unique(snap(true, channel.step))
            on_grid = on_grid[(on_grid >= lattice.low) & (on_grid <= lattice.high)]
            true = on_grid if len(on_grid) > 1 else true
        if len(true) < 2 or not channel.numeric or channel.representatives is not None:
            return None
        observed = channel.observed_grid(Grid(edges=lattice.even_edges(cells), step=lattice.step))
        kernel = Transition.of(channel, Grid(atoms=true), observed).matrix.dense()
        x, y = (true - low) / width, (observed.centres - low) / width
        inside = np.maximum(np.diff(observed.finite_edges) ** 2 - observed.step**2, 0.0) / (12 * width**2)
        first, second = y @ kernel, (y**2 + inside) @ kernel
        linear = np.polyfit(x, first, 1)
        if abs(linear[0]) < tolerance or np.abs(np.polyval(linear, x) - first).max() > tolerance:
            return None
        if len(true) == 2:  # x² is x at both ends
            slope = np.polyfit(x, second, 1)
            square = np.array([slope[0], 0.0, slope[1]])
        else:
            square = np.polyfit(x, second, 2)
        if abs(square[0]) < tolerance or np.abs(np.polyval(square, x) - second).max() > tolerance:
            return None
        scores = Scores(low, width, (linear[1], linear[0]), (square[2], square[1], square[0]))
        return cls(scores, x, y, kernel)

    @classmethod
    def on_ruler(cls, channel: Channel, ruler: Ruler) -> Weights | None:
        """Return the weights of a law for values in the unit of a column on a scale; None where there are none."""
        points, tolerance = 65, 1e-5
        if not channel.step or channel.representatives is not None:
            return None
        true = np.unique(snap(np.linspace(0.0, 1.0, points), channel.step))
        observed = _widen(channel.observed_grid(Grid(edges=np.linspace(0.0, 1.0, points))), channel.step)
        kernel = Transition.of(channel, Grid(atoms=true), observed).matrix.dense()
        start, size = ruler.low, ruler.high - ruler.low
        out = []
        for power in (1, 2):
            before, after = (ruler.scale.functions(u, ruler.span, power) for u in (true, observed.centres))
            if before is None or after is None:
                return None
            mapped = after @ kernel
            shift, *_ = np.linalg.lstsq(before.T, mapped.T)
            value = ((ruler.to_values(true) - start) / size) ** power
            wanted, *_ = np.linalg.lstsq(before.T, value)
            coefficients, *_ = np.linalg.lstsq(shift, wanted)
            if not np.abs(coefficients @ mapped - value).max() <= tolerance:
                return None
            out.append(tuple(coefficients.tolist()))
        return cls(RulerScores(ruler, (out[0], out[1])), true, observed.centres, kernel)

    def chance(self, weights: FloatArray, x: FloatArray, mass: FloatArray) -> float:
        """Return E[Var(w(Y) | x)] over a distribution of scaled true values, from w at each released cell."""
        variance = np.maximum(weights**2 @ self.kernel - (weights @ self.kernel) ** 2, 0.0)
        return float(np.interp(x, self.points, variance) @ mass)

    @property
    def noise(self) -> float:
        """The standard deviation of w₁ given the true value, the mean over the domain, in the unit of the values."""
        flat = np.full(len(self.points), 1 / len(self.points))
        return self.scores.width * math.sqrt(self.chance(self.scores.first(self.released), self.points, flat))


def _widen(grid: Grid, step: float) -> Grid:
    """Return finer cells, twice as far: weights that grow like e^{Ly} see what is negligible to everything else."""
    max_cells = 12_000
    low, high = (float(end) for end in grid.finite_edges[[0, -1]])
    beyond = round((high - low) / (2 * step))
    steps = round((high - low) / step) + 2 * beyond
    each = math.ceil(steps / max_cells)
    edges = low + step * (each * np.arange(math.ceil(steps / each) + 1, dtype=np.float64) - beyond)
    edges[0], edges[-1] = -np.inf, np.inf
    return Grid(edges=edges, step=step)


@dataclass(frozen=True)
class Moments:
    """Sums over the released values from which mean and variance follow; a sum of the parts' sums is that of the whole."""

    n: float
    first: float
    """Σ w₁."""
    second: float
    """Σ w₂."""
    first_squared: float
    """Σ w₁²."""
    second_squared: float
    """Σ w₂²."""
    product: float
    """Σ w₁w₂."""

    @classmethod
    def of(cls, scores: Scores | RulerScores, values: FloatArray, rows: FloatArray | None = None) -> Moments:
        """Return the sums over values that are present, each standing for `rows` rows."""
        y = (values - scores.low) / scores.width
        a, b = scores.first(y), scores.second(y)
        w = np.ones(len(y)) if rows is None else rows
        return cls(float(w.sum()), float(w @ a), float(w @ b), float(w @ a**2), float(w @ b**2), float(w @ (a * b)))

    def figures(self, law: Weights, centres: FloatArray, mass: FloatArray) -> tuple[Figure, Figure]:
        """Return mean and variance of the true values, given the fitted distribution, which only the errors need."""
        low, w = law.scores.unit
        n, x = self.n, (centres - law.scores.low) / law.scores.width
        a, b = law.scores.first(law.released), law.scores.second(law.released)
        mean = self.first / n
        noise = law.chance(a, x, mass) / n
        spread = max(self.first_squared / n - mean**2, 0.0) / n
        scale = n / max(n - 1, 1.0)
        variance = (self.second / n - mean**2 + noise) * scale
        # The influence of a row on the variance is w₂ − 2μw₁, up to a constant.
        doubt = law.chance(b - 2 * mean * a, x, mass) / n
        of_influence = (self.second_squared - 4 * mean * self.product + 4 * mean**2 * self.first_squared) / n
        total = max(of_influence - (self.second / n - 2 * mean**2) ** 2, 0.0) / n
        se, square_se = w * math.sqrt(noise), w**2 * math.sqrt(doubt)
        shown = max(w**2 * variance, 0.0)
        ends = [max(w**2 * variance + sign * Z * square_se, 0.0) for sign in (-1, 1)]
        return (
            Figure(low + w * mean, se, population_error=w * math.sqrt(max(spread, noise))),
            Figure(shown, square_se, ends[0], ends[1], population_error=w**2 * math.sqrt(max(total, doubt))),
        )
