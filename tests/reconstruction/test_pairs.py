"""Pairs of columns whose noise was drawn together: the kernel against twins, and the joint distribution that comes back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.correlated import shaped_like

from sfumato.channels import Gaussian
from sfumato.counts import Grid
from sfumato.randomness import Rows, SecretKey
from sfumato.reconstruction import reconstruct_joint
from sfumato.reconstruction.joint import pair_kernel
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Table

KEY = SecretKey(bytes(range(32)))
A, B = (Attribute(n, Kind.REAL, Interval(0, 100)) for n in "ab")


def grids(sigma, attribute, cells=12):
    channel = Gaussian(sigma=sigma).on(attribute)
    true = Grid.over(attribute, cells)
    return channel, true, channel.observed_grid(true)


@pytest.mark.slow
def test_without_correlation_the_kernel_is_the_product_of_the_two():
    (c1, t1, o1), (c2, t2, o2) = grids(8.0, A), grids(15.0, B)
    found = pair_kernel(np.diag([64.0, 225.0]), (t1, t2), (o1, o2), (c1.step, c2.step))
    expected = np.einsum("ab,cd->acbd", c1.transition(t1, o1), c2.transition(t2, o2))
    assert np.abs(found - expected).max() < 2e-4
    assert found.sum(axis=(0, 1)) == pytest.approx(1.0)


def test_with_correlation_the_kernel_agrees_with_a_million_draws():
    (c1, t1, o1), (c2, t2, o2) = grids(8.0, A, 6), grids(15.0, B, 6)
    sigma = np.array([[64.0, 110.0], [110.0, 225.0]])
    found = pair_kernel(sigma, (t1, t2), (o1, o2), (c1.step, c2.step))
    rng = np.random.default_rng(1)
    p1, p2 = 2, 4
    x = np.column_stack([rng.uniform(*t.edges[p : p + 2], 1_000_000) for t, p in ((t1, p1), (t2, p2))])
    y = x + rng.multivariate_normal([0, 0], sigma, len(x))
    drawn = np.zeros((o1.size, o2.size))
    np.add.at(drawn, (o1.locate(y[:, 0]), o2.locate(y[:, 1])), 1 / len(x))
    assert np.abs(found[:, :, p1, p2] - drawn).max() < 3e-3


def two_groups(rows=20_000):
    """Two clouds on the falling diagonal, so that the data are correlated the other way than inside each cloud."""
    rng = np.random.default_rng(2)
    side = rng.integers(0, 2, rows)
    centre = np.where(side[:, None] == 0, [30, 70], [70, 30])
    return (centre + rng.multivariate_normal([0, 0], [[36, 20], [20, 36]], rows)).clip(0, 100)


@pytest.mark.slow
def test_the_joint_distribution_comes_back_and_better_than_if_noise_were_independent():
    x = two_groups()
    law = shaped_like(x, (A, B), 0.3)
    y = law.perturb(KEY, Rows(0, len(x)), x)
    together = Table(tuple(Column(a, law.marginal(a), y[:, i]) for i, a in enumerate((A, B))))
    apart = Table(tuple(Column(a, Gaussian(sigma=law.marginal(a).sigma).on(a), y[:, i]) for i, a in enumerate((A, B))))
    found, naive = (reconstruct_joint(t, ["a", "b"], bins=20) for t in (together, apart))
    codes = [g.locate(x[:, i]) for i, g in enumerate(found.grids)]
    true = np.zeros(found.mass.shape)
    np.add.at(true, tuple(codes), 1 / len(x))
    distance = [0.5 * np.abs(f.mass - true).sum() for f in (found, naive)]
    assert distance[0] < 0.26
    assert distance[0] < 0.5 * distance[1]


def test_em_through_a_pair_never_lowers_the_likelihood_without_smoothing():
    x = two_groups(2000)
    law = shaped_like(x, (A, B), 0.3)
    y = law.perturb(KEY, Rows(0, len(x)), x)
    table = Table(tuple(Column(a, law.marginal(a), y[:, i]) for i, a in enumerate((A, B))))
    joint = reconstruct_joint(table, ["a", "b"], bins=6, smoothing=0.0, iterations=60)
    assert np.diff(joint.trail).min() > -1e-9
    assert joint.mass.sum() == pytest.approx(1)
