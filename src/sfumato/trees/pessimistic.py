"""C4.5's pruning: a subtree stays if it errs less than a leaf would, both judged by the upper end of their error rate."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.trees.prune import children_sum

if TYPE_CHECKING:
    from sfumato.trees.grow import Growth

COLLAPSE_MARGIN = 1e-3
REPLACE_MARGIN = 0.1
"""A leaf may be expected to make a tenth of an error more than the subtree it replaces."""


@dataclass(frozen=True)
class Pessimistic:
    """First collapse subtrees that make no fewer training errors than a leaf, then replace subtrees bottom up."""

    confidence: float = 0.25
    collapse: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.confidence <= 0.5:
            raise UsageError(f"confidence = {self.confidence} is outside (0, 0.5]; C4.5's is 0.25")

    def hopeless(self, counts: FloatArray, attributes: int, least_bits: float) -> NDArray[np.bool_]:  # noqa: ARG002
        """None: no bound is known without growing."""
        return np.zeros(len(counts), bool)

    def leaves(self, growth: Growth) -> NDArray[np.bool_]:
        """Which nodes are to end as leaves."""
        leaf = growth.attribute < 0
        total = growth.counts.sum(axis=1)
        errors = total - growth.counts.max(axis=1)
        if self.collapse:
            below = errors.copy()
            for nodes in reversed(growth.levels()):
                inner = nodes[growth.attribute[nodes] >= 0]
                below[inner] = children_sum(below, growth.first_child[inner], growth.children[inner])
            leaf |= below >= errors - COLLAPSE_MARGIN
        own = errors + added_errors(total, errors, self.confidence)
        expected = own.copy()
        for nodes in reversed(growth.levels()):
            inner = nodes[~leaf[nodes]]
            subtree = children_sum(expected, growth.first_child[inner], growth.children[inner])
            replaced = own[inner] <= subtree + REPLACE_MARGIN + 1e-6
            leaf[inner] = replaced
            expected[inner] = np.where(replaced, own[inner], subtree)
        return leaf


def added_errors(total: FloatArray, errors: FloatArray, confidence: float) -> FloatArray:
    """How many errors more a leaf of `total` records with `errors` must be expected to make (Quinlan 1993, section 4.2).

    The upper end of the binomial's one-sided interval at level CF: exact, N(1 − CF^{1/N}), for no errors; linear between
    none and one; and from one on by the normal approximation with continuity correction,
    r = (f + z²/2N + z √(f/N − f²/N + z²/4N²)) / (1 + z²/N), f = (e + ½)/N, never more than all records.
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
