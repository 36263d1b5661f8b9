"""Noise that was drawn carelessly: several times for the same rows, twice from the same draws, or on a grid of its own.

Independent noise averages out, and the channels say exactly how: the posterior from releases y₁ … y_k is ∝ π(x) Π K_r(y_r | x). For
gaussian noise that is the average, for other laws it is the right thing in its place.

Noise that was used twice, at two scales, gives the original away. With y₁ = x + σ₁z and y₂ = x + σ₂z the attacker solves
x = (σ₂ y₁ − σ₁ y₂)/(σ₂ − σ₁). The releases alone show whether it is so: the variance of y₁ − y₂ is (σ₁ − σ₂)² then, and σ₁² + σ₂²
when the draws are independent.

Where noise lives on a grid of its own, the digits below it are the true ones. There are two ways to lose: relative noise in whole
percents, which leaves y/(1 + e) on the grid of the data for the true e alone (the 2003 paper's noise on fine columns); and additive
noise on a coarser grid than the data, which leaves y mod g = x mod g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import CHUNK, Claim, Grants, Knowledge, Recovery, Remedy, ValueAttack, View
from sfumato.attacks.column_posterior import RowSets, clip_to_domain
from sfumato.channels import MAX_CELLS_AT_ONCE, Additive, DenseKernel, Kernel
from sfumato.counts import FloatArray, IntArray
from sfumato.findings import Note
from sfumato.table import Column

LogRows = Callable[[IntArray], FloatArray]
"""Released cells → log K, one row each."""


@dataclass(frozen=True)
class ComparesReleases(ValueAttack):
    """An attack by somebody who holds other releases of the same rows, some of them drawn again where `redrawn` says so."""

    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.OTHER_RELEASES})
    redrawn: ClassVar[bool] = False
    others: tuple[View, ...] = ()

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with the other releases, or say that there are none."""
        others = (*(grants.others or ()), *(grants.redrawn if cls.redrawn else ()))
        return cls(others) if others else "no other release of the same rows was given"

    def same_column(self, column: Column) -> list[Column]:
        """Return the column as the other releases have it."""
        return [s[column.name] for s in self.others if column.name in s.names]


@dataclass(frozen=True)
class Averaging(ComparesReleases):
    """Combine this release with others of the same rows, row by row."""

    name: ClassVar[str] = "averaging"
    title: ClassVar[str] = "Averaging over repeated releases"
    assumes: ClassVar[str] = "The manifests of all releases, and that their rows stand in the same order."
    redrawn: ClassVar[bool] = True
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF415",
            "Several releases with fresh noise average out. Keep to one release, or tie the noise to people with an id column.",
        ),
        instead=Note(
            "SF415",
            "Several releases with fresh noise average out. The noise of this one is tied to people already, so the others were made "
            "under another law, another key or without an id column: keep to one law and one key, and withdraw what you can.",
        ),
        taken=lambda manifest: manifest.addressing == "entity",
    )

    def run(self, view: View) -> Claim:
        """Return one recovery per column that another release has with fresh noise."""
        recoveries, fresh = [], {}
        for column in view.columns:
            if column.channel is None:
                continue
            views = keep_independent(column, self.same_column(column))
            fresh[column.name] = len(views)
            if len(views) > 1:
                recoveries.append(Combined.of(view.beliefs[column.name], views[1:]).recovery())
        if not recoveries:
            return Claim(notes={"views": fresh}, skipped="the other releases add no independent noise")
        return Claim(tuple(recoveries), {"views": fresh})


def keep_independent(column: Column, others: list[Column]) -> list[Column]:
    """Return the column and those of the others whose noise differs from all before: the same noise again teaches nothing."""
    max_equal = 0.9  # share of equal cells from which two columns hold the same noise
    kept = [column]
    for other in others:
        if len(other.values) != len(column.values):
            continue
        if all(_equal_share(other, k) < max_equal for k in kept):
            kept.append(other)
    return kept


def _equal_share(first: Column, second: Column) -> float:
    if first.channel != second.channel:
        return 0.0
    known = ~np.isnan(first.values) & ~np.isnan(second.values)
    if first.channel is not None and len(np.unique(first.values[known])) <= 50:
        # Few possible values agree by chance too; only complete agreement tells.
        return float(np.array_equal(first.values[known], second.values[known]))
    return float(np.mean(first.values[known] == second.values[known])) if known.any() else 1.0


