"""Planning without data: how many rows at which noise for which error, and the reverse.

Each formula is the variance of one row's influence on the figure: of the noise alone, given the true row, and of noise and row
together. An interval that `ask`, `fit` or `associate` prints speaks of the table and has the first; a sample of a population has the
second. The half-width of a 95 % interval over n rows is 1.96 √(variance/n).

Numbers: let ε be the noise of the weight of a value, V = E ε², κ = E ε⁴ − V², s the standard deviation of the true values.

mean         noise V; with the row V + s².
share        noise E w² − p, w the weight of the label; with the row E w² − p².
difference   of the means of two groups, a share p of the rows in the first: (s² + V) E a² and s² (1/p + 1/(1−p)) less, with
             a = w/p − (1 − w)/(1 − p).
correlation  ρ of two normal columns, λ = V/s²: noise λ₁ + λ₂ + λ₁λ₂ − 2ρ²(λ₁ + λ₂) + ρ²/4 (4λ₁ + κ₁/s₁⁴ + 4λ₂ + κ₂/s₂⁴), and the
             rows (1 − ρ²)² more.
coefficient  β of y = βx + e, e of variance r²: noise (s²(V_y + β²V_x) + V_x(r² + V_y) + β²κ_x)/s⁴, and the rows r²/s² more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.channels import Channel, Discrete, Transition
from sfumato.counts import FloatArray, Grid
from sfumato.errors import UsageError
from sfumato.plans import channel_for, noise_for
from sfumato.questions.functions import OfLabels, unit_of
from sfumato.questions.weights import ColumnWeights, law_on_points
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column
from sfumato.text import join_names

FIGURES = ("mean", "share", "count", "difference", "correlation", "coefficient")
Z = 1.959963984540054


@dataclass(frozen=True)
class Power:
    """Rows and the error that they give.

    Attributes
    ----------
    figure : str
        What is estimated.
    rows : int
        Rows of the release.
    error : float
        Half the width of the 95 % interval for the figure of the table behind the release: the noise alone.
    population_error : float
        The same for a population that the rows are a sample of.
    noise : str
        The law, in words.
    assumes : str
        What the formula supposes of the true values.

    Examples
    --------
    >>> import sfumato as sf
    >>> plan = sf.power("mean", rows=10_000, noise="gaussian", privacy=0.5, domain=(0, 100), sd=15)
    >>> round(plan.error, 2), round(plan.population_error, 2)
    (0.25, 0.39)
    """

    figure: str
    rows: int
    error: float
    population_error: float
    noise: str
    assumes: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "figure": self.figure,
            "rows": self.rows,
            "error": float(f"{self.error:.12g}"),
            "se": float(f"{self.error / Z:.12g}"),
            "population_error": float(f"{self.population_error:.12g}"),
            "noise": self.noise,
            "assumes": self.assumes,
        }

    def in_words(self) -> list[str]:
        """Say it in sentences."""
        errors = f"± {self.error:.4g} for the table behind the release (95 %), ± {self.population_error:.4g} for a population"
        return [f"{self.figure} with {self.rows:,} rows: {errors}", f"noise: {self.noise}", f"supposing {self.assumes}"]


def power(
    figure: str,
    *,
    rows: int | None = None,
    error: float | None = None,
    population: bool = False,
    noise: str | None = None,
    privacy: float | None = None,
    options: Mapping[str, Any] | None = None,
    domain: Sequence[float] = (0.0, 100.0),
    sd: float | None = None,
    share: float = 0.5,
    labels: int = 2,
    rho: float = 0.0,
    slope: float = 0.0,
    residual: float | None = None,
    response: Sequence[float] | None = None,
) -> Power:
    """Plan a release without data: the error that rows give, or the rows that an error needs.

    Parameters
    ----------
    figure : str
        `mean`, `share`, `count`, `difference` (of the means of two groups), `correlation` or `coefficient` (of a regression).
    rows, error
        One of them: rows of the release, or half the width of the 95 % interval that is wanted.
    population : bool
        Whether `error` is that for a population, which counts the chance of the rows, too.
    noise, privacy, options
        The law and its strength, as for `release`; labels have the law that it gives to columns of labels.
    domain : pair of float
        The domain of the column of numbers.
    sd : float, optional
        The standard deviation of its true values; a quarter of the domain unless given.
    share : float
        The share of the label, or of the first group.
    labels : int
        How many labels the column has.
    rho : float
        The correlation that is expected.
    slope : float
        The coefficient that is expected.
    residual : float, optional
        The standard deviation of the response around the regression; a quarter of its domain unless given.
    response : pair of float, optional
        The domain of the response; that of the predictor unless given.

    Returns
    -------
    Power
        Rows, both errors, and what was supposed.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.power("share", error=0.01, noise="substitution", options={"gamma": 19}, share=0.2).rows
    2253
    """
    max_rows = 10**15
    if figure not in FIGURES:
        raise UsageError(f"there is no figure {figure!r} to plan; plan one of {join_names(FIGURES, 12)}")
    if (rows is None) == (error is None):
        raise UsageError("give exactly one of rows and error: the other is the answer")
    if rows is not None and not 1 <= rows <= max_rows:
        raise UsageError(f"rows = {rows} must be a positive number")
    if error is not None and not 1e-100 < error < math.inf:
        raise UsageError(f"error = {error:g} must be a positive number that rows can reach")
    if not 0 < share < 1 or not -1 < rho < 1 or not 2 <= labels <= 10_000:
        raise UsageError(
            "share lies between 0 and 1, rho between -1 and 1, and there are from 2 to 10,000 labels; correct it"
        )
    law, companion = noise_for(noise, privacy, options or {})
    world = _World.of(law, companion, domain, sd, response, residual)
    influence = _influence(figure, world, share=share, labels=labels, rho=rho, slope=slope)
    per_row = influence.population if population else influence.noise
    if figure == "count":  # n times a share
        if rows is None:
            rows = max(math.floor((float(error or 0.0) / Z) ** 2 / per_row), 1) if per_row > 0 else max_rows
        scale = math.sqrt(rows)
    else:
        if rows is None:
            rows = max(math.ceil(per_row * (Z / float(error or 1.0)) ** 2), 1)
        scale = 1 / math.sqrt(rows)
    own, whole = (Z * math.sqrt(v) * scale for v in (influence.noise, influence.population))
    return Power(figure, int(rows), own, whole, influence.law, influence.assumes)


@dataclass(frozen=True)
class _Influence:
    """The variance of a row's influence: of the noise alone, and with the row."""

    noise: float
    population: float
    law: str
    assumes: str


