"""The strategy `tree`: try all ways to grow a tree on part of the release, judge them on the rest, and use the best on all of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.errors import UsageError
from sfumato.table import Table, correlated_columns
from sfumato.text import join_names
from sfumato.trees.grow import MDL, Limits
from sfumato.trees.strategies.base import Draft, Fitted, Progress, keep_classified_rows, quiet, strategy
from sfumato.trees.strategies.joint_map import Choice, choose_attributes, draft_joint
from sfumato.trees.strategies.judge import Drafter, Judge, Verdict, tell_scores
from sfumato.trees.strategies.leaf_model import Estimate
from sfumato.trees.strategies.mixture import draft_mixture
from sfumato.trees.strategies.published import published_drafts

SIMPLEST_FIRST = ("byclass", "randomized", "local", "joint", "mixture")
"""What is chosen from; of equals the first is taken."""
MIN_ROWS_TO_EXPLORE = 1000
"""Below this many, strategies with many parameters are not tried: chance would choose between them. Local is then by class."""
HIGHER_IS_BETTER = {"accuracy": True, "balanced_accuracy": True, "auc": True, "log_loss": False, "brier": False}


@strategy("tree")
def fit_tree(
    table: Table,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    score: str = "accuracy",
    progress: Progress = quiet,
) -> Fitted:
    """Choose among the strategies that grow trees by how their trees do on held-out released rows, and grow the best from all rows.

    Parameters
    ----------
    table
        The release.
    limits
        Where trees end at the latest; every strategy has limits of its own.
    seed
        Chance in the strategies joint and mixture.
    score
        What the choice goes by, as expected on true values: accuracy, balanced_accuracy, auc, log_loss or brier.
    progress
        Is told what is being done.

    Returns
    -------
    Fitted
        The tree; ``notes`` holds the `strategy` that was chosen, the `scores` of all that were tried (`log_loss` of held-out released
        rows), what each score is `expected` to be on true values, with standard error and 95 % interval, and `why`.
    """
    return choose_tree(table, limits=limits, seed=seed, score=score, progress=progress)


def choose_tree(
    table: Table,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    score: str = "accuracy",
    only: Sequence[str] = SIMPLEST_FIRST,
    progress: Progress = quiet,
) -> Fitted:
    """Choose a tree as `fit_tree` does, but among `only` these strategies."""
    if score not in HIGHER_IS_BETTER:
        raise UsageError(f"score: {score!r} is not one of them; choose {join_names(HIGHER_IS_BETTER)}")
    table = keep_classified_rows(table)
    drafters = _drafters(limits, seed)
    judge = Judge(table)
    if reason := _reason_not_to_choose(table, judge):
        draft = drafters["byclass"][0](table)
        return Fitted(draft.cut(MDL()), _notes("byclass", draft, 1.0, {}, reason))
    verdicts, drafts = {}, {}
    for name in (name for name in eligible_strategies(table) if name in only):
        progress(f"trying {name}")
        verdicts[name] = judge.judge(drafters[name], max_folds=1 if name in ("joint", "mixture") else None)
        drafts[name] = verdicts[name].draft(judge.table)
    progress("judging")
    scores = judge.expect_scores(verdicts, drafts)
    best = pick_strategy(scores, score)
    draft, verdict = drafts[best], verdicts[best]
    if judge.table.rows < table.rows:
        progress(f"fitting {best} to all rows")
        draft = verdict.draft(table)
    losses = {name: {"log_loss": verdict.log_loss} for name, verdict in verdicts.items()}
    reasons = [sentence(best, scores, verdict, score, table.rows)]
    if correlated := correlated_columns(table.columns):
        reasons.append(
            f"the noise of {join_names(correlated)} is correlated, which local, joint and mixture cannot take"
        )
    notes = _notes(best, draft, verdict.discount, losses, *reasons)
    stated = {} if correlated else tell_scores(scores[best])
    return Fitted(draft.cut(verdict.pruner), {**notes, "expected": stated})


def _reason_not_to_choose(table: Table, judge: Judge) -> str:
    """Say why there is nothing to choose by, or nothing at all."""
    if all(column.channel is None for column in table.columns):
        return "nothing is perturbed, so there is nothing to reconstruct"
    return "" if judge.splits else f"byclass, since {table.rows:,} rows are too few to hold any out"


def _notes(name: str, draft: Draft, discount: float, scores: Mapping[str, Any], *reasons: str) -> dict[str, Any]:
    why = "; ".join([*reasons, *([draft.notes["why"]] if "why" in draft.notes else [])])
    return {**draft.notes, "strategy": name, "discount": discount, "scores": dict(scores), "why": why}


def eligible_strategies(table: Table) -> tuple[str, ...]:
    """Return what to choose from: with few rows nothing brave, and with correlated noise nothing that multiplies laws."""
    if correlated_columns(table.columns):
        return ("byclass", "randomized")
    return SIMPLEST_FIRST if table.rows >= MIN_ROWS_TO_EXPLORE else ("byclass", "randomized")


def _drafters(limits: Limits | None, seed: int) -> dict[str, tuple[Drafter, ...]]:
    """Return the ways to grow each strategy as functions of a table; attributes are chosen once for joint and mixture."""
    choices: dict[int, Choice] = {}

    def choose(part: Table) -> Choice:
        if id(part) not in choices:
            choices[id(part)] = choose_attributes(part, seed=seed)
        return choices[id(part)]

    def joint(part: Table) -> Draft:
        choice = choose(part)
        draft = draft_joint(part, limits=limits, attributes=choice.chosen)
        return replace(draft, notes={**draft.notes, "why": choice.sentence()})

    def mixture(part: Table) -> Draft:
        return draft_mixture(part, limits=limits, seed=seed, attributes=choose(part).relevant)

    return {
        **{name: published_drafts(name, limits) for name in ("byclass", "randomized", "local")},
        "joint": (joint,),
        "mixture": (mixture,),
    }


def pick_strategy(scores: Mapping[str, Mapping[str, Estimate]], score: str) -> str:
    """Return the simplest strategy whose score expected on *true* values is within half a standard error of the best."""
    sign = 1 if HIGHER_IS_BETTER[score] else -1
    values = {name: sign * about[score].value for name, about in scores.items() if score in about}
    if not values:
        return next(iter(scores))
    top = max(values, key=lambda name: values[name])
    return next(name for name in values if values[name] >= values[top] - scores[top][score].error / 2)


def sentence(best: str, scores: Mapping[str, Mapping[str, Estimate]], verdict: Verdict, score: str, rows: int) -> str:
    """Say what was chosen and why, and how sure that is."""
    words = "AUC" if score == "auc" else score.replace("_", " ")
    told = ", ".join(f"{name} {about[score].value:.3f}" for name, about in scores.items() if score in about)
    parts = [f"{best}, by the {words} on true rows that released rows let expect ({told})"]
    if about := scores[best].get("accuracy"):
        low, high = (min(max(end, 0.0), 1.0) for end in about.interval)
        parts.append(f"expected to be right on {about.value:.1%} of true rows ({low:.1%} to {high:.1%})")
    if verdict.discount == math.inf:
        parts.append("no split tells the classes apart surely, so the tree predicts the commonest class")
    if rows < MIN_ROWS_TO_EXPLORE:
        parts.append(f"{rows:,} rows are few: only simple strategies were tried, and the interval is wide")
    return "; ".join(parts)
