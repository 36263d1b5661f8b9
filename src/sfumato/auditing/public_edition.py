"""The public edition of an audit: figures of the whole, so coarse that no count of people can be read off.

A share of n rows is a count over n: 98.7 % of 300 can only be 296 of them. Rounded to a unit of at least 10/n it may be any of some
ten counts. What follows from other figures (an advantage, a share left, a sentence) is worked out from the rounded ones, or it would
give them away again; verdicts stay those of the figures themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.auditing.exposure import Exposure
from sfumato.auditing.people import PeopleFound
from sfumato.auditing.promises import Promise
from sfumato.auditing.score import BOTH, LABELS, NUMBERS, Finding, Guess

MIN_PEOPLE = 10
"""A figure may change by this many people before it is printed otherwise."""
WIDTHS = ("rmse", "rmse_interval", "rmse_without_release", "hidden_among_median", "measured_after_averaging")
"""Figures in a column's own unit, or numbers of people: rounded by their size."""
DISTANCES = ("wasserstein", "wasserstein_released")
"""Differences of two distributions in the column's own unit: rounded by its range."""


def least_unit(size: float) -> float:
    """Return the least of 1, 2, 5 × 10ᵏ that is no less than `size`."""
    decade = 10.0 ** math.floor(math.log10(size))
    return next(float(f"{u * decade:.6g}") for u in (1, 2, 5, 10) if u * decade >= size * (1 - 1e-9))


def share_unit(rows: float) -> float:
    """Return the unit of a share of `rows` rows."""
    return min(1.0, least_unit(MIN_PEOPLE / max(rows, 1)))


def round_to_unit(value: float, step: float) -> float:
    """Return the nearest multiple of `step`."""
    return float(f"{round(value / step) * step:.12g}") if math.isfinite(value) else value


def round_by_size(value: float, rows: float) -> float:
    """Round a figure that is not a share to 10/n of its own size."""
    if value == 0 or not math.isfinite(value):
        return value
    return round_to_unit(value, least_unit(min(1.0, MIN_PEOPLE / max(rows, 1)) * abs(value)))


