"""k-means: the best of several k-means++ starts, run until it stands still, with no cluster too small to hide in.

Three ways to ask how alike the clusterings of a table and its release are measure three different things:

- *fixed point*: Lloyd from the original centres. Does the release still hold the clustering?
- *rerun*: the best of ten new starts, on the stated scale. Would a careful miner find it?
- *single start*: one start from the same rows, each table on its own min-max scale, as Weka does by default. It
  measures k-means' own instability as much as the release.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters.points import Scaling, check_finite, cluster_means
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.text import join_names

MIN_CLUSTER_ROWS = 10
"""A smaller cluster is neither stable nor private (a swap in a pair is half no swap)."""

SILHOUETTE_ROWS = 2_000
"""Rows on which silhouettes are measured."""


@dataclass(frozen=True, eq=False)
class KMeans:
    """A clustering of a scaled table: its labels, its centres (the means of the labels), and how it was found."""

    labels: IntArray
    centres: FloatArray
    scatter: float
    method: str
    starts: int
    seed: int
    converged: bool
    chosen_by: str = "given"
    scores: dict[int, float] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.centres)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of rows of each cluster."""
        return tuple(np.bincount(self.labels, minlength=self.k).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return what may be said of the clustering in public: everything but who belongs where."""
        return {
            "k": self.k,
            "chosen_by": self.chosen_by,
            "scores": {str(k): s for k, s in self.scores.items()},
            "method": self.method,
            "starts": self.starts,
            "seed": self.seed,
            "converged": self.converged,
            "sizes": list(self.sizes),
            "centres": self.centres.tolist(),
            "scatter": self.scatter,
            "notes": list(self.notes),
        }


def kmeans(
    values: ArrayLike,
    k: int | None = None,
    *,
    starts: int = 10,
    seed: int = 0,
    least: int = MIN_CLUSTER_ROWS,
    small: str = "refuse",
    large: int = 100_000,
) -> KMeans:
    """Cluster a scaled table.

    Parameters
    ----------
    values
        Rows × attributes, scaled, without missing values.
    k
        The number of clusters; if None, the one between 2 and 10 with the largest silhouette on a sample.
    starts
        k-means++ starts, of which the best is kept.
    seed
        Seed of the starts. A clustering is not secret noise, so an ordinary generator serves.
    least
        Fewest rows of a cluster.
    small
        What to do about smaller ones: ``refuse``, or ``merge`` each, smallest first, into its neighbours.
    large
        From this many rows on, mini-batches compare the starts and only the best is run on the whole table.

    Returns
    -------
    KMeans
        Labels, centres, and how they were found.

    Examples
    --------
    >>> import numpy as np
    >>> fit = kmeans(np.repeat([[0.0], [1.0]], 10, axis=0), 2)
    >>> fit.sizes, sorted(fit.centres.ravel().tolist())
    ((10, 10), [0.0, 1.0])
    """
    table = check_finite(values)
    if small not in ("refuse", "merge"):
        raise UsageError(f"small: {small!r} is unknown; clusters below {least} records can be refused or merged")
    if k is None:
        return _choose_k(table, starts, seed, least, small, large)
    if k < 1:
        raise UsageError(f"k: {k} is not a number of clusters; give a whole number from 1 on")
    if len(table) < k * max(least, 1):
        raise DataError(f"k: {len(table)} records cannot fill {k} clusters of at least {least}; take a smaller k")
    return _treat_small(table, _best_start(table, k, starts, seed, large), least, small)


def _best_start(table: FloatArray, k: int, starts: int, seed: int, large: int) -> KMeans:
    from sklearn.cluster import KMeans as Lloyd
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), _limit_threads(len(table)):
        # Fewer distinct rows than clusters: reported below in our own words.
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        if len(table) < large:
            fitted = Lloyd(k, n_init=starts, max_iter=300, tol=0.0, random_state=seed).fit(table)
            method = "k-means++ and Lloyd"
        else:
            batches = MiniBatchKMeans(k, n_init=starts, batch_size=8192, random_state=seed).fit(table)
            start = batches.cluster_centers_
            fitted = Lloyd(k, init=start, n_init=1, max_iter=50, tol=1e-6, random_state=seed).fit(table)
            method = "mini-batch k-means++ and Lloyd"
    # Two or three rounds of our own make labels and means one fixed point where scikit-learn stopped a step before it.
    run = lloyd(table, fitted.cluster_centers_.astype(np.float64), 100 if len(table) < large else 3)
    if (np.bincount(run.labels, minlength=k) == 0).any():
        raise DataError(f"k: the table has too few distinct rows for {k} clusters; take a smaller k")
    centres = cluster_means(table, run.labels, k)
    scatter = within_scatter(table, run.labels, centres)
    return KMeans(run.labels, centres, scatter, method, starts, seed, run.converged)


def _limit_threads(rows: int) -> AbstractContextManager[Any]:
    """Use one thread for a table on which several would mostly wait for each other."""
    return _controller().limit(limits=1, user_api="openmp") if rows < 20_000 else nullcontext()


@cache
def _controller() -> Any:
    import threadpoolctl  # type: ignore[import-untyped]  # scikit-learn's own dependency

    return threadpoolctl.ThreadpoolController()


def _treat_small(table: FloatArray, fit: KMeans, least: int, small: str) -> KMeans:
    """Return the clustering without clusters below `least` rows: merged into their neighbours, or refused."""
    notes: list[Note] = []
    labels, centres, converged = fit.labels, fit.centres, fit.converged
    while (sizes := np.bincount(labels, minlength=len(centres))).min() < least:
        smallest = int(sizes.argmin())
        reason = f"a cluster of {int(sizes[smallest])} records, below {least}, is neither stable nor private"
        if small == "refuse":
            raise DataError(
                f"k: {reason} ({fit.k} clusters of {join_names(sorted(fit.sizes), 12)}); take a smaller k or merge"
            )
        notes.append(Note("SF305", f"merged: {reason}"))
        run = lloyd(table, np.delete(centres, smallest, axis=0))
        labels, centres, converged = run.labels, run.centres, run.converged
    if not notes:
        return fit
    centres = cluster_means(table, labels, len(centres))
    scatter = within_scatter(table, labels, centres)
    return replace(fit, labels=labels, centres=centres, scatter=scatter, converged=converged, notes=tuple(notes))


def silhouette(table: FloatArray, labels: IntArray, seed: int = 0, sample: int = SILHOUETTE_ROWS) -> float:
    """Return the mean of (b − a)/max(a, b) over a sample: a the mean distance to one's own cluster, b to the next nearest."""
    pick = np.arange(len(table))
    if len(table) > sample:
        pick = np.sort(np.random.default_rng(seed).choice(len(table), sample, replace=False))
    labels = labels[pick]
    if len(np.unique(labels)) < 2:
        return -1.0
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(table[pick], labels))


