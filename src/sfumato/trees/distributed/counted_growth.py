"""The strategies of the 2000 paper from counts alone: the same trees as from the rows, which no one machine holds.

One fold over the rows per level counts them by node, class and cell. Associating values with intervals takes a few more:
one for the counts that are reconstructed, then those that find the thresholds (`order_statistics`). By class and global do
it once; local does it at every level that has a node large enough. A last fold counts what the leaves show
(`strategies.leaf_counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Discrete
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, Sums
from sfumato.engines import Needs
from sfumato.errors import DataError, UsageError
from sfumato.hashing import WordArray
from sfumato.reconstruction import paper_size
from sfumato.table import Column, Table, correlated_columns, refuse_correlated_noise
from sfumato.text import join_names
from sfumato.trees.distributed.order_statistics import (
    MAX_WORD,
    RankedRows,
    WantedRanks,
    order_words,
    select,
    unorder_words,
)
from sfumato.trees.distributed.replay import (
    ALWAYS,
    NEVER,
    CodeThresholds,
    ColumnRule,
    GroupCells,
    GrowthStep,
    Histograms,
    History,
    KeepThresholds,
    RankQuestions,
    ShownLeaves,
)
from sfumato.trees.grow import MDL, BinarySplitter, Growth, Limits, Pruner, Splits, child_counts, grow_from
from sfumato.trees.strategies import (
    MAX_JUDGED_ROWS,
    MIN_ROWS,
    STRATEGIES,
    TRUE_CELLS,
    WITH_LEAVES,
    Association,
    Leaves,
    check_columns,
    choose_growth,
    cut_between,
    find_tested,
    fresh_groups,
    quantile_grid,
    quantile_places,
    shown_cells,
    whole_counts,
)
from sfumato.trees.tree import Tree

MAX_LEVEL_CELLS = 2**20
"""Histograms of a level larger than this are folded part by part."""
NO_GRID = Grid(edges=np.array([-np.inf, np.inf]))


class Countable(Protocol):
    """A table that can be counted: `releases.CountedTable` on any engine."""

    @property
    def table(self) -> Table:
        """Columns, laws and labels, without rows."""

    def fold(self, count: Callable[[Table, IntArray], Any], /) -> Any:
        """Return the sum of the counts of all rows."""

    def sample(self, size: int, /) -> Table:
        """Return at most `size` rows, chosen by a hash of their numbers."""


def grow_counted_tree(
    counted: Countable, strategy: str, limits: Limits | None = None, pruner: Pruner | None = None
) -> Tree:
    """Grow the tree of a strategy; see `strategies` for what each means."""
    by_counts = sorted(s.name for s in STRATEGIES.values() if s.needs is Needs.COUNTS and not s.true_values)
    if strategy not in (*by_counts, "original"):
        raise UsageError(
            f"the strategy {strategy} needs all rows in one memory; by counts there are {join_names(by_counts)}. Choose one of "
            "them, or mine with engine=Local()"
        )
    table = counted.table
    check_columns(table)
    columns = table.columns
    if strategy == "original" and (noisy := [c.name for c in columns if c.channel is not None]):
        raise UsageError(f"{join_names(noisy)} was perturbed; use byclass or local, or give the true table")
    if reports := [c.name for c in columns if c.channel is not None and c.channel.reports is not None]:
        raise UsageError(
            f"{join_names(reports)}: released as reports, from which a tree grows only with all rows in one memory; leave the "
            "column out, or mine with engine=Local()"
        )
    if strategy == "local":
        refuse_correlated_noise("the strategy local", columns)
    if strategy == "randomized":
        columns = tuple(replace(c, channel=None) for c in columns)
    common_start = False
    if pruner is None and strategy == "original":
        pruner = MDL()
    if pruner is None:
        common_start, pruner = choose_growth(counted.sample(MAX_JUDGED_ROWS), strategy, limits)
    numbers = tuple(i for i, c in enumerate(columns) if c.channel is None and c.attribute.kind.numeric)
    seen = counted.fold(TrueValues(numbers))
    totals = seen.sums.arrays["classes"].astype(np.float64)
    n = int(totals.sum())
    if not n:
        raise DataError("no record has a class; check the target column of the release")
    grids = _true_grids(counted, columns, seen)
    associations = [_association(c, i, n, grids.get(i), common_start) for i, c in enumerate(columns)]
    source = FoldedRows(counted, associations, totals, strategy)
    unordered = frozenset(i for i, a in enumerate(associations) if not a.ordered)
    limits = limits or Limits.for_rows(n)
    growth = grow_from(source, BinarySplitter(categorical=unordered), pruner, limits)
    if strategy in WITH_LEAVES and not correlated_columns(columns):
        growth = source.reconstruct_leaves(growth)
    return Tree.of(growth, [c.attribute for c in columns], [a.grid for a in associations], table.labels, strategy)


def _association(column: Column, place: int, n: int, grid: Grid | None, common_start: bool) -> Association:
    """Return `Association.of` for a column whose values are elsewhere."""
    none = np.empty(0, np.uint64)
    if grid is not None:
        return Association(column, grid, none, place, common_start)
    return Association.of(replace(column, values=np.empty(0)), paper_size(n), none, place, common_start)


@dataclass(frozen=True, eq=False)
class TrueValueCounts:
    """Class counts, and of columns of true numbers: how many values, their range, and all of them where they are few."""

    sums: Sums
    distinct: Mapping[int, WordArray | None]

    def __add__(self, other: TrueValueCounts) -> TrueValueCounts:
        both = {i: _union(d, other.distinct[i]) for i, d in self.distinct.items()}
        return TrueValueCounts(self.sums + other.sums, both)


def _union(a: WordArray | None, b: WordArray | None) -> WordArray | None:
    return None if a is None or b is None else _if_few(np.union1d(a, b))


def _if_few(words: WordArray) -> WordArray | None:
    return words if len(words) <= TRUE_CELLS else None


@dataclass(frozen=True)
class TrueValues:
    """Count what the grids of true columns are cut by."""

    columns: tuple[int, ...]

    def __call__(self, table: Table, rows: IntArray) -> TrueValueCounts:  # noqa: ARG002 - where rows stand says nothing here
        """Count the rows that have a class."""
        known = table.codes >= 0
        arrays: dict[Any, NDArray[Any]] = {"classes": np.bincount(table.codes[known], minlength=len(table.labels))}
        distinct = {}
        for i in self.columns:
            values = table.columns[i].values[known]
            words = np.unique(order_words(values[~np.isnan(values)]))
            arrays["present", i] = np.array([int((~np.isnan(values)).sum())])
            arrays["min", i] = words[:1] if len(words) else np.array([MAX_WORD])
            arrays["max", i] = words[-1:] if len(words) else np.zeros(1, np.uint64)
            distinct[i] = _if_few(words)
        return TrueValueCounts(Sums(arrays), distinct)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The least value above each of some values, and the largest below the last value of all."""

    values: Mapping[int, WordArray]
    last: Mapping[int, WordArray]

    def __call__(self, table: Table, rows: IntArray) -> Sums:  # noqa: ARG002
        """Look among the rows that have a class."""
        known = table.codes >= 0
        arrays: dict[Any, NDArray[Any]] = {}
        for i, asked in self.values.items():
            values = table.columns[i].values[known]
            words = np.unique(order_words(values[~np.isnan(values)]))
            place = np.searchsorted(words, asked, side="right")
            arrays["min", i] = np.append(words, MAX_WORD)[place]
            arrays["max", i] = np.append(np.zeros(1, np.uint64), words)[np.searchsorted(words, self.last[i])]
        return Sums(arrays)


