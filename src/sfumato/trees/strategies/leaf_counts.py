"""What the leaves of a tree hold, reconstructed: to its rows, the tree is one more channel.

Sorted assignment gives each attribute the distribution it has in each class, but the codes of one row remain those of its
noisy values. Where several tests lead to a leaf, the rows counted there are therefore blurred with those of the leaves
around it, and the class that leads in the count need not be the one that leads in the leaf. How rows stray is known: noise is
independent across attributes, so one of class c that belongs to leaf l shows up in leaf l′ with probability ::

    M_c[l′, l] = Π_a P(released a in the box of l′ | true a in the box of l)

where within a box the attribute is distributed as it is in the class. The iteration of Agrawal & Srikant 2000 (equation 3), over
leaves in place of intervals, then tells from the leaves that released rows show up in how many belong to each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from sfumato.channels import DenseKernel
from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.reconstruction import fit_groups
from sfumato.trees.grow import COUNTED_ROWS, CellArray, Growth
from sfumato.trees.strategies.association import Association, CodeArray, whole_counts


@dataclass(frozen=True, eq=False)
class Leaves:
    """Reconstructs the leaves of a tree that was grown on sorted assignments by class.

    `shares` gives the rows by class and cell (a missing value is cell 0) of an attribute, as they were before the tree grew:
    at that time the cells have the distribution of the attribute in each class.
    """

    associations: Sequence[Association]
    shares: Callable[[int], FloatArray]

    def attributes_to_count(self, growth: Growth) -> list[int]:
        """Return the attributes whose shown cells are needed; none where the counts of the tree are to stay as they are."""
        max_leaves = 2000  # a tree with more keeps its counts: M has the square of their number
        tested: list[int] = np.unique(growth.attribute[growth.attribute >= 0]).tolist()
        known = all(self.associations[a].exact for a in tested)
        return [] if known or int((growth.attribute < 0).sum()) > max_leaves else tested

    def reconstruct(self, growth: Growth, seen: IntArray) -> Growth:
        """Return the same tests, with the class counts of every node made up of what belongs to the leaves below it.

        `seen` are rows by node and class, as `tally` counts them.
        """
        # The iteration starts from the tree's own counts, which are nearly right, so a few steps do; many would fit the noise.
        share_of_threshold = 0.05
        leaves = np.flatnonzero(growth.attribute < 0)
        inside = {
            a: boxes(growth, a, 1 + self.associations[a].grid.size)[leaves] for a in self.attributes_to_count(growth)
        }
        counts = np.zeros_like(growth.counts)
        for c, strays in enumerate(self.strays(inside)):
            shown = seen[leaves, c].astype(np.float64)[None, :]
            start = growth.counts[leaves, c] + 0.5
            mass = fit_groups(DenseKernel(strays), shown, start / start.sum(), share_of_threshold)
            counts[leaves, c] = whole_counts(mass, shown.sum(axis=1))[0]
        return replace(growth, counts=sum_over_branches(growth, counts))

    def strays(self, inside: Mapping[int, BoolArray]) -> Iterator[FloatArray]:
        """Yield M_c of one class after another, given the boxes of the leaves (one row each) on every tested attribute."""
        shares = {a: self.shares(a) for a in inside}
        for c in range(len(next(iter(shares.values())))):
            yield reduce(np.multiply, (self._strays(a, box, shares[a][c]) for a, box in inside.items()))

    def _strays(self, a: int, inside: BoolArray, shares: FloatArray) -> FloatArray:
        """Return P(released a in the box of l′ | true a in the box of l), one row per l′; missing values stay where they are."""
        weights = inside * shares
        total = weights.sum(axis=1, keepdims=True)
        # Where the class has no row in a box, nothing is known of its values there but the box.
        weights = np.where(total > 0, weights, inside)
        weights /= weights.sum(axis=1, keepdims=True)
        association = self.associations[a]
        if association.exact:
            return np.asarray(inside.astype(np.float64) @ weights.T)
        present = inside[:, 1:][:, association.unadjusted].astype(np.float64)
        return np.asarray(present @ association.kernel @ weights[:, 1:].T + np.outer(inside[:, 0], weights[:, 0]))


def with_leaves(
    growth: Growth, associations: Sequence[Association], codes: Sequence[CodeArray], classes: IntArray
) -> Growth:
    """Reconstruct the leaves of a tree that was grown from rows in memory; `codes` are the assignments at the root."""
    k = growth.counts.shape[1]
    leaves = Leaves(associations, lambda a: class_shares(codes[a], associations[a].grid.size, classes, k))
    shown = {
        a: codes[a] + np.int16(1) if associations[a].exact else shown_cells(associations[a])[associations[a].observed]
        for a in leaves.attributes_to_count(growth)
    }
    return leaves.reconstruct(growth, tally(growth, shown, classes)) if shown else growth


def class_shares(codes: CodeArray, size: int, classes: IntArray, n_classes: int) -> FloatArray:
    """Count the rows in every cell of an attribute, shape (classes, 1 + cells); cell 0 is a missing value (code −1)."""
    width = 1 + size
    counts = np.bincount(classes * width + (codes + 1), minlength=n_classes * width)
    return counts.reshape(n_classes, width).astype(np.float64)


def shown_cells(association: Association) -> CellArray:
    """Return the cell that a row shows by its unadjusted released value, by observed cell; the last is for none (−1)."""
    return np.append(association.unadjusted + 1, 0).astype(np.int16)


def tally(growth: Growth, shown: Mapping[int, CellArray], classes: IntArray) -> IntArray:
    """Count the rows by node and class, each at the leaf that its shown cells lead to."""
    size, k = growth.counts.shape
    return np.bincount(leaf_of(growth, shown) * k + classes, minlength=size * k).reshape(size, k)


def leaf_of(growth: Growth, cells: Mapping[int, CellArray]) -> IntArray:
    """Return the leaf into which each row falls by the given cells of the attributes that are tested."""
    names = sorted(cells)
    rows, width = len(cells[names[0]]), growth.branch.shape[1]
    ended = growth.attribute < 0
    number = np.arange(growth.size)
    # One table leads from (node, cell) to the next node; a leaf leads to itself, so that no row has to be sorted out.
    follows = np.where(ended, number, growth.first_child)[:, None] + np.where(ended[:, None], 0, growth.branch)
    follows = follows.ravel()
    asked = np.where(ended, 0, np.searchsorted(names, growth.attribute))
    out = np.empty(rows, np.int64)
    for begin in range(0, rows, COUNTED_ROWS):
        end = min(begin + COUNTED_ROWS, rows)
        table = np.concatenate([cells[a][begin:end] for a in names])
        here, begins = np.arange(end - begin), asked * (end - begin)
        node = np.zeros(end - begin, np.int64)
        for _ in range(int(growth.depth.max())):
            node = follows.take(node * width + table.take(begins.take(node) + here))
        out[begin:end] = node
    return out


def boxes(growth: Growth, attribute: int, width: int) -> BoolArray:
    """Return for every node the cells of an attribute that lead to it; cell 0 is a missing value."""
    out = np.ones((growth.size, width), bool)
    parent = growth.parents()
    branch = np.arange(growth.size) - growth.first_child[parent]
    for nodes in growth.levels()[1:]:
        above = parent[nodes]
        out[nodes] = out[above]
        asked = growth.attribute[above] == attribute
        out[nodes[asked]] &= growth.branch[above[asked], :width] == branch[nodes[asked], None]
    return out


def sum_over_branches(growth: Growth, counts: FloatArray) -> FloatArray:
    """Return the counts of the leaves, and at every other node the sum over its children."""
    out = counts.copy()
    parent = growth.parents()
    for nodes in reversed(growth.levels()[1:]):
        np.add.at(out, parent[nodes], out[nodes])
    return out
