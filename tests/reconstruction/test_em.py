"""The fixed-point loop against naive twins and theorems."""

import itertools
import math

import numpy as np
import pytest

from sfumato.channels import CellRule, DenseKernel, Gaussian, Uniform
from sfumato.counts import Grid
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import Problem, fit_bayes, fit_em, fit_ems, paper_size
from sfumato.reconstruction.em import chi_square_stop, em_step, gap_stop, iterate, make_smoother, step_stop
from sfumato.reconstruction.joint import ProductKernel
from sfumato.schema import Attribute, Interval, Kind

UNIT = Attribute("x", Kind.REAL, Interval(0.0, 1.0))


def noisy_problem(channel=None, size=12, n=2000, seed=0, kernel=CellRule.EXACT):
    law = (channel or Gaussian(sigma=0.2)).on(UNIT)
    true = Grid.cells(0, 1, size)
    observed = law.observed_grid(true)
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**64, (n, 2), dtype=np.uint64)
    released = law.sample(rng.beta(2, 4, n), words)
    counts = np.bincount(observed.locate(released), minlength=observed.size).astype(float)
    return Problem.of(law.transition(true, observed, kernel), counts, np.full(size, 1 / size))


def naive_bayes_step(kernel, counts, mass):
    """Equation 3 of the 2000 paper as it is printed: three nested loops."""
    released, cells = kernel.shape
    n = sum(counts)
    new = [0.0] * cells
    for p in range(cells):
        for s in range(released):
            denominator = 0.0
            for t in range(cells):
                denominator += kernel[s][t] * mass[t]
            if counts[s]:
                new[p] += counts[s] * kernel[s][p] * mass[p] / denominator
    return [x / n for x in new]


def test_one_step_is_equation_3_of_the_paper():
    problem = noisy_problem(size=6, n=300)
    mass = np.full(6, 1 / 6)
    for _ in range(3):
        expected = naive_bayes_step(problem.kernel.dense(), problem.counts, mass)
        fit = iterate(problem, step_stop(0.0), method="one step", start=mass, most=1)
        np.testing.assert_allclose(fit.mass, expected, rtol=1e-12)
        mass = fit.mass


def test_the_step_is_the_same_for_one_group_for_many_and_for_a_table_of_attributes():
    rng = np.random.default_rng(4)
    first, second = (rng.dirichlet(np.ones(rows), size=columns).T for rows, columns in ((5, 3), (4, 2)))
    whole = np.kron(first, second)
    counts, mass = rng.integers(1, 50, (3, 20)).astype(float), rng.dirichlet(np.ones(6), 3)
    share = counts / counts.sum(axis=1, keepdims=True)
    product = ProductKernel((DenseKernel(first), DenseKernel(second)), (5, 4))
    together = em_step(DenseKernel(whole), share, mass).mass
    for row in range(3):
        expected = naive_bayes_step(whole, counts[row], mass[row])
        np.testing.assert_allclose(em_step(DenseKernel(whole), share[row], mass[row]).mass, expected, rtol=1e-12)
        np.testing.assert_allclose(em_step(product, share[row], mass[row]).mass, expected, rtol=1e-12)
        np.testing.assert_allclose(together[row], expected, rtol=1e-12)


