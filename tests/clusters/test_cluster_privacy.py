from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.clusters import disclosure as privacy
from sfumato.clusters.disclosure import (
    cluster_privacy,
    known_sample_attack,
    linear_residual,
    nearest_neighbour_linkage,
    random_known_rows,
    variance_ratio,
    wilson,
)
from sfumato.errors import DataError, UsageError


def clustered(seed: int = 0, n: int = 120, d: int = 3, k: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    x = rng.normal(size=(k, d))[labels] * 2 + rng.normal(size=(n, d))
    return x, labels, np.array([x[labels == i].mean(axis=0) for i in range(k)])


def naive_linkage(x, y):
    credit = []
    for i in range(len(x)):
        distance = np.linalg.norm(y - x[i], axis=1)
        near = np.isclose(distance, distance.min(), rtol=1e-9, atol=1e-12)
        credit.append(near[i] / near.sum())
    return np.mean(credit)


@pytest.mark.parametrize("d", [2, 5, 15])
def test_linkage_agrees_with_a_loop_and_splits_ties(d):
    rng = np.random.default_rng(d)
    x = np.round(rng.uniform(size=(150, d)), 1 if d == 2 else 2)
    for noise in (0.0, 0.05, 0.3):
        y = np.round(x + noise * rng.normal(size=x.shape), 1)
        assert nearest_neighbour_linkage(x, y).rate == pytest.approx(naive_linkage(x, y))


def test_linkage_of_a_table_with_itself_is_certain_and_of_equal_records_is_a_guess():
    x = np.random.default_rng(1).uniform(size=(80, 4))
    assert nearest_neighbour_linkage(x, x).rate == 1.0
    assert nearest_neighbour_linkage(np.ones((80, 4)), np.ones((80, 4))).rate == pytest.approx(1 / 80)
    assert nearest_neighbour_linkage(x, x).baseline == 1 / 80


def test_tree_and_plain_comparison_agree(monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(400, 6))
    y = x + rng.normal(size=x.shape) * 0.1
    by_tree = nearest_neighbour_linkage(x, y)
    monkeypatch.setattr(privacy, "MAX_TREE_DIMENSIONS", 0)
    assert nearest_neighbour_linkage(x, y) == by_tree


def test_a_sample_of_targets_has_an_interval_that_holds_the_rate_of_all():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(3000, 3))
    y = x + rng.normal(size=x.shape) * 0.02
    every, some = nearest_neighbour_linkage(x, y), nearest_neighbour_linkage(x, y, targets=800)
    assert every.low == every.high == every.rate
    assert some.targets == 800
    assert some.low < every.rate < some.high


def test_wilsons_interval_by_hand():
    # p = 1/2, n = 10: centre 1/2, half-width z √(n/4 + z²/4)/(n + z²) = 0.2634.
    low, high = wilson(0.5, 10)
    assert (low, high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0.0, 50)[0] == 0.0


def test_variance_ratio_by_hand_and_without_constant_columns():
    x = np.array([[0.0, 7.0], [2.0, 7.0]])
    y = np.array([[1.0, 7.0], [1.0, 7.0]])
    assert variance_ratio(x, y) == pytest.approx(1.0)
    assert variance_ratio(np.ones((4, 2)), np.ones((4, 2))) == 0.0


def test_reflection_is_flagged_although_variance_and_linkage_look_best():
    x, labels, centres = clustered()
    trap = cluster_privacy(x, 2 * centres[labels] - x, labels)
    assert trap.variance_ratio > 1
    assert trap.linkage.rate < 0.1
    assert trap.residual.invertible
    assert trap.residual.held_out == pytest.approx(0, abs=1e-20)
    assert "no privacy" in trap.verdict
    assert json.loads(json.dumps(trap.to_dict()))["residual"]["invertible"] is True


