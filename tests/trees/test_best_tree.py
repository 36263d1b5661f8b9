"""The strategy tree: trees are judged through the noise on rows held out, and the best is taken."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import mined_tables as tables

from sfumato.channels import Gaussian, Substitution, Uniform
from sfumato.errors import UsageError
from sfumato.table import Original, Table
from sfumato.trees.strategies.base import STRATEGIES
from sfumato.trees.strategies.best_tree import SIMPLEST_FIRST, fit_tree, pick_strategy
from sfumato.trees.strategies.leaf_model import Estimate

truth, released, bands = tables.truth, tables.released, tables.bands

NOISE = {"x": Gaussian(privacy=1.0), "y": Gaussian(privacy=1.0), "junk": Gaussian(privacy=1.0)}


@pytest.fixture(scope="module")
def banded():
    columns = truth(20_000, 1)
    return released(columns, bands(columns), NOISE)


def test_the_simplest_of_near_equals_is_picked_by_the_score_that_is_asked_for():
    def about(log_loss, accuracy):
        return {"log_loss": Estimate((log_loss,), 0.02), "accuracy": Estimate((accuracy,), 0.01)}

    scores = {"byclass": about(0.405, 0.80), "local": about(0.40, 0.81), "joint": about(0.50, 0.90)}
    assert pick_strategy(scores, "log_loss") == "byclass"
    assert pick_strategy(scores, "accuracy") == "joint"
    assert pick_strategy({"byclass": {}, "local": {}}, "auc") == "byclass"


def test_a_score_that_is_none_is_refused(banded):
    with pytest.raises(UsageError, match="score: 'gini' is not one of them; choose accuracy"):
        fit_tree(banded, score="gini")


def test_it_takes_a_strategy_that_sees_the_interaction_and_says_why(banded):
    fitted = fit_tree(banded)
    scores = fitted.notes["scores"]
    assert set(scores) == set(SIMPLEST_FIRST)
    assert all(score["log_loss"] > 0 for score in scores.values())
    assert "by the accuracy on true rows" in fitted.notes["why"]
    fresh = truth(4000, 2)
    clear = released(fresh, bands(fresh), {})
    right = fitted.tree.accuracy(clear, bands(fresh))
    assert right > STRATEGIES["randomized"].fit(banded).accuracy(clear, bands(fresh)) + 0.04
    assert right > STRATEGIES["byclass"].fit(banded).accuracy(clear, bands(fresh)) - 0.01
    about = fitted.notes["expected"]["accuracy"]
    assert about["low"] <= right <= about["high"]


@pytest.mark.parametrize("rows", [900, 9000])
def test_the_tree_is_that_of_the_strategy_it_names(banded, rows):
    part = banded.take(np.arange(rows))
    fitted = fit_tree(part)
    alone = STRATEGIES[fitted.notes["strategy"]].fit(part)
    assert fitted.tree == getattr(alone, "tree", alone)


def test_it_is_deterministic(banded):
    part = banded.take(np.arange(4000))
    first, second = fit_tree(part, seed=5), fit_tree(part, seed=5)
    assert first.tree == second.tree
    assert first.notes == second.notes


def test_the_best_tree_on_true_values_is_the_tree_of_true_values():
    columns = truth(3000, 6)
    table = released(columns, bands(columns), {})
    fitted = fit_tree(table)
    assert fitted.notes["strategy"] == "byclass"
    assert "nothing is perturbed" in fitted.notes["why"]
    assert fitted.tree.nodes == STRATEGIES["original"].fit(Original(table.columns, table.target)).nodes


def test_it_mines_mixed_columns_with_gaps_and_three_classes():
    columns = truth(6000, 7)
    classes = np.where(columns["colour"] == 2, 2, (columns["x"] > 0.6).astype(int))
    columns["x"][::10] = np.nan
    noise = {
        "x": Gaussian(privacy=0.5),
        "y": Uniform(privacy=0.5),
        "colour": Substitution(signal=0.6),
        "level": Gaussian(privacy=0.5),
    }
    fitted = fit_tree(released(columns, classes, noise, ("a", "b", "c")))
    fresh = truth(2000, 8)
    answers = np.where(fresh["colour"] == 2, 2, (fresh["x"] > 0.6).astype(int))
    assert fitted.tree.accuracy(released(fresh, answers, {}, ("a", "b", "c")), answers) > 0.9


@pytest.mark.parametrize("rows", [1, 2, 12])
def test_next_to_nothing_still_gives_a_tree(rows):
    columns = truth(rows, 9)
    table = released(columns, np.arange(rows) % 2, NOISE)
    assert fit_tree(table).tree.leaves >= 1


def test_few_rows_are_said_to_be_few():
    columns = truth(300, 9)
    notes = fit_tree(released(columns, bands(columns), NOISE)).notes
    assert "300 rows are few" in notes["why"]
    assert set(notes["scores"]) == {"byclass", "randomized"}


def test_progress_names_what_is_tried():
    said = []
    columns = truth(1500, 10)
    fit_tree(released(columns, bands(columns), NOISE), progress=said.append)
    assert [words for words in said if words.startswith("trying")] == [f"trying {name}" for name in SIMPLEST_FIRST]
    assert said[-1] == "judging"


def test_it_refuses_a_release_without_a_class(banded):
    with pytest.raises(UsageError, match="needs a class"):
        fit_tree(Table(banded.columns))
