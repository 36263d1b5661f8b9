"""How much of a tree to keep: the shortest description of the tree and of the classes given it (MDL)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.trees.impurity import xlog2x

if TYPE_CHECKING:
    from sfumato.trees.grow import Growth

NODE_BITS = 1.0
"""One bit says whether a node is a leaf."""


class Pruner(Protocol):
    """Decides which grown nodes become leaves."""

    def hopeless(self, counts: FloatArray, attributes: int, least_bits: float) -> NDArray[np.bool_]:
        """Nodes (one row of class counts each) below which nothing that may grow can survive pruning."""
        ...

    def leaves(self, growth: Growth) -> NDArray[np.bool_]:
        """Which nodes are to end as leaves."""
        ...


@dataclass(frozen=True)
class KeepAll:
    """No pruning."""

    def hopeless(self, counts: FloatArray, attributes: int, least_bits: float) -> NDArray[np.bool_]:  # noqa: ARG002
        """None."""
        return np.zeros(len(counts), bool)

    def leaves(self, growth: Growth) -> NDArray[np.bool_]:
        """Those that never split."""
        return growth.attribute < 0


@dataclass(frozen=True)
class MDL:
    """Minimum description length pruning (Mehta, Rissanen & Agrawal 1995): a subtree stays if it shortens the message."""

    def hopeless(self, counts: FloatArray, attributes: int, least_bits: float) -> NDArray[np.bool_]:
        """Leaves no longer than the shortest subtree conceivable: one split into two leaves without any error.

        Growing such a node and pruning it again would come to the same leaf. Of the two leaves the larger has n/2 records
        or more, and states its shares. A third leaf could save at most (k−1)/2 log2(3/2) bits there and costs at least 2,
        which settles it up to seven classes; beyond, the shares are not counted.
        """
        n, classes = counts.sum(axis=1), counts.shape[1]
        shares = parameter_bits(n / 2, classes) if classes <= 7 else 0.0
        shortest = NODE_BITS + split_bits(attributes, least_bits) + 2 * NODE_BITS + shares
        return np.asarray(NODE_BITS + leaf_bits(counts) <= shortest)

    def leaves(self, growth: Growth) -> NDArray[np.bool_]:
        """Bottom up: a node ends where its own code is no longer than that of the subtree below it."""
        own = NODE_BITS + leaf_bits(growth.counts)
        leaf = growth.attribute < 0
        best = own.copy()
        for nodes in reversed(growth.levels()):
            inner = nodes[~leaf[nodes]]
            if not len(inner):
                continue
            below = children_sum(best, growth.first_child[inner], growth.children[inner])
            subtree = NODE_BITS + split_bits(growth.attributes, growth.bits[inner]) + below
            leaf[inner] = own[inner] <= subtree
            best[inner] = np.minimum(own[inner], subtree)
        return leaf


def leaf_bits(counts: FloatArray) -> FloatArray:
    """Σ n_c log2(n/n_c) + (k−1)/2 log2(n/2) + log2(π^{k/2}/Γ(k/2)): the classes of a leaf, one row of counts each.

    The first term is the code given the class shares, the rest is what it costs to state the k shares.
    """
    n = counts.sum(axis=-1)
    stochastic = xlog2x(n) - xlog2x(counts).sum(axis=-1)
    return np.asarray(stochastic + parameter_bits(n, counts.shape[-1]))


def parameter_bits(n: FloatArray, classes: int) -> FloatArray:
    """(k−1)/2 log2(n/2) + log2(π^{k/2}/Γ(k/2)); an empty leaf, or a single class, has nothing to state."""
    if classes < 2:
        return np.zeros(np.shape(n))
    constant = (classes / 2 * math.log(math.pi) - math.lgamma(classes / 2)) / math.log(2)
    bits = (classes - 1) / 2 * np.log2(np.where(n > 0, n, 2.0) / 2) + constant
    # With many classes and few records the asymptotic formula falls below nothing.
    return np.asarray(np.where(n > 0, np.maximum(bits, 0.0), 0.0))


def split_bits(attributes: int, cut_bits: FloatArray | float) -> FloatArray:
    """log2 d for the attribute, and the bits of the cut: log2(cuts), or log2(2^(v−1) − 1) for a subset of v categories."""
    return np.asarray(math.log2(max(attributes, 1)) + cut_bits)


def children_sum(values: FloatArray, first: IntArray, number: IntArray) -> FloatArray:
    """Sums of `values` over each node's children, which stand side by side."""
    total = np.zeros(len(first))
    for child in range(int(number.max(initial=0))):
        has = number > child
        total[has] += values[first[has] + child]
    return total
