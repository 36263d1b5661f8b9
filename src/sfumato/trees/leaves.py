"""What the leaves of a tree hold, reconstructed: to its records, the tree is one more channel.

Sorted assignment gives each attribute the distribution it has in each class, but the codes of one record remain those of its
noisy values. Where several tests lead to a leaf, the records counted there are therefore blurred with those of the leaves
around it, and the class that leads in the count need not be the one that leads in the leaf. How records stray is known: noise is
independent across attributes, so one of class c that belongs to leaf l shows up in leaf l′ with probability ::

    M_c[l′, l] = Π_a P(released a in the box of l′ | true a in the box of l)

where within a box the attribute is distributed as it is in the class. The iteration of Agrawal & Srikant 2000 (equation 3), over
leaves in place of intervals, then tells from the leaves that released records show up in how many belong to each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.reconstruction.batched import masses
from sfumato.trees.assign import Association, whole_counts
from sfumato.trees.grow import Growth
from sfumato.trees.records import BLOCK, CellArray

MOST_LEAVES = 2000
"""A tree with more leaves than this keeps its counts: M has the square of their number."""

SHARE_OF_THRESHOLD = 0.05
"""Where the iteration stops. It starts from the tree's own counts, which are nearly right, so a few steps do; many would fit
the noise."""


class Leaves:
    """Reconstructs the leaves of a tree that was grown on sorted assignments by class.

    `shares` are the records by class and cell (a missing value is cell 0) of every attribute, as they were before the tree
    grew: at that time the cells have the distribution of each attribute in each class.
    """

    def __init__(self, associations: Sequence[Association], shares: Sequence[FloatArray]) -> None:
        self._associations = associations
        self._shares = shares

    @classmethod
    def of(cls, associations: Sequence[Association], cells: CellArray, classes: IntArray, n_classes: int) -> Leaves:
        """From the cells of all records."""
        shares = []
        for association, cell in zip(associations, cells, strict=True):
            width = 1 + association.grid.size
            counts = np.bincount(classes * width + cell, minlength=n_classes * width)
            shares.append(counts.reshape(n_classes, width).astype(np.float64))
        return cls(associations, shares)

    def asked(self, growth: Growth) -> list[int]:
        """The attributes whose shown cells are needed; none where the counts of the tree are to stay as they are."""
        tested: list[int] = np.unique(growth.attribute[growth.attribute >= 0]).tolist()
        known = all(self._associations[a].exact for a in tested)
        return [] if known or int((growth.attribute < 0).sum()) > MOST_LEAVES else tested

    def reconstructed(self, growth: Growth, seen: IntArray) -> Growth:
        """The same tests, with the class counts of every node made up of what belongs to the leaves below it.

        `seen` are records by node and class, as `tally` counts them.
        """
        leaves = np.flatnonzero(growth.attribute < 0)
        inside = {a: boxes(growth, a, 1 + self._associations[a].grid.size)[leaves] for a in self.asked(growth)}
        counts = np.zeros_like(growth.counts)
        for c in range(growth.counts.shape[1]):
            shown = seen[leaves, c].astype(np.float64)[None, :]
            start = growth.counts[leaves, c] + 0.5
            found = masses(self.strays(inside, c), shown, start / start.sum(), SHARE_OF_THRESHOLD)
            counts[leaves, c] = whole_counts(found, shown.sum(axis=1))[0]
        return replace(growth, counts=summed_up(growth, counts))

    def strays(self, inside: Mapping[int, NDArray[np.bool_]], c: int) -> FloatArray:
        """M_c, given the boxes of the leaves (one row each) on every attribute that is tested."""
        factors = [self._strays(a, box, self._shares[a][c]) for a, box in inside.items()]
        return np.asarray(np.prod(factors, axis=0))

    def _strays(self, a: int, inside: NDArray[np.bool_], shares: FloatArray) -> FloatArray:
        """P(released a in the box of l′ | true a in the box of l), one row an l′; missing values stay where they are."""
        weights = inside * shares
        total = weights.sum(axis=1, keepdims=True)
        # Where the class has no record in a box, nothing is known of its values there but the box.
        weights = np.where(total > 0, weights, inside)
        weights /= weights.sum(axis=1, keepdims=True)
        association = self._associations[a]
        if association.exact:
            return np.asarray(inside.astype(np.float64) @ weights.T)
        present = inside[:, 1:][:, association.at_its_word].astype(np.float64)
        return np.asarray(present @ association.kernel @ weights[:, 1:].T + np.outer(inside[:, 0], weights[:, 0]))


def shown_cells(association: Association) -> CellArray:
    """The cell that a record shows, its released value taken at its word, by observed cell; the last is for none (−1)."""
    return np.append(association.at_its_word + 1, 0).astype(np.int16)


def tally(growth: Growth, shown: Mapping[int, CellArray], classes: IntArray) -> IntArray:
    """Records by node and class, each at the leaf that its shown cells lead to."""
    size, k = growth.counts.shape
    return np.bincount(leaf_of(growth, shown) * k + classes, minlength=size * k).reshape(size, k)


def leaf_of(growth: Growth, cells: Mapping[int, CellArray]) -> IntArray:
    """The leaf into which each record falls by the given cells of the attributes that are tested; the root is no leaf."""
    names = sorted(cells)
    row = np.zeros(growth.attributes, np.int64)
    row[names] = np.arange(len(names))
    table = np.stack([cells[a] for a in names])
    rows, width = table.shape[1], growth.branch.shape[1]
    flat, branch = table.ravel(), growth.branch.ravel()
    begins = row[growth.attribute] * rows
    ended = growth.attribute < 0
    out = np.zeros(rows, np.int64)
    for begin in range(0, rows, BLOCK):
        moving = np.arange(begin, min(begin + BLOCK, rows))
        node = np.zeros(len(moving), np.int64)
        while len(moving):
            cell = flat.take(begins.take(node) + moving)
            node = growth.first_child.take(node) + branch.take(node * width + cell)
            done = ended.take(node)
            out[moving[done]] = node[done]
            moving, node = moving[~done], node[~done]
    return out


def boxes(growth: Growth, attribute: int, width: int) -> NDArray[np.bool_]:
    """For every node the cells of an attribute that lead to it; cell 0 is a missing value."""
    out = np.ones((growth.size, width), bool)
    parent = growth.parents()
    branch = np.arange(growth.size) - growth.first_child[parent]
    for nodes in growth.levels()[1:]:
        above = parent[nodes]
        out[nodes] = out[above]
        asked = growth.attribute[above] == attribute
        out[nodes[asked]] &= growth.branch[above[asked], :width] == branch[nodes[asked], None]
    return out


def summed_up(growth: Growth, counts: FloatArray) -> FloatArray:
    """Counts of the leaves, and at every other node the sum over its children."""
    out = counts.copy()
    parent = growth.parents()
    for nodes in reversed(growth.levels()[1:]):
        np.add.at(out, parent[nodes], out[nodes])
    return out
