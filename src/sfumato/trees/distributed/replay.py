"""A worker finds a row's node and codes from the history of the tree so far: no state is kept of a row.

A tree grows in steps. A step sends rows to their children, and may associate rows of some nodes anew with cells of
their true values. Associations are lists of thresholds (see `strategies.association` for what they mean,
`order_statistics` for how they are found), so that a row's code follows from its released value, its number and its node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, Grid, IntArray, Sums
from sfumato.hashing import WordArray, draw_uniform, row_marks
from sfumato.table import Column, Table
from sfumato.trees.distributed.order_statistics import MAX_WORD, Gathered, SlotsByColumn, order_words
from sfumato.trees.grow import CellArray, Growth, Splits
from sfumato.trees.strategies import CodeArray, spread, tally

ALWAYS = (np.uint64(0), np.int64(-1))
NEVER = (MAX_WORD, np.iinfo(np.int64).max)
"""Thresholds, as (word, row), that every row has reached, and that no row reaches."""


@dataclass(frozen=True, eq=False)
class ColumnRule:
    """How one column becomes codes: its grids, and whether its law has finitely many outputs or none at all."""

    place: int
    grid: Grid
    observed: Grid
    discrete: bool
    exact: bool

    def cells(self, column: Column) -> IntArray:
        """Return the observed cell of each row, −1 where the value is missing."""
        if self.discrete or self.exact:
            return column.locate(self.observed)
        cells = np.searchsorted(self.observed.inner_cuts, column.values, side="right").astype(np.int64)
        cells[np.isnan(column.values)] = -1
        return cells


@dataclass(frozen=True, eq=False)
class CodeThresholds:
    """Thresholds by group and boundary: a row's code is the number of them that it does not lie below."""

    words: WordArray
    rows: IntArray

    def codes(self, group: IntArray, words: WordArray, rows: IntArray) -> IntArray:
        """Return codes of rows of the given groups."""
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(len(self.words) + 1))
        out = np.empty(len(group), np.int64)
        for g in np.flatnonzero(np.diff(ends)).tolist():
            some = order[ends[g] : ends[g + 1]]
            left = np.searchsorted(self.words[g], words[some], side="left")
            right = np.searchsorted(self.words[g], words[some], side="right")
            for i in np.flatnonzero(right > left).tolist():  # the few rows that a threshold was taken from
                left[i] += int((self.rows[g, left[i] : right[i]] <= rows[some[i]]).sum())
            out[some] = left
        return out


@dataclass(frozen=True, eq=False)
class KeepThresholds:
    """Rows before the threshold of their group and shown category keep it; `moved` gives the others their codes."""

    words: WordArray
    rows: IntArray
    moved: CodeThresholds | None = None

    def stay(self, group: IntArray, cells: IntArray, words: WordArray, rows: IntArray) -> BoolArray:
        """Return which rows keep the category they show."""
        at, row = self.words[group, cells], self.rows[group, cells]
        return np.asarray((words < at) | ((words == at) & (rows < row)))


@dataclass(frozen=True, eq=False)
class GrowthStep:
    """Where rows go (nowhere in the first step), and which groups are associated anew: by column a table of (node, class)."""

    splits: Splits | None
    is_open: BoolArray | None
    groups: Mapping[int, IntArray]
    assigned: Mapping[int, CodeThresholds | KeepThresholds]


class ReplayedRows:
    """The rows of one block, at the nodes that the steps so far lead them to."""

    def __init__(
        self, table: Table, rows: IntArray, rules: tuple[ColumnRule, ...], steps: tuple[GrowthStep, ...] = ()
    ) -> None:
        known = np.flatnonzero(table.codes >= 0)
        self.rules = rules
        self.columns = [c.take(known) for c in table.columns]
        self.rows, self.classes = rows[known], table.codes[known]
        self.at = np.arange(len(known))
        """Rows that are still in an open node."""
        self.slot = np.zeros(len(known), np.int64)
        self.codes: list[CodeArray] = [
            r.cells(c).astype(np.int16) if r.exact else np.full(len(known), -1, np.int16)
            for r, c in zip(rules, self.columns, strict=True)
        ]
        self._cells: dict[int, IntArray] = {}
        self._words: dict[tuple[int, int], WordArray] = {}
        for step in steps:
            self._apply_step(step)

    def _apply_step(self, step: GrowthStep) -> None:
        if step.splits is not None and step.is_open is not None:
            self._route(step.splits, step.is_open)
        for column, assigned in step.assigned.items():
            group = self.group(step.groups[column])
            cells = self.cells(column)
            some = np.flatnonzero((group >= 0) & (cells >= 0))
            at, group = self.at[some], group[some]
            words = self.words(column, 0)[at]
            if isinstance(assigned, CodeThresholds):
                self.codes[column][at] = assigned.codes(group, words, self.rows[at])
                continue
            stays = assigned.stay(group, cells[some], words, self.rows[at])
            self.codes[column][at[stays]] = cells[some[stays]]
            if assigned.moved is not None:
                moving = at[~stays]
                others = self.words(column, 1)[moving]
                self.codes[column][moving] = assigned.moved.codes(group[~stays], others, self.rows[moving])

    def _route(self, splits: Splits, is_open: BoolArray) -> None:
        attribute = splits.attribute[self.slot]
        going = attribute >= 0
        at, slot, attribute = self.at[going], self.slot[going], attribute[going]
        cell = np.empty(len(at), np.int64)
        for column in np.unique(attribute).tolist():
            tested = attribute == column
            cell[tested] = self.codes[column][at[tested]] + 1
        child = splits.first[slot] + splits.branch[slot, cell]
        new = np.where(is_open, np.cumsum(is_open) - 1, -1)[child]
        self.at, self.slot = at[new >= 0], new[new >= 0]

    def group(self, table: IntArray) -> IntArray:
        """Return the group of each row in an open node, −1 for none."""
        return table[self.slot, self.classes[self.at]]

    def cells(self, column: int) -> IntArray:
        """Return the observed cell of each row in an open node."""
        if column not in self._cells:
            self._cells[column] = self.rules[column].cells(self.columns[column])
        return self._cells[column][self.at]

    def words(self, column: int, turn: int) -> WordArray:
        """Return the numbers by which all rows are sorted: by released value, or by a draw; `turn` 1 is another draw."""
        if (column, turn) not in self._words:
            rule, released = self.rules[column], self.columns[column]
            draw = draw_uniform(row_marks(self.rows), 2 * rule.place + turn)
            if rule.discrete:
                words = (draw * 2.0**53).astype(np.uint64)  # draws are multiples of 2⁻⁵³, so this is exact
            else:
                words = order_words(released.values if rule.exact else spread(released, draw))
            self._words[column, turn] = words
        return self._words[column, turn]