@dataclass(frozen=True)
class _Number:
    """A column of numbers as its weights see it, in the unit of the column."""

    sd: float
    variance: float
    """V, the variance of the noise of a weight."""
    kurtosis: float
    """κ = E ε⁴ − V²."""
    words: str

    @classmethod
    def of(cls, law: Channel, companion: Channel, domain: tuple[float, float], sd: float) -> _Number:
        """Bind a law to a domain; the noise is averaged over a normal column in its middle."""
        attribute = Attribute("x", Kind.REAL, Interval(*domain))
        channel, _ = channel_for(law, companion, attribute)
        bound = channel.on(attribute)
        reader = ColumnWeights.of(Column(attribute, bound, np.empty(0)))
        low, width = unit_of(attribute)
        if isinstance(bound, Discrete):
            true = Grid(atoms=np.linspace(*domain, 201))
            seen = Grid(atoms=np.sort(np.asarray(bound.representatives)))
            kernel = Transition.of(bound, true, seen).matrix.dense()
            points, released = true.points, seen.points
        else:
            points, released, kernel = law_on_points(bound, attribute)
        weight = low + width * reader.power(1)(released)
        mass = np.exp(-0.5 * ((points - sum(domain) / 2) / sd) ** 2)
        mass /= mass.sum()
        away = weight[:, None] - (weight @ kernel)[None, :]
        second, fourth = ((away**k * kernel).sum(axis=0) for k in (2, 4))
        return cls(sd, float(second @ mass), float((fourth - second**2) @ mass), bound.in_words())


