"""Projective reports: the design behind them, the law, and the rule that chooses between them and k-ary response."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.channels import Projective, Substitution
from sfumato.channels.projective import ProjectiveSpace, best_space, report_variance, reports_win, response_variance
from sfumato.errors import UsageError
from sfumato.privacy import entropy_privacy, figures, matrix_entropy, mutual_information, privacy_loss
from sfumato.randomness import Rows, SecretKey
from sfumato.reconstruction.closed_form import inverse_counts, unbiased_shares
from sfumato.schema import Attribute, Categories, Interval, Kind, Missing

KEY = SecretKey(bytes(range(32)))


def labels(size, **more):
    return Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"{i:05}" for i in range(size))), **more)


@pytest.mark.parametrize(("order", "dimension"), [(2, 3), (2, 5), (3, 3), (3, 4), (5, 3), (7, 4), (13, 3)])
def test_sets_are_alike_and_any_two_share_equally_many_points(order, dimension):
    space = ProjectiveSpace(order, dimension)
    member = space.points @ space.points.T % order == 0  # the naive twin
    assert len(np.unique(space.points, axis=0)) == space.size
    assert np.array_equal(space.numbers(space.points), np.arange(space.size))
    assert np.array_equal(space.incidence(space.size), member)
    assert (member.sum(axis=0) == space.set_size).all()
    shared = member.T.astype(int) @ member
    assert (shared[~np.eye(space.size, dtype=bool)] == space.shared).all()
    amounts = np.random.default_rng(0).random(space.size)
    assert space.hits(amounts) == pytest.approx(member @ amounts)
    places = np.arange(space.set_size)
    for x in range(space.size):
        assert np.array_equal(np.sort(space.member(np.full(space.set_size, x), places)), np.flatnonzero(member[:, x]))


def test_the_fano_plane_by_hand():
    space = ProjectiveSpace(2, 3)
    assert (space.size, space.set_size, space.shared) == (7, 3, 1)
    law = Projective(gamma=3.0).on(labels(7))
    assert (law.order, law.dimension) in {(2, 3), (3, 3), (5, 3)}
    fano = Projective(gamma=3.0, size=7, order=2, dimension=3)
    # T = 3·3 + 4 = 13: a report is in one's own set with 9/13, in another's with (3·1 + 2)/13.
    assert fano.inside == pytest.approx(9 / 13)
    assert fano.outside == pytest.approx(5 / 13)
    assert report_variance(3.0, space) == pytest.approx((5 / 13) * (8 / 13) / (4 / 13) ** 2)


def test_the_variance_of_k_ary_response_is_that_of_wang_2017():
    gamma, size = math.e, 50
    p, q = gamma / (gamma + size - 1), 1 / (gamma + size - 1)
    assert response_variance(gamma, size) == pytest.approx(q * (1 - q) / (p - q) ** 2)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("size", [100, 1000, 5000, 100_000])
def test_reports_are_within_a_third_of_the_variance_of_olh_and_mostly_within_a_tenth(epsilon, size):
    gamma = math.exp(epsilon)
    ratio = report_variance(gamma, best_space(gamma, size)) / (4 * gamma / (gamma - 1) ** 2)
    assert ratio < (1.11 if epsilon <= 3 and size <= 5000 else 1.35)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 2.944, 4.0])
def test_the_rule_changes_once_and_near_three_gamma_plus_two(epsilon):
    gamma = math.exp(epsilon)
    wins = [reports_win(gamma, size) for size in range(3, 300)]
    change = 3 + wins.index(True)
    assert all(wins[change - 3 :])
    assert 0.8 * (3 * gamma + 2) <= change <= 1.15 * (3 * gamma + 2)


def test_the_wish_is_kept_and_only_labels_and_gammas_are_chosen_for():
    assert Substitution(epsilon=1.0).suit(labels(1000)) == Projective(epsilon=1.0)
    assert Substitution(rho1=0.05, rho2=0.5).suit(labels(1000)) == Projective(rho1=0.05, rho2=0.5)
    for wish, attribute in [
        (Substitution(epsilon=1.0), labels(5)),
        (Substitution(gamma=19.0), labels(40)),
        (Substitution(gamma=2.0), labels(2)),
        (Substitution(signal=0.1), labels(1000)),
        (Substitution(privacy=0.5), labels(1000)),
        (Substitution(gamma=2.0), Attribute("x", Kind.INTEGER, Interval(0, 10_000))),
    ]:
        assert wish.suit(attribute) is wish


def mean_squared_errors(size, epsilon, n, runs):
    """Of the unbiased estimates of both laws, over all labels of a skewed truth."""
    attribute, gamma = labels(size), math.exp(epsilon)
    truth = 1 / np.arange(1, size + 1)
    truth /= truth.sum()
    response, reports = Substitution(epsilon=epsilon).on(attribute), Projective(epsilon=epsilon).on(attribute)
    errors = np.zeros(2)
    for run in range(runs):
        values = np.random.default_rng([run, size]).choice(size, n, p=truth).astype(float)
        key = KEY.derive(size, epsilon, run)
        y = np.bincount(response.perturb(key, Rows(0, n), values).astype(int), minlength=size) / n
        z = np.bincount(reports.perturb(key, Rows(0, n), values).astype(int), minlength=reports.reports) / n
        true = np.bincount(values.astype(int), minlength=size) / n
        errors += [np.mean((inverse_counts(y, gamma) - true) ** 2), np.mean((unbiased_shares(reports, z) - true) ** 2)]
    return errors / runs


@pytest.mark.parametrize("size", [10, 100, 1000, 5000])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_rule_picks_the_law_with_the_lower_measured_error(size, epsilon):
    n = 20_000
    gamma = math.exp(epsilon)
    response, reports = mean_squared_errors(size, epsilon, n, runs=40 if size == 10 else 4)
    assert reports_win(gamma, size) == (reports < response)
    if size >= 100:  # most labels are rare, as the formulas suppose
        assert response == pytest.approx(response_variance(gamma, size) / n, rel=0.35)
        assert reports == pytest.approx(report_variance(gamma, best_space(gamma, size)) / n, rel=0.35)


@pytest.mark.parametrize("attribute", [labels(9), labels(60), labels(12, missing=Missing.CATEGORY)])
@pytest.mark.parametrize("epsilon", [0.7, 2.5])
def test_figures_in_closed_form_are_those_of_the_matrix(attribute, epsilon):
    law = Projective(epsilon=epsilon).on(attribute)
    size = law.bin_grid.size
    matrix = law.transition(law.bin_grid, law.observed_grid(law.bin_grid))
    about, prior = figures(law, attribute), np.full(size, 1 / size)
    assert matrix.shape == (law.reports, size)
    assert about["epsilon"] == pytest.approx(epsilon)
    assert (matrix.max(axis=1) / matrix.min(axis=1)).max() == pytest.approx(math.exp(epsilon))
    assert about["entropy_bits"] == pytest.approx(matrix_entropy(matrix))
    assert about["condition_number"] == pytest.approx(np.linalg.cond(matrix))
    bits = mutual_information(prior, matrix)
    assert about["privacy_loss"] == pytest.approx(privacy_loss(bits))
    assert about["entropy_privacy"] == pytest.approx(entropy_privacy(math.log2(size), bits))
    assert about["keep_probability"] == pytest.approx(matrix.max(axis=1).sum() / size)
    posterior = np.sort(matrix / matrix.sum(axis=1, keepdims=True), axis=1)[:, ::-1]
    widths = [np.interp(0.95, np.concatenate([[0], np.cumsum(row)]), np.arange(size + 1)) for row in posterior]
    assert law.interval_width(0.95) == pytest.approx(np.average(widths, weights=matrix.sum(axis=1)))
    assert set(about["rare_value_variance"]) == {"substitution", "projective"}


def test_products_by_transform_are_those_of_the_matrix():
    law = Projective(epsilon=1.3).on(labels(75))
    matrix = law.transition(law.bin_grid, law.observed_grid(law.bin_grid))
    rng = np.random.default_rng(2)
    mass, counts = rng.random(75), rng.random(law.reports)
    operator = law.operator(75)
    assert law.matrix_product(mass) == pytest.approx(matrix @ mass)
    assert law.matrix_product(np.eye(75)) == pytest.approx(matrix)
    assert operator.T @ counts == pytest.approx(matrix.T @ counts)


def test_values_are_drawn_from_the_posterior():
    law = Projective(epsilon=1.0).on(labels(20))
    matrix = law.transition(law.bin_grid, law.observed_grid(law.bin_grid))
    mass = np.linspace(1, 3, 20) / np.linspace(1, 3, 20).sum()
    n = 200_000
    reports = np.repeat([0, 5, law.reports - 1], n)
    found = law.draw_values(reports, mass, np.random.default_rng(3).random(3 * n))
    for code in (0, 5, law.reports - 1):
        posterior = matrix[code] * mass / (matrix[code] @ mass)
        shares = np.bincount(found[reports == code], minlength=20) / n
        assert np.abs(shares - posterior).max() < 5 * math.sqrt(0.25 / n)
    read = law.read(reports, np.random.default_rng(4).random(3 * n))
    assert law.members[reports, read].all()


def test_a_domain_of_one_label_and_a_wish_without_gamma_are_refused():
    with pytest.raises(UsageError, match=r"zip: .*single value"):
        Projective(gamma=3).on(labels(1))
    with pytest.raises(UsageError, match="exactly one"):
        Projective().on(labels(10))
    with pytest.raises(UsageError, match="must exceed 1"):
        Projective(gamma=0.5).on(labels(10))
