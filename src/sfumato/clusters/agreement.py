"""How alike two clusterings are, and three ways to ask it of a release, which measure three different things.

- *fixed point*: Lloyd from the original centres. Does the release still hold the clustering?
- *rerun*: the best of ten new starts, on the stated scale. Would a careful miner find it?
- *single start*: one start from the same rows, each table on its own min-max scale, as Weka does by default. It
  measures k-means' own instability as much as the release.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters.kmeans import kmeans, lloyd
from sfumato.clusters.partition import LabelArray, check_finite
from sfumato.clusters.scaling import Scaling
from sfumato.counts import FloatArray
from sfumato.errors import UsageError


def agreement(first: ArrayLike, second: ArrayLike) -> float:
    """Return the share of rows in matched clusters under the best one-to-one matching (Hungarian); cluster counts may differ.

    >>> agreement([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1:
        raise UsageError(f"agreement: the clusterings have shapes {a.shape} and {b.shape}; give two labels per record")
    if not len(a):
        raise UsageError("agreement: there are no records; it is a share of them")
    _, i = np.unique(a, return_inverse=True)
    _, j = np.unique(b, return_inverse=True)
    table = np.bincount(i * (j.max() + 1) + j, minlength=(i.max() + 1) * (j.max() + 1)).reshape(i.max() + 1, -1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / len(a))


def rerun_agreement(released: ArrayLike, labels: LabelArray, k: int, *, starts: int = 10, seed: int = 0) -> float:
    """Return the agreement of the original labels with the best of `starts` k-means++ starts on the release."""
    return agreement(labels, kmeans(released, k, starts=starts, seed=seed, least=1).labels)


def fixed_point_agreement(released: ArrayLike, labels: LabelArray, centres: FloatArray, *, rounds: int = 300) -> float:
    """Return the agreement after Lloyd's iteration on the release from the original centres."""
    return agreement(labels, lloyd(check_finite(released), centres, rounds).labels)


def single_start_agreement(
    original: ArrayLike, released: ArrayLike, k: int, *, seed: int = 0, rounds: int = 500
) -> float:
    """Return the agreement of two single runs from the same k distinct rows, each table min-max scaled on its own."""
    x, y = check_finite(original), check_finite(released)
    if x.shape[0] != y.shape[0]:
        raise UsageError(
            f"single start: {len(x)} original and {len(y)} released rows; the protocol needs the same rows"
        )
    if len(x) < k:
        raise UsageError(f"single start: {len(x)} rows cannot start {k} clusters; take a smaller k")
    start = np.random.default_rng(seed).choice(len(x), k, replace=False)
    both = [Scaling.fit(t).apply(t) for t in (x, y)]
    runs = [lloyd(t, t[start], rounds).labels for t in both]
    return agreement(runs[0], runs[1])


@dataclass(frozen=True)
class Spread:
    """How far single runs lie from their mean, which is never shown without it."""

    mean: float
    sd: float
    min: float
    median: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of some runs; sd is 0 for a single one."""
        v = np.fromiter(values, np.float64)
        if not len(v):
            raise UsageError("a spread needs at least one run")
        sd = float(v.std(ddof=1)) if len(v) > 1 else 0.0
        return cls(float(v.mean()), sd, float(v.min()), float(np.median(v)), len(v))

    def to_dict(self) -> dict[str, float]:
        """Return the five numbers."""
        return asdict(self)
