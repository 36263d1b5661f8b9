from __future__ import annotations

import numpy as np
import pytest

from sfumato.clusters.disclosure import linear_residual, nearest_neighbour_linkage
from sfumato.clusters.kmeans import kmeans, lloyd, within_scatter
from sfumato.clusters.points import cluster_means
from sfumato.errors import DataError, UsageError
from sfumato.guided.cluster.voronoi import RACCV, SwapV, inside, reach, settle, walls
from sfumato.randomness import SecretKey, Stream

KEY = SecretKey(bytes(range(3, 35)))
VARIANTS = [SwapV(), RACCV(), RACCV(rotation="pairs", ratio_law="uniform", least=0.5)]


def awkward(seed: int) -> np.ndarray:
    """A random table: d from 2 to 20, of a shape that clusters do not like."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 300)), int(rng.integers(2, 21))
    shape = seed % 6
    if shape == 0:
        return rng.uniform(size=(n, d))
    if shape == 1:  # heavy tails
        return rng.standard_t(1.5, size=(n, d))
    if shape == 2:  # many equal records
        return rng.integers(0, 3, (n, d)).astype(float)
    if shape == 3:  # long correlated clusters
        return rng.normal(size=(n, 1)) * rng.normal(size=d) + rng.normal(size=(n, d)) * 0.05
    if shape == 4:  # constant columns and a ring
        x = rng.normal(size=(n, d))
        x[:, :2] /= np.linalg.norm(x[:, :2], axis=1)[:, None]
        x[:, 2:] = 0.1
        return x
    x = rng.exponential(size=(n, d)) ** 3  # a crowd in one corner, and one point many times
    x[: n // 4] = 5.0
    return x


def assert_fixed_point(y, labels, centres):
    run = lloyd(y, centres, 5)
    assert np.array_equal(run.labels, labels)
    assert run.converged
    scale = max(1.0, np.abs(centres).max())
    assert np.abs(run.centres - centres).max() <= 1e-9 * scale
    means = cluster_means(y, labels, len(centres))
    assert np.nanmax(np.abs(means - centres)) <= 1e-9 * scale


@pytest.mark.parametrize("part", range(4))
def test_every_label_is_kept_in_two_hundred_random_tables(part):
    ks = set()
    for seed in range(50 * part, 50 * part + 50):
        x = awkward(seed)
        k = 2 + seed % 7
        distinct = np.unique(x, axis=0)
        start = distinct[np.random.default_rng(seed).permutation(len(distinct))[:k]]
        fit = lloyd(x, start, 500)
        assert fit.converged
        ks.add(len(start))
        for method in VARIANTS[:2]:
            y = method.perturb(x, fit.labels, fit.centres, Stream(KEY.derive(seed)))
            assert_fixed_point(y, fit.labels, fit.centres)
            scatter = within_scatter(x, fit.labels, fit.centres)
            assert within_scatter(y, fit.labels, fit.centres) <= scatter * (1 + 1e-9)
    assert ks >= set(range(2, 9))


@pytest.mark.parametrize("method", VARIANTS, ids=lambda m: f"{m.law}-{getattr(m, 'rotation', '')}")
@pytest.mark.parametrize("seed", range(6))
def test_even_labels_that_are_no_clustering_become_a_fixed_point(method, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 3)) * [1, 5, 0.1]
    labels = rng.integers(0, 4, 120)
    centres = cluster_means(x, labels, 4)
    y = method.perturb(x, labels, centres, Stream(KEY))
    assert_fixed_point(y, labels, centres)


def test_centres_that_are_not_the_means_become_the_means_of_the_release():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(200, 3))
    fit = lloyd(x, x[:3])
    centres = fit.centres + rng.normal(size=(3, 3)) * 0.02
    for method in VARIANTS:
        assert_fixed_point(method.perturb(x, fit.labels, centres, Stream(KEY)), fit.labels, centres)


def table(n: int = 600, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.random.default_rng(2).uniform(size=(n, d)) ** 2
    fit = kmeans(x, 3)
    return x, fit.labels, fit.centres


def test_swapped_values_are_genuine_and_each_cluster_keeps_its_own():
    x, labels, centres = table()
    y = SwapV().perturb(x, labels, centres, Stream(KEY))
    for i in range(3):
        assert np.array_equal(np.sort(y[labels == i], axis=0), np.sort(x[labels == i], axis=0))
    assert inside(y, labels, centres, 0.1).all()
    # A plain swap leaves cells, so the exchanges had something to do.
    plain = x.copy()
    for column in range(x.shape[1]):
        plain[:, column] = x[Stream(KEY.derive(column)).permutation_within(labels), column]
    assert not inside(plain, labels, centres, 0.1).all()


def test_where_no_exchange_helps_records_are_drawn_in_and_the_rest_of_the_guarantee_stands():
    x, labels, centres = table()
    y = SwapV(tries=0).perturb(x, labels, centres, Stream(KEY))
    assert_fixed_point(y, labels, centres)
    assert inside(y, labels, centres, 0.1 - 1e-9).all()


@pytest.mark.parametrize("method", VARIANTS, ids=lambda m: f"{m.law}-{getattr(m, 'rotation', '')}")
def test_the_release_hides_records_and_everything_but_the_cluster(method):
    x, labels, centres = table()
    y = method.perturb(x, labels, centres, Stream(KEY))
    assert nearest_neighbour_linkage(x, y).rate < 0.04
    residual = linear_residual(x, y, labels)
    assert residual.held_out > 0.95 * residual.ceiling
    assert not residual.invertible


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.4])
def test_the_margin_is_kept(margin):
    x, labels, centres = table()
    for method in (SwapV(margin), RACCV(margin=margin)):
        y = method.perturb(x, labels, centres, Stream(KEY))
        assert inside(y, labels, centres, margin - 1e-9).all()


def test_reach_is_one_on_the_wall_between_two_centres():
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]])
    cell = walls(centres, 0)
    z = np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 2.0], [-3.0, -1.0], [1.0, 7.0], [0.0, 0.0]])
    assert reach(z, cell) == pytest.approx([1, 0.5, 1, -0.5, 3.5, 0])
    assert reach(z + 5, cell, np.array([5.0, 5.0])) == pytest.approx(reach(z, cell))


def test_being_inside_is_being_nearest():
    rng = np.random.default_rng(3)
    centres, y = rng.normal(size=(6, 4)), rng.normal(size=(500, 4))
    labels = rng.integers(0, 6, 500)
    nearest = np.linalg.norm(y[:, None] - centres, axis=2).argmin(axis=1)
    assert np.array_equal(inside(y, labels, centres), nearest == labels)


def test_settling_ends_with_mean_zero_inside_the_cell_and_no_more_scatter():
    rng = np.random.default_rng(4)
    cell = walls(rng.normal(size=(5, 3)), 0)
    for spread in (0.01, 1.0, 50.0):
        z = rng.normal(size=(80, 3)) * spread + rng.normal(size=3)
        settle(z, cell, 0.1, 7.0)
        assert np.abs(z.mean(axis=0)).max() < 1e-12
        assert reach(z, cell).max() <= 0.9 + 1e-9
        assert (z**2).sum() <= 7.0 + 1e-9


def test_one_cluster_has_no_walls():
    x = np.random.default_rng(5).normal(size=(50, 3))
    labels, centres = np.zeros(50, np.int64), x.mean(axis=0, keepdims=True)
    for method in VARIANTS:
        y = method.perturb(x, labels, centres, Stream(KEY))
        assert y.mean(axis=0) == pytest.approx(centres[0])
        assert not np.allclose(x, y)


def test_a_single_attribute_keeps_its_labels_too():
    x = np.random.default_rng(6).uniform(size=(90, 1))
    fit = kmeans(x, 3)
    for method in VARIANTS:
        assert_fixed_point(method.perturb(x, fit.labels, fit.centres, Stream(KEY)), fit.labels, fit.centres)


def test_two_centres_in_one_place_are_refused():
    x = np.random.default_rng(7).normal(size=(20, 2))
    for method in VARIANTS:
        with pytest.raises(DataError, match="coincides"):
            method.perturb(x, np.arange(20) % 2, np.zeros((2, 2)), Stream(KEY))


@pytest.mark.parametrize("wrong", [{"margin": 0.0}, {"margin": 1.0}, {"tries": -1}])
def test_impossible_margins_are_refused(wrong):
    for cls in (SwapV, RACCV):
        with pytest.raises(UsageError):
            cls(**wrong)
