"""From totals and the covariance of their noise to figures with intervals.

A count or a sum is a total. A mean is a ratio of two, and its interval is Fieller's: all θ for which T₁ − θT₀ may be 0. Variances,
covariances and correlations are smooth functions g of totals: se² = ∇gᵀ V ∇g, and the estimate is g(T) − ½ tr(V ∇²g), since noise
in T moves the mean of g(T) by the second term. The interval of a correlation is even on Fisher's scale, z = artanh r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.questions.estimate import Certainty, Estimate
from sfumato.questions.functions import unit_of
from sfumato.questions.query import Asked, Statistic
from sfumato.questions.sums import Folded, Monomial, Total
from sfumato.reconstruction import Figure
from sfumato.table import Column

Z = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""
TOO_FEW = "too few rows to be told through the noise"
Evaluate = Callable[[FloatArray], float]


@dataclass(frozen=True)
class Plan:
    """The totals that a figure is made of."""

    asked: Asked
    totals: tuple[Total, ...]
    among: int | None = None
    """The cells without whose rows it is NULL."""


def monomials_of(asked: Asked) -> list[Monomial]:
    """Return the monomials of the totals that a figure is made of.

    Examples
    --------
    >>> monomials_of(Asked("m", Statistic.MEAN, ("age",)))
    [(('age', 0),), (('age', 1),)]
    """
    names = asked.columns
    by_statistic: dict[Statistic, list[tuple[int, ...]]] = {
        Statistic.COUNT: [()],
        Statistic.SHARE: [(), ()],
        Statistic.SUM: [(0,), (1,)],
        Statistic.MEAN: [(0,), (1,)],
        Statistic.VARIANCE: [(0,), (1,), (2,)],
        Statistic.DEVIATION: [(0,), (1,), (2,)],
        Statistic.COVARIANCE: [(0, 0), (1, 0), (0, 1), (1, 1)],
        Statistic.CORRELATION: [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)],
    }
    powers = by_statistic[asked.statistic]
    if len(set(names)) < len(names):  # COVAR(x, x): both powers are of one column
        return [tuple({name: sum(p) for name in names}.items()) for p in powers]
    return [tuple(sorted(zip(names, p, strict=True))) for p in powers]


def estimate(
    plan: Plan,
    folded: Folded,
    group: int,
    columns: Mapping[str, Column],
    rows: float,
    *,
    exact: bool,
    shared: float = 1.0,
) -> Estimate:
    """Return one figure of one group.

    Parameters
    ----------
    plan
        The figure and its totals.
    folded
        The sums over all rows.
    group
        Which group.
    columns
        The columns of the release by name.
    rows
        How many rows were released.
    exact
        Whether none of the columns that it asks of has noise.
    shared
        How many rows may share one draw of noise. The noise of m equal rows has m² times the variance of one, m times that of m
        independent rows, so m bounds what sharing adds.
    """
    values = folded.values(group, plan.totals)
    if exact:
        return _exact(plan, folded, group, values, columns)
    effective = folded.effective_rows(group, plan.totals[0])
    if _is_bounded(plan, folded):
        return _estimate_bounds(plan, folded, group, columns, rows, effective, shared)
    noise = shared * folded.noise(group, plan.totals)
    out = _noisy(plan.asked, values, noise, columns, rows)
    return replace(out, rows=rows, effective_rows=effective)


def _units(asked: Asked, columns: Mapping[str, Column]) -> list[tuple[float, float]]:
    return [unit_of(columns[name].attribute) for name in asked.columns]


def _exact(plan: Plan, folded: Folded, group: int, values: FloatArray, columns: Mapping[str, Column]) -> Estimate:
    asked, rows = plan.asked, float(values[0])
    among = rows if plan.among is None else float(folded.values(group, [Total(plan.among)])[0])
    if asked.statistic is Statistic.COUNT:
        return Estimate.exact(None if plan.among is not None and among < 0.5 else round(rows), rows)
    if asked.statistic is Statistic.SUM and rows < 0.5 and plan.among is not None and among > 0.5:
        return Estimate.exact(0.0, 0.0)
    if asked.statistic is Statistic.SHARE:
        return Estimate.exact(rows / values[1] if values[1] > 0.5 else None, float(values[1]))
    least = 2 if asked.statistic in _SPREADS and not asked.population else 1
    if rows < least - 0.5 or (asked.statistic is Statistic.CORRELATION and rows < 0.5):
        return Estimate.exact(None, rows)
    return Estimate.exact(evaluate(asked, _units(asked, columns), exact=True)(values), rows)


_SPREADS = (Statistic.VARIANCE, Statistic.DEVIATION, Statistic.COVARIANCE)


def evaluate(asked: Asked, units: list[tuple[float, float]], *, exact: bool = False) -> Evaluate:
    """Return the function g of the totals; a deviation is the root of what this returns, unless it is exact."""
    statistic = asked.statistic
    less = 0.0 if asked.population else 1.0

    def total(t: FloatArray) -> float:
        low, width = units[0]
        return float(low * t[0] + width * t[1])

    def mean(t: FloatArray) -> float:
        low, width = units[0]
        return float(low + width * t[1] / t[0])

    def variance(t: FloatArray) -> float:
        around = t[2] - t[1] ** 2 / t[0]
        if exact and around < 1e-14 * t[2]:  # all that is left of equal values is rounding
            around = 0.0
        spread = units[0][1] ** 2 * around / (t[0] - less)
        return float(np.sqrt(np.maximum(spread, 0.0)) if exact and statistic is Statistic.DEVIATION else spread)

    def covariance(t: FloatArray) -> float:
        return float(units[0][1] * units[1][1] * (t[3] - t[1] * t[2] / t[0]) / (t[0] - less))

    def correlation(t: FloatArray) -> float:
        one, other = t[4] - t[1] ** 2 / t[0], t[5] - t[2] ** 2 / t[0]
        tiny = 1e-14 * t[0]
        if not (one > tiny and other > tiny):
            return math.nan
        return float((t[3] - t[1] * t[2] / t[0]) / math.sqrt(one * other))

    def first(t: FloatArray) -> float:
        return float(t[0])

    def ratio(t: FloatArray) -> float:
        return float(t[0] / t[1])

    functions: dict[Statistic, Evaluate] = {
        Statistic.COUNT: first,
        Statistic.SHARE: ratio,
        Statistic.SUM: total,
        Statistic.MEAN: mean,
        Statistic.VARIANCE: variance,
        Statistic.DEVIATION: variance,
        Statistic.COVARIANCE: covariance,
        Statistic.CORRELATION: correlation,
    }
    return functions[statistic]


def _noisy(asked: Asked, values: FloatArray, noise: FloatArray, columns: Mapping[str, Column], rows: float) -> Estimate:
    units, statistic = _units(asked, columns), asked.statistic
    crumbs = 1e-9 * max(rows, 1.0)  # what rounding leaves of a noise of nothing
    variances = np.diag(noise)
    if (variances < -crumbs).any() or not np.isfinite(noise).all():
        return Estimate.untold(TOO_FEW)
    noise = np.where(np.outer(variances > crumbs, variances > crumbs), noise, 0.0)
    variances = np.diag(noise)
    if statistic is Statistic.COUNT:
        return _within(values[0], math.sqrt(variances[0]), 0.0, rows, "weights")
    if statistic is Statistic.SUM:
        weight = np.array([units[0][0], units[0][1]])
        se = math.sqrt(max(float(weight @ noise @ weight), 0.0))
        return _within(evaluate(asked, units)(values), se, -math.inf, math.inf, "weights")
    if statistic is Statistic.SHARE:
        fieller = fieller_interval(values[0], values[1], noise[np.ix_([0, 1], [0, 1])])
        return Estimate.untold(TOO_FEW) if fieller is None else _figure(fieller, 0.0, 1.0, "weights, ratio")
    if statistic is Statistic.MEAN:
        fieller = fieller_interval(values[1], values[0], noise[np.ix_([1, 0], [1, 0])])
        if fieller is None:
            return Estimate.untold(TOO_FEW)
        low, width = units[0]
        moved = Figure(low + width * fieller, width * fieller.se, low + width * fieller.low, low + width * fieller.high)
        return _figure(moved, -math.inf, math.inf, "weights, ratio")
    return _smooth(asked, values, noise, units)


def _within(value: float, se: float, least: float, most: float, by: str) -> Estimate:
    return _figure(Figure(value, se), least, most, by)


def _figure(figure: Figure, least: float, most: float, by: str) -> Estimate:
    """Return an estimate whose interval is cut to what is possible."""
    value = min(max(float(figure), least), most)
    low, high = (min(max(end, least), most) for end in (figure.low, figure.high))
    kind = Certainty.EXACT if figure.se == 0 else Certainty.LIKELY
    return Estimate(value, figure.se, low, high, kind, "counted" if figure.se == 0 else by)


def fieller_interval(top: float, bottom: float, noise: FloatArray) -> Figure | None:
    """Return top/bottom with the interval of all ratios that the noise allows; None where these have no end.

    (T₁ − θT₀)² ≤ z² (V₁₁ − 2θV₀₁ + θ²V₀₀) is a quadratic in θ whose solutions are an interval while T₀² > z² V₀₀.

    Examples
    --------
    >>> ratio = fieller_interval(50.0, 100.0, np.diag([4.0, 0.0]))
    >>> round(ratio.low, 3), round(ratio.high, 3)
    (0.461, 0.539)
    """
    min_bottom = 4.0  # standard errors from 0; nearer, a ratio is nonsense
    above, cross, below = float(noise[0, 0]), float(noise[0, 1]), float(noise[1, 1])
    if not bottom > min_bottom * math.sqrt(below) or not bottom > 0:
        return None
    theta = top / bottom
    a, b, c = bottom**2 - Z**2 * below, top * bottom - Z**2 * cross, top**2 - Z**2 * above
    root = math.sqrt(max(b * b - a * c, 0.0))
    se = math.sqrt(max(above - 2 * theta * cross + theta**2 * below, 0.0)) / bottom
    bias = -cross / bottom**2 + theta * below / bottom**2
    return Figure(theta - bias, se, (b - root) / a, (b + root) / a)


def _smooth(asked: Asked, values: FloatArray, noise: FloatArray, units: list[tuple[float, float]]) -> Estimate:
    min_rows = 10.0
    if not values[0] > max(4 * math.sqrt(noise[0, 0]), min_rows):
        return Estimate.untold(TOO_FEW)
    function = evaluate(asked, units)
    gradient, curvature = differentiate(function, values, noise)
    se = math.sqrt(max(float(gradient @ noise @ gradient), 0.0))
    value = function(values) - 0.5 * float(np.sum(noise * curvature))
    if not (math.isfinite(value) and math.isfinite(se)):
        return Estimate.untold(TOO_FEW)
    if asked.statistic is Statistic.CORRELATION:
        return _correlation(asked, values, noise, value, se)
    if asked.statistic is Statistic.COVARIANCE:
        return _within(value, se, -math.inf, math.inf, "weights")
    out = _within(value, se, 0.0, math.inf, "weights")
    if asked.statistic is Statistic.VARIANCE:
        return out
    # The interval is that of the variance; E √v̂ = √v − Var(v̂)/(8 v^{3/2}) to second order, where v is sure.
    root = math.sqrt(max(value, 0.0))
    doubt = max(root, math.sqrt(se), 1e-300)
    ends = [math.sqrt(max(end or 0.0, 0.0)) for end in (out.low, out.high)]
    shift = se**2 / (8 * doubt**3) if value > 4 * se else 0.0
    return Estimate(min(root + shift, ends[1]), se / (2 * doubt), ends[0], ends[1], out.kind, out.by)


def _correlation(asked: Asked, values: FloatArray, noise: FloatArray, value: float, se: float) -> Estimate:
    """Return the interval that is even on Fisher's scale; the spread of both columns must be sure."""
    min_z = 4.0
    for second, first in ((4, 1), (5, 2)):
        spread = replace(asked, statistic=Statistic.VARIANCE, population=True)
        chosen = [0, first, second]
        part, doubt = values[chosen], noise[np.ix_(chosen, chosen)]
        function = evaluate(spread, [(0.0, 1.0)])
        gradient, _ = differentiate(function, part, doubt)
        if not function(part) > min_z * math.sqrt(max(float(gradient @ doubt @ gradient), 0.0)):
            return Estimate.untold("the noise hides how far the values spread")
    if not abs(value) < 1:
        value = math.copysign(0.9999, value)
    middle, half = math.atanh(value), Z * se / max(1 - value**2, 1e-9)
    return _figure(Figure(value, se, math.tanh(middle - half), math.tanh(middle + half)), -1.0, 1.0, "weights")