@dataclass(frozen=True, eq=False)
class Combined(RowSets):
    """Several views of one column: a table of log-likelihoods and a released cell for each row, view by view."""

    views: tuple[tuple[LogRows, IntArray], ...]

    @classmethod
    def of(cls, belief: Belief, others: list[Column]) -> Combined:
        """The column of this release and of others."""
        views = [(_log_rows(belief.kernel), belief.codes)]
        for other in others:
            transition = other.transition(belief.grid)
            views.append((_log_rows(transition.matrix), other.locate(transition.observed)))
        return cls(belief, tuple(views))

    def tables(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield the rows that all views hold, some at a time, each with a posterior of its own."""
        known = np.flatnonzero(np.all([codes >= 0 for _, codes in self.views], axis=0))
        start = _logs(self.belief.prior)
        step = CHUNK if self.belief.ranked is None else max(1, MAX_CELLS_AT_ONCE // self.belief.grid.size)
        for begin in range(0, len(known), step):
            rows = known[begin : begin + step]
            logs = start + sum(of(codes[rows]) for of, codes in self.views)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            yield rows, np.arange(len(rows)), weights / weights.sum(axis=1, keepdims=True)


def _logs(values: FloatArray) -> FloatArray:
    return np.log(np.maximum(values, 1e-300))


def _log_rows(kernel: Kernel) -> LogRows:
    if isinstance(kernel, DenseKernel):
        table = _logs(kernel.dense())
        return lambda codes: table[codes]
    return lambda codes: _logs(kernel.rows(codes))


@dataclass(frozen=True)
class NoiseReuse(ComparesReleases):
    """Look for additive columns whose noise in two releases is one draw at two scales."""

    name: ClassVar[str] = "noise-reuse"
    title: ClassVar[str] = "Noise used twice"
    assumes: ClassVar[str] = "Two releases of the same rows in the same order, and both manifests."
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF416",
            "One draw of noise at two scales cancels. Withdraw one of the releases, and give each law its own noise.",
        )
    )

    def run(self, view: View) -> Claim:
        """Return one recovery per column whose noise was used twice, and notes on those that repeat the same values."""
        recoveries, repeated, fresh = [], [], []
        for column in view.columns:
            for other in self.same_column(column):
                if column.channel is None or len(other.values) != len(column.values):
                    continue
                if column.channel == other.channel and np.array_equal(column.values, other.values, equal_nan=True):
                    repeated.append(column.name)
                elif (values := _solve_shared(column, other)) is not None:
                    recoveries.append(Recovery(column.name, values, values))
                else:
                    fresh.append(column.name)
        notes = {"same_values_again": repeated, "independent_noise": fresh}
        if not recoveries:
            return Claim(notes=notes, skipped="no noise was used twice at different scales")
        return Claim(tuple(recoveries), notes)


def _solve_shared(first: Column, second: Column) -> FloatArray | None:
    """Return the original where the two columns share their noise, else None."""
    a, b = first.channel, second.channel
    if not (isinstance(a, Additive) and isinstance(b, Additive) and type(a) is type(b)):
        return None
    s1, s2 = a.scale or math.nan, b.scale or math.nan
    if not abs(s1 - s2) > 1e-9 * max(s1, s2):
        return None
    difference = first.values - second.values
    unit = a.quantile_width(0.5) / 2
    measured = float(np.nanmedian(np.abs(difference))) / unit
    slack = (a.step or 0.0) + (b.step or 0.0)
    one_draw, two_draws = abs(s1 - s2), math.hypot(s1, s2)
    if measured - slack > (one_draw + two_draws) / 2:
        return None
    return (s2 * first.values - s1 * second.values) / (s2 - s1)


@dataclass(frozen=True)
class RepeatedPerturbation(ValueAttack):
    """Send the released values through the public law `times` more times, with the attacker's own chance.

    Dowd, Xu & Zhang 2006, section 4, hope to come back to x. It works where f(f(x)) = x, as for a reflection. For a channel it
    cannot: the attacker's copy depends on the release and on chance alone, so it knows no more than the release does.
    """

    name: ClassVar[str] = "repeated-perturbation"
    title: ClassVar[str] = "Perturbing the release again"
    assumes: ClassVar[str] = "The manifest; that doing the same again may undo it."
    remedy: ClassVar[Remedy] = Remedy(Note("SF421", "The law undoes itself. Use another law."))
    times: int = 1
    seed: int = 0

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column."""
        rng = np.random.default_rng(self.seed)
        out = []
        for column in view.columns:
            if column.channel is None:
                continue
            values = column.values.copy()
            known = ~np.isnan(values)
            for _ in range(self.times):
                words = rng.integers(0, 2**64, (int(known.sum()), 2), dtype=np.uint64)
                values[known] = column.channel.sample(clip_to_domain(column, values[known]), words)
            out.append(Recovery(column.name, values, clip_to_domain(column, values)))
        return Claim(tuple(out), {"times": self.times})


@dataclass(frozen=True)
class LowBits(ValueAttack):
    """Try each noise of a coarse grid, and keep the true value that alone fits the resolution of the data."""

    name: ClassVar[str] = "low-bits"
    title: ClassVar[str] = "Low digits of released numbers"
    assumes: ClassVar[str] = "The resolution of the true values, as the manifest or common sense has it."
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF420", "The digits below the noise are the true ones. Release on the attribute's own grid.")
    )
    min_pinned: float = 0.01  # share of values that must be found before any is claimed

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column whose released values are off the grid of their law."""
        out, notes = [], {}
        for column in view.numeric:
            if column.channel is None and column.name not in view.guided:
                continue
            off = share_off_grid(column)
            notes[column.name] = {"off_grid": off}
            if off > 0:
                undone = undo_percents(column)
                pinned = float(np.mean(~np.isnan(undone)))
                notes[column.name]["pinned"] = pinned
                if pinned > self.min_pinned:
                    guess = np.where(np.isnan(undone), column.values, undone)
                    out.append(Recovery(column.name, guess, guess))
        if not out:
            return Claim(notes={"columns": notes}, skipped="all released numbers lie on the grid of their law")
        return Claim(tuple(out), {"columns": notes})


def share_off_grid(column: Column) -> float:
    """Return the share of released values that are neither multiples of the law's step nor among its representatives."""
    values = column.values[~np.isnan(column.values)]
    if not len(values):
        return 0.0
    if column.channel is not None and column.channel.representatives is not None:
        return float(np.mean(~np.isin(values, column.channel.representatives)))
    step = column.attribute.step if column.channel is None else column.channel.step
    if not step:
        return 1.0
    quotient = values / step
    return float(np.mean(np.abs(quotient - np.round(quotient)) > 1e-6 * np.maximum(np.abs(quotient), 1.0)))


