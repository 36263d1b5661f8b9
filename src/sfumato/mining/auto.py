"""The strategy `auto`: boosted trees behind the noise, or a tree of a joint map where released rows surely bear it out.

Boosted trees on plausible rows predict better than one tree on nearly every real table. Where a few columns with sharp borders
decide and rows are many, a map of these columns knows better. Both rest on a model of true values, and what each model says of the
classes of held-out *released* rows tells them apart: that needs no true value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.hashing import choose_rows, draw_uniform, row_marks
from sfumato.mining.ensembles import boost_tables, fit_boosting
from sfumato.mining.scores import Scores
from sfumato.modelling import FitSettings, TableModel
from sfumato.table import Table
from sfumato.trees import (
    MAX_JUDGED_ROWS,
    Estimate,
    Fitted,
    Limits,
    choose_tree,
    eligible_strategies,
    fit_joint_map,
    is_surely_lower,
    keep_classified_rows,
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
    """A model of the whole table and boosted trees on its draws, fitted to part of the rows, judged by the other rows.

    Attributes
    ----------
    losses
        −ln P(class | released values) of the held-out rows, by the model of the whole table.
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
    hidden = replace(held, target=replace(held.required_target, values=np.full(held.rows, np.nan)))

    def score(seen: Table, draw: int) -> Scores:
        drawn = model.draw(seen, places, f"to judge by {draw}")
        return Scores.of(ensemble.predict_proba(drawn), held.codes)

    known, blind = (tuple(score(seen, d) for d in range(draws)) for seen in (held, hidden))
    return Trial(model.target_losses(held), known, blind)


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
    progress: Any = quiet,
) -> Fitted:
    """Take boosted trees on draws of plausible true rows, or the tree of a joint map where held-out released rows surely prefer it.

    Parameters
    ----------
    table
        The released columns with their laws.
    limits
        Where a single tree ends at the latest.
    seed
        Chance in draws and in strategies.
    progress
        Is told what is being done.

    Returns
    -------
    Fitted
        The model; ``notes`` holds the `strategy` that was chosen, the `scores` of all that were tried (`log_loss` of held-out released
        rows), what each score is `expected` to be on true values, with standard error and 95 % interval, and `why`.
    """
    table = keep_classified_rows(table)
    trials, losses = [], []
    if any(column.channel is not None for column in table.all_columns):
        for grown, held in _split(table):
            progress("trying boosting")
            trials.append(try_boosting(grown, held, seed=seed))
            if can_map(table):
                progress("trying joint")
                losses.append(fit_joint_map(grown, seed=seed)[0].class_log_loss(held))
    tried = {}
    if trials:
        tried["boosting"] = {"log_loss": float(np.concatenate([t.losses for t in trials]).mean())}
    if losses:
        tried["joint"] = {"log_loss": float(np.concatenate(losses).mean())}
        if is_surely_lower(np.concatenate(losses), np.concatenate([t.losses for t in trials])):
            fitted = choose_tree(table, limits=limits, seed=seed, only=("joint",), progress=progress)
            why = f"{fitted.notes['why']}; its map predicts held-out released rows surely better than the model of all columns"
            return replace(fitted, notes={**fitted.notes, "scores": tried, "why": why})
    progress("fitting boosting to all rows")
    fitted = fit_boosting(table, seed=seed)
    stated = tell_scores(expect_scores(trials))
    parts = ["boosting"]
    if losses:
        parts = ["boosting, since no map of a few columns predicts held-out released rows surely better"]
    if about := stated.get("accuracy"):
        parts.append(
            f"expected to be right on {about['estimate']:.1%} of true rows ({about['low']:.1%} to {about['high']:.1%})"
        )
    notes = {**fitted.notes, "strategy": "boosting", "scores": tried, "expected": stated}
    return Fitted(fitted.tree, {**notes, "why": "; ".join([*parts, fitted.notes["why"]])})


def can_map(table: Table) -> bool:
    """Whether a joint map may be fitted: enough rows, independent noise, and a class that was released as it is."""
    return "joint" in eligible_strategies(table) and table.required_target.channel is None


def _split(table: Table) -> list[tuple[Table, Table]]:
    """Return rows to learn from and a fifth to judge by, three times; of many rows a sample, by hashes of their numbers."""
    parts, folds = 5, 3  # five folds would cost more than they tell
    few = table.take(np.sort(choose_rows(np.arange(table.rows), MAX_JUDGED_ROWS)))
    part = (parts * draw_uniform(row_marks(np.arange(few.rows)), 11)).astype(np.int64)
    splits = [(np.flatnonzero(part != fold), np.flatnonzero(part == fold)) for fold in range(folds)]
    return [(few.take(grown), few.take(held)) for grown, held in splits if len(grown) and len(held)]
