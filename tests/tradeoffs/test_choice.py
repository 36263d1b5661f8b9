"""Which setting is recommended, and when none is."""

import math

import numpy as np
import pytest

from sfumato.tradeoffs import Point, recommend
from sfumato.tradeoffs.choice import choose, isotonic
from sfumato.tradeoffs.point import standard_error
from sfumato.tradeoffs.setting import AXES


def point(setting, accuracy, spread=0.01, repeats=4, tested=0):
    return Point(setting, accuracy, spread, 0.5, 0.1, 0.9, 1.0, repeats=repeats, tested=tested)


def levels(accuracies, **options):
    return [point({"privacy": 0.5 * (i + 1)}, a, **options) for i, a in enumerate(accuracies)]


def chosen(points, truth=0.9, error=0.01, majority=0.5, axis="privacy"):
    return choose(points, AXES[axis], (truth, error), majority)


def test_the_standard_error_is_the_sd_over_the_root_of_the_repeats():
    assert standard_error(0.9, 0.02, 4, 0) == 0.01
    assert standard_error(0.9, 0.02, 1, 0) == 0.02


def test_splits_that_agree_by_luck_still_have_the_error_of_their_test_records():
    share = 91 / 102
    assert standard_error(0.9, 0.0, 4, 100) == pytest.approx(math.sqrt(share * (1 - share) / 100) / 2)
    assert standard_error(1.0, 0.0, 1, 48) == pytest.approx(math.sqrt(0.98 * 0.02 / 48))


def test_more_repeats_make_the_recommendation_of_n_stricter():
    def sizes(repeats):
        return [point({"gamma": 5.0, "bins": n}, a, 0.01, repeats) for n, a in ((5, 0.70), (10, 0.795), (20, 0.80))]

    assert recommend(sizes(3))[0]["bins"] == 10  # 2 × 0.01/√3 = 0.0115
    assert recommend(sizes(16))[0]["bins"] == 10  # 2 × 0.01/√16 = 0.005
    assert recommend(sizes(17))[0]["bins"] == 20


def test_an_unsteady_setting_is_not_forgiven_its_lower_accuracy():
    shaky = point({"gamma": 5.0, "bins": 5}, 0.60, spread=0.5)
    steady = point({"gamma": 5.0, "bins": 10}, 0.80, spread=0.01)
    assert recommend([shaky, steady])[0]["bins"] == 10


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.9, 0.8, 0.7], [0.9, 0.8, 0.7]),
        ([0.9, 0.7, 0.8], [0.9, 0.75, 0.75]),
        ([0.7, 0.8, 0.9], [0.8, 0.8, 0.8]),
        ([0.9, 0.6, 0.7, 0.8, 0.5], [0.9, 0.7, 0.7, 0.7, 0.5]),
        ([0.4], [0.4]),
    ],
)
def test_runs_that_rise_are_replaced_by_their_mean(given, expected):
    assert isotonic(given) == pytest.approx(expected)


def test_the_evened_curve_is_the_least_squares_fit_under_the_order():
    """Its min-max form: the smallest over beginnings of the largest over ends of the mean between (Robertson et al. 1988)."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        x = rng.random(rng.integers(1, 9))
        n = len(x)
        twin = [min(max(x[a : b + 1].mean() for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
        assert isotonic(list(x)) == pytest.approx(twin)


def test_the_strongest_setting_that_costs_nothing_is_chosen():
    setting, why = chosen(levels([0.90, 0.895, 0.892, 0.80]))
    assert setting == {"privacy": 1.5}
    assert "89.2%" in why
    assert "cost more" in why


def test_a_lucky_setting_behind_one_that_fell_is_not_chosen_and_an_unlucky_one_is_no_bar():
    assert chosen(levels([0.90, 0.80, 0.86, 0.70]))[0] == {"privacy": 0.5}
    assert chosen(levels([0.90, 0.888, 0.896, 0.70]))[0] == {"privacy": 1.5}


def test_where_less_is_stronger_the_ladder_is_climbed_downward():
    points = [point({"epsilon": e}, a) for e, a in ((0.5, 0.6), (1.0, 0.895), (2.0, 0.9), (4.0, 0.9))]
    setting, why = chosen(points, axis="epsilon")
    assert setting == {"epsilon": 1.0}
    assert "cost more" in why


def test_a_best_setting_that_beats_the_true_values_by_luck_sets_no_higher_bar():
    setting, why = chosen(levels([0.96, 0.90]), truth=0.905)
    assert setting == {"privacy": 1.0}
    assert "within two standard errors (1.0 points) of the best, 90.5%" in why


def test_the_end_of_a_sweep_asks_for_a_longer_one():
    assert "try values above it." in chosen(levels([0.9, 0.9]))[1]
    points = [point({"gamma": g, "bins": 5}, 0.9) for g in (5.0, 8.0)]
    setting, why = chosen(points, axis="gamma")
    assert setting == {"gamma": 5.0, "bins": 5}
    assert "try values below it." in why


def test_no_setting_is_recommended_where_accuracy_decides_nothing():
    blind, why = chosen(levels([0.52, 0.51]), truth=0.51, error=0.02)
    assert blind is None
    assert "even a tree from the true values" in why
    lost, why = chosen(levels([0.51, 0.50]), truth=0.9)
    assert lost is None
    assert "Sweep gentler values of privacy" in why
    alone, why = chosen(levels([0.9]))
    assert alone is None
    assert "nothing to be compared with" in why


def test_settings_no_better_than_guessing_are_not_recommended_even_within_noise():
    setting, why = chosen(levels([0.58, 0.51], spread=0.07), majority=0.505, truth=0.9)
    assert setting == {"privacy": 0.5}
    assert "cannot be told from guessing" in why