def undo_percents(column: Column) -> FloatArray:
    """Return the likeliest true value where few percentages lead back to the data's resolution inside the domain; else NaN."""
    # Figure 3 of Islam & Brankovic 2003: multiples of 5 % up to 60 %; the smaller, the likelier.
    percents = np.array(sorted(np.arange(-60, 61, 5), key=abs)) / 100.0
    max_fits, chunk = 3, 8192  # where more percentages fit, the low digits say nothing
    step = column.attribute.step or finest_step(column)
    out = np.full(len(column.values), np.nan)
    if not step:
        return out
    domain = column.attribute.interval
    for begin in range(0, len(out), chunk):
        values = column.values[begin : begin + chunk]
        candidates = values[:, None] / (1.0 + percents)
        quotient = candidates / step
        fits = np.abs(quotient - np.round(quotient)) <= 1e-9 * np.maximum(np.abs(quotient), 1.0)
        fits &= (candidates >= domain.low - step / 2) & (candidates <= domain.high + step / 2)
        few = (fits.sum(axis=1) >= 1) & (fits.sum(axis=1) <= max_fits)
        picked = np.round(quotient[np.arange(len(values)), fits.argmax(axis=1)]) * step
        out[begin : begin + len(values)] = np.where(few, picked, np.nan)
    return out


def finest_step(column: Column, decimals: int = 4) -> float:
    """Return the resolution that common sense gives a continuous column: four digits of its range."""
    span = column.attribute.interval.range
    return float(10.0 ** (np.floor(np.log10(span)) - decimals)) if span > 0 else 0.0
