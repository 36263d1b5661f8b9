"""The weight of a function averages to the function, whatever the true value is, under every law."""

import pickle

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import CHANNELS, CorrelatedGaussian
from sfumato.questions import (
    ColumnWeights,
    NoWeightError,
    NumberSet,
    OfLabels,
    OfNumbers,
    Piece,
    Reading,
    joint_powers,
    noise_covariance,
    unit_of,
)
from sfumato.schema import Missing
from sfumato.table import Column

AGE = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(17, 90))
SPARE = sf.Attribute("spare", sf.Kind.REAL, sf.Interval(-1.0, 3.0))
FLAG = sf.Attribute("flag", sf.Kind.INTEGER, sf.Interval(0, 1))
SINCE = sf.Attribute("since", sf.Kind.DATE, sf.Interval(10_000, 14_000))
PAY = sf.Attribute("pay", sf.Kind.REAL, sf.Interval(0, 10_000), scale=sf.Log(unit=500.0))
ROOT = sf.Attribute("root", sf.Kind.REAL, sf.Interval(0, 100), scale=sf.Sqrt())
COLOUR = sf.Attribute("colour", sf.Kind.CATEGORICAL, sf.Categories(tuple("abcde")))
BLANK = sf.Attribute("blank", sf.Kind.CATEGORICAL, sf.Categories(tuple("abc")), missing=Missing.CATEGORY)
SMOOTH = [
    sf.Gaussian(privacy=0.5),
    sf.Gaussian(privacy=2.0),
    sf.Uniform(privacy=1.0),
    sf.Laplace(privacy=0.25),
    sf.SquareWave(epsilon=2.0),
]
OF_LABELS = [
    sf.Substitution(gamma=9.0),
    sf.Projective(gamma=6.0),
    sf.Substitution(
        matrix=(
            (0.7, 0.1, 0.1, 0.0, 0.1),
            (0.1, 0.6, 0.1, 0.1, 0.1),
            (0.1, 0.1, 0.7, 0.1, 0.1),
            (0.1, 0.1, 0.1, 0.8, 0.1),
            (0.0, 0.1, 0.0, 0.0, 0.6),
        )
    ),
]
OF_BINS = [sf.Substitution(gamma=9.0, bins=8), sf.Intervals(count=6)]


def draw(channel, value, n=60_000, seed=1):
    words = np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)
    return channel.sample(np.full(n, float(value)), words)


def assert_mean(weight, released, expected, slack=0.0):
    w = weight(released)
    assert abs(w.mean() - expected) <= 5 * w.std() / np.sqrt(len(w)) + slack + 1e-9


def column(attribute, law):
    return Column(attribute, None if law is None else law.on(attribute), np.empty(0))


def on_grid(channel, values):
    return np.round(np.asarray(values) / channel.step) * channel.step


def test_every_law_of_one_column_is_tried_here():
    assert {law.law for law in (*SMOOTH, *OF_LABELS, *OF_BINS)} == set(CHANNELS)


@pytest.mark.parametrize("law", SMOOTH, ids=str)
@pytest.mark.parametrize("attribute", [AGE, SPARE, FLAG, SINCE], ids=lambda a: a.name)
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_powers_of_a_number_are_read_without_bias(law, attribute, power):
    bound = column(attribute, law)
    weight = ColumnWeights.of(bound).power(power)
    assert weight.reading is Reading.UNBIASED
    low, high = attribute.interval.low, attribute.interval.high
    for value in on_grid(bound.channel, np.linspace(low, high, 3 if attribute is not FLAG else 2)):
        assert_mean(weight, draw(bound.channel, value), OfNumbers(power).at(np.array([value]), attribute)[0], 5e-4)


@pytest.mark.parametrize("law", SMOOTH[:4], ids=str)
@pytest.mark.parametrize("attribute", [PAY, ROOT], ids=lambda a: a.name)
@pytest.mark.parametrize("power", [1, 2])
def test_powers_of_a_number_on_a_scale_are_those_in_its_own_unit(law, attribute, power):
    if law == sf.Gaussian(privacy=2.0):
        pytest.skip("twice the scale leaves no weight that sixty thousand draws could check")
    bound = column(attribute, law)
    weight = ColumnWeights.of(bound).power(power)
    for place in on_grid(bound.channel, [0.0, 0.4, 1.0]):
        value = attribute.to_values(np.array([place]))
        assert_mean(weight, draw(bound.channel, place), OfNumbers(power).at(value, attribute)[0], 1e-4)


