"""The strategy joint: attributes that interact are chosen, reconstructed together, and drawn by a tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.support import mined_tables as tables

from sfumato.channels import Gaussian, Substitution, Uniform, coarsen
from sfumato.errors import DataError, UsageError
from sfumato.table import Table
from sfumato.trees.grow import MDL
from sfumato.trees.grow.growth import Limits, grow
from sfumato.trees.strategies.base import STRATEGIES, Axis, class_shares, keep_classified_rows
from sfumato.trees.strategies.joint_map import (
    MAX_CELLS,
    JointMap,
    axis_sizes,
    cell_numbers,
    choose_attributes,
    draft_map,
    fit_joint,
    fit_map,
    leads,
    map_axes,
    recount,
)

truth, released, bands, checkers = tables.truth, tables.released, tables.bands, tables.checkers

NOISE = {"x": Gaussian(privacy=1.0), "y": Gaussian(privacy=1.0), "junk": Gaussian(privacy=1.0)}


@pytest.fixture(scope="module")
def banded():
    columns = truth(20_000, 1)
    return released(columns, bands(columns), NOISE)


@pytest.fixture(scope="module")
def test_rows():
    columns = truth(4000, 2)
    return released(columns, bands(columns), {}), bands(columns)


def test_joint_sees_an_interaction_that_byclass_sees_less_of(banded, test_rows):
    clear, classes = test_rows
    fitted = fit_joint(banded)
    assert {"x", "y"} <= set(fitted.notes["attributes"])
    assert fitted.tree.accuracy(clear, classes) > 0.86
    assert fitted.tree.accuracy(clear, classes) > STRATEGIES["byclass"].fit(banded).accuracy(clear, classes) + 0.01


def test_uniform_noise_is_no_harder(test_rows):
    clear, classes = test_rows
    columns = truth(20_000, 3)
    table = released(columns, bands(columns), {"x": Uniform(privacy=1.0), "y": Uniform(privacy=1.0)})
    assert fit_joint(table, attributes=("x", "y")).tree.accuracy(clear, classes) > 0.93


def test_the_choice_takes_what_matters_and_leaves_the_rest(banded):
    choice = choose_attributes(banded)
    assert set(choice.chosen) == {"x", "y"}
    assert "junk" not in choice.relevant
    assert "x (" in choice.sentence() or "y (" in choice.sentence()


def test_two_attributes_that_speak_only_together_are_found_as_a_pair():
    columns = truth(20_000, 4)
    table = released(columns, checkers(columns), NOISE)
    choice = choose_attributes(table)
    assert set(choice.chosen) == {"x", "y"}


def test_nothing_is_chosen_where_nothing_matters():
    columns = truth(6000, 5)
    coin = np.random.default_rng(6).integers(0, 2, 6000)
    table = released(columns, coin, NOISE)
    fitted = fit_joint(released({k: columns[k] for k in ("x", "y")}, coin, NOISE))
    assert fitted.tree.leaves >= 1
    assert not choose_attributes(table.take(np.arange(200))).chosen
    assert fit_joint(table, attributes=()).tree.leaves == 1


def test_the_same_seed_gives_the_same_tree(banded):
    part = banded.take(np.arange(6000))
    assert fit_joint(part, seed=3).tree == fit_joint(part, seed=3).tree


def test_the_order_of_rows_changes_nothing_once_attributes_are_given(banded):
    part = banded.take(np.arange(5000))
    mixed = part.take(np.random.default_rng(0).permutation(5000))
    assert fit_joint(part, attributes=("x", "y")).tree == fit_joint(mixed, attributes=("x", "y")).tree


def test_the_map_is_its_own_log_loss_by_three_nested_loops(banded):
    part = banded.take(np.arange(300))
    axes = [Axis.of(part["x"], 5, 7), Axis.of(part["level"], 5, 7)]
    found = fit_map(axes, part, iterations=5, smoothing=0.02)
    losses = found.class_log_loss(part)
    codes = [axis.codes(part) for axis in axes]
    for row in range(0, 300, 17):
        chance = np.zeros(2)
        for c in range(2):
            for p, q in itertools.product(range(axes[0].size), range(axes[1].size)):
                seen = axes[0].kernel.dense()[codes[0][row], p] * axes[1].kernel.dense()[codes[1][row], q]
                chance[c] += found.shares[c] * found.masses[c][p, q] * seen
        expected = -np.log(chance[part.codes[row]] / chance.sum())
        assert losses[row] == pytest.approx(expected, abs=1e-6)


def test_counting_halves_and_adding_is_counting_the_whole(banded):
    part = banded.take(np.arange(1000))
    axes = map_axes([part["x"], part["y"]])
    whole = np.bincount(cell_numbers(axes, part), minlength=10)
    halves = [cell_numbers(axes, part.take(np.arange(1000) % 2 == r)) for r in (0, 1)]
    assert np.array_equal(whole, sum(np.bincount(h, minlength=len(whole)) for h in halves))


def test_kernels_are_laws_and_a_missing_value_is_a_cell_of_its_own():
    columns = truth(500, 7)
    columns["x"][::5] = np.nan
    table = released(columns, bands(truth(500, 7)), NOISE)
    axis = Axis.of(table["x"], 10, 12)
    assert axis.gaps
    assert axis.size == 11
    np.testing.assert_allclose(axis.kernel.dense().sum(axis=0), 1.0, atol=1e-9)
    assert axis.kernel.dense()[-1, -1] == 1.0
    assert axis.kernel.dense()[-1, :-1].max() == 0.0
    codes = axis.codes(table)
    assert (codes[::5] == axis.bins.size).all()
    assert axis.cell_codes()[-1] == -1


def test_coarser_bins_are_cut_where_the_grid_is_cut():
    columns = truth(2000, 8)
    table = released(columns, bands(columns), NOISE)
    grid = table["x"].observed_grid(table["x"].true_grid(50))
    few = coarsen(grid, table["x"].values, 20)
    assert few.size <= 20
    assert set(few.edges) <= set(grid.edges)
    assert coarsen(grid, table["x"].values, grid.size) is grid


def test_leads_are_what_a_wrong_answer_costs():
    masses = np.array([[5.0, 1.0, 2.0], [3.0, 1.0, 7.0], [0.0, 4.0, 6.5]])
    np.testing.assert_allclose(leads(masses), [[2, 0, 0], [0, 0, 0.5], [0, 3, 0]])
    one = np.array([[1.0, 2.0]])
    assert leads(one) is one


def test_recounting_sends_every_entry_down_the_tree(banded):
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 6, 400), rng.integers(-1, 4, 400)]
    classes = ((codes[0] > 2) ^ (codes[1] > 1)).astype(np.int64)
    grids = [Axis.of(banded["x"], 6, 9).grid, Axis.of(banded["x"], 4, 9).grid]
    growth = grow(codes, grids, classes, 2, None, Limits(max_leaves=8))
    counts = rng.random((2, 400))
    again = recount(growth, codes, counts)
    for node in range(growth.size):
        inside = [entry for entry in range(400) if node in _way(growth, codes, entry)]
        np.testing.assert_allclose(again.counts[node], counts[:, inside].sum(axis=1), atol=1e-9)


def _way(growth, codes, entry):
    node, way = 0, [0]
    while growth.attribute[node] >= 0:
        a = growth.attribute[node]
        node = int(growth.first_child[node]) + int(growth.branch[node, codes[a][entry] + 1])
        way.append(node)
    return way


def test_leaves_state_the_masses_of_the_map(banded):
    axes = map_axes([banded["x"], banded["y"]])
    found = fit_map(axes, banded, iterations=50, smoothing=0.005)
    tree = draft_map(found, banded).cut(MDL())
    np.testing.assert_allclose(tree.nodes[0].counts, found.shares * banded.rows, rtol=1e-9)
    assert tree.leaves <= 100
    assert draft_map(found, banded, Limits(max_leaves=3)).cut(MDL()).leaves <= 3


def test_the_tree_is_never_better_than_its_map_on_the_map(banded):
    axes = map_axes([banded["x"], banded["y"]])
    found = fit_map(axes, banded, iterations=50, smoothing=0.005)
    tree = draft_map(found, banded).cut(MDL())
    leaves = [i for i, node in enumerate(tree.nodes) if node.test is None]
    kept = sum(max(tree.nodes[i].counts) for i in leaves) / banded.rows
    assert found.separation - 0.05 < kept <= found.separation + 1e-9


@pytest.mark.parametrize(
    ("natural", "fixed", "expected"),
    [
        ([100], [False], [100]),
        ([100, 100], [False, False], [52, 52]),
        ([100, 5, 100], [False, False, False], [52, 5, 52]),
        ([100, 100, 100], [False] * 3, [36, 36, 14]),
        ([41, 100], [True, False], [41, 100]),
    ],
)
def test_cells_are_dealt_out_in_the_order_of_choice(natural, fixed, expected):
    assert axis_sizes(natural, fixed) == expected


def test_many_categories_make_the_long_axes_coarser():
    sizes = axis_sizes([41, 16, 100, 100], [True, True, False, False])
    assert sizes[:2] == [41, 16]
    assert np.prod(sizes) <= MAX_CELLS or max(sizes[2:]) == 6


def test_categories_integers_missing_values_and_three_classes_go_together():
    columns = truth(12_000, 9)
    classes = np.where(columns["colour"] == 1, 2, (columns["level"] >= 2).astype(int))
    columns["level"] = np.where(np.random.default_rng(3).random(12_000) < 0.1, np.nan, columns["level"])
    noise = {"level": Uniform(privacy=0.5), "colour": Substitution(signal=0.6), "x": Gaussian(privacy=0.5)}
    table = released(columns, classes, noise, ("a", "b", "c"))
    fitted = fit_joint(table)
    fresh = truth(3000, 10)
    answers = np.where(fresh["colour"] == 1, 2, (fresh["level"] >= 2).astype(int))
    assert fitted.tree.accuracy(released(fresh, answers, {}, ("a", "b", "c")), answers) > 0.97


def test_a_value_missing_only_later_is_judged_by_class_shares(banded):
    part = banded.take(np.arange(3000))
    joint = fit_map(map_axes([part["x"], part["y"]]), part, iterations=5, smoothing=0.02)
    columns = truth(10, 11)
    columns["x"][:] = np.nan
    later = released(columns, np.zeros(10, np.int64), NOISE)
    np.testing.assert_allclose(joint.class_log_loss(later), -np.log(class_shares(part.codes, 2)[0]))


def test_a_single_class_makes_a_single_leaf():
    columns = truth(400, 12)
    table = released(columns, np.zeros(400, np.int64), NOISE)
    assert fit_joint(table).tree.leaves == 1


def test_a_constant_column_does_no_harm():
    columns = truth(4000, 13)
    columns["junk"][:] = 0.25
    assert "junk" not in choose_attributes(released(columns, bands(columns), NOISE)).chosen


def test_what_cannot_be_mined_is_refused_in_words(banded):
    with pytest.raises(UsageError, match="needs a class"):
        fit_joint(Table(banded.columns))
    with pytest.raises(UsageError, match="at least one attribute"):
        fit_joint(Table((), banded.target))
    with pytest.raises(DataError, match="no record has a class"):
        fit_joint(banded.with_values({}, np.full(banded.rows, -1)))


def test_rows_without_a_class_are_left_out(banded):
    part = banded.take(np.arange(100))
    some = part.with_values({}, np.where(np.arange(100) < 30, -1, part.codes))
    table = keep_classified_rows(some)
    assert table.rows == len(table.codes) == 70


def test_a_map_without_axes_knows_the_shares_alone(banded):
    found = fit_map([], banded, iterations=3, smoothing=0.0)
    assert isinstance(found, JointMap)
    assert found.separation == pytest.approx(found.shares.max())
