"""The normal copula: shares, conditional shares and slopes against scipy's normal distribution, and correlations found again."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sfumato.modelling.copula import (
    MAX_CORRELATION,
    Copula,
    cut_normal,
    hermite_terms,
    latent_correlation,
    nearest_correlation,
)


def random_case(columns, seed):
    """Margins of 40 cells, correlations, and a box of half the cells along each."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(columns, columns))
    matrix = factor @ factor.T + 0.5 * np.eye(columns)
    scale = np.sqrt(np.diag(matrix))
    margins = tuple(rng.dirichlet(np.ones(40)) for _ in range(columns))
    insides, ends = [], []
    for mass in margins:
        first = int(rng.integers(1, 20))
        inside = np.zeros((40, 2))
        inside[first : first + 20, 1] = 1
        inside[:, 0] = 1 - inside[:, 1]
        insides.append(inside)
        ends.append(np.clip(cut_normal(mass)[[first, first + 20]], -8, 8))
    tensor = np.zeros((2,) * columns)
    tensor[(1,) * columns] = 1
    return margins, matrix / np.outer(scale, scale), insides, np.array(ends).T, tensor


def box(correlation, ends):
    normal = multivariate_normal(np.zeros(len(correlation)), correlation, maxpts=1_000_000, abseps=1e-7)
    return normal.cdf(ends[1], lower_limit=ends[0])


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_a_box_has_the_share_that_scipy_gives_it(columns):
    for seed in range(3):
        margins, correlation, insides, ends, tensor = random_case(columns, seed)
        copula = Copula(margins, correlation)
        parts = [shares @ inside for shares, inside in zip(copula.shares, insides, strict=True)]
        expected = box(correlation, ends)
        assert copula.share(parts, tensor) == pytest.approx(expected, abs=1.5e-3)
        for place in range(columns):
            given = copula.share_by_cell(parts, tensor, place, insides[place])
            assert given @ margins[place] == pytest.approx(copula.share(parts, tensor), abs=1e-9)
            assert (given[insides[place][:, 0] == 1] == 0).all()


def test_a_share_grows_with_a_correlation_as_differences_say():
    margins, correlation, insides, ends, tensor = random_case(3, 1)
    copula = Copula(margins, correlation)
    parts = [shares @ inside for shares, inside in zip(copula.shares, insides, strict=True)]
    for pair in ((0, 1), (0, 2), (1, 2)):
        step = np.zeros((3, 3))
        step[pair] = step[pair[::-1]] = 1e-3
        expected = (box(correlation + step, ends) - box(correlation - step, ends)) / 2e-3
        slope = copula.share_slope(parts, tensor, pair, (insides[pair[0]], insides[pair[1]]))
        assert slope == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.5, 0.95])
def test_the_correlation_behind_a_covariance_is_found(rho):
    rng = np.random.default_rng(0)
    one, other = rng.dirichlet(np.ones(60)), rng.dirichlet(np.ones(30))
    x, y = np.sort(rng.normal(size=60)), np.sort(rng.gamma(1, size=30))
    copula = Copula((one, other), np.array([[1, rho], [rho, 1]]))
    table = copula.shares[0].T @ copula.shares[1] / len(copula.shares[0])
    covariance = x @ table @ y - (x @ one) * (y @ other)
    found, slope = latent_correlation(hermite_terms(one, x), hermite_terms(other, y), covariance)
    assert found == pytest.approx(rho, abs=0.02)
    assert slope > 0


def test_a_covariance_that_no_correlation_has_is_cut():
    coin = hermite_terms(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert latent_correlation(coin, coin, 1.0)[0] == MAX_CORRELATION
    assert latent_correlation(coin, coin, -1.0)[0] == -MAX_CORRELATION


def test_a_column_with_one_value_is_tied_to_nothing():
    coin, rock = (hermite_terms(np.array(mass), np.array([0.0, 1.0])) for mass in ([0.5, 0.5], [1.0, 0.0]))
    assert latent_correlation(coin, rock, 0.1) == (0.0, 0.0)


def test_correlations_that_contradict_each_other_become_some_that_do_not():
    made = nearest_correlation(np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]))
    assert np.linalg.eigvalsh(made).min() > 0.01
    np.testing.assert_allclose(np.diag(made), 1)
    kept = np.array([[1, 0.4], [0.4, 1]])
    assert nearest_correlation(kept) is kept
