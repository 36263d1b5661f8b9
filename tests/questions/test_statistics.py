"""From totals to figures, by hand."""

import math

import numpy as np
import pytest
from tests.support.asked import ask_table

import sfumato as sf
from sfumato.questions.statistics import differentiate, fieller_interval
from sfumato.table import Column, Table

FLAG = sf.Attribute("flag", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))


def test_the_interval_of_a_ratio_is_all_ratios_that_the_noise_allows():
    noise = np.array([[9.0, 2.0], [2.0, 4.0]])
    ratio = fieller_interval(30.0, 60.0, noise)
    for end in (ratio.low, ratio.high):
        deviation = 30.0 - end * 60.0
        assert deviation**2 == pytest.approx(1.959964**2 * (9.0 - 2 * end * 2.0 + end**2 * 4.0), rel=1e-5)


def test_a_ratio_to_something_that_may_be_nothing_has_no_interval():
    assert fieller_interval(3.0, 5.0, np.diag([1.0, 4.0])) is None
    assert fieller_interval(3.0, -5.0, np.diag([1.0, 0.01])) is None


def test_derivatives_are_those_of_the_function():
    gradient, curvature = differentiate(lambda t: float(t[0] ** 2 / t[1]), np.array([2.0, 4.0]), np.diag([0.01, 0.01]))
    np.testing.assert_allclose(gradient, [1.0, -0.25], rtol=1e-3)
    np.testing.assert_allclose(curvature, [[0.5, -0.25], [-0.25, 0.125]], rtol=1e-2)


def test_a_count_under_k_ary_response_by_hand():
    """γ = 3 on two labels keeps with ¾, so w = 1.5 for yes and −.5 for no; w² − w = .75 for either, and the variance is n · .75."""
    column = Column(FLAG, sf.Substitution(gamma=3.0).on(FLAG), np.repeat([0.0, 1.0], [60, 40]))
    count = ask_table(Table((column,)), "SELECT COUNT_IF(flag = 'yes') AS n FROM release")[0]["n"]
    assert count.value == pytest.approx(40 * 1.5 - 60 * 0.5)
    assert count.se == pytest.approx(math.sqrt(100 * 0.75))
    assert (count.low, count.high) == (pytest.approx(30 - 1.959964 * count.se), pytest.approx(30 + 1.959964 * count.se))
    assert count.by == "weights"


def test_the_error_of_a_mean_is_that_of_the_noise_alone():
    age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    law = sf.Gaussian(privacy=0.5).on(age)
    values = np.round(np.linspace(0, 100, 400))
    mean = ask_table(Table((Column(age, law, values),)), "SELECT AVG(age) AS m FROM release")[0]["m"]
    assert mean.value == pytest.approx(values.mean(), abs=1e-2)
    assert mean.se == pytest.approx(law.sigma / 20, rel=2e-3)


def test_a_deviation_has_the_interval_of_its_variance():
    age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    column = Column(age, sf.Gaussian(privacy=0.2).on(age), np.round(np.linspace(0, 100, 400)))
    row = ask_table(Table((column,)), "SELECT VARIANCE(age) AS v, STDDEV(age) AS s, VAR_POP(age) AS p FROM release")[0]
    assert (row["s"].low, row["s"].high) == (
        pytest.approx(math.sqrt(row["v"].low)),
        pytest.approx(math.sqrt(row["v"].high)),
    )
    assert row["p"].value == pytest.approx(row["v"].value * 399 / 400, rel=1e-4)


def test_a_count_is_never_below_zero_nor_above_the_rows():
    column = Column(FLAG, sf.Substitution(gamma=3.0).on(FLAG), np.zeros(50))
    row = ask_table(Table((column,)), "SELECT COUNT_IF(flag = 'yes') AS n, COUNT_IF(flag = 'no') AS m FROM release")[0]
    assert (row["n"].value, row["n"].low) == (0.0, 0.0)
    assert (row["m"].value, row["m"].high) == (50.0, 50.0)
