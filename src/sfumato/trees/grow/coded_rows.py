"""Coded rows as a source of counts: bincounts by node, class and cell, in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.text import join_names
from sfumato.trees.grow.splits import Splits

CellArray = NDArray[np.int16]

COUNTED_ROWS = 32_768
"""Rows counted at a time: their keys stay in the second-level cache."""


MAX_LEVEL_CELLS = 2**24
"""Histograms of a level larger than this (128 MiB) are made and used part by part."""


@dataclass(frozen=True, eq=False)
class _Family:
    """Whose child each child is, which go on, which are the heaviest, and the histograms of those that were counted."""

    family: IntArray
    is_open: BoolArray
    heaviest: BoolArray
    count_open_nodes: BoolArray
    place: IntArray
    histograms: list[FloatArray]


class CodedRows:
    """Rows with one small integer per attribute: 0 for missing, 1 + code otherwise.

    Unweighted histograms are whole numbers, so that of the heaviest child is its parent's less its siblings', exactly,
    and the heaviest children are never counted. Weighted rows are counted in full: a difference of rounded sums would
    leave crumbs in empty cells.
    """

    def __init__(
        self,
        cells: CellArray,
        sizes: Sequence[int],
        classes: IntArray,
        n_classes: int,
        weights: FloatArray | None = None,
    ) -> None:
        self.sizes = tuple(sizes)
        self.n_classes = n_classes
        self._cells = cells
        self._classes = classes
        self._weights = weights
        self._rows = np.arange(cells.shape[1])
        self._slot = np.zeros(cells.shape[1], np.int64)
        self._open = 1
        self._parents: list[FloatArray] | None = None
        self._family: _Family | None = None

    @classmethod
    def of(
        cls,
        codes: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        classes: NDArray[Any],
        n_classes: int,
        weights: FloatArray | None = None,
    ) -> Self:
        """Lay out the codes as a table of cells; raise an error unless they fit."""
        if not len(codes):
            raise UsageError("a tree needs at least one attribute; none was given")
        if len(codes) != len(sizes):
            raise UsageError(f"{len(codes)} columns of codes do not fit {len(sizes)} grids; give one grid a column")
        if max(sizes) >= np.iinfo(np.int16).max:
            raise UsageError(f"a grid of {max(sizes)} cells is too fine for a tree; use at most 32,766")
        lengths = {len(c) for c in codes} | {len(classes)} | ({len(weights)} if weights is not None else set())
        if len(lengths) > 1:
            raise UsageError(f"columns of {join_names(sorted(lengths))} rows do not make a table")
        if not len(classes):
            raise DataError("there is no row to grow a tree from; check the input and its class column")
        cells = np.empty((len(codes), len(classes)), np.int16)
        for a, (code, size) in enumerate(zip(codes, sizes, strict=True)):
            if code.min() < -1 or code.max() >= size:
                raise UsageError(
                    f"attribute {a} has codes outside −1 … {size - 1}; locate its values on its own grid first"
                )
            np.add(code, 1, out=cells[a], casting="unsafe")
        if classes.min() < 0 or classes.max() >= n_classes:
            raise UsageError(f"classes must be numbered 0 … {n_classes - 1}; leave out records without a class first")
        if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
            raise UsageError("weights must be finite, not negative, and not all zero")
        return cls(cells, sizes, np.asarray(classes, np.int64), n_classes, weights)

    def totals(self) -> FloatArray:
        """Return class counts of all rows."""
        return np.bincount(self._classes, self._weights, self.n_classes).astype(np.float64)

    def count_open_nodes(self) -> Iterator[list[FloatArray]]:
        """Yield the histograms of the open nodes: from their parents' where these were kept, else by counting every row."""
        if self._family is not None:
            histograms = self._derive_counts(self._family)
            self._parents, self._family = histograms, None
            yield histograms
            return
        self._parents = None
        at_once = max(1, MAX_LEVEL_CELLS // (self.n_classes * sum(size + 1 for size in self.sizes)))
        if self._open <= at_once:
            histograms = self._count(self._rows, self._slot, self._open)
            if self._weights is None:
                self._parents = histograms
            yield histograms
            return
        order = np.argsort(self._slot, kind="stable")
        ends = np.searchsorted(self._slot, np.arange(0, self._open + at_once, at_once), sorter=order)
        for part, (begin, end) in enumerate(pairwise(ends)):
            some = np.sort(order[begin:end])
            first = part * at_once
            yield self._count(self._rows[some], self._slot[some] - first, min(at_once, self._open - first))

    def descend(self, splits: Splits, is_open: BoolArray) -> None:
        """Route the rows, and note what the next histograms can be derived from."""
        child = self._route(splits)
        cells = int(is_open.sum()) * self.n_classes * sum(size + 1 for size in self.sizes)
        if self._parents is not None and cells <= MAX_LEVEL_CELLS:
            self._family = self._count_children(splits.family, child, is_open)
        self._keep(child, is_open)
        self._open = int(is_open.sum())

    def _count_children(self, family: IntArray, child: IntArray, is_open: BoolArray) -> _Family:
        """Count all but the heaviest child of each family that goes on."""
        parents = int(family.max()) + 1
        goes_on = np.bincount(family, is_open, parents) > 0
        heaviest = np.zeros(len(is_open), bool)
        heaviest[heaviest_children(family, np.bincount(child, minlength=len(is_open)))] = True
        counted = goes_on[family] & ~heaviest
        place = np.cumsum(counted) - 1
        some = counted[child]
        histograms = self._count(self._rows[some], place[child[some]], int(counted.sum()))
        return _Family(family, is_open, heaviest, counted, place, histograms)

    def _derive_counts(self, f: _Family) -> list[FloatArray]:
        """Return the histograms of all children: the heaviest child is its parent less its siblings."""
        assert self._parents is not None  # `descend` makes a family only where parents were kept
        number = np.cumsum(f.is_open) - 1
        direct, derived = f.is_open & f.count_open_nodes, f.is_open & f.heaviest
        member = np.flatnonzero(f.count_open_nodes)
        owner = np.full(int(f.family.max()) + 1, -1)
        owner[f.family[derived]] = np.arange(int(derived.sum()))
        into = owner[f.family[member]]
        member, into = member[into >= 0], into[into >= 0]
        turn = np.arange(len(into)) - np.searchsorted(into, into)  # several siblings take turns: x[i] −= counts i once
        out = []
        for parent, part in zip(self._parents, f.histograms, strict=True):
            histogram = np.empty((int(f.is_open.sum()), *parent.shape[1:]))
            histogram[number[direct]] = part[f.place[direct]]
            rest = parent[f.family[derived]]
            for now in range(int(turn.max(initial=-1)) + 1):
                rest[into[turn == now]] -= part[f.place[member[turn == now]]]
            histogram[number[derived]] = rest
            out.append(histogram)
        return out

    def _route(self, splits: Splits) -> IntArray:
        """Drop rows of nodes that ended, and return the child of each remaining one."""
        attribute = splits.attribute[self._slot]
        if not splits.made.all():
            going = attribute >= 0
            self._rows, self._slot, attribute = self._rows[going], self._slot[going], attribute[going]
        cell = self._cells.ravel().take(attribute * self._cells.shape[1] + self._rows)
        branch = splits.branch.ravel().take(self._slot * splits.branch.shape[1] + cell)
        return splits.first[self._slot] + branch

    def _keep(self, child: IntArray, is_open: BoolArray) -> None:
        """Renumber the open children and drop the rows of the others."""
        number = np.where(is_open, np.cumsum(is_open) - 1, -1)
        slot = number[child]
        if not is_open.all():
            going = slot >= 0
            self._rows, slot = self._rows[going], slot[going]
        self._slot = slot

    def _count(self, rows: IntArray, slot: IntArray, slots: int) -> list[FloatArray]:
        shapes = [(slots, self.n_classes, size + 1) for size in self.sizes]
        out = [np.zeros(int(np.prod(shape))) for shape in shapes]
        block = max(COUNTED_ROWS, max(len(o) for o in out))
        for begin in range(0, len(rows), block):
            part = rows[begin : begin + block]
            base = slot[begin : begin + block] * self.n_classes + self._classes[part]
            weights = None if self._weights is None else self._weights[part]
            whole = len(part) == self._cells.shape[1]
            for a, (size, total) in enumerate(zip(self.sizes, out, strict=True)):
                cells = self._cells[a] if whole else self._cells[a].take(part)
                total += np.bincount(base * (size + 1) + cells, weights, len(total))
        return [o.reshape(shape) for o, shape in zip(out, shapes, strict=True)]


def heaviest_children(family: IntArray, sizes: IntArray) -> IntArray:
    """Return, for each run of equal `family`, the place of its largest size, the first of equals."""
    order = np.lexsort((-np.arange(len(sizes)), sizes, family))
    last = np.flatnonzero(np.append(family[order][1:] != family[order][:-1], True)) if len(order) else order
    return np.asarray(order[last])
