from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from sfumato.clusters.kmeans import kmeans, lloyd, nearest_centre, silhouette, within_scatter
from sfumato.clusters.points import Partition, Scaling, cluster_means
from sfumato.errors import DataError, UsageError


def blobs(sizes: tuple[int, ...], seed: int = 0, spread: float = 0.05, d: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.eye(max(d, len(sizes)))[: len(sizes), :d] * 2
    centres = np.pad(centres, ((0, 0), (0, d - centres.shape[1])))
    return np.concatenate([c + rng.normal(size=(n, d)) * spread for c, n in zip(centres, sizes, strict=True)])


def test_nearest_centre_agrees_with_the_table_of_all_distances():
    rng = np.random.default_rng(1)
    x, c = rng.normal(size=(500, 4)) + 1e3, rng.normal(size=(7, 4)) + 1e3
    naive = np.linalg.norm(x[:, None] - c[None], axis=2).argmin(axis=1)
    assert np.array_equal(nearest_centre(x, c), naive)


def test_cluster_means_agree_with_a_loop_and_an_empty_cluster_has_none():
    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    means = cluster_means(x, labels, 4)
    assert means[:3] == pytest.approx(np.array([x[labels == i].mean(axis=0) for i in range(3)]))
    assert np.isnan(means[3]).all()


def test_a_partition_lists_every_row_once_under_its_own_cluster():
    labels = np.random.default_rng(3).integers(0, 5, 200)
    labels[labels == 2] = 3
    part = Partition.of(labels, 5)
    seen = {i: set(rows.tolist()) for i, rows in part.groups()}
    assert seen == {i: set(np.flatnonzero(labels == i).tolist()) for i in (0, 1, 3, 4)}


def test_scatter_never_grows_along_lloyds_iteration():
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(400, 3))
    centres = x[:6]
    before = np.inf
    for rounds in range(1, 12):
        run = lloyd(x, centres, rounds)
        now = within_scatter(x, run.labels, run.centres)
        assert now <= before + 1e-12
        before = now
    assert lloyd(x, centres).converged


def test_the_fit_is_a_fixed_point_with_the_means_as_centres():
    x = np.random.default_rng(5).uniform(size=(600, 4))
    fit = kmeans(x, 4)
    assert fit.converged
    assert fit.centres == pytest.approx(cluster_means(x, fit.labels, 4), abs=1e-14)
    assert np.array_equal(nearest_centre(x, fit.centres), fit.labels)
    assert sum(fit.sizes) == 600


def test_mini_batches_find_the_same_clusters_in_a_clear_table():
    x = blobs((300, 200, 100))
    whole, batches = kmeans(x, 3), kmeans(x, 3, large=100)
    assert "mini-batch" in batches.method
    assert batches.scatter == pytest.approx(whole.scatter)


def test_k_is_chosen_by_the_silhouette_and_says_so():
    fit = kmeans(blobs((60, 50, 40)))
    assert fit.k == 3
    assert "silhouette" in fit.chosen_by
    assert max(fit.scores, key=fit.scores.__getitem__) == 3
    assert json.loads(json.dumps(fit.to_dict()))["sizes"] == list(fit.sizes)


def test_the_silhouette_of_two_far_pairs_is_one_minus_the_distance_ratio():
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    # a = 1; b = 10.5 for the outer and 9.5 for the inner points.
    assert silhouette(x, np.array([0, 0, 1, 1])) == pytest.approx((1 - 1 / 10.5 + 1 - 1 / 9.5) / 2)
    assert silhouette(x, np.zeros(4, np.int64)) == -1.0


def test_small_clusters_are_refused_with_the_reason():
    with pytest.raises(DataError, match="a cluster of 5 records, below 10, is neither stable nor private"):
        kmeans(blobs((60, 50, 5)), 3)


def test_small_clusters_are_merged_on_request_and_noted():
    fit = kmeans(blobs((60, 50, 5)), 3, small="merge")
    assert fit.k == 2
    assert min(fit.sizes) >= 10
    assert "a cluster of 5 records" in fit.notes[0]


@pytest.mark.parametrize(
    ("values", "k", "message"),
    [
        (np.zeros((40, 2)), 2, "too few distinct rows"),
        (np.ones((15, 2)), 2, "15 records cannot fill 2 clusters"),
        (np.ones((15, 2)), None, "cannot be divided"),
        (np.array([[1.0, np.nan]] * 30), 2, "missing or infinite values in column 1"),
        (np.array([[1.0, np.inf], [1.0, -np.inf]] * 15), 2, "30 missing or infinite values in column 1"),
        (np.array([["red", "2"]] * 30), 2, "no numbers"),
    ],
)
def test_tables_without_such_clusters_are_refused(values, k, message):
    with pytest.raises(DataError, match=message):
        kmeans(values, k)


@pytest.mark.parametrize(("k", "small"), [(0, "refuse"), (2, "ignore")])
def test_wrong_wishes_are_refused(k, small):
    with pytest.raises(UsageError):
        kmeans(np.ones((30, 2)), k, small=small)


def test_importing_the_methods_loads_neither_scikit_learn_nor_scipy_spatial():
    code = (
        "import sys, sfumato.guided.cluster.voronoi, sfumato.guided.cluster.rdd, sfumato.guided.cluster.racc, "
        "sfumato.guided.cluster.geometric, "
        "sfumato.clusters.kmeans, sfumato.clusters.disclosure;"
        "print([m for m in ('sklearn', 'scipy.spatial', 'scipy.optimize') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_scaling_comes_back_and_constant_columns_come_back_exactly():
    rng = np.random.default_rng(6)
    x = np.column_stack([rng.normal(size=50) * 1e6, np.full(50, 0.1), rng.uniform(size=50)])
    scaling = Scaling.fit(x)
    again = Scaling.from_dict(json.loads(json.dumps(scaling.to_dict())))
    assert again == scaling
    assert again.invert(again.apply(x)) == pytest.approx(x, rel=1e-12)
    assert np.array_equal(again.invert(again.apply(x))[:, 1], x[:, 1])


def test_min_max_scaling_fills_the_unit_box():
    x = np.random.default_rng(7).normal(size=(50, 2)) * [3, 50]
    z = Scaling.fit(x).apply(x)
    assert (z.min(axis=0) == 0).all()
    assert (z.max(axis=0) == 1).all()

    assert Scaling.from_ends([0, 5], [10, 5]).unit == (10.0, 1.0)


def test_a_scale_of_nothing_or_of_an_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="no rows"):
        Scaling.fit(np.empty((0, 2)))
    with pytest.raises(UsageError, match="'rank' is unknown"):
        Scaling.from_dict(Scaling.fit(np.ones((3, 2))).to_dict() | {"kind": "rank"})
