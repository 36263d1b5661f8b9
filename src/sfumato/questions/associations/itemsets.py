"""Labels that stand together in many rows, and rules between them, through the noise.

An item is a label of a column, an itemset has items of several columns, and its support is the share of rows that have them all.
The mean of the product of the items' weights is the support without bias (MASK: Rizvi & Haritsa 2002; Evfimievski et al. 2002), and
Σ w² − Σ w estimates the variance of the noise, since an indicator is its own square. True supports fall from a set to a larger
one, so a set is followed as long as the upper end of its interval reaches the least support; a set is reported where its estimate does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.errors import UsageError
from sfumato.questions.regression import Source, States, level_names, parts
from sfumato.reconstruction import Figure
from sfumato.table import Column, Table

Z = 1.959963984540054
Item = tuple[int, int]
"""A column and a label, by their places."""


@dataclass(frozen=True, eq=False)
class Supports:
    """Add up the weights of itemsets, their squares, and their products with subsets that lack one item."""

    states: tuple[States, ...]
    sets: tuple[tuple[Item, ...], ...]

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the sums of a block: per set Σ w, Σ w², and per item left out Σ w w′."""
        size = max(len(s) for s in self.sets)
        out = np.zeros((len(self.sets), 2 + size))
        for part in parts(table.rows, 1024):
            weights = self._weights(table, part)
            for place, items in enumerate(self.sets):
                own = [weights[item] for item in items]
                w = np.prod(own, axis=0)
                out[place, 0] += w.sum()
                out[place, 1] += w @ w
                if len(items) > 1:
                    for k in range(len(items)):
                        out[place, 2 + k] += w @ np.prod(own[:k] + own[k + 1 :], axis=0)
        return Sums({"supports": out, "rows": np.array([float(len(rows))])})

    def _weights(self, table: Table, part: slice) -> dict[Item, FloatArray]:
        used: dict[int, set[int]] = {}
        for items in self.sets:
            for column, label in items:
                used.setdefault(column, set()).add(label)
        out = {}
        for column, labels in used.items():
            states = self.states[column]
            values = table[states.name].values[part]
            there = ~np.isnan(values)
            if states.exact:
                there &= values < states.table.shape[1]
            cells = states.cells(np.where(there, values, 0.0))
            for label in labels:
                out[column, label] = np.where(there, states.table[cells, label], 0.0)
        return out


@dataclass(frozen=True)
class Itemset:
    """Items that stand together, and their support in the true table."""

    items: tuple[tuple[str, str], ...]
    support: Figure

    def __str__(self) -> str:
        return ", ".join(f"{column} = {label}" for column, label in self.items)


@dataclass(frozen=True)
class Rule:
    """Rows that have `given` have `then`, too: in a share `confidence` of the cases, `lift` times as often as all rows."""

    given: tuple[tuple[str, str], ...]
    then: tuple[str, str]
    support: Figure
    confidence: Figure
    lift: float

    def __str__(self) -> str:
        return f"{', '.join(f'{c} = {v}' for c, v in self.given)} → {self.then[0]} = {self.then[1]}"


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Frequent itemsets and the rules between them.

    Attributes
    ----------
    itemsets : tuple of Itemset
        The most frequent first.
    rules : tuple of Rule
        The surest first.
    min_support, min_confidence : float
        What was asked for.
    rows : float
        Rows of the release.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("mushroom", sf.plan("mushroom", noise="substitution", privacy=0.5), f"{folder}/release")
    ...     result = sf.associate(release, itemsets=True, min_support=0.8)
    >>> print(result.itemsets[0])
    veil_type = p
    """

    itemsets: tuple[Itemset, ...]
    rules: tuple[Rule, ...]
    min_support: float
    min_confidence: float
    rows: float
    exact: bool

    def __repr__(self) -> str:
        return f"Itemsets({len(self.itemsets)} itemsets, {len(self.rules)} rules)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `itemsets[]` with their items and support, `rules[]` with support, confidence and lift."""
        return {
            "min_support": self.min_support,
            "min_confidence": self.min_confidence,
            "rests_on": self.rows,
            "kind": "exact" if self.exact else "likely",
            "itemsets": [{"items": _pairs(s.items), "support": s.support.to_dict()} for s in self.itemsets],
            "rules": [
                {
                    "given": _pairs(r.given),
                    "then": _pairs([r.then])[0],
                    "support": r.support.to_dict(),
                    "confidence": r.confidence.to_dict(),
                    "lift": float(f"{r.lift:.12g}"),
                }
                for r in self.rules
            ],
        }

    def to_arrow(self) -> pa.Table:
        """Return the itemsets as an Arrow table."""
        return pa.Table.from_pylist([{"items": str(s)} | s.support.to_dict() for s in self.itemsets])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the itemsets as texts."""
        return ["items", "support", "95 % interval"], [[str(s), *_percent(s.support)] for s in self.itemsets]

    def rule_table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the rules as texts."""
        head = ["rule", "support", "confidence", "95 % interval", "lift"]
        return head, [[str(r), _percent(r.support)[0], *_percent(r.confidence), f"{r.lift:.2f}"] for r in self.rules]