@pytest.mark.parametrize("law", [Gaussian(sigma=0.25), Uniform(alpha=0.5), Gaussian(sigma=0.05)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_likelihood_of_em_never_decreases(law, seed):
    fit = fit_em(noisy_problem(law, size=20, seed=seed), nats=1e-6)
    trail = np.array(fit.trail)
    assert len(trail) > 2
    assert (np.diff(trail) >= -1e-12 * abs(trail[0])).all()


def test_plain_and_accelerated_em_reach_the_same_maximum():
    problem = noisy_problem(Uniform(alpha=0.3), size=8, n=5000)
    plain = iterate(problem, gap_stop(problem.n, 1e-7), method="plain", most=200_000)
    fast = fit_em(problem, nats=1e-7)
    assert fast.iterations < plain.iterations / 5
    assert fast.trail[-1] == pytest.approx(plain.trail[-1], abs=1e-5)
    assert np.abs(plain.mass - fast.mass).sum() < 1e-3


def test_the_gap_bounds_how_far_the_likelihood_is_from_its_maximum():
    problem = noisy_problem(size=10)
    best = fit_em(problem, nats=1e-9).trail[-1]
    for steps in (1, 5, 25, 125):
        fit = iterate(problem, step_stop(0.0), method="some steps", most=steps)
        gradient = em_step(problem.kernel, problem.share, fit.mass).gradient
        assert best - problem.log_likelihood(fit.mass) <= problem.n * (gradient.max() - 1) + 1e-6


def test_bayes_stops_by_the_chi_square_rule_and_not_a_step_earlier():
    from scipy.stats import chi2

    problem = noisy_problem(size=20, n=10_000)
    fit = fit_bayes(problem)
    threshold = 0.01 * chi2.ppf(0.95, 19)
    masses = [np.full(20, 1 / 20)]
    for _ in range(fit.iterations):
        masses.append(iterate(problem, step_stop(0.0), method="one step", start=masses[-1], most=1).mass)
    changes = [problem.n * np.sum((b - a) ** 2 / a) for a, b in itertools.pairwise(masses)]
    assert changes[-1] < threshold
    assert all(c >= threshold for c in changes[:-1])
    np.testing.assert_allclose(fit.mass, masses[-1], rtol=1e-9)


def test_the_chi_square_rule_by_hand():
    # m = 2: the 95 % threshold with one degree of freedom is 3.8415; n Σ (P'−P)²/P = 100 (.01²/.5 + .01²/.5) = .04
    stop = chi_square_stop(100, 2)
    before, gradient = np.array([0.5, 0.5]), np.ones(2)
    assert stop(before, np.array([0.51, 0.49]), gradient) is None
    assert stop(before, np.array([0.509, 0.491]), gradient) is not None


def test_ems_stands_still_at_its_own_fixed_point():
    problem = noisy_problem(size=30, n=5000)
    fit = fit_ems(problem, smoothing=0.05, tolerance=1e-12, most=50_000)
    again = iterate(problem, step_stop(0.0), method="ems", smooth=make_smoother(problem, 0.05), start=fit.mass, most=1)
    assert np.abs(again.mass - fit.mass).sum() < 1e-10


def test_ems_smooths_nothing_where_categories_have_no_order():
    problem = noisy_problem(size=8)
    unordered = Problem(problem.transition, problem.counts, None)
    np.testing.assert_allclose(fit_ems(unordered, smoothing=0.5, most=3000).mass, fit_em(unordered).mass, atol=0.05)
    assert fit_ems(unordered).trail[-1] >= fit_ems(problem, smoothing=0.5).trail[-1]


def test_order_of_rows_and_splitting_them_change_nothing():
    a, b = noisy_problem(seed=1), noisy_problem(seed=2)
    whole = a.with_counts(a.counts + b.counts)
    twice = a.with_counts(b.counts + a.counts)
    np.testing.assert_array_equal(fit_em(whole).mass, fit_em(twice).mass)


def test_scaling_all_counts_leaves_the_maximum_where_it_is():
    problem = noisy_problem(Uniform(alpha=0.2), size=6)
    np.testing.assert_allclose(
        fit_em(problem, nats=1e-8).mass, fit_em(problem.with_counts(problem.counts * 3), nats=1e-8).mass, atol=1e-4
    )


def test_the_midpoint_kernel_fails_on_continuous_uniform_noise_and_the_exact_one_does_not():
    rng = np.random.default_rng(0)
    law = Uniform(alpha=0.5).on(UNIT)
    true = Grid.cells(0, 1, 20)
    observed = law.observed_grid(true)
    released = law.sample(0.25 + 0.5 * rng.random(100_000), rng.integers(0, 2**64, (100_000, 2), dtype=np.uint64))
    counts = np.bincount(observed.locate(released), minlength=observed.size).astype(float)
    truth = np.where((np.arange(20) >= 5) & (np.arange(20) < 15), 0.1, 0.0)
    error = {
        k: 0.5
        * np.abs(fit_bayes(Problem.of(law.transition(true, observed, k), counts, np.ones(20))).mass - truth).sum()
        for k in CellRule
    }
    assert error[CellRule.EXACT] < 0.05
    assert error[CellRule.MIDPOINT] > 1.5 * error[CellRule.EXACT]


@pytest.mark.parametrize(("n", "m"), [(0, 10), (999, 10), (1500, 15), (10_000, 100), (1e6, 100)])
def test_the_number_of_intervals_is_n_over_100_within_10_and_100(n, m):
    assert paper_size(n) == m


def test_counts_that_no_true_value_explains_are_an_error_and_single_ones_are_left_out():
    kernel = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert Problem.of(kernel, np.array([1.0, 3.0, 5.0])).n == 4
    np.testing.assert_allclose(fit_em(Problem.of(kernel, np.array([1.0, 3.0, 5.0]))).mass, [0.25, 0.75])
    with pytest.raises(DataError, match="law"):
        fit_em(Problem.of(kernel, np.array([0.0, 0.0, 5.0])))


def test_wrong_shapes_and_strengths_are_refused():
    kernel = np.eye(3)
    with pytest.raises(UsageError, match="kernel"):
        Problem.of(kernel, np.ones(2))
    with pytest.raises(UsageError, match="widths"):
        Problem.of(kernel, np.ones(3), np.ones(2))
    with pytest.raises(DataError, match="finite"):
        Problem.of(kernel, np.array([1.0, math.nan, 1.0]))
    with pytest.raises(UsageError, match="smoothing"):
        fit_ems(Problem.of(kernel, np.ones(3), np.ones(3)), smoothing=1.5)


def test_wider_cells_hold_the_sums_of_the_narrow_ones():
    problem = noisy_problem(size=12)
    coarse = problem.coarser(5)
    assert coarse.size == 3
    assert coarse.counts.sum() == problem.counts.sum()
    np.testing.assert_allclose(coarse.kernel.dense().sum(axis=0), 1)
    mass = np.array([0.5, 0.3, 0.2])
    spread = np.repeat(mass / [5, 5, 2], [5, 5, 2])
    rows = np.arange(0, len(problem.counts), 5)
    np.testing.assert_allclose(coarse.kernel @ mass, np.add.reduceat(problem.kernel @ spread, rows))


def test_the_coarse_start_of_a_fine_grid_leads_to_the_same_fixed_point():
    problem = noisy_problem(Uniform(alpha=0.2), size=300, n=50_000)
    direct = iterate(
        problem, step_stop(1e-9), method="ems", smooth=make_smoother(problem, 0.4), most=20_000, accelerate=True
    )
    quick = fit_ems(problem, smoothing=0.4)
    assert quick.iterations < direct.iterations / 3
    assert 0.5 * np.abs(quick.mass - direct.mass).sum() < 0.01
