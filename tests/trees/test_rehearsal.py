"""The judge is judged: its errors are found where the truth is known, taken off, and what is left is stated."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import mined_tables as tables

from sfumato.channels import Gaussian
from sfumato.trees.strategies.auto import SIMPLEST_FIRST, fit_auto, pick_strategy, sentence
from sfumato.trees.strategies.base import Axis, class_shares
from sfumato.trees.strategies.held_out import (
    MODEL_ERROR_WEIGHT,
    Verdict,
    accuracy,
    calibrate_verdicts,
    class_blind,
    draw,
    held_out_model,
    leaf_shares,
    noise,
    observe_cells,
    score_chances,
    score_tree,
    temper,
    widen_mixtures,
)
from sfumato.trees.strategies.mixture import ClassMixtures, Products, fit_mixtures
from sfumato.trees.tree import Node, Test, Tree

truth, released, bands = tables.truth, tables.released, tables.bands

NOISE = {"x": Gaussian(privacy=1.0), "y": Gaussian(privacy=1.0), "junk": Gaussian(privacy=1.0)}
FRESH = truth(20_000, 99)


@pytest.fixture(scope="module")
def table():
    columns = truth(9000, 2)
    return released(columns, bands(columns), NOISE)


def band(table):
    """A tree that knows the band of y and nothing of x, so that the class changes within each of its three leaves."""
    nodes = (
        Node((1.0, 1.0), Test("y", 0.3), (1, 2)),
        Node((1.0, 0.0)),
        Node((1.0, 1.0), Test("y", 0.7), (3, 4)),
        Node((0.0, 1.0)),
        Node((1.0, 0.0)),
    )
    return Tree(tuple(c.attribute for c in table.columns), table.labels, nodes)


def rehearsal(table, trees, names=("x", "y")):
    """Verdicts as they were, and with their slips."""
    learned, held = table.take(np.arange(6000)), table.take(np.arange(6000, table.rows))
    background = class_blind(table, trees.values(), names)
    verdicts = {name: score_tree(background, tree, held) for name, tree in trees.items()}
    models = [
        widen_mixtures(fit_mixtures(learned, names), learned, background),
        widen_mixtures(held_out_model(held, names, 0), held, background),
    ]
    return verdicts, calibrate_verdicts(verdicts, trees, background, models, held, 0)


@pytest.mark.slow
def test_a_tree_whose_leaves_hide_a_change_of_class_is_praised_and_the_rehearsal_takes_it_back(table):
    tree = band(table)
    true = tree.accuracy(released(FRESH, bands(FRESH), {}), bands(FRESH))
    before, after = (v["band"] for v in rehearsal(table, {"band": tree}))
    assert before.accuracy > true + 0.06
    assert abs(after.accuracy - true) < 0.7 * abs(before.accuracy - true)
    assert abs(after.accuracy - true) < 2 * after.error
    assert after.slips.shape[0] == 2
    assert (after.slips > 0).mean() > 0.5


def test_a_verdict_is_worked_by_hand():
    slips = np.array([[0.02, 0.04], [0.06, 0.10]])
    verdict = Verdict(np.zeros(4), np.array([0.9, 0.8, 0.9, 0.8]), slips)
    assert verdict.accuracy == pytest.approx(0.85 - MODEL_ERROR_WEIGHT * 0.055)
    # Chance within a model: the mean of 0.0002 and 0.0008. Models: 0.03 and 0.08, so 0.05²/2 by sample, half of it for their mean.
    assert noise(slips) == pytest.approx(np.sqrt(0.0005 + 0.000625))
    assert verdict.error == pytest.approx(np.sqrt(0.0005 + 0.000625 + ((1 - MODEL_ERROR_WEIGHT) * 0.055) ** 2))
    assert verdict.doubt(verdict) == 0
    assert Verdict(verdict.loss, verdict.right).error == 0
    assert Verdict(verdict.loss, np.full(4, 0.99), np.full((2, 2), -0.5)).accuracy == 1.0


def test_a_difference_within_the_noise_goes_to_the_simpler_strategy_and_one_beyond_it_does_not():
    def verdicts(slips):
        right = {"byclass": 0.80, "local": 0.80, "joint": 0.83, "mixture": 0.80}
        wobble = {name: (slips if name == "joint" else np.zeros_like(slips)) for name in SIMPLEST_FIRST}
        return {n: Verdict(np.full(50, 0.5), np.full(50, r), wobble[n]) for n, r in right.items()}

    assert pick_strategy(verdicts(np.array([[0.05, -0.05], [0.05, -0.05]])), 0.7) == "byclass"
    assert pick_strategy(verdicts(np.array([[0.01, -0.01], [0.01, -0.01]])), 0.7) == "joint"
    assert pick_strategy(verdicts(np.full((2, 2), 0.06)), 0.7) == "byclass"


def test_the_accuracy_in_a_model_is_the_sum_over_its_cells(table):
    axes = tuple(Axis.of(table[name], 10, 12) for name in ("x", "y"))
    rng = np.random.default_rng(0)
    models = tuple(
        Products(rng.dirichlet(np.ones(3)), tuple(rng.dirichlet(np.ones(10), 3) for _ in axes)) for _ in range(2)
    )
    known = ClassMixtures(axes, models, np.array([0.3, 0.7]))
    middle = (np.arange(10) + 0.5) / 10
    says_b = (middle > 0.3) & (middle <= 0.7)
    by_y = [model.weights @ model.tables[1] for model in models]
    expected = 0.3 * by_y[0][~says_b].sum() + 0.7 * by_y[1][says_b].sum()
    assert accuracy(known, band(table)) == pytest.approx(expected, abs=1e-6)


def test_values_are_seen_as_often_as_the_kernel_says(table):
    axis = Axis.of(table["x"], 6, 9)
    rng = np.random.default_rng(1)
    for cell in (0, 3, 5):
        bins = observe_cells(axis, np.full(200_000, cell), rng)
        counts = np.bincount(bins, minlength=axis.kernel.shape[0]) / 200_000
        np.testing.assert_allclose(
            counts, axis.kernel.dense()[:, cell] / axis.kernel.dense()[:, cell].sum(), atol=0.006
        )


@pytest.mark.slow
def test_drawn_records_have_the_classes_and_the_released_values_of_their_model(table):
    background = class_blind(table, [band(table)], ("x", "y"))
    models = widen_mixtures(fit_mixtures(table, ("x", "y")), table, background)
    released, classes = draw(models, background, 60_000, np.random.default_rng(2))
    np.testing.assert_allclose(np.bincount(classes) / 60_000, class_shares(table.codes, 2), atol=0.01)
    for axis, bins in zip(background.axes, released, strict=True):
        for c in range(2):
            size = axis.kernel.shape[0]
            real = np.bincount(axis.codes(table)[table.codes == c], minlength=size)
            made = np.bincount(bins[classes == c], minlength=size)
            assert np.abs(real / real.sum() - made / made.sum()).sum() / 2 < 0.06


def test_what_is_not_modelled_is_drawn_class_by_class(table):
    background = class_blind(table, [band(table)], ("x", "y"))
    alone = widen_mixtures(fit_mixtures(table, ()), table, background)
    assert {axis.name for axis in alone.axes} == {axis.name for axis in background.axes}
    y = [axis.name for axis in alone.axes].index("y")
    low, high = (model.tables[y][0] for model in alone.models)
    assert np.abs(low - high).sum() / 2 > 0.1


def test_chance_shrinks_with_the_records_and_bias_stays():
    slips = np.array([[0.01, 0.03], [0.02, 0.06]])
    less = temper(slips, 0.25)
    np.testing.assert_allclose(less.mean(axis=1), slips.mean(axis=1))
    np.testing.assert_allclose(less.std(axis=1), slips.std(axis=1) / 2)


def test_the_record_given_to_each_leaf_weighs_alike_beside_fewer_records():
    rng = np.random.default_rng(3)
    chances = rng.dirichlet(np.ones(5), 300).astype(np.float32)
    classes = rng.integers(0, 2, 300)
    four = np.tile(chances, (4, 1)), np.tile(classes, 4)
    np.testing.assert_allclose(leaf_shares(*four, 2), leaf_shares(chances, classes, 2, 0.25), atol=1e-3)


def test_both_halves_judge(table):
    tree = band(table)
    background = class_blind(table, [tree], ("x", "y"))
    held = table.take(np.arange(401))
    chances = background.leaf_chances(tree, held)
    found = score_chances(chances, held.codes, 2, tree)
    shares = leaf_shares(chances[1::2], held.codes[1::2], 2)
    np.testing.assert_allclose(
        found.loss[::2], -np.log((chances[::2] * shares.T[held.codes[::2]]).sum(axis=1)), rtol=1e-5
    )
    shares = leaf_shares(chances[::2], held.codes[::2], 2)
    np.testing.assert_allclose(found.right[1::2], chances[1::2] @ shares[[0, 1, 2], [0, 1, 0]], rtol=1e-5)


@pytest.mark.slow
def test_auto_states_how_sure_it_is(table):
    notes = fit_auto(table.take(np.arange(3000))).notes
    for score in notes["scores"].values():
        assert 0 < score["error"] < 0.5
    best = notes["scores"][notes["strategy"]]
    said = f"{100 * best['accuracy']:.1f} % ± {200 * best['error']:.1f} expected right on held-out records"
    assert said in notes["why"]
    scores = {"a": {"accuracy": 0.9, "error": 0.01}, "b": {"accuracy": 0.8, "error": 0.02}}
    assert sentence("a", scores) == "a: 90.0 % ± 2.0 expected right on held-out records, against b 80.0 % ± 4.0"