def _choose_k(table: FloatArray, starts: int, seed: int, least: int, small: str, large: int) -> KMeans:
    """Return the clustering with the largest silhouette; of equal ones that with the smallest k."""
    most = min(10, len(table) // max(least, 1))
    if most < 2:
        raise DataError(f"k: {len(table)} records cannot be divided into clusters of at least {least}; give k = 1")
    best: KMeans | None = None
    scores: dict[int, float] = {}
    refusals: list[str] = []
    for k in range(2, most + 1):
        try:
            fit = kmeans(table, k, starts=starts, seed=seed, least=least, small=small, large=large)
        except DataError as error:
            refusals.append(str(error))
            continue
        if fit.k not in scores:
            scores[fit.k] = silhouette(table, fit.labels, seed)
            if best is None or scores[fit.k] > scores[best.k]:
                best = fit
    if best is None:
        raise DataError(f"no k from 2 to {most} gives clusters that may be released: {refusals[0]}")
    return replace(best, chosen_by=f"largest silhouette on at most {SILHOUETTE_ROWS} rows", scores=scores)


CACHED_ROWS = 65536
"""Rows worked at a time: their distances to a dozen centres stay in the cache."""


def nearest_centre(table: FloatArray, centres: FloatArray) -> IntArray:
    """Return the nearest centre of each row; the first of equally near ones."""
    # |x − c|² = |x|² − 2 x·c + |c|², and |x|² decides nothing. The common origin keeps the products small.
    origin = centres.mean(axis=0)
    shifted = centres - origin
    squares = np.einsum("ij,ij->i", shifted, shifted)
    out = np.empty(len(table), np.int64)
    for begin in range(0, len(table), CACHED_ROWS):
        products = (table[begin : begin + CACHED_ROWS] - origin) @ shifted.T
        products *= -2.0
        products += squares
        products.argmin(axis=1, out=out[begin : begin + CACHED_ROWS])
    return out


@dataclass(frozen=True, eq=False)
class LloydRun:
    """Where Lloyd's iteration ended; `converged` when the last round changed no label."""

    labels: IntArray
    centres: FloatArray
    rounds: int
    converged: bool


def lloyd(table: FloatArray, centres: FloatArray, rounds: int = 300) -> LloydRun:
    """Run Lloyd's iteration from the given centres until no label changes; a centre without rows stays where it is."""
    labels = nearest_centre(table, centres)
    for done in range(1, rounds + 1):
        means = cluster_means(table, labels, len(centres))
        centres = np.where(np.isnan(means), centres, means)
        after = nearest_centre(table, centres)
        if np.array_equal(after, labels):
            return LloydRun(labels, centres, done, converged=True)
        labels = after
    return LloydRun(labels, centres, rounds, converged=False)


def within_scatter(table: FloatArray, labels: IntArray, centres: FloatArray) -> float:
    """Return Σ |x − c(x)|², what k-means makes small."""
    total = 0.0
    for begin in range(0, len(table), CACHED_ROWS):
        part = table[begin : begin + CACHED_ROWS] - centres[labels[begin : begin + CACHED_ROWS]]
        total += float(np.einsum("ij,ij->", part, part))
    return total


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


def rerun_agreement(released: ArrayLike, labels: IntArray, k: int, *, starts: int = 10, seed: int = 0) -> float:
    """Return the agreement of the original labels with the best of `starts` k-means++ starts on the release."""
    return agreement(labels, kmeans(released, k, starts=starts, seed=seed, least=1).labels)


def fixed_point_agreement(released: ArrayLike, labels: IntArray, centres: FloatArray, *, rounds: int = 300) -> float:
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
