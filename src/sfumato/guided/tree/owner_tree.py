"""Trees laid over the owner's rows: which leaf each row is in, what that leaf asks of every attribute, and which values it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.table import Table
from sfumato.trees import Condition, Rule, Tree, c45, rules


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
    def heterogeneous(self) -> BoolArray:
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

    def influential(self, name: str) -> BoolArray:
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


@dataclass(frozen=True, eq=False)
class Segments:
    """DETECTIVE's view of a categorical attribute: the leaves of its own tree, their siblings, and the rows in them.

    Two values are similar within a segment of the table, not as such: "it is possible for two values to belong to the same
    cluster in one horizontal partition of the dataset, and to two distinct clusters in another" (DETECTIVE 2005, abstract).

    Attributes
    ----------
    attribute, tree
        The attribute, and the tree that has it as class.
    node
        The leaf of each row, as a number of the tree's nodes.
    counts
        Records by node of the tree and value of the attribute, summed up the tree. Where missing values made the tree's
        own counts fractional, these are whole: every row is in one leaf.
    """

    attribute: str
    tree: Tree
    node: IntArray
    counts: FloatArray

    @classmethod
    def of(cls, table: Table, attribute: str, tree: Tree | None = None) -> Segments:
        """Grow the attribute's tree from all other columns, the class among them."""
        view = table.with_target(attribute)
        grown = c45(view) if tree is None else tree
        node = grown.apply(view)
        known = view.codes >= 0
        k = len(view.labels)
        key = node[known] * k + view.codes[known]
        counts = np.bincount(key, minlength=len(grown.nodes) * k).reshape(-1, k).astype(np.float64)
        return replace(cls.of_counts(attribute, grown, counts), node=node)

    @classmethod
    def of_counts(cls, attribute: str, tree: Tree, counts: FloatArray) -> Segments:
        """Return the tree with counts by leaf and value, summed up the tree, without the leaves of single rows."""
        whole = counts.copy()
        for number in range(len(tree.nodes) - 1, -1, -1):  # children come after their parents
            for child in tree.nodes[number].children:
                whole[number] += whole[child]
        return cls(attribute, tree, np.empty(0, np.int64), whole)

    @cached_property
    def parents(self) -> IntArray:
        """The parent of each node, −1 for the root."""
        out = np.full(len(self.tree.nodes), -1)
        for number, node in enumerate(self.tree.nodes):
            out[list(node.children)] = number
        return out

    @cached_property
    def held(self) -> BoolArray:
        """Which nodes are leaves that hold rows."""
        return np.array([node.test is None for node in self.tree.nodes]) & (self.counts.sum(axis=1) > 0)

    @property
    def leaves(self) -> IntArray:
        """The leaves that hold rows."""
        return np.flatnonzero(self.held)

    @cached_property
    def majorities(self) -> IntArray:
        """The most frequent value of each node, the first of equals."""
        return np.argmax(self.counts, axis=1)

    def siblings(self, leaf: int, up: int = 1) -> list[int]:
        """Return the other leaves with rows that are children of the same parent; a sibling that is split again does not count.

        With `up` above 1, cousins: all leaves with rows below the ancestor this many levels higher.
        """
        ancestor = leaf
        for _ in range(up):
            if self.parents[ancestor] < 0:
                break
            ancestor = int(self.parents[ancestor])
        if ancestor == leaf:
            return []
        below = list(self.tree.nodes[ancestor].children)
        if up > 1:
            below = self._below(ancestor)
        return [n for n in below if n != leaf and self.held[n]]

    def _below(self, node: int) -> list[int]:
        out, stack = [], [node]
        while stack:
            number = stack.pop()
            out.append(number)
            stack.extend(self.tree.nodes[number].children)
        return sorted(out)

    def frequencies(self, node: int) -> FloatArray:
        """Return shares of the values in a node; an empty one has its nearest ancestor's."""
        while self.counts[node].sum() == 0 and self.parents[node] >= 0:
            node = int(self.parents[node])
        total = self.counts[node].sum()
        return self.counts[node] / total if total else np.full(self.counts.shape[1], 1 / self.counts.shape[1])

    def law(self, leaf: int, p: float, v: float = 0.0, up: int = 1) -> FloatArray:
        """Return q_L = (1 − v)[p · mean over siblings of onehot(their majority) + (1 − p) · frequencies of L] + v · uniform.

        The law of a row's new value. It does not depend on the old value, given the leaf. Without siblings p is 0.
        """
        q = self.frequencies(leaf)
        kin = self.siblings(leaf, up)
        if kin:
            moved = np.bincount(self.majorities[kin], minlength=len(q)) / len(kin)
            q = p * moved + (1 - p) * q
        return (1 - v) * q + v / len(q)


@dataclass(frozen=True)
class ValuePair:
    """Two values that are alike in a segment, by the product of their numbers of rows there."""

    first: str
    second: str
    similarity: float


@dataclass(frozen=True)
class Segment:
    """A heterogeneous leaf, or the union of sibling leaves, with the values that are alike in it."""

    nodes: tuple[int, ...]
    records: int
    pairs: tuple[ValuePair, ...]


def value_pairs(counts: FloatArray, labels: tuple[str, ...]) -> tuple[ValuePair, ...]:
    """Return pairs of values that both occur, most similar first: similarity = product of the counts (2005, section IV)."""
    pairs = [
        ValuePair(labels[i], labels[j], float(counts[i] * counts[j]))
        for i in range(len(counts))
        for j in range(i + 1, len(counts))
        if counts[i] > 0 and counts[j] > 0
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.similarity, pair.first, pair.second)))


def similar_values(segments: Segments) -> tuple[Segment, ...]:
    """Return which values are alike where: in each heterogeneous leaf, and in each union of sibling leaves."""
    out, seen = [], set()
    labels = segments.tree.labels
    for leaf in segments.leaves.tolist():
        counts = segments.counts[leaf]
        if (counts > 0).sum() > 1:
            out.append(Segment((leaf,), int(counts.sum()), value_pairs(counts, labels)))
    for leaf in segments.leaves.tolist():
        family = tuple(sorted((leaf, *segments.siblings(leaf))))
        if len(family) > 1 and family not in seen:
            seen.add(family)
            counts = segments.counts[list(family)].sum(axis=0)
            out.append(Segment(family, int(counts.sum()), value_pairs(counts, labels)))
    return tuple(out)
