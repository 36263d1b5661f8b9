"""The strategy auto: boosted trees behind the noise, or a single tree where held-out released rows surely prefer it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import mined_tables as tables
from tests.support.made_tables import KEY, blur_table, two_groups

import sfumato as sf
from sfumato.channels import Gaussian
from sfumato.errors import UsageError
from sfumato.mining.auto import can_map, expect_scores, fit_auto, try_boosting
from sfumato.mining.ensembles import Ensemble
from sfumato.mining.scores import score_model
from sfumato.modelling import TableModel
from sfumato.table import Column, Table
from sfumato.trees import Tree


@pytest.fixture(scope="module")
def banded():
    columns = tables.truth(20_000, 1)
    noise = {"x": Gaussian(privacy=1.0), "y": Gaussian(privacy=1.0), "junk": Gaussian(privacy=1.0)}
    return tables.released(columns, tables.bands(columns), noise)


def additive(rows: int, seed: int) -> Table:
    """Make a class that leans on eight numbers a little each: many small trees can add them up, and one tree cannot."""
    chance = np.random.default_rng(seed)
    values = chance.random((rows, 8))
    slope = (values - 0.5).sum(axis=1) * 5
    codes = (chance.random(rows) < 1 / (1 + np.exp(-slope))).astype(int)
    columns = (Column(sf.Attribute(f"x{i}", sf.Kind.REAL, sf.Interval(0, 1)), None, values[:, i]) for i in range(8))
    return Table(tuple(columns), Column.of_codes("class", ("no", "yes"), codes))


def test_sharp_borders_on_many_rows_are_left_to_the_tree_of_a_map(banded):
    fitted = fit_auto(banded)
    assert isinstance(fitted.tree, Tree)
    assert fitted.notes["strategy"] == fitted.tree.strategy == "joint"
    assert "predicts held-out released rows surely better" in fitted.notes["why"]
    scores = fitted.notes["scores"]
    assert scores["joint"]["log_loss"] < scores["boosting"]["log_loss"] < np.log(2)
    fresh = tables.truth(20_000, 2)
    assert fitted.tree.accuracy(fresh, tables.bands(fresh)) > 0.9


def test_losses_of_the_model_are_those_of_its_shares_of_the_class():
    true = two_groups(3000)
    released = blur_table(Table(true.columns, true.target))
    model = TableModel.fit(released, sf.FitSettings(components=(1,)))
    shares = np.bincount(released.codes) / released.rows
    assert model.target_losses(released) == pytest.approx(-np.log(shares)[released.codes], rel=0.01)
    told = TableModel.fit(released, sf.FitSettings(components=(16,))).target_losses(released)
    assert told.mean() < -np.log(shares)[released.codes].mean() - 0.05


def test_a_class_that_was_blurred_too_is_never_left_to_a_map():
    true = two_groups(1200)
    released = blur_table(true)
    assert can_map(released) is (released.required_target.channel is None)
    law = sf.Substitution(gamma=9.0).on(true.required_target.attribute)
    assert not can_map(Table(released.columns, true.required_target.through(law, KEY)))


def test_a_class_that_leans_on_many_columns_is_left_to_boosted_trees():
    released = blur_table(additive(3000, 4), privacy=0.5)
    fitted = fit_auto(released)
    assert isinstance(fitted.tree, Ensemble)
    assert fitted.notes["strategy"] == "boosting"
    fresh = additive(5000, 5)
    ours = score_model(fitted.tree, fresh, fresh.codes).accuracy
    single = sf.mine(released, "tree").body
    assert ours > score_model(single, fresh, fresh.codes).accuracy + 0.02
    about = fitted.notes["expected"]["accuracy"]
    assert about["low"] <= ours <= about["high"]


def test_as_noise_goes_to_zero_it_becomes_the_learner_on_true_values():
    true, fresh = additive(3000, 6), additive(5000, 7)
    clean = fit_auto(true)
    assert "nothing is perturbed" in clean.notes["why"]
    nearly = fit_auto(blur_table(true, privacy=0.001))
    one, other = (score_model(fitted.tree, fresh, fresh.codes) for fitted in (clean, nearly))
    assert nearly.notes["strategy"] == clean.notes["strategy"] == "boosting"
    assert one.accuracy == pytest.approx(other.accuracy, abs=0.01)
    assert one.auc == pytest.approx(other.auc, abs=0.005)


def test_what_is_expected_lies_between_draws_that_know_the_class_and_draws_that_do_not():
    true = two_groups(2000)
    released = blur_table(true)
    trial = try_boosting(released.take(np.arange(1500)), released.take(np.arange(1500, 2000)), draws=2)
    expected = expect_scores([trial])["accuracy"]
    known, blind = (np.mean([s.accuracy for s in some]) for some in (trial.with_class, trial.without_class))
    assert expected.readings == pytest.approx((known, blind))
    assert known >= blind
    assert len(trial.losses) == 500


def test_the_same_release_gives_the_same_model():
    released = blur_table(two_groups(400))
    first, second = fit_auto(released), fit_auto(released)
    assert first.tree.to_dict() == second.tree.to_dict()
    assert first.notes == second.notes


@pytest.mark.parametrize("rows", [1, 2, 12])
def test_next_to_nothing_still_gives_a_model(rows):
    true = two_groups(rows)
    fitted = fit_auto(blur_table(Table(true.columns, true.target), key=KEY))
    assert fitted.notes["strategy"] == "boosting"
    shares = fitted.tree.predict_proba(Table(true.columns))
    assert shares.sum(axis=1) == pytest.approx(1.0)


def test_a_release_without_a_class_is_refused(banded):
    with pytest.raises(UsageError, match="needs a class"):
        fit_auto(Table(banded.columns))


def test_a_score_asks_for_the_tree_that_is_best_by_it():
    table = two_groups(400)
    released = blur_table(table, 0.5)
    assert sf.mine(released, score="log_loss").strategy == "tree"
    assert sf.mine(released, "auto", score="auc").strategy == "tree"
    with pytest.raises(UsageError, match="byclass does not choose by a score"):
        sf.mine(released, "byclass", score="auc")
