"""What a release around clusters gives away: three figures that must be read together, and an attack.

The reflection y = 2c − x shows why. It has the largest variance of difference and next to no linkage, yet anyone who
knows the centre has x back: only the residual after the best linear reconstruction sees through it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters.points import Partition, check_finite, check_labels
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.reconstruction import wilson

MAX_TREE_DIMENSIONS = 12
"""With more attributes a k-d tree visits nearly every row, and plain comparison is faster."""


def _pair(original: ArrayLike, released: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = check_finite(original, "the original"), check_finite(released, "the release")
    if x.shape != y.shape:
        raise UsageError(f"the original has shape {x.shape} and the release {y.shape}; give the same rows and columns")
    if len(x) < 2:
        raise UsageError(f"{len(x)} records have no variance; give at least two")
    return x, y


def variance_ratio(original: ArrayLike, released: ArrayLike) -> float:
    """Return the mean over attributes of Var(X − Y)/Var(X), the classical security figure of perturbation; constants are left out."""
    x, y = _pair(original, released)
    varying = np.ptp(x, axis=0) > 0
    if not varying.any():
        return 0.0
    return float(((x - y).var(axis=0)[varying] / x.var(axis=0)[varying]).mean())


@dataclass(frozen=True)
class Residual:
    """Mean over attributes of the share of Var(X) that is left after linear reconstruction inside each cluster.

    `ceiling` is W/T, what the cluster alone leaves; no release that keeps the clusters leaves more.
    `in_sample` is what least squares leaves in the same table it was fitted to, never more than the ceiling; d useless
    columns still fit d/(n−1) of a cluster by luck, more where a few rows lie far out.
    `held_out` reconstructs every row by the regression on all the others, or by the mean of the others where that is
    better: what an intruder who knows the rest of the table gains, free of luck.
    """

    held_out: float
    in_sample: float
    ceiling: float

    @property
    def invertible(self) -> bool:
        """Whether the release, given the clusters, is the original in a linear disguise."""
        return self.held_out <= 0.01 * self.ceiling


def linear_residual(original: ArrayLike, released: ArrayLike, labels: ArrayLike) -> Residual:
    """Regress X on (1, Y) in every cluster by least squares: the best that linear reconstruction can do."""
    x, y = _pair(original, released)
    clusters = int(np.asarray(labels).max(initial=0)) + 1
    partition = Partition.of(check_labels(labels, len(x), clusters), clusters)
    total = ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    within, left, held_out = np.zeros_like(total), np.zeros_like(total), np.zeros_like(total)
    for _, rows in partition.groups():
        parts = _cluster_residuals(x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean(axis=0))
        for sum_, part in zip((within, left, held_out), parts, strict=True):
            sum_ += part
    varying = np.ptp(x, axis=0) > 0
    if not varying.any():
        return Residual(0.0, 0.0, 0.0)
    shares = [float((s[varying] / total[varying]).mean()) for s in (held_out, left, within)]
    return Residual(shares[0], min(shares[1], shares[2]), shares[2])


def _cluster_residuals(u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums of squares per attribute of centred u: as it is, after regression on centred v, and that with one row left out.

    Leaving row i out turns its residual e into e/(1 − h), h its leverage, and its deviation u into u n/(n − 1).
    """
    n = len(u)
    basis, sizes, _ = np.linalg.svd(v, full_matrices=False)
    basis = basis[:, sizes > sizes.max(initial=0.0) * n * np.finfo(np.float64).eps]
    residuals = u - basis @ (basis.T @ u)
    within, left = (u**2).sum(axis=0), (residuals**2).sum(axis=0)
    by_mean = within * (n / (n - 1)) ** 2 if n > 1 else within
    spare = 1.0 - 1.0 / n - np.einsum("ij,ij->i", basis, basis)
    # A record with all the leverage is alone in some direction: the others say nothing of it but their mean.
    alone = spare < 1e-9
    residuals[~alone] /= spare[~alone, None]
    residuals[alone] = u[alone] * (n / max(n - 1, 1))
    return within, left, np.minimum((residuals**2).sum(axis=0), by_mean)


@dataclass(frozen=True)
class Linkage:
    """Share of targets whose nearest released row is their own, beside what guessing would give.

    Where several released rows are equally near, the intruder picks one of them, so a target counts 1/ties. `low`
    and `high` are the 95 % Wilson interval when only a sample of the targets was tried, else the rate itself.
    """

    rate: float
    baseline: float
    targets: int
    low: float
    high: float


