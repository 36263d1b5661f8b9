"""Wilson's interval, the bootstrap, and the width of errors, against hand-worked numbers and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.auditing.rates import (
    Rate,
    advantage,
    central_width,
    central_width_interval,
    mean_interval,
    rmse_interval,
    surprise,
    wilson,
)
from sfumato.errors import UsageError


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(10, 100, 0.05523, 0.17437), (0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0), (500, 1000, 0.46908, 0.53092)],
)
def test_wilson_gives_the_published_limits(hits, trials, low, high):
    assert wilson(hits / trials, trials) == pytest.approx((low, high), abs=2e-5)


def test_wilson_of_no_trials_says_nothing():
    assert wilson(0.3, 0) == (0.0, 1.0)


def test_wilson_covers_the_truth_nineteen_times_in_twenty():
    rng = np.random.default_rng(1)
    rates = rng.binomial(60, 0.07, 4000) / 60
    covered = np.mean([low <= 0.07 <= high for low, high in (wilson(r, 60) for r in rates)])
    assert 0.93 < covered < 0.98


def test_a_guess_among_three_equals_counts_a_third():
    assert Rate.of(np.array([1.0, 1 / 3, 0.0])).value == pytest.approx(4 / 9)


@pytest.mark.parametrize(
    ("success", "reference", "expected"), [(1.0, 0.3, 1.0), (0.65, 0.3, 0.5), (0.2, 0.3, 0.0), (1.0, 1.0, 0.0)]
)
def test_advantage_is_the_share_of_the_unknown_that_is_given_away(success, reference, expected):
    assert advantage(success, reference) == pytest.approx(expected)


def test_bootstrap_intervals_of_a_mean_and_a_root_mean_square_cover_them():
    rng = np.random.default_rng(2)
    hits = 0
    for seed in range(200):
        low, high = mean_interval(rng.normal(3.0, 2.0, 500), seed=seed)
        hits += low <= 3.0 <= high
    assert 176 <= hits <= 199
    low, high = rmse_interval(rng.normal(0.0, 2.0, 5000), seed=0)
    assert low < 2.0 < high
    assert high - low < 0.2


def test_two_hits_of_300_by_a_chance_of_one_in_2000_are_no_surprise():
    # 1 − q³⁰⁰ − 300 p q²⁹⁹ with p = 1/2000: 0.0102
    assert surprise(2 / 300, 300, 1 / 2000) == pytest.approx(0.0102, abs=2e-4)
    assert surprise(0.0, 300, 0.1) == 1.0
    assert surprise(1.0, 50, 0.5) == pytest.approx(0.5**50)


def test_a_bootstrap_of_nothing_is_refused():
    with pytest.raises(UsageError, match="at least one value"):
        mean_interval(np.empty(0), seed=0)


def test_the_central_width_of_normal_errors_is_3_92_standard_deviations():
    errors = np.random.default_rng(3).normal(0.0, 2.0, 100_000)
    low, high = central_width_interval(errors, seed=0)
    assert central_width(errors) == pytest.approx(7.84, rel=0.01)
    assert low < 7.84 < high
    assert high - low < 0.2
