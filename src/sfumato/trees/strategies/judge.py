"""How far to trust a tree: where it starts, how far it is cut back, and how it scores, by released rows that it did not grow from.

A strategy may grow its tree in several ways, the simplest first, and cut it back as if it took 1, 2, 4 … released rows to say what
one true row does (the discount of `MDL`). Each way is tried on part of the rows, and the other rows judge: another one than the
simplest is taken where it predicts the classes of released rows surely better. That alone does not justify cutting a tree back,
since soft leaves predict blurred rows better than right ones do: a mixture model of the held-out rows must say, too, that the
smaller tree is right more often on true rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.hashing import choose_rows, draw_uniform, row_marks
from sfumato.table import Table
from sfumato.trees.grow import MDL, Pruner
from sfumato.trees.strategies.base import Draft, Fitted, keep_classified_rows
from sfumato.trees.strategies.leaf_model import Estimate, LeafModel, LeafTable, SeenColumns, smooth_shares
from sfumato.trees.strategies.products import ClassMixtures, fit_mixtures
from sfumato.trees.tree import Tree

MAX_JUDGED_ROWS = 60_000
"""Rows of a larger table that take part in the choice. The discount says how much a row tells, which more rows do not change."""
DISCOUNTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, math.inf)

Drafter = Callable[[Table], Draft]


@dataclass(frozen=True, eq=False)
class Verdict:
    """How a strategy did on held-out rows, grown and cut back in the way that suits it.

    Attributes
    ----------
    draft
        The way to grow it.
    discount
        How many released rows tell as much as one true row; infinite where no split helps.
    losses
        −ln P(class | released values) of every held-out row.
    folds
        The model of the tree and the held-out rows of every fold.
    """

    draft: Drafter
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


class Trial:
    """A draft that was grown on parts of the rows: a model of its tree for every fold and discount, made when asked for."""

    def __init__(self, draft: Drafter, seen: SeenColumns, parts: Sequence[Table], splits: Sequence[Split]) -> None:
        self.draft, self.held = draft, [held for _, held in splits]
        self._drafts = [draft(part) for part in parts]
        self._grown = [grown for grown, _ in splits]
        self._seen = seen
        self.models = cache(self._models)
        self.losses = cache(self._losses)

    def _models(self, discount: float) -> list[LeafModel]:
        """Return the model of the tree in every fold; where a weaker discount gives the same tree, the same model."""
        weaker = self.models(DISCOUNTS[DISCOUNTS.index(discount) - 1]) if discount > 1 else None
        out = []
        for fold, draft in enumerate(self._drafts):
            tree = draft.cut(MDL(discount))
            same = weaker is not None and tree.nodes == weaker[fold].tree.nodes
            out.append(weaker[fold] if weaker and same else LeafModel(tree, self._seen, self._grown[fold]))
        return out

    def _losses(self, discount: float) -> FloatArray:
        """Return −ln P(class | released values) of every held-out row."""
        pairs = zip(self.models(discount), self.held, strict=True)
        return np.concatenate([model.log_loss(rows, discount) for model, rows in pairs])


def score_leaves(model: LeafModel, table: LeafTable, discount: float) -> dict[str, Estimate]:
    """Return the scores of one tree, from how rows of each class are spread over its leaves; AUC where there are two classes."""
    stated = smooth_shares(model.tree, discount)[model.leaves]
    area = table.auc(stated)
    return {
        "accuracy": table.mean(model.is_right),
        "balanced_accuracy": table.mean_of_classes(model.is_right),
        **({} if area is None else {"auc": area}),
        "log_loss": table.mean(-np.log(np.maximum(stated, 1e-6))),
        "brier": table.mean((stated**2).sum(axis=1, keepdims=True) - 2 * stated + 1),
    }


Split = tuple[IntArray, IntArray]
"""Rows to grow from, and rows to judge by."""


def split_rows(rows: int) -> Iterator[Split]:
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
        few = keep_classified_rows(table.take(np.sort(choose_rows(np.arange(table.rows), MAX_JUDGED_ROWS))))
        self.table = few
        self.seen = SeenColumns(few)
        self.splits = list(split_rows(few.rows))
        self.parts = [few.take(grown) for grown, _ in self.splits]

    def judge(self, drafts: Sequence[Drafter], max_folds: int | None = None) -> Verdict:
        """Grow trees on parts of the rows, and choose the way to grow and the discount; the first and 1 unless others are better."""
        perturbed = any(column.channel is not None for column in self.seen.table.columns)
        splits = self.splits[:max_folds]
        if not splits or not perturbed:
            return Verdict(drafts[0], 1.0, np.zeros(1))
        trials = [Trial(draft, self.seen, self.parts[: len(splits)], splits) for draft in drafts]
        best = trials[0]
        for other in trials[1:]:
            if is_surely_lower(other.losses(1.0), best.losses(1.0)):
                best = other
        discount = self._choose_discount(best)
        if all(model.tree.leaves == 1 for model in best.models(discount)):
            discount = math.inf  # a split of the tree of all rows would not have been judged
        folds = tuple(zip(best.models(discount), best.held, strict=True))
        return Verdict(best.draft, discount, best.losses(discount), folds)

    def _choose_discount(self, trial: Trial) -> float:
        """Return 1, or the discount that both released rows and the mixture model surely prefer to it."""
        min_gain = 0.01  # in accuracy on true rows; the mixture blames small leaves by about as much
        better = [d for d in DISCOUNTS if is_surely_lower(trial.losses(d), trial.losses(1.0))]
        if not better:
            return 1.0
        accuracies = dict.fromkeys((1.0, *better), 0.0)
        for fold, held in enumerate(trial.held):
            candidates = {d: trial.models(d)[fold] for d in accuracies}
            mixtures = self.fit_mixtures([model.tree for model in candidates.values()], held)
            shares = np.bincount(self.seen.table.codes[held], minlength=len(self.seen.table.labels)) / len(held)
            for d, model in candidates.items():
                right = (model.read_mixtures(mixtures) * model.is_right).sum(axis=0)
                accuracies[d] += float(shares @ right) / len(trial.held)
        best = max(accuracies, key=lambda d: accuracies[d])
        return best if accuracies[best] > accuracies[1.0] + min_gain else 1.0

    def fit_mixtures(self, trees: Sequence[Tree], rows: IntArray) -> ClassMixtures:
        """Fit mixtures of products to some rows of each class, on all attributes that one of the trees tests."""
        max_rows = 24_000
        used = {name for tree in trees for name in tree.used}
        names = [column.name for column in self.seen.table.columns if column.name in used]
        table = self.seen.table.take(rows[choose_rows(rows, max_rows)])
        return fit_mixtures(table, names, rows_per_component=20, starts=1)

    def expect_scores(
        self, verdicts: Mapping[str, Verdict], drafts: Mapping[str, Draft]
    ) -> dict[str, dict[str, Estimate]]:
        """Return what each score of every strategy is expected to be on *true* values.

        Trees of part of the rows, judged by the rest, score too low: they saw fewer rows, and a model of few held-out rows is
        blurred. The tree of all rows is flattered by its own rows. The estimate takes the mean. All trees are read by the same
        mixture models, so that chance in these does not tell them apart.
        """
        folds = max(len(verdict.folds) for verdict in verdicts.values())
        held_out: dict[str, list[dict[str, Estimate]]] = {name: [] for name in verdicts}
        for fold in range(folds):
            models = {name: v.folds[fold][0] for name, v in verdicts.items() if fold < len(v.folds)}
            for name, scores in self._score(models, verdicts, self.splits[fold][1]).items():
                held_out[name].append(scores)
        rows = np.arange(self.table.rows)
        trees = {name: draft.cut(verdicts[name].pruner) for name, draft in drafts.items()}
        own = self._score({name: LeafModel(tree, self.seen, rows) for name, tree in trees.items()}, verdicts, rows)
        return {
            name: {
                score: Estimate.pool([fold[score] for fold in held_out[name]]).beside(about)
                for score, about in own[name].items()
                if all(score in fold for fold in held_out[name])
            }
            for name in verdicts
        }

    def _score(
        self, models: Mapping[str, LeafModel], verdicts: Mapping[str, Verdict], rows: IntArray
    ) -> dict[str, dict[str, Estimate]]:
        mixtures = self.fit_mixtures([model.tree for model in models.values()], rows)
        return {
            name: score_leaves(model, model.leaf_table(rows, mixtures), verdicts[name].discount)
            for name, model in models.items()
        }


def is_surely_lower(losses: FloatArray, others: FloatArray) -> bool:
    """Return whether losses of the same rows are lower by more than three paired standard errors."""
    gain = others - losses
    return bool(gain.mean() > 3 * float(gain.std()) / math.sqrt(len(gain)))


def fit_draft(
    table: Table, drafts: Sequence[Drafter], pruner: Pruner | None = None, max_folds: int | None = None
) -> Fitted:
    """Grow a strategy's tree from all rows in the way that held-out rows bear out, or in the first and cut as `pruner` says."""
    draft = drafts[0]
    if pruner is None:
        verdict = Judge(table).judge(drafts, max_folds)
        draft, pruner = verdict.draft, verdict.pruner
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
