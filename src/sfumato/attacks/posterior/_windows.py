"""What the rows around a row say about it, the row itself left out: sums over windows, in time linear in the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray, IntArray

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
    ranks = np.zeros(len(values))
    ranks[present] = _ranks(values[present])
    centred = np.where(present, values - mean, 0.0)
    best: Smoothed | None = None
    most, sureness = 0.0, 0.0
    for half in half_widths(len(values)):
        for sloped, around in _fits(centred, present, half):
            there = present & ~np.isnan(around)
            if there.sum() < MIN_ROWS:
                continue
            own, near = centred[there], around[there]
            if not sloped:
                sureness = max(sureness, _correlation(ranks[there], near) * float(np.sqrt(len(own))))
            if (found := _correlation(own, near)) > most:
                most, best = found, Smoothed(around + mean, half, sloped)
    return best if sureness > MIN_Z else None


def _ranks(values: FloatArray) -> FloatArray:
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    upto = np.cumsum(sizes)
    return np.asarray((upto - sizes / 2)[place], dtype=np.float64)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else 0.0


def _fits(values: FloatArray, present: np.ndarray, half: int) -> Iterator[tuple[bool, FloatArray]]:
    """The mean of the neighbours, and from some size on the line through them, at the row that they surround.

    With offsets d = j − i: the mean is Σz/k, the line at d = 0 is (Σd² Σz − Σd Σdz)/(k Σd² − (Σd)²).
    """
    min_half = 8  # of a window that may hold a slope as well as a mean
    rows = np.arange(len(values), dtype=np.int64)
    low, high = np.maximum(rows - half, 0), np.minimum(rows + half + 1, len(values))
    there = present.astype(np.int64)

    def total(terms: np.ndarray) -> np.ndarray:
        cumulative = np.concatenate([np.zeros(1, terms.dtype), np.cumsum(terms)])
        return np.asarray(cumulative[high] - cumulative[low] - terms)

    number = total(there)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(number > 0, total(values) / number, np.nan)
        yield False, mean
        if half < min_half:
            return
        first = total(there * rows) - rows * number
        # Whole numbers: the differences of their sums are exact however long the table is.
        second = total(there * rows * rows) - 2 * rows * total(there * rows) + rows * rows * number
        moment = total(values * rows) - rows * total(values)
        spread = number * second.astype(np.float64) - first.astype(np.float64) ** 2
        line = (second * total(values) - first * moment) / spread
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


def agreement(codes: IntArray, half: int) -> float:
    """Return how far rows agree with their neighbours beyond chance, in standard deviations.

    Over the P pairs at most `half` apart, e_i · e_j with e the indicator less the shares has mean 0 and variance
    tr Σ² = Σp² − 2Σp³ + (Σp²)² in an order that chance has made, and pairs are uncorrelated.
    """
    codes = codes[codes >= 0]
    n = len(codes)
    if n < MIN_ROWS:
        return 0.0
    half = min(half, n - 1)
    shares = np.bincount(codes) / n
    square = float((shares**2).sum())
    variance = square - 2 * float((shares**3).sum()) + square**2
    rows = np.arange(n, dtype=np.int64)
    keys = np.sort(codes * (2 * n) + rows)
    same = np.searchsorted(keys, codes * (2 * n) + np.minimum(rows + half, n - 1), side="right")
    same = same - np.searchsorted(keys, codes * (2 * n) + rows, side="right")
    after = np.minimum(half, n - 1 - rows)
    before = np.minimum(half, rows)
    pairs = float(after.sum())
    found = float(same.sum()) - float(((after + before) * shares[codes]).sum()) + pairs * square
    return found / float(np.sqrt(pairs * variance)) if variance > 0 else 0.0
