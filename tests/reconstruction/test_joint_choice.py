"""How smooth a joint table is, chosen by held-out rows: the rule by hand, small tables, and range queries of large ones."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.channels import Gaussian
from sfumato.errors import UsageError
from sfumato.randomness import SecretKey
from sfumato.reconstruction import Problem, reconstruct_joint
from sfumato.reconstruction.joint import cut_evenly
from sfumato.reconstruction.joint_choice import Candidate, HeldOutScores, JointData, rake
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Table

KEY = SecretKey(bytes(range(32)))
INDEPENDENT = Candidate(True, None)


def normal_pair(rows, privacy, correlation=0.8, seed=1):
    """Return true rows of two columns of 64 values, three standard deviations to each side, and their release."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], rows)
    x = np.floor((z / 3 + 1) / 2 * 64).clip(0, 63)
    columns = []
    for i, name in enumerate("ab"):
        attribute = Attribute(name, Kind.INTEGER, Interval(0, 63))
        channel = Gaussian(privacy=privacy).on(attribute)
        columns.append(Column(attribute, None, x[:, i]).through(channel, KEY.derive(name, channel.to_dict())))
    return x, Table(tuple(columns))


def range_error(joint, x, queries=200):
    """Return the mean absolute error of the shares of random rectangles, each side half of its domain."""
    off = np.zeros((65, 65))
    off[1:, 1:] = (joint - np.histogram2d(*x.T, bins=np.arange(65) - 0.5)[0] / len(x)).cumsum(axis=0).cumsum(axis=1)
    a, b = np.random.default_rng(0).integers(0, 33, (2, queries))
    return np.abs(off[a + 32, b + 32] - off[a, b + 32] - off[a + 32, b] + off[a, b]).mean()


@pytest.mark.parametrize(("privacy", "asked"), [(0.5, 0.005), (1.0, 0.019), (2.0, 0.05)])
def test_range_queries_of_a_large_table_are_as_near_as_was_asked(privacy, asked):
    x, table = normal_pair(400_000, privacy)
    joint = reconstruct_joint(table, ["a", "b"])
    assert range_error(joint.mass, x) < asked
    assert not joint.chosen["independent"]
    assert joint.chosen["gain_over_independence"] > 10 * joint.chosen["gain_error"]


def test_under_strong_noise_the_choice_is_nearer_than_one_smoothing_for_all():
    x, table = normal_pair(400_000, 2.0)
    chosen, fixed = (range_error(reconstruct_joint(table, ["a", "b"], smoothing=s).mass, x) for s in (None, 0.02))
    assert chosen < fixed  # over five keys .27 to .95 of it


def test_few_rows_of_independent_columns_come_out_independent():
    apart = []
    for seed in range(3):
        x, table = normal_pair(500, 1.0, correlation=0.0, seed=seed)
        joint = reconstruct_joint(table, ["a", "b"])
        product = np.outer(joint.marginal("a"), joint.marginal("b"))
        apart.append(abs(range_error(joint.mass, x) - range_error(product, x)))
    assert sorted(apart)[1] < 0.01  # held-out rows err about once in twelve releases


def test_fewer_rows_come_out_smoother():
    chosen = [reconstruct_joint(normal_pair(rows, 0.5)[1], ["a", "b"]).chosen for rows in (1_000, 300_000)]
    assert chosen[0]["smoothing"] > chosen[1]["smoothing"]


def test_what_was_chosen_is_told_with_a_sentence():
    _, table = normal_pair(1_000, 0.5)
    data = reconstruct_joint(table, ["a", "b"]).to_dict()
    assert data["chosen"]["why"].startswith("of the fits that explain held-out rows best")
    assert f"smoothed by {data['chosen']['smoothing']:g}" in data["chosen"]["why"]
    assert "chosen" not in reconstruct_joint(table, ["a", "b"], smoothing=0.1, iterations=5).to_dict()


