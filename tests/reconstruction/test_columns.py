"""From released columns to distributions: every law, missing values, classes, weights."""

import json
import pickle

import numpy as np
import pytest

from sfumato.channels import CHANNELS, Gaussian, Intervals, Laplace, SquareWave, Substitution, Transition, Uniform
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import METHODS, reconstruct, reconstruct_by_class
from sfumato.schema import MISSING_LABEL, Attribute, Categories, Interval, Kind, Missing
from sfumato.table import Column, Table

UNIT = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
AGE = Attribute("age", Kind.INTEGER, Interval(20, 80))
CAR = Attribute("car", Kind.INTEGER, Interval(1, 20))
LABEL = Attribute("label", Kind.CATEGORICAL, Categories(("a", "b", "c")))
LAWS = {
    "gaussian": Gaussian(privacy=0.5),
    "uniform": Uniform(privacy=0.5),
    "laplace": Laplace(privacy=0.5),
    "intervals": Intervals(count=10),
    "substitution": Substitution(gamma=12.0),
    "square-wave": SquareWave(epsilon=2.0),
}


def words(rng, n):
    return rng.integers(0, 2**64, (n, 2), dtype=np.uint64)


def released(attribute, law, values, seed=0):
    channel = law.on(attribute)
    return Column(attribute, channel, channel.sample(values, words(np.random.default_rng(seed), len(values))))


def test_every_law_has_its_turn_here():
    assert set(LAWS) == {law for law in CHANNELS if CHANNELS[law].numeric}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("attribute", [UNIT, AGE, CAR], ids=lambda a: a.name)
def test_the_default_recovers_mean_and_spread_through_every_law(law, attribute):
    rng = np.random.default_rng(1)
    low, high = attribute.interval.low, attribute.interval.high
    values = low + (high - low) * rng.beta(2, 5, 20_000)
    if attribute.kind is Kind.INTEGER:
        values = np.round(values)
    found = reconstruct(released(attribute, LAWS[law], values))
    assert found.mass.sum() == pytest.approx(1)
    assert (found.mass >= 0).all()
    assert found.mean() == pytest.approx(values.mean(), abs=0.02 * (high - low))
    assert found.sd() == pytest.approx(values.std(), abs=0.03 * (high - low))


@pytest.mark.parametrize("method", [m for m in METHODS if m != "exact"])
@pytest.mark.parametrize("kernel", ["exact", "midpoint"])
def test_every_method_gives_a_distribution_with_its_band(method, kernel):
    column = released(UNIT, Gaussian(sigma=0.1), np.random.default_rng(2).beta(2, 5, 3000))
    found = reconstruct(column, bins=12, method=method, kernel=kernel)
    assert found.mass.sum() == pytest.approx(1)
    assert (found.lower <= found.mass).all()
    assert (found.mass <= found.upper).all()
    assert (found.standard_error >= 0).all()
    assert found.method == method


def test_bands_through_noise_cover_on_average_over_the_cells():
    rng = np.random.default_rng(5)
    truth = np.diff(np.interp(np.linspace(0, 1, 21), [0, 0.25, 0.75, 1], [0, 0.1, 0.9, 1]))
    hits = []
    for seed in range(12):
        values = np.interp(rng.random(10_000), [0, 0.1, 0.9, 1], [0, 0.25, 0.75, 1])
        found = reconstruct(released(UNIT, Gaussian(sigma=0.08), values, seed), bins=20)
        hits.append(np.mean((found.lower <= truth) & (truth <= found.upper)))
    assert np.mean(hits) > 0.85


def test_values_released_as_true_are_counted():
    found = reconstruct(Column(LABEL, None, np.array([0.0, 0.0, 2.0, np.nan])))
    np.testing.assert_allclose(found.mass, [2 / 3, 0, 1 / 3])
    assert found.missing == 1
    assert found.n == 3
    assert found.method == "counts"
    assert (found.upper > found.mass).all()


def test_intervals_are_counted_too_since_nothing_is_uncertain():
    values = np.random.default_rng(0).random(5000)
    found = reconstruct(released(UNIT, Intervals(count=8), values))
    np.testing.assert_allclose(found.mass, np.histogram(values, np.linspace(0, 1, 9))[0] / 5000, atol=1e-9)


def test_missing_values_are_left_out_and_reported():
    column = released(UNIT, Uniform(alpha=0.2), np.random.default_rng(0).random(4000))
    values = np.concatenate([column.values, np.full(100, np.nan)])
    with_missing = reconstruct(Column(UNIT, column.channel, values))
    assert with_missing.missing == 100
    np.testing.assert_array_equal(with_missing.mass, reconstruct(column).mass)


def test_missing_as_a_category_is_one_more_category():
    attribute = Attribute("label", Kind.CATEGORICAL, Categories(("a", "b", "c")), missing=Missing.CATEGORY)
    values = np.repeat([0.0, 1.0, 2.0, 3.0], [4000, 3000, 2000, 1000])
    found = reconstruct(released(attribute, Substitution(gamma=20.0), values))
    assert found.grid.labels == ("a", "b", "c", MISSING_LABEL)
    np.testing.assert_allclose(found.mass, [0.4, 0.3, 0.2, 0.1], atol=0.04)


def test_a_column_without_any_value_says_so():
    with pytest.raises(DataError, match="x: no value is present"):
        reconstruct(Column(UNIT, Gaussian(sigma=0.1).on(UNIT), np.full(5, np.nan)))
    with pytest.raises(DataError, match="x: no value is present"):
        reconstruct(Column(UNIT, Gaussian(sigma=0.1).on(UNIT), np.empty(0)))


