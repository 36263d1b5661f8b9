"""The order of the rows as a witness: in a table sorted by income a row's neighbours say what its income is.

Noise on single values leaves the order of the rows as it was. Where the order means something, neighbours are alike, their noise
averages out, and what they say is a prior for the row between them. The window is the one that best predicts the released values
it leaves out, so a random order says nothing. Sums over windows take time linear in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Claim, Recovery, Remedy, ValueAttack, View
from sfumato.attacks.column_posterior import recover_column
from sfumato.attacks.conditional_posterior import MAX_CELLS, Bells, Conditional, grouped_counts, name_large
from sfumato.counts import FloatArray, IntArray, scatter
from sfumato.findings import Note

MIN_Z = 5.0
"""z-score by which rows must go with their neighbours before the order of the rows is held to say anything."""
MIN_ROWS = 50
"""Rows below which the order is not looked at."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A number for every row from its neighbours alone."""

    around: FloatArray
    half: int
    sloped: bool


def half_widths(rows: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, … up to a quarter of the rows."""
    both = sorted({h for k in range(40) for h in (2**k, 3 * 2**k) if h <= max(1, rows // 4)})
    return both or [1]


def smooth_rows(values: FloatArray) -> Smoothed | None:
    """Choose the window that tells most about the row it leaves out, by least squares on the release; None if none surely does.

    Of the regression of yᵢ on its neighbours' mᵢ the error left is Var(y)(1 − r²), so the best window is that of the largest
    r. Whether any tells something is judged by ranks, which no single far value decides: in an order that chance has made
    their r√n is nearly a standard normal.
    """
    present = ~np.isnan(values)
    if present.sum() < MIN_ROWS or np.ptp(values[present]) == 0:
        return None
    mean = float(values[present].mean())
    ranks = scatter(len(values), present, _ranks(values[present]), 0.0)
    centred = np.where(present, values - mean, 0.0)
    best: Smoothed | None = None
    most, sureness = 0.0, 0.0
    sums = WindowSums(present, centred)
    for half in half_widths(len(values)):
        for sloped, around in _fits(sums, half):
            there = present & ~np.isnan(around)
            if there.sum() < MIN_ROWS:
                continue
            own, near = centred[there], around[there]
            if not sloped:
                sureness = max(sureness, _correlation(ranks[there], near) * float(np.sqrt(len(own))))
            if (r := _correlation(own, near)) > most:
                most, best = r, Smoothed(around + mean, half, sloped)
    return best if sureness > MIN_Z else None


def _ranks(values: FloatArray) -> FloatArray:
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    upto = np.cumsum(sizes)
    return np.asarray((upto - sizes / 2)[place], dtype=np.float64)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else 0.0


@dataclass(frozen=True, eq=False)
class WindowSums:
    """Sums over the rows from the first one on: of ones, offsets and values, so that any window's sums are two look-ups.

    Whole numbers stay whole: the differences of their sums are exact however long the table is.
    """

    present: np.ndarray
    values: FloatArray

    def _upto(self, terms: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(1, terms.dtype), np.cumsum(terms)])

    @cached_property
    def _terms(self) -> dict[str, np.ndarray]:
        there, rows = self.present.astype(np.int64), np.arange(len(self.values), dtype=np.int64)
        own = {"1": there, "j": there * rows, "jj": there * rows * rows}
        return own | {"z": self.values, "jz": self.values * rows}

    @cached_property
    def _sums(self) -> dict[str, np.ndarray]:
        return {name: self._upto(terms) for name, terms in self._terms.items()}

    def around(self, name: str, half: int) -> np.ndarray:
        """Return the sum of one kind of terms over the neighbours of every row, the row itself left out."""
        sums, size = self._sums[name], len(self.values)
        out = np.empty(size, sums.dtype)
        inner = max(size - half - 1, 0)  # rows whose window does not reach the last row
        high, low = min(half, size), max(size - half, 0)
        out[:inner] = sums[half + 1 : half + 1 + inner]
        out[inner:] = sums[-1]
        out[high:] -= sums[:low]
        out -= self._terms[name]
        return out


def _fits(sums: WindowSums, half: int) -> Iterator[tuple[bool, FloatArray]]:
    """The mean of the neighbours, and from some size on the line through them, at the row that they surround.

    With offsets d = j − i: the mean is Σz/k, the line at d = 0 is (Σd² Σz − Σd Σdz)/(k Σd² − (Σd)²).
    """
    min_half = 8  # of a window that may hold a slope as well as a mean
    rows = np.arange(len(sums.values), dtype=np.int64)
    number, total = sums.around("1", half), sums.around("z", half)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(number > 0, total / number, np.nan)
        yield False, mean
        if half < min_half:
            return
        places = sums.around("j", half)
        first = places - rows * number
        second = sums.around("jj", half) - 2 * rows * places + rows * rows * number
        moment = sums.around("jz", half) - rows * total
        spread = number * second.astype(np.float64) - first.astype(np.float64) ** 2
        line = (second * total - first * moment) / spread
        yield True, np.where((number > 2) & (spread > 0), line, mean)


def window_sums(table: FloatArray, codes: IntArray, rows: IntArray, half: int) -> FloatArray:
    """Return Σ table[code of j] over the neighbours j of each of some rows, themselves left out; missing codes add nothing."""
    at_once = 64  # columns of the table that are summed along all rows at a time
    size = len(codes)
    low, high = np.maximum(rows - half, 0), np.minimum(rows + half + 1, size)
    padded = np.vstack([table, np.zeros(table.shape[1])])
    at = np.where(codes >= 0, codes, len(table))
    out = np.empty((len(rows), table.shape[1]))
    for begin in range(0, table.shape[1], at_once):
        part = padded[:, begin : begin + at_once]
        cumulative = np.vstack([np.zeros(part.shape[1]), np.cumsum(part[at], axis=0)])
        out[:, begin : begin + at_once] = cumulative[high] - cumulative[low] - part[at[rows]]
    return out


def agreement(codes: IntArray, halves: Sequence[int]) -> float:
    """Return how far rows agree with their neighbours beyond chance, in standard deviations, at the width that shows it most.

    Over the P pairs at most `half` apart, e_i · e_j with e the indicator less the shares has mean 0 and variance
    tr Σ² = Σp² − 2Σp³ + (Σp²)² in an order that chance has made, and pairs are uncorrelated.
    """
    codes = codes[codes >= 0]
    n = len(codes)
    if n < MIN_ROWS:
        return 0.0
    shares = np.bincount(codes) / n
    square = float((shares**2).sum())
    variance = square - 2 * float((shares**3).sum()) + square**2
    if variance <= 0:
        return 0.0
    rows = np.arange(n, dtype=np.int64)
    places = codes * (2 * n) + rows
    keys = np.sort(places)
    upto_own = np.searchsorted(keys, places, side="right")

    def excess(half: int) -> float:
        same = np.searchsorted(keys, places - rows + np.minimum(rows + half, n - 1), side="right") - upto_own
        after, before = np.minimum(half, n - 1 - rows), np.minimum(half, rows)
        pairs = float(after.sum())
        agreeing = float(same.sum()) - float(((after + before) * shares[codes]).sum()) + pairs * square
        return agreeing / float(np.sqrt(pairs * variance))

    return max(excess(min(half, n - 1)) for half in halves)


MAX_BANDS = 32
"""Groups of rows by what their neighbours say, in which the link to the row itself is learned."""
MIN_GAIN = 10.0
"""Nats that the neighbours must add to the likelihood of all released values."""


@dataclass(frozen=True)
class RowOrder(ValueAttack):
    """Apply Bayes' rule with a prior for every row from the rows around it.

    ``regardless`` names columns for which the column's posterior is returned where the order says nothing, so that the attack can be
    compared with itself on rows in another order.
    """

    name: ClassVar[str] = "row-order"
    title: ClassVar[str] = "Neighbours in the order of the rows"
    assumes: ClassVar[str] = "The manifest, and that the rows stand as they stood in the table."
    together: ClassVar[bool] = False
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF414",
            "The order of the rows gives it away: neighbours are alike, and their noise averages out. Shuffle the rows of the table "
            "before you release it; their order serves no purpose.",
        )
    )
    regardless: tuple[str, ...] = ()

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column whose neighbouring rows are alike."""
        recoveries, windows = [], {}
        for column in view.columns:
            belief = view.beliefs[column.name]
            if column.channel is None or not 1 < belief.grid.size <= MAX_CELLS:
                continue
            recovery, about = recover_from_neighbours(belief)
            if recovery is not None:
                recoveries.append(recovery)
                windows[column.name] = about
            elif column.name in self.regardless:
                recoveries.append(recover_column(belief))
        untried = name_large(view)
        if not recoveries:
            return Claim(skipped="neighbouring rows are no more alike than any others", untried=untried)
        return Claim(tuple(recoveries), {"windows": windows}, untried=untried)

    def without_order(self, claim: Claim) -> RowOrder:
        """Return the attack that guesses the same columns whether or not their order says anything."""
        return RowOrder(tuple(r.attribute for r in claim.recoveries))


def recover_from_neighbours(belief: Belief) -> tuple[Recovery | None, dict[str, Any]]:
    """Return what the neighbours say of each row, and the window that was chosen; None where the order says nothing."""
    certain = 1 - 1e-9  # a law that gives a released value more has no noise to average out
    if not belief.column.attribute.kind.numeric:
        runs, about = recover_runs(belief)
        return None if runs is None else runs.recovery(), about
    if np.all(belief.kernel.dense().max(axis=0) > certain):
        steps = interpolate_steps(belief)
        return steps, {} if steps is None else {"sorted": True}
    near = smooth_rows(belief.column.values)
    if near is None or (posterior := fit_neighbours(belief, near)) is None:
        return None, {}
    return posterior.recovery(), {"rows_each_side": near.half, "sloped": near.sloped}


def fit_neighbours(belief: Belief, near: Smoothed) -> Conditional | None:
    """Fit x given the neighbours' m: a bell around a line c + b m, its width learned band by band from the rows' own values.

    The neighbours' noise is none of the row's, so the released values of the rows of a band, through the law, tell how x
    lies around the line: their likelihood chooses c, b and the widths. In every law that draws at all E[y | x] is
    linear in x.
    """
    min_rows = 25  # of a band
    usable = ~np.isnan(near.around) & (belief.codes >= 0)
    around = near.around[usable]
    bands = max(2, min(MAX_BANDS, len(around) // min_rows))
    edges = np.unique(np.quantile(around, np.arange(1, bands) / bands))
    band = scatter(len(near.around), usable, np.searchsorted(edges, around, side="right"), -1)
    size = (len(edges) + 1, belief.observed.size)
    counts = grouped_counts(band, belief.codes, size)
    rows = counts.sum(axis=1)
    middle = np.bincount(band[usable], around, minlength=size[0]) / np.maximum(rows, 1)
    bells = Bells(belief.grid, belief.prior, belief.kernel)
    fit = bells.likelihoods(counts)
    line = _line(bells, fit, middle, rows)
    weights, gain = _widths(bells, fit, line[0] + line[1] * middle, belief, counts)
    if gain < MIN_GAIN:
        return None
    places, groups = _round_means(belief, line[0] + line[1] * near.around, band)
    priors = np.vstack([bells.mix(places[:, 0], weights[places[:, 1].astype(np.int64)]), belief.prior])
    return Conditional(belief, priors, np.where(groups < 0, len(places), groups))


def _round_means(belief: Belief, means: FloatArray, band: IntArray) -> tuple[FloatArray, IntArray]:
    """Round the means to 2000 places of the domain; return them with their band, and which of them each row has (−1 for none)."""
    places = 2000
    ends = belief.grid.finite_edges
    step = (ends[-1] - ends[0]) / places
    there = band >= 0
    place = np.rint((np.clip(means[there], ends[0], ends[-1]) - ends[0]) / step).astype(np.int64)
    key, which = np.unique(place * MAX_BANDS + band[there], return_inverse=True)
    means = np.column_stack([ends[0] + (key // MAX_BANDS) * step, key % MAX_BANDS])
    return means, scatter(len(band), there, which, -1)


def _at(bells: Bells, fit: FloatArray, means: FloatArray) -> FloatArray:
    """Return the log-likelihood of each band and width at a mean between two of the bells' places."""
    at = np.interp(means, bells.places, np.arange(len(bells.places), dtype=np.float64))
    low = np.minimum(at.astype(np.int64), len(bells.places) - 2)
    part = (at - low)[:, None]
    bands = np.arange(len(means))
    return np.asarray((1 - part) * fit[bands, :, low] + part * fit[bands, :, low + 1])


def _average_likelihoods(logs: FloatArray, usual: FloatArray) -> FloatArray:
    top = logs.max(axis=1)
    return np.asarray(top + np.log((np.exp(logs - top[:, None]) * usual).sum(axis=1)))


def _line(bells: Bells, fit: FloatArray, middle: FloatArray, rows: FloatArray) -> tuple[float, float]:
    """Return c and b of the largest likelihood, from the line through the likeliest place of each band."""
    from scipy.optimize import minimize

    usual = bells.beforehand
    best = bells.places[np.argmax(fit.max(axis=1), axis=1)]
    centre = float(np.average(middle, weights=rows))
    spread = float(np.sqrt(np.average((middle - centre) ** 2, weights=rows))) or 1.0
    slope, level = np.polyfit((middle - centre) / spread, best, 1, w=np.sqrt(rows))
    span = float(bells.places[-1] - bells.places[0])

    def loss(at: FloatArray) -> float:
        means = at[0] + at[1] * (middle - centre) / spread
        beyond = np.maximum(np.abs(means - np.clip(means, bells.places[0], bells.places[-1])) / span, 0).sum()
        return float(beyond - _average_likelihoods(_at(bells, fit, means), usual).sum())

    start = np.array([level, slope])
    simplex = start + span / 50 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    best_line = minimize(loss, start, method="Nelder-Mead", options={"initial_simplex": simplex, "maxiter": 200}).x
    b = float(best_line[1]) / spread
    return float(best_line[0]) - b * centre, b


def _widths(
    bells: Bells, fit: FloatArray, means: FloatArray, belief: Belief, counts: FloatArray
) -> tuple[FloatArray, float]:
    """Return the weight of each width in each band, mostly the one they have in common, and the nats gained over the whole table."""
    apart = 0.1  # share of bands, beforehand, whose width may differ from the common one
    logs = _at(bells, fit, means)
    start = bells.beforehand
    common = _posterior(logs.sum(axis=0)[None, :], start)[0]
    weights = _posterior(logs, (1 - apart) * common + apart * start)
    alone = counts @ np.log(np.maximum(belief.evidence, 1e-300))
    gain = float((_average_likelihoods(logs, start) - alone).sum())
    return weights, gain


def _posterior(logs: FloatArray, usual: FloatArray) -> FloatArray:
    weight = np.exp(logs - logs.max(axis=1, keepdims=True)) * usual
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def recover_runs(belief: Belief) -> tuple[Conditional | None, dict[str, Any]]:
    """Return the priors of single rows from the labels around them; None where the order of the rows says nothing."""
    likeness = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.995)  # tried shares of neighbours that have the row's own label
    max_tried = 6000  # rows on which windows are compared
    max_numbers = 30_000_000  # rows × labels whose priors are held; of a larger table rows in equal steps are attacked
    codes = belief.codes
    if agreement(codes, (1, 8, 64, 512)) < MIN_Z:
        return None, {}
    known = np.flatnonzero(codes >= 0)
    tried = known[np.linspace(0, len(known) - 1, min(max_tried, len(known))).astype(np.int64)]
    best = max(
        (_gain(belief, tried, half, alike), half, alike) for alike in likeness for half in half_widths(len(codes))
    )
    if best[0] < MIN_GAIN:
        return None, {}
    _, half, alike = best
    most = max(1, max_numbers // belief.grid.size)
    rows = known if len(known) <= most else known[np.linspace(0, len(known) - 1, most).astype(np.int64)]
    groups = scatter(len(codes), rows, np.arange(len(rows)), -1)
    about = {"rows_each_side": half, "neighbours_alike": alike}
    return Conditional(belief, _priors(belief, rows, half, alike), groups), about


def _priors(belief: Belief, rows: IntArray, half: int, alike: float) -> FloatArray:
    """π(p) Π_j (ρ K[s_j, p] + (1 − ρ) P(s_j)) over the neighbours j, brought to sum one."""
    said = np.log(np.maximum(alike * belief.kernel.dense() + (1 - alike) * belief.evidence[:, None], 1e-300))
    logs = window_sums(said, belief.codes, rows, half)
    logs += np.log(np.maximum(belief.prior, 1e-300))
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    return np.asarray(logs / logs.sum(axis=1, keepdims=True))


def _gain(belief: Belief, rows: IntArray, half: int, alike: float) -> float:
    """Return the nats by which the neighbours predict released labels better than the whole table does."""
    own = belief.codes[rows]
    seen = (belief.kernel.rows(own) * _priors(belief, rows, half, alike)).sum(axis=1)
    return float(np.log(np.maximum(seen, 1e-300) / np.maximum(belief.evidence[own], 1e-300)).sum())


def interpolate_steps(belief: Belief) -> Recovery | None:
    """Return values on straight lines from step to step; None where the released values neither only rise nor only fall."""
    known = np.flatnonzero(belief.codes >= 0)
    codes = belief.codes[known]
    climbs = np.diff(codes)
    if len(known) < MIN_ROWS or not (np.all(climbs >= 0) or np.all(climbs <= 0)):
        return None
    at = np.flatnonzero(climbs)
    if len(at) < 2:
        return None
    edges = belief.grid.finite_edges
    holds = belief.kernel.dense() > 0
    low, high = edges[np.argmax(holds, axis=1)], edges[holds.shape[1] - np.argmax(holds[:, ::-1], axis=1)]
    before, after = codes[at], codes[at + 1]
    rising = climbs[at] > 0
    steps = (np.where(rising, high[before], low[before]) + np.where(rising, low[after], high[after])) / 2
    first = low[codes[0]] if rising[0] else high[codes[0]]
    last = high[codes[-1]] if rising[-1] else low[codes[-1]]
    places = np.concatenate([[-0.5], at + 0.5, [len(codes) - 0.5]])
    between = np.interp(np.arange(len(codes)), places, np.concatenate([[first], steps, [last]]))
    values = scatter(len(belief.codes), known, between)
    return Recovery(belief.column.name, values, values)
