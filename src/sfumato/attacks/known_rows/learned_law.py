"""The law of a guided column, which no release states, learned from a few known rows.

The residuals y − x of the known rows, spread a little, serve as the noise of a number. For labels, the counts of (true, released)
pairs, drawn towards the shares of the release, serve as the matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Claim, KnowsRows, Pairs, Remedy, Scope, ValueAttack, View
from sfumato.attacks.linear.be_dr import BayesEstimate
from sfumato.attacks.posterior.column_posterior import DISTRIBUTION, recover_column
from sfumato.channels import DenseKernel, Transition
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.reconstruction import paper_size
from sfumato.table import Column


@dataclass(frozen=True)
class LearnsLaw(KnowsRows):
    """An attack that learns the law of guided columns from known rows, and goes on as if the release had stated it."""

    guided_only: ClassVar[bool] = True

    def beliefs(self, view: View) -> Mapping[str, Belief]:
        """What the release states, and for guided columns what the known rows teach."""
        return {**view.beliefs, **learn_beliefs(view, self.pairs)}


@dataclass(frozen=True)
class LearnedPosterior(LearnsLaw, ValueAttack):
    """Learn the law of each guided column from known rows, then apply Bayes' rule to all others."""

    name: ClassVar[str] = "learned-posterior"
    title: ClassVar[str] = "Posterior, law learned from known rows"
    assumes: ClassVar[str] = "True values of some rows of the release, and which rows they are."
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMN
    remedy: ClassVar[Remedy] = DISTRIBUTION

    def run(self, view: View) -> Claim:
        """One recovery per guided column with enough known rows."""
        learned = learn_beliefs(view, self.pairs)
        if not learned:
            return Claim(skipped="no guided column has enough known rows to learn its law from")
        return Claim(tuple(recover_column(b) for b in learned.values()), {"known_rows": len(self.pairs.rows)})


@dataclass(frozen=True)
class LearnedBayes(LearnsLaw, BayesEstimate):
    """BE-DR with the noise that the known rows show in the guided columns."""

    name: ClassVar[str] = "learned-bayes"
    title: ClassVar[str] = "Bayes estimate from all columns, law learned from known rows"
    assumes: ClassVar[str] = (
        "True values of some rows of the release, and which rows they are; that the true values are roughly jointly normal."
    )


def learn_beliefs(view: View, pairs: Pairs) -> dict[str, Belief]:
    """Return a belief for each guided column whose law can be learned from the known rows."""
    names = [n for n in view.names if n in view.guided and n in pairs.values]
    beliefs = {n: learn_belief(view[n], pairs.rows, pairs.values[n]) for n in names}
    return {n: b for n, b in beliefs.items() if b is not None}


def learn_belief(column: Column, rows: IntArray, values: FloatArray, min_rows: int = 4) -> Belief | None:
    """Learn the law of a column from the rows whose true values are known; None where fewer than `min_rows` are."""
    pseudo_rows = 2.0  # weight, in rows, of the shares of the whole release in each column of a learned matrix
    released = column.values[rows]
    there = ~np.isnan(released) & ~np.isnan(values)
    if there.sum() < min_rows:
        return None
    x, y = values[there], released[there]
    present = column.values[~np.isnan(column.values)]
    grid = column.true_grid(paper_size(len(present)))
    observed = _observed(column, grid, present)
    shares = np.bincount(observed.locate(present), minlength=observed.size) / len(present)
    if column.attribute.kind.numeric:
        kernel = _noise(grid, observed, y - x, shares)
    else:
        kernel = np.tile(pseudo_rows * shares[:, None], (1, grid.size))
        np.add.at(kernel, (observed.locate(y), grid.locate(x)), 1.0)
    kernel /= kernel.sum(axis=0, keepdims=True)
    mass = np.bincount(grid.locate(present), minlength=grid.size) / len(present)
    return Belief(column, Transition(grid, observed, DenseKernel(kernel)), mass, learned=True)


def _observed(column: Column, grid: Grid, present: FloatArray) -> Grid:
    """Cells of the true grid's width over all released values, which a rotation may have led out of the domain."""
    if not column.attribute.kind.numeric or grid.size == 1:
        return grid
    width = float(np.median(np.diff(grid.finite_edges)))
    low, high = min(present.min(), grid.finite_edges[0]), max(present.max(), grid.finite_edges[-1])
    cells = int(np.clip(np.ceil((high - low) / width), 1, 1000))
    return Grid.cells(low, high, cells) if high > low else grid


def _noise(grid: Grid, observed: Grid, residuals: FloatArray, shares: FloatArray) -> FloatArray:
    """K[s, p] ∝ mean over residuals r of φ((c_s − c_p − r)/h)/h, and a little of the release at large.

    h is Silverman's width, but not below half a cell: finer, the grid would show through.
    """
    broad = 0.02  # share of the noise that may be anything at all
    width = float(np.median(np.diff(observed.finite_edges)))
    spread = min(residuals.std(), np.subtract(*np.quantile(residuals, [0.75, 0.25])) / 1.349)
    h = max(0.9 * spread * len(residuals) ** -0.2, width / 2)
    shifts = observed.centres[:, None] - grid.centres[None, :]
    kernel = np.zeros(shifts.shape)
    for r in residuals[:500]:
        kernel += np.exp(-0.5 * ((shifts - r) / h) ** 2)
    kernel /= np.maximum(kernel.sum(axis=0, keepdims=True), 1e-300)
    return (1 - broad) * kernel + broad * shares[:, None]
