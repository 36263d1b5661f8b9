"""How mixed the classes of a node are: the criterion a split is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.counts import FloatArray


class Criterion(Protocol):
    """A measure of impurity and the score of a split.

    Impurity is measured in rows (n × index), so that gains of nodes of different size compare and missing values
    weigh as little as they should: a split is judged on the rows whose value is known.
    """

    def impurity(self, counts: FloatArray, axis: int) -> FloatArray:
        """Return impurity times n, the classes along `axis`."""
        ...

    def score(self, gain: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return what is maximised over the splits of a node, given the gain and the sizes of the two sides."""
        ...


@dataclass(frozen=True)
class Gini:
    """gini(S) = 1 − Σ p_j² (Agrawal & Srikant 2000, section 4.1), times n: n − Σ n_j²/n.

    Examples
    --------
    >>> import numpy as np
    >>> float(Gini().impurity(np.array([6.0, 2.0]), axis=0))  # 8 − (36 + 4)/8
    3.0
    """

    def impurity(self, counts: FloatArray, axis: int) -> FloatArray:
        """Return n − Σ n_j²/n, and 0 for an empty node."""
        total = counts.sum(axis=axis)
        squares = np.square(counts).sum(axis=axis)
        return np.asarray(total - squares / np.where(total > 0, total, 1.0))

    def score(self, gain: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return the gain: n gini(S) − n₁ gini(S₁) − n₂ gini(S₂)."""
        return gain


@dataclass(frozen=True)
class Entropy:
    """−Σ p_j log2 p_j, times n: n log2 n − Σ n_j log2 n_j. With `ratio`, gains are divided by the split's own entropy."""

    ratio: bool = False

    def impurity(self, counts: FloatArray, axis: int) -> FloatArray:
        """Return the bits to name the classes of all rows: n log2 n − Σ n_j log2 n_j."""
        return np.asarray(xlog2x(counts.sum(axis=axis)) - xlog2x(counts).sum(axis=axis))

    def score(self, gain: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the gain, or the gain ratio."""
        if not self.ratio:
            return gain
        own = xlog2x(left + right) - xlog2x(left) - xlog2x(right)
        return np.asarray(np.where(own > 0, gain / np.where(own > 0, own, 1.0), 0.0))


def xlog2x(x: FloatArray) -> FloatArray:
    """Return x log2 x, and 0 at 0."""
    return np.asarray(x * np.log2(np.where(x > 0, x, 1.0)))
