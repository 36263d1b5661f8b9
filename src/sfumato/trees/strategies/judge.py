"""How far to trust a tree: cut it back, and score it, by released rows that it did not grow from.

Counts that were reconstructed through noise say less than as many true rows would, and by how much depends on the law, the
table and the strategy. So a tree is grown on part of the rows and cut back as if it took 1, 2, 4 … released rows to say what one
true row does (the discount of `MDL`). Held-out rows tell which of these trees predicts their classes best, and the tree of all rows
is then cut back by the same discount. Where no split helps, the root is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.hashing import choose_rows, draw_uniform, row_marks
from sfumato.table import Table
from sfumato.trees.grow import MDL, Pruner
from sfumato.trees.strategies.base import Draft, Fitted, class_shares, keep_classified_rows
from sfumato.trees.strategies.leaf_model import Estimate, LeafModel, SeenColumns, smooth_shares

MAX_JUDGED_ROWS = 60_000
"""Rows of a larger table that take part in the choice. The discount says how much a row tells, which more rows do not change."""
DISCOUNTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, math.inf)

Drafter = Callable[[Table], Draft]


@dataclass(frozen=True, eq=False)
class Verdict:
    """How a strategy did on held-out rows, at the discount that suits it.

    Attributes
    ----------
    discount
        How many released rows tell as much as one true row; infinite where no split helps.
    losses
        −ln P(class | released values) of every held-out row.
    folds
        The model of the tree and the held-out rows of every fold.
    """

    discount: float
    losses: FloatArray
    folds: tuple[tuple[LeafModel, IntArray], ...] = ()

    @property
    def pruner(self) -> Pruner:
        """What to cut the tree of all rows back with."""
        return MDL(self.discount)

    @property
    def log_loss(self) -> float:
        """The mean loss, in nats: of the classes given *released* values."""
        return float(self.losses.mean())

    def scores(self) -> dict[str, Estimate]:
        """Return what each score is expected to be on *true* values; one that these rows cannot tell is left out."""
        parts = [score_leaves(model, held, self.discount) for model, held in self.folds]
        return {name: Estimate.pool([p[name] for p in parts]) for name in parts[0] if all(name in p for p in parts)}


def score_leaves(model: LeafModel, held_out: IntArray, discount: float) -> dict[str, Estimate]:
    """Return the scores of one tree, from how held-out rows of each class are spread over its leaves."""
    table = model.leaf_table(held_out)
    stated = smooth_shares(model.tree, discount)[model.leaves]
    right = (model.predicted[:, None] == np.arange(stated.shape[1])).astype(np.float64)
    area = table.auc(stated)
    return {
        "accuracy": table.mean(right),
        "balanced_accuracy": table.mean_of_classes(right),
        **({} if area is None else {"auc": area}),
        "log_loss": table.mean(-np.log(np.maximum(stated, 1e-6))),
        "brier": table.mean((stated**2).sum(axis=1, keepdims=True) - 2 * stated + 1),
    }


def split_rows(rows: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield rows to grow from and rows to judge by, a fifth of them: five times where there are few, else once.

    A row's part follows from its number, so it is the same on any engine.
    """
    parts, min_rows_of_one_fold = 5, 6_000
    part = (parts * draw_uniform(row_marks(np.arange(rows)), 11)).astype(np.int64)
    for fold in range(parts if rows < min_rows_of_one_fold else 1):
        held = np.flatnonzero(part == fold)
        if 0 < len(held) < rows:
            yield np.flatnonzero(part != fold), held


class Judge:
    """Holds the rows of a release that trees are judged by, and what their columns look like."""

    def __init__(self, table: Table) -> None:
        table = keep_classified_rows(table.take(np.sort(choose_rows(np.arange(table.rows), MAX_JUDGED_ROWS))))
        self.seen = SeenColumns(table)
        self.splits = list(split_rows(table.rows))
        self.parts = [table.take(grown) for grown, _ in self.splits]

    def is_near(self, losses: FloatArray, best: FloatArray) -> bool:
        """Return whether losses are about as low as the best: within two paired standard errors, or within `spare`.

        The loss of released rows rewards soft leaves before right ones, and does not tell a tree of true values from one of
        blurred values. So `spare`, a few hundredths of what the class shares leave open, decides nothing. Where one was judged on
        fewer folds, the rows of these are compared.
        """
        errors, spare = 2.0, 0.03
        shares = class_shares(self.seen.table.codes, len(self.seen.table.labels))
        shared = min(len(losses), len(best))
        excess = losses[:shared] - best[:shared]
        chance = errors * float(excess.std()) / math.sqrt(shared)
        return bool(excess.mean() <= max(chance, spare * float(-(shares * np.log(shares)).sum())))

    def judge(self, draft: Drafter, max_folds: int | None = None) -> Verdict:
        """Grow a strategy's trees on parts of the rows and choose the discount of the lowest loss, the weakest of near equals.

        A tree that was cut too far is wrong wherever it lacks a border; one that was cut too little, only where it is unsure.
        """
        perturbed = any(column.channel is not None for column in self.seen.table.columns)
        splits = self.splits[:max_folds]
        if not splits or not perturbed:
            return Verdict(1.0, np.zeros(1))
        held = [rows for _, rows in splits]
        folds = [dict(self._models(draft(part), grown)) for part, (grown, _) in zip(self.parts, splits, strict=False)]
        losses = {
            d: np.concatenate([models[d].log_loss(rows, d) for models, rows in zip(folds, held, strict=True)])
            for d in DISCOUNTS
        }
        lowest = min(losses.values(), key=lambda loss: float(loss.mean()))
        discount = next(d for d in DISCOUNTS if self.is_near(losses[d], lowest))
        if all(models[discount].tree.leaves == 1 for models in folds):
            discount = math.inf  # a tree of all rows would not have been judged
        return Verdict(discount, losses[discount], tuple(zip((m[discount] for m in folds), held, strict=True)))

    def _models(self, draft: Draft, grown: IntArray) -> Iterator[tuple[float, LeafModel]]:
        """Yield the model of the tree at every discount; the same tree has one model."""
        model: LeafModel | None = None
        for discount in DISCOUNTS:
            tree = draft.cut(MDL(discount))
            if model is None or tree.nodes != model.tree.nodes:
                model = LeafModel(tree, self.seen, grown)
            yield discount, model


def fit_draft(table: Table, draft: Drafter, pruner: Pruner | None = None, max_folds: int | None = None) -> Fitted:
    """Grow a strategy's tree from all rows and cut it back as held-out rows bear out, or as `pruner` says."""
    pruner = Judge(table).judge(draft, max_folds).pruner if pruner is None else pruner
    whole = draft(table)
    return Fitted(whole.cut(pruner), dict(whole.notes))


def tell_scores(scores: Mapping[str, Estimate]) -> dict[str, dict[str, float]]:
    """Return scores as plain data: the estimate, its standard error and the ends of its 95 % interval."""
    out = {}
    for name, score in scores.items():
        low, high = (max(end, 0.0) for end in score.interval)
        if name in ("accuracy", "balanced_accuracy", "auc"):
            high = min(high, 1.0)
        out[name] = {"estimate": score.value, "se": score.error, "low": low, "high": high}
    return out
