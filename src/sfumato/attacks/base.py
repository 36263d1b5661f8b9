"""What an intruder holds, and what an attack hands over. No signature here has a place for the original.

An attack is a frozen dataclass: its fields are the side knowledge it is granted, `run` takes what anybody can see of a
release, and what comes back is a claim. Only `score` lays a claim beside the truth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks._belief import CONFIDENCE, Belief
from sfumato.attacks._learned import learned_belief
from sfumato.attacks._ranked_labels import RankedLabels
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.releases import Release
from sfumato.table import Column, Table
from sfumato.text import join_names

ATTACKS: dict[str, type[Attack]] = {}
"""Every attack by its name; importing its module enters it here."""
CHUNK = 2048
"""Rows whose posteriors are held at a time."""


@dataclass(frozen=True, eq=False)
class View:
    """What anybody sees of one release: its columns with their laws (the class is one of them), and its name.

    ``noise`` is the covariance of the noise of the numeric columns, in their order, where it is known better than from the
    laws of the columns and the joint law that some of them may share.
    """

    columns: tuple[Column, ...]
    target: str | None = None
    name: str = ""
    noise: FloatArray | None = None
    guided: Mapping[str, str] = field(default_factory=dict)
    """Columns that a method bent around a pattern of the table, and which: no law of single values is stated for them."""
    friends: Pairs | None = None
    """Records that the intruder knows, from which the law of a guided column can be learned."""

    @classmethod
    def of(cls, release: Release, table: Table | None = None) -> View:
        """What a recipient of the release sees; `table` holds some of its rows where not all are looked at."""
        table = release.observed() if table is None else table
        target = release.manifest.schema.target
        guided = {c.attribute.name: c.guided for c in release.manifest.columns if c.guided is not None}
        return cls(table.all_columns, target.name if target else None, release.manifest.name, guided=guided)

    @property
    def rows(self) -> int:
        """N."""
        return len(self.columns[0].values) if self.columns else 0

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(f"there is no column {name!r}; the columns are {join_names(c.name for c in self.columns)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def numeric(self) -> tuple[Column, ...]:
        """The columns with distances that vary at all."""
        return tuple(c for c in self.columns if c.attribute.kind.numeric and _varies(c.values))

    @cached_property
    def beliefs(self) -> Mapping[str, Belief]:
        """For every column: the reconstructed distribution, and the posterior of each released cell."""
        return {c.name: self._belief(c) for c in self.columns}

    def _belief(self, column: Column) -> Belief:
        if column.name in self.guided and self.friends is not None and column.name in self.friends.values:
            return learned_belief(column, self.friends.rows, self.friends.values[column.name])
        return Belief.of(column)

    def take(self, rows: NDArray[np.bool_] | IntArray) -> View:
        """Some of the rows."""
        part = replace(self, columns=tuple(c.take(rows) for c in self.columns), friends=None)
        if "beliefs" in self.__dict__ or self.guided:
            # What the whole release taught is kept: only the rows are fewer.
            part.__dict__["beliefs"] = {c.name: replace(self.beliefs[c.name], column=c) for c in part.columns}
        return part

    def classes(self) -> Table | None:
        """The release as a miner takes it, if it has a class of labels."""
        if self.target is None or self[self.target].attribute.kind.numeric:
            return None
        target = self[self.target]
        rest = tuple(c for c in self.columns if c.name != self.target)
        return Table(rest, target) if rest else None


@dataclass(frozen=True, eq=False)
class Targets:
    """People of whom the intruder knows some true values, but not which row is theirs.

    ``without`` serves controls only: for each target a row that is struck from the release before the attack, so that the
    release is as if it had been made without the target. Rows are blurred one by one, so nothing else would differ.
    """

    known: Mapping[str, FloatArray]
    without: IntArray | None = None

    @property
    def size(self) -> int:
        """How many."""
        return len(next(iter(self.known.values()))) if self.known else 0


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows whose true values the intruder happens to know, such as their own and their friends'."""

    rows: IntArray
    values: Mapping[str, FloatArray]


