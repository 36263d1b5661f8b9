"""Rows kept in the order of each number, a source for exact cuts: between any two distinct values, not between cells.

A histogram of a column with 20,000 distinct values would be empty almost everywhere. Here every numeric column is sorted
once, and each level only splits the sorted columns among the children, stably: linear work per level, no sort, no bins.

A row whose tested value is missing goes on in every child, with the weight that the known rows of that child have
(C4.5's fractional records).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.text import join_names
from sfumato.trees.grow.splits import Splits, xlog2x

PlaceArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Coded:
    """A table for the builder: for each column the rank of every value among the distinct ones, or a category's number.

    `missing` is −1 for categories and the largest rank of all, so last in order, for numbers.
    """

    codes: PlaceArray
    numeric: BoolArray
    sizes: tuple[int, ...]
    """Distinct values of a number, categories of the others."""
    values: tuple[FloatArray, ...] = field(default=())
    """The distinct values of every number in order, nothing for categories."""

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]], numeric: Sequence[bool], sizes: Sequence[int]) -> Coded:
        """Rank the numbers, check the categories; `sizes` gives the number of categories, 0 for a number."""
        if not columns:
            raise UsageError("a tree needs at least one attribute beside the class; none was given")
        lengths = {len(c) for c in columns}
        if len(lengths) > 1:
            raise UsageError(f"columns of {join_names(sorted(lengths))} rows do not make a table")
        codes = np.empty((len(columns), lengths.pop()), np.int32)
        distinct, counts = [], []
        for a, (column, is_number) in enumerate(zip(columns, numeric, strict=True)):
            absent = np.isnan(column)
            if is_number:
                values, ranks = np.unique(column[~absent], return_inverse=True)
                codes[a, ~absent] = ranks
                codes[a, absent] = len(values)
                distinct.append(values)
                counts.append(len(values))
                continue
            present = column[~absent]
            if len(present) and (present.min() < 0 or present.max() >= sizes[a] or (present % 1).any()):
                raise UsageError(f"attribute {a} has category codes outside 0 … {sizes[a] - 1}; declare its categories")
            codes[a] = np.where(absent, -1.0, column).astype(np.int32)
            distinct.append(np.empty(0))
            counts.append(sizes[a])
        return cls(codes, np.asarray(numeric, bool), tuple(counts), tuple(distinct))

    def absent(self, a: int) -> BoolArray:
        """Return which values of a column are missing."""
        return self.codes[a] == (self.sizes[a] if self.numeric[a] else -1)


@dataclass(frozen=True, eq=False)
class NumericCuts:
    """The best cut of each numeric column (first axis) in each node (second axis).

    `gain` is in bits times rows, −inf where no cut is allowed; `left` is the weight at or below the cut, `known`
    that of all known values, `number` counts the cuts that were allowed, and `last` is the code of the last value
    below the cut, moved up to the last value of the whole table that is no larger than the middle.
    """

    gain: FloatArray
    left: FloatArray
    known: FloatArray
    number: IntArray
    last: IntArray


class Level:
    """The open nodes of one level: their rows sorted by node, and for each number sorted by node and value."""

    def __init__(self, table: Coded, classes: IntArray, n_classes: int) -> None:
        self.table = table
        self.n_classes = n_classes
        self.total = table.codes.shape[1]
        self.numbers = np.flatnonzero(table.numeric)
        missing = any(table.absent(a).any() for a in range(len(table.sizes)))
        self.rows = np.arange(self.total, dtype=np.int32)
        self.classes = classes.astype(np.int32)
        self.slot = np.zeros(self.total, np.int32)
        self.weights: FloatArray | None = np.ones(self.total) if missing else None
        self.open = 1
        self.order = np.empty((len(self.numbers), self.total), np.int32)
        for i, a in enumerate(self.numbers):
            self.order[i] = np.argsort(table.codes[a], kind="stable")
        whole = np.arange(self.total + 2, dtype=np.float64)
        self._xlog2x = xlog2x(whole)
        self._step = np.diff(self._xlog2x)

    @property
    def starts(self) -> IntArray:
        """Where each node's rows begin, and the end of the last."""
        return np.searchsorted(self.slot, np.arange(self.open + 1))

    def class_counts(self) -> FloatArray:
        """Weight by node and class."""
        key = self.slot.astype(np.int64) * self.n_classes + self.classes
        size = self.open * self.n_classes
        return np.bincount(key, self.weights, size).reshape(self.open, self.n_classes).astype(np.float64)

    def tables(self, a: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield weight by node, category (0 for missing, 1 + code) and class, for runs of nodes."""
        max_table_cells = 1 << 22  # a larger table is made for some of the nodes at a time
        cells = self.table.sizes[a] + 1
        run = max(1, max_table_cells // (cells * self.n_classes))
        starts = self.starts
        for first in range(0, self.open, run):
            nodes = slice(first, min(first + run, self.open))
            part = slice(int(starts[nodes.start]), int(starts[nodes.stop]))
            key = (self.slot[part].astype(np.int64) - first) * cells + self.table.codes[a].take(self.rows[part]) + 1
            key = key * self.n_classes + self.classes[part]
            shape = (nodes.stop - first, cells, self.n_classes)
            weights = None if self.weights is None else self.weights[part]
            yield nodes, np.bincount(key, weights, int(np.prod(shape))).reshape(shape).astype(np.float64)

    def cuts(self, least: float, tolerance: float) -> NumericCuts:
        """Return the best cut of every number in every node.

        Both sides hold at least min(25, max(`least`, a tenth of the mean class)) known rows; of cuts whose gains
        differ by less than `tolerance` bits per row the lowest is taken.
        """
        block_places = 1 << 17  # sorted places worked on at a time, over all columns of a block
        parts = max(1, block_places // max(len(self.rows), 1))
        blocks = [self._cuts(slice(i, i + parts), least, tolerance) for i in range(0, len(self.numbers), parts)]
        if not blocks:
            nothing = np.zeros((0, self.open))
            return NumericCuts(nothing, nothing, nothing, nothing.astype(np.int64), nothing.astype(np.int64))
        return NumericCuts(
            *(np.concatenate([getattr(b, n) for b in blocks]) for n in ("gain", "left", "known", "number", "last"))
        )

    def _cuts(self, part: slice, least: float, tolerance: float) -> NumericCuts:
        order, attributes = self.order[part], self.numbers[part]
        d, entries = order.shape
        starts = self.starts
        heads, sizes = starts[:-1], np.diff(starts)
        code = self.table.codes[attributes[:, None], self.rows[order]]
        weight = None
        if self.weights is not None:
            absent = code == np.array([self.table.sizes[a] for a in attributes])[:, None]
            weight = np.where(absent, 0.0, self.weights[order])
        change = self._change(order, weight)
        # Running sums start again at each node.
        running = np.cumsum(change, axis=1)
        if weight is None:
            left = np.broadcast_to(np.arange(1.0, entries + 1) - np.repeat(heads, sizes), (d, entries))
            known = np.broadcast_to(sizes.astype(np.float64), (d, self.open))
        else:
            below = np.cumsum(weight, axis=1)
            base = np.concatenate([np.zeros((d, 1)), below], axis=1)[:, starts]
            left = below - np.repeat(base[:, :-1], sizes, axis=1)
            known = np.diff(base, axis=1)
        minimum = np.clip(0.1 * known / self.n_classes, least, max(25.0, least))
        # A cut stands after a place whose successor has a larger code, and is known.
        rises = np.zeros((d, entries), bool)
        np.less(code[:, :-1], code[:, 1:], out=rises[:, :-1])
        rises[:, starts[1:] - 1] = False
        if weight is not None:
            rises[:, :-1] &= ~absent[:, 1:]
        column, place = np.nonzero(rises)
        node = self.slot[place].astype(np.int64)
        n_left, n = left[column, place], known[column, node]
        allowed = minimum[column, node] - 1e-6
        fits = (n_left >= allowed) & (n - n_left >= allowed)
        column, place, node, n_left, n = column[fits], place[fits], node[fits], n_left[fits], n[fits]
        before = np.concatenate([np.zeros((d, 1)), running], axis=1)[column, heads[node]]
        gain = self._f(n) - self._f(n_left) - self._f(n - n_left) + running[column, place] - before
        return self._best(column, place, node, n_left, gain, known, sizes, attributes, code, tolerance)

    def _best(
        self,
        column: IntArray,
        place: IntArray,
        node: IntArray,
        n_left: FloatArray,
        gain: FloatArray,
        known: FloatArray,
        sizes: IntArray,
        attributes: IntArray,
        code: PlaceArray,
        tolerance: float,
    ) -> NumericCuts:
        """Return the first of the best cuts of each column and node, from the list of those that are allowed."""
        shape = known.shape
        key = column * self.open + node
        number = np.bincount(key, minlength=shape[0] * shape[1])
        best, left, last = np.full(len(number), -np.inf), np.zeros(len(number)), np.zeros(len(number), np.int64)
        some = np.flatnonzero(number)
        if len(some):
            ends = np.cumsum(number[some])
            most = np.maximum.reduceat(gain, ends - number[some])
            weight = sizes.astype(np.float64)
            if self.weights is not None:
                weight = np.bincount(self.slot, self.weights, self.open).astype(np.float64)
            near = gain >= (most - tolerance * weight[some % self.open]).repeat(number[some])
            chosen = np.flatnonzero(near)
            chosen = chosen[np.searchsorted(chosen, ends - number[some])]
            best[some], left[some] = gain[chosen], n_left[chosen]
            last[some] = self._last(attributes, column[chosen], code, place[chosen])
        return NumericCuts(best.reshape(shape), left.reshape(shape), known, number.reshape(shape), last.reshape(shape))

    def _last(self, attributes: IntArray, column: IntArray, code: PlaceArray, place: IntArray) -> IntArray:
        """Return the code of the largest value in the table that is no larger than the middle of the two around the cut."""
        low, high = code[column, place].astype(np.int64), code[column, place + 1].astype(np.int64)
        out = low.copy()
        for i in np.unique(column):
            here = column == i
            values = self.table.values[attributes[i]]
            a, b = values[low[here]], values[high[here]]
            # A value that is the middle up to rounding counts as the middle; of two neighbours in floating point the
            # middle may be the larger one.
            middle = (a + b) / 2 + 1e-9 * (b - a)
            out[here] = np.clip(np.searchsorted(values, middle, side="right") - 1, low[here], high[here] - 1)
        return out

    def _change(self, order: PlaceArray, weight: FloatArray | None) -> FloatArray:
        """Return what Σ_c f(left_c) + f(right_c), with f(x) = x log2 x, gains as each row moves from right to left.

        A row of class c moves left_c from b to b + w and right_c from T − b to T − b − w; so one running sum over the
        rows serves any number of classes.
        """
        group = self.slot.astype(np.int64) * self.n_classes + self.classes[order]
        before = within_groups(group, weight)
        counts = self.class_counts()
        if weight is None:
            total = counts.ravel().astype(np.int64)[group]
            return np.asarray(self._step[before] - self._step[total - before - 1])
        size = counts.size
        total = np.stack([np.bincount(g, w, size)[g] for g, w in zip(group, weight, strict=True)])
        after = np.maximum(total - before - weight, 0.0)
        return xlog2x(before + weight) - xlog2x(before) + xlog2x(after) - xlog2x(np.maximum(total - before, 0.0))

    def _f(self, x: NDArray[Any]) -> FloatArray:
        return xlog2x(x) if self.weights is not None else self._xlog2x[x.astype(np.int64)]

    def route(self, splits: Splits) -> tuple[IntArray, IntArray, FloatArray | None]:
        """Return the rows of split nodes (one with a missing value once per child), the child of each, and its weight."""
        attribute = splits.attribute[self.slot]
        entry = np.flatnonzero(attribute >= 0)
        slot, attribute = self.slot[entry].astype(np.int64), attribute[entry]
        code = self.table.codes[attribute, self.rows[entry]].astype(np.int64)
        assert splits.cut is not None
        numeric = self.table.numeric[attribute]
        branch = np.where(numeric, code > splits.cut[slot], code)
        first = splits.first
        if self.weights is None:
            return entry, first[slot] + branch, None
        absent = code == np.where(numeric, np.array(self.table.sizes)[attribute], -1)
        weights = self.weights[entry]
        parent = splits.family
        known = np.bincount(first[slot[~absent]] + branch[~absent], weights[~absent], len(parent))
        share = known / np.bincount(parent, known, len(first))[parent]
        lost = np.flatnonzero(absent)
        copies = splits.children[slot[lost]]
        again = np.repeat(lost, copies)
        child = (
            np.repeat(first[slot[lost]], copies) + np.arange(len(again)) - np.repeat(np.cumsum(copies) - copies, copies)
        )
        kept = share[child] > 1e-6  # a smaller share of the known rows gets no fraction of those with a missing value
        again, child = again[kept], child[kept]
        here = np.flatnonzero(~absent)
        source = np.concatenate([here, again])
        to = np.concatenate([first[slot[here]] + branch[here], child])
        return entry[source], to, np.concatenate([weights[here], weights[again] * share[child]])

    def descend(self, entry: IntArray, child: IntArray, weights: FloatArray | None, is_open: BoolArray) -> None:
        """Go on with the open children: rows sorted by child, sorted columns split among them."""
        number = np.where(is_open, np.cumsum(is_open) - 1, -1)
        slot = number[child]
        going = np.flatnonzero(slot >= 0)
        going = going[stable_order(slot[going])]
        old, slot = entry[going], slot[going].astype(np.int32)
        copies = np.bincount(old, minlength=len(self.rows))
        by_old = np.argsort(old, kind="stable")  # the new records of each old one stand together, in order of child
        first = np.cumsum(copies) - copies
        order = np.empty((len(self.numbers), len(old)), np.int32)
        single = bool((copies <= 1).all())
        for i, places in enumerate(self.order):
            if single:
                new = by_old[first[places[copies[places] > 0]]]
            else:
                times = copies[places]
                turn = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
                new = by_old[np.repeat(first[places], times) + turn]
            order[i] = new[stable_order(slot[new])]
        self.rows, self.classes, self.slot, self.order = self.rows[old], self.classes[old], slot, order
        self.weights = None if weights is None else weights[going]
        self.open = int(is_open.sum())


class SortedRows:
    """A source of exact cuts for `GainRatioSplitter`; see `sfumato.trees.grow.growth.Source`."""

    def __init__(self, table: Coded, classes: IntArray, n_classes: int) -> None:
        if not len(classes):
            raise DataError("there is no row to grow a tree from; check the input and its class column")
        if classes.min() < 0 or classes.max() >= n_classes:
            raise UsageError(f"classes must be numbered 0 … {n_classes - 1}; leave out records without a class first")
        self.sizes = (1,) * len(table.sizes)  # no test lists its cells here
        self.n_classes = n_classes
        self._level = Level(table, classes, n_classes)

    def totals(self) -> FloatArray:
        """Return class counts of all rows."""
        return self._level.class_counts()[0]

    def count_open_nodes(self) -> Iterator[Level]:
        """Yield the level itself: its cuts and tables are worked out by the splitter."""
        yield self._level

    def descend(self, splits: Splits, is_open: BoolArray) -> None:
        """Send every row to its child."""
        self._level.descend(*self._level.route(splits), is_open)


def stable_order(keys: NDArray[Any]) -> IntArray:
    """Return a stable order by small whole numbers; numpy sorts 16-bit integers by radix, in linear time."""
    small = len(keys) and int(keys.max()) < 2**16
    return np.argsort(keys.astype(np.uint16) if small else keys, kind="stable")


def within_groups(group: IntArray, weight: FloatArray | None) -> NDArray[Any]:
    """Return, along each row, how much weight (or how many, as whole numbers) of the same group stands before each place."""
    out: NDArray[Any] = np.empty(group.shape, np.int64 if weight is None else np.float64)
    for i, keys in enumerate(group):
        order = stable_order(keys)
        sizes = np.bincount(keys)
        sizes = sizes[sizes > 0]
        heads = np.cumsum(sizes) - sizes
        if weight is None:
            out[i, order] = np.arange(len(keys)) - np.repeat(heads, sizes)
        else:
            mine = weight[i, order]
            below = np.cumsum(mine) - mine
            out[i, order] = np.maximum(below - np.repeat(below[heads], sizes), 0.0)
    return out
