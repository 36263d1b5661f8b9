"""Where claims meet the truth, and the only place where they do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.attacks import (
    CONFIDENCE,
    TOLERANCE,
    Attack,
    Claim,
    Claimed,
    LinkAttack,
    RankedSets,
    Recovery,
    smallest_sets,
)
from sfumato.auditing import rates
from sfumato.counts import FloatArray, IntArray
from sfumato.schema import Attribute

NUMBERS = f"share of values found to within {TOLERANCE:.0%} of the range"
LABELS = "share of labels found"
BOTH = f"share of cells found (numbers to within {TOLERANCE:.0%} of the range)"


@dataclass(frozen=True)
class Guess:
    """How often an attack guesses a value right, and how often that succeeds without the release."""

    title: str
    right: float
    without_release: float
    interval: tuple[float, float]
    most_without: float = 0.0
    """What the success without the release surely does not exceed, where that was tried on some people only."""

    @property
    def gain(self) -> float:
        """The share of what was unknown that the release surely gives away, by the ends of both intervals."""
        return rates.advantage(self.interval[0], max(self.without_release, self.most_without))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        low, high = self.interval
        head = {"share": self.right, "low": low, "high": high, "without_release": self.without_release}
        return head | {"gain": self.gain, "by": self.title}


@dataclass(frozen=True)
class Finding:
    """One attack, measured: its success, the best guess without the release, and the control.

    Parameters
    ----------
    attack : type[Attack]
        The attack; its name, what it assumes and what it was granted.
    title : str
        The attack in words.
    attributes : tuple of str
        The columns attacked.
    success, baseline : float
        The share of trials that succeeded, and that of the best guess without the release.
    interval : tuple of float
        Wilson's 95 % interval of the success.
    unit : str
        What the success is a share of.
    control, control_interval : optional
        The success of the same attack where it should find nothing.
    left : mapping
        For each attribute the width of the 95 % interval that the attack leaves, with its own interval.
    """

    attack: type[Attack]
    title: str
    attributes: tuple[str, ...]
    success: float
    baseline: float
    interval: tuple[float, float]
    unit: str
    seed: int
    trials: int
    control: float | None = None
    control_interval: tuple[float, float] | None = None
    left: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """For each attribute the width of the 95 % interval that the attack leaves, with its own interval."""
    details: Mapping[str, Any] = field(default_factory=dict)
    control_left: float | None = None
    """The width that is left of a person who is not in the release, where the control can say so."""
    judged: bool | None = None
    """Whether it gains, where the figures here are rounded and can no longer tell."""

    @property
    def name(self) -> str:
        """The name of the attack."""
        return self.attack.name

    @property
    def reference(self) -> float:
        """What the success is to be compared with: the control where there is one, else the baseline."""
        return self.baseline if self.control is None else max(self.control, self.baseline)

    @property
    def advantage(self) -> float:
        """The share of what was unknown that the release gives away."""
        return rates.advantage(self.success, self.reference)

    def guess(self, attribute: str) -> Guess | None:
        """Return how often the attack guesses an attribute right; None where it guesses no values of it."""
        by_attribute = self.details.get("by_attribute", {})
        if attribute in by_attribute:
            one = by_attribute[attribute]
            return Guess(self.title, one["success"], one["baseline"], rates.wilson(one["success"], self.trials))
        if self.unit in (NUMBERS, LABELS) and self.attributes == (attribute,):
            most = 0.0 if self.control_interval is None else self.control_interval[1]
            return Guess(self.title, self.success, self.reference, self.interval, most)
        return None

    @property
    def gains(self) -> bool:
        """Whether the success is beyond chance: above the baseline by a test that many findings can share, and the control."""
        max_chance = 0.001  # probability of such a success by chance; an audit has some forty findings
        if self.judged is not None:
            return self.judged
        if self.control_interval is not None and self.interval[0] <= self.control_interval[1]:
            return False
        return self.success > self.baseline and rates.surprise(self.success, self.trials, self.baseline) < max_chance

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the contract's fields first."""
        return {
            "name": self.name,
            "title": self.title,
            "attributes": list(self.attributes),
            "success": self.success,
            "baseline": self.baseline,
            "control": self.control,
            "interval": list(self.interval),
            "unit": self.unit,
            "seed": self.seed,
            "trials": self.trials,
            "advantage": self.advantage,
            "gains": self.gains,
            "assumes": self.attack.assumes,
            "interval_left_95": {n: w[0] for n, w in self.left.items()},
            "details": dict(self.details),
        }


def hits(attribute: Attribute, guess: FloatArray, truth: FloatArray) -> FloatArray:
    """Return 1 where the guess is right: the same label, or a number within the tolerance; NaN where the truth is missing."""
    within = TOLERANCE * attribute.interval.range * (1 + 1e-9) if attribute.kind.numeric else 0.0
    right = np.abs(guess - truth) <= within
    return np.where(np.isnan(truth) | np.isnan(guess), np.nan, right.astype(np.float64))


