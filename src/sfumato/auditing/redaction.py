"""The public edition of an audit: figures of the whole, so coarse that no count of people can be read off.

A share of n rows is a count over n: 98.7 % of 300 can only be 296 of them. Rounded to a unit of at least 10/n it may be any of
some ten counts. What follows from other figures (an advantage, a share left, a sentence) is worked out from the rounded ones,
or it would give them away again; verdicts stay those of the figures themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.auditing.promises import Promise
from sfumato.auditing.score import BOTH, LABELS, NUMBERS, Finding

PEOPLE = 10
"""A figure may change by so many people before it is printed otherwise."""
WIDTHS = ("rmse", "rmse_interval", "rmse_without_release", "hidden_among_median", "measured_after_averaging")
"""Figures in a column's own unit, or numbers of people: rounded by their size."""
DISTANCES = ("wasserstein", "wasserstein_released")
"""Differences of two distributions in the column's own unit: rounded by its range."""


def least_unit(size: float) -> float:
    """The least of 1, 2, 5 × 10ᵏ that is no less than `size`."""
    decade = 10.0 ** math.floor(math.log10(size))
    return next(float(f"{u * decade:.6g}") for u in (1, 2, 5, 10) if u * decade >= size * (1 - 1e-9))


def unit(rows: float) -> float:
    """The unit of a share of `rows` rows."""
    return min(1.0, least_unit(PEOPLE / max(rows, 1)))


def to_unit(value: float, step: float) -> float:
    """The nearest multiple."""
    return float(f"{round(value / step) * step:.12g}") if math.isfinite(value) else value


def by_size(value: float, rows: float) -> float:
    """A figure that is no share: rounded to 10/n of its own size."""
    if value == 0 or not math.isfinite(value):
        return value
    return to_unit(value, least_unit(min(1.0, PEOPLE / max(rows, 1)) * abs(value)))


def coarse(value: Any, rows: float, span: float = 1.0, key: str = "") -> Any:
    """Plain data with every number that is no whole one rounded for `rows` rows."""
    if isinstance(value, Mapping):
        return {k: coarse(v, rows, span, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [coarse(v, rows, span, key) for v in value]
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    if key in WIDTHS:
        return by_size(value, rows)
    return to_unit(value, unit(rows) * (span if key in DISTANCES else 1.0))


def coarse_finding(finding: Finding) -> Finding:
    """The same attack with its success, baseline, control and widths rounded by its trials."""
    n = finding.trials
    step = unit(n)
    # By chance alone a person is found with 1/n, which is no figure of the truth.
    guessed = finding.unit in (BOTH, NUMBERS, LABELS)
    ends = tuple(
        None if i is None else (to_unit(i[0], step), to_unit(i[1], step))
        for i in (finding.interval, finding.control_interval)
    )
    return replace(
        finding,
        success=to_unit(finding.success, step),
        baseline=to_unit(finding.baseline, step) if guessed else finding.baseline,
        interval=ends[0] or (0.0, 1.0),
        control=None if finding.control is None else to_unit(finding.control, step),
        control_interval=ends[1],
        left={name: _widths(left, n) for name, left in finding.left.items()},
        details=coarse(finding.details, n),
        judged=finding.gains,
    )


def _widths(left: tuple[float, float, float], rows: float) -> tuple[float, float, float]:
    return by_size(left[0], rows), by_size(left[1], rows), by_size(left[2], rows)


def coarse_promise(promise: Promise, rows: float) -> Promise:
    """The same promise with what is left, and what there was to hide, rounded; the law's own figures stay."""
    _, low, high = _widths((promise.left, *promise.left_interval), rows)
    return replace(
        promise,
        without_release=by_size(promise.without_release, rows),
        left=by_size(promise.left, rows),
        left_interval=(low, high),
        own_law=by_size(promise.own_law, rows),
        narrowest=None if promise.narrowest is None else by_size(promise.narrowest, rows),
        typical=None if promise.typical is None else by_size(promise.typical, rows),
        judged=promise.verdict,
    )


def coarse_repeat(about: Mapping[str, Any], rows: float) -> dict[str, Any]:
    """What averaging over other releases left of a column; what it should leave follows from the laws."""
    return {k: coarse(v, rows, key=k) if k in WIDTHS else v for k, v in about.items()}


def coarse_utility(
    about: Mapping[str, Any], rows: float, known: Mapping[str, int], spans: Mapping[str, float]
) -> dict[str, Any]:
    """Every part by the rows that it was measured on; a column by those that have a value."""
    out = coarse({k: v for k, v in about.items() if k not in ("distributions", "trees", "clusters", "all_rows")}, rows)
    for part in ("distributions", "all_rows"):
        if part in about:
            columns = (about[part] or {}).items()
            out[part] = {n: coarse(v, v.get("rows", known.get(n, rows)), spans.get(n, 1.0)) for n, v in columns}
    for part, size in (("trees", "test_rows"), ("clusters", "rows")):
        if part in about:
            out[part] = coarse(about[part], (about[part] or {}).get(size, rows))
    return {k: out[k] for k in about}
