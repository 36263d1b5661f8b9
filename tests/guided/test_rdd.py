from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import UsageError
from sfumato.guided.cluster.rdd import RDD, distance_domains, fold_distance
from sfumato.randomness import SecretKey, Stream

KEY = SecretKey(bytes(range(32)))


def clustered(seed: int, n: int = 300, d: int = 3, k: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    x = rng.uniform(size=(k, d))[labels] + rng.normal(size=(n, d)) * 0.1
    return x, labels, np.array([x[labels == i].mean(axis=0) for i in range(k)])


def reflected(r: float, low: float, high: float) -> float:
    """The paper's reflection, repeated until it fits."""
    while not low <= r <= high:
        r = 2 * low - r if r < low else 2 * high - r
    return r


def test_folding_is_reflection_repeated():
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 1, 500)
    high = low + rng.uniform(0.05, 1, 500)
    r = rng.uniform(0, 6, 500)
    naive = [reflected(*args) for args in zip(r, low, high, strict=True)]
    assert fold_distance(r, low, high) == pytest.approx(np.array(naive), abs=1e-12)


@pytest.mark.parametrize(
    ("r", "low", "high", "expected"),
    [
        (1.5, 1, 2, 1.5),  # inside
        (0.5, 1, 2, 1.5),  # 2·1 − 0.5
        (2.5, 1, 2, 1.5),  # 2·2 − 2.5
        (4.5, 1, 2, 1.5),  # −0.5, then 2.5, then 1.5, where the printed equation stops at −0.5
        (0.0, 3, 4, 4.0),  # 2·3 − 0 = 6 is beyond 4; 8 − 6 = 2; 6 − 2 = 4
        (7.0, 2, 2, 2.0),  # a domain of one point
    ],
)
def test_folding_by_hand(r, low, high, expected):
    assert fold_distance(np.array([r]), np.array([low * 1.0]), np.array([high * 1.0]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("sigma", [0.0, 0.05, 0.5, 5.0])
def test_distances_stay_in_the_domain_of_the_cluster(sigma):
    for seed in range(5):
        x, labels, centres = clustered(seed)
        low, high = distance_domains(x, labels, centres)
        y = RDD(sigma).perturb(x, labels, centres, Stream(KEY))
        r = np.linalg.norm(y - centres[labels], axis=1)
        assert (r >= low[labels] - 1e-12).all()
        assert (r <= high[labels] + 1e-12).all()


def test_small_noise_inside_the_domain_is_plain_gaussian_noise():
    x, labels, centres = clustered(1, n=4000)
    y = RDD(0.01).perturb(x, labels, centres, Stream(KEY))
    low, high = distance_domains(x, labels, centres)
    r = np.linalg.norm(x - centres[labels], axis=1)
    middle = (r > low[labels] + 0.06) & (r < high[labels] - 0.06)
    noise = (y - x)[middle].ravel() / 0.01
    size = noise.size
    assert size > 3000
    assert abs(noise.mean()) < 4.5 / size**0.5
    assert abs(noise.var() - 1) < 4.5 * (2 / size) ** 0.5


def test_without_noise_nothing_moves():
    x, labels, centres = clustered(2)
    assert RDD(0.0).perturb(x, labels, centres, Stream(KEY)) == pytest.approx(x, abs=1e-14)


def test_a_record_thrown_onto_the_centre_gets_a_direction():
    class Onto(Stream):
        calls = 0

        def normal(self, *shape: int) -> np.ndarray:
            self.calls += 1
            return np.array([[-1.0, 0.0], [0.0, 0.5]]) if self.calls == 1 else super().normal(*shape)

    x = np.array([[1.0, 0.0], [0.0, -2.0]])
    y = RDD(1.0).perturb(x, np.zeros(2, np.int64), np.zeros((1, 2)), Onto(KEY))
    # D = [1, 2]; r = 0 folds to 2.
    assert np.linalg.norm(y[0]) == pytest.approx(2.0)
    assert np.isfinite(y).all()


def test_a_cluster_of_one_point_stays_that_point():
    x = np.concatenate([np.full((12, 2), 3.0), np.random.default_rng(3).uniform(size=(20, 2))])
    labels = np.repeat([0, 1], [12, 20])
    centres = np.array([x[labels == i].mean(axis=0) for i in range(2)])
    y = RDD(0.2).perturb(x, labels, centres, Stream(KEY))
    assert y[:12] == pytest.approx(x[:12])
    assert np.isfinite(y).all()


@pytest.mark.parametrize("sigma", [-0.1, np.inf, np.nan])
def test_an_impossible_sigma_is_refused(sigma):
    with pytest.raises(UsageError, match="sigma"):
        RDD(sigma)