def nearest_neighbour_linkage(
    original: ArrayLike, released: ArrayLike, *, targets: int = 5000, seed: int = 0
) -> Linkage:
    """Return how often an intruder who knows a whole original row finds it as the nearest released one.

    At most `targets` rows are tried.
    """
    x, y = _pair(original, released)
    n, d = x.shape
    allowed = min(n, targets)
    if d > MAX_TREE_DIMENSIONS:
        max_differences = 4e8  # that brute force may compute: about a second of work
        allowed = min(allowed, max(200, int(max_differences / (n * d))))
    pick = np.arange(n) if allowed >= n else np.sort(np.random.default_rng(seed).choice(n, allowed, replace=False))
    credit = _tree_credit(x[pick], y, pick) if d <= MAX_TREE_DIMENSIONS else _brute_credit(x[pick], y, pick)
    rate, size = float(credit.mean()), len(pick)
    low, high = (rate, rate) if size == n else (float(end) for end in wilson(np.asarray(rate), size))
    return Linkage(rate, 1.0 / n, size, low, high)


def _widen(distance: FloatArray, scale: float) -> FloatArray:
    """Return the distances, widened by rounding: rows at the same place must tie, however their distances were rounded."""
    return distance * (1 + 1e-9) + 1e-12 * scale


def _tree_credit(targets: FloatArray, y: FloatArray, own: IntArray) -> FloatArray:
    from scipy.spatial import cKDTree

    scale = float(np.abs(y).max())
    tree = cKDTree(y, balanced_tree=False, compact_nodes=False)
    nearest, _ = tree.query(targets)
    limit = _widen(np.asarray(nearest), scale)
    hit = np.flatnonzero(np.linalg.norm(targets - y[own], axis=1) <= limit)
    credit = np.zeros(len(targets))
    if len(hit):
        credit[hit] = 1.0 / np.asarray(tree.query_ball_point(targets[hit], limit[hit], return_length=True))
    return credit


def _brute_credit(targets: FloatArray, y: FloatArray, own: IntArray) -> FloatArray:
    from scipy.spatial.distance import cdist

    scale = float(np.abs(y).max())
    credit = np.zeros(len(targets))
    rows = max(1, min(256, int(2e7 // max(len(y), 1))))
    for begin in range(0, len(targets), rows):
        part = slice(begin, begin + rows)
        distances = cdist(targets[part], y)
        limit = _widen(distances.min(axis=1), scale)
        mine = distances[np.arange(len(distances)), own[part]] <= limit
        credit[part] = mine / (distances <= limit[:, None]).sum(axis=1)
    return credit


def known_sample_attack(original: ArrayLike, released: ArrayLike, known: ArrayLike) -> FloatArray:
    """Return the table that an attacker sees who undoes rotation and translation from a few known rows (Procrustes).

    Chen, Sun & Liu 2007 name this attack against their own geometric perturbation. With Y = X Rᵀ + t and known pairs
    centred, min |X R' − Y| over orthogonal R' is solved by U Vᵀ of the SVD of XᵀY; d + 1 rows in general position
    give R exactly when there is no noise.
    """
    x, y = _pair(original, released)
    rows = np.asarray(known, dtype=np.int64)
    if len(rows) < 2:
        raise UsageError(f"known-sample attack: {len(rows)} known records fix no rotation; give at least two")
    x_mean, y_mean = x[rows].mean(axis=0), y[rows].mean(axis=0)
    left, _, right = np.linalg.svd((x[rows] - x_mean).T @ (y[rows] - y_mean))
    return (y - y_mean) @ (left @ right).T + x_mean


def random_known_rows(rows: int, attributes: int, *, seed: int = 0) -> IntArray:
    """Return 2d rows that an attacker is assumed to know."""
    return np.random.default_rng(seed).choice(rows, min(rows, 2 * attributes), replace=False).astype(np.int64)


@dataclass(frozen=True)
class ClusterPrivacy:
    """The figures side by side; `verdict` says in words what they mean together."""

    variance_ratio: float
    linkage: Linkage
    residual: Residual

    @property
    def verdict(self) -> str:
        """No privacy, if the release can be undone or its rows found; else what is left to learn."""
        if self.residual.invertible:
            return (
                "no privacy: inside each cluster the release is a linear function of the original and can be undone, "
                "however large its variance of difference and small its linkage"
            )
        if self.linkage.rate > 0.5:
            return "no privacy: most records are nearest to their own release"
        if self.residual.held_out >= 0.95 * self.residual.ceiling:
            return "linearly, the release tells nothing of a record but its cluster"
        return "the release narrows records down beyond their cluster"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "variance_ratio": self.variance_ratio,
            "linkage": asdict(self.linkage),
            "residual": asdict(self.residual) | {"invertible": self.residual.invertible},
            "verdict": self.verdict,
        }


def cluster_privacy(
    original: ArrayLike, released: ArrayLike, labels: ArrayLike, *, targets: int = 5000, seed: int = 0
) -> ClusterPrivacy:
    """Return variance ratio, linkage and residual of one release, on the scale on which it was made."""
    return ClusterPrivacy(
        variance_ratio(original, released),
        nearest_neighbour_linkage(original, released, targets=targets, seed=seed),
        linear_residual(original, released, labels),
    )
