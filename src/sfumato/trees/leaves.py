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

    Made before the tree grows: at that time the cells still have the distribution of each attribute in each class.
    """

    def __init__(
        self, associations: Sequence[Association], cells: CellArray, classes: IntArray, n_classes: int
    ) -> None:
        self._associations = associations
        self._classes = classes
        self._n_classes = n_classes
        self._exact = {a: cells[a] for a, association in enumerate(associations) if association.exact}
        self._shares = [
            np.bincount(classes * (1 + association.grid.size) + cell, minlength=n_classes * (1 + association.grid.size))
            .reshape(n_classes, -1)
            .astype(np.float64)
            for association, cell in zip(associations, cells, strict=True)
        ]

    def reconstructed(self, growth: Growth) -> Growth:
        """The same tests, with the class counts of every node made up of what belongs to the leaves below it."""
        tested = np.unique(growth.attribute[growth.attribute >= 0]).tolist()
        leaves = np.flatnonzero(growth.attribute < 0)
        if all(a in self._exact for a in tested) or len(leaves) > MOST_LEAVES:
            return growth
        last = leaf_of(growth, {a: self._shown(a) for a in tested})
        tally = np.bincount(last * self._n_classes + self._classes, minlength=growth.counts.size)
        seen = tally.reshape(growth.counts.shape)[leaves].astype(np.float64)
        inside = {a: boxes(growth, a, 1 + self._associations[a].grid.size)[leaves] for a in tested}
        counts = np.zeros_like(growth.counts)
        for c in range(self._n_classes):
            strays = self.strays(inside, c)
            start = growth.counts[leaves, c] + 0.5
            found = masses(strays, seen[None, :, c], start / start.sum(), SHARE_OF_THRESHOLD)
            counts[leaves, c] = whole_counts(found, seen[None, :, c].sum(axis=1))[0]
        return replace(growth, counts=summed_up(growth, counts))

    def _shown(self, a: int) -> CellArray:
        """The cell that each record shows, its released value taken at its word."""
        if a in self._exact:
            return self._exact[a]
        association = self._associations[a]
        return np.append(association.at_its_word + 1, 0).astype(np.int16)[association.observed]

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
