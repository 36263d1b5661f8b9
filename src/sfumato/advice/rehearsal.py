"""A plan tried in memory on rows of the owner's table. Nothing is released, and its noise is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.attacks import Belief, LikelihoodLinkage, Targets, View
from sfumato.counts import FloatArray, IntArray
from sfumato.mining import Scores, score_model
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.table import Column, Original
from sfumato.trees import STRATEGIES, Tree
from sfumato.trees import original as tree_of_truth


@dataclass(frozen=True)
class QuickLinkage(LikelihoodLinkage):
    """Link people by an intruder who knows the true distribution of every column, so that nothing has to be reconstructed."""

    truth: Mapping[str, FloatArray] = field(default_factory=dict)

    def beliefs(self, view: View) -> Mapping[str, Belief]:
        """Return the law of each column beside its true distribution."""
        return {c.name: _believe(c, self.truth[c.name]) for c in view.columns}


def _believe(column: Column, truth: FloatArray) -> Belief:
    grid = column.true_grid(100)
    known = truth[~np.isnan(truth)]
    counts = np.bincount(grid.locate(known), minlength=grid.size) if len(known) else np.ones(grid.size)
    return Belief(column, column.transition(grid), counts / counts.sum())


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Rows of a table, on which plans are tried under the same noise, so that two plans differ by themselves alone.

    Parameters
    ----------
    truth : Original
        The rows.
    rows : int
        How many rows the whole table has.
    seed : int
        Equal seeds give equal figures.
    """

    truth: Original
    rows: int
    seed: int = 0

    @cached_property
    def people(self) -> IntArray:
        """Rows of the people who are looked for: fewer where there are more cells to look through."""
        cells = self.truth.rows * len(self.truth.all_columns)
        size = int(np.clip(250_000_000 // max(cells, 1), 200, 1000))
        return np.sort(np.random.default_rng(self.seed).permutation(self.truth.rows)[:size])

    def view(self, plan: Plan, draw: int = 0) -> View:
        """Return what a reader of the release would see."""
        key = SecretKey(np.random.default_rng((self.seed, draw)).bytes(32))
        released = {a.name for a in plan.schema if a.released}
        laws = plan.bind()
        columns = tuple(
            c.through(laws[c.name], key.derive(c.name)) if c.name in laws else c
            for c in self.truth.all_columns
            if c.name in released
        )
        return View(columns, None if self.truth.target is None else self.truth.target.name)

    def share_found(self, plan: Plan) -> float:
        """Return the share of people whose row is found by somebody who knows all their true values.

        Few people are looked for in several draws of the noise.
        """
        min_trials = 1000
        truth = {c.name: c.values for c in self.truth.all_columns}
        credit = []
        for draw in range(max(1, min_trials // len(self.people)) if self.truth.rows < min_trials else 1):
            view = self.view(plan, draw)
            targets = Targets({n: truth[n][self.people] for n in view.names})
            credit.append(QuickLinkage(targets, truth).run(view).credit(self.people).mean())
        return float(np.mean(credit))

    def accuracies(self, plan: Plan) -> tuple[float, float] | None:
        """Return how often trees of the true and of the blurred rows are right about other rows; None without a class."""
        if self.truth.target is None:
            return None
        max_rows, min_rows = 6000, 60
        known = np.flatnonzero(self.truth.codes >= 0)
        known = np.random.default_rng(self.seed).permutation(known)[:max_rows]
        if len(known) < min_rows or len(np.unique(self.truth.codes[known])) < 2:
            return None
        test, train = known[: len(known) // 3], known[len(known) // 3 :]
        seen = self.view(plan).take(train).classes()
        if seen is None:
            return None
        return (
            self._score(tree_of_truth(self.truth.take(train)), test).accuracy,
            self._score(STRATEGIES["byclass"].grow(seen)[0], test).accuracy,
        )

    def _score(self, body: Tree, test: IntArray) -> Scores:
        rows = self.truth.take(test)
        return score_model(body, rows, rows.codes)
