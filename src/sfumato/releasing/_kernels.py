"""What a worker does with its share of a guided release that is made by counts (see `by_counts`): frozen values that travel.

First columns that are drawn anew row by row: dealt out by rank, drawn from their leaf's law, moved or flipped. Then leaf swap:
rows of one leaf and class are brought together, and swap there. Each attribute is put in a random order of its own (by keyed
numbers), so every table of an attribute by leaf and class is exactly what it was. A cell must fit the memory of one worker.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray, WordArray
from sfumato.guided import Redraw, cells_of, class_noise
from sfumato.io import Block
from sfumato.randomness import Entities, SecretKey, random_words, uniform
from sfumato.releases import Reader, Sketch, content_values, sketch_of
from sfumato.releasing.base import Decoding, Released
from sfumato.table import Table
from sfumato.trees import MAX_WORD, CodeThresholds, Gathered, SlotsByColumn, Tree

GROUP, NUMBER, SMALL, CLASS = "group", "number", "small", "y"
"""Columns of a row on its way to the rows of its leaf and class, beside its values and marks of change."""


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
            counts = np.bincount(node[known] * leaf.size + value[known], minlength=nodes * leaf.size)
            out.append(counts.reshape(nodes, leaf.size))
        return Arrays((*out, content_sum(self.content_key, table, rows)))


def content_sum(key: SecretKey, table: Table, rows: IntArray) -> WordArray:
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
        total += random_words(key.derive(*labels), places(rows), plain).sum(axis=0, dtype=np.uint64)
    return total


def sketch_rows(key: SecretKey, table: Table, rows: IntArray) -> Sketch:
    """Return the sketch of true rows, for the ledger."""
    return sketch_of(key, {c.name: content_values(c.attribute, c.values) for c in table.columns}, places(rows))


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

    def words(self, rows: IntArray, value: IntArray, *purpose: Any) -> WordArray:
        """Return two words per row."""
        return random_words(self.key.derive(*purpose), places(rows), value.astype(np.float64))


def places(rows: IntArray) -> Entities:
    """Return the addresses of rows."""
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
                at, slot = slots.locate(lists, words)
                out.append(Gathered(slot, words[at], rows[at]))
            else:
                out.append(slots.counts(lists, words))
        return Arrays(tuple(out))


def order_words(chance: Chance, leaf: Leaf, rows: IntArray, value: IntArray) -> WordArray:
    """Return the numbers by which the rows of a leaf are put in random order."""
    return np.minimum(chance.words(rows, value, "order", leaf.name)[:, 0], MAX_WORD - np.uint64(1))


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
            out[known] = class_noise.draw_categories(self.rule.laws[reached], place, uniform(words[:, 0]))
        return out

    def _move(
        self, node: IntArray, dealt: IntArray, words: WordArray, chance: Chance, rows: IntArray, old: IntArray
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
class GuidedKernel:
    """What happens to one block: every dealt column drawn anew, all others as they are."""

    reader: Reader
    decoding: Decoding
    deals: tuple[Deal, ...]
    chance: Chance
    sketch_key: SecretKey
    identifier: str = "row numbers"
    """Rows are the addresses; the engine makes sure that they have numbers."""

    def __call__(self, block: Block) -> Released:
        """Read, perturb and write one block."""
        table, rows = self.reader(block), block.row_numbers
        values = {c.name: c.values for c in table.all_columns}
        changed = dict.fromkeys(values, 0)
        for deal in self.deals:
            new = deal.values(table, rows, self.chance)
            old = values[deal.leaf.name]
            missing = np.isnan(old)
            changed[deal.leaf.name] = int((new[~missing] != old[~missing]).sum())
            values[deal.leaf.name] = np.where(missing, np.nan, new)
        return self.decoding.release(values, changed, sketch_rows(self.sketch_key, table, rows))


@dataclass(frozen=True, eq=False)
class SwapCounts:
    """Counts, content sum and sketch of the true rows: what the noise key and the ledger need."""

    tree: Tree
    sketch_key: SecretKey
    content_key: SecretKey

    def __call__(self, table: Table, rows: IntArray) -> Arrays:
        """Return rows by node and class (first those without), the content sum, and the sketch."""
        k = len(table.labels)
        cells = cells_of(self.tree.apply(table), table.codes, k)
        counts = np.bincount(cells, minlength=len(self.tree.nodes) * (k + 1))
        sketch = sketch_rows(self.sketch_key, table, rows)
        return Arrays((counts, content_sum(self.content_key, table, rows), sketch))


def digest(trees: Iterable[Tree], counts: Iterable[NDArray[Any]], content: WordArray) -> str:
    """Return a digest of the trees, the counts and all cells: any change of the table draws everything afresh."""
    digest = hashlib.sha256()
    for tree, table in zip(trees, counts, strict=True):
        digest.update(json.dumps(tree.to_dict(), sort_keys=True).encode())
        digest.update(table.tobytes())
    digest.update(content.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Cells:
    """Each row with its leaf and class as one number."""

    reader: Reader
    tree: Tree

    @property
    def schema(self) -> pa.Schema:
        """Group and number, the class, then every column twice: its value, and whether it changed."""
        names = swapped_columns(len(self.reader.columns))
        return pa.schema([(GROUP, pa.int64()), (NUMBER, pa.int64()), *((n, pa.float64()) for n in names)])

    def __call__(self, block: Block) -> pa.RecordBatch:
        """Return the rows of a block."""
        table = self.reader(block)
        group = cells_of(self.tree.apply(table), table.codes, len(table.labels))
        zeros = np.zeros(block.rows)
        unchanged = [zeros] * len(table.columns)
        values = [table.required_target.values, zeros, *(c.values for c in table.columns), *unchanged]
        arrays = [pa.array(group), pa.array(block.row_numbers), *(pa.array(v) for v in values)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@dataclass(frozen=True, eq=False)
class Swap:
    """What happens among the rows of one leaf and class."""

    key: SecretKey
    names: tuple[str, ...]
    least: int
    small: str
    left_out: frozenset[int] = frozenset()
    """Classes that are left out, as codes from 0 on; −1 stands for rows without one."""

    def __call__(self, cell: pa.Table) -> pa.Table:
        """Put every attribute in an order of its own; a small cell stays as it is, or is left out."""
        cell = cell.sort_by(NUMBER)
        rows = cell[NUMBER].to_numpy()
        label = float(cell[CLASS][0].as_py()) if len(rows) else math.nan
        if (-1 if math.isnan(label) else int(label)) in self.left_out:
            return cell.slice(0, 0)
        if len(rows) < self.least:
            if self.small == "suppress":
                return cell.slice(0, 0)
            return _set(cell, SMALL, np.ones(len(rows)))
        for i, name in enumerate(self.names):
            old = np.array(cell[f"v{i}"].to_numpy())
            words = random_words(self.key.derive("swap", name), places(rows), old)[:, 0]
            new = old[np.lexsort((rows, words))]
            same = (new == old) | (np.isnan(new) & np.isnan(old))
            cell = _set(_set(cell, f"v{i}", new), f"m{i}", (~same).astype(np.float64))
        return cell


def swapped_columns(size: int) -> list[str]:
    """Return the columns of a row that is swapped: its class, whether its cell is small, then values and marks of change."""
    return [CLASS, SMALL, *(f"v{i}" for i in range(size)), *(f"m{i}" for i in range(size))]


def _set(table: pa.Table, name: str, values: FloatArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@dataclass(frozen=True, eq=False)
class SwapKernel:
    """Write swapped rows as the cells of a release."""

    names: tuple[str, ...]
    target: str
    decoding: Decoding
    identifier: str = "row numbers"
    """Rows are in the order of their numbers."""

    @property
    def columns(self) -> list[str]:
        """What is read of a swapped row."""
        return swapped_columns(len(self.names))

    def __call__(self, block: Block) -> Released:
        """Write one block."""
        held = {n: np.array(block.batch.column(n).to_numpy(zero_copy_only=False), np.float64) for n in self.columns}
        values = {name: held[f"v{i}"] for i, name in enumerate(self.names)} | {self.target: held[CLASS]}
        changed = {name: int(held[f"m{i}"].sum()) for i, name in enumerate(self.names)}
        changed |= {self.target: 0, SMALL: int(held[SMALL].sum())}
        return self.decoding.release(values, changed)
