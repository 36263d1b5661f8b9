"""The order of the rows: what a sorted table gives away under every law, and that a shuffled one gives away nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks import ColumnPosterior, RowOrder, View
from sfumato.attacks.row_order import WindowSums, _fits, agreement, half_widths, smooth_rows, window_sums
from sfumato.auditing.rates import central_width
from sfumato.channels import CHANNELS, Gaussian, Intervals, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
LAWS = {
    "gaussian": Gaussian(privacy=0.5),
    "uniform": Uniform(privacy=0.5),
    "laplace": Laplace(privacy=0.5),
    "intervals": Intervals(count=4),
    "substitution": Substitution(gamma=19.0),
    "square-wave": SquareWave(epsilon=2.0),
}
INCOME = Attribute("income", Kind.INTEGER, Interval(0, 230_000))
TOWN = Attribute("town", Kind.CATEGORICAL, Categories(tuple("abcdefgh")))


def released(attribute, law, values, draw=0):
    channel = law.on(attribute)
    return Column(attribute, channel, channel.perturb(KEY.derive(attribute.name, draw), Rows(0, len(values)), values))


def incomes(n=5000, seed=1):
    return np.random.default_rng(seed).gamma(2, 20_000, n).round().clip(0, 230_000)


def towns(n=4000, seed=1):
    return np.random.default_rng(seed).choice(8, n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]).astype(float)


def moving_average(values, window):
    padded = np.pad(values, window // 2, mode="edge")
    return np.convolve(padded, np.ones(window) / window, "valid")


def test_a_table_sorted_by_income_gives_it_away_about_as_far_as_a_moving_average_does():
    truth = np.sort(incomes())
    view = View((released(INCOME, LAWS["gaussian"], truth),))
    claim = RowOrder().run(view)
    left = central_width(truth - claim.recoveries[0].mean)
    average = central_width(truth - moving_average(view["income"].values, 101))
    assert left <= 1.25 * average < 20_000  # over eight keys .74 to 1.02 of it
    assert np.mean(ColumnPosterior().run(view).recoveries[0].width) > 60_000
    assert claim.notes["windows"]["income"]["rows_each_side"] >= 30


@pytest.mark.parametrize("law", sorted(LAWS))
def test_under_every_law_of_numbers_the_neighbours_tell_most_of_what_the_noise_hid(law):
    assert set(LAWS) == {name for name in CHANNELS if CHANNELS[name].numeric}
    truth = np.sort(incomes())
    view = View((released(INCOME, LAWS[law], truth),))
    (near,), (alone,) = RowOrder().run(view).recoveries, ColumnPosterior().run(view).recoveries
    assert np.std(truth - near.mean) < 0.5 * np.std(truth - alone.mean)


@pytest.mark.parametrize("law", [Substitution(gamma=4.0), Projective(gamma=4.0)])
def test_runs_of_equal_labels_give_them_away(law):
    truth = np.sort(towns())
    view = View((released(TOWN, law, truth),))
    (near,), (alone,) = RowOrder().run(view).recoveries, ColumnPosterior().run(view).recoveries
    assert np.mean(alone.pick == truth) < 0.6
    assert np.mean(near.pick == truth) > 0.97
    assert np.mean(near.width) < 1.1


def test_short_runs_and_a_slow_walk_are_found_as_well():
    rng = np.random.default_rng(3)
    town = np.repeat(rng.integers(0, 8, 667), 6)[:4000].astype(float)
    walk = np.cumsum(rng.normal(0, 1, 4000))
    walk = (walk - walk.min()) / np.ptp(walk) * 230_000
    view = View((released(TOWN, Substitution(gamma=4.0), town), released(INCOME, LAWS["gaussian"], walk)))
    near = {r.attribute: r for r in RowOrder().run(view).recoveries}
    alone = {r.attribute: r for r in ColumnPosterior().run(view).recoveries}
    assert np.mean(near["town"].pick == town) > np.mean(alone["town"].pick == town) + 0.1
    assert 0.93 <= np.mean(near["town"].sets.covers(town)) <= 0.97
    assert np.std(near["income"].mean - walk) < 0.5 * np.std(alone["income"].mean - walk)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_a_shuffled_table_gives_nothing_away_by_its_order(law):
    for seed in range(4):
        view = View((released(INCOME, LAWS[law], incomes(1500, seed), seed),))
        claim = RowOrder().run(view)
        assert not claim.recoveries
        assert "no more alike" in claim.skipped


@pytest.mark.parametrize("seed", range(8))
def test_shuffled_labels_give_nothing_away_by_their_order(seed):
    view = View((released(TOWN, Substitution(gamma=8.0), towns(1500, seed), seed),))
    assert not RowOrder().run(view).recoveries


def test_where_the_order_says_nothing_the_attack_can_be_asked_for_the_posterior():
    view = View((released(INCOME, LAWS["gaussian"], incomes(800)),))
    (asked,) = RowOrder(("income",)).run(view).recoveries
    (alone,) = ColumnPosterior().run(view).recoveries
    np.testing.assert_array_equal(asked.mean, alone.mean)


def test_missing_values_are_passed_over_and_stay_missing():
    truth = np.sort(incomes(3000))
    column = released(INCOME, LAWS["gaussian"], truth)
    gone = np.arange(3000) % 5 == 0
    values = np.where(gone, np.nan, column.values)
    town = released(TOWN, Substitution(gamma=6.0), np.sort(towns(3000)))
    view = View(
        (Column(INCOME, column.channel, values), Column(TOWN, town.channel, np.where(gone, np.nan, town.values)))
    )
    for recovery in RowOrder().run(view).recoveries:
        assert np.array_equal(np.isnan(recovery.mean), gone)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_a_handful_of_rows_has_no_order_to_speak_of(n):
    view = View(
        (released(INCOME, LAWS["gaussian"], np.sort(incomes(n))), released(TOWN, Substitution(gamma=3.0), towns(n)))
    )
    assert RowOrder().run(view).skipped


def test_columns_released_as_true_are_not_attacked():
    view = View((Column(INCOME, None, np.sort(incomes(500))),))
    assert RowOrder().run(view).skipped


def test_classes_that_rise_step_by_step_show_the_values_between_the_steps():
    truth = np.sort(np.random.default_rng(4).uniform(0, 230_000, 1000))
    column = released(INCOME, Intervals(count=4), truth)
    gone = np.arange(1000) % 3 == 0
    for values in (column.values, np.where(gone, np.nan, column.values)):
        (near,) = RowOrder().run(View((Column(INCOME, column.channel, values),))).recoveries
        there = ~np.isnan(values)
        assert np.array_equal(np.isnan(near.mean), ~there)
        assert central_width((truth - near.mean)[there]) < 15_000  # of classes of 57,500
    (falling,) = RowOrder().run(View((Column(INCOME, column.channel, column.values[::-1]),))).recoveries
    np.testing.assert_allclose(falling.mean[::-1], RowOrder().run(View((column,))).recoveries[0].mean)


# --- windows ---


@pytest.mark.parametrize("half", [1, 8, 20, 40])
def test_cumulative_sums_give_the_mean_and_the_line_of_the_neighbours(half):
    rng = np.random.default_rng(half)
    values = rng.normal(size=61)
    present = rng.random(61) < 0.8
    values[~present] = 0.0
    for sloped, around in _fits(WindowSums(present, values), half):
        for i in range(61):
            near = [j for j in range(max(0, i - half), min(61, i + half + 1)) if j != i and present[j]]
            if not near:
                assert np.isnan(around[i])
            elif sloped:
                assert around[i] == pytest.approx(np.polyval(np.polyfit(np.array(near) - i, values[near], 1), 0.0))
            else:
                assert around[i] == pytest.approx(np.mean(values[near]))


def test_the_line_is_exact_far_down_a_long_table():
    n = 300_000
    values = np.linspace(-1, 1, n)
    for _, around in _fits(WindowSums(np.ones(n, bool), values), 8):
        np.testing.assert_allclose(around[8:-8], values[8:-8], atol=1e-9)


def test_sums_over_windows_leave_the_row_itself_and_missing_ones_out():
    rng = np.random.default_rng(0)
    table, codes = rng.normal(size=(5, 130)), rng.integers(-1, 5, 40)
    rows = np.flatnonzero(codes >= 0)[::3]
    found = window_sums(table, codes, rows, 6)
    for row, sums in zip(rows, found, strict=True):
        near = [j for j in range(max(0, row - 6), min(40, row + 7)) if j != row and codes[j] >= 0]
        np.testing.assert_allclose(sums, table[codes[near]].sum(axis=0), atol=1e-12)


def test_agreement_is_that_of_all_pairs_and_of_standard_size_by_chance():
    rng = np.random.default_rng(0)
    codes = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05])
    shares = np.bincount(codes) / 300
    e = np.eye(4)[codes] - shares
    pairs = [(i, j) for i in range(300) for j in range(i + 1, min(300, i + 6))]
    variance = np.trace(np.linalg.matrix_power(np.diag(shares) - np.outer(shares, shares), 2))
    expected = sum(e[i] @ e[j] for i, j in pairs) / np.sqrt(len(pairs) * variance)
    assert agreement(codes, (5,)) == pytest.approx(expected)
    many = np.array([agreement(rng.permutation(codes), (5,)) for _ in range(400)])
    assert abs(many.mean()) < 0.3
    assert 0.8 < many.std() < 1.2


def test_windows_grow_to_a_quarter_of_the_rows():
    assert half_widths(100) == [1, 2, 3, 4, 6, 8, 12, 16, 24]
    assert half_widths(2) == [1]


def test_the_window_is_wide_where_values_change_slowly_and_narrow_where_they_change_fast():
    rng = np.random.default_rng(0)
    t = np.arange(4000)
    slow = smooth_rows(np.sin(t / 800) + rng.normal(size=4000))
    fast = smooth_rows(np.sin(t / 10) + rng.normal(size=4000))
    assert fast.half <= 16 < 64 <= slow.half


def test_one_far_value_makes_no_order():
    values = np.random.default_rng(0).normal(size=2000)
    values[[700, 701]] = 1e6
    assert smooth_rows(values) is None