def _pairs(items: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"column": column, "label": label} for column, label in items]


def _percent(f: Figure) -> list[str]:
    return [f"{100 * float(f):.1f} %", f"{100 * f.low:.1f} … {100 * f.high:.1f} %"]


def find_itemsets(
    source: Source, columns: Sequence[Column], min_support: float, min_confidence: float, max_size: int
) -> Itemsets:
    """Return frequent itemsets of columns of labels, and rules with one item on the right.

    Parameters
    ----------
    source
        The release.
    columns
        Its columns; those of numbers are left out.
    min_support, min_confidence
        The least share of rows, and the least share of the rows with the left side.
    max_size
        The largest number of items.
    """
    if not 0 < min_support < 1 or not 0 <= min_confidence <= 1:
        raise UsageError(
            f"min_support = {min_support:g} and min_confidence = {min_confidence:g} are shares; give 0.1 and 0.5"
        )
    if max_size < 1:
        raise UsageError(f"max_size = {max_size}: an itemset has at least one item")
    labelled = [c for c in columns if not c.attribute.kind.numeric]
    if not labelled:
        raise UsageError("itemsets are of labels, and the release has no column of labels; leave itemsets=True out")
    states = tuple(States.of_labels(c) for c in labelled)
    names = [level_names(c) for c in labelled]
    rows = source.rows([c.name for c in labelled])
    sets = [((i, j),) for i, labels in enumerate(names) for j in range(len(labels))]
    known: dict[tuple[Item, ...], FloatArray] = {}
    n, factor = 0.0, float(source.rows_of_one)
    level: list[tuple[Item, ...]] = list(sets)
    while level:
        sums = rows.fold(Supports(states, tuple(level))).arrays
        n = float(sums["rows"][0])
        known |= dict(zip(level, sums["supports"], strict=True))
        alive = [s for s in level if _support(known[s], n, factor).high >= min_support]
        level = _grow(alive) if alive and len(alive[0]) < max_size else []
    kept = {s: f for s, row in known.items() if (f := _support(row, n, factor)) >= min_support}

    def spell(items: Sequence[Item]) -> tuple[tuple[str, str], ...]:
        return tuple((labelled[c].name, names[c][label]) for c, label in items)

    itemsets = [Itemset(spell(s), f) for s, f in sorted(kept.items(), key=lambda p: (-float(p[1]), p[0]))]
    rules = []
    for items, support in kept.items():
        for k in range(len(items)) if len(items) > 1 else ():
            left, right = items[:k] + items[k + 1 :], items[k]
            confidence = _confidence(known[items], known[left], k, n, factor)
            if confidence is not None and confidence >= min_confidence:
                lift = float(confidence) * n / known[(right,)][0]
                rules.append(Rule(spell(left), spell([right])[0], support, confidence, lift))
    rules.sort(key=lambda r: (-float(r.confidence), str(r)))
    exact = all(s.exact for s in states)
    return Itemsets(tuple(itemsets), tuple(rules), min_support, min_confidence, n, exact)


def _grow(alive: Sequence[tuple[Item, ...]]) -> list[tuple[Item, ...]]:
    """Return sets with one item more, all of whose subsets are alive; each column gives one item."""
    max_sets = 20_000
    there, out = set(alive), []
    by_head: dict[tuple[Item, ...], list[Item]] = {}
    for items in alive:
        by_head.setdefault(items[:-1], []).append(items[-1])
    for head, tails in by_head.items():
        for one, other in combinations(sorted(tails), 2):
            items = (*head, one, other)
            if one[0] != other[0] and all(items[:k] + items[k + 1 :] in there for k in range(len(items))):
                out.append(items)
    if len(out) > max_sets:
        raise UsageError(f"{len(out):,} itemsets may be frequent; ask for a larger min_support, or a smaller max_size")
    return out


def _support(row: FloatArray, n: float, factor: float) -> Figure:
    """Return the support from Σ w and Σ w²."""
    se = math.sqrt(max(float(row[1] - row[0]), 0.0) * factor) / n
    support = float(row[0]) / n
    return Figure(support, se, max(support - Z * se, 0.0), min(max(support + Z * se, 0.0), 1.0))


def _confidence(both: FloatArray, left: FloatArray, place: int, n: float, factor: float) -> Figure | None:
    """Return Σ w_AB / Σ w_A; its noise is that of w_AB − c w_A, whose true square is 1_AB (1 − 2c) + c² 1_A."""
    total = float(left[0])
    if total <= 0:
        return None
    c = float(both[0]) / total
    square = float(both[1]) - 2 * c * float(both[2 + place]) + c * c * float(left[1])
    known = float(both[0]) * (1 - 2 * c) + c * c * total
    se = math.sqrt(max(square - known, 0.0) * factor) / total
    if se > n:
        return None
    return Figure(c, se, min(max(c - Z * se, 0.0), 1.0), min(max(c + Z * se, 0.0), 1.0))
