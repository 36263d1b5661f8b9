"""Logistic and Poisson regression through the noise: Newton's method on the corrected score.

The owner's coefficients solve Σ d (v − μ(dᵀβ)) = 0 on the true rows. The mean μ is a sum of exponentials c_k e^{κ_k t} (see
`families`), and d e^{κt} has a weight without bias, so the sum of u(β) = [d v] − Σ_k c_k [d e^{κ_k t}] over released rows is 0 in the
mean at the owner's coefficients (a corrected score: Stefanski 1989, Nakamura 1990). With A = Σ [d dᵀ μ′], the coefficients have the
covariance A⁻¹ B A⁻¹, B = Σ u uᵀ − [d dᵀ (v − μ)²] for the noise alone, and Σ u uᵀ where the rows are chance as well.

Fast waves are small in μ, and their weights are large: they are left out where their variance exceeds the square of what they add.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.errors import DataError
from sfumato.questions.regression.clusters import Cluster, Clusters, multiply
from sfumato.questions.regression.exponentials import ClusterWaves, ComplexArray, Wave, check_exponential
from sfumato.questions.regression.families import Mean, exponential_mean, logistic_mean
from sfumato.questions.regression.held_rows import Rows, parts
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class Score:
    """Add up score and slope of every exponential at some coefficients, and at last the covariance of the score."""

    clusters: Clusters
    waves: tuple[tuple[Wave, ...], ...]
    beta: FloatArray
    mean: Mean
    binary: bool
    last: bool = False

    def __call__(self, table: Table, rows: IntArray) -> Sums:  # noqa: ARG002 - as every count
        """Return the sums over a block."""
        table = table.take(self.clusters.present(table))
        p, k = self.clusters.size, len(self.mean.kappa)
        sums: dict[str, NDArray[Any]] = {"linear": np.zeros(p), "present": np.zeros(1)}
        if self.last:
            sums |= {"outer": np.zeros((p, p)), "square": np.zeros((p, p))}
        else:
            zero = np.zeros((k, p), np.complex128)
            sums |= {"score": zero, "slope": np.zeros((k, p, p), np.complex128), "growth": np.zeros((p, k))}
        for part in parts(table.rows, 2048):
            self._add(table, part, sums)
        return Sums(sums)

    def _add(self, table: Table, part: slice, sums: dict[str, NDArray[Any]]) -> None:
        clusters, kappa = self.clusters, self.mean.kappa
        p, count = clusters.size, part.stop - part.start
        level = 0.0 if clusters.intercept is None else float(self.beta[clusters.intercept])
        whole = np.repeat(np.exp(kappa * level)[:, None], count, axis=1)
        ratios = np.ones((p, len(kappa), count), np.complex128)
        present = np.ones(count)
        single = np.ones((p, count))
        response, squared = np.zeros(count), np.zeros(count)
        read, own = [], []
        for cluster, waves in zip(clusters.clusters, self.waves, strict=True):
            rows = cluster.read(table, part)
            here = ClusterWaves(cluster, waves, rows, self.beta, p)
            weight, inner = here.weigh(kappa)
            for place, ratio in zip(here.places, inner, strict=True):
                ratios[place] = ratio
            whole *= weight
            read.append(here)
            own.append(weight)
            one = np.ones(count) if cluster.whole else rows.weigh([cluster.one])[0]
            present *= one
            single[here.places] = rows.weigh(here.functions) / one
            if p in cluster.places:
                v = cluster.functions[cluster.places.index(p)]
                response, squared = rows.weigh([v, v if self.binary else multiply(v, v)]) / one
        sums["present"] += present.sum()
        sums["linear"] += single @ (present * response)
        if self.last:
            mean = self.mean
            scores = single * (present * response) - np.einsum("k,kr,ikr->ir", mean.mean, whole, ratios).real
            sums["outer"] += scores @ scores.T
            # [(v − μ)²] = [v²] − 2 v [μ] + [μ²], and κ = 0 holds the constant
            weights = mean.square[:, None] - 2 * mean.mean[:, None] * response
            weights[int(np.argmin(np.abs(kappa)))] += squared
            sums["square"] += self._pairs(weights * whole, ratios, read, own).sum(axis=0).real
            return
        sums["score"] += np.einsum("kr,ikr->ki", whole, ratios)
        sums["slope"] += self._pairs(whole, ratios, read, own)
        for place in range(p):
            along = np.cumsum((self.mean.mean[:, None] * whole * ratios[place]).real, axis=0)
            sums["growth"][place] += (along**2).sum(axis=1)

    def _pairs(
        self, weights: ComplexArray, ratios: ComplexArray, read: Sequence[ClusterWaves], own: Sequence[ComplexArray]
    ) -> ComplexArray:
        """Return Σ [d_i d_j e^{κt}] times the weights, shape (κ, i, j)."""
        out = np.stack([(ratios[:, k] * weights[k]) @ ratios[:, k].T for k in range(len(weights))])
        for here, weight in zip(read, own, strict=True):
            safe = np.where(np.abs(weight) > 1e-250, weight, 1e-250)
            inner = here.sum_pairs(self.mean.kappa, weights / safe)
            if inner is not None:
                out[np.ix_(range(len(weights)), here.places, here.places)] = inner
        return out


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients of the scaled terms, their covariances, and what waves that were left out may add to the mean."""

    beta: FloatArray
    noise: FloatArray
    population: FloatArray
    dropped: float
    n: float
    iterations: int


