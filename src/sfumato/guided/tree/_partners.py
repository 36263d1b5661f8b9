"""Somebody to swap with for a row that is alone in its leaf and class: the nearest of its class up the tree.

For each attribute on its own, the row climbs from its leaf until a node holds another row of its class such that
either one's value satisfies the conditions of the other's leaf. The two exchange that value. Both keep their leaf, and the
tables of the attribute by class stay exact in that node and everywhere above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.randomness import Stream
from sfumato.table import Column, Table
from sfumato.trees import Tree


@dataclass(frozen=True, eq=False)
class Family:
    """For every node the run of leaves below it, leaves numbered from first to last in the tree."""

    begin: IntArray
    end: IntArray
    parent: IntArray

    @classmethod
    def of(cls, tree: Tree) -> Family:
        """Return leaves in the order of `Tree.paths`; a node's leaves then stand together."""
        size = len(tree.nodes)
        begin, end, parent = np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, -1)
        for place, (leaf, _) in enumerate(tree.paths()):
            begin[leaf], end[leaf] = place, place + 1
        for number in range(size - 1, -1, -1):  # children come after their parents
            if children := list(tree.nodes[number].children):
                begin[number], end[number] = begin[children].min(), end[children].max()
                parent[children] = number
        return cls(begin, end, parent)


def exchange_values(
    table: Table, values: dict[str, FloatArray], leaves: Leaves, lone: IntArray, stream: Stream
) -> tuple[dict[str, FloatArray], IntArray]:
    """Return the columns after every lone row has exchanged its values, and of each in how many columns it found no partner."""
    family = Family.of(leaves.tree)
    place = family.begin[leaves.nodes][leaves.number]
    # Records of one class in the order of their leaves: those below a node are one run.
    by_place = np.argsort(place, kind="stable")
    order = {int(c): by_place[table.codes[by_place] == c] for c in np.unique(table.codes[lone])}
    unmoved = np.zeros(len(lone), np.int64)
    out = {}
    for column in table.columns:
        new = values[column.name].copy()
        known, codes = np.unique(new, return_inverse=True)
        allowed = _check_conditions(column, leaves, known)
        draws = stream.uniform(len(lone))
        for i, (row, u) in enumerate(zip(lone.tolist(), draws.tolist(), strict=True)):
            partner = _partner(row, u, leaves, family, place, order[int(table.codes[row])], allowed, codes)
            if partner < 0:
                unmoved[i] += 1
                continue
            new[[row, partner]] = new[[partner, row]]
            codes[[row, partner]] = codes[[partner, row]]
        out[column.name] = new
    return out, unmoved


def _check_conditions(column: Column, leaves: Leaves, known: FloatArray) -> NDArray[np.bool_]:
    """Return which of the values satisfy each leaf's conditions."""
    out = np.ones((leaves.size, len(known)), bool)
    for leaf in range(leaves.size):
        condition = leaves.condition(leaf, column.name)
        if condition is not None:
            out[leaf] = condition.holds(column.attribute, known)
    return out


def _partner(
    row: int,
    u: float,
    leaves: Leaves,
    family: Family,
    place: IntArray,
    same_class: IntArray,
    allowed: NDArray[np.bool_],
    codes: IntArray,
) -> int:
    """Return a random row among those of the nearest ancestor that can exchange with this one, −1 if there is none."""
    own = int(leaves.number[row])
    node = int(family.parent[leaves.nodes[own]])
    places = place[same_class]
    while node >= 0:
        run = same_class[np.searchsorted(places, family.begin[node]) : np.searchsorted(places, family.end[node])]
        run = run[run != row]
        fits = run[allowed[own, codes[run]] & allowed[leaves.number[run], codes[row]]]
        if len(fits):
            return int(fits[int(u * len(fits))])
        node = int(family.parent[node])
    return -1
