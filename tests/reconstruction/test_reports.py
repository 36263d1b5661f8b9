"""Reconstruction from projective reports: the same call, with bands, weights, classes and missing values."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.channels import Projective, Substitution, TwoLevels
from sfumato.errors import UsageError
from sfumato.randomness import SecretKey
from sfumato.reconstruction import (
    Problem,
    fit_em,
    pose_problem,
    reconstruct,
    reconstruct_by_class,
    reconstruct_dataset,
    reconstruct_joint,
)
from sfumato.reconstruction.closed_form import unbiased_shares
from sfumato.reconstruction.dataset import meet_counts, round_to_total
from sfumato.schema import Attribute, Categories, Kind, Missing
from sfumato.table import Column, Table
from sfumato.trees.strategies.base import STRATEGIES

KEY = SecretKey(bytes(range(32)))


def attribute(size, **more):
    return Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"{i:04}" for i in range(size))), **more)


def released(size, n, epsilon=2.0, seed=0, key=KEY):
    truth = 1 / np.arange(1, size + 1)
    truth /= truth.sum()
    values = np.random.default_rng(seed).choice(size, n, p=truth).astype(float)
    column = Column(attribute(size), None, values)
    return truth, values, column.through(Projective(epsilon=epsilon).on(column.attribute), key)


def test_the_same_call_gives_a_distribution_over_the_labels():
    truth, _, column = released(300, 200_000)
    found = reconstruct(column)
    assert found.method == "projection"
    assert found.mass.sum() == pytest.approx(1)
    assert found.mass.min() >= 0
    assert found.grid.labels == column.attribute.categories
    assert np.abs(found.mass - truth).sum() < 0.45
    assert found.to_dict()["categories"][:2] == ["0000", "0001"]
    through_labels = Column(column.attribute, None, released(300, 200_000)[1]).through(
        Substitution(epsilon=2.0).on(column.attribute), KEY
    )
    assert np.sum((found.mass - truth) ** 2) < 0.5 * np.sum((reconstruct(through_labels).mass - truth) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [60, 400])
def test_bands_hold_the_truth_in_93_to_97_percent_of_500_runs(size):
    held = []
    for run in range(500):
        truth, _, column = released(size, 2_000, seed=run, key=KEY.derive(run))
        found = reconstruct(column)
        held.append(np.mean((found.lower <= truth) & (truth <= found.upper)))
    assert 0.93 <= np.mean(held) <= 0.97


def test_the_unbiased_estimate_has_the_stated_standard_error():
    size, n, runs = 30, 3_000, 400
    estimates, errors = [], []
    for run in range(runs):
        truth, _, column = released(size, n, seed=run, key=KEY.derive(run))
        problem = pose_problem(column, column.true_grid(1))
        assert problem.design is not None
        estimates.append(unbiased_shares(problem.design, problem.share))
        errors.append(reconstruct(column).standard_error)
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=6 * np.mean(errors) / np.sqrt(runs))
    assert np.std(estimates, axis=0).mean() == pytest.approx(np.mean(errors), rel=0.05)


@pytest.mark.slow
def test_em_by_transforms_climbs_to_where_the_matrix_leads():
    _, _, column = released(280, 30_000, epsilon=3.0)
    problem = pose_problem(column, column.true_grid(1))
    assert isinstance(problem.kernel, TwoLevels)
    law = column.channel
    dense = Problem.of(law.transition(law.bin_grid, law.observed_grid(law.bin_grid)), problem.counts)
    fast, slow = fit_em(problem), fit_em(dense)
    assert fast.trail[-1] == pytest.approx(slow.trail[-1], abs=0.05)
    assert np.abs(fast.mass - slow.mass).sum() < 0.02
    assert np.all(np.diff(fast.trail) > -1e-6)


@pytest.mark.parametrize("method", ["auto", "bayes", "em", "ems", "inverse", "projection"])
def test_every_method_gives_masses(method):
    truth, _, column = released(40, 50_000, epsilon=3.0)
    found = reconstruct(column, method=method)
    assert found.mass.sum() == pytest.approx(1)
    assert np.abs(found.mass - truth).sum() < 0.4


def test_exact_is_refused_with_a_next_step():
    with pytest.raises(UsageError, match=r"zip: exact .* use em"):
        reconstruct(released(40, 1000)[2], method="exact")


def test_weights_count_rows_that_stand_for_several():
    _, _, column = released(50, 5_000)
    weights = np.random.default_rng(1).integers(0, 4, 5_000).astype(float)
    repeated = column.take(np.repeat(np.arange(5_000), weights.astype(int)))
    weighted = reconstruct(column, weights=weights)
    assert weighted.n == weights.sum()
    assert weighted.mass == pytest.approx(reconstruct(repeated).mass)


def test_missing_values_stay_missing_or_take_part():
    _, values, _ = released(30, 20_000)
    values[::10] = np.nan
    column = Column(attribute(30), None, values)
    kept = reconstruct(column.through(Projective(epsilon=3.0).on(column.attribute), KEY))
    assert kept.missing == 2000
    taking = attribute(30, missing=Missing.CATEGORY)
    values = np.where(np.isnan(values), 30.0, values)
    law = Projective(epsilon=3.0).on(taking)
    assert law.size == 31
    part = reconstruct(Column(taking, None, values).through(law, KEY))
    assert part.grid.size == 31
    assert part.mass[-1] == pytest.approx(0.1, abs=0.02)


def two_classes(n=40_000, size=60):
    rng = np.random.default_rng(5)
    classes = rng.integers(0, 2, n)
    values = np.where(classes == 0, rng.integers(0, size // 2, n), rng.integers(size // 2, size, n)).astype(float)
    column = Column(attribute(size), None, values)
    true = Table((column,), Column.of_codes("class", ("a", "b"), classes))
    blurred = column.through(Projective(epsilon=2.0).on(column.attribute), KEY)
    return true, Table((blurred,), true.target)


def test_classes_are_told_apart():
    _, table = two_classes()
    found = reconstruct_by_class(table, "zip")
    assert found["a"].mass[:30].sum() > 0.9
    assert found["b"].mass[30:].sum() > 0.9


@pytest.mark.parametrize("strategy", ["global", "byclass", "local", "randomized"])
def test_trees_of_reports_are_mined_by_every_strategy(strategy):
    true, table = two_classes()
    accuracy = STRATEGIES[strategy].fit(table).accuracy(true, true.codes)
    assert accuracy > (0.9 if strategy in {"byclass", "local"} else 0.45)


def test_a_data_set_of_exact_counts_comes_from_reports():
    true, table = two_classes()
    made = reconstruct_dataset(table, by_class=True)
    counts = np.bincount(made["zip"].values[table.codes == 0].astype(int), minlength=60)
    mass = reconstruct_by_class(table, "zip")["a"].mass
    assert np.array_equal(counts, round_to_total(mass, int((table.codes == 0).sum())))
    agree = np.mean(made["zip"].values == true["zip"].values)
    assert agree > 2 / 30  # a label drawn from the class alone agrees in one row of thirty


def test_counts_are_met_with_as_few_moves_as_possible():
    cells = np.array([0, 0, 0, 1, 2, 2])
    found = meet_counts(cells, np.array([1, 3, 2]), np.linspace(0, 1, 6))
    assert np.bincount(found).tolist() == [1, 3, 2]
    assert np.sum(found != cells) == 2


def test_the_joint_table_keeps_the_dependence_of_two_reported_attributes():
    rng = np.random.default_rng(6)
    n, size = 100_000, 12
    first = rng.integers(0, size, n).astype(float)
    second = np.where(rng.random(n) < 0.8, first, rng.integers(0, size, n))
    columns = []
    for name, values in (("u", first), ("v", second)):
        about = Attribute(name, Kind.CATEGORICAL, Categories(tuple(map(str, range(size)))))
        columns.append(Column(about, None, values).through(Projective(epsilon=2.0).on(about), KEY.derive(name)))
    found = reconstruct_joint(Table(tuple(columns)), ["u", "v"])
    assert np.trace(found.mass) == pytest.approx(0.8 + 0.2 / size, abs=0.05)
