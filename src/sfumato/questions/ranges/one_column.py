"""Ranges of a number under smooth noise, which no unbiased weight can count.

**Likely.** The released values of a group are counted in cells, and the column is reconstructed from them: its share of the range
has an error that holds chance and bias (`Distribution.share`). Where other columns of the question are noisy, a cell's count is
Σ L, a sum of their weights, and the group is as good as (Σ L)²/Σ L² rows.

**Guaranteed.** Whatever the column looks like, its counts f at all its values are not negative, and K f is near the counts h of the
released cells: χ²(f) = Σ (h − K f)²/v. All shares ρ of the range for which some f ≥ 0 has χ² within z² of the least are held; the
least χ² under the linear constraint (c − ρ)·f = 0 is a problem of non-negative least squares. No smoothness is assumed, so the
interval is as wide as the noise leaves it. v is the variance of a cell whose rows could all have come from elsewhere, which is
more than that of the noise alone, so the interval errs on the wide side. (Bounds of this kind: Stark 1992, Rust & Burrus 1972.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sfumato.channels import Discrete, Intervals, Transition
from sfumato.counts import FloatArray, Grid
from sfumato.errors import DataError
from sfumato.questions.axes import Axis, Codes, make_axis
from sfumato.questions.conditions import TRUE, Always, Both, Condition, Key, merge_ends
from sfumato.questions.estimate import Certainty, Estimate
from sfumato.questions.functions import NumberSet
from sfumato.questions.layout import Cut, is_binned, is_smooth
from sfumato.questions.query import Asked, Statistic
from sfumato.questions.statistics import TOO_FEW, Z
from sfumato.questions.sums import CellSums, Numbers
from sfumato.reconstruction import Distribution, Figure, observed_grid, reconstruct, weighted_column
from sfumato.table import Column

MIN_ROWS = 20.0
"""Fewer rows, in effect, than this have no shape to be fitted."""


@dataclass(frozen=True, eq=False)
class BlurredCounts:
    """How many rows of a group lie in each released cell of a column, and how sure that is.

    Parameters
    ----------
    column : Column
        The column; its values are not used.
    grid : Grid
        The cells of the released values.
    counts : array
        Rows in each cell; Σ L where the group itself is noisy, so an entry may be negative.
    spread : float
        Σ L²/Σ L: 1 where the group is exact.
    """

    column: Column
    grid: Grid
    counts: FloatArray
    spread: float = 1.0

    @property
    def total(self) -> float:
        """Rows with a value."""
        return float(self.counts.sum())

    @cached_property
    def effective(self) -> float:
        """As many rows of an exact group would say as much of the shape."""
        return max(self.total, 0.0) / self.spread

    @cached_property
    def distribution(self) -> Distribution:
        """The reconstruction from these counts."""
        rows = np.maximum(self.counts, 0.0)
        rows *= self.effective / max(float(rows.sum()), 1e-9)
        column, weights = weighted_column(self.column, self.grid, np.append(0.0, rows))
        return reconstruct(column, weights=weights)

    def share(self, inside: NumberSet) -> Figure:
        """Return the likely share of the values that lie in a set."""
        weights = self.cover(inside)
        figure = self.distribution.combine(weights)
        value = min(max(float(figure), 0.0), 1.0)
        return Figure(value, figure.se, max(figure.low, 0.0), min(figure.high, 1.0))

    def cover(self, inside: NumberSet) -> FloatArray:
        """Return which part of each fine cell of the reconstruction lies in a set."""
        step = self.column.attribute.step
        out: FloatArray = np.zeros(self.distribution.fine[0].size)
        for piece in inside.pieces:
            low = piece.low if piece.low_in or not step else math.floor(piece.low / step + 1e-9) * step + step
            high = piece.high if piece.high_in or not step else math.ceil(piece.high / step - 1e-9) * step - step
            if low <= high:
                out += self.distribution.cover(low, high)
        return out

    @cached_property
    def _points(self) -> FloatArray:
        return self._points_with(())

    def _points_with(self, ends: Sequence[float]) -> FloatArray:
        """Return possible true values as the law sees them: all of a short lattice, else some, and both sides of each end."""
        max_values, spaced = 112, 100
        attribute = self.column.attribute
        low, high, step = attribute.interval.low, attribute.interval.high, attribute.step
        if step:
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if last - first < max_values:
                return np.asarray(np.arange(first, last + 1) * step)
            cuts = np.array(ends) / step
            near = np.concatenate([np.floor(cuts), np.ceil(cuts), np.floor(cuts) + 1, np.ceil(cuts) - 1])
            chosen = np.unique(np.concatenate([np.round(np.linspace(first, last, spaced)), near]))
            return np.asarray(chosen[(chosen >= first) & (chosen <= last)] * step)
        places = attribute.to_places(np.array(ends, dtype=np.float64))
        beside = 1e-7 * (high - low)
        chosen = np.unique(np.concatenate([np.linspace(low, high, spaced), places, places - beside, places + beside]))
        return np.asarray(chosen[(chosen >= low) & (chosen <= high)])

    def bounds(self, inside: NumberSet) -> tuple[float, float]:
        """Return the guaranteed interval of the share of the values that lie in a set, whatever the column looks like."""
        ends = [e for piece in inside.pieces for e in (piece.low, piece.high) if math.isfinite(e)]
        points = self._points_with(ends)
        channel = self.column.channel
        assert channel is not None
        kernel = Transition.of(channel, Grid(atoms=points), self.grid).matrix.dense()
        cumulated = self.distribution.cdf(self.column.attribute.to_values((points[1:] + points[:-1]) / 2))
        expected = kernel @ np.maximum(np.diff(np.concatenate([[0.0], cumulated, [1.0]])), 0.0) * self.total
        join = join_cells(expected, 5.0 * self.spread)
        counts, kernel = join @ self.counts, join @ kernel
        variance = self.spread * np.maximum(join @ expected, 1.0)
        function = inside.holds(self.column.attribute.to_values(points)).astype(np.float64)
        return bound_share(kernel, counts, variance, function)


def join_cells(expected: FloatArray, least: float) -> FloatArray:
    """Return a matrix that joins neighbouring cells until each expects `least` rows, shape (joined, cells).

    Examples
    --------
    >>> join_cells(np.array([3.0, 3.0, 9.0, 1.0]), 5.0).tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    """
    place, gathered, places = 0, 0.0, []
    for rows in expected:
        places.append(place)
        gathered += rows
        if gathered >= least:
            place, gathered = place + 1, 0.0
    last = max(place - 1, 0)
    joined = np.minimum(places, last)
    out = np.zeros((last + 1, len(expected)))
    out[joined, np.arange(len(expected))] = 1.0
    return out


def bound_share(
    kernel: FloatArray, counts: FloatArray, variance: FloatArray, function: FloatArray
) -> tuple[float, float]:
    """Return all shares c·f/Σf that some f ≥ 0 has whose χ² is within z² of the least.

    Parameters
    ----------
    kernel
        K, shape (released cells, true values).
    counts, variance
        Rows in each released cell, and their variance.
    function
        c at each true value, 0 or 1.

    Examples
    --------
    >>> low, high = bound_share(np.eye(2), np.array([400.0, 600.0]), np.array([400.0, 600.0]), np.array([0.0, 1.0]))
    >>> round(low, 2), round(high, 2)
    (0.57, 0.63)
    """
    from scipy.optimize import nnls

    halvings, weight = 14, 1e3
    scale = 1 / np.sqrt(variance)
    a, b = kernel * scale[:, None], counts * scale
    best, distance = nnls(a, b)
    least, total = distance**2, float(best.sum())
    if not total > 0:
        return 0.0, 1.0
    heavy = weight * math.sqrt(float((a**2).sum(axis=0).max()))

    def excess(share: float) -> float:
        _, rest = nnls(np.vstack([a, heavy * (function - share)]), np.append(b, 0.0))
        return float(rest**2 - least)

    out = []
    for end in (0.0, 1.0):
        held, refused = float(function @ best) / total, end
        if excess(end) <= Z**2:
            out.append(end)
            continue
        for _ in range(halvings):
            middle = (held + refused) / 2
            held, refused = (middle, refused) if excess(middle) <= Z**2 else (held, middle)
        out.append(refused)
    return out[0], out[1]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a group that lie in a set of the column's numbers: how many, with the fit behind them."""

    blurred: BlurredCounts
    inside: NumberSet | None
    """None where all numbers are in it."""
    missing: float
    """Rows without a value that are counted too."""
    total_se: float


