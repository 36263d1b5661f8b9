"""All columns together: what a model of the whole table says of one person's values, and of whose row is whose.

Who analyses a release may model all its columns and draw plausible true rows. An intruder may do the same with one person's row: the
column's own released value goes through its law, and the other columns say with which component of the model the person goes. Draws
are samples from that posterior, so nothing that is learned from draws of a row is beyond it. A sketch of the rows is enough to fit
what there is to know of the population, and the attack is tried on some rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Claim, Grants, LinkAttack, Remedy, Scope, ValueAttack, View
from sfumato.attacks.column_posterior import RowSets
from sfumato.attacks.conditional_posterior import MAX_CELLS, name_large
from sfumato.attacks.linkage import Space
from sfumato.counts import FloatArray, IntArray
from sfumato.findings import Note
from sfumato.hashing import choose_rows
from sfumato.modelling import Facet, FitSettings, TableModel, group_cells
from sfumato.table import Table, correlated_columns

SKETCH = FitSettings(components=(1, 4, 16), starts=1, sketch=5000, passes=(30, 0), rows=5000)
"""How an intruder fits the model: within a second."""
CORRELATED = (
    "the noise of some columns was drawn together, and the model takes columns to be independent given a component"
)


def fit_view(view: View) -> TableModel:
    """Fit the model of what is released, with the distributions of single columns as they were reconstructed already.

    Parameters
    ----------
    view
        What anybody sees of a release.
    """
    return fit_beliefs(Table(view.columns), [view.beliefs[c.name] for c in view.columns])


def fit_beliefs(table: Table, beliefs: Sequence[Belief]) -> TableModel:
    """Fit the model of a sketch of some rows, given what is believed of each column.

    Parameters
    ----------
    table
        The rows.
    beliefs
        The distribution of every column, and its law.
    """
    rows = np.sort(choose_rows(np.arange(table.rows), SKETCH.rows))
    return TableModel.fit(table.take(rows), SKETCH, facets=tuple(facet_of(b, SKETCH.cells) for b in beliefs))


def facet_of(belief: Belief, cells: int) -> Facet:
    """Return a column for the model, from what is believed of it already."""
    gaps = bool(np.isnan(belief.column.values).any())
    numeric = belief.column.attribute.kind.numeric
    first = group_cells(belief.prior, cells) if numeric else np.arange(belief.grid.size)
    least = 0.5 / max(len(belief.codes), 1)
    mass = belief.prior if numeric else (belief.prior + least) / (belief.prior + least).sum()
    return Facet(belief.column, belief.grid, mass, belief.observed, belief.kernel, first, gaps)


@dataclass(frozen=True, eq=False)
class OtherColumns:
    """What the other columns of each row say of one column, by a model of all."""

    model: TableModel
    codes: tuple[IntArray, ...]
    logs: FloatArray
    """log P(component | whole row)."""

    @classmethod
    def of(cls, model: TableModel, codes: Sequence[IntArray]) -> Self:
        """Return what the rows say whose bins these are."""
        whole = model.responsibilities(codes)
        return cls(model, tuple(codes), np.log(np.maximum(whole, 1e-300)))

    def shares(self, place: int) -> FloatArray:
        """Return P(component | the other columns of the row), shape (rows, components); `place` is that of the column.

        P(k | others) ∝ P(k | whole row)/P(own bin | k).
        """
        facet, table = self.model.facets[place], self.model.mixture.tables[place]
        own = self.codes[place]
        seen = np.log(np.maximum((table @ facet.kernel.T)[:, np.maximum(own, 0)].T, 1e-300))
        logs = self.logs - np.where((own >= 0)[:, None], seen, 0.0)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def tilts(self, place: int) -> FloatArray:
        """Return how much likelier each fine cell is in a component than overall; it is alike inside a group of cells."""
        facet, table = self.model.facets[place], self.model.mixture.tables[place]
        size = len(facet.first)
        sizes = np.diff(facet.first, append=facet.fine.size)
        return np.repeat(table[:, :size] / np.maximum(facet.shares[:size], 1e-300), sizes, axis=1)


@dataclass(frozen=True, eq=False)
class TableSets(RowSets):
    """The sets of some rows: each has a prior of its own, that of its other columns."""

    rows: IntArray
    shares: FloatArray
    """P(component | the row's other columns)."""
    tilts: FloatArray
    """By component and cell, the density against the column's own distribution."""

    def tables(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield some rows, their places and the posteriors."""
        step = max(1, 2**20 // self.belief.grid.size)
        for begin in range(0, len(self.rows), step):
            rows = self.rows[begin : begin + step]
            codes = self.belief.codes[rows]
            prior = (self.shares[begin : begin + step] @ self.tilts) * self.belief.prior
            joint = self.belief.kernel.rows(codes) * prior
            total = joint.sum(axis=1, keepdims=True)
            posterior = np.where(total > 1e-280, joint / np.maximum(total, 1e-300), self.belief.posterior[codes])
            yield rows, np.arange(len(rows)), posterior


@dataclass(frozen=True)
class WholeTable(ValueAttack):
    """Compute each value's posterior given the whole released row, by a model of all columns together."""

    name: ClassVar[str] = "whole-table"
    title: ClassVar[str] = "Posterior, given all other columns"
    assumes: ClassVar[str] = (
        "The manifest, and a model of all columns together as fitted to 5,000 rows of the release; tried on 2,000 rows."
    )
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF425",
            "The other columns together say what the value is, more narrowly than its noise promises. Blur the columns that go with it "
            "more, withhold some, or state the smaller figure.",
        ),
        needs_gain=True,
    )
    min_rows: int = 100  # fewer teach no model
    max_rows: int = 2000  # on which it is tried

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column."""
        untried = name_large(view)
        if correlated_columns(view.columns):
            return Claim(skipped=CORRELATED, untried=untried)
        if view.rows < self.min_rows or len(view.columns) < 2:
            return Claim(skipped="too few rows or columns to model together", untried=untried)
        if all(c.channel is None for c in view.columns):
            return Claim(skipped="no column states a law of single values", untried=untried)
        model = view.table_model
        if model.mixture.size < 2:
            return Claim(skipped="columns do not surely depend on each other", untried=untried)
        rows = np.sort(choose_rows(np.arange(view.rows), self.max_rows))
        tried = [view[name].take(rows) for name in model.names]
        others = OtherColumns.of(model, [f.codes(c) for f, c in zip(model.facets, tried, strict=True)])
        recoveries = []
        for place, facet in enumerate(model.facets):
            belief = view.beliefs[facet.name]
            if facet.column.channel is None or not 1 < belief.grid.size <= MAX_CELLS:
                continue
            known = np.flatnonzero(belief.codes[rows] >= 0)
            sets = TableSets(belief, rows[known], others.shares(place)[known], others.tilts(place))
            recoveries.append(replace(sets.recovery(), title=self.title))
        return Claim(tuple(recoveries), {"model": model.chosen["components"]}, untried=untried)


@dataclass(frozen=True)
class DrawnLinkage(LinkAttack):
    """Take the row whose plausible true rows are nearest: Gower's distance to several draws of it, one after the other."""

    name: ClassVar[str] = "drawn-linkage"
    title: ClassVar[str] = "Linkage of a sample to draws of its rows"
    assumes: ClassVar[str] = (
        "True values of the targets, that exactly these people make up the rows at hand, and a model of all columns together as fitted "
        "to 5,000 rows of the release."
    )
    seed: int = 0
    among: IntArray | None = None
    draws: int = 5

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack on the first people only, or say why there is no model."""
        max_people, min_rows = 400, 100
        if correlated_columns(grants.view.columns):
            return CORRELATED
        if grants.view.rows < min_rows or len(grants.view.columns) < 2:
            return "too few rows or columns to model together"
        few = {n: values[:max_people] for n, values in (grants.people or {}).items()}
        among = None if grants.among is None else grants.among[:max_people]
        return super().prepare(replace(grants, people=few, among=among))

    def run(self, view: View) -> IntArray:
        """Return for each target one of the rows `among` which the targets are; all rows by default, as many as targets."""
        rows = np.arange(view.rows) if self.among is None else self.among
        model, part = view.table_model, Table(tuple(c.take(rows) for c in view.columns))
        total = np.zeros((self.targets.size, len(rows)), np.float32)
        for number in range(self.draws):
            drawn = replace(view, columns=model.draw(part, rows, f"intruder {number}").columns)
            space = Space.of(drawn, self.targets.known, list(self.targets.known), self.seed)
            total[:, space.order] += space.distances(self.targets.known, slice(0, self.targets.size))
        order = np.random.default_rng((self.seed, 7411)).permutation(len(rows))
        return rows[order[np.argmin(total[:, order], axis=1)]]

    def chance(self, rows: int) -> float:
        """Return the success of a random pick among the rows at hand."""
        return 1 / (rows if self.among is None else len(self.among))
