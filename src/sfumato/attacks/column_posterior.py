"""Single columns: the released value as it is, and Bayes' rule through the stated law with the distribution as prior.

Reading the release as it is is no attack at all, and what every other attack must beat. The posterior works on every channel. It is
calibrated: its 95 % sets hold the truth in 95 % of the rows. They are what the law leaves, so other attacks are measured by what
they gain over it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief, best_guesses, refine_grid, smallest_sets
from sfumato.attacks.base import CHUNK, Claim, Knowledge, RankedSets, Recovery, Remedy, Scope, Sets, ValueAttack, View
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.findings import Note
from sfumato.table import Column


@dataclass(frozen=True)
class NaiveReading(ValueAttack):
    """Guess the released value, clipped to the domain."""

    name: ClassVar[str] = "at-its-word"
    title: ClassVar[str] = "Released value as it is"
    assumes: ClassVar[str] = "Nothing: the release is read as if it were the original."
    scope: ClassVar[Scope] = Scope.VALUE
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF422", "The released value itself is closer than promised. Check the law.")
    )

    def run(self, view: View) -> Claim:
        """Return one recovery per column."""
        read = [c.as_true() for c in view.columns]
        return Claim(tuple(Recovery(c.name, c.values, clip_to_domain(c, c.values)) for c in read))


def clip_to_domain(column: Column, values: FloatArray) -> FloatArray:
    """Return values clipped to the declared domain."""
    if not column.attribute.kind.numeric:
        return values
    return np.clip(values, column.attribute.interval.low, column.attribute.interval.high)


DISTRIBUTION = Remedy(
    Note(
        "SF411",
        "The distribution of the column, which the release is meant to tell, narrows it. Ask for more privacy, or state the smaller "
        "figure.",
    )
)
"""What to do where a column's own law and distribution narrow its promise."""


@dataclass(frozen=True)
class ColumnPosterior(ValueAttack):
    """Compute E[x | y] for the least squared error, the likeliest value for the most hits, and the smallest 95 % set."""

    name: ClassVar[str] = "posterior"
    title: ClassVar[str] = "Posterior of each column"
    assumes: ClassVar[str] = "The manifest, and the distribution of the column as reconstructed from the release."
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMN
    remedy: ClassVar[Remedy] = DISTRIBUTION

    def run(self, view: View) -> Claim:
        """Return one recovery per column; a guided column states no law, so it has no posterior."""
        stated = [belief for name, belief in view.beliefs.items() if name not in view.guided]
        if not stated:
            return Claim(skipped="no column states a law of single values")
        return Claim(tuple(recover_column(belief) for belief in stated))


def recover_column(belief: Belief) -> Recovery:
    """Return what the belief says about each row; a value released as true is itself."""
    column = belief.column
    if belief.clear:
        nothing = np.where(np.isnan(column.values), np.nan, 0.0)
        return Recovery(column.name, column.values, column.values, nothing)
    return Recovery(
        column.name,
        belief.of_rows(belief.means),
        belief.of_rows(belief.picks),
        belief.of_rows(belief.set_widths),
        Sets(belief.grid, belief.credible, belief.codes, belief.posterior)
        if belief.ranked is None
        else RankedSets(belief.grid, belief.ranked, belief.codes),
    )


@dataclass(frozen=True, eq=False)
class RowSets(ABC):
    """Claimed sets of rows whose posteriors are worked out some at a time."""

    belief: Belief

    @property
    def grid(self) -> Grid:
        """The true cells."""
        return self.belief.grid

    @abstractmethod
    def tables(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield some rows, the place of each in a table of posteriors, and the table."""

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The rows that have a set, some at a time, with their posterior over the true cells."""
        for rows, place, table in self.tables():
            for begin in range(0, len(rows), CHUNK):
                part = slice(begin, begin + CHUNK)
                yield rows[part], table[place[part]]

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place the smallest 95 % set of its row holds."""
        out = np.full(len(truth), np.nan)
        for rows, place, table in self.tables():
            there = ~np.isnan(truth[rows])
            credit = smallest_sets(table, self.belief.widths)
            out[rows[there]] = credit[place[there], self.grid.locate(truth[rows[there]])]
        return out

    def recovery(self) -> Recovery:
        """Return mean, likeliest guess and smallest set of every row."""
        belief = self.belief
        mean, pick, width = (np.full(len(belief.codes), np.nan) for _ in range(3))
        for rows, place, table in self.tables():
            mean[rows] = (table @ self.grid.centres)[place]
            pick[rows] = best_guesses(self.grid, table, belief.tolerance)[place]
            width[rows] = (smallest_sets(table, belief.widths) @ belief.widths)[place]
        return Recovery(belief.column.name, mean, pick, width, self)


@dataclass(frozen=True)
class InformedPosterior(ValueAttack):
    """Apply Bayes' rule with the distribution of the true values as prior."""

    name: ClassVar[str] = "informed-posterior"
    title: ClassVar[str] = "Posterior, distribution known"
    assumes: ClassVar[str] = "The manifest, and the true distribution of each column, though of no single value."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.DISTRIBUTIONS})
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMN
    remedy: ClassVar[Remedy] = DISTRIBUTION
    population: Mapping[str, tuple[Grid, FloatArray]]

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column whose distribution is known."""
        out = []
        for column in view.columns:
            if column.channel is None or column.name not in self.population:
                continue
            grid, mass = refine_grid(*self.population[column.name], column.channel.interval_width(0.95))
            out.append(recover_column(Belief(column, column.transition(grid), mass)))
        return Claim(tuple(out)) if out else Claim(skipped="no column is modified")