def differentiate(function: Evaluate, at: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gradient and matrix of second derivatives by differences, in steps of a tenth of a standard error.

    Examples
    --------
    >>> gradient, curvature = differentiate(lambda t: float(t[0] * t[1]), np.array([2.0, 3.0]), np.eye(2))
    >>> gradient.round(6).tolist(), curvature.round(4).tolist()
    ([3.0, 2.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    size = len(at)
    steps = np.where(
        np.diag(noise) > 0, 0.1 * np.sqrt(np.maximum(np.diag(noise), 0.0)), 1e-5 * np.maximum(np.abs(at), 1.0)
    )
    moves = np.diag(steps)
    centre = function(at)
    up = np.array([function(at + move) for move in moves])
    down = np.array([function(at - move) for move in moves])
    curvature = np.diag((up - 2 * centre + down) / steps**2)
    for i in range(size):
        for j in range(i):
            both = sum(s * r * function(at + s * moves[i] + r * moves[j]) for s in (-1, 1) for r in (-1, 1))
            curvature[i, j] = curvature[j, i] = both / (4 * steps[i] * steps[j])
    return (up - down) / (2 * steps), curvature


def _is_bounded(plan: Plan, folded: Folded) -> bool:
    powers = {power for total in plan.totals for power in folded.split(total)[0].items()}
    return any(
        (None in axis.below and not _sees_all(plan, folded, place))
        or any((axis.name, p) in powers for p in axis.below if p is not None)
        for place, axis in enumerate(folded.count.axes)
    )


def _sees_all(plan: Plan, folded: Folded, place: int) -> bool:
    """Whether no total of a plan tells the classes of an axis apart."""
    arrays = [folded.masks.arrays[total.mask] for total in plan.totals]
    same = all(np.array_equal(a, np.broadcast_to(np.take(a, [0], axis=place), a.shape)) for a in arrays)
    groups = folded.groups
    return same and np.array_equal(groups, np.broadcast_to(np.take(groups, [0], axis=place), groups.shape))


def _estimate_bounds(
    plan: Plan, folded: Folded, group: int, columns: Mapping[str, Column], rows: float, effective: float, shared: float
) -> Estimate:
    """Return a figure with bounds: where in its bin a value lies is not released, so both extremes are computed."""
    asked = plan.asked
    ok = (Statistic.COUNT, Statistic.SHARE, Statistic.SUM, Statistic.MEAN)
    if asked.statistic not in ok or (asked.statistic is Statistic.MEAN and len(plan.totals[0].monomial) != 1):
        return Estimate.untold(
            "the law releases bins, and says nothing of where in its bin a value lies", rows, effective
        )
    middle = _noisy(
        asked, folded.values(group, plan.totals), shared * _floor(folded.noise(group, plan.totals)), columns, rows
    )
    ends = []
    for side in ("below", "above"):
        values, noise = folded.values(group, plan.totals, side), shared * _floor(folded.noise(group, plan.totals, side))
        if asked.statistic in (Statistic.MEAN, Statistic.SHARE) and _bottom_varies(plan, folded, group):
            return Estimate.untold("the law releases bins, and the group is cut inside one", rows, effective)
        ends.append(_noisy(asked, values, noise, columns, rows))
    low, high = ends[0].low, ends[1].high
    if middle.value is None or low is None or high is None:
        return Estimate.untold(TOO_FEW, rows, effective)
    return Estimate(
        middle.value, None, low, high, Certainty.GUARANTEED, "bins, values evenly inside; bounds by both ends", rows, effective,
        (low, high),
    )  # fmt: skip


def _floor(noise: FloatArray) -> FloatArray:
    """Return a covariance without the crumbs of rounding, or of squares that are known inside bounds only."""
    out = noise.copy()
    out[np.diag_indices(len(out))] = np.maximum(np.diag(out), 0.0)
    return out


def _bottom_varies(plan: Plan, folded: Folded, group: int) -> bool:
    bottom = plan.totals[1] if plan.asked.statistic is Statistic.SHARE else plan.totals[0]
    low, high = (folded.values(group, [bottom], side)[0] for side in ("below", "above"))
    return bool(abs(high - low) > 1e-9 * max(abs(high), 1.0))


def refuse(asked: Asked, what: str) -> UsageError:
    """Return the error for a figure that no estimator of the house can give."""
    return UsageError(f"{asked.name}: {what}")
