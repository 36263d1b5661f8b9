"""Attacks on columns whose noise was drawn together: through the joint law, and against naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.correlated import shaped_like

from sfumato.attacks import LikelihoodInference, LikelihoodLinkage, Targets, View
from sfumato.attacks._likelihood import JointLogs, Likelihood, noise_given
from sfumato.attacks.linear_filters import linear_view
from sfumato.channels import Gaussian
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
NAMES = ("a", "b", "c")
ATTRIBUTES = tuple(Attribute(n, Kind.REAL, Interval(-60, 60)) for n in NAMES)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    return 10 * rng.normal(size=(4000, 3)) @ np.array([[1, 0, 0], [0.95, 0.3, 0], [0.9, 0.2, 0.35]]).T


@pytest.fixture(scope="module")
def law(table):
    return shaped_like(table, ATTRIBUTES, 0.5)


@pytest.fixture(scope="module")
def view(table, law):
    y = law.perturb(KEY, Rows(0, len(table)), table)
    return View(tuple(Column(a, law.marginal(a), y[:, i]) for i, a in enumerate(ATTRIBUTES)))


def known(table, rows):
    return Targets({n: table[rows, i] for i, n in enumerate(NAMES)})


def test_the_joint_likelihood_is_the_density_of_the_noise_and_looks_past_no_gap(law, table):
    rng = np.random.default_rng(5)
    x, y = table[:4].copy(), table[:6] + rng.normal(0, 3, (6, 3))
    x[1, 2] = y[2, 2] = y[5, 0] = np.nan
    logs = JointLogs.build(law, dict(zip(NAMES, x.T, strict=True)), dict(zip(NAMES, y.T, strict=True)))
    found = logs.of(slice(0, 4))
    for i in range(4):
        for j in range(6):
            if not np.array_equal(np.isnan(x[i]), np.isnan(y[j])):
                assert found[i, j] == -180.0
                continue
            kept = np.flatnonzero(~np.isnan(x[i]))
            sigma = np.array(law.covariance)[np.ix_(kept, kept)]
            r = (y[j] - x[i])[kept]
            density = -0.5 * (r @ np.linalg.inv(sigma) @ r + np.linalg.slogdet(2 * np.pi * sigma)[1])
            expected = density + np.log(np.array(law.steps)[kept]).sum()
            assert found[i, j] == pytest.approx(max(expected, -180.0), abs=2e-3)
            assert logs.pairs(np.array([i]), np.array([j]))[0] == pytest.approx(found[i, j], abs=2e-3)


def test_linkage_through_the_joint_law_finds_more_than_through_the_columns_one_by_one(view, table):
    rows = np.arange(300)
    joint = LikelihoodLinkage(known(table, rows)).run(view)
    apart = View(
        tuple(Column(c.attribute, Gaussian(sigma=c.channel.sigma).on(c.attribute), c.values) for c in view.columns)
    )
    alone = LikelihoodLinkage(known(table, rows)).run(apart)
    assert joint.probability(rows).mean() > 1.3 * alone.probability(rows).mean()


def test_a_column_taken_out_of_the_joint_likelihood_leaves_the_marginal_one(view, table):
    rows = np.arange(20)
    whole = Likelihood.of(view, known(table, rows))
    part = slice(0, 20)
    fewer = Likelihood.of(view, Targets({n: table[rows, i] for i, n in enumerate(NAMES) if n != "b"}))
    assert whole.without("b", whole.logs(part), part) == pytest.approx(fewer.logs(part), abs=1e-3)


def test_the_noise_of_one_column_given_that_of_the_others_is_the_regression_on_them(law, table):
    noise = law.perturb(KEY, Rows(0, len(table)), table) - table
    weights, variance = noise_given(law, "b", ("a", "c"))
    left = noise[:, 1] - noise[:, [0, 2]] @ weights
    assert left.var() == pytest.approx(variance, rel=0.12)
    assert np.abs(np.corrcoef(left, noise[:, 0])[0, 1]) < 0.08
    assert variance < 0.2 * law.covariance[1][1]


def test_who_knows_the_other_values_learns_the_noise_of_the_secret_too(view, law, table):
    rows = np.arange(200)
    claim = LikelihoodInference(known(table, rows), ("b",)).run(view)
    error = np.sqrt(np.mean((claim.recoveries[0].mean - table[rows, 1]) ** 2))
    _, variance = noise_given(law, "b", ("a", "c"))
    # With the right row the error would be √v; the marginal law alone would leave several times as much.
    assert error < 2 * np.sqrt(variance)
    assert error < 0.75 * np.sqrt(law.covariance[1][1])


def test_linear_attacks_take_the_covariance_of_the_noise_from_the_joint_law(view, law):
    assert linear_view(view).noise == pytest.approx(np.array(law.covariance), rel=0.01)
