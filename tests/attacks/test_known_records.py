"""Attacks that start from a few known records: rotations, reflections, linear disguises."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks import ClusterLinear, KnownInput, Pairs, Reflection, View
from sfumato.attacks.known_rows import procrustes
from sfumato.auditing.score import score_values
from sfumato.channels import Gaussian
from sfumato.errors import UsageError
from sfumato.guided.cluster.geometric import haar_rotation
from sfumato.randomness import SecretKey, Stream
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

ATTRIBUTES = tuple(Attribute(f"a{i}", Kind.REAL, Interval(0, 1)) for i in range(4))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    centres = np.array([[0.2, 0.2, 0.3, 0.3], [0.7, 0.3, 0.6, 0.2], [0.5, 0.8, 0.5, 0.8]])
    return centres[rng.integers(0, 3, 900)] + rng.normal(0, 0.05, (900, 4))


def sight_of(released):
    return View(tuple(Column(a, Gaussian(sigma=0.1).on(a), released[:, i]) for i, a in enumerate(ATTRIBUTES)))


def pairs_of(table, rows):
    return Pairs(np.asarray(rows), {a.name: table[rows, i] for i, a in enumerate(ATTRIBUTES)})


def error(claim, table):
    """RMSE over the rows that were not known beforehand."""
    gaps = [r.mean - table[:, int(r.attribute[1])] for r in claim.recoveries]
    return float(np.sqrt(np.nanmean(np.square(gaps))))


def test_five_known_records_undo_a_rotation_of_four_attributes_exactly(table):
    turn = haar_rotation(4, Stream(SecretKey(bytes(32))))
    released = table @ turn.T + 0.3
    claim = KnownInput(pairs_of(table, [0, 10, 200, 300, 500])).run(sight_of(released))
    assert error(claim, table) < 1e-9
    assert claim.notes["largest_turn"] > 0.1


def test_with_noise_of_its_own_in_every_row_the_noise_stays(table):
    turn = haar_rotation(4, Stream(SecretKey(bytes(32))))
    released = table @ turn.T + np.random.default_rng(2).normal(0, 0.1, table.shape)
    claim = KnownInput(pairs_of(table, np.arange(60))).run(sight_of(released))
    assert error(claim, table) == pytest.approx(0.1, rel=0.15)


def test_procrustes_needs_two_records():
    with pytest.raises(UsageError, match="fix no rotation"):
        procrustes(np.ones((1, 3)), np.ones((1, 3)))


def test_known_rows_are_no_success_of_the_attack(table):
    attack = KnownInput(pairs_of(table, [3, 4, 5, 6, 7]))
    claim = attack.run(sight_of(table))
    truth = {a.name: table[:, i] for i, a in enumerate(ATTRIBUTES)}
    for finding in score_values(attack, claim, {a.name: a for a in ATTRIBUTES}, truth, seed=0):
        assert finding.trials == len(table) - 5


def reflected(table):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 900)
    out = np.empty_like(table)
    for k in range(3):
        members = labels == k
        out[members] = 2 * table[members].mean(axis=0) - table[members]
    return out


def test_a_reflection_at_cluster_centres_is_seen_and_undone(table):
    claim = Reflection(pairs_of(table, np.arange(20))).run(sight_of(reflected(table)))
    assert claim.notes["reflected"]
    assert error(claim, table) < 0.01


def test_plain_noise_is_not_taken_for_a_reflection(table):
    released = table + np.random.default_rng(3).normal(0, 0.02, table.shape)
    claim = Reflection(pairs_of(table, np.arange(20))).run(sight_of(released))
    assert not claim.recoveries
    assert not claim.notes["reflected"]


def test_linear_reconstruction_inside_clusters_sees_through_a_linear_disguise(table):
    claim = ClusterLinear(pairs_of(table, np.arange(120))).run(sight_of(reflected(table)))
    assert error(claim, table) < 0.01


def test_a_cluster_with_too_few_known_records_is_guessed_by_their_mean(table):
    claim = ClusterLinear(pairs_of(table, [0, 1, 2]), seed=1).run(sight_of(reflected(table)))
    assert 0.02 < error(claim, table) < 0.6


def test_a_release_without_two_numeric_columns_is_passed_over():
    attribute = ATTRIBUTES[0]
    view = View((Column(attribute, None, np.linspace(0, 1, 30)),))
    pairs = Pairs(np.arange(4), {"a0": np.linspace(0, 1, 30)[:4]})
    for attack in (KnownInput(pairs), ClusterLinear(pairs), Reflection(pairs)):
        assert attack.run(view).skipped
