from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import UsageError
from sfumato.guided.cluster.racc import RACC, disjoint_pairs, turn_in_pairs
from sfumato.randomness import SecretKey, Stream

KEY = SecretKey(bytes(range(1, 33)))


def clustered(seed: int, n: int = 300, d: int = 4, k: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    x = rng.uniform(size=(k, d))[labels] + rng.normal(size=(n, d)) * 0.1
    return x, labels, np.array([x[labels == i].mean(axis=0) for i in range(k)])


@pytest.mark.parametrize("rotation", ["pairs", "haar"])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_with_ratio_one_distances_to_the_centre_stay(rotation, d):
    x, labels, centres = clustered(d, d=d)
    y = RACC(rotation=rotation).perturb(x, labels, centres, Stream(KEY))
    before, after = (np.linalg.norm(t - centres[labels], axis=1) for t in (x, y))
    assert after == pytest.approx(before, rel=1e-12)
    assert not np.isclose(x, y).all(axis=1).any() or d == 1


@pytest.mark.parametrize("d", [2, 3, 8, 9])
def test_pairs_are_disjoint_and_cover_every_attribute(d):
    pairs = disjoint_pairs(d, Stream(KEY))
    used = [a for pair in pairs for a in pair]
    assert set(used) == set(range(d))
    assert len(used) == d + d % 2
    if d % 2:
        assert used[-1] in used[:-2]


def test_the_odd_attribute_is_not_left_in_clear():
    x, labels, centres = clustered(2, d=3)
    y = RACC().perturb(x, labels, centres, Stream(KEY))
    assert (np.abs(x - y) > 1e-9).mean() > 0.99


def test_a_pair_turns_as_the_papers_equations_say():
    theta = Stream(KEY).uniform(200) * 2 * np.pi
    z = np.random.default_rng(0).normal(size=(200, 2))
    z[0] = [0.0, 1.0]  # the paper's arctangent is undefined here
    q = turn_in_pairs(z, ((0, 1),), Stream(KEY))
    r, alpha = np.hypot(z[:, 0], z[:, 1]), np.arctan2(z[:, 1], z[:, 0])
    assert q == pytest.approx(np.column_stack([r * np.cos(theta + alpha), r * np.sin(theta + alpha)]))


@pytest.mark.parametrize("rotation", ["pairs", "haar"])
def test_directions_in_the_plane_are_uniform(rotation):
    z = np.tile([[0.3, 0.1], [-0.2, 0.5]], (2000, 1))
    y = RACC(rotation=rotation).perturb(z, np.zeros(4000, np.int64), np.zeros((1, 2)), Stream(KEY))
    angle = np.arctan2(y[:, 1], y[:, 0]) / (2 * np.pi) + 0.5
    assert stats.kstest(angle, "uniform").pvalue > 1e-4


def test_haar_directions_are_uniform_in_five_dimensions():
    n, d = 4000, 5
    z = np.random.default_rng(1).normal(size=(n, d)) * [1, 2, 3, 4, 5]
    y = RACC(rotation="haar").perturb(z, np.zeros(n, np.int64), np.zeros((1, d)), Stream(KEY))
    # One coordinate u of a uniform direction: u² ~ Beta(1/2, (d − 1)/2).
    u2 = (y / np.linalg.norm(y, axis=1)[:, None]) ** 2
    for column in u2.T:
        assert stats.kstest(column, stats.beta(0.5, (d - 1) / 2).cdf).pvalue > 1e-5


@pytest.mark.parametrize(
    ("law", "cdf"),
    [("uniform", lambda u, d: np.clip((u - 0.25) / 0.5, 0, 1)), ("ball", lambda u, d: np.clip(u / 0.75, 0, 1) ** d)],
)
def test_ratios_follow_their_law(law, cdf):
    x, labels, centres = clustered(3, n=3000, d=3)
    y = RACC(rotation="haar", ratio_law=law, ratio=0.75, least=0.25).perturb(x, labels, centres, Stream(KEY))
    ratio = np.linalg.norm(y - centres[labels], axis=1) / np.linalg.norm(x - centres[labels], axis=1)
    assert ratio.max() <= 0.75 + 1e-12
    assert stats.kstest(ratio, lambda u: cdf(u, 3)).pvalue > 1e-4


def test_a_constant_ratio_draws_every_record_in_by_it():
    x, labels, centres = clustered(4)
    y = RACC(ratio=0.5).perturb(x, labels, centres, Stream(KEY))
    ratio = np.linalg.norm(y - centres[labels], axis=1) / np.linalg.norm(x - centres[labels], axis=1)
    assert ratio == pytest.approx(np.full(len(x), 0.5))


@pytest.mark.parametrize(
    "wrong", [{"rotation": "spin"}, {"ratio_law": "beta"}, {"ratio": 0.0}, {"ratio": 1.5}, {"least": 1.0}]
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(UsageError, match=r"racc: "):
        RACC(**wrong)
