"""Published privacy formulas against numbers worked out by hand."""

import itertools
import math

import numpy as np
import pytest

from sfumato.channels import Gaussian, Guarantee, Intervals, Laplace, SquareWave, Substitution, Uniform
from sfumato.errors import UsageError
from sfumato.privacy import (
    condition_number,
    entropy_privacy,
    figures,
    gamma_of_rho,
    gaussian_delta,
    gaussian_epsilon,
    keep_probability,
    matrix_entropy,
    mutual_information,
    privacy_loss,
    record_figures,
    record_gamma,
    repeated_gamma,
    rho1_of_gamma,
    rho2_of_gamma,
    substitution_entropy,
)
from sfumato.schema import Attribute, Categories, Interval, Kind

AGE = Attribute("age", Kind.INTEGER, Interval(20, 80))
LABEL = Attribute("label", Kind.CATEGORICAL, Categories(("a", "b", "c", "d", "e")))


def test_five_percent_to_fifty_percent_is_gamma_nineteen_and_epsilon_2_944():
    assert gamma_of_rho(0.05, 0.5) == pytest.approx(19)
    assert Guarantee(19).epsilon == pytest.approx(2.944, abs=5e-4)


@pytest.mark.parametrize(("rho1", "rho2"), [(0.05, 0.5), (0.01, 0.9), (0.3, 0.31)])
def test_gamma_and_rho_are_each_others_inverse(rho1, rho2):
    gamma = gamma_of_rho(rho1, rho2)
    assert rho2_of_gamma(gamma, rho1) == pytest.approx(rho2)
    assert rho1_of_gamma(gamma, rho2) == pytest.approx(rho1)


def test_beliefs_that_do_not_grow_are_refused():
    with pytest.raises(UsageError, match="0 < rho1 < rho2 < 1"):
        gamma_of_rho(0.5, 0.5)


def test_rho2_bounds_every_posterior_that_substitution_can_produce():
    # Worst case by brute force: any prior, any released value, any property of prior at most 5 %.
    channel = Substitution(gamma=7.0).on(LABEL)
    matrix = channel.matrix_product(np.eye(5))
    bound = rho2_of_gamma(7.0, 0.05)
    rng = np.random.default_rng(3)
    for _ in range(500):
        prior = np.concatenate([[0.05], 0.95 * rng.dirichlet(np.full(4, 0.2))])
        posterior = matrix * prior / (matrix @ prior)[:, None]
        assert posterior[:, 0].max() <= bound + 1e-12


def test_gamma_multiplies_and_epsilon_adds_up_over_a_record():
    assert record_gamma([2.0, 3.0, 4.0]) == pytest.approx(24)
    three = {n: figures(Substitution(gamma=g).on(LABEL), LABEL) for n, g in (("x", 2.0), ("y", 3.0), ("z", 4.0))}
    assert record_figures(three)["epsilon"] == pytest.approx(math.log(24))
    assert record_figures(three)["gamma"] == pytest.approx(24)


def test_one_unbounded_attribute_leaves_the_record_unbounded_and_is_named():
    both = {
        "age": figures(Gaussian(privacy=0.5).on(AGE), AGE),
        "label": figures(Substitution(gamma=3.0).on(LABEL), LABEL),
    }
    record = record_figures(both)
    assert record["epsilon"] is None
    assert record["infinite"] == ["age"]


def test_entropy_of_the_gamma_diagonal_matrix_by_hand():
    # γ = 3, N = 3: a column is (3/5, 1/5, 1/5): −.6 log₂ .6 − .4 log₂ .2 = .4422 + .9288
    assert substitution_entropy(3, 3) == pytest.approx(1.37095, abs=1e-5)


@pytest.mark.parametrize("gamma", [1.5, 5, 19])
@pytest.mark.parametrize("size", [2, 10, 100])
def test_the_closed_entropy_is_that_of_the_matrix(gamma, size):
    matrix = (np.full((size, size), 1.0) + (gamma - 1) * np.eye(size)) / (gamma + size - 1)
    assert substitution_entropy(gamma, size) == pytest.approx(matrix_entropy(matrix))
    assert condition_number(gamma, size) == pytest.approx(np.linalg.cond(matrix))
    assert keep_probability(gamma, size) == pytest.approx(matrix[0, 0])


def test_entropy_grows_with_n_and_falls_with_gamma():
    assert substitution_entropy(5, 10) < substitution_entropy(5, 20)
    assert substitution_entropy(5, 10) > substitution_entropy(9, 10)