def solve(rows: Rows, clusters: Clusters, family: str) -> Solution:
    """Return the root of the corrected score.

    Parameters
    ----------
    rows
        The released rows.
    clusters
        The design, with a response that was not scaled.
    family
        `binomial` or `poisson`.
    """
    max_iterations, tolerance, near, longest, patience = 30, 1e-10, 0.5, 2.0, 8
    binary = family == "binomial"
    for cluster in clusters.clusters:
        check_exponential(cluster, clusters.size)
    waves = tuple(
        tuple(Wave.of(p) for p in c.powers) if _has_numbers(c, clusters.size) else () for c in clusters.clusters
    )
    noisy = any(not c.exact and any(place < clusters.size for place in c.places) for c in clusters.clusters)
    beta = np.zeros(clusters.size)
    mean, size, kept = _mean_for(clusters, beta, binary=binary), 0, None
    for iteration in range(1, max_iterations + 1):
        sums = rows.fold(Score(clusters, waves, beta, mean, binary)).arrays
        n = float(sums["present"][0])
        if kept is None or not binary:
            before = size
            size = choose_size(mean, sums["growth"] / n, n) if binary and noisy else len(mean.kappa)
        score = sums["linear"] - (mean.mean[:size, None] * sums["score"][:size]).sum(axis=0).real
        slope = (mean.slope[:size, None, None] * sums["slope"][:size]).sum(axis=0).real
        try:
            step = np.linalg.solve(slope, score)
        except np.linalg.LinAlgError:
            step = np.full(len(beta), np.nan)
        if not np.isfinite(step).all() or (iteration > patience and np.linalg.eigvalsh(slope)[0] <= 0):
            break
        length = float(np.abs(step).max())
        if length < tolerance:
            return _finish(rows, clusters, waves, beta, mean, size, slope, binary=binary, iteration=iteration)
        beta = beta + step * min(1.0, longest / length)
        if kept is None:
            mean = _mean_for(clusters, beta, binary=binary)
            if length < near or iteration == patience:  # two numbers of waves may take turns for ever
                kept = size = _same_reach(mean, min(size, before or size), sums, binary=binary)
    raise DataError(
        f"{clusters.design.formula!r}: these rows cannot tell the coefficients: their noise is too strong, or the terms tell the "
        "response without any error; leave terms out, or use more rows"
    )


def choose_size(mean: Mean, growth: FloatArray, n: float) -> int:
    """Return how many waves to use: the square of what the others may add, and the variance that these have, are least together.

    Parameters
    ----------
    mean
        The waves, the slowest first.
    growth
        For every term and every number of waves, the mean square of the sum of the first waves times the term.
    n
        Rows.
    """
    constant, caution = 4.0, 4.0  # the first is ½, whose square is ¼; slopes vary more than the mean does
    size = constant * growth[:, :1]
    risk = mean.dropped**2 + caution * growth / size / n
    return max(int(np.argmin(risk.sum(axis=0))) + 1, 2)


def _same_reach(mean: Mean, size: int, sums: Mapping[str, FloatArray], *, binary: bool) -> int:
    """Return how many terms to keep from now on, so that the last steps go to one root."""
    if not binary:
        return len(mean.kappa)
    share = size / sums["growth"].shape[1]
    return max(min(round(share * len(mean.kappa)), len(mean.kappa)), 2) if share < 1 else len(mean.kappa)


def _has_numbers(cluster: Cluster, size: int) -> bool:
    return bool(cluster.powers) and any(place < size for place in cluster.places)


def _mean_for(clusters: Clusters, beta: FloatArray, *, binary: bool) -> Mean:
    if not binary:
        mean = exponential_mean()
        zero = np.zeros(1, np.complex128)
        return Mean(*(np.append(zero, part) for part in (mean.kappa, mean.mean, mean.slope, mean.square)))
    longest = 200.0
    return logistic_mean(min(_reach(clusters, beta) + 1.0, longest))


def _reach(clusters: Clusters, beta: FloatArray) -> float:
    """Return the largest absolute value that the predictor can take in the domain."""
    low = high = 0.0 if clusters.intercept is None else float(beta[clusters.intercept])
    for cluster in clusters.clusters:
        values = np.zeros(1)
        for place, function in zip(cluster.places, cluster.functions, strict=True):
            if place < clusters.size:
                ends = cluster.corners(function)
                values = values + beta[place] * ends
        low, high = low + float(values.min()), high + float(values.max())
    return max(abs(low), abs(high))


def _finish(
    rows: Rows,
    clusters: Clusters,
    waves: tuple[tuple[Wave, ...], ...],
    beta: FloatArray,
    mean: Mean,
    size: int,
    slope: FloatArray,
    *,
    binary: bool,
    iteration: int,
) -> Solution:
    sums = rows.fold(Score(clusters, waves, beta, mean.keep(size), binary, last=True)).arrays
    n = float(sums["present"][0])
    inverse = np.linalg.inv(slope)
    population = inverse @ sums["outer"] @ inverse.T
    noise = inverse @ (sums["outer"] - sums["square"]) @ inverse.T
    own = np.diag_indices(len(noise))
    if all(c.exact for c in clusters.clusters):
        noise = np.zeros_like(noise)
    else:  # a difference of two sums over n rows is known to about 1/√n
        noise[own] = np.maximum(noise[own], 3 / math.sqrt(n) * population[own])
    dropped = float(mean.dropped[size - 1]) if binary else 0.0
    return Solution(beta, noise, population, dropped, n, iteration)