@dataclass(eq=False)
class RangeLayout:
    """A figure that asks for a range, or a quantile, of one column under noise."""

    asked: Asked
    column: Column
    grid: Grid
    count: CellSums
    cut: Cut
    place: int
    """Which axis is the column."""
    kept: dict[bytes, BlurredCounts] = field(default_factory=dict)

    def estimate(self, group: int, sums: FloatArray, rows: float, shared: float) -> Estimate:
        """Return the figure of one group."""
        statistic = self.asked.statistic
        try:
            top = self._parts(self.cut.arrays[1], group, sums, shared)
            effective = min((p.blurred.effective for p in top if p.inside is not None), default=rows)
            if effective < MIN_ROWS and any(p.inside is not None for p in top):
                return Estimate.untold(TOO_FEW, rows, effective)
            if statistic is Statistic.COUNT:
                out = self._count(top)
            elif statistic is Statistic.SHARE:
                out = self._ratio(top, self._parts(self.cut.arrays[2], group, sums, shared))
            elif statistic is Statistic.QUANTILE:
                out = self._quantile(top)
            else:
                out = self._moment(top)
        except DataError:  # no value is left to be fitted
            return Estimate.untold(TOO_FEW, rows)
        return replace(out, rows=rows, effective_rows=effective)

    def _parts(self, truth: FloatArray, group: int, sums: FloatArray, shared: float) -> list[Part]:
        """Return the rows of a group for which a condition is true, by the numbers that it asks for."""
        chosen = (np.asarray(truth) == TRUE) & (np.asarray(self.cut.arrays[0]) == group)
        by_class = np.moveaxis(chosen, self.place, 0)
        classes, cells = self.cut.classes[self.place], self.cut.cells[self.place]
        patterns: dict[bytes, list[int]] = {}
        for number, mask in enumerate(by_class):
            if mask.any():
                patterns.setdefault(mask.tobytes(), []).append(number)
        table = np.moveaxis(sums.reshape(self.count.shape), self.place, -1)
        others = [axis for i, axis in enumerate(self.count.axes) if i != self.place]
        out = []
        for numbers in patterns.values():
            readings = by_class[numbers[0]].astype(np.float64)
            for axis in others:
                matrix = axis.matrix(None)
                readings = (
                    np.moveaxis(readings, 0, -1) if matrix is None else np.tensordot(readings, matrix, axes=([0], [0]))
                )
            flat, by_cell = readings.reshape(-1), table.reshape(-1, table.shape[-1])
            first, squares = flat @ by_cell, flat**2 @ by_cell
            chosen_cells = np.isin(classes[:-1], numbers)
            pieces = tuple(p for p, c in zip(cells.pieces, chosen_cells, strict=True) if c)
            every = bool(chosen_cells.all())
            present = float(first[:-1].sum())
            spread = max(float(squares[:-1].sum()) / present, 1.0) * shared if present > 0 else 1.0
            blurred = self._gather(first[:-1], spread)
            noise = max(float((squares - first)[:-1].sum()), 0.0) * shared
            missing = float(first[-1]) if classes[-1] in numbers else 0.0
            if pieces:
                out.append(Part(blurred, None if every else NumberSet(pieces), missing, math.sqrt(noise)))
            else:
                out.append(Part(replace(blurred, counts=np.zeros(self.grid.size)), None, missing, 0.0))
        return out

    def _gather(self, counts: FloatArray, spread: float) -> BlurredCounts:
        key = counts.tobytes() + np.float64(spread).tobytes()
        if key not in self.kept:
            self.kept[key] = BlurredCounts(self.column, self.grid, counts, spread)
        return self.kept[key]

    def _count(self, parts: Sequence[Part]) -> Estimate:
        value, variance, doubt = 0.0, 0.0, 0.0
        low = high = 0.0
        by = "fit of the column"
        for part in parts:
            total, se = max(part.blurred.total, 0.0), part.total_se
            if part.inside is None:
                share, ends = Figure(1.0, 0.0), (1.0, 1.0)
            else:
                share, ends, how = likely_share(part.blurred, part.inside)
                by = how
            value += total * share + part.missing
            variance += (share * se) ** 2
            doubt += total * share.se  # fits of parts that overlap may be wrong together
            low += ends[0] * max(total - Z * se, 0.0) + part.missing
            high += ends[1] * (total + Z * se) + part.missing
        se = math.sqrt(variance + doubt**2)
        most = sum(max(p.blurred.total, 0.0) + Z * p.total_se + p.missing for p in parts)
        likely = (max(value - Z * se, 0.0), min(value + Z * se, most))
        return _both(value, se, likely, (low, high), by)

    def _ratio(self, top: Sequence[Part], bottom: Sequence[Part]) -> Estimate:
        above = self._count(top)
        below = self._count(bottom)
        rows, doubt = below.value or 0.0, below.se or 0.0
        if not rows > 4 * doubt or above.value is None or above.se is None or above.guaranteed is None:
            return Estimate.untold(TOO_FEW)
        # The noise of the group is in both, and mostly cancels; what is left is counted as if it did not.
        value = min(max(above.value / rows, 0.0), 1.0)
        se = math.sqrt((above.se / rows) ** 2 + (value * doubt / rows) ** 2)
        scale = [min(max(end / rows, 0.0), 1.0) for end in above.guaranteed]
        low = scale[0] * rows / (rows + Z * doubt)
        high = min(scale[1] * rows / max(rows - Z * doubt, 1e-9), 1.0)
        likely = (max(value - Z * se, 0.0), min(value + Z * se, 1.0))
        return _both(value, se, likely, (low, high), above.by)

    def _quantile(self, parts: Sequence[Part]) -> Estimate:
        if len(parts) != 1 or parts[0].inside is not None:
            return Estimate.untold(
                "it is a quantile of rows that noisy labels or missing values divide; ask for shares"
            )
        figure = parts[0].blurred.distribution.quantile(self.asked.level)
        if not is_binned(self.column):
            return Estimate.of(figure, "fit of the column")
        low, high = bin_ends(self.column, figure.low, figure.high)
        kind = Certainty.GUARANTEED if isinstance(self.column.channel, Intervals) else Certainty.LIKELY
        return Estimate(float(figure), None, low, high, kind, "bins, values evenly inside; the ends are those of bins")

    def _moment(self, parts: Sequence[Part]) -> Estimate:
        """Return mean, sum or spread of the column's own numbers inside a set, from the fit."""
        parts = [part for part in parts if part.blurred.total > 0]
        if len(parts) != 1 or self.asked.columns != (self.column.name,):
            return Estimate.untold("it is of one column, for rows that another, blurred one chooses; ask for counts")
        part = parts[0]
        fit = part.blurred.distribution
        inside = np.ones(fit.fine[0].size) if part.inside is None else part.blurred.cover(part.inside)
        share = fit.combine(inside)
        if not share > 4 * share.se:
            return Estimate.untold(TOO_FEW)
        centres = fit.fine_values()
        mean = float(fit.combine(inside * centres)) / share
        around = (centres - mean) ** 2
        variance = float(fit.combine(inside * around)) / share
        statistic = self.asked.statistic
        if statistic is Statistic.SUM:
            total, se = part.blurred.total, part.total_se
            figure = fit.combine(inside * centres)
            error = math.hypot(total * figure.se, float(figure) * se)
            return Estimate.of(Figure(total * figure, error), "fit of the column")
        if statistic is Statistic.MEAN:
            return Estimate.of(Figure(mean, fit.combine(inside * (centres - mean)).se / share), "fit of the column")
        se = fit.combine(inside * (around - variance)).se / share
        if statistic is Statistic.VARIANCE:
            return Estimate.of(
                Figure(variance, se, max(variance - Z * se, 0.0), variance + Z * se), "fit of the column"
            )
        if statistic is Statistic.DEVIATION and variance > 2 * se:
            ends = [math.sqrt(max(variance + sign * Z * se, 0.0)) for sign in (-1, 1)]
            return Estimate.of(Figure(math.sqrt(variance), se / (2 * math.sqrt(variance)), *ends), "fit of the column")
        return Estimate.untold("the noise hides how far the values spread")


