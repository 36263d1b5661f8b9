"""How sure a measured rate is: Wilson's interval for shares, the bootstrap for everything else."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.reconstruction import wilson as wilson_bands
from sfumato.text import format_number

Z95 = 1.959963984540054
DRAWS = 400
"""Draws of a bootstrap."""


def wilson(rate: float, trials: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval: the shares p for which the observed rate lies within z standard errors of p.

    |rate − p| ≤ z √(p(1−p)/n) solved for p; unlike rate ± z√(rate(1−rate)/n) it has a width at 0 and at 1.
    """
    if trials <= 0:
        return 0.0, 1.0
    low, high = (float(end) for end in wilson_bands(np.asarray(rate), trials, z))
    return (0.0 if rate <= 0 else max(low, 0.0)), (1.0 if rate >= 1 else min(high, 1.0))


@dataclass(frozen=True)
class Rate:
    """A share of trials, with its 95 % interval."""

    value: float
    trials: int

    @classmethod
    def of(cls, credits_: FloatArray) -> Rate:
        """Return the mean of credits between 0 and 1: a guess among t equals counts 1/t."""
        return cls(float(credits_.mean()) if len(credits_) else math.nan, len(credits_))

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at 95 %."""
        return wilson(self.value, self.trials)


def surprise(success: float, trials: int, chance: float) -> float:
    """P(at least as many successes by chance alone), exact: Wilson's interval is too short for rates of a few in thousands."""
    from scipy.special import bdtrc

    hits = math.floor(success * trials + 1e-9)
    if hits <= 0 or trials <= 0:
        return 1.0
    return float(bdtrc(hits - 1, trials, min(max(chance, 0.0), 1.0)))


def advantage(success: float, reference: float) -> float:
    """(success − reference)/(1 − reference): the share of what was still unknown that the attack gives away."""
    if not reference < 1:
        return 0.0
    return min(1.0, max(0.0, (success - reference) / (1 - reference)))


def format_share(share: float) -> str:
    """Write a share in percent, with three significant digits."""
    return f"{format_number(100 * share, 3)} %"


def bootstrap(
    values: FloatArray, statistic: Callable[[FloatArray], FloatArray], *, seed: int, draws: int = DRAWS
) -> tuple[float, float]:
    """The 95 % percentile interval of a statistic of means; `statistic` takes means along the last axis as it finds them.

    Means over groups of rows are drawn with replacement, and the statistic is taken of the mean of each draw.
    """
    if not len(values):
        raise UsageError("a bootstrap needs at least one value; none was given")
    order, starts, drawn = _draw_groups(len(values), seed, draws)
    sums = np.add.reduceat(values[order], starts)
    means = (drawn @ sums) / (drawn @ np.diff(starts, append=len(values)))
    low, high = np.quantile(statistic(means), [0.025, 0.975])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _draw_groups(rows: int, seed: int, draws: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return an order of the rows, where its groups begin, and how often each group is drawn in each draw."""
    rng = np.random.default_rng(seed)
    groups = min(1000, rows)  # rows are exchangeable, and groups are cheap
    order = rng.permutation(rows)
    starts = np.linspace(0, rows, groups + 1).astype(np.int64)[:-1]
    drawn = rng.integers(0, groups, (draws, groups)) + groups * np.arange(draws)[:, None]
    times = np.bincount(drawn.ravel(), minlength=draws * groups).reshape(draws, groups)
    return order, starts, times.astype(np.float64)


def mean_interval(values: FloatArray, *, seed: int) -> tuple[float, float]:
    """Bootstrap interval of a mean."""
    return bootstrap(values, lambda means: means, seed=seed)


def rmse_interval(errors: FloatArray, *, seed: int) -> tuple[float, float]:
    """Bootstrap interval of √(mean squared error)."""
    return bootstrap(errors**2, np.sqrt, seed=seed)


def central_width(errors: FloatArray, confidence: float = 0.95) -> float:
    """The width of the central interval that holds this share of the errors."""
    low, high = np.quantile(errors, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(high - low)


def central_width_interval(errors: FloatArray, *, seed: int, confidence: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of `central_width`, by drawing the two order statistics.

    The rank of the p-quantile of a redrawn sample is binomial(n, p)/n around p; so ranks are drawn, not rows. The two
    ranks are drawn apart, which is a little wide: they are positively correlated.
    """
    n = len(errors)
    rng = np.random.default_rng(seed)
    ordered = np.sort(errors)
    ends = []
    for p in ((1 - confidence) / 2, (1 + confidence) / 2):
        rank = rng.binomial(n, p, DRAWS) / n
        ends.append(np.interp(rank * (n - 1), np.arange(n), ordered))
    low, high = np.quantile(ends[1] - ends[0], [0.025, 0.975])
    return float(low), float(high)
