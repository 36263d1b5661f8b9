"""What a worker does with its share of a guided release that is made by counts (see `by_counts`): frozen values that travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import IntArray
from sfumato.guided import Redraw, draw_categories
from sfumato.hashing import WordArray
from sfumato.io import Block, Decoder
from sfumato.randomness import Entities, SecretKey, random_words, uniform
from sfumato.releases import Reader, content_values, sketch_of
from sfumato.releasing.base import Released, Tally
from sfumato.table import Table
from sfumato.trees import LARGEST_WORD, CodeThresholds, Gathered, SlotsByColumn, Tree


@dataclass(frozen=True, eq=False)
class Leaf:
    """One column to perturb (the class, or a categorical attribute), and the tree among whose leaves it is done."""

    name: str
    tree: Tree
    of_class: bool
    size: int
    """How many values it has."""

    def locate(self, table: Table) -> tuple[IntArray, IntArray]:
        """Return the leaf and the value of each row; −1 for a missing value."""
        view = table if self.of_class else table.with_target(self.name)
        return self.tree.apply(view), view.codes


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Rows by node and value, one table per leafed column, then the content sum; added up over all rows."""

    leaves: tuple[Leaf, ...]
    content_key: SecretKey

    def __call__(self, table: Table, rows: IntArray) -> Arrays:
        """Count one block."""
        out = []
        for leaf in self.leaves:
            node, value = leaf.locate(table)
            known = value >= 0
            nodes = len(leaf.tree.nodes)
            out.append(
                np.bincount(node[known] * leaf.size + value[known], minlength=nodes * leaf.size).reshape(
                    nodes, leaf.size
                )
            )
        return Arrays((*out, content_sum(self.content_key, table, rows)))


def content_sum(key: SecretKey, table: Table, rows: IntArray) -> NDArray[np.uint64]:
    """Return two words for all cells of some rows, Σ F(column, row, value) mod 2^64, with F keyed by AES.

    The sum of the sums of blocks is that of the table, in whatever order they come; any cell that differs changes it. Counts
    alone do not tell a corrected table from the first one.
    """
    cells = {("column", c.name): c.values for c in table.columns}
    if table.target is not None:
        cells[("class", "")] = table.codes.astype(np.float64)
    total = np.zeros(2, np.uint64)
    for labels, values in cells.items():
        plain = np.where(np.isnan(values), np.nan, values + 0.0)
        total += random_words(key.derive(*labels), _places(rows), plain).sum(axis=0, dtype=np.uint64)
    return total


@dataclass(frozen=True, eq=False)
class Arrays:
    """Tables that are added up together."""

    tables: tuple[Any, ...]

    def __add__(self, other: Arrays) -> Arrays:
        return Arrays(tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)))


@dataclass(frozen=True)
class Chance:
    """Keyed numbers: a function of the row and its value under a key for each purpose."""

    key: SecretKey

    def words(self, rows: IntArray, value: IntArray, *purpose: Any) -> NDArray[np.uint64]:
        """Return two words per row."""
        return random_words(self.key.derive(*purpose), _places(rows), value.astype(np.float64))


def _places(rows: IntArray) -> Entities:
    return Entities(rows.astype(np.uint64), np.zeros(len(rows), np.uint64))


@dataclass(frozen=True, eq=False)
class RankCount:
    """Counts or gathers the rows around ranks in question: lists are leaves, numbers are keyed words."""

    leaves: tuple[Leaf, ...]
    chance: Chance
    slots: SlotsByColumn
    gathers: bool

    def __call__(self, table: Table, rows: IntArray) -> Arrays:
        """Return one table per leafed column in question."""
        out: list[Any] = []
        for i, slots in self.slots.items():
            leaf = self.leaves[i]
            node, value = leaf.locate(table)
            words = order_words(self.chance, leaf, rows, value)
            lists = np.where(value >= 0, node, -1)
            if self.gathers:
                found, slot = slots.locate(lists, words)
                out.append(Gathered(slot, words[found], rows[found]))
            else:
                out.append(slots.counts(lists, words))
        return Arrays(tuple(out))


def order_words(chance: Chance, leaf: Leaf, rows: IntArray, value: IntArray) -> WordArray:
    """Return the numbers by which the rows of a leaf are put in random order."""
    return np.minimum(chance.words(rows, value, "order", leaf.name)[:, 0], LARGEST_WORD - np.uint64(1))


