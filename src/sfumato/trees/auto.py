"""The strategy `auto`: try what there is on part of the release, judge it on the rest, and use the best on all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from sfumato.counts import FloatArray
from sfumato.observed import ObservedTable
from sfumato.trees.axes import class_shares, classified
from sfumato.trees.choice import choose_attributes
from sfumato.trees.fitted import Fitted, Progress, quiet
from sfumato.trees.grow import Limits
from sfumato.trees.heldout import Verdict, admissible, class_blind, judged, split
from sfumato.trees.joint import best_set, candidate_sets, fit_joint
from sfumato.trees.mixture import ClassMixtures, fit_mixture, fit_mixtures
from sfumato.trees.prune import Pruner
from sfumato.trees.strategies import STRATEGIES

SPARE = 0.02
"""The share of the uncertainty about the class that a strategy may leave standing where another removes it."""

MARGIN = 0.004
"""A more elaborate strategy must promise so much more accuracy than a simpler one."""

Candidate = tuple[str, tuple[str, ...]]
"""A strategy, and the attributes it is to use where it has to be told."""


def fit_auto(
    table: ObservedTable,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fitted:
    """Choose among byclass, local, joint and mixture by how their trees do on held-out released records.

    ``notes`` holds the `strategy` that was chosen, the `scores` of all (`log_loss` in nats and expected `accuracy`, both on
    held-out records and through the noise), and `why`.
    """
    table, _ = classified(table)
    tell = progress or quiet
    if all(column.channel is None for column in table.columns):
        fitted = _fit(("byclass", ()), table, limits, pruner, seed)
        why = "nothing is perturbed, so there is nothing to reconstruct"
        return Fitted(fitted.tree, fitted.log_loss, {"strategy": "byclass", "scores": {}, "why": why})
    train, test = split(table, seed)
    tell("choosing attributes")
    choice = choose_attributes(train, seed=seed)
    candidates: list[Candidate] = [("byclass", ()), ("local", ())]
    candidates += [("joint", names) for names in candidate_sets(choice)]
    candidates += [("mixture", choice.relevant)]
    trees = {}
    for candidate in candidates:
        tell(f"trying {shown(candidate)}")
        trees[candidate] = _fit(candidate, train, limits, pruner, seed).tree
    tell("judging")
    background = class_blind(table, trees.values(), choice.relevant, seed)
    verdicts = {candidate: judged(background, tree, test) for candidate, tree in trees.items()}
    best = picked(verdicts, unaware(train, test))
    tell(f"fitting {shown(best)} to all records")
    final = _fit(best, table, limits, pruner, seed)
    scores = {shown(c): {"log_loss": v.log_loss, "accuracy": v.accuracy} for c, v in verdicts.items()}
    notes = {**final.notes, "strategy": best[0], "scores": scores, "why": sentence(shown(best), scores)}
    return Fitted(final.tree, final.log_loss, notes)


def picked(verdicts: Mapping[Candidate, Verdict], unaware: float) -> Candidate:
    """First the best joint map, then the strategy; `unaware` is the log loss of class shares alone.

    Log loss finds out who misses something that matters, but it also rewards fine shades of probability that never change
    an answer. So strategies that lose less than `SPARE` of the uncertainty stay in, and of these the one is taken whose tree
    is expected to be right most often, or a simpler one that comes within `MARGIN` of it.
    """
    joints = {names: verdict for (name, names), verdict in verdicts.items() if name == "joint"}
    best = ("joint", best_set(joints))
    left = {c: v for c, v in verdicts.items() if c[0] != "joint" or c == best}
    able = admissible(left, SPARE * unaware)
    top = max(left[candidate].accuracy for candidate in able)
    return next(candidate for candidate in able if left[candidate].accuracy >= top - MARGIN)


def unaware(train: ObservedTable, test: ObservedTable) -> float:
    """The log loss of one who knows the shares of the classes and nothing else."""
    assert train.classes is not None
    assert test.classes is not None
    return float(-np.log(class_shares(train.classes, len(train.labels)))[test.classes].mean())


def shown(candidate: Candidate) -> str:
    """A candidate in words."""
    name, attributes = candidate
    return f"{name} of {', '.join(attributes)}" if name == "joint" and attributes else name


def sentence(best: str, scores: Mapping[str, Mapping[str, float]]) -> str:
    """Why, in words."""
    rest = ", ".join(f"{name} {100 * score['accuracy']:.1f} %" for name, score in scores.items() if name != best)
    return f"{best}: {100 * scores[best]['accuracy']:.1f} % expected right on held-out records, against {rest}"


def _fit(candidate: Candidate, table: ObservedTable, limits: Limits | None, pruner: Pruner | None, seed: int) -> Fitted:
    name, attributes = candidate
    if name in ("joint", "mixture"):
        fit = fit_joint if name == "joint" else fit_mixture
        return fit(table, limits=limits, pruner=pruner, seed=seed, attributes=attributes)
    tree = STRATEGIES[name](table, limits, pruner)

    @cache
    def reconstructed() -> ClassMixtures:
        # What these strategies reconstruct is one distribution for each attribute and class, and no more.
        return fit_mixtures(table, [column.name for column in table.columns], components=1)

    def log_loss(held_out: ObservedTable) -> FloatArray:
        return reconstructed().class_log_loss(held_out)

    return Fitted(tree, log_loss, {"attributes": list(tree.used)})


__all__: Sequence[str] = ["fit_auto", "picked"]