def _true_grids(counted: Countable, columns: tuple[Column, ...], seen: TrueValueCounts) -> dict[int, Grid]:
    """Return `true_value_grid` of the columns released as true, by counts: the cuts stand between the same values."""
    grids: dict[int, Grid] = {}
    many: dict[int, WantedRanks] = {}
    for i, words in seen.distinct.items():
        n, interval = int(seen.sums.arrays["present", i][0]), columns[i].attribute.interval
        if words is not None:
            grids[i] = quantile_grid(unorder_words(words), interval.low, interval.high)
        else:
            # A cut stands where a new value begins, at the first such place from the quantile on: after the last record
            # that has the value of the one just before it.
            ranks = np.unique(np.ceil(quantile_places(n)).astype(np.int64) - 1)
            low, high = seen.sums.arrays["min", i], seen.sums.arrays["max", i]
            many[i] = WantedRanks(np.zeros(len(ranks), np.int64), ranks, np.array([n]), low, high, by_row=False)
    if not many:
        return grids
    rules = tuple(ColumnRule(i, NO_GRID, NO_GRID, discrete=False, exact=True) for i in range(len(columns)))
    groups = {i: np.zeros((1, len(counted.table.labels)), np.int64) for i in many}
    ranked = _select(counted, History(rules, ()), groups, many, {})
    before = {i: np.unique(f.words) for i, f in ranked.items()}
    last = {i: seen.sums.arrays["max", i] for i in many}
    beside = counted.fold(Neighbours(before, last)).arrays
    for i, words in before.items():
        above = beside["min", i]
        at_end = words == last[i][0]
        below = np.where(at_end, beside["max", i][0], words)
        grids[i] = cut_between(unorder_words(below), unorder_words(np.where(at_end, words, above)))
    return grids