@dataclass(frozen=True, eq=False)
class History:
    """What every count of a growing tree starts from: rules, and the steps so far."""

    rules: tuple[ColumnRule, ...]
    steps: tuple[GrowthStep, ...]

    def records(self, table: Table, rows: IntArray) -> ReplayedRows:
        """Return the rows of a block at their nodes."""
        return ReplayedRows(table, rows, self.rules, self.steps)


@dataclass(frozen=True, eq=False)
class Histograms:
    """Count rows by node, class and cell of every column, for the open nodes from `first` on."""

    history: History
    first: int
    nodes: int

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return one array per column."""
        records = self.history.records(table, rows)
        k = len(table.labels)
        some = (records.slot >= self.first) & (records.slot < self.first + self.nodes)
        at = records.at[some]
        base = (records.slot[some] - self.first) * k + records.classes[at]
        out = {}
        for column, rule in enumerate(self.history.rules):
            size = rule.grid.size + 1
            counts = np.bincount(base * size + records.codes[column][at] + 1, minlength=self.nodes * k * size)
            out[column] = counts.reshape(self.nodes, k, size)
        return Sums(out)


@dataclass(frozen=True, eq=False)
class ShownLeaves:
    """Count rows by class and the leaf that their released values lead to, unadjusted."""

    rules: tuple[ColumnRule, ...]
    growth: Growth
    shown: Mapping[int, CellArray]
    """For every attribute that is tested, the shown cell of each observed one (`leaves.shown_cells`)."""

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return one array."""
        records = ReplayedRows(table, rows, self.rules)
        shown = {a: cells[records.cells(a)] for a, cells in self.shown.items()}
        return Sums({"seen": tally(self.growth, shown, records.classes)})


@dataclass(frozen=True, eq=False)
class GroupCells:
    """Count rows by group and observed cell of some columns, with the least and the largest number in each."""

    history: History
    groups: Mapping[int, IntArray]

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return three arrays per column."""
        records = self.history.records(table, rows)
        out: dict[Any, NDArray[Any]] = {}
        for column, groups in self.groups.items():
            size, total = self.history.rules[column].observed.size, int(groups.max()) + 1
            group, cells = records.group(groups), records.cells(column)
            some = (group >= 0) & (cells >= 0)
            key = group[some] * size + cells[some]
            words = records.words(column, 0)[records.at[some]]
            low = np.full(total * size, MAX_WORD)
            high = np.zeros(total * size, np.uint64)
            np.minimum.at(low, key, words)
            np.maximum.at(high, key, words)
            out["sum", column] = np.bincount(key, minlength=total * size).reshape(total, size)
            out["min", column], out["max", column] = low, high
        return Sums(out)


@dataclass(frozen=True, eq=False)
class RankQuestions:
    """Where rows stand among the wanted ranks: by group and cell, or among those that move."""

    history: History
    groups: Mapping[int, IntArray]
    slots: SlotsByColumn
    moving: Mapping[int, KeepThresholds]
    gathers: bool

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return counts by slot and part, or the rows themselves where few are left."""
        records = self.history.records(table, rows)
        out: dict[int, Any] = {}
        for column, slots in self.slots.items():
            lists, words = self._lists(records, column)
            if self.gathers:
                some, slot = slots.locate(lists, words)
                out[column] = Gathered(slot, words[some], records.rows[records.at[some]])
            else:
                out[column] = slots.counts(lists, words)
        return Sums(out)

    def _lists(self, records: ReplayedRows, column: int) -> tuple[IntArray, WordArray]:
        group, cells = records.group(self.groups[column]), records.cells(column)
        size = self.history.rules[column].observed.size
        words = records.words(column, 0)[records.at]
        none = (group < 0) | (cells < 0)
        if self.history.rules[column].exact:
            return np.where(none, -1, 0), words
        if column not in self.moving:
            return np.where(none, -1, group * size + cells), words
        stays = self.moving[column].stay(np.maximum(group, 0), np.maximum(cells, 0), words, records.rows[records.at])
        return np.where(none | stays, -1, group), records.words(column, 1)[records.at]
