"""From released values to codes: counts are met, order is kept, ties fall by chance that is the same everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.channels import Gaussian, Intervals, SquareWave, Substitution, Uniform
from sfumato.counts import Grid
from sfumato.hashing import draw_uniform, row_marks
from sfumato.randomness import Rows, SecretKey
from sfumato.reconstruction.em import SHARE_OF_THRESHOLD, chi_square_stop, fit_groups, iterate
from sfumato.reconstruction.problem import Problem
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column
from sfumato.trees.strategies.association import (
    Association,
    deal_codes,
    in_groups,
    quantile_grid,
    whole_counts,
)

KEY = SecretKey(bytes(range(32)))
REAL = Attribute("x", Kind.REAL, Interval(0.0, 10.0))
WHOLE = Attribute("k", Kind.INTEGER, Interval(0, 9))
COLOUR = Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue", "grey")))


def associated(attribute, channel, values, stream=0, rows=None, intervals=20):
    law = None if channel is None else channel.on(attribute)
    released = values if law is None else law.perturb(KEY, Rows(0, len(values)), values)
    released[np.isnan(values)] = np.nan
    rows = np.arange(len(values)) if rows is None else rows
    return Association.of(Column(attribute, law, released), intervals, row_marks(rows), stream)


def test_whole_counts_add_up_and_stay_within_one_of_the_share():
    rng = np.random.default_rng(0)
    mass = rng.dirichlet(np.full(17, 0.3), size=50)
    n = rng.integers(0, 1000, 50)
    counts = whole_counts(mass, n)
    assert (counts >= 0).all()
    np.testing.assert_array_equal(counts.sum(axis=1), n)
    assert np.abs(counts - mass * n[:, None]).max() <= 1


def test_masses_are_those_of_the_loop_one_row_at_a_time():
    association = associated(REAL, Gaussian(privacy=0.5), np.random.default_rng(1).random(5000) * 10)
    counts = association.counts(np.random.default_rng(2).integers(-1, 3, 5000), 4)
    found = fit_groups(association.kernel, counts)
    for row in range(3):
        problem = Problem(association.transition, counts[row])
        fit = iterate(problem, chi_square_stop(problem.n, problem.size, SHARE_OF_THRESHOLD), method="bayes")
        np.testing.assert_allclose(found[row], fit.mass, atol=1e-10)
    np.testing.assert_allclose(found[3], 1 / association.grid.size)  # no record, no news


@pytest.mark.parametrize("channel", [Gaussian(privacy=0.6), Uniform(privacy=0.6), SquareWave(epsilon=2.0)])
def test_sorted_assignment_gives_the_lowest_values_to_the_first_interval(channel):
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 4000)
    association = associated(REAL, channel, np.where(group == 0, rng.random(4000) * 3, 5 + rng.random(4000) * 5))
    codes = association.codes(group, 2)
    targets = whole_counts(association.fit(association.counts(group, 2)), np.bincount(group))
    for g in (0, 1):
        # Naively: sort the group's records by released value and deal the codes out.
        np.testing.assert_array_equal(np.bincount(codes[group == g], minlength=20), targets[g])
        values = association.column.values[group == g]
        order = np.argsort(values, kind="stable")
        assert (np.diff(codes[group == g][order][np.append(True, np.diff(values[order]) > 0)]) >= 0).all()


def test_observed_cells_are_those_that_the_grid_locates():
    association = associated(REAL, Gaussian(privacy=0.3), np.random.default_rng(4).random(3000) * 10)
    np.testing.assert_array_equal(association.observed, association.column.locate(association.observed_grid))


def test_equal_values_are_told_apart_by_row_and_attribute_and_not_by_place():
    values = np.random.default_rng(10).integers(0, 10, 40_000).astype(float)
    association = associated(WHOLE, Uniform(alpha=6.0), values)
    together = np.zeros(40_000, np.int64)
    codes = association.codes(together, 1)
    other = Association.of(association.column, 20, association.marks, 1).codes(together, 1)
    mixed = 0
    for value in range(10):
        tie = np.flatnonzero(association.column.values == value)
        if np.ptp(codes[tie]) > 0:
            mixed += 1
            # Broken by place, the correlation would be near 1; by chance it is below five standard errors.
            for pair in ((codes[tie], tie), (codes[tie], other[tie])):
                assert abs(np.corrcoef(*pair)[0, 1]) < 5 / np.sqrt(len(tie))
    assert mixed > 4


def test_permuted_rows_with_their_row_numbers_get_the_same_codes():
    rng = np.random.default_rng(5)
    values, group, order = rng.integers(0, 10, 3000).astype(float), rng.integers(0, 3, 3000), rng.permutation(3000)
    association = associated(WHOLE, Gaussian(privacy=0.5), values)
    column = association.column.take(order)
    permuted = Association.of(column, 20, row_marks(order), 0)
    np.testing.assert_array_equal(association.codes(group, 3)[order], permuted.codes(group[order], 3))


def test_draws_are_uniform_and_streams_unrelated():
    marks = row_marks(np.arange(100_000))
    first, second = draw_uniform(marks, 0), draw_uniform(marks, 1)
    counts = np.bincount((first * 20).astype(int), minlength=20)
    assert ((counts - 5000) ** 2 / 5000).sum() < 60  # chi-square with 19 degrees of freedom: once in 250,000
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.015
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.015


@pytest.mark.parametrize("attribute", [COLOUR, WHOLE])
def test_substituted_values_meet_the_reconstruction_with_as_few_moves_as_possible(attribute):
    size = Grid.over(attribute, 20).size
    rng = np.random.default_rng(6)
    group = rng.integers(0, 3, 6000)
    truth = np.minimum(rng.poisson(group + 0.5), size - 1).astype(float)
    association = associated(attribute, Substitution(gamma=12), truth)
    codes = association.codes(group, 3)
    counts = association.counts(group, 3)
    targets = whole_counts(association.fit(counts), counts.sum(axis=1).astype(int))
    for g in range(3):
        np.testing.assert_array_equal(np.bincount(codes[group == g], minlength=size), targets[g])
        moved = np.count_nonzero(codes[group == g] != association.observed[group == g])
        assert moved == np.abs(targets[g] - counts[g]).sum() / 2  # no assignment that meets the counts moves fewer
    assert np.mean(codes == truth) > np.mean(association.observed == truth) - 0.02


def test_membership_in_intervals_stays_as_it_is():
    association = associated(REAL, Intervals(count=5), np.random.default_rng(7).random(500) * 10)
    np.testing.assert_array_equal(association.codes(np.zeros(500, np.int64), 1), association.observed)
    assert association.grid.size == 5


@pytest.mark.parametrize("channel", [None, Gaussian(privacy=0.5), Substitution(gamma=8)])
def test_missing_values_stay_missing_and_are_not_counted(channel):
    values = np.random.default_rng(8).integers(0, 10, 800).astype(float)
    values[::3] = np.nan
    association = associated(WHOLE, channel, values)
    codes = association.codes(np.zeros(800, np.int64), 1)
    np.testing.assert_array_equal(codes == -1, np.isnan(values))
    if channel is not None:
        assert association.counts(np.zeros(800, np.int64), 1).sum() == np.count_nonzero(~np.isnan(values))


def test_groups_come_one_after_another_in_order():
    order, group = np.array([4, 2, 0, 1, 3]), np.array([1, 0, 0, -1, 1])
    assert in_groups(order, group, 2).tolist() == [2, 1, 4, 0]
    assert deal_codes(np.array([[1, 0, 1], [0, 2, 0]])).tolist() == [0, 2, 1, 1]


def test_the_grid_of_true_values_cuts_between_values_that_occur():
    few = quantile_grid(np.array([3.0, 1.0, 1.0, 7.0]), 0, 10)
    assert few.points.tolist() == [-np.inf, 2.0, 5.0, np.inf]
    many = quantile_grid(np.random.default_rng(9).random(10_000), 0, 1, cells=50)
    counts = np.bincount(many.locate(np.random.default_rng(9).random(10_000)), minlength=many.size)
    assert many.size == 50
    assert counts.min() > 150
    heavy = quantile_grid(np.concatenate([np.zeros(9000), np.arange(1, 1001.0)]), 0, 1000, cells=10)
    assert 0.5 in heavy.points
    assert quantile_grid(np.array([]), 0, 1).size == 1
    assert quantile_grid(np.array([2.0, 2.0]), 2, 2).size == 1


def test_from_a_common_start_a_rare_class_differs_only_where_its_rows_do():
    """From a flat start the iteration leaves more of the tail to the class of few rows, and trees split there."""
    spikes = Attribute("gain", Kind.INTEGER, Interval(0, 100_000))
    rng = np.random.default_rng(4)
    truth = np.where(rng.random(40_000) < 0.95, 0.0, 2000.0)
    association = associated(spikes, Gaussian(privacy=1.0), truth)
    rare = (rng.random(40_000) < 0.01).astype(int)
    counts = association.counts(rare, 2)
    starts = (replace(association, common_start=common) for common in (False, True))
    apart = [np.abs(np.diff(start.fit(counts), axis=0)).sum() / 2 for start in starts]
    assert apart[1] < apart[0] / 2