def test_unknown_methods_and_kernels_are_named():
    column = Column(UNIT, Gaussian(sigma=0.1).on(UNIT), np.array([0.5]))
    with pytest.raises(UsageError, match="there is no method 'magic'"):
        reconstruct(column, method="magic")
    with pytest.raises(UsageError, match="there is no kernel 'soft'"):
        reconstruct(column, kernel="soft")
    with pytest.raises(UsageError, match="bins"):
        reconstruct(column, bins=0)


def test_a_constant_column_is_found_to_be_nearly_constant():
    found = reconstruct(released(UNIT, Uniform(alpha=0.1), np.full(20_000, 0.52)), bins=20)
    assert found.mass[10] > 0.9


def test_a_domain_of_one_value_needs_no_data():
    attribute = Attribute("x", Kind.INTEGER, Interval(3, 3))
    assert reconstruct(Column(attribute, None, np.array([3.0, 3.0]))).mass.tolist() == [1.0]


def test_weights_count_rows_as_many_times():
    values = np.random.default_rng(0).beta(2, 5, 500)
    column = released(UNIT, Uniform(alpha=0.3), values)
    doubled = Column(UNIT, column.channel, np.repeat(column.values, 2))
    weighted = reconstruct(column, bins=10, weights=np.full(500, 2.0))
    np.testing.assert_array_equal(weighted.mass, reconstruct(doubled, bins=10).mass)
    assert weighted.n == 1000


def test_the_order_of_rows_changes_nothing():
    column = released(UNIT, Gaussian(sigma=0.2), np.random.default_rng(0).beta(2, 5, 3000))
    shuffled = column.take(np.random.default_rng(1).permutation(3000))
    np.testing.assert_array_equal(reconstruct(column).mass, reconstruct(shuffled).mass)


def test_by_class_is_the_reconstruction_of_each_class_on_one_grid():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.beta(2, 6, 4000), rng.beta(6, 2, 6000), [0.5]])
    classes = np.repeat([0, 1, -1], [4000, 6000, 1])
    column = released(UNIT, Gaussian(sigma=0.1), values)
    table = Table((column,), Column.of_codes("class", ("low", "high", "nobody"), classes))
    found = reconstruct_by_class(table, "x")
    assert list(found) == ["low", "high"]
    grid = reconstruct(column.take(classes >= 0)).grid
    assert found["low"].grid is found["high"].grid
    np.testing.assert_array_equal(found["low"].grid.edges, grid.edges)
    assert found["low"].mean() == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(found["high"].mass, reconstruct(column.take(classes == 1), grid=grid).mass)
    with pytest.raises(UsageError, match="no class"):
        reconstruct_by_class(Table((column,)), "x")


def test_kernels_are_computed_once_and_cannot_be_changed():
    channel = Gaussian(sigma=0.1).on(UNIT)
    column = Column(UNIT, channel, np.array([0.5]))
    grid = column.true_grid(10)
    first, again = Transition.reuse(channel, grid).matrix, Transition.reuse(channel, column.true_grid(10)).matrix
    assert first is again
    with pytest.raises(ValueError, match="read-only"):
        first.dense()[0, 0] = 1.0


def test_a_distribution_answers_questions_about_itself():
    found = reconstruct(Column(UNIT, None, (np.arange(10_000) + 0.5) / 10_000), bins=10)
    assert found.mean() == pytest.approx(0.5)
    assert found.mean().se == 0  # these rows are known; others would have another mean
    assert found.mean().population_error == pytest.approx(found.sd() / 100)
    assert found.sd() == pytest.approx(1 / np.sqrt(12), rel=1e-4)
    np.testing.assert_allclose(found.quantile(np.array([0, 0.25, 1])), [0, 0.25, 1], atol=1e-9)
    np.testing.assert_allclose(found.cdf(np.array([-1, 0.3, 2])), [0, 0.3, 1], atol=1e-9)
    sample = found.sample(50_000, seed=1)
    np.testing.assert_array_equal(sample, found.sample(50_000, seed=1))
    assert abs(sample.mean() - 0.5) < 5 * 0.2887 / np.sqrt(50_000)
    with pytest.raises(UsageError, match="quantile"):
        found.quantile(1.5)


def test_samples_of_whole_numbers_are_whole_numbers_of_the_domain():
    values = np.round(np.random.default_rng(0).uniform(20, 80, 3000))
    found = reconstruct(released(AGE, Gaussian(privacy=0.5), values), bins=10)
    sample = found.sample(2000)
    assert (sample == np.round(sample)).all()
    assert sample.min() >= 20
    assert sample.max() <= 80


def test_atoms_have_steps_for_quantiles():
    found = reconstruct(Column(CAR, None, np.array([1.0, 1.0, 5.0, 20.0])), bins=20)
    assert found.quantile(0.5) == 1
    assert found.quantile(0.51) == 5
    assert found.cdf(4.9) == pytest.approx(0.5)


def test_categories_have_no_mean():
    found = reconstruct(Column(LABEL, None, np.array([0.0, 1.0])))
    with pytest.raises(UsageError, match="categories"):
        found.mean()
    assert set(found.sample(20)) <= {0.0, 1.0}


@pytest.mark.parametrize("law", LAWS)
def test_plain_data_is_plain_and_pickles_travel(law):
    found = reconstruct(released(UNIT, LAWS[law], np.random.default_rng(0).random(2000)))
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert sum(data["mass"]) == pytest.approx(1)
    assert len(data["edges"]) == len(data["mass"]) + 1
    assert {"lower", "upper", "n", "method", "iterations"} <= set(data)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).upper, found.upper)