def test_any_linear_disguise_is_flagged_and_noise_is_not():
    x, labels, _ = clustered(1)
    rng = np.random.default_rng(4)
    mixed = np.concatenate([x[labels == i] @ rng.normal(size=(3, 3)) + i for i in range(3)])
    back = np.empty_like(x)
    back[np.argsort(labels, kind="stable")] = mixed
    assert linear_residual(x, back, labels).invertible
    assert linear_residual(x, x, labels).invertible
    assert not linear_residual(x, rng.normal(size=x.shape), labels).invertible
    assert not linear_residual(x, x + rng.normal(size=x.shape) * 0.3, labels).invertible


def test_the_original_released_as_it_is_has_no_privacy():
    x, labels, _ = clustered(2)
    assert cluster_privacy(x, x, labels).verdict.startswith("no privacy")


def test_in_sample_residual_never_passes_the_within_share():
    rng = np.random.default_rng(5)
    for seed in range(30):
        x, labels, _ = clustered(seed, n=60, d=4)
        y = x * rng.uniform() + rng.normal(size=x.shape) * rng.uniform()
        r = linear_residual(x, y, labels)
        total = x.var(axis=0)
        within = np.mean([(np.array([x[labels == i].var(axis=0) for i in range(3)]).mean(axis=0) / total)])
        assert r.in_sample <= r.ceiling
        assert r.ceiling == pytest.approx(within)


def test_held_out_residual_agrees_with_leaving_each_record_out():
    x, labels, _ = clustered(6, n=45, d=3)
    y = np.random.default_rng(6).normal(size=x.shape) + 0.7 * x
    left, by_mean = np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(len(x)):
        others = (labels == labels[i]) & (np.arange(len(x)) != i)
        design = np.column_stack([np.ones(others.sum()), y[others]])
        fit = np.linalg.lstsq(design, x[others], rcond=None)[0]
        left[labels[i]] += (x[i] - np.r_[1, y[i]] @ fit) ** 2
        by_mean[labels[i]] += (x[i] - x[others].mean(axis=0)) ** 2
    expected = np.minimum(left, by_mean).sum(axis=0) / ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    assert linear_residual(x, y, labels).held_out == pytest.approx(expected.mean())


def test_residuals_survive_clusters_of_one_record_and_of_one_point():
    x = np.array([[0.0, 0.0], [5.0, 5.0], [5.0, 5.0], [5.0, 5.0], [9.0, 1.0], [9.5, 2.0], [8.0, 0.5]])
    r = linear_residual(x, x[::-1], np.array([0, 1, 1, 1, 2, 2, 2]))
    assert 0 <= r.in_sample <= r.ceiling
    assert np.isfinite(r.held_out)
    assert linear_residual(np.ones((3, 2)), np.ones((3, 2)), np.zeros(3, np.int64)).ceiling == 0.0


def test_a_rotation_is_undone_from_known_records():
    rng = np.random.default_rng(7)
    x = rng.uniform(size=(100, 5))
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    y = x @ rotation.T + rng.uniform(size=5)
    assert nearest_neighbour_linkage(x, y).rate < 0.2
    known = random_known_rows(*x.shape, seed=1)
    assert len(known) == 10
    assert known_sample_attack(x, y, known) == pytest.approx(x, abs=1e-12)
    assert known_sample_attack(x, y, known[:6]) == pytest.approx(x, abs=1e-10)


def test_tables_that_do_not_fit_are_refused():
    x, labels, _ = clustered()
    with pytest.raises(UsageError, match="same rows and columns"):
        cluster_privacy(x, x[:5], labels)
    with pytest.raises(UsageError, match="at least two"):
        variance_ratio(x[:1], x[:1])
    y = x.copy()
    y[3, 1] = np.nan
    with pytest.raises(DataError, match="the release: 1 missing"):
        variance_ratio(x, y)
    with pytest.raises(UsageError, match="fix no rotation"):
        known_sample_attack(x, x, [0])
