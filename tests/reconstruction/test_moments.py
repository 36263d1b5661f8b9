"""Figures of a column: mean and variance without bias, quantiles and shares, each with an interval that holds the truth."""

import pickle

import numpy as np
import pytest

from sfumato.channels import Gaussian, Intervals, Laplace, SquareWave, Substitution, Uniform
from sfumato.errors import UsageError
from sfumato.reconstruction import Figure, reconstruct
from sfumato.reconstruction.bases import Lattice
from sfumato.reconstruction.moments import Moments, Weights
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

AGE = Attribute("age", Kind.INTEGER, Interval(17, 90))
SPARE = Attribute("spare", Kind.REAL, Interval(-1.0, 3.0))
FLAG = Attribute("flag", Kind.INTEGER, Interval(0, 1))
LAWS = [
    Gaussian(privacy=0.5),
    Gaussian(privacy=2.0),
    Uniform(privacy=1.0),
    Laplace(privacy=0.25),
    SquareWave(epsilon=2.0),
]


def words(rng, n):
    return rng.integers(0, 2**64, (n, 2), dtype=np.uint64)


def released(attribute, law, values, seed=0):
    channel = law.on(attribute)
    return Column(attribute, channel, channel.sample(values, words(np.random.default_rng(seed), len(values))))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("attribute", [AGE, SPARE, FLAG], ids=lambda a: a.name)
def test_the_weights_of_a_law_average_to_the_value_and_its_square(law, attribute):
    weights = Weights.of(law.on(attribute), Lattice.of(attribute))
    first, second = (w(weights.released) @ weights.kernel for w in (weights.scores.first, weights.scores.second))
    np.testing.assert_allclose(first, weights.points, atol=1e-3)
    np.testing.assert_allclose(second, weights.points**2, atol=2e-3)


@pytest.mark.parametrize("law", [Intervals(count=6), Substitution(gamma=9.0, bins=8)], ids=str)
def test_bins_say_nothing_of_where_in_them_a_value_lies(law):
    assert Weights.of(law.on(SPARE), Lattice.of(SPARE)) is None


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_mean_and_variance_are_without_bias_and_their_intervals_hold(law):
    # 60 releases of one table: the mean of z has a standard error of .13, and 49 of 60 hold but for one run in 10,000.
    values = np.round(np.random.default_rng(1).gamma(3, 8, 400) + 17).clip(17, 90)
    weights = Weights.of(law.on(AGE), Lattice.of(AGE))
    cells, shares = np.unique(values, return_counts=True)
    found = [
        Moments.of(weights.scores, released(AGE, law, values, seed).values).figures(weights, cells, shares / 400)
        for seed in range(60)
    ]
    for figures, truth in zip(zip(*found, strict=True), (values.mean(), values.var(ddof=1)), strict=True):
        z = np.array([(float(f) - truth) / f.se for f in figures])
        assert abs(z.mean()) < 4 / np.sqrt(60)
        assert 0.7 < z.std() < 1.4
        assert sum(f.low <= truth <= f.high for f in figures) >= 49


def test_sums_of_parts_are_the_sums_of_the_whole():
    weights = Weights.of(Gaussian(privacy=0.5).on(AGE), Lattice.of(AGE))
    values = released(AGE, Gaussian(privacy=0.5), np.full(100, 40.0)).values
    parts = [Moments.of(weights.scores, values[:30]), Moments.of(weights.scores, values[30:])]
    whole = Moments.of(weights.scores, values)
    assert sum(p.first for p in parts) == pytest.approx(whole.first)
    assert sum(p.second_squared for p in parts) == pytest.approx(whole.second_squared)


def test_the_mean_under_additive_noise_is_the_plain_mean_of_the_release():
    column = released(AGE, Gaussian(privacy=0.5), np.random.default_rng(2).integers(17, 90, 5000).astype(float))
    assert reconstruct(column).mean() == pytest.approx(column.values.mean(), rel=1e-6)


def test_a_column_of_mostly_zeros_keeps_its_mean():
    # The default once said twice the truth: it spread the zeros over a cell.
    money = Attribute("money", Kind.INTEGER, Interval(0, 100_000))
    rng = np.random.default_rng(3)
    values = np.where(rng.random(20_000) < 0.92, 0, np.minimum(rng.lognormal(9, 1, 20_000), 100_000)).round()
    found = reconstruct(released(money, Gaussian(privacy=0.5), values))
    assert found.mean().low <= values.mean() <= found.mean().high
    assert found.quantile(0.5) <= 500
    assert found.share(0, 20_000) == pytest.approx(np.mean(values <= 20_000), abs=0.03)
    assert found.chosen["scale"] == "stretched" or "atoms" in found.chosen


def test_shares_and_quantiles_are_figures():
    values = np.random.default_rng(4).integers(20, 80, 8000).astype(float)
    found = reconstruct(released(AGE, Uniform(privacy=0.5), values))
    share = found.share(30, 49)
    assert share.low <= np.mean((values >= 30) & (values <= 49)) <= share.high
    assert 0 < share.se < 0.05
    assert found.share(-np.inf, np.inf) == pytest.approx(1)
    median = found.quantile(0.5)
    assert median.low <= np.median(values) <= median.high
    assert median == round(median)  # whole years
    with pytest.raises(UsageError, match="upside down"):
        found.share(50, 40)


def test_a_figure_is_a_number_that_travels():
    figure = pickle.loads(pickle.dumps(Figure(38.6, 0.15, population_error=0.2)))
    assert figure + 1 == pytest.approx(39.6)
    assert repr(figure) == "38.6 ± 0.15"
    assert figure.to_dict() == {
        "estimate": 38.6,
        "se": 0.15,
        "low": pytest.approx(38.306, abs=1e-3),
        "high": pytest.approx(38.894, abs=1e-3),
        "population_se": 0.2,
    }
