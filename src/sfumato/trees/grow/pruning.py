"""How much of a tree to keep: the shortest description of the tree and of the classes given it (MDL)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.trees.grow.splits import xlog2x

if TYPE_CHECKING:
    from sfumato.trees.grow.growth import Growth

NODE_BITS = 1.0
"""One bit says whether a node is a leaf."""


class Pruner(Protocol):
    """Decide which grown nodes become leaves."""

    def hopeless(self, counts: FloatArray, attributes: int, least_bits: float) -> BoolArray:  # noqa: ARG002
        """Return the nodes (one row of class counts each) below which nothing that may grow can survive pruning.

        None, where no bound is known without growing.
        """
        return np.zeros(len(counts), bool)

    def leaves(self, growth: Growth) -> BoolArray:
        """Return which nodes are to end as leaves."""


@dataclass(frozen=True)
class KeepAll(Pruner):
    """Prune nothing."""

    def leaves(self, growth: Growth) -> BoolArray:
        """Return the nodes that never split."""
        return growth.attribute < 0


@dataclass(frozen=True)
class MDL(Pruner):
    """Minimum description length pruning (Mehta, Rissanen & Agrawal 1995): a subtree stays if it shortens the message.

    `discount` is how many of the counted rows tell as much as one row whose values are known: 1 for true values, more where
    counts were reconstructed through noise. An infinite one leaves the root alone.
    """

    discount: float = 1.0

    def hopeless(self, counts: FloatArray, attributes: int, least_bits: float) -> BoolArray:
        """Return leaves no longer than the shortest subtree conceivable: one split into two leaves without any error.

        Growing such a node and pruning it again would come to the same leaf, if every row were worth a row; with a discount
        nothing grows that would not grow without. Of the two leaves the larger has n/2 rows or more, and states its shares.
        A third leaf could save at most (k−1)/2 log2(3/2) bits there and costs at least 2, which settles it up to seven
        classes; beyond, the shares are not counted.
        """
        n, classes = counts.sum(axis=1), counts.shape[1]
        shares = parameter_bits(n / 2, classes) if classes <= 7 else 0.0
        shortest = NODE_BITS + split_bits(attributes, least_bits) + 2 * NODE_BITS + shares
        return np.asarray(NODE_BITS + leaf_bits(counts) <= shortest)

    def leaves(self, growth: Growth) -> BoolArray:
        """Return which nodes end, bottom up: a node ends where its own code is no longer than that of the subtree below it."""
        own = NODE_BITS + leaf_bits(growth.counts / self.discount)
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


@dataclass(frozen=True)
class KeepHopeful(MDL):
    """Keep all that MDL lets grow: the whole from which trees of several discounts are cut."""

    def leaves(self, growth: Growth) -> BoolArray:
        """Return the nodes that never split."""
        return growth.attribute < 0


def leaf_bits(counts: FloatArray) -> FloatArray:
    """Return Σ n_c log2(n/n_c) + (k−1)/2 log2(n/2) + log2(π^{k/2}/Γ(k/2)) for the classes of a leaf, one row of counts each.

    The first term is the code given the class shares, the rest is what it costs to state the k shares.
    """
    n = counts.sum(axis=-1)
    stochastic = xlog2x(n) - xlog2x(counts).sum(axis=-1)
    return np.asarray(stochastic + parameter_bits(n, counts.shape[-1]))


def parameter_bits(n: FloatArray, classes: int) -> FloatArray:
    """Return (k−1)/2 log2(n/2) + log2(π^{k/2}/Γ(k/2)); an empty leaf, or a single class, has nothing to state."""
    if classes < 2:
        return np.zeros(np.shape(n))
    constant = (classes / 2 * math.log(math.pi) - math.lgamma(classes / 2)) / math.log(2)
    bits = (classes - 1) / 2 * np.log2(np.where(n > 0, n, 2.0) / 2) + constant
    # With many classes and few records the asymptotic formula falls below nothing.
    return np.asarray(np.where(n > 0, np.maximum(bits, 0.0), 0.0))


def split_bits(attributes: int, cut_bits: FloatArray | float) -> FloatArray:
    """Return log2 d for the attribute plus the bits of the cut: log2(cuts), or log2(2^(v−1) − 1) for a subset of v categories."""
    return np.asarray(math.log2(max(attributes, 1)) + cut_bits)


def children_sum(values: FloatArray, first: IntArray, number: IntArray) -> FloatArray:
    """Return sums of `values` over each node's children, which are consecutive."""
    total = np.zeros(len(first))
    for child in range(int(number.max(initial=0))):
        has = number > child
        total[has] += values[first[has] + child]
    return total


@dataclass(frozen=True)
class Pessimistic(Pruner):
    """Prune as C4.5 does: a subtree stays if it errs less than a leaf would, by the upper ends of their error rates.

    First collapse subtrees that make no fewer training errors than a leaf, then replace subtrees bottom up.
    """

    confidence: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.confidence <= 0.5:
            raise UsageError(f"confidence = {self.confidence} is outside (0, 0.5]; C4.5's is 0.25")

    def leaves(self, growth: Growth) -> BoolArray:
        """Return which nodes are to end as leaves."""
        leaf = growth.attribute < 0
        total = growth.counts.sum(axis=1)
        errors = total - growth.counts.max(axis=1)
        collapse_margin, replace_margin = 1e-3, 0.1  # errors that a leaf may make more than the subtree it replaces
        below = errors.copy()
        for nodes in reversed(growth.levels()):
            inner = nodes[growth.attribute[nodes] >= 0]
            below[inner] = children_sum(below, growth.first_child[inner], growth.children[inner])
        leaf |= below >= errors - collapse_margin
        own = errors + added_errors(total, errors, self.confidence)
        expected = own.copy()
        for nodes in reversed(growth.levels()):
            inner = nodes[~leaf[nodes]]
            subtree = children_sum(expected, growth.first_child[inner], growth.children[inner])
            replaced = own[inner] <= subtree + replace_margin + 1e-6
            leaf[inner] = replaced
            expected[inner] = np.where(replaced, own[inner], subtree)
        return leaf


def added_errors(total: FloatArray, errors: FloatArray, confidence: float) -> FloatArray:
    """Return how many errors more a leaf of `total` rows with `errors` must be expected to make (Quinlan 1993, section 4.2).

    The upper end of the binomial's one-sided interval at level CF: exact, N(1 − CF^{1/N}), for no errors; linear between
    none and one; and from one on by the normal approximation with continuity correction,
    r = (f + z²/2N + z √(f/N − f²/N + z²/4N²)) / (1 + z²/N), f = (e + ½)/N, never more than all rows.
    """
    n, e = np.asarray(total, np.float64), np.asarray(errors, np.float64)
    some = n > 0
    n = np.where(some, n, 1.0)
    none = n * -np.expm1(np.log(confidence) / n)
    one = _normal_bound(n, np.ones_like(e), confidence)
    few = none + e * (one - none)
    return np.asarray(np.where(some, np.where(e < 1, few, _normal_bound(n, e, confidence)), 0.0))


def _normal_bound(n: FloatArray, e: FloatArray, confidence: float) -> FloatArray:
    z = NormalDist().inv_cdf(1 - confidence)
    f = np.minimum((e + 0.5) / n, 1.0)
    r = (f + z * z / (2 * n) + z * np.sqrt(f / n - f * f / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return np.where(e + 0.5 >= n, np.maximum(n - e, 0.0), r * n - e)
