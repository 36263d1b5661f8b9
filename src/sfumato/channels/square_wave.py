"""The square wave mechanism (Li et al., SIGMOD 2020): ε-private reports whose distribution reconstructs well.

With x scaled to [0, 1] the report y in [−b, 1+b] has density p where |y − x| ≤ b and q = p/e^ε elsewhere:
b = (ε e^ε − e^ε + 1) / (2 e^ε (e^ε − 1 − ε)) maximises the mutual information.

Here it is a law of grid points: of the M = d + 2h points of the release (d of them in the domain), the 2h + 1 around the
rounded value are likelier than the others by e^ε at most, h steps being next to b.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.channels.base import (
    Channel,
    Guarantee,
    Settled,
    check_epsilon,
    check_exactly_one,
    check_fractions,
    check_numeric,
    check_positive,
    check_representable,
    fact,
    wish,
)
from sfumato.channels.substitution import Substitution, equal_signal
from sfumato.channels.transition import CellRule
from sfumato.channels.uniform import Uniform
from sfumato.counts import (
    MAX_OBSERVED_CELLS,
    FloatArray,
    Grid,
    WordArray,
    decade,
    differences,
    lattice_cut,
    lattice_index,
    lattice_value,
)
from sfumato.errors import UsageError
from sfumato.schema import Attribute, Kind
from sfumato.tables import OwnOrAny, choose, exponential


@dataclass(frozen=True)
class SquareWave(Channel):
    """Report a number near the true value with high density, anywhere with low; ε is finite.

    Parameters
    ----------
    epsilon : float, optional
        ε of local differential privacy. Give this or `privacy`.
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain's range.
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> law = sf.SquareWave(epsilon=1.0).on(age)
    >>> law.in_words()
    'square-wave report, ε = 1, rounded to multiples of 1'
    >>> round(law.half_width, 3)
    0.255
    """

    law: ClassVar[str] = "square-wave"
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {"epsilon": (0.5, 1.0, 2.0, 3.0, 4.0, 6.0), "privacy": ()}
    epsilon: float | None = wish("ε of local differential privacy")
    privacy: float | None = wish("interval width at the given confidence, as a fraction of the domain's range")
    confidence: float = wish("the confidence at which `privacy` is meant", 0.95)
    low: float | None = fact("lower end of the domain")
    high: float | None = fact("upper end of the domain")
    step: float | None = fact("grid of the released values")

    _epsilon = Settled[float]("epsilon")
    _low = Settled[float]("low")
    _high = Settled[float]("high")
    _step = Settled[float]("step")

    def on(self, attribute: Attribute) -> Self:
        """Set ε and the domain; a continuous column is released in at least 1,000 steps."""
        check_numeric(self.law, attribute)
        where = f"{attribute.name}: {self.law}"
        check_exactly_one(where, epsilon=self.epsilon, privacy=self.privacy)
        check_positive(where, epsilon=self.epsilon, privacy=self.privacy)
        check_fractions(where, confidence=self.confidence)
        interval = attribute.interval
        step = attribute.step
        if attribute.kind is Kind.REAL and not step:
            step = decade(interval.range / 1000)
        check_representable(attribute, step, interval.range)  # since b ≤ ½
        epsilon = self.epsilon
        if epsilon is None:
            epsilon = _epsilon_of_width(where, self.privacy or 0.0, self.confidence)
        check_epsilon(where, epsilon)
        return replace(
            self, epsilon=epsilon, privacy=None, confidence=0.95, low=interval.low, high=interval.high, step=step
        )

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the domain."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @classmethod
    def examples(cls) -> tuple[Channel, ...]:
        """Return a wish of either kind."""
        return cls(epsilon=1.0), cls(privacy=0.6)

    def in_words(self) -> str:
        """Name the report with its ε."""
        step = f", rounded to multiples of {self.step:g}" if self.step else ""
        return f"square-wave report, ε = {self._epsilon:.4g}{step}"

    def companion(self) -> Channel:
        """Return the substitution of the same ε, or of the same signal where `privacy` was asked for."""
        if self.privacy is not None:
            return Substitution(signal=equal_signal(self.privacy))
        return super().companion() if self.epsilon is None else Substitution(epsilon=self.epsilon)

    @cached_property
    def _places(self) -> tuple[int, int]:
        """The steps of both ends of the domain."""
        low, high = lattice_index(np.array([self._low, self._high]), self._step)
        return int(low), int(high)

    @cached_property
    def window(self) -> int:
        """h: the points within h steps of the value are the likelier ones; 2h + 1 of them are a share 2b of the domain's."""
        low, high = self._places
        return max(round(half_width(self._epsilon) * (high - low + 1) - 0.5), 0)

    @cached_property
    def table(self) -> OwnOrAny:
        """The law in whole numbers."""
        low, high = self._places
        points = high - low + 1 + 2 * self.window
        return OwnOrAny.within(exponential(Fraction(self._epsilon))[0], 2 * self.window + 1, points)

    @cached_property
    def half_width(self) -> float:
        """The b of the paper as it is drawn, on the unit scale: h and half a step."""
        return (self.window + 0.5) * self._step / self._span

    @property
    def near(self) -> float:
        """The weight of the near part, 2b(p − q)."""
        return self.table.near

    @cached_property
    def noise_near(self) -> Uniform:
        """The noise of the near part: uniform within h steps, which is all of the h + ½ steps before rounding."""
        return Uniform(alpha=(self.window + 0.5) * self._step, step=self.step, low=self.low, high=self.high)

    @cached_property
    def reports_between(self) -> tuple[float, float]:
        """Half a step beyond the lowest and the highest report."""
        low, high = self._places
        return (low - self.window - 0.5) * self._step, (high + self.window + 0.5) * self._step

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Draw one of the 2h + 1 points near the value, or one of all."""
        place = lattice_index(values, self._step)
        far = np.flatnonzero(~self.table.draws_own(words[:, 0]))
        place += choose(words[:, 1], self.table.own)
        place[far] = choose(words[far, 1], self.table.every) + self._places[0]
        place -= self.window
        return lattice_value(place, self._step)

    def observed_grid(self, true: Grid) -> Grid:
        """Return the true grid's spacing over [−b, 1+b]."""
        step = self._step
        low, high = self.reports_between
        width = max(float(np.median(np.diff(true.finite_edges))), step, (high - low) / MAX_OBSERVED_CELLS)
        if step:
            width = step * max(1, round(width / step))
        cells = math.ceil((high - low) / width)
        cuts = np.unique(lattice_cut(low + width * np.arange(cells + 1, dtype=np.float64), step))
        cuts[0], cuts[-1] = -np.inf, np.inf
        return Grid(edges=cuts, step=step)

    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Return a mixture of uniform noise of half-width b and a uniform report that knows nothing."""
        near, rest, noise = self.table.near, self.table.rest, self.noise_near
        low, high = self.reports_between
        if rule is CellRule.MIDPOINT:
            nothing = np.diff(observed.finite_edges)[:, None] / (high - low)
            return near * noise.transition(true, observed, rule) + rest * nothing
        cuts = lattice_cut(observed.inner_cuts, self._step)
        anywhere = np.clip((cuts - low) / (high - low), 0.0, 1.0)[:, None]
        # Apart, since a small rest would be lost beside a distribution function near 1.
        return near * differences(noise.mean_cdf(true, cuts)) + rest * differences(anywhere)

    def guarantee(self) -> Guarantee:
        """Return γ as counted from the table, the largest that is at most e^ε."""
        return Guarantee.of(self.table.gamma)

    def exact_table(self) -> dict[str, Any]:
        """Return the table, and the points that it speaks of."""
        low, high = self._places
        worst = lattice_value(np.array([high, low, high + self.window], dtype=np.float64), self._step)
        places = {"low": low, "high": high, "window": self.window, "step": self._step}
        return self.table.to_dict() | {"set": "window"} | places | {"worst": worst.tolist()}

    def interval_width(self, confidence: float) -> float:
        """Return the posterior width on a uniform prior, averaged over reports from the middle of the domain."""
        return square_width(self._epsilon, confidence) * self._span

    @property
    def _span(self) -> float:
        return self._high - self._low


def half_width(epsilon: float) -> float:
    """Return the b that maximises mutual information; ½ in the limit ε → 0, where the quotient is 0/0."""
    if epsilon < 1e-3:
        return 0.5 - epsilon / 6  # (ε e^ε − e^ε + 1)/(2 e^ε(e^ε − 1 − ε)) = ½ − ε/6 + O(ε²)
    grown = math.exp(epsilon)
    return (epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - epsilon))


def square_width(epsilon: float, confidence: float, points: int = 201) -> float:
    """Return the mean width of the smallest set of true values with this posterior probability, prior uniform on [0, 1]."""
    b, ratio = half_width(epsilon), math.exp(epsilon)
    place = np.linspace(0.0, 1 + 2 * b, points)
    # How much of [0, 1] lies within b of the report.
    near = np.minimum.reduce([place, 1 + 2 * b - place, np.full(points, min(2 * b, 1.0))])
    mass = near * ratio + (1 - near)
    needed = confidence * mass
    width = np.where(needed <= near * ratio, needed / ratio, near + (needed - near * ratio))
    return float(np.average(width, weights=mass))


def _epsilon_of_width(where: str, privacy: float, confidence: float) -> float:
    low, high = 1e-3, 50.0
    if not square_width(high, confidence) < privacy < square_width(low, confidence):
        raise UsageError(
            f"{where}: privacy {privacy:g} is out of reach, since a posterior stays within the domain; "
            f"ask for less than {square_width(low, confidence):.3g}, or give epsilon"
        )
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if square_width(middle, confidence) > privacy else (low, middle)
    return (low + high) / 2