def bin_ends(column: Column, low: float, high: float) -> tuple[float, float]:
    """Return the ends of the bins that hold two values, in the unit of the column; the values where each is its own bin."""
    assert isinstance(column.channel, Discrete)
    grid, attribute = column.channel.bin_grid, column.attribute
    if grid.edges is None:
        return low, high
    places = attribute.to_places(np.array([low, high]))
    first = max(int(np.searchsorted(grid.edges, places[0], side="right")) - 1, 0)
    last = min(int(np.searchsorted(grid.edges, places[1], side="left")), grid.size)
    ends = attribute.to_values(grid.edges[[first, max(last, first + 1)]])
    return float(ends[0]), float(ends[1])


def likely_share(blurred: BlurredCounts, inside: NumberSet) -> tuple[Figure, tuple[float, float], str]:
    """Return the likely share of a set, its guaranteed interval, and how the first was computed.

    A fit is smooth, and real columns are rougher than it thinks: its interval is moved a fifth of the way to the guaranteed one, so
    that it holds as often as it says on average over real columns (benchmarks/ask.py). Where the share of the fit lies outside the
    guaranteed interval the column is not smooth at all, and that interval is the likely one too.
    """
    part = 0.2
    share, (low, high) = blurred.share(inside), blurred.bounds(inside)
    if low <= share <= high:
        ends = [end + part * (far - end) for end, far in ((max(share.low, low), low), (min(share.high, high), high))]
        return Figure(float(share), (ends[1] - ends[0]) / (2 * Z), *ends), (low, high), "fit of the column"
    middle = min(max(float(share), low), high)
    return Figure(middle, (high - low) / (2 * Z), low, high), (low, high), "bounds; the column is too rough for a fit"


