"""The owner's tree laid over the owner's rows: which leaf each is in, and what that leaf asks of every attribute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.table import Table
from sfumato.trees import Condition, Rule, Tree, rules


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of a tree that hold rows, numbered through.

    Attributes
    ----------
    tree
        The owner's tree.
    number
        The leaf of each row. A missing value follows the branch with most rows, so every row has one leaf.
    nodes
        The node of each leaf in the tree.
    counts
        Rows by leaf and class; rows without a class are left out.
    """

    tree: Tree
    number: IntArray
    nodes: IntArray
    counts: FloatArray

    @classmethod
    def of(cls, tree: Tree, table: Table) -> Leaves:
        """Send every row through the tree."""
        nodes, number = np.unique(tree.apply(table), return_inverse=True)
        classes = table.codes if table.target is not None else np.full(table.rows, -1)
        known = classes >= 0
        k = max(len(table.labels), 1)
        counts = np.bincount(number[known] * k + classes[known], minlength=len(nodes) * k)
        return cls(tree, number, nodes, counts.reshape(len(nodes), k).astype(np.float64))

    @property
    def size(self) -> int:
        """How many leaves hold rows."""
        return len(self.nodes)

    @cached_property
    def heterogeneous(self) -> NDArray[np.bool_]:
        """Leaves with rows of more than one class."""
        return (self.counts > 0).sum(axis=1) > 1

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of each leaf."""
        by_node = {rule.leaf: rule for rule in rules(self.tree)}
        return tuple(by_node[int(node)] for node in self.nodes)

    def condition(self, leaf: int, name: str) -> Condition | None:
        """Return what a leaf asks of an attribute; None where its path does not test it (a leaf innocent attribute)."""
        return next((c for c in self.rules[leaf].conditions if c.attribute == name), None)

    def influential(self, name: str) -> NDArray[np.bool_]:
        """Return the leaves on whose path the attribute is tested."""
        return np.array([self.condition(leaf, name) is not None for leaf in range(self.size)], bool)

    def interval(self, name: str, low: float, high: float, step: float) -> tuple[FloatArray, FloatArray]:
        """Return for each leaf the least and largest value on the lattice of `step` that keeps a row in the leaf.

        Where the leaf does not test the attribute, that is all of [low, high].
        """
        lows, highs = np.full(self.size, low), np.full(self.size, high)
        for leaf in range(self.size):
            condition = self.condition(leaf, name)
            if condition is not None:
                lows[leaf] = max(low, above(condition.low, step, condition.low_open))
                highs[leaf] = min(high, -above(-condition.high, step, not condition.high_closed))
        return lows, highs


def above(end: float, step: float, is_open: bool) -> float:
    """Return the least multiple of `step` from `end` on, or beyond it where the end is open."""
    if math.isinf(end):
        return end
    places = end / step
    near = round(places)
    # A threshold is a value of the data: on the lattice up to rounding.
    if abs(places - near) < 1e-6:
        return (near + is_open) * step
    return math.ceil(places) * step