def best_constant(attribute: Attribute, truth: FloatArray) -> float:
    """Return the success of the best single guess for everybody, which needs no release at all."""
    known = np.sort(truth[~np.isnan(truth)])
    if not len(known):
        return 0.0
    if not attribute.kind.numeric:
        return float(np.unique(known, return_counts=True)[1].max() / len(known))
    window = 2 * TOLERANCE * attribute.interval.range * (1 + 1e-9)
    upto = np.searchsorted(known, known + window, side="right")
    return float((upto - np.arange(len(known))).max() / len(known))


def interval_left(
    recovery: Recovery, truth: FloatArray, coverage: float | None, numeric: bool, seed: int, step: float = 0.0
) -> tuple[float, float, float] | None:
    """Return the mean size of the claimed 95 % sets, or the central 95 % width of truth − estimate where none are claimed.

    A set that does not hold the truth is not an interval. Where claims cover less than 93 %, numbers are judged by their errors
    instead, and sets of labels are widened until they cover 95 %. Where claims of numbers cover more than 97 %, they are wider than
    need be, and the errors decide if they are narrower.

    Errors of guesses on the column's grid count as the cells of a set do: from −1 to 1 there are three values, three steps of
    width. Only where there is no error at all nothing is left.
    """
    min_coverage, max_coverage = 0.93, 0.97
    known = ~np.isnan(recovery.mean) & ~np.isnan(truth)
    if not known.any():
        return None
    if recovery.width is not None and (coverage is None or coverage >= min_coverage):
        widths = recovery.width[known]
        claimed = (float(widths.mean()), *rates.mean_interval(widths, seed=seed))
        if not numeric or coverage is None or coverage <= max_coverage:
            return claimed
        measured = _width_of_errors(truth[known] - recovery.mean[known], step, seed)
        return claimed if claimed[0] <= measured[0] else measured
    if not numeric:
        if recovery.sets is None:
            return None
        widths = honest_widths(recovery.sets, truth)[known]
        return (float(widths.mean()), *rates.mean_interval(widths, seed=seed))
    return _width_of_errors(truth[known] - recovery.mean[known], step, seed)


def _width_of_errors(errors: FloatArray, step: float, seed: int) -> tuple[float, float, float]:
    on_grid = bool(step) and np.allclose(errors / step, np.round(errors / step), atol=1e-6)
    if on_grid:
        errors = np.round(errors / step) * step  # or the last digits of a filter would count as an error
    width, low, high = (rates.central_width(errors), *rates.central_width_interval(errors, seed=seed))
    if on_grid:
        width, low, high = (w + step if w > 0 else 0.0 for w in (width, low, high))
    return width, low, high


def score_values(
    attack: Attack,
    claim: Claim,
    attributes: Mapping[str, Attribute],
    truth: Mapping[str, FloatArray],
    *,
    seed: int,
    together: bool = False,
    leaves: bool = True,
    known: IntArray | None = None,
) -> list[Finding]:
    """Return the findings for recovered values: one per attribute, or one for all of them `together`.

    What the attack knew beforehand is left out: the guesses `known`, by default those at its known rows. Only the baseline, which no
    attack can change, counts them.
    """
    known = attack.known_rows if known is None else known
    scored = [_score(r, attributes[r.attribute], truth[r.attribute], known, seed, leaves) for r in claim.recoveries]
    scored = [s for s in scored if len(s.hits)]
    if not scored:
        return []
    if together:
        return [_join(attack, scored, claim.notes, seed)]
    return [_finding(attack, s, claim.notes, seed) for s in scored]


@dataclass(frozen=True, eq=False)
class _Scored:
    attribute: Attribute
    title: str
    hits: FloatArray
    baseline: float
    left: tuple[float, float, float] | None
    details: dict[str, Any]


def _score(
    recovery: Recovery, attribute: Attribute, truth: FloatArray, known_rows: IntArray, seed: int, leaves: bool
) -> _Scored:
    baseline = best_constant(attribute, truth)
    if len(known_rows):
        truth = truth.copy()
        truth[known_rows] = np.nan
    right = hits(attribute, recovery.pick, truth)
    details: dict[str, Any] = {}
    known = ~np.isnan(recovery.mean) & ~np.isnan(truth)
    if attribute.kind.numeric and known.any():
        errors = truth[known] - recovery.mean[known]
        spread = float(np.std(truth[known]))
        rmse = float(np.sqrt(np.mean(errors**2)))
        details = {
            "rmse": rmse,
            "rmse_interval": list(rates.rmse_interval(errors, seed=seed)),
            "rmse_without_release": spread,
            "variance_explained": 1 - (rmse / spread) ** 2 if spread > 0 else None,
        }
    coverage = None
    if recovery.sets is not None:
        covered = recovery.sets.covers(truth)
        coverage = float(np.nanmean(covered)) if (~np.isnan(covered)).any() else None
        details["coverage_95"] = coverage
    numeric = attribute.kind.numeric
    step = attribute.step if numeric else 0.0
    left = interval_left(recovery, truth, coverage, numeric, seed, step) if leaves else None
    return _Scored(attribute, recovery.title, right[~np.isnan(right)], baseline, left, details)


