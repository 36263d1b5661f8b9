"""Leaf swap for tables that an engine holds: rows of one leaf and class are brought together, and swap there.

The tree comes from a sample, as in `by_counts`. Each attribute is put in a random order of its own (by keyed numbers) among the
rows of a leaf and class, so every table of an attribute by leaf and class is exactly what it was. A cell must fit the
memory of one worker.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.counts import FloatArray, IntArray
from sfumato.guided import cells_of
from sfumato.hashing import WordArray
from sfumato.io import Block, Decoder
from sfumato.randomness import Entities, SecretKey, random_words
from sfumato.releases import Reader, Sketch, content_values, sketch_of
from sfumato.releasing._dealing import Arrays, GuidedTally, content_sum
from sfumato.releasing.base import Released, Tally
from sfumato.table import Table
from sfumato.trees import Tree

GROUP, NUMBER, SMALL, CLASS = "group", "number", "small", "y"


def places(rows: IntArray) -> Entities:
    """Return the addresses of rows."""
    return Entities(rows.astype(np.uint64), np.zeros(len(rows), np.uint64))


@dataclass(frozen=True, eq=False)
class Seen:
    """Counts, content sum and sketch of the true rows: what the noise key and the ledger need."""

    tree: Tree
    sketch_key: SecretKey
    content_key: SecretKey

    def __call__(self, table: Table, rows: IntArray) -> Arrays:
        """Return rows by node and class (first those without), the content sum, and the sketch."""
        k = len(table.labels)
        cells = cells_of(self.tree.apply(table), table.codes, k)
        counts = np.bincount(cells, minlength=len(self.tree.nodes) * (k + 1))
        sketch: Sketch = sketch_of(
            self.sketch_key, {c.name: content_values(c.attribute, c.values) for c in table.columns}, places(rows)
        )
        return Arrays((counts, content_sum(self.content_key, table, rows), sketch))


def digest(tree: Tree, counts: IntArray, content: WordArray) -> str:
    """Of the tree, the counts and all cells: any change of the table draws everything afresh."""
    text = json.dumps(tree.to_dict(), sort_keys=True).encode()
    return hashlib.sha256(text + counts.tobytes() + content.tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class Cells:
    """Each row with its leaf and class as one number."""

    reader: Reader
    tree: Tree

    @property
    def schema(self) -> pa.Schema:
        """Group and number, the class, then every column twice: its value, and whether it changed."""
        size = range(len(self.reader.columns))
        names = [CLASS, SMALL, *(f"v{i}" for i in size), *(f"m{i}" for i in size)]
        return pa.schema([(GROUP, pa.int64()), (NUMBER, pa.int64()), *((n, pa.float64()) for n in names)])

    def __call__(self, block: Block) -> pa.RecordBatch:
        """The rows of a block."""
        table = self.reader(block)
        group = cells_of(self.tree.apply(table), table.codes, len(table.labels))
        zeros = np.zeros(block.rows)
        values = [
            table.required_target.values,
            zeros,
            *(c.values for c in table.columns),
            *(zeros for _ in table.columns),
        ]
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
        """Every attribute in an order of its own; a small cell stays as it is, or is left out."""
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


def _set(table: pa.Table, name: str, values: FloatArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@dataclass(frozen=True, eq=False)
class Swapped:
    """Writes swapped rows as the cells of a release."""

    names: tuple[str, ...]
    target: str
    decoders: Mapping[str, Decoder]
    identifier: str = "row numbers"
    """Rows are in the order of their numbers."""

    @property
    def schema(self) -> pa.Schema:
        """Of the released rows."""
        return pa.schema([(name, d.type) for name, d in self.decoders.items()])

    @property
    def columns(self) -> list[str]:
        """What is read of a swapped row."""
        size = range(len(self.names))
        return [CLASS, SMALL, *(f"v{i}" for i in size), *(f"m{i}" for i in size)]

    def __call__(self, block: Block) -> Released:
        """One block."""
        held = {n: np.array(block.batch.column(n).to_numpy(zero_copy_only=False), np.float64) for n in self.columns}
        values = {name: held[f"v{i}"] for i, name in enumerate(self.names)} | {self.target: held[CLASS]}
        changed = {name: int(held[f"m{i}"].sum()) for i, name in enumerate(self.names)}
        arrays = [decoder(values[name]) for name, decoder in self.decoders.items()]
        missing = {name: int(np.isnan(values[name]).sum()) for name in self.decoders}
        changed |= {self.target: 0, SMALL: int(held[SMALL].sum())}
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return Released(batch, GuidedTally(Tally(Sketch.empty(), missing), changed))
