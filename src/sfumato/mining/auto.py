"""The strategy `auto`: boosted trees behind the noise, or the best single tree where released rows surely bear it out.

Boosted trees on plausible rows predict better than one tree on nearly every real table. Where borders are sharp and rows are many, a
tree from a joint reconstruction may know better. What both say of the classes of held-out *released* rows tells them apart: that
needs no true value, and no model of the other kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.mining.ensembles import Ensemble, boost_tables, fit_boosting
from sfumato.mining.scores import Scores, log_losses
from sfumato.modelling import FitSettings, TableModel
from sfumato.table import Table
from sfumato.trees import (
    QUICK,
    Estimate,
    Fitted,
    Limits,
    TreeChoice,
    choose_tree,
    is_surely_lower,
    strategy,
    tell_scores,
)

SCORED = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced-accuracy",
    "auc": "auc",
    "log_loss": "log-loss",
    "brier": "brier",
}
"""The names of scores in notes, and in `Scores`."""


def quiet(_: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Boosted trees of part of the rows, judged by the other rows.

    Attributes
    ----------
    losses
        −ln P(class | released values) of the held-out rows.
    with_class, without_class
        Scores on drawn true values of these rows, where the draw knew the class, and where it did not.
    """

    losses: FloatArray
    with_class: tuple[Scores, ...]
    without_class: tuple[Scores, ...]


def try_boosting(grown: Table, held: Table, *, draws: int = 4, seed: int = 0) -> Trial:
    """Fit boosted trees to some released rows, and judge them by others.

    Parameters
    ----------
    grown
        Rows to learn from.
    held
        Rows to judge by.
    draws
        Draws to learn from, and of the rows that judge.
    seed
        Another seed gives other draws.
    """
    model = TableModel.fit(grown, FitSettings(seed=seed))
    rows, places = np.arange(grown.rows), np.arange(held.rows)
    ensemble = boost_tables([model.draw(grown, rows, f"to learn from {d}") for d in range(draws)], seed=seed)
    target = held.required_target
    hidden = replace(held, target=replace(target, values=np.full(held.rows, np.nan)))
    known, blind, mean = [], [], np.zeros((held.rows, len(held.labels)))
    for d in range(draws):
        known.append(_score(ensemble, model.draw(held, places, f"to judge by {d}"), held.codes))
        drawn = model.draw(hidden, places, f"to judge by {d}")
        mean += ensemble.predict_proba(drawn) / draws
        blind.append(_score(ensemble, drawn, held.codes))
    return Trial(log_losses(mean, held.codes), tuple(known), tuple(blind))


def _score(ensemble: Ensemble, drawn: Table, codes: IntArray) -> Scores:
    return Scores.of(ensemble.predict_proba(drawn), codes)


def expect_scores(trials: list[Trial]) -> dict[str, Estimate]:
    """Return what each score of boosted trees is expected to be on true values.

    Draws that know the class flatter the trees, since these learned from such draws. Draws that do not know it lack what the class
    tells of the values, and blame them. The mean is stated, and what the two differ by counts as error (decision 25).
    """
    out = {}
    for name, own in SCORED.items():
        folds = []
        for trial in trials:
            readings = [[_value(scores, own) for scores in some] for some in (trial.with_class, trial.without_class)]
            if all(np.isfinite(r).all() for r in readings):
                low, high = trial.with_class[0].interval(own)
                chance = (high - low) / (2 * 1.959963984540054)
                folds.append(Estimate((float(np.mean(readings[0])), float(np.mean(readings[1]))), chance))
        if folds:
            out[name] = Estimate.pool(folds)
    return out


def _value(scores: Scores, name: str) -> float:
    return float(getattr(scores, name.replace("-", "_")))


@strategy("auto")
def fit_auto(
    table: Table,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    score: str = "accuracy",
    progress: Any = quiet,
) -> Fitted:
    """Take boosted trees on draws of plausible true rows, or a single tree where held-out released rows surely prefer it.

    Parameters
    ----------
    table
        The released columns with their laws.
    limits
        Where single trees end at the latest.
    seed
        Chance in draws and in strategies.
    score
        What single trees are chosen by, as expected on true values: accuracy, balanced_accuracy, auc, log_loss or brier.
    progress
        Is told what is being done.

    Returns
    -------
    Fitted
        The model; ``notes`` holds the `strategy` that was chosen, the `scores` of all that were tried (`log_loss` of held-out released
        rows), what each score is `expected` to be on true values, with standard error and 95 % interval, and `why`.
    """
    grow = partial(choose_tree, table, limits=limits, seed=seed, score=score, progress=progress)
    choice = grow(only=QUICK)
    if choice.verdict is None:
        return choice.fitted
    progress("trying boosting")
    trials = list(_try_folds(choice, seed))
    losses = np.concatenate([trial.losses for trial in trials])
    if not _is_surely_lower(losses, choice):
        choice = grow()
    tried = {**choice.fitted.notes["scores"], "boosting": {"log_loss": float(losses.mean())}}
    name = choice.fitted.notes["strategy"]
    if _is_surely_lower(losses, choice, by_tree=True):
        why = f"{choice.fitted.notes['why']}; boosted trees predict held-out released rows surely worse"
        return replace(choice.fitted, notes={**choice.fitted.notes, "scores": tried, "why": why})
    progress("fitting boosting to all rows")
    fitted = fit_boosting(table, seed=seed)
    stated = tell_scores(expect_scores(trials))
    parts = [f"boosting, since no single tree predicts held-out released rows surely better (the best is {name})"]
    if about := stated.get("accuracy"):
        parts.append(
            f"expected to be right on {about['estimate']:.1%} of true rows ({about['low']:.1%} to {about['high']:.1%})"
        )
    notes = {**fitted.notes, "strategy": "boosting", "scores": tried, "expected": stated}
    return Fitted(fitted.tree, {**notes, "why": "; ".join([*parts, fitted.notes["why"]])})


def _is_surely_lower(losses: FloatArray, choice: TreeChoice, *, by_tree: bool = False) -> bool:
    """Return whether boosted trees lose surely less than the chosen tree on the rows that judged both, or the tree less than they."""
    trees = np.empty(0) if choice.verdict is None else choice.verdict.losses
    size = min(len(trees), len(losses))  # the first folds of the judge
    return is_surely_lower(trees[:size], losses[:size]) if by_tree else is_surely_lower(losses[:size], trees[:size])


def _try_folds(choice: TreeChoice, seed: int) -> Iterator[Trial]:
    max_folds = 3  # the judge holds out every row once where there are few, which costs more than it tells here
    for grown, held in choice.judge.splits[:max_folds]:
        yield try_boosting(choice.judge.table.take(grown), choice.judge.table.take(held), seed=seed)