def test_thirty_rows_are_too_few_to_hold_any_out():
    _, table = normal_pair(30, 0.5)
    joint = reconstruct_joint(table, ["a", "b"])
    np.testing.assert_allclose(joint.mass, np.outer(joint.marginal("a"), joint.marginal("b")))
    assert joint.chosen["why"] == "fewer than 40 rows, so columns are taken for independent"


def test_the_same_release_gives_the_same_bits():
    _, table = normal_pair(2_000, 1.0)
    first, again = (reconstruct_joint(table, ["a", "b"]).mass for _ in range(2))
    assert first.tobytes() == again.tobytes()


def test_columns_released_as_true_are_counted():
    attributes = [Attribute(name, Kind.INTEGER, Interval(0, 2)) for name in "ab"]
    table = Table(tuple(Column(a, None, np.array([0.0, 0.0, 2.0, 2.0])) for a in attributes))
    joint = reconstruct_joint(table, ["a", "b"])
    assert joint.mass.tolist() == [[0.5, 0, 0], [0, 0, 0], [0, 0, 0.5]]
    assert joint.chosen == {}


def test_a_smoothing_beyond_one_is_refused():
    _, table = normal_pair(100, 0.5)
    with pytest.raises(UsageError, match="between 0 and 1"):
        reconstruct_joint(table, ["a", "b"], smoothing=1.5)


def test_cells_of_whole_numbers_hold_the_same_number_of_them():
    age = Attribute("age", Kind.INTEGER, Interval(17, 90))
    edges = cut_evenly(Column(age, None, np.empty(0)), 64).finite_edges
    assert len(edges) == 38
    assert set(np.diff(edges)) == {2.0}


def test_raking_changes_the_margins_and_keeps_the_odds_ratio():
    before = np.array([[0.4, 0.1], [0.1, 0.4]])
    after = rake(before, (np.array([0.5, 0.5]), np.array([0.8, 0.2])))
    np.testing.assert_allclose(after.sum(axis=0), [0.8, 0.2], atol=1e-3)
    np.testing.assert_allclose(after.sum(axis=1), [0.5, 0.5], atol=1e-3)
    assert after[0, 0] * after[1, 1] / (after[0, 1] * after[1, 0]) == pytest.approx(16)


def two_cells(held_out):
    data = JointData(Problem.of(np.eye(2), np.array([1e9, 1e9])), (np.array([0.5, 0.5]),))
    return HeldOutScores([(data, np.array(held_out, dtype=float))])


def test_gain_and_its_error_by_hand():
    scores = two_cells([60, 40])
    scores.add(INDEPENDENT, [np.array([0.5, 0.5])])
    scores.add(Candidate(False, 0.0), [np.array([0.6, 0.4])])
    gain, error = scores.compare(Candidate(False, 0.0), INDEPENDENT)
    one, other = np.log(1.2), np.log(0.8)  # what a row of either cell gains
    assert gain == pytest.approx(60 * one + 40 * other)
    assert error == pytest.approx(np.sqrt(60 * one**2 + 40 * other**2 - gain**2 / 100))


@pytest.mark.parametrize(("held_out", "plainest"), [([52, 48], True), ([90, 10], False)])
def test_the_plainest_candidate_within_one_standard_error_is_taken(held_out, plainest):
    scores = two_cells(held_out)
    share = np.array(held_out) / sum(held_out)
    scores.add(Candidate(False, 0.0), [share])
    scores.add(INDEPENDENT, [np.array([0.5, 0.5])])
    assert scores.best == Candidate(False, 0.0)
    assert (scores.choose_plainest() == INDEPENDENT) == plainest


def test_candidates_are_ranked_from_independent_columns_to_a_table_that_is_not_smoothed():
    ranked = [INDEPENDENT, Candidate(True, 0.3), Candidate(True, 0.0), Candidate(False, 0.1), Candidate(False, 0.0)]
    ranks = [candidate.rank for candidate in ranked]
    assert ranks == sorted(set(ranks))


def test_a_cell_that_a_fit_thinks_impossible_costs_a_finite_score():
    scores = two_cells([1, 1])
    scores.add(INDEPENDENT, [np.array([1.0, 0.0])])
    assert np.isfinite(scores.totals[INDEPENDENT])