@pytest.mark.parametrize("times", [1, 2, 5, 20])
def test_repeated_substitution_is_the_power_of_the_matrix(times):
    gamma, size = 8.0, 6
    matrix = (np.full((size, size), 1.0) + (gamma - 1) * np.eye(size)) / (gamma + size - 1)
    power = np.linalg.matrix_power(matrix, times)
    assert repeated_gamma(gamma, size, times) == pytest.approx(power[0, 0] / power[0, 1])


def test_repeating_never_gains_and_converges_to_pure_chance():
    steps = [repeated_gamma(19, 20, t) for t in range(1, 40)]
    assert all(a > b for a, b in itertools.pairwise(steps))
    assert steps[-1] == pytest.approx(1, abs=1e-6)


def test_information_of_a_symmetric_bit_by_hand():
    # Kept with .9: I = 1 − H(.1) = 1 − .46900 = .53100 bits.
    kernel = np.array([[0.9, 0.1], [0.1, 0.9]])
    prior = np.array([0.5, 0.5])
    assert mutual_information(prior, kernel) == pytest.approx(0.531, abs=5e-4)
    assert privacy_loss(0.531) == pytest.approx(0.308, abs=5e-4)


def test_entropy_privacy_of_a_release_that_tells_nothing_is_the_whole_range():
    prior = np.full(10, 0.1)
    spread = math.log2(60)
    assert entropy_privacy(spread, mutual_information(prior, np.full((4, 10), 0.25))) == pytest.approx(60)
    assert entropy_privacy(spread, mutual_information(prior, np.eye(10))) == pytest.approx(6)


def test_delta_of_gaussian_noise_against_direct_integration():
    # δ = ∫ max(0, f(y) − e^ε f(y − Δ)) dy
    epsilon, span, sigma = 1.3, 2.0, 1.7
    y = np.linspace(-30, 30, 400_001)
    first, second = (np.exp(-((y - m) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi)) for m in (0, span))
    direct = np.maximum(0, second - math.exp(epsilon) * first).sum() * (y[1] - y[0])
    assert gaussian_delta(epsilon, span, sigma) == pytest.approx(direct, rel=1e-6)
    assert gaussian_epsilon(gaussian_delta(epsilon, span, sigma), span, sigma) == pytest.approx(epsilon, abs=1e-9)


def test_table_1_of_the_2000_paper_to_its_rounding():
    # Its 6.8 σ at 99.9 % is not 2 z = 6.58 σ: the one entry that its own definition does not give.
    wishes = (Gaussian(sigma=1.0), Uniform(alpha=0.5), Intervals(edges=(0.0, 1.0, 2.0)))
    gaussian, uniform, intervals = (wish.on(Attribute("x", Kind.REAL, Interval(0.0, 2.0))) for wish in wishes)
    assert [round(gaussian.interval_width(c), 2) for c in (0.5, 0.95, 0.999)] == [1.35, 3.92, 6.58]
    assert abs(gaussian.interval_width(0.5) - 1.34) < 0.01
    for c in (0.5, 0.95, 0.999):
        assert uniform.interval_width(c) == pytest.approx(c)
        assert intervals.interval_width(c) == pytest.approx(c)


@pytest.mark.parametrize("channel", [Gaussian(privacy=1.0), Uniform(privacy=0.5), Intervals(count=4)])
def test_a_law_without_a_finite_epsilon_says_so_and_why(channel):
    about = figures(channel.on(AGE), AGE)
    assert about["epsilon"] is None
    assert about["gamma"] is None
    assert about["rho"]["rho2"] == 1
    assert about["reason"]


@pytest.mark.parametrize(
    ("channel", "epsilon"),
    [(SquareWave(epsilon=1.0), 1.0), (Laplace(b=30.0), 2.0), (Substitution(gamma=19.0), math.log(19))],
)
def test_a_law_with_a_finite_epsilon_gives_it(channel, epsilon):
    assert figures(channel.on(AGE), AGE)["epsilon"] == pytest.approx(epsilon)


def test_the_promised_share_of_the_range_is_what_was_asked_for():
    for channel in (Gaussian(privacy=0.5), Uniform(privacy=0.5), Laplace(privacy=0.5)):
        assert figures(channel.on(AGE), AGE)["interval_width_95_share"] == pytest.approx(0.5)


def test_a_record_of_many_weak_promises_has_a_finite_epsilon_and_no_printable_gamma():
    weak = {str(i): {"epsilon": 50.0, "gamma": math.exp(50.0)} for i in range(20)}
    record = record_figures(weak)
    assert record["epsilon"] == pytest.approx(1000)
    assert record["gamma"] is None
    assert record["rho"]["rho2"] == 1