@dataclass(frozen=True)
class _World:
    """The laws, and what the true values are supposed to be."""

    law: Channel
    companion: Channel
    domain: tuple[float, float]
    sd: float
    response: tuple[float, float]
    residual: float

    @classmethod
    def of(
        cls,
        law: Channel,
        companion: Channel,
        domain: Sequence[float],
        sd: float | None,
        response: Sequence[float] | None,
        residual: float | None,
    ) -> _World:
        for ends in (domain, response or domain):
            if len(ends) != 2 or not ends[1] > ends[0]:
                raise UsageError(f"domain {', '.join(f'{e:g}' for e in ends)} must be two ends, the lower one first")
        other = response or domain
        sizes = [
            (domain[1] - domain[0]) / 4 if sd is None else sd,
            (other[1] - other[0]) / 4 if residual is None else residual,
        ]
        if min(sizes) <= 0:
            raise UsageError("sd and residual must be positive numbers")
        return cls(law, companion, (domain[0], domain[1]), sizes[0], (other[0], other[1]), sizes[1])

    def number(self) -> _Number:
        return _Number.of(self.law, self.companion, self.domain, self.sd)

    def other(self) -> _Number:
        return _Number.of(self.law, self.companion, self.response, self.residual)

    def label(self, labels: int) -> tuple[FloatArray, FloatArray, FloatArray, str]:
        """Return the weights of a label and their chances for true rows with and without it, and the law in words."""
        names = tuple(f"label {i}" for i in range(labels))
        attribute = Attribute("label", Kind.CATEGORICAL, Categories(names))
        channel, _ = channel_for(self.law, self.companion, attribute)
        bound = channel.on(attribute)
        transition = Transition.of(bound, Grid.categories(names))
        kernel = transition.matrix.dense()
        reader = ColumnWeights.of(Column(attribute, bound, np.empty(0)))
        first = np.zeros(labels + 1)
        first[0] = 1.0
        weights = reader.weigh(OfLabels(tuple(first)))(transition.observed.centres)
        return weights, kernel[:, 0], kernel[:, 1:].mean(axis=1), bound.in_words()


def _influence(figure: str, world: _World, *, share: float, labels: int, rho: float, slope: float) -> _Influence:
    p = share
    if figure in ("share", "count"):
        weights, inside, outside, words = world.label(labels)
        square = float(weights**2 @ (p * inside + (1 - p) * outside))
        return _Influence(max(square - p, 0.0), square - p * p, words, f"a share of {p:g} and {labels} labels")
    x = world.number()
    if figure == "mean":
        return _Influence(x.variance, x.variance + x.sd**2, x.words, f"a standard deviation of {x.sd:g}")
    if figure == "difference":
        weights, inside, outside, words = world.label(labels)
        a = weights / p - (1 - weights) / (1 - p)
        square = float(a**2 @ (p * inside + (1 - p) * outside))
        total = (x.sd**2 + x.variance) * square
        own = x.sd**2 * (1 / p + 1 / (1 - p))
        return _Influence(
            total - own,
            total,
            f"{x.words}; labels {words}",
            f"a standard deviation of {x.sd:g} and a share of {p:g} in the first group",
        )
    y = world.other()
    if figure == "correlation":
        y = (
            _Number.of(world.law, world.companion, world.response, (world.response[1] - world.response[0]) / 4)
            if world.response != world.domain
            else x
        )
        one, two = x.variance / x.sd**2, y.variance / y.sd**2
        tails = 4 * one + x.kurtosis / x.sd**4 + 4 * two + y.kurtosis / y.sd**4
        noise = one + two + one * two - 2 * rho**2 * (one + two) + rho**2 / 4 * tails
        return _Influence(
            noise, noise + (1 - rho**2) ** 2, x.words, f"normal columns of standard deviation {x.sd:g} with ρ = {rho:g}"
        )
    bend = x.sd**2 * (y.variance + slope**2 * x.variance) + x.variance * (y.sd**2 + y.variance) + slope**2 * x.kurtosis
    noise, own = bend / x.sd**4, y.sd**2 / x.sd**2
    return _Influence(
        noise,
        noise + own,
        f"{x.words}; response {y.words}",
        f"a predictor of standard deviation {x.sd:g}, residuals of {y.sd:g} and a coefficient of {slope:g}",
    )
