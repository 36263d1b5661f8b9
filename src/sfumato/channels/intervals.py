"""Value-class membership (Agrawal & Srikant 2000, section 2): the release says only which interval a value lies in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.channels.base import (
    Channel,
    Guarantee,
    Settled,
    check_bins,
    check_exactly_one,
    check_fractions,
    check_numeric,
    check_positive,
    fact,
    wish,
)
from sfumato.channels.substitution import Discrete, Substitution, equal_signal
from sfumato.counts import FloatArray, Grid, WordArray
from sfumato.errors import UsageError
from sfumato.schema import Attribute


@dataclass(frozen=True)
class Intervals(Discrete):
    """Release the centre of the interval that holds the value.

    Parameters
    ----------
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain's range: at 95 %,
        0.95 W = privacy × range. Give this, `count` or `edges`.
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.
    count : int, optional
        Number of equal intervals.
    edges : tuple of float, optional
        The cuts between intervals, the domain's ends included.

    Notes
    -----
    There is no chance in it, so the interval itself is certain and no ε is finite.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> sf.Intervals(count=4).on(age).edges
    (0.0, 25.0, 50.0, 75.0, 100.0)
    """

    law: ClassVar[str] = "intervals"
    default: ClassVar[Mapping[str, float]] = {"privacy": 0.25}  # 0.5 would leave a single interval
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {"count": (2.0, 3.0, 5.0, 10.0, 20.0, 40.0), "privacy": ()}
    privacy: float | None = wish("interval width at the given confidence, as a fraction of the domain's range")
    confidence: float = wish("the confidence at which `privacy` is meant", 0.95)
    count: int | None = wish("number of equal intervals")
    edges: tuple[float, ...] | None = wish("the cuts between intervals, domain's ends included")
    step: float | None = fact("spacing of the true values, 0 where continuous")

    _edges = Settled[tuple[float, ...]]("edges")
    _step = Settled[float]("step")

    def on(self, attribute: Attribute) -> Self:
        """Set the edges on the domain."""
        check_numeric(self.law, attribute)
        where = f"{attribute.name}: {self.law}"
        check_exactly_one(where, privacy=self.privacy, count=self.count, edges=self.edges)
        check_positive(where, privacy=self.privacy, count=self.count)
        check_fractions(where, confidence=self.confidence)
        check_bins(where, count=self.count)
        low, high = attribute.interval.low, attribute.interval.high
        edges = self.edges
        if edges is None:
            count = self.count
            if count is None:
                # W = privacy·R/confidence is the least width that keeps the promise, so round the number down.
                count = math.floor(self.confidence / (self.privacy or math.inf) + 1e-9)
                check_bins(where, count=count)
                if count < 2:
                    raise UsageError(
                        f"{where}: privacy {self.privacy:g} leaves a single interval, which tells nothing; "
                        f"ask for at most {self.confidence / 2:g}, or use gaussian noise"
                    )
            edges = tuple(float(e) for e in np.linspace(low, high, count + 1))
        if len(edges) < 3 or not all(a < b for a, b in itertools.pairwise(edges)):
            raise UsageError(f"{where}: edges must increase and make at least two intervals")
        if not (math.isfinite(edges[0]) and math.isfinite(edges[-1])):
            raise UsageError(f"{where}: edges must be finite; begin and end with those of the domain")
        if edges[0] > low or edges[-1] < high:
            raise UsageError(
                f"{where}: edges reach from {edges[0]:g} to {edges[-1]:g} and leave part of [{low:g}, {high:g}] out"
            )
        edges = _within(edges, low - attribute.step / 2, high + attribute.step / 2)
        if len(edges) < 3:
            raise UsageError(f"{where}: the whole domain [{low:g}, {high:g}] lies in one interval; cut inside it")
        return replace(self, privacy=None, confidence=0.95, count=None, edges=edges, step=attribute.step)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The outermost edges."""
        return (self._edges[0], self._edges[-1]) if self.is_bound else None

    @classmethod
    def examples(cls) -> tuple[Channel, ...]:
        """Return a wish by number and one by width."""
        return cls(count=5), cls(privacy=0.2)

    def in_words(self) -> str:
        """Say how many intervals there are."""
        return f"centre of the interval that holds the true value ({len(self._edges) - 1} intervals)"

    def companion(self) -> Channel:
        """Return the substitution that leaves labels the signal that gaussian noise of this `privacy` leaves numbers."""
        return super().companion() if self.privacy is None else Substitution(signal=equal_signal(self.privacy))

    @property
    def lattice(self) -> float:
        """The attribute's own spacing."""
        return self._step

    @cached_property
    def bin_grid(self) -> Grid:
        """The intervals."""
        return Grid(edges=np.array(self._edges))

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:  # noqa: ARG002 - membership needs no chance
        """Return the centre of the interval that holds the value."""
        return self.representatives[self.bins_of(values)]

    def matrix_product(self, shares: FloatArray) -> FloatArray:
        """Return the shares: M is the identity, since every value stays in its interval."""
        return shares

    def guarantee(self) -> Guarantee:
        """Return none: the interval is released as it is."""
        return Guarantee(math.inf, "the interval of each value is released without any chance of another")

    def exact_table(self) -> dict[str, Any]:
        """Return the cuts between intervals and what each releases: there is no chance in it."""
        values = self.representatives
        return {"form": "fixed"} | self.bin_table() | {"worst": [float(values[0]), float(values[1]), float(values[0])]}

    def interval_width(self, confidence: float) -> float:
        """Return confidence × W of the narrowest interval."""
        return confidence * float(np.diff(np.array(self._edges)).min())


def _within(edges: tuple[float, ...], low: float, high: float) -> tuple[float, ...]:
    """Return the intervals as far as the domain reaches, with half a step beyond each end; outside there is nothing to hide."""
    first = max(i for i, e in enumerate(edges) if e <= low or i == 0)
    last = min(i for i, e in enumerate(edges) if e >= high or i == len(edges) - 1)
    return (max(edges[first], low), *edges[first + 1 : last], min(edges[last], high))
