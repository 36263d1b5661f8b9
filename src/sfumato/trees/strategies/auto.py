"""The strategy `auto`: try what there is on part of the release, judge it on the rest, and use the best on all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from sfumato.engines import Needs
from sfumato.table import Table, correlated_columns
from sfumato.text import join_names
from sfumato.trees.grow import Limits, Pruner
from sfumato.trees.strategies.base import (
    STRATEGIES,
    Fitted,
    Progress,
    class_shares,
    keep_classified_rows,
    quiet,
    strategy,
)
from sfumato.trees.strategies.held_out import (
    Verdict,
    admissible,
    calibrate_verdicts,
    class_blind,
    held_out_model,
    score_tree,
    split,
    widen_mixtures,
)
from sfumato.trees.strategies.joint_map import choose_attributes
from sfumato.trees.strategies.mixture import ClassMixtures, fit_mixtures, mixture_tree

SIMPLEST_FIRST = ("byclass", "local", "joint", "mixture")


@strategy("auto")
def fit_auto(
    table: Table,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
    progress: Progress = quiet,
) -> Fitted:
    """Choose among byclass, local, joint and mixture by how their trees do on held-out released rows.

    ``notes`` holds the `strategy` that was chosen, the `scores` of all (`log_loss` in nats, expected `accuracy` and its standard
    `error`, on held-out rows and through the noise), and `why`.
    """
    table = keep_classified_rows(table)
    if all(column.channel is None for column in table.columns):
        fitted = _fit("byclass", table, limits, pruner, seed)
        why = "nothing is perturbed, so there is nothing to reconstruct"
        return Fitted(fitted.tree, fitted.log_loss, {"strategy": "byclass", "scores": {}, "why": why})
    if names := correlated_columns(table.columns):
        # Judging on held-out rows and all strategies but this one multiply the laws of columns.
        fitted = _fit("byclass", table, limits, pruner, seed)
        why = f"byclass, since the noise of {join_names(names)} is correlated: local, joint and mixture take it to be independent"
        return Fitted(fitted.tree, fitted.log_loss, {**fitted.notes, "strategy": "byclass", "scores": {}, "why": why})
    train, test = split(table, seed)
    progress("choosing attributes")
    choice = choose_attributes(train, seed=seed)
    trees = {}
    for name in ("byclass", "local", "joint"):
        progress(f"trying {name}")
        trees[name] = _fit(name, train, limits, pruner, seed, choice.chosen).tree
    progress("trying mixture")
    models = fit_mixtures(train, choice.relevant, seed=seed)
    trees["mixture"] = mixture_tree(models, train, limits=limits, pruner=pruner, seed=seed)
    progress("judging")
    background = class_blind(table, trees.values(), choice.relevant, seed)
    verdicts = {name: score_tree(background, tree, test) for name, tree in trees.items()}
    progress("judging the judge")
    others = held_out_model(test, choice.relevant, seed)
    truths = [widen_mixtures(models, train, background), widen_mixtures(others, test, background)]
    verdicts = calibrate_verdicts(verdicts, trees, background, truths, test, seed)
    best = pick_strategy(verdicts, unaware(train, test))
    progress(f"fitting {best} to all records")
    final = _fit(best, table, limits, pruner, seed)
    scores = {name: {"log_loss": v.log_loss, "accuracy": v.accuracy, "error": v.error} for name, v in verdicts.items()}
    why = "; ".join([sentence(best, scores), *([final.notes["why"]] if "why" in final.notes else [])])
    return Fitted(final.tree, final.log_loss, {**final.notes, "strategy": best, "scores": scores, "why": why})


def pick_strategy(verdicts: Mapping[str, Verdict], unaware: float) -> str:
    """Return the strategy to use; `unaware` is the log loss of one who knows the class shares alone.

    Log loss finds out which strategy misses something that matters, but it also rewards fine shades of probability that never
    change an answer. So strategies that lose less than `spare` of the uncertainty stay in, and of these the one is taken whose
    tree is expected to be right most often, or a simpler one that comes within `margin` of it or within the noise of the
    difference.
    """
    margin, spare = 0.004, 0.02
    able = admissible(verdicts, spare * unaware)
    top = max((verdicts[name] for name in able), key=lambda verdict: verdict.accuracy)

    def enough(verdict: Verdict) -> bool:
        return verdict.accuracy >= top.accuracy - max(margin, top.doubt(verdict))

    return next(name for name in SIMPLEST_FIRST if name in able and enough(verdicts[name]))


def unaware(train: Table, test: Table) -> float:
    """Return the log loss of one who knows the shares of the classes and nothing else."""
    return float(-np.log(class_shares(train.codes, len(train.labels)))[test.codes].mean())


def sentence(best: str, scores: Mapping[str, Mapping[str, float]]) -> str:
    """Say why, in words; behind ± stand two standard errors, in points."""

    def said(name: str) -> str:
        score = scores[name]
        doubt = f" ± {200 * score['error']:.1f}" if "error" in score else ""
        return f"{100 * score['accuracy']:.1f} %{doubt}"

    rest = ", ".join(f"{name} {said(name)}" for name in scores if name != best)
    return f"{best}: {said(best)} expected right on held-out records, against {rest}"


def _fit(
    name: str,
    table: Table,
    limits: Limits | None,
    pruner: Pruner | None,
    seed: int,
    attributes: Sequence[str] | None = None,
) -> Fitted:
    """Fit one strategy to one table; joint and mixture choose their attributes on it unless these are given."""
    strategy = STRATEGIES[name]
    if strategy.needs is Needs.ROWS:
        fitted: Fitted = strategy.fit(table, limits=limits, pruner=pruner, seed=seed, attributes=attributes)
        return fitted
    # Leaves stay as counted here: reconstructing them takes attributes to be unrelated within a box, which costs real tables
    # (adult) about as much as it gains on the 2000 paper's functions, where joint is chosen anyway.
    tree = strategy.fit(table, limits, pruner, as_counted=True)

    @cache
    def fit_margins() -> ClassMixtures:
        # What these strategies reconstruct is one distribution for each attribute and class, and no more.
        return fit_mixtures(table, [column.name for column in table.columns], components=1)

    return Fitted(tree, lambda held_out: fit_margins().class_log_loss(held_out), {"attributes": list(tree.used)})
