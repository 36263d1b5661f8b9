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
        judged=promise.verdict,
    )


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
    return {k: out[k] for k in about}
