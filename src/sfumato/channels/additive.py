"""What all additive laws share: released = true value, rounded to the grid of the release, plus noise in whole steps of it.

The noise N is drawn by integer arithmetic, so P(N = n) is known exactly. F is any function that has the values of its
distribution function halfway between whole steps: P(N ≤ n) = F((n + ½) step).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.channels.base import (
    Channel,
    Settled,
    answer,
    check_exactly_one,
    check_fractions,
    check_numeric,
    check_positive,
    check_representable,
    check_scale,
    fact,
    wish,
)
from sfumato.channels.substitution import Substitution, equal_signal
from sfumato.channels.transition import CellRule
from sfumato.counts import (
    MAX_OBSERVED_CELLS,
    FloatArray,
    Grid,
    IntArray,
    Members,
    WordArray,
    decade,
    differences,
    lattice_cut,
    lattice_index,
    lattice_value,
    snap,
)
from sfumato.schema import Attribute, Kind


@dataclass(frozen=True)
class Additive(Channel):
    """Add noise in whole steps to the rounded value. Subclasses give F, its integral G, the density it is meant for, and a draw."""

    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {"privacy": (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)}
    scale_field: ClassVar[str]
    """The field that holds the law's own parameter, such as `sigma`."""

    privacy: float | None = wish("interval width at the given confidence, as a fraction of the domain's range")
    confidence: float = wish("the confidence at which `privacy` is meant", 0.95)
    step: float | None = wish("grid of the released values; the attribute's own unless stated")
    low: float | None = fact("lower end of the domain")
    high: float | None = fact("upper end of the domain")

    _step = Settled[float]("step")
    _scale = Settled[float]("scale")

    @property
    def scale(self) -> float | None:
        """The law's own parameter, if it is set."""
        scale: float | None = getattr(self, self.scale_field)
        return scale

    @answer
    @abstractmethod
    def cdf(self, t: FloatArray) -> FloatArray:
        """Return F(t), exact where t is halfway between two whole steps."""

    @answer
    @abstractmethod
    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """Return G(t) = ∫ F from −∞ to t."""

    @answer
    @abstractmethod
    def density(self, t: FloatArray) -> FloatArray:
        """Return f(t), the density that the noise is meant to have."""

    @abstractmethod
    def quantile_width(self, confidence: float) -> float:
        """Return the width, in units of `scale`, of the central interval that holds y with this confidence."""

    @answer
    @abstractmethod
    def noise(self, words: WordArray) -> IntArray:
        """Draw N, the noise in whole steps, from two random words each."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """How far the noise carries, all but a negligible part of it."""

    def on(self, attribute: Attribute) -> Self:
        """Set the scale from `privacy` and the domain's range, and the grid from the attribute's resolution.

        A continuous column is released on a grid at least 500 times finer than the scale of its noise. No noise leads
        farther than 16 scales, whatever its law and however many rows.
        """
        check_numeric(self.law, attribute)
        where = f"{attribute.name}: {self.law}"
        wishes = {"privacy": self.privacy, self.scale_field: self.scale}
        check_exactly_one(where, **wishes)
        check_positive(where, **wishes)
        check_fractions(where, confidence=self.confidence)
        interval, scale = attribute.interval, self.scale
        if scale is None:
            scale = (self.privacy or 0.0) * interval.range / self.quantile_width(self.confidence)
        check_positive(where, step=self.step)
        step = self.step or attribute.step
        if attribute.kind is Kind.REAL and not step:
            step = decade(scale / 500)
        check_scale(attribute, step, scale)
        check_representable(attribute, step, 16 * scale)
        bound = {"privacy": None, self.scale_field: float(scale)}
        return replace(self, **bound, confidence=0.95, step=step, low=interval.low, high=interval.high)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the domain."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def in_words(self) -> str:
        """Say what is added, and on which grid it is released."""
        rounded = f", rounded to multiples of {self.step:g}" if self.step else ""
        return f"true value plus {self.noise_in_words()}{rounded}"

    @abstractmethod
    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""

    def companion(self) -> Channel:
        """Return the substitution that leaves labels as correlated with the truth as this noise leaves numbers."""
        return super().companion() if self.privacy is None else Substitution(signal=equal_signal(self.privacy))

    def draw_inputs(self) -> dict[str, Any]:
        """Return all but the domain: the noise is the same wherever the domain ends."""
        return {k: v for k, v in self.to_dict().items() if k not in ("low", "high")}

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Return (k + N) step, where k step is the rounded value."""
        place = lattice_index(values, self._step)
        place += self.noise(words)
        return lattice_value(place, self._step)

    def interval_width(self, confidence: float) -> float:
        """Return the width as in Table 1 of the 2000 paper."""
        return self.quantile_width(confidence) * self._scale

    def observed_grid(self, true: Grid) -> Grid:
        """Return the true grid's spacing continued outward by the reach of the noise, cuts between the released values."""
        edges = true.finite_edges
        step = self._step
        width = max(float(np.median(np.diff(edges))), step)
        low, high = edges[0] - self.reach, edges[-1] + self.reach
        width = max(width, (high - low) / MAX_OBSERVED_CELLS)
        if step:
            width = step * max(1, round(width / step))
        below = math.ceil((edges[0] - low) / width)
        cells = below + math.ceil((high - edges[0]) / width)
        cuts = edges[0] + width * (np.arange(cells + 1) - below)
        cuts = np.unique(lattice_cut(cuts, step))
        cuts[0], cuts[-1] = -np.inf, np.inf
        return Grid(edges=cuts, step=step)

    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Return exact cell probabilities, or f(m_s − m_p) · width as equation 3 of the 2000 paper has it."""
        if rule is CellRule.MIDPOINT:
            # As it stands, with column sums that need not be 1. On `observed_grid` a difference is half a step off any
            # multiple of the width, so that no density jumps exactly there and rounding does not decide.
            widths = np.diff(observed.finite_edges)
            return self.density(observed.centres[:, None] - true.centres[None, :]) * widths[:, None]
        cuts = lattice_cut(observed.inner_cuts, self._step)
        return differences(self.mean_cdf(true, cuts))

    def mean_cdf(self, true: Grid, cuts: FloatArray) -> FloatArray:
        """Return P(released < cut | x in cell p), the mean of F(cut − k step) over the cell, for cuts between released values.

        For x uniform on [lo, hi] that is [H(cut − lo) − H(cut − hi)] / (hi − lo), H the integral of F as a staircase.
        """
        members = Members.of(true)
        if members is not None:
            return members.mean(self.cdf(cuts[:, None] - snap(members.values, self._step)))
        edges = true.finite_edges
        grown = self._staircase_integral(cuts[:, None] - edges)
        return (grown[:, :-1] - grown[:, 1:]) / np.diff(edges)

    def _staircase_integral(self, t: FloatArray) -> FloatArray:
        """Return H(t): the integral of F that keeps, between multiples of the step, its value in the middle.

        A value is rounded before noise is added, so P(released < cut | x) is a staircase in x, and H is straight between
        multiples of the step. There it is the sum of F; where the noise is wider than 512 steps, the integral of F, which
        differs by step² |f′|/24 at most: less than 10⁻⁷ of the scale. So it is where a law was given no grid at all.
        """
        step = self._step
        if not step:
            return self.cdf_integral(t)
        node = np.floor(t / step)
        part = t / step - node
        below, above = self._summed_cdf(node), self._summed_cdf(node + 1)
        above -= below
        above *= part
        above += below
        return above

    def _summed_cdf(self, node: FloatArray) -> FloatArray:
        """Return H at multiples of the step."""
        step = self._step
        if self._scale > 512 * step:
            return self.cdf_integral(node * step)
        sums, half = self._sums
        inside = np.clip(node + half, 0, 2 * half)
        return step * (sums.take(inside.astype(np.int64)) + np.maximum(node - half, 0.0))

    @cached_property
    def _sums(self) -> tuple[FloatArray, int]:
        """Σ F over the middles of the steps up to each multiple, from `half` steps below zero to as many above."""
        half = math.ceil(40 * self._scale / self._step) + 1
        middles = self._step * (np.arange(-half, half, dtype=np.float64) + 0.5)
        return np.append(0.0, np.cumsum(self.cdf(middles))), half
