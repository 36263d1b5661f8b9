"""A plan tried in memory on rows of the owner's table. Nothing is released, and its noise is thrown away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.attacks import Belief, LikelihoodLinkage, Targets, View
from sfumato.auditing import BROKEN, judge_columns
from sfumato.counts import FloatArray, IntArray
from sfumato.mining import Scores, score_model
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.table import Column, Original
from sfumato.trees import STRATEGIES, Tree
from sfumato.trees import original as tree_of_truth


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
        """Return what a reader of the release would see who knows the true distribution of every column."""
        key = SecretKey(np.random.default_rng((self.seed, draw)).bytes(32))
        released = {a.name for a in plan.schema if a.released}
        laws = plan.bind()
        columns = tuple(
            c.through(laws[c.name], key.derive(c.name)) if c.name in laws else c
            for c in self.truth.all_columns
            if c.name in released
        )
        view = View(columns, None if self.truth.target is None else self.truth.target.name)
        return view.with_beliefs({c.name: _believe(c, self._values[c.name]) for c in columns})

    @cached_property
    def _values(self) -> dict[str, FloatArray]:
        return {c.name: c.values for c in self.truth.all_columns}

    def share_found(self, plan: Plan) -> float:
        """Return the share of people whose row is found by somebody who knows all their true values.

        Few people are looked for in several draws of the noise.
        """
        min_trials = 1000
        credit = []
        for draw in range(max(1, min_trials // len(self.people)) if self.truth.rows < min_trials else 1):
            view = self.view(plan, draw)
            targets = Targets({n: self._values[n][self.people] for n in view.names})
            credit.append(LikelihoodLinkage(targets).run(view).credit(self.people).mean())
        return float(np.mean(credit))

    def broken_promises(self, plan: Plan) -> list[str]:
        """Return the columns whose promise quick attacks break, on at most some thousand rows."""
        max_rows = 5000
        view = self.view(plan)
        rows = np.sort(np.random.default_rng(self.seed).permutation(view.rows)[:max_rows])
        promises = judge_columns(view.take(rows), {n: self._values[n][rows] for n in view.names}, seed=self.seed)
        return [p.attribute for p in promises if p.verdict == BROKEN]

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
