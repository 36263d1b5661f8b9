"""Several releases of the same rows: independent noise averages out, and the channels say exactly how.

The posterior from releases y₁ … y_k is ∝ π(x) Π K_r(y_r | x): for gaussian noise that is the average, for other laws it is
the right thing in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks._belief import Belief, best_guesses, smallest_sets
from sfumato.attacks.base import CHUNK, Claim, Grants, Knowledge, Recovery, Remedy, ValueAttack, View
from sfumato.channels import MAX_CELLS_AT_ONCE, DenseKernel, Kernel
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.findings import Note
from sfumato.table import Column

LogRows = Callable[[IntArray], FloatArray]
"""Released cells → log K, one row each."""


@dataclass(frozen=True)
class Averaging(ValueAttack):
    """Combine this release with others of the same rows, row by row."""

    name: ClassVar[str] = "averaging"
    title: ClassVar[str] = "Averaging over repeated releases"
    assumes: ClassVar[str] = "The manifests of all releases, and that their rows stand in the same order."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.OTHER_RELEASES})
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF415",
            "Several releases with fresh noise average out. Keep to one release, or tie the noise to people with an id column.",
        ),
        instead=Note(
            "SF415",
            "Several releases with fresh noise average out. The noise of this one is tied to people already, so the others were made "
            "under another law, another key or without an id column: keep to one law and one key, and withdraw what you can.",
        ),
        taken=lambda manifest: manifest.addressing == "entity",
    )
    others: tuple[View, ...] = ()

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with the other releases and those that were drawn again, or say that there are none."""
        others = (*(grants.others or ()), *grants.redrawn)
        return cls(others) if others else "no other release of the same rows was given"

    def run(self, view: View) -> Claim:
        """Return one recovery per column that another release has with fresh noise."""
        recoveries, fresh = [], {}
        for column in view.columns:
            if column.channel is None:
                continue
            views = keep_independent(column, [s[column.name] for s in self.others if column.name in s.names])
            fresh[column.name] = len(views)
            if len(views) > 1:
                recoveries.append(combine_views(view.beliefs[column.name], views[1:]))
        if not recoveries:
            return Claim(notes={"views": fresh}, skipped="the other releases add no independent noise")
        return Claim(tuple(recoveries), {"views": fresh})


def keep_independent(column: Column, others: list[Column]) -> list[Column]:
    """Return the column and those of the others whose noise differs from all before: the same noise again teaches nothing."""
    max_equal = 0.9  # share of equal cells from which two columns hold the same noise
    kept = [column]
    for other in others:
        if len(other.values) != len(column.values):
            continue
        if all(_equal_share(other, k) < max_equal for k in kept):
            kept.append(other)
    return kept


def _equal_share(first: Column, second: Column) -> float:
    if first.channel != second.channel:
        return 0.0
    known = ~np.isnan(first.values) & ~np.isnan(second.values)
    if first.channel is not None and len(np.unique(first.values[known])) <= 50:
        # Few possible values agree by chance too; only complete agreement tells.
        return float(np.array_equal(first.values[known], second.values[known]))
    return float(np.mean(first.values[known] == second.values[known])) if known.any() else 1.0


@dataclass(frozen=True, eq=False)
class Combined:
    """Several views of one column: a table of log-likelihoods and a released cell for each row, view by view."""

    belief: Belief
    views: tuple[tuple[LogRows, IntArray], ...]

    @classmethod
    def of(cls, belief: Belief, others: list[Column]) -> Combined:
        """The column of this release and of others."""
        views = [(_log_rows(belief.kernel), belief.codes)]
        for other in others:
            transition = other.transition(belief.grid)
            views.append((_log_rows(transition.matrix), other.located(transition.observed)))
        return cls(belief, tuple(views))

    @property
    def grid(self) -> Grid:
        """The true cells."""
        return self.belief.grid

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Rows that all views hold, some at a time, with their posterior over the true cells."""
        known = np.flatnonzero(np.all([codes >= 0 for _, codes in self.views], axis=0))
        start = _logs(self.belief.prior)
        step = CHUNK if self.belief.ranked is None else max(1, MAX_CELLS_AT_ONCE // self.belief.grid.size)
        for begin in range(0, len(known), step):
            rows = known[begin : begin + step]
            yield rows, _normalise(start + sum(logs(codes[rows]) for logs, codes in self.views))

    def covers(self, truth: FloatArray) -> FloatArray:
        """Whether the true value lies in the smallest 95 % set of its row."""
        out = np.full(len(truth), np.nan)
        for rows, posterior in self.posteriors():
            there = ~np.isnan(truth[rows])
            credit = smallest_sets(posterior[there], self.belief.widths)
            out[rows[there]] = credit[np.arange(len(credit)), self.belief.grid.locate(truth[rows[there]])]
        return out


def combine_views(belief: Belief, others: list[Column]) -> Recovery:
    """Return the posterior from all views, row by row."""
    views = Combined.of(belief, others)
    mean, pick, width = (np.full(len(belief.codes), np.nan) for _ in range(3))
    for rows, posterior in views.posteriors():
        mean[rows] = posterior @ belief.grid.centres
        pick[rows] = best_guesses(belief.grid, posterior, belief.tolerance)
        width[rows] = smallest_sets(posterior, belief.widths) @ belief.widths
    return Recovery(belief.column.name, mean, pick, width, views)


def _logs(values: FloatArray) -> FloatArray:
    return np.log(np.maximum(values, 1e-300))


def _log_rows(kernel: Kernel) -> LogRows:
    if isinstance(kernel, DenseKernel):
        table = _logs(kernel.dense())
        return lambda codes: table[codes]
    return lambda codes: _logs(kernel.rows(codes))


def _normalise(logs: FloatArray) -> FloatArray:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