class Claimed(Protocol):
    """Sets in which an attack places the values, each with 95 %."""

    @property
    def grid(self) -> Grid:
        """The true cells."""

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The rows that have a set, some at a time, with their posterior over the true cells."""

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place its set holds; NaN where there is none."""


@dataclass(frozen=True, eq=False)
class Sets:
    """A set of 95 % posterior probability for each released cell: `credit[s, p]` of true cell p, 1 inside, 0 outside."""

    grid: Grid
    credit: FloatArray
    codes: IntArray
    posterior: FloatArray

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The posterior of each row's released cell, for the rows that have one."""
        known = np.flatnonzero(self.codes >= 0)
        for begin in range(0, len(known), CHUNK):
            rows = known[begin : begin + CHUNK]
            yield rows, self.posterior[self.codes[rows]]

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place the set holds; NaN where either is missing."""
        known = (self.codes >= 0) & ~np.isnan(truth)
        out = np.full(len(truth), np.nan)
        out[known] = self.credit[self.codes[known], self.grid.locate(truth[known])]
        return out


@dataclass(frozen=True, eq=False)
class RankedSets:
    """The same over many labels, of which nothing is held: sets are found again when they are asked for."""

    grid: Grid
    ranked: RankedLabels
    codes: IntArray

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The posterior of each row's released cell, for the rows that have one."""
        known = np.flatnonzero(self.codes >= 0)
        for part in self.ranked.kernel.in_parts(known):
            yield known[part], self.ranked.dense(self.codes[known[part]])

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place the set holds; NaN where either is missing."""
        before, own = self.places(truth)
        share = np.clip((CONFIDENCE - before) / np.where(own > 0, own, 1.0), 0.0, 1.0)
        return np.where(np.isnan(before), np.nan, np.where(own > 0, share, 0.0))

    def places(self, truth: FloatArray, doubt: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """For each row the probability of all labels before the true one, and its own; NaN where either is missing."""
        known = np.flatnonzero((self.codes >= 0) & ~np.isnan(truth))
        before, own = np.full(len(truth), np.nan), np.full(len(truth), np.nan)
        ranked = replace(self.ranked, doubt=doubt)
        before[known], own[known] = ranked.places(self.codes[known], self.grid.locate(truth[known]))
        return before, own

    def widths(self, level: float, doubt: float = 0.0) -> FloatArray:
        """The sizes of the sets of another level; NaN where there is none."""
        out = np.full(len(self.codes), np.nan)
        known = self.codes >= 0
        seen, where = np.unique(self.codes[known], return_inverse=True)
        out[known] = replace(self.ranked, doubt=doubt).guesses(seen, level)[1][where]
        return out


@dataclass(frozen=True, eq=False)
class Recovery:
    """Guesses at the values of one attribute.

    ``mean`` is meant to have the least squared error, ``pick`` to be near the truth most often; ``width`` is the size of
    the interval or set in which the attack places the value with 95 %, where it says so.
    """

    attribute: str
    mean: FloatArray
    pick: FloatArray
    width: FloatArray | None = None
    sets: Claimed | None = None


@dataclass(frozen=True, eq=False)
class Claim:
    """What an attack hands over: recovered values, or a note why it does not apply."""

    recoveries: tuple[Recovery, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Attack(ABC):
    """One way to learn more than was meant. Subclasses are frozen dataclasses of what the intruder is granted."""

    name: ClassVar[str]
    title: ClassVar[str]
    assumes: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            ATTACKS[cls.name] = cls

    @abstractmethod
    def run(self, view: View) -> Any:
        """The claim."""


def _varies(values: FloatArray) -> bool:
    present = values[~np.isnan(values)]
    return bool(len(present) and present.min() < present.max())