def _select(
    counted: Countable,
    history: History,
    groups: Mapping[int, IntArray],
    wanted: Mapping[int, WantedRanks],
    moving: Mapping[int, KeepThresholds],
) -> dict[int, RankedRows]:
    return select(
        {i: w for i, w in wanted.items() if len(w.ranks)},
        lambda asked: counted.fold(RankQuestions(history, groups, asked, moving, gathers=False)).arrays,
        lambda asked: counted.fold(RankQuestions(history, groups, asked, moving, gathers=True)).arrays,
    )


class FoldedRows:
    """A source of counts for `grow.grow_from` that folds over the rows anew for every level."""

    def __init__(self, counted: Countable, associations: list[Association], totals: FloatArray, strategy: str) -> None:
        self._counted, self._associations, self._totals = counted, associations, totals
        self.n_classes = len(totals)
        self.sizes = tuple(a.grid.size for a in associations)
        self._local = strategy == "local"
        self._rules = tuple(
            ColumnRule(a.stream, a.grid, a.observed_grid, isinstance(a.column.channel, Discrete), a.exact)
            for a in associations
        )
        root = np.zeros((1, self.n_classes), np.int64)
        if strategy != "global":
            root = np.arange(self.n_classes)[None, :]
        groups = {i: root for i, a in enumerate(associations) if not a.exact}
        first = GrowthStep(None, None, groups, {})
        self._steps: tuple[GrowthStep, ...] = (replace(first, assigned=self._associate((first,), groups)),)
        self._open = 1
        self._tested: BoolArray | None = None
        self._parts: list[list[FloatArray]] = []
        self._shares: list[FloatArray] = []

    def totals(self) -> FloatArray:
        """Return class counts of all rows."""
        return self._totals

    def count_open_nodes(self) -> Iterator[list[FloatArray]]:
        """Yield histograms of the open nodes, by one fold where they are not too many."""
        at_once = max(1, MAX_LEVEL_CELLS // (self.n_classes * sum(size + 1 for size in self.sizes)))
        history = History(self._rules, self._steps)
        self._parts = []
        for first in range(0, self._open, at_once):
            count = Histograms(history, first, min(at_once, self._open - first))
            histograms = self._counted.fold(count).arrays
            self._parts.append([histograms[i].astype(np.float64) for i in range(len(self.sizes))])
            if not self._shares:
                self._shares = [counts[0] for counts in self._parts[-1]]
            yield self._parts[-1]

    def reconstruct_leaves(self, growth: Growth) -> Growth:
        """Return the tree with the counts of its leaves reconstructed, by one more fold."""
        leaves = Leaves(self._associations, self._shares.__getitem__)
        asked = leaves.attributes_to_count(growth)
        if not asked:
            return growth
        shown = {a: shown_cells(self._associations[a]) for a in asked}
        seen = self._counted.fold(ShownLeaves(self._rules, growth, shown)).arrays["seen"]
        return leaves.reconstruct(growth, seen)

    def descend(self, splits: Splits, is_open: BoolArray) -> None:
        """Note where rows go; with local, associate those of large nodes anew."""
        step = GrowthStep(splits, is_open, {}, {})
        if self._local:
            step = self._associate_children(splits, is_open)
        self._steps = (*self._steps, step)
        self._open = int(is_open.sum())

    def _associate_children(self, splits: Splits, is_open: BoolArray) -> GrowthStep:
        self._tested = find_tested(self._tested, splits, is_open, len(self.sizes))
        level = [np.concatenate(same) for same in zip(*self._parts, strict=True)]
        large = child_counts(splits, level).sum(axis=1)[is_open] >= MIN_ROWS
        groups = fresh_groups(self._associations, large, self._tested, self.n_classes)
        step = GrowthStep(splits, is_open, groups, {})
        return replace(step, assigned=self._associate((*self._steps, step), groups))

    def _associate(
        self, steps: tuple[GrowthStep, ...], groups: Mapping[int, IntArray]
    ) -> Mapping[int, CodeThresholds | KeepThresholds]:
        """Reconstruct every group's distribution, and find the thresholds that give its rows their codes."""
        if not groups:
            return {}
        history = History(self._rules, steps)
        seen = self._counted.fold(GroupCells(history, groups)).arrays
        counts = {i: seen["sum", i] for i in groups}
        targets = {
            i: whole_counts(self._associations[i].fit(c.astype(np.float64)), c.sum(axis=1)) for i, c in counts.items()
        }
        ends = {i: (seen["min", i], seen["max", i]) for i in groups}
        wanted, kept = {}, {}
        for i, c in counts.items():
            if self._rules[i].discrete:
                kept[i] = np.minimum(c, targets[i])
                wanted[i] = _within(kept[i], c, *ends[i])
            else:
                wanted[i] = _across(np.cumsum(targets[i], axis=1)[:, :-1], c, *ends[i])
        ranked = _select(self._counted, history, groups, wanted, {})
        out: dict[int, CodeThresholds | KeepThresholds] = {
            i: CodeThresholds(
                *_thresholds(np.cumsum(targets[i], axis=1)[:, :-1], c.sum(axis=1)[:, None], ranked.get(i))
            )
            for i, c in counts.items()
            if i not in kept
        }
        keeps = {i: KeepThresholds(*_thresholds(k, counts[i], ranked.get(i))) for i, k in kept.items()}
        bounds = {i: np.cumsum(targets[i] - k, axis=1)[:, :-1] for i, k in kept.items()}
        moving = {i: (counts[i] - k).sum(axis=1) for i, k in kept.items()}
        others = {
            i: _within(
                bounds[i], moving[i][:, None], np.zeros(len(n), np.uint64), np.full(len(n), np.uint64(2**53 - 1))
            )
            for i, n in moving.items()
        }
        moved = _select(self._counted, history, groups, others, keeps)
        for i, keep in keeps.items():
            out[i] = replace(keep, moved=CodeThresholds(*_thresholds(bounds[i], moving[i][:, None], moved.get(i))))
        return out


def _inside(bounds: IntArray, sizes: IntArray) -> BoolArray:
    """Return which bounds cut a list in two: neither before its first row nor after its last."""
    return np.asarray((bounds > 0) & (bounds < sizes))


def _within(bounds: IntArray, sizes: IntArray, low: WordArray, high: WordArray) -> WantedRanks:
    """Return ranks in the lists themselves: one bound per list, or, where `sizes` is a column, many."""
    inner = _inside(bounds, sizes)
    lists = np.arange(bounds.size).reshape(bounds.shape) if sizes.shape == bounds.shape else None
    if lists is None:
        lists = np.broadcast_to(np.arange(len(bounds))[:, None], bounds.shape)
    return WantedRanks(lists[inner], bounds[inner], sizes.ravel(), low, high)


def _across(bounds: IntArray, counts: IntArray, low: WordArray, high: WordArray) -> WantedRanks:
    """Return ranks in whole groups, whose rows are split by cells: the cell that holds each, and the rank there."""
    sizes = counts.sum(axis=1)
    group, boundary = np.nonzero(_inside(bounds, sizes[:, None]))
    ranks = bounds[group, boundary]
    ends = np.cumsum(counts, axis=1)[group]
    cell = (ends <= ranks[:, None]).sum(axis=1)
    before = np.where(cell > 0, np.take_along_axis(ends, np.maximum(cell - 1, 0)[:, None], 1)[:, 0], 0)
    return WantedRanks(group * counts.shape[1] + cell, ranks - before, counts.ravel(), low, high)


def _thresholds(bounds: IntArray, sizes: IntArray, ranked: RankedRows | None) -> tuple[WordArray, IntArray]:
    """Return the row at each bound; before all rows where the bound is 0, after all where it is the size."""
    words = np.where(bounds > 0, NEVER[0], ALWAYS[0])
    rows = np.where(bounds > 0, NEVER[1], ALWAYS[1])
    if ranked is not None:
        inner = _inside(bounds, sizes)
        words[inner], rows[inner] = ranked.words, ranked.rows
    return words, rows