def _both(value: float, se: float, likely: tuple[float, float], guaranteed: tuple[float, float], by: str) -> Estimate:
    low, high = likely
    low, high = max(low, guaranteed[0]), min(high, guaranteed[1])
    if by.startswith("bounds") or not low <= high:
        low, high = guaranteed
    return Estimate(min(max(value, low), high), se, low, high, Certainty.LIKELY, by, guaranteed=guaranteed)


def lay_out_range(
    asked: Asked, where: Condition, keys: Sequence[Key], columns: Mapping[str, Column]
) -> RangeLayout | str | None:
    """Return the layout of a figure that asks for a range or a quantile of one blurred column and of nothing else that is fitted.

    None where several columns have to be fitted together, or a group as well as what is asked of it; in words, what the law hides.
    """
    among = Both(where, asked.among or Always())
    rows = Both(where, asked.rows)
    ranged = [name for name, ends in _merge(where, keys, asked) if ends and is_smooth(columns[name])]
    own = [name for name in asked.columns if columns[name].channel is not None]
    blurred = list(dict.fromkeys([*ranged, *own]))
    if len(blurred) != 1 or (asked.columns and set(asked.columns) != set(blurred)):
        return None
    column = columns[blurred[0]]
    cut = Cut.of(columns, keys, (rows, among), [column.name])
    place = [c.name for c in cut.columns].index(column.name)
    if asked.statistic in (Statistic.QUANTILE, Statistic.SHARE) and _chooses_group(cut, place):
        return None
    grid = observed_grid(column)
    axes = []
    for i, (other, cells, classes) in enumerate(zip(cut.columns, cut.cells, cut.classes, strict=True)):
        if i == place:
            axes.append(
                Axis(column.name, Codes(np.arange(grid.size + 1), grid=grid), grid.size + 1, int(classes.max()) + 1)
            )
        else:
            axes.append(make_axis(other, cells, classes, ()))
    if any(axis.below for axis in axes):
        return "it needs the place of a value inside its bin, beside a blurred column; cut at the edges of bins"
    count = CellSums(tuple(axes), Numbers.of([], []), ((),), ())
    return RangeLayout(asked, column, grid, count, cut, place)


def _chooses_group(cut: Cut, place: int) -> bool:
    """Whether a range of the column says which rows a figure is among."""
    present = [k for k in range(int(cut.classes[place].max()) + 1) if k != cut.classes[place][-1]]
    groups, _, among = (np.take(np.asarray(array), present, axis=place) for array in cut.arrays)
    return any(bool((array != np.take(array, [0], axis=place)).any()) for array in (groups, among == TRUE))


def _merge(where: Condition, keys: Sequence[Key], asked: Asked) -> Sequence[tuple[str, tuple[float, ...]]]:
    return list(merge_ends((where, *keys, asked.rows, asked.among or Always())).items())