def _finding(attack: Attack, scored: _Scored, notes: Mapping[str, Any], seed: int) -> Finding:
    rate = rates.Rate.of(scored.hits)
    name = scored.attribute.name
    head = (type(attack), scored.title or attack.title, (name,), rate.value, scored.baseline, rate.interval)
    unit = NUMBERS if scored.attribute.kind.numeric else LABELS
    left = {} if scored.left is None else {name: scored.left}
    return Finding(*head, unit, seed, rate.trials, left=left, details=scored.details | dict(notes))


def _join(attack: Attack, scored: list[_Scored], notes: Mapping[str, Any], seed: int) -> Finding:
    """Join all attributes in one rate. Cells of a row are not independent trials, so the interval counts rows only."""
    sizes = np.array([len(s.hits) for s in scored], dtype=np.float64)
    success = float(np.average([s.hits.mean() for s in scored], weights=sizes))
    baseline = float(np.average([s.baseline for s in scored], weights=sizes))
    kinds = {s.attribute.kind.numeric for s in scored}
    unit = BOTH if len(kinds) > 1 else NUMBERS if True in kinds else LABELS
    rows = int(sizes.max())
    by_attribute = {
        s.attribute.name: {"success": float(s.hits.mean()), "baseline": s.baseline} | s.details for s in scored
    }
    names = tuple(s.attribute.name for s in scored)
    head = (type(attack), attack.title, names, success, baseline, rates.wilson(success, rows))
    left = {s.attribute.name: s.left for s in scored if s.left is not None}
    return Finding(*head, unit, seed, rows, left=left, details={"by_attribute": by_attribute} | dict(notes))


def score_people(
    attack: LinkAttack,
    credit: FloatArray,
    attributes: tuple[str, ...],
    *,
    baseline: float,
    seed: int,
    control: FloatArray | None = None,
    details: Mapping[str, Any] | None = None,
) -> Finding:
    """Return the finding about people found or linked; credit 1/t for a guess among t equals."""
    rate = rates.Rate.of(credit)
    value = 0.0 if math.isnan(rate.value) else rate.value
    head = (type(attack), attack.title, attributes, value, baseline, rate.interval, attack.unit, seed, rate.trials)
    if control is None:
        return Finding(*head, details=details or {})
    shadow = rates.Rate.of(control)
    return Finding(*head, shadow.value, shadow.interval, details=details or {})


DOUBT = 1e-6
"""The share of every posterior that may be any label: without it no level would reach a label held to be impossible."""


def honest_widths(sets: Claimed, truth: FloatArray, confidence: float = CONFIDENCE) -> FloatArray:
    """Return the sizes of the sets at the least level that covers `confidence` of the known truth; NaN where there is no set.

    At level c the set of a row takes labels by falling probability m_1, m_2, …; of label j it holds
    min(1, max(0, c − (m_1 + … + m_{j−1})) / m_j), which grows with c, so that the level is found by halving.
    """
    if isinstance(sets, RankedSets):
        before, own = sets.places(truth, DOUBT)
        known = ~np.isnan(before)
        return sets.widths(_level(before[known], own[known], confidence), DOUBT)
    level = _level(*_places(sets, truth), confidence)
    out = np.full(len(truth), np.nan)
    for rows, posterior in sets.posteriors():
        doubted = _doubt(posterior)
        out[rows] = smallest_sets(doubted, np.ones(doubted.shape[1]), level).sum(axis=1)
    return out


def _doubt(posterior: FloatArray) -> FloatArray:
    return (1 - DOUBT) * posterior + DOUBT / posterior.shape[1]


def _places(sets: Claimed, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For every known truth: the probability of all labels before it in its row's order, and its own."""
    before, own = [np.zeros(0)], [np.zeros(0)]
    for rows, posterior in sets.posteriors():
        there = ~np.isnan(truth[rows])
        mass = _doubt(posterior[there])
        order = np.argsort(-mass, axis=1, kind="stable")
        ranked = np.take_along_axis(mass, order, axis=1)
        place = np.argmax(order == sets.grid.locate(truth[rows[there]])[:, None], axis=1)
        at = np.arange(len(mass))
        own.append(ranked[at, place])
        before.append(np.cumsum(ranked, axis=1)[at, place] - ranked[at, place])
    return np.concatenate(before), np.concatenate(own)


def _level(before: FloatArray, own: FloatArray, confidence: float) -> float:
    low, high = 0.0, 1.0
    if not len(own):
        return confidence
    for _ in range(60):
        middle = (low + high) / 2
        if np.clip((middle - before) / own, 0.0, 1.0).mean() < confidence:
            low = middle
        else:
            high = middle
    return high
