"""The one place where claims meet the truth, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks import Claim, NaiveReading, NearestLinkage, Recovery, Targets
from sfumato.attacks._belief import smallest_sets
from sfumato.attacks.base import Sets
from sfumato.auditing.promises import Promise
from sfumato.auditing.score import best_constant, hits, honest_widths, interval_left, score_people, score_values
from sfumato.auditing.utility import kolmogorov_smirnov, total_variation, wasserstein
from sfumato.counts import Grid
from sfumato.schema import Attribute, Categories, Interval, Kind

NUMBER = Attribute("x", Kind.REAL, Interval(0, 100))
LABEL = Attribute("c", Kind.CATEGORICAL, Categories(("a", "b", "c")))


def test_a_number_is_found_within_five_percent_of_the_range_and_a_label_exactly():
    truth = np.array([50.0, 50.0, 50.0, np.nan])
    assert hits(NUMBER, np.array([55.0, 55.1, 45.0, 1.0]), truth) == pytest.approx([1, 0, 1, np.nan], nan_ok=True)
    assert hits(LABEL, np.array([0.0, 1.0]), np.array([0.0, 2.0])) == pytest.approx([1, 0])


def test_the_best_constant_is_the_best_window_or_the_commonest_label():
    # 10, 15, 20 fit one window of width 10; 90 does not.
    assert best_constant(NUMBER, np.array([10.0, 15.0, 20.0, 90.0, np.nan])) == pytest.approx(3 / 4)
    assert best_constant(LABEL, np.array([0.0, 0.0, 1.0, 2.0])) == pytest.approx(1 / 2)
    assert best_constant(LABEL, np.array([np.nan])) == 0.0


def test_all_attributes_together_count_rows_and_not_cells_as_trials():
    guess = np.array([0.0, 50.0, 100.0, 10.0])
    truth = {"x": np.array([0.0, 0.0, 0.0, 0.0]), "c": np.array([0.0, 0.0, 1.0, 1.0])}
    claim = Claim((Recovery("x", guess, guess), Recovery("c", np.zeros(4), np.zeros(4))))
    (finding,) = score_values(NaiveReading(), claim, {"x": NUMBER, "c": LABEL}, truth, seed=0, together=True)
    assert finding.success == pytest.approx((1 / 4 + 2 / 4) / 2)
    assert finding.baseline == pytest.approx((1.0 + 1 / 2) / 2)
    assert finding.trials == 4
    assert finding.details["by_attribute"]["x"]["rmse"] == pytest.approx(np.sqrt((50**2 + 100**2 + 10**2) / 4))


class Covering:
    def __init__(self, share):
        self.share = share

    def covers(self, truth):
        return np.full(len(truth), self.share)


def test_claimed_sets_that_miss_the_truth_are_no_interval():
    truth = np.random.default_rng(1).normal(0, 10, 5000)
    boast = Recovery("x", np.zeros(5000), np.zeros(5000), np.full(5000, 0.5), Covering(0.5))
    assert interval_left(boast, truth, 0.5, True, 0)[0] == pytest.approx(39.2, rel=0.05)
    assert interval_left(boast, truth, 0.95, True, 0)[0] == pytest.approx(0.5)


def belief_of(posterior, codes):
    posterior = np.asarray(posterior)
    grid = Grid.categories(tuple("abcdefgh"[: posterior.shape[1]]))
    return Sets(grid, smallest_sets(posterior, np.ones(posterior.shape[1])), np.asarray(codes), posterior)


def test_sets_of_labels_that_miss_the_truth_are_widened_until_they_hold_it():
    # The posterior says 95 % a; the truth is a in 50, b in 48 and c in 2 of 100. A level that holds a, and 45 of the 48 b,
    # covers 95 %: the set is a and 45/48 of b.
    sets = belief_of([[0.95, 0.03, 0.02]], np.zeros(100, dtype=np.int64))
    truth = np.repeat([0.0, 1.0, 2.0], [50, 48, 2])
    assert sets.covers(truth).mean() == pytest.approx(0.5)
    assert honest_widths(sets, truth) == pytest.approx(np.full(100, 1 + 45 / 48), abs=1e-3)
    boast = Recovery("c", np.zeros(100), np.zeros(100), np.ones(100), sets)
    assert interval_left(boast, truth, 0.5, False, 0)[0] == pytest.approx(1 + 45 / 48, abs=1e-3)
    assert interval_left(Recovery("c", truth, truth), truth, None, False, 0) is None


def test_labels_held_to_be_impossible_are_reached_and_rows_without_a_set_have_no_width():
    sets = belief_of([[1.0, 0.0]], np.array([0, 0, -1]))
    widths = honest_widths(sets, np.array([1.0, 1.0, 1.0]))
    assert widths == pytest.approx([1.95, 1.95, np.nan], abs=1e-3, nan_ok=True)


def test_widened_sets_cover_as_much_as_they_say():
    rng = np.random.default_rng(3)
    truths = rng.dirichlet(np.ones(5), size=7)
    codes = rng.integers(0, 7, 4000)
    truth = np.array([rng.choice(5, p=truths[c]) for c in codes], dtype=np.float64)
    too_sure = truths**3 / (truths**3).sum(axis=1, keepdims=True)
    sets = belief_of(too_sure, codes)
    assert sets.covers(truth).mean() < 0.9
    # The level, found by trying many, at which smallest sets of the same posterior cover 95 %.
    levels = np.linspace(0.95, 1 - 1e-5, 4000)
    sizes = [smallest_sets(too_sure, np.ones(5), c) for c in levels]
    first = next(s for s in sizes if s[codes, truth.astype(int)].mean() >= 0.95)
    assert honest_widths(sets, truth).mean() == pytest.approx(first.sum(axis=1)[codes].mean(), abs=0.01)


def test_a_success_must_exceed_both_baseline_and_control_to_count():
    credit = np.repeat([1.0, 0.0], [60, 40])
    beside = {"baseline": 0.3, "seed": 0}
    assert score_people(NearestLinkage(Targets({})), credit, ("x",), **beside).gains
    assert not score_people(
        NearestLinkage(Targets({})), credit, ("x",), control=np.repeat([1.0, 0.0], [58, 42]), **beside
    ).gains
    alone = score_people(NearestLinkage(Targets({})), credit, ("x",), control=np.repeat([1.0, 0.0], [20, 80]), **beside)
    assert alone.gains
    assert alone.advantage == pytest.approx((0.6 - 0.3) / 0.7)


def promise(promised, free, left, own, attack="posterior"):
    return Promise("x", "gaussian", "", promised, free, left, (left * 0.99, left * 1.01), own, attack, "…")


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        (promise(10, 50, 9.8, 9.8), "kept"),
        (promise(100, 10, 9.8, 9.8), "kept"),  # nobody can promise more than people differ by
        (promise(10, 50, 8.0, 8.0), "narrowed"),
        (promise(10, 50, 6.0, 6.0), "broken"),
        (promise(10, 50, 8.0, 9.5, "bayes"), "broken"),  # around the column's own law
    ],
)
def test_the_verdict_on_a_promise(case, verdict):
    assert case.verdict == verdict
    assert bool(case.remedy) == (verdict != "kept")


def test_distances_of_two_distributions_by_hand():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.5, 0.3])
    assert total_variation(p, q) == pytest.approx(0.3)
    assert kolmogorov_smirnov(p, q) == pytest.approx(0.3)
    assert wasserstein(Grid.cells(0, 30, 3), p, q) == pytest.approx(6.0)  # three tenths move twenty units
