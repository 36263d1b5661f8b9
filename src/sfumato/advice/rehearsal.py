"""A plan tried in memory on rows of the owner's table. Nothing is released, and its noise is thrown away."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sfumato.advice.goal import Share
from sfumato.attacks import Belief, LikelihoodLinkage, RowGroups, RowOrder, Targets, View
from sfumato.auditing import Promise, distribution, judge_columns
from sfumato.channels import Channel
from sfumato.counts import FloatArray, IntArray
from sfumato.mining import Scores, score_model
from sfumato.plans import Plan
from sfumato.randomness import Entities, SecretKey
from sfumato.table import Column, Original
from sfumato.trees import STRATEGIES, Tree
from sfumato.trees import original as tree_of_truth


def _believe(column: Column, truth: FloatArray) -> Belief:
    grid, mass = distribution(column, truth)
    return Belief(column, column.transition(grid), mass)


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
    groups : RowGroups, optional
        Which rows are one person's, where the plan ties noise to people who have several.
    """

    truth: Original
    rows: int
    seed: int = 0
    groups: RowGroups | None = None
    _beliefs: dict[str, tuple[Channel | None, Belief]] = field(default_factory=dict, repr=False)
    """By column: the law of the plan tried last, and what is believed of a value that it released."""
    _bound: list[tuple[Plan, Mapping[str, Channel]]] = field(default_factory=list, repr=False)
    """The plan tried last, and its laws: few rows are blurred dozens of times by one plan."""
    _judged: dict[tuple[str, int], list[Promise]] = field(default_factory=dict, repr=False)
    """By columns with their laws, and draw of the noise."""

    @cached_property
    def people(self) -> IntArray:
        """Rows of the people who are looked for: fewer where there are more cells to look through."""
        cells = self.truth.rows * len(self.truth.all_columns)
        size = int(np.clip(250_000_000 // max(cells, 1), 200, 1000))
        return np.sort(np.random.default_rng(self.seed).permutation(self.truth.rows)[:size])

    def view(self, plan: Plan, draw: int = 0) -> View:
        """Return what a reader of the release would see who knows the true distribution of every column."""
        return self._blur(plan, (self.seed, draw))

    def _blur(self, plan: Plan, seeds: tuple[int, ...], rows: IntArray | None = None) -> View:
        """Return all rows, or those named, as noise of this seed releases them."""
        key = SecretKey(np.random.default_rng(seeds).bytes(32))
        released = {a.name for a in plan.schema if a.released}
        laws = self._laws(plan)
        truth = self.truth if rows is None else self.truth.take(rows)
        owners = self._owners if rows is None else None
        columns = tuple(
            c.through(laws[c.name], key.derive(c.name), owners) if c.name in laws else c
            for c in truth.all_columns
            if c.name in released
        )
        view = View(columns, None if truth.target is None else truth.target.name)
        return view.with_beliefs({c.name: self._believe(c) for c in columns})

    def _laws(self, plan: Plan) -> Mapping[str, Channel]:
        if not self._bound or self._bound[0][0] is not plan:
            self._bound[:] = [(plan, plan.bind())]
        return self._bound[0][1]

    def _believe(self, column: Column) -> Belief:
        """Return what is believed of a column by somebody who knows its true distribution."""
        law, belief = self._beliefs.get(column.name, (None, None))
        if belief is None or law != column.channel:
            belief = _believe(column, self._values[column.name])
            self._beliefs[column.name] = (column.channel, belief)
        return replace(belief, column=column)

    @cached_property
    def _owners(self) -> Entities | None:
        """The addresses of the noise of each row, where it belongs to people."""
        return None if self.groups is None else Entities.of_numbers(self.groups.person)

    @cached_property
    def _values(self) -> dict[str, FloatArray]:
        return {c.name: c.values for c in self.truth.all_columns}

    def people_found(self, plan: Plan) -> Share:
        """Return the share of people whose row is found by somebody who knows all their true values.

        The rows of the others are blurred once, a person's own row several times: P(found) given the others varies less than
        whether one draw is found. Few people are looked for among several draws of the others.
        """
        min_trials = 1000
        draws = -(-min_trials // len(self.people)) if self.truth.rows < min_trials else 1
        return Share.of(np.mean([self._chances(plan, draw) for draw in range(draws)], axis=0))

    def _chances(self, plan: Plan, draw: int) -> FloatArray:
        """Return each person's chance to be found among one draw of the others."""
        redraws = 16
        view = self.view(plan, draw)
        known = {n: self._values[n][self.people] for n in view.names}
        others = LikelihoodLinkage(Targets(known, without=self.people)).run(view)
        whose = np.repeat(np.arange(len(self.people)), redraws)
        again = self._blur(plan, (self.seed, draw, redraws), self.people[whose])
        own = LikelihoodLinkage(Targets(known)).ratios(again).pairs(whose, np.arange(len(whose)))
        return np.asarray(others.credit_beside(own, whose).reshape(-1, redraws).mean(axis=1))

    def share_of_clear(self, plan: Plan) -> float:
        """Return the share of people found by what is released as it is: the combinations of its values, over the rows."""
        clear = [self._values[a.name] for a in plan.schema if a.released and a.name not in plan.channels]
        rows = self.truth.rows
        if not clear:
            return 1 / self.rows
        return len(np.unique(np.nan_to_num(np.stack(clear), nan=-1e300), axis=1).T) / rows

    def columns_in_order(self, plan: Plan) -> list[str]:
        """Return the columns of which neighbouring rows surely tell something."""
        max_rows = 40_000
        claim = RowOrder().run(self.view(plan).take(np.arange(min(self.truth.rows, max_rows))))
        return [r.attribute for r in claim.recoveries]

    def promises(self, plan: Plan, draw: int = 0) -> list[Promise]:
        """Judge the promise of every column by quick attacks, on at most some ten thousand rows in the order of the release."""
        key = (f"{plan.shuffle} {plan.channels}", draw)
        if key not in self._judged:
            self._judged[key] = self._judge(plan, draw)
        return [replace(p, stated=plan.promises.get(p.attribute)) for p in self._judged[key]]

    def _judge(self, plan: Plan, draw: int) -> list[Promise]:
        max_rows = 40_000
        rows = np.random.default_rng((self.seed, draw)).permutation(self.truth.rows)[:max_rows]
        rows = rows if plan.shuffle else np.sort(rows)
        view = self.view(plan, draw).take(rows)
        truth = {n: self._values[n][rows] for n in view.names}
        groups = None if self.groups is None else replace(self.groups, person=self.groups.person[rows])
        return judge_columns(view, truth, groups=groups, seed=self.seed)

    def accuracies(self, plan: Plan) -> tuple[float, float] | None:
        """Return how often trees of the true and of the blurred rows are right about other rows; None without a class."""
        if self._trial is None:
            return None
        tree, train, test = self._trial
        seen = self.view(plan).take(train).classes()
        if seen is None or not seen.columns:
            return None
        return self._score(tree, test).accuracy, self._score(STRATEGIES["byclass"].grow(seen)[0], test).accuracy

    @cached_property
    def commonest(self) -> float:
        """The share of the commonest class: how often it is right to name it without looking."""
        codes = self.truth.codes[self.truth.codes >= 0]
        return float(np.bincount(codes).max() / len(codes))

    def tree_losses(self, names: Iterable[str]) -> dict[str, float] | None:
        """Return by how many bits a tree's log loss on other rows grows when a column is shuffled; None where no tree can be grown.

        A column that matters only beside another one counts, and one that repeats another does not.
        """
        if self._trial is None:
            return None
        tree, _, test = self._trial
        rows = self.truth.take(test)
        order = np.random.default_rng(self.seed).permutation(len(test))
        usual = self._score(tree, test).log_loss
        losses = {}
        for name in names:
            moved = tuple(c.take(order) if c.name == name else c for c in rows.columns)
            scores = score_model(tree, replace(rows, columns=moved), rows.codes)
            losses[name] = max(scores.log_loss - usual, 0.0) / math.log(2)
        return losses

    @cached_property
    def _trial(self) -> tuple[Tree, IntArray, IntArray] | None:
        """A tree of true rows, the rows that it was grown from, and others to judge it by; None without a class, or with few rows."""
        if self.truth.target is None or not self.truth.columns:
            return None
        max_rows, min_rows = 6000, 60
        known = np.flatnonzero(self.truth.codes >= 0)
        known = np.random.default_rng(self.seed).permutation(known)[:max_rows]
        if len(known) < min_rows or len(np.unique(self.truth.codes[known])) < 2:
            return None
        test, train = known[: len(known) // 3], known[len(known) // 3 :]
        return tree_of_truth(self.truth.take(train)), train, test

    def _score(self, body: Tree, test: IntArray) -> Scores:
        rows = self.truth.take(test)
        return score_model(body, rows, rows.codes)