@pytest.mark.parametrize("law", OF_LABELS, ids=lambda law: law.law)
def test_labels_are_read_without_bias_through_any_kernel(law):
    bound = column(COLOUR, law)
    weight = ColumnWeights.of(bound).weigh(OfLabels((0.0, 1.0, 0.0, -2.0, 0.5, 7.0)))
    assert weight.reading is Reading.UNBIASED
    for code, expected in enumerate((0.0, 1.0, 0.0, -2.0, 0.5)):
        released = draw(bound.channel, code)
        assert_mean(weight, released, expected)
        assert_mean(weight.square, released, expected**2)
    assert weight(np.array([np.nan])).tolist() == [7.0]


def test_two_levels_are_inverted_in_closed_form_as_a_dense_kernel_is():
    for law in (sf.Substitution(gamma=9.0), sf.Projective(gamma=6.0)):
        bound = column(COLOUR, law)
        weights = ColumnWeights.of(bound)
        table = weights.weigh(OfLabels((0.0, 1.0, 0.0, 0.0, 0.0, 0.0))).table[:-1]
        np.testing.assert_allclose(table @ weights.transition.matrix.dense(), np.eye(5)[1], atol=1e-12)


def test_a_projective_law_of_many_labels_is_inverted_without_its_matrix():
    many = sf.Attribute("many", sf.Kind.CATEGORICAL, sf.Categories(tuple(map(str, range(3000)))))
    bound = column(many, sf.Projective(gamma=19.0))
    chosen = np.zeros(3001)
    chosen[17] = 1.0
    weight = ColumnWeights.of(bound).weigh(OfLabels(tuple(chosen)))
    assert_mean(weight, draw(bound.channel, 17), 1.0)
    assert_mean(weight, draw(bound.channel, 18), 0.0)


def test_a_matrix_that_mixes_two_labels_up_has_no_weight_that_tells_them_apart():
    same = ((0.5, 0.5, 0.1), (0.3, 0.3, 0.1), (0.2, 0.2, 0.8))
    abc = sf.Attribute("abc", sf.Kind.CATEGORICAL, sf.Categories(("a", "b", "c")))
    weights = ColumnWeights.of(column(abc, sf.Substitution(matrix=same)))
    with pytest.raises(NoWeightError, match="abc: substitution noise leaves no unbiased weight"):
        weights.weigh(OfLabels((1.0, 0.0, 0.0, 0.0)))
    either = weights.weigh(OfLabels((1.0, 1.0, 0.0, 0.0)))
    np.testing.assert_allclose(either.table[:-1] @ np.array(same), [1.0, 1.0, 0.0], atol=1e-12)


def test_missing_labels_that_take_part_are_read_through_the_law():
    bound = column(BLANK, sf.Substitution(gamma=5.0))
    weight = ColumnWeights.of(bound).weigh(OfLabels((0.0, 0.0, 0.0, 1.0)))
    assert_mean(weight, draw(bound.channel, 3), 1.0)
    assert_mean(weight, draw(bound.channel, 0), 0.0)
    assert ColumnWeights.of(bound).present().reading is Reading.UNBIASED


def test_missing_values_that_stay_missing_are_exact_whatever_the_law():
    for attribute, law in (
        (AGE, sf.Gaussian(privacy=1.0)),
        (COLOUR, sf.Projective(gamma=6.0)),
        (AGE, OF_BINS[0]),
        (PAY, SMOOTH[0]),
    ):
        present = ColumnWeights.of(column(attribute, law)).present()
        assert present.reading is Reading.EXACT
        assert present(np.array([1.0, np.nan])).tolist() == [1.0, 0.0]


def test_columns_released_as_true_are_read_as_they_are():
    ages = np.array([17.0, 53.5, 90.0, np.nan])
    weights = ColumnWeights.of(column(AGE, None))
    half = OfNumbers(1, NumberSet((Piece(low=50.0),)))
    assert weights.weigh(half).reading is Reading.EXACT
    np.testing.assert_allclose(weights.weigh(half)(ages), [0.0, 0.5, 1.0, 0.0])
    np.testing.assert_allclose(weights.weigh(half).square(ages), [0.0, 0.25, 1.0, 0.0])
    labels = ColumnWeights.of(column(COLOUR, None)).label_matrix(np.array([1.0, np.nan]))
    assert labels.tolist() == [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]