@dataclass(frozen=True, eq=False)
class Deal:
    """How one leafed column is drawn anew: dealt out by rank, or drawn from its leaf's law, then moved or flipped."""

    leaf: Leaf
    rule: Redraw
    cuts: CodeThresholds | None
    """Thresholds by node, where a leaf's values are dealt out in random order."""

    def values(self, table: Table, rows: IntArray, chance: Chance) -> IntArray:
        """Return new values; missing ones stay missing."""
        node, value = self.leaf.locate(table)
        known = np.flatnonzero(value >= 0)
        out = value.copy()
        if not len(known):
            return out
        node, old, at = node[known], value[known], rows[known]
        words = chance.words(at, old, "draw", self.leaf.name)
        if self.rule.flip is not None:
            shift = 1 + np.floor(uniform(words[:, 1]) * max(self.leaf.size - 1, 1)).astype(np.int64)
            change = (uniform(words[:, 0]) < self.rule.flip) & (self.leaf.size > 1)
            out[known] = np.where(change, (old + shift) % self.leaf.size, old)
        elif self.rule.shuffle and self.cuts is not None:
            order = order_words(chance, self.leaf, at, old)
            out[known] = self._move(node, self.cuts.codes(node, order, at), words, chance, at, old)
        else:
            assert self.rule.laws is not None
            reached, place = np.unique(node, return_inverse=True)
            out[known] = draw_categories(self.rule.laws[reached], place, uniform(words[:, 0]))
        return out

    def _move(
        self, node: IntArray, dealt: IntArray, words: NDArray[np.uint64], chance: Chance, rows: IntArray, old: IntArray
    ) -> IntArray:
        """Move values: with probability p to the majority of a random sibling, then with probability v to any value."""
        out, rule = dealt, self.rule
        if rule.kin is not None and rule.kin_size is not None:
            number = rule.kin_size[node]
            which = np.floor(uniform(words[:, 1]) * np.maximum(number, 1)).astype(np.int64)
            moves = (uniform(words[:, 0]) < rule.p) & (number > 0)
            out = np.where(moves, rule.kin[node, which], out)
        if rule.v > 0:
            again = chance.words(rows, old, "any", self.leaf.name)
            anywhere = uniform(again[:, 0]) < rule.v
            out = np.where(anywhere, np.floor(uniform(again[:, 1]) * self.leaf.size).astype(np.int64), out)
        return out


@dataclass(frozen=True, eq=False)
class GuidedTally:
    """The tally of a release, and how many cells of each column changed."""

    tally: Tally
    changed: Mapping[str, int]

    def __add__(self, other: GuidedTally) -> GuidedTally:
        changed = {name: count + other.changed[name] for name, count in self.changed.items()}
        return GuidedTally(self.tally + other.tally, changed)


@dataclass(frozen=True, eq=False)
class GuidedKernel:
    """What happens to one block: every dealt column drawn anew, all others as they are."""

    reader: Reader
    decoders: Mapping[str, Decoder]
    deals: tuple[Deal, ...]
    chance: Chance
    sketch_key: SecretKey
    identifier: str = "row numbers"
    """Rows are the addresses; the engine makes sure that they have numbers."""

    @property
    def schema(self) -> pa.Schema:
        """Of the released rows."""
        return pa.schema([(name, d.type) for name, d in self.decoders.items()])

    def __call__(self, block: Block) -> Released:
        """Read, perturb and write one block."""
        table, rows = self.reader(block), block.row_numbers
        values = {c.name: c.values for c in table.all_columns}
        truth = {c.name: content_values(c.attribute, c.values) for c in table.columns}
        changed = dict.fromkeys(values, 0)
        for deal in self.deals:
            new = deal.values(table, rows, self.chance)
            old = values[deal.leaf.name]
            missing = np.isnan(old)
            changed[deal.leaf.name] = int((new[~missing] != old[~missing]).sum())
            values[deal.leaf.name] = np.where(missing, np.nan, new)
        arrays = [decoder(values[name]) for name, decoder in self.decoders.items()]
        missing_cells = {name: int(np.isnan(values[name]).sum()) for name in self.decoders}
        sketch = sketch_of(self.sketch_key, truth, _places(rows))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return Released(batch, GuidedTally(Tally(sketch, missing_cells), changed))
