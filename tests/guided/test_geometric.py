from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sfumato.clusters.disclosure import known_sample_attack, random_known_rows
from sfumato.errors import UsageError
from sfumato.guided.cluster.geometric import Geometric, haar_rotation
from sfumato.randomness import SecretKey, Stream

KEY = SecretKey(bytes(range(2, 34)))


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_a_rotation_is_orthogonal_and_turns_nothing_inside_out(d):
    r = haar_rotation(d, Stream(KEY))
    assert r @ r.T == pytest.approx(np.eye(d), abs=1e-12)
    assert np.linalg.det(r) == pytest.approx(1.0)


def test_rotations_are_haar_distributed():
    d, draws = 3, 3000
    stream = Stream(KEY)
    r = np.array([haar_rotation(d, stream) for _ in range(draws)])
    # Haar on SO(3): E R = 0, E R_ij² = 1/3; R_ij is uniform on [−1, 1] (Archimedes), E tr(R)² = 1.
    assert np.abs(r.mean(axis=0)).max() < 4.9 * (1 / 3 / draws) ** 0.5
    assert np.abs((r**2).mean(axis=0) - 1 / 3).max() < 4.9 * (4 / 45 / draws) ** 0.5
    assert np.abs((r[:, 0, 0] < 0.5).mean() - 0.75) < 4.9 * (0.1875 / draws) ** 0.5
    assert (np.trace(r, axis1=1, axis2=2) ** 2).mean() == pytest.approx(1.0, abs=0.13)


def test_without_noise_pairwise_distances_stay():
    x = np.random.default_rng(0).uniform(size=(60, 4))
    y = Geometric(sigma=0.0).perturb(x, None, None, Stream(KEY))
    assert pdist(y) == pytest.approx(pdist(x), rel=1e-12)
    assert np.abs(x - y).max() > 0.1


def test_noise_has_the_stated_deviation_once_the_rotation_is_undone():
    x = np.random.default_rng(1).uniform(size=(5000, 3))
    y = Geometric(sigma=0.1).perturb(x, None, None, Stream(KEY))
    noise = (known_sample_attack(x, y, np.arange(5000)) - x).ravel()
    assert abs(noise.std() / 0.1 - 1) < 4.5 / (2 * noise.size) ** 0.5 + 0.001


def test_without_noise_known_records_give_the_table_away():
    x = np.random.default_rng(2).uniform(size=(80, 4))
    y = Geometric(sigma=0.0).perturb(x, None, None, Stream(KEY))
    assert known_sample_attack(x, y, random_known_rows(80, 4)) == pytest.approx(x, abs=1e-12)


def test_labels_are_ignored():
    x = np.random.default_rng(3).uniform(size=(20, 2))
    a = Geometric().perturb(x, None, None, Stream(KEY))
    b = Geometric().perturb(x, np.arange(20) % 2, x[:2], Stream(KEY))
    assert np.array_equal(a, b)


def test_impossible_parameters_are_refused():
    with pytest.raises(UsageError, match="geometric"):
        Geometric(sigma=-1.0)
    with pytest.raises(UsageError, match="geometric"):
        Geometric(translation=np.inf)