def coarsen(value: Any, rows: float, span: float = 1.0, key: str = "") -> Any:
    """Return plain data with every number that is not whole rounded for `rows` rows."""
    if isinstance(value, Mapping):
        return {k: coarsen(v, rows, span, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [coarsen(v, rows, span, key) for v in value]
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    if key in WIDTHS:
        return round_by_size(value, rows)
    return round_to_unit(value, share_unit(rows) * (span if key in DISTANCES else 1.0))


def coarsen_finding(finding: Finding) -> Finding:
    """Return the finding with its success, baseline, control and widths rounded by its trials."""
    n = finding.trials
    step = share_unit(n)
    # By chance alone a person is found with 1/n, which says nothing about the truth.
    guessed = finding.unit in (BOTH, NUMBERS, LABELS)
    ends = tuple(
        None if i is None else (round_to_unit(i[0], step), round_to_unit(i[1], step))
        for i in (finding.interval, finding.control_interval)
    )
    return replace(
        finding,
        success=round_to_unit(finding.success, step),
        baseline=round_to_unit(finding.baseline, step) if guessed else finding.baseline,
        interval=ends[0] or (0.0, 1.0),
        control=None if finding.control is None else round_to_unit(finding.control, step),
        control_interval=ends[1],
        control_left=None if finding.control_left is None else round_by_size(finding.control_left, n),
        left={name: _widths(left, n) for name, left in finding.left.items()},
        details=coarsen(finding.details, n),
        judged=finding.gains,
    )


def _widths(left: tuple[float, float, float], rows: float) -> tuple[float, float, float]:
    return round_by_size(left[0], rows), round_by_size(left[1], rows), round_by_size(left[2], rows)


def coarsen_promise(promise: Promise, rows: float) -> Promise:
    """Return the promise with what is left, and what there was to hide, rounded; the law's own figures stay."""
    _, low, high = _widths((promise.left, *promise.left_interval), rows)
    return replace(
        promise,
        without_release=round_by_size(promise.without_release, rows),
        left=round_by_size(promise.left, rows),
        left_interval=(low, high),
        own_law=round_by_size(promise.own_law, rows),
        narrowest=None if promise.narrowest is None else round_by_size(promise.narrowest, rows),
        typical=None if promise.typical is None else round_by_size(promise.typical, rows),
        guess=None if promise.guess is None else coarsen_guess(promise.guess, rows),
        source_left=None if promise.source_left is None else round_by_size(promise.source_left, rows),
        judged=promise.verdict,
    )


def coarsen_guess(guess: Guess, rows: float) -> Guess:
    """Return the guess with every share rounded."""
    right, without, low, high, most = (
        round_to_unit(share, share_unit(rows))
        for share in (guess.right, guess.without_release, *guess.interval, guess.most_without)
    )
    return Guess(guess.title, right, without, (low, high), most)


def coarsen_people(people: PeopleFound) -> PeopleFound:
    """Return the people found, rounded by how many were looked for."""
    share, low, high = (round_to_unit(s, share_unit(people.people)) for s in (people.share, people.low, people.high))
    return replace(people, share=share, low=low, high=high)


def coarsen_exposure(exposure: Exposure) -> dict[str, Any]:
    """Return what is said of all rows together, and of no person."""
    return exposure.of_all() | {"share_over": round_to_unit(exposure.over, share_unit(len(exposure.bits)))}


def coarsen_repeat(about: Mapping[str, Any], rows: float) -> dict[str, Any]:
    """Round what averaging over other releases left of a column; what it should leave follows from the laws."""
    return {k: coarsen(v, rows, key=k) if k in WIDTHS else v for k, v in about.items()}


def coarsen_utility(
    about: Mapping[str, Any], rows: float, known: Mapping[str, int], spans: Mapping[str, float]
) -> dict[str, Any]:
    """Round every part by the rows that it was measured on; a column by those that have a value."""
    out = coarsen({k: v for k, v in about.items() if k not in ("distributions", "trees", "clusters", "all_rows")}, rows)
    for part in ("distributions", "all_rows"):
        if part in about:
            columns = (about[part] or {}).items()
            out[part] = {n: coarsen(v, v.get("rows", known.get(n, rows)), spans.get(n, 1.0)) for n, v in columns}
    for part, size in (("trees", "test_rows"), ("clusters", "rows")):
        if part in about:
            out[part] = coarsen(about[part], (about[part] or {}).get(size, rows))
    if (about.get("trees") or {}).get("scores"):
        out["trees"]["scores"] = {name: coarsen_scores(s) for name, s in about["trees"]["scores"].items()}
    return {k: out[k] for k in about}


def round_to_three_digits(value: Any) -> Any:
    """Return the data with three significant digits, which is all that the laws' own figures need too."""
    if isinstance(value, dict):
        return {k: round_to_three_digits(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [round_to_three_digits(v) for v in value]
    if isinstance(value, float) and np.isfinite(value):
        return float(f"{value:.3g}")
    return value


def coarsen_scores(about: Mapping[str, Any]) -> dict[str, Any]:
    """Round the accuracy of a tree by its rows, and its other scores by those of the rarest class, which moves them most.

    Counts, bins and intervals are left out. So is a score that would be rounded to halves or coarser.
    """
    rows = [n for n in map(sum, about["confusion"]) if n]

    def round_all(scores: Mapping[str, Any]) -> dict[str, float | None]:
        return {k: _round_score(v, share_unit(sum(rows) if k == "accuracy" else min(rows))) for k, v in scores.items()}

    names = about["without_model"]
    chance = {k: v for k, v in names.items() if k in ("balanced_accuracy", "auc")}  # 1/k and ½, whatever the rows are
    return round_all({k: about[k] for k in names}) | {"without_model": round_all(names) | chance}


def _round_score(value: float | None, step: float) -> float | None:
    return None if value is None or step >= 0.5 else round_to_unit(value, step)
