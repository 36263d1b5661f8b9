"""DETECTIVE's view of a categorical attribute: the leaves of its own tree, their siblings, and what values are alike there.

Two values are similar within a segment of the table, not as such: "it is possible for two values to belong to the same
cluster in one horizontal partition of the dataset, and to two distinct clusters in another" (DETECTIVE 2005, abstract).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.table import Table
from sfumato.trees import Tree, c45


@dataclass(frozen=True, eq=False)
class Segments:
    """The tree of one attribute, and the rows in it.

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
    def held(self) -> NDArray[np.bool_]:
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
