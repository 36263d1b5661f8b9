"""The posterior given another column: what a clear class tells of a noisy value, and nothing where there is nothing to tell."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks import ColumnPosterior, ConditionalPosterior, View
from sfumato.attacks._belief import smallest_sets
from sfumato.attacks.conditional_posterior import (
    Conditional,
    choose_source,
    em_shapes,
    group_rows,
    grouped_counts,
    measure_dependence,
)
from sfumato.auditing.rates import central_width
from sfumato.channels import CHANNELS, Gaussian, Intervals, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.channels.correlated import CorrelatedGaussian
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
LAWS = {
    "gaussian": Gaussian(privacy=0.5),
    "uniform": Uniform(privacy=0.5),
    "laplace": Laplace(privacy=0.5),
    "intervals": Intervals(count=3),
    "substitution": Substitution(gamma=19.0),
    "square-wave": SquareWave(epsilon=2.0),
}
SALARY = Attribute("salary", Kind.REAL, Interval(0, 100))


def labels(name, count):
    return Attribute(name, Kind.CATEGORICAL, Categories(tuple(f"{name}{i}" for i in range(count))))


def released(attribute, law, values, draw=0):
    channel = law.on(attribute)
    return Column(attribute, channel, channel.perturb(KEY.derive(attribute.name, draw), Rows(0, len(values)), values))


def clear(attribute, values):
    return Column(attribute, None, values.astype(np.float64))


def graded(law, n=5000, seed=11, grades=10):
    """Salaries, even on 0 … 100, and beside each its decile under a shuffled name."""
    rng = np.random.default_rng(seed)
    salary = rng.uniform(0, 100, n)
    names = rng.permutation(grades)
    grade = names[np.minimum((salary * grades / 100).astype(int), grades - 1)]
    return View((released(SALARY, law, salary), clear(labels("grade", grades), grade)), "grade"), salary


def rmse(claim, truth):
    (recovery,) = [r for r in claim.recoveries if r.attribute == "salary"]
    return float(np.sqrt(np.mean((recovery.mean - truth) ** 2)))


def test_a_clear_grade_leaves_of_a_salary_little_more_than_the_grade_itself_is_wide():
    view, salary = graded(LAWS["gaussian"])
    claim = ConditionalPosterior().run(view)
    assert claim.notes["given"] == {"salary": "grade"}
    grade, y = view["grade"].values.astype(int), view["salary"].values
    means = (np.bincount(grade, y) / np.bincount(grade))[grade]
    by_means = central_width(salary - means)
    left = central_width(salary - claim.recoveries[0].mean)
    assert left < 1.25 * by_means < 12.5
    alone = ColumnPosterior().run(view).recoveries[0]
    assert np.mean(alone.width) > 35


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"intervals"}))
def test_under_every_law_of_numbers_the_grade_tells_most_of_what_the_noise_hid(law):
    assert set(LAWS) == {name for name in CHANNELS if CHANNELS[name].numeric}
    view, salary = graded(LAWS[law])
    assert rmse(ConditionalPosterior().run(view), salary) < 0.6 * rmse(ColumnPosterior().run(view), salary)


def test_inside_the_classes_of_a_law_without_chance_a_grade_tells_nothing():
    view, salary = graded(LAWS["intervals"])
    claim = ConditionalPosterior().run(view)
    assert rmse(claim, salary) == pytest.approx(rmse(ColumnPosterior().run(view), salary), rel=0.01)


@pytest.mark.parametrize("law", [Substitution(gamma=5.0), Projective(gamma=5.0)])
def test_a_clear_label_that_goes_with_a_noisy_one_gives_it_away(law):
    rng = np.random.default_rng(2)
    town = rng.integers(0, 12, 6000)
    region = np.where(rng.random(6000) < 0.9, town // 3, rng.integers(0, 4, 6000))
    view = View((released(labels("town", 12), law, town.astype(float)), clear(labels("region", 4), region)))
    (given,) = ConditionalPosterior().run(view).recoveries
    alone = ColumnPosterior().run(view).recoveries[0]
    assert np.mean(given.width) < 0.75 * np.mean(alone.width)
    assert 0.93 <= np.mean(given.sets.covers(town.astype(float))) <= 0.97


def test_a_noisy_label_serves_too_but_less():
    rng = np.random.default_rng(4)
    salary = rng.uniform(0, 100, 5000)
    grade = np.minimum(salary // 10, 9)
    noisy = released(SALARY, LAWS["gaussian"], salary)

    def with_grade(column):
        return rmse(ConditionalPosterior().run(View((noisy, column))), salary)

    in_the_clear = with_grade(clear(labels("grade", 10), grade))
    blurred = with_grade(released(labels("grade", 10), Substitution(gamma=9.0), grade))
    alone = rmse(ColumnPosterior().run(View((noisy,))), salary)
    assert in_the_clear < 0.7 * blurred
    assert blurred < 0.95 * alone


def test_a_number_tells_of_another_even_where_no_line_does():
    rng = np.random.default_rng(6)
    salary = rng.uniform(0, 100, 5000)
    other = clear(Attribute("bent", Kind.REAL, Interval(0, 100)), np.abs(salary - 50) * 2)
    view = View((released(SALARY, Gaussian(privacy=0.3), salary), other))
    assert rmse(ConditionalPosterior().run(view), salary) < 0.6 * rmse(ColumnPosterior().run(view), salary)


@pytest.mark.parametrize("seed", range(8))
def test_columns_that_know_nothing_of_each_other_tell_nothing(seed):
    rng = np.random.default_rng(seed)
    n = 1500
    columns = (
        released(SALARY, LAWS["gaussian"], rng.gamma(2, 15, n).clip(0, 100), seed),
        released(labels("town", 9), Substitution(gamma=5.0), rng.integers(0, 9, n).astype(float), seed),
        clear(labels("grade", 40), rng.integers(0, 40, n)),
        clear(Attribute("age", Kind.INTEGER, Interval(0, 99)), rng.integers(0, 100, n)),
    )
    claim = ConditionalPosterior().run(View(columns, "grade"))
    assert not claim.recoveries
    assert "no column tells enough" in claim.skipped


@pytest.mark.parametrize("n", [800, 2000])
def test_sets_from_few_rows_a_label_still_hold_the_truth(n):
    """Twenty labels of 40 or 100 rows each: the sets may be too wide, but not too narrow."""
    covered = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 20, n)
        salary = rng.normal(10 + 4 * label, 6).clip(0, 100)
        view = View((released(SALARY, Gaussian(sigma=10.0), salary, seed), clear(labels("grade", 20), label)))
        (given,) = ConditionalPosterior().run(view).recoveries
        covered.append(np.mean(given.sets.covers(salary)))
    assert 0.9 <= np.mean(covered) <= 0.985  # over 36 seeds .93, and means of six have a standard deviation of .008


def test_rows_without_a_label_keep_the_distribution_of_all_rows():
    view, _ = graded(LAWS["gaussian"])
    bare = np.arange(len(view["grade"].values)) % 7 == 0
    grade = np.where(bare, np.nan, view["grade"].values)
    view = View((view["salary"], clear(view["grade"].attribute, grade)))
    (given,) = ConditionalPosterior().run(view).recoveries
    (alone, _) = ColumnPosterior().run(view).recoveries
    np.testing.assert_allclose(given.mean[bare], alone.mean[bare])
    assert np.mean(given.width[~bare]) < 0.5 * np.mean(alone.width[~bare])


def test_noise_that_was_drawn_together_is_not_taken_for_independent():
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal([50, 50], [[100, 90], [90, 100]], 3000).clip(0, 100)
    attributes = tuple(Attribute(n, Kind.REAL, Interval(0, 100)) for n in "ab")
    law = CorrelatedGaussian(("a", "b"), ((100.0, 90.0), (90.0, 100.0)), ratio=1.0)
    y = x + rng.multivariate_normal([0, 0], [[100, 90], [90, 100]], 3000)
    columns = tuple(Column(a, law.marginal(a), y[:, i]) for i, a in enumerate(attributes))
    assert ConditionalPosterior().run(View(columns)).skipped


def test_the_column_that_tells_most_is_taken():
    view, _ = graded(LAWS["gaussian"])
    own = group_rows(view["salary"])
    grade = group_rows(view["grade"])
    rng = np.random.default_rng(0)
    worse = np.where(rng.random(len(grade)) < 0.5, grade, rng.permutation(grade))
    assert choose_source(own, {"worse": worse, "grade": grade, "none": rng.permutation(grade)}) == "grade"
    assert choose_source(own, {"none": rng.permutation(grade)}) is None


def test_shared_information_is_that_of_the_table_of_counts_less_what_chance_adds():
    first, second = np.array([0, 0, 1, 1] * 50), np.array([0, 0, 1, 1] * 50)
    bits, distance = measure_dependence(first, second)
    assert bits == pytest.approx(np.log(2) - 1 / 400)
    assert distance == pytest.approx((2 * 200 * np.log(2) - 1) / np.sqrt(2))
    assert measure_dependence(first, np.zeros(200, int)) == (0.0, 0.0)
    assert measure_dependence(first, np.full(200, -1)) == (0.0, 0.0)


def test_groups_are_frequent_labels_or_classes_of_as_many_numbers():
    few = group_rows(clear(labels("l", 4), np.repeat([0, 1, 2, 3], [50, 3, 30, 20])))
    assert np.array_equal(np.unique(few, return_counts=True), [[-1, 0, 1, 2], [3, 50, 30, 20]])
    numbers = group_rows(clear(SALARY, np.append(np.linspace(0, 100, 200), np.nan)))
    assert numbers[-1] == -1
    assert np.array_equal(np.bincount(numbers[:-1]), np.full(10, 20))


def test_the_posterior_of_a_row_is_bayes_rule_with_the_prior_of_its_group():
    view, salary = graded(Gaussian(sigma=15.0), n=60)
    belief = view.beliefs["salary"]
    rng = np.random.default_rng(1)
    priors = rng.dirichlet(np.ones(belief.grid.size), 3)
    groups = rng.integers(-1, 3, 60)
    sets = Conditional(belief, priors, groups)
    recovery = sets.recovery()
    covered = sets.covers(salary)
    seen = {int(r): p for rows, table in sets.posteriors() for r, p in zip(rows, table, strict=True)}
    for i in range(60):
        if groups[i] < 0:
            assert np.isnan([recovery.mean[i], recovery.width[i], covered[i]]).all()
            assert i not in seen
            continue
        posterior = belief.kernel.dense()[belief.codes[i]] * priors[groups[i]]
        posterior /= posterior.sum()
        np.testing.assert_allclose(seen[i], posterior)
        credit = smallest_sets(posterior[None], belief.widths)[0]
        assert recovery.mean[i] == pytest.approx(posterior @ belief.grid.centres)
        assert recovery.width[i] == pytest.approx(credit @ belief.widths)
        assert covered[i] == pytest.approx(credit[belief.grid.locate(salary[i : i + 1])[0]])


def test_an_empty_group_has_the_distribution_of_all_rows():
    view, _ = graded(Gaussian(sigma=15.0), n=400)
    belief = view.beliefs["salary"]
    counts = grouped_counts(np.zeros(400, np.int64), belief.codes, (2, belief.observed.size))
    for mass in em_shapes(belief, counts):
        np.testing.assert_allclose(mass[1], belief.prior, atol=1e-12)
        assert mass[0].sum() == pytest.approx(1.0)