@pytest.mark.parametrize("law", OF_BINS, ids=lambda law: law.law)
@pytest.mark.parametrize("attribute", [AGE, SPARE], ids=lambda a: a.name)
def test_bins_bound_what_lies_inside_them(law, attribute):
    bound = column(attribute, law)
    low, high = attribute.interval.low, attribute.interval.high
    middle = float(np.round((low + high) / 2)) + 0.25
    for function in (OfNumbers(1), OfNumbers(2), OfNumbers(0, NumberSet((Piece(high=middle),)))):
        weight = ColumnWeights.of(bound).weigh(function)
        assert weight.reading is Reading.BOUNDED
        for value in np.round(np.linspace(low, high, 12)):
            released, truth = draw(bound.channel, value, 20_000), function.at(np.array([value]), attribute)[0]
            ends = [w(released) for w in (weight.below, weight.above)]
            slack = 5 * ends[0].std() / np.sqrt(20_000) + 1e-9
            assert ends[0].mean() - slack <= truth <= ends[1].mean() + slack


def test_a_cut_between_two_bins_is_read_without_bias():
    bound = column(SPARE, sf.Substitution(gamma=9.0, bins=8))
    upper = OfNumbers(0, NumberSet((Piece(low=1.0),)))
    weight = ColumnWeights.of(bound).weigh(upper)
    for value, expected in ((0.9, 0.0), (1.1, 1.0)):
        assert_mean(weight, draw(bound.channel, value), expected)
    assert weight.reading is Reading.UNBIASED


def test_smooth_noise_leaves_no_weight_of_a_range_and_says_which_column():
    with pytest.raises(NoWeightError, match="age: gaussian noise leaves no unbiased weight of a range"):
        ColumnWeights.of(column(AGE, SMOOTH[0])).weigh(OfNumbers(0, NumberSet((Piece(low=40.0),))))


def test_the_square_of_a_weight_less_the_weight_of_the_square_is_the_noise():
    bound = column(AGE, sf.Gaussian(privacy=0.5))
    released = draw(bound.channel, 40.0)
    first = ColumnWeights.of(bound).power(1)
    width = unit_of(AGE)[1]
    noise = first(released) ** 2 - first.square(released)
    np.testing.assert_allclose(noise * width**2, bound.channel.sigma**2 + np.zeros(len(noise)), rtol=2e-3)


def test_indicators_are_their_own_squares():
    weight = ColumnWeights.of(column(COLOUR, OF_LABELS[0])).weigh(OfLabels((0.0, 1.0, 0.0, 0.0, 0.0, 0.0)))
    released = np.arange(5.0)
    assert weight.square(released).tolist() == weight(released).tolist()


def test_weights_travel_to_a_worker():
    cases = [(AGE, SMOOTH[0]), (PAY, SMOOTH[0]), (AGE, OF_BINS[0]), (AGE, None)]
    for attribute, law in cases:
        weight = ColumnWeights.of(column(attribute, law)).power(1)
        values = np.array([0.3, np.nan])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(weight))(values), weight(values))


def test_products_under_noise_drawn_together_are_read_without_bias():
    law = CorrelatedGaussian(("a", "b"), ((1.0, 0.6), (0.6, 2.0)), steps=(0.01, 0.01))
    names = [sf.Attribute(n, sf.Kind.REAL, sf.Interval(0, 4)) for n in "ab"]
    columns = [Column(a, law.marginal(a), np.empty(0)) for a in names]
    covariance = noise_covariance(columns)
    np.testing.assert_allclose(covariance, np.array([[1.0, 0.6], [0.6, 2.0]]) / 16)
    noise = np.random.default_rng(3).multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 2.0]], 400_000)
    released = (np.array([1.0, 3.0]) + noise).T / 4
    for powers in ((1, 1), (2, 1), (2, 2)):
        w = joint_powers(released, covariance, powers)
        assert abs(w.mean() - 0.25 ** powers[0] * 0.75 ** powers[1]) <= 5 * w.std() / np.sqrt(400_000)
