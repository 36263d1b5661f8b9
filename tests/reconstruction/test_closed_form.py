"""Reconstruction from substituted counts: hand-worked numbers, theorems, and the promise of the bands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.channels import DenseKernel, Substitution
from sfumato.errors import UsageError
from sfumato.reconstruction import Problem, fit_em, reconstruct
from sfumato.reconstruction.closed_form import (
    clip_negative,
    exact_counts,
    gamma_of,
    inverse_counts,
    project_to_simplex,
    renormalise,
)
from sfumato.reconstruction.distribution import wilson
from sfumato.reconstruction.em import gap_stop, iterate
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column


def gamma_diagonal(gamma, size):
    return (np.ones((size, size)) + (gamma - 1) * np.eye(size)) / (gamma + size - 1)


def words(rng, n):
    return rng.integers(0, 2**64, (n, 2), dtype=np.uint64)


def test_the_inverse_by_hand():
    # γ = 3, N = 3, n = 10: X̂ = (5 y − 10)/2
    np.testing.assert_allclose(inverse_counts(np.array([5.0, 4.0, 1.0]), 3.0), [7.5, 5.0, -2.5])


def test_error_reduction_by_hand():
    x = np.array([7.5, 5.0, -2.5])
    np.testing.assert_allclose(clip_negative(x), [7.5, 5.0, 0.0])
    np.testing.assert_allclose(renormalise(x), [6.0, 4.0, 0.0])
    np.testing.assert_allclose(project_to_simplex(x), [6.25, 3.75, 0.0])


def test_the_exact_maximum_by_hand():
    # b = 1/5, a = 2/5. All three free: λ = 10, q = (.5, .4, .1), the last below b. Two free: λ = 9/(1 − .2) = 11.25,
    # q = (4/9, 16/45, 1/5), p = (q − b)/a = (11/18, 7/18, 0).
    np.testing.assert_allclose(exact_counts(np.array([5.0, 4.0, 1.0]), 3.0), [110 / 18, 70 / 18, 0], atol=1e-12)


@pytest.mark.parametrize(("gamma", "size"), [(2.0, 2), (19.0, 5), (1.5, 60)])
def test_the_closed_form_is_the_dense_inverse(gamma, size):
    y = np.random.default_rng(0).integers(0, 500, size).astype(float)
    np.testing.assert_allclose(inverse_counts(y, gamma), np.linalg.solve(gamma_diagonal(gamma, size), y), rtol=1e-9)
    assert gamma_of(DenseKernel(gamma_diagonal(gamma, size))) == pytest.approx(gamma)


def test_other_matrices_are_not_taken_for_gamma_diagonal():
    assert gamma_of(DenseKernel(np.eye(3))) is None
    assert gamma_of(DenseKernel(np.array([[0.7, 0.2], [0.3, 0.8]]))) is None
    assert gamma_of(DenseKernel(np.full((3, 3), 1 / 3))) is None


counts = st.lists(st.integers(0, 400), min_size=2, max_size=30).filter(lambda y: sum(y) > 0)


@given(counts, st.floats(1.05, 50), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_setting_negatives_to_zero_strictly_lowers_the_error_whatever_the_truth(y, gamma, random):
    # Proposition 1 of Dowd, Xu & Zhang 2006.
    estimate = inverse_counts(np.array(y, dtype=float), gamma)
    truth = np.array([random.randint(0, 400) for _ in y], dtype=float)
    before, after = np.abs(estimate - truth).sum(), np.abs(clip_negative(estimate) - truth).sum()
    if (estimate < -1e-9).any():
        assert after < before
    else:
        assert after == pytest.approx(before)


@given(counts)
@settings(max_examples=200, deadline=None)
def test_projection_is_the_nearest_point_of_the_simplex(y):
    x = inverse_counts(np.array(y, dtype=float), 3.0)
    z = project_to_simplex(x)
    assert z.min() >= 0
    assert z.sum() == pytest.approx(x.sum())
    # First-order condition: no vertex of the simplex lies further along x − z than z itself.
    assert ((x - z) @ z) >= x.sum() * (x - z).max() - 1e-6 * (1 + np.abs(x).max() ** 2)


@given(counts, st.floats(1.05, 50))
@settings(max_examples=200, deadline=None)
def test_the_exact_solution_satisfies_the_conditions_of_a_maximum(y, gamma):
    y = np.array(y, dtype=float)
    x = exact_counts(y, gamma)
    n, kernel = y.sum(), gamma_diagonal(gamma, len(y))
    assert x.min() >= -1e-9 * n
    assert x.sum() == pytest.approx(n)
    gradient = kernel.T @ (y / (kernel @ (x / n))) / n
    assert gradient.max() <= 1 + 1e-9


@pytest.mark.parametrize("block", range(4))
def test_exact_is_what_em_climbs_to_on_a_thousand_random_instances(block):
    rng = np.random.default_rng(block)
    for _ in range(250):
        size, gamma = int(rng.integers(2, 31)), float(np.exp(rng.uniform(np.log(1.5), np.log(30))))
        truth = rng.dirichlet(np.full(size, rng.choice([0.2, 1.0, 5.0])))
        kernel = gamma_diagonal(gamma, size)
        y = rng.multinomial(int(rng.integers(50, 5000)), kernel @ truth).astype(float)
        fit = fit_em(Problem.of(kernel, y), nats=1e-11)
        assert np.abs(fit.mass - exact_counts(y, gamma) / y.sum()).sum() < 1e-6


def test_plain_em_without_any_acceleration_agrees_too():
    rng = np.random.default_rng(9)
    for _ in range(10):
        kernel = gamma_diagonal(6.0, 8)
        y = rng.multinomial(1000, kernel @ rng.dirichlet(np.ones(8))).astype(float)
        problem = Problem.of(kernel, y)
        plain = iterate(problem, gap_stop(problem.n, 1e-10), method="plain", most=500_000)
        assert np.abs(plain.mass - exact_counts(y, 6.0) / 1000).sum() < 1e-5


def test_many_tables_at_once_are_the_same_as_one_by_one():
    y = np.random.default_rng(1).integers(0, 90, (7, 11)).astype(float)
    for function in (inverse_counts, exact_counts):
        np.testing.assert_allclose(function(y, 4.0), [function(row, 4.0) for row in y])
    np.testing.assert_allclose(project_to_simplex(y), [project_to_simplex(row) for row in y])


LETTERS = Attribute("letter", Kind.CATEGORICAL, Categories(tuple("abcdefghij")))


@pytest.mark.parametrize("method", ["exact", "inverse", "projection", "em", "auto"])
def test_bands_hold_the_truth_in_93_to_97_percent_of_500_runs(method):
    channel = Substitution(gamma=8.0).on(LETTERS)
    rng = np.random.default_rng(6)
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.08, 0.07, 0.05, 0.03, 0.015, 0.005])
    kernel, n, hits = channel.matrix_product(np.eye(10)), 2000, []
    values = np.arange(10, dtype=float)
    for _ in range(500):
        released = np.repeat(values, rng.multinomial(n, kernel @ truth))
        found = reconstruct(Column(LETTERS, channel, released), method=method)
        hits.append((found.lower <= truth) & (truth <= found.upper))
    assert 0.93 <= np.mean(hits) <= 0.97
    assert np.mean(hits, axis=0).min() > 0.91


def test_bands_of_a_substituted_number_hold_too():
    attribute = Attribute("x", Kind.INTEGER, Interval(1, 200))
    channel = Substitution(gamma=8.0, bins=20).on(attribute)
    rng = np.random.default_rng(2)
    truth = np.where((np.arange(20) >= 5) & (np.arange(20) < 15), 0.1, 0.0)
    hits = []
    for _ in range(60):
        released = channel.sample(np.floor(51 + 100 * rng.random(5000)), words(rng, 5000))
        found = reconstruct(Column(attribute, channel, released))
        assert found.method == "auto"
        hits.append(np.mean((found.lower <= truth + 1e-12) & (truth <= found.upper + 1e-12)))
    assert 0.93 <= np.mean(hits) <= 0.99


def test_bands_of_a_given_matrix_hold():
    matrix = ((0.7, 0.1, 0.2), (0.2, 0.8, 0.2), (0.1, 0.1, 0.6))
    attribute = Attribute("y", Kind.CATEGORICAL, Categories(("p", "q", "r")))
    channel = Substitution(matrix=matrix).on(attribute)
    rng = np.random.default_rng(3)
    truth = np.array([0.5, 0.3, 0.2])
    hits = []
    for _ in range(400):
        released = np.repeat(np.arange(3.0), rng.multinomial(1500, np.array(matrix) @ truth))
        found = reconstruct(Column(attribute, channel, released))
        assert found.method == "em"
        hits.append((found.lower <= truth) & (truth <= found.upper))
    assert 0.93 <= np.mean(hits) <= 0.97


def test_wilsons_interval_by_hand():
    # 3 of 10: (.3 + .19207 ± 1.95996 √(.021 + .0096036)) / 1.384146
    lower, upper = wilson(np.array([0.3]), 10.0)
    assert lower[0] == pytest.approx(0.10779, abs=1e-5)
    assert upper[0] == pytest.approx(0.60322, abs=1e-5)


def test_exact_is_refused_where_the_kernel_is_not_gamma_diagonal():
    attribute = Attribute("y", Kind.CATEGORICAL, Categories(("p", "q")))
    channel = Substitution(matrix=((0.9, 0.3), (0.1, 0.7))).on(attribute)
    with pytest.raises(UsageError, match="gamma-diagonal"):
        reconstruct(Column(attribute, channel, np.array([0.0, 1.0, 1.0])), method="exact")
