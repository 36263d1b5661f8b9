"""What all additive laws share: released = true + independent noise, rounded to the grid of the release."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sfumato.channels.base import (
    MOST_CELLS,
    CellRule,
    Channel,
    Members,
    between_0_and_1,
    bound,
    decade,
    differences,
    exactly_one,
    inner_cuts,
    lattice_cut,
    numeric_only,
    positive,
    representable,
    snap,
    wish,
)
from sfumato.counts import FloatArray, Grid
from sfumato.hashing import WordArray
from sfumato.schema import Attribute, Kind

STEPS_A_SCALE = 500
"""A continuous column is released on a grid at least this much finer than the scale of its noise."""
FARTHEST = 16
"""Scales beyond which no noise leads, whatever its law and however many rows."""


@dataclass(frozen=True)
class Additive(Channel):
    """x + y on a grid: subclasses give the law of y by its distribution function F, its integral G, and a draw."""

    privacy: float | None = wish("interval width at the given confidence, as a fraction of the domain's range")
    confidence: float = wish("the confidence at which `privacy` is meant", 0.95)
    step: float | None = wish("grid of the released values; the attribute's own unless stated")
    low: float | None = bound("lower end of the domain")
    high: float | None = bound("upper end of the domain")

    @property
    @abstractmethod
    def scale(self) -> float | None:
        """The law's own parameter, if it is settled."""

    @abstractmethod
    def with_scale(self, scale: float) -> Self:
        """The same law with its own parameter set."""

    @abstractmethod
    def cdf(self, t: FloatArray) -> FloatArray:
        """F(t) = P(y ≤ t)."""

    @abstractmethod
    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """G(t) = ∫ F from −∞ to t."""

    @abstractmethod
    def density(self, t: FloatArray) -> FloatArray:
        """f(t)."""

    @abstractmethod
    def quantile_width(self, confidence: float) -> float:
        """The width, in units of `scale`, of the central interval that holds y with this confidence."""

    @abstractmethod
    def noise(self, words: WordArray) -> FloatArray:
        """Draws of y from one random word each."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """How far the noise carries, all but a negligible part of it."""

    def on(self, attribute: Attribute) -> Self:
        """Settle the scale from `privacy` and the domain's range, and the grid from the attribute's resolution."""
        numeric_only(self.law, attribute)
        own = next(f for f in self.__dataclass_fields__ if f not in Additive.__dataclass_fields__)
        exactly_one(f"{attribute.name}: {self.law}", **{"privacy": self.privacy, own: self.scale})
        positive(f"{attribute.name}: {self.law}", **{"privacy": self.privacy, own: self.scale})
        between_0_and_1(f"{attribute.name}: {self.law}", confidence=self.confidence)
        span = attribute.interval.range
        scale = self.scale
        if scale is None:
            scale = (self.privacy or 0.0) * span / self.quantile_width(self.confidence)
        positive(f"{attribute.name}: {self.law}", step=self.step)
        step = self.step or attribute.step
        if attribute.kind is Kind.REAL and not step:
            step = decade(scale / STEPS_A_SCALE)
        representable(attribute, step, FARTHEST * scale)
        return replace(
            self.with_scale(float(scale)),
            confidence=0.95,
            step=step,
            low=attribute.interval.low,
            high=attribute.interval.high,
        )

    def drawn_by(self) -> dict[str, Any]:
        """All but the domain: x + y is the same wherever the domain ends."""
        return {k: v for k, v in self.to_dict().items() if k not in ("low", "high")}

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """X + y, on the grid."""
        noisy = self.noise(words[:, 0])
        noisy += values
        return snap(noisy, self.step or 0.0)

    def interval_width(self, confidence: float) -> float:
        """Table 1 of the 2000 paper."""
        return self.quantile_width(confidence) * (self.scale or math.nan)

    def observed_grid(self, true: Grid) -> Grid:
        """The true grid's spacing continued outward by the reach of the noise, cuts between the released values."""
        edges = true.finite_edges
        step = self.step or 0.0
        width = max(float(np.median(np.diff(edges))), step)
        low, high = edges[0] - self.reach, edges[-1] + self.reach
        width = max(width, (high - low) / MOST_CELLS)
        if step:
            width = step * max(1, round(width / step))
        below = math.ceil((edges[0] - low) / width)
        cells = below + math.ceil((high - edges[0]) / width)
        cuts = edges[0] + width * (np.arange(cells + 1) - below)
        cuts = np.unique(lattice_cut(cuts, step))
        cuts[0], cuts[-1] = -np.inf, np.inf
        return Grid(edges=cuts, step=step)

    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Exact cell probabilities, or f(m_s − m_p) · width as equation 3 of the 2000 paper has it."""
        if rule is CellRule.MIDPOINT:
            # As it stands, with column sums that need not be 1. On `observed_grid` a difference is half a step off any
            # multiple of the width, so that no density jumps exactly there and rounding does not decide.
            widths = np.diff(observed.finite_edges)
            return self.density(observed.centres[:, None] - true.centres[None, :]) * widths[:, None]
        cuts = lattice_cut(inner_cuts(observed), self.step or 0.0)
        return differences(self.mean_cdf(true, cuts))

    def mean_cdf(self, true: Grid, cuts: FloatArray) -> FloatArray:
        """P(x + y < cut | x in cell p): the mean of F(cut − x) over the cell.

        For x uniform on [lo, hi] that is [G(cut − lo) − G(cut − hi)] / (hi − lo).
        """
        members = Members.of(true)
        if members is not None:
            return members.mean(self.cdf(cuts[:, None] - members.values))
        edges = true.finite_edges
        grown = self.cdf_integral(cuts[:, None] - edges)
        return (grown[:, :-1] - grown[:, 1:]) / np.diff(edges)
