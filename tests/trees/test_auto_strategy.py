"""The strategy auto: trees are judged through the noise on records held out, and the best is taken."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.support import mined_tables as tables

from sfumato.channels import Gaussian, Substitution, Uniform
from sfumato.errors import UsageError
from sfumato.table import Original, Table
from sfumato.trees.strategies.auto import SIMPLEST_FIRST, fit_auto, pick_strategy, sentence
from sfumato.trees.strategies.base import STRATEGIES, Axis
from sfumato.trees.strategies.held_out import (
    Background,
    Verdict,
    admissible,
    branch_shares,
    class_blind,
    leaf_shares,
    score_tree,
    split,
)
from sfumato.trees.strategies.joint_map import fit_joint
from sfumato.trees.strategies.mixture import Products
from sfumato.trees.tree import Node, Test, Tree

truth, released, bands = tables.truth, tables.released, tables.bands

NOISE = {"x": Gaussian(privacy=1.0), "y": Gaussian(privacy=1.0), "junk": Gaussian(privacy=1.0)}


@pytest.fixture(scope="module")
def banded():
    columns = truth(20_000, 1)
    return released(columns, bands(columns), NOISE)


def tree_of(table, x_cut, low, high):
    """Bands by hand: y against two cuts on either side of x."""
    leaf = Node((1.0, 0.0)), Node((0.0, 1.0))
    nodes = [
        Node((1.0, 1.0), Test("x", x_cut), (1, 2)),
        Node((1.0, 1.0), Test("y", low), (3, 4)),
        Node((1.0, 1.0), Test("y", high), (7, 8)),
        leaf[0],
        Node((1.0, 1.0), Test("y", low + 0.4), (5, 6)),
        leaf[1],
        leaf[0],
        leaf[0],
        Node((1.0, 1.0), Test("y", high + 0.4), (9, 10)),
        leaf[1],
        leaf[0],
    ]
    return Tree(tuple(c.attribute for c in table.columns), table.labels, tuple(nodes))


def test_leaf_chances_are_the_sum_over_all_true_cells(banded):
    part = banded.take(np.arange(25))
    axes = tuple(Axis.of(banded[name], 6, 8) for name in ("x", "y", "level"))
    rng = np.random.default_rng(0)
    rows = tuple(rng.dirichlet(np.ones(axis.size), 2) for axis in axes)
    model = Products(np.array([0.4, 0.6]), rows)
    tree = tree_of(banded, 0.5, 1 / 6, 0.5)
    found = Background(axes, model).leaf_chances(tree, part)
    codes = [axis.codes(part) for axis in axes]
    leaves = [i for i, node in enumerate(tree.nodes) if node.test is None]
    for row in range(0, 25, 4):
        expected = np.zeros(len(leaves))
        for cell in itertools.product(*(range(axis.size) for axis in axes)):
            chance = sum(
                model.weights[k]
                * np.prod(
                    [
                        t[k, c] * a.kernel.dense()[code[row], c]
                        for t, c, a, code in zip(rows, cell, axes, codes, strict=True)
                    ]
                )
                for k in range(2)
            )
            for place, leaf in enumerate(leaves):
                expected[place] += chance * _share(tree, leaf, axes, cell)
        np.testing.assert_allclose(found[row], expected / expected.sum(), atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


def _share(tree, leaf, axes, cell):
    """The part of a cell that falls into a leaf, the cell being a box and every path an intersection of half-spaces."""
    part = 1.0
    for place, axis in enumerate(axes):
        if axis.grid.edges is None:
            continue
        low, high = axis.grid.edges[cell[place] : cell[place] + 2]
        left, right = low, high
        for test, branch in next(path for number, path in tree.paths() if number == leaf):
            if test.attribute == axis.name:
                left, right = (left, min(right, test.threshold)) if branch == 0 else (max(left, test.threshold), right)
        part *= max(right - left, 0.0) / (high - low)
    return part


def test_a_cut_through_a_cell_shares_it_out(banded):
    axis = Axis.of(banded["x"], 4, 8)
    np.testing.assert_allclose(branch_shares(Test("x", 0.3), axis, 2)[0], [1, 0.2, 0, 0])
    level = Axis.of(banded["level"], 9, 9)
    np.testing.assert_allclose(branch_shares(Test("level", 2, closed=True), level, 2)[0], [1, 1, 1, 0, 0])
    colour = Axis.of(banded["colour"], 9, 9)
    shares = branch_shares(Test("colour", groups=(("red",), ("green", "blue"))), colour, 2)
    np.testing.assert_allclose(shares, [[1, 0, 0], [0, 1, 1]])


def test_missing_values_go_where_the_test_sends_them():
    columns = truth(100, 2)
    columns["x"][::4] = np.nan
    columns["colour"][::3] = np.nan
    table = released(columns, bands(truth(100, 2)), {})
    number = branch_shares(Test("x", 0.5, missing=1), Axis.of(table["x"], 4, 8), 2)
    assert list(number[:, -1]) == [0, 1]
    category = branch_shares(
        Test("colour", groups=(("red", "blue"), ("green",)), missing=0), Axis.of(table["colour"], 4, 8), 2
    )
    assert list(category[:, -1]) == [1, 0]


def test_leaf_shares_are_found_through_blurred_chances():
    rng = np.random.default_rng(3)
    theta = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    leaf = rng.integers(0, 3, 40_000)
    chances = rng.dirichlet(np.ones(3), 40_000).astype(np.float32)
    # The leaf is drawn from its chances, so the chances are what is known of it.
    leaf = (rng.random(40_000)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1).clip(0, 2)
    classes = (rng.random(40_000) < theta[leaf, 1]).astype(np.int64)
    np.testing.assert_allclose(leaf_shares(chances, classes, 2), theta, atol=0.04)


def test_the_right_tree_is_judged_better_than_one_with_its_borders_moved(banded):
    right, wrong = tree_of(banded, 0.5, 0.1, 0.5), tree_of(banded, 0.3, 0.3, 0.4)
    background = class_blind(banded, [right, wrong], ("x", "y"))
    good, bad = (score_tree(background, tree, banded) for tree in (right, wrong))
    assert good.log_loss < bad.log_loss
    assert good.accuracy > bad.accuracy + 0.05


def test_attributes_outside_the_model_are_added_as_independent(banded):
    tree = Tree(
        tuple(c.attribute for c in banded.columns),
        banded.labels,
        (Node((1.0, 1.0), Test("junk", 0.5), (1, 2)), Node((1.0, 0.0)), Node((0.0, 1.0))),
    )
    background = class_blind(banded, [tree], ("x", "y"))
    assert [axis.name for axis in background.axes] == ["x", "y", "junk"]
    assert background.leaf_chances(tree, banded).mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.03)


def test_admissible_are_those_not_surely_worse():
    rng = np.random.default_rng(4)
    base = rng.random(1000)
    verdicts = {
        "best": Verdict(base, base),
        "noise": Verdict(base + rng.normal(0.0, 1.0, 1000) + 0.01, base),
        "worse": Verdict(base + 0.05, base),
    }
    assert admissible(verdicts, 0.0) == ["best", "noise"]
    assert admissible(verdicts, 0.1) == ["best", "noise", "worse"]


def test_the_pick_prefers_the_simpler_of_equals_and_drops_who_misses_much():
    def verdict(loss, accuracy):
        return Verdict(np.full(100, loss), np.full(100, accuracy))

    def of(*pairs):
        return {name: verdict(*pair) for name, pair in zip(SIMPLEST_FIRST, pairs, strict=True)}

    assert pick_strategy(of((0.5, 0.8), (0.5, 0.802), (0.5, 0.803), (0.5, 0.8)), 0.7) == "byclass"
    assert pick_strategy(of((0.5, 0.8), (0.5, 0.8), (0.501, 0.9), (0.5, 0.8)), 0.7) == "joint"
    assert pick_strategy(of((0.3, 0.93), (0.3, 0.95), (0.35, 0.97), (0.31, 0.94)), 0.7) == "local"


def test_auto_takes_the_strategy_that_sees_the_interaction_and_says_why(banded):
    fitted = fit_auto(banded)
    assert fitted.notes["strategy"] in ("joint", "mixture")
    scores = fitted.notes["scores"]
    assert set(scores) == set(SIMPLEST_FIRST)
    assert all({"log_loss", "accuracy"} <= set(score) for score in scores.values())
    assert "expected right on held-out records" in fitted.notes["why"]
    fresh = truth(4000, 2)
    clear = released(fresh, bands(fresh), {})
    assert (
        fitted.tree.accuracy(clear, bands(fresh))
        > STRATEGIES["byclass"].fit(banded).accuracy(clear, bands(fresh)) + 0.04
    )
    assert fitted.log_loss(banded).mean() < np.log(2)


def test_auto_fits_the_winner_to_all_records_with_attributes_chosen_anew(banded, monkeypatch):
    from sfumato.trees.strategies import auto

    monkeypatch.setattr(auto, "pick_strategy", lambda *_: "joint")
    part = banded.take(np.arange(9000))
    fitted, alone = fit_auto(part, seed=3), fit_joint(part, seed=3)
    assert fitted.tree == alone.tree
    assert fitted.notes["attributes"] == alone.notes["attributes"]
    assert fitted.notes["why"].endswith(alone.notes["why"])
    few, _ = split(part, 3)
    assert fitted.tree != fit_joint(few, seed=3).tree


def test_auto_is_deterministic(banded):
    part = banded.take(np.arange(4000))
    first, second = fit_auto(part, seed=5), fit_auto(part, seed=5)
    assert first.tree == second.tree
    assert first.notes == second.notes


def test_auto_on_true_values_is_the_tree_of_true_values():
    columns = truth(3000, 6)
    table = released(columns, bands(columns), {})
    fitted = fit_auto(table)
    assert fitted.notes["strategy"] == "byclass"
    assert "nothing is perturbed" in fitted.notes["why"]
    assert fitted.tree.nodes == STRATEGIES["original"].fit(Original(table.columns, table.target)).nodes
    assert fitted.log_loss(table).shape == (3000,)


def test_auto_mines_mixed_columns_with_gaps_and_three_classes():
    columns = truth(6000, 7)
    classes = np.where(columns["colour"] == 2, 2, (columns["x"] > 0.6).astype(int))
    columns["x"][::10] = np.nan
    noise = {
        "x": Gaussian(privacy=0.5),
        "y": Uniform(privacy=0.5),
        "colour": Substitution(signal=0.6),
        "level": Gaussian(privacy=0.5),
    }
    fitted = fit_auto(released(columns, classes, noise, ("a", "b", "c")))
    fresh = truth(2000, 8)
    answers = np.where(fresh["colour"] == 2, 2, (fresh["x"] > 0.6).astype(int))
    assert fitted.tree.accuracy(released(fresh, answers, {}, ("a", "b", "c")), answers) > 0.9


@pytest.mark.parametrize("rows", [1, 2, 12])
def test_auto_on_next_to_nothing_still_gives_a_tree(rows):
    columns = truth(rows, 9)
    table = released(columns, np.arange(rows) % 2, NOISE)
    assert fit_auto(table).tree.leaves >= 1


def test_a_split_loses_no_record_and_repeats(banded):
    train, test = split(banded, 1)
    again, _ = split(banded, 1)
    assert train.rows + test.rows == banded.rows
    assert np.array_equal(train["x"].values, again["x"].values)


def test_progress_and_words():
    said = []
    columns = truth(1500, 10)
    fit_auto(released(columns, bands(columns), NOISE), progress=said.append)
    assert "judging" in said
    assert sentence("a", {"a": {"accuracy": 0.9}, "b": {"accuracy": 0.8}}).startswith("a: 90.0 %")


def test_auto_refuses_a_release_without_a_class(banded):
    with pytest.raises(UsageError, match="needs a class"):
        fit_auto(Table(banded.columns))
