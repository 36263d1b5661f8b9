"""Least squares through the noise: the coefficients that the owner would fit, from sums of weights.

Let d be the columns of the design and v the response of a row. Each product of two of them has a weight without bias, so
M = mean d dᵀ and m = mean d v are known without bias, and β = M⁻¹m. Where numbers have independent noise of variance σ², that is
the correction M = mean(w wᵀ) − C of errors-in-variables regression (Fuller 1987, 2.2.1); labels have their own.

A linear combination aᵀβ is estimated by θ = aᵀM⁻¹m. With δ = M⁻¹a, e = v − dᵀβ and the weights s of δᵀd·e and t of (δᵀd)², the
sum of s is 0 at the true coefficients, and at θ₀ beside θ it is that of s − (θ₀ − θ) t/κ, κ = aᵀM⁻¹a. The interval holds every
θ₀ with (θ₀ − θ)² ≤ z² Var(s − (θ₀ − θ) t/κ)/n (Fieller 1954): it is longer on one side where M itself is in doubt.

Var is that of the noise, the true rows given: s² − [δᵀd·e]² has the expectation Var(s | x), row by row, where [·] is the weight.
The weight of a product of powers of sums over clusters is the product of their exponential generating functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.questions.regression.clusters import ClusterRows, Clusters, Polynomial, combine, multiply
from sfumato.questions.regression.held_rows import parts
from sfumato.table import Table

POWERS = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (3, 0), (2, 2), (3, 1), (4, 0))
"""The powers of δᵀd and e that the variance needs; the first five are enough without it."""
MEANS = 5


@dataclass(frozen=True, eq=False)
class Products:
    """Add up the weights of all products of two columns of the design, the response as the last."""

    clusters: Clusters

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the sums over a block."""
        table = table.take(self.clusters.present(table))
        size = self.clusters.size + 1
        out, rested, total = np.zeros((size, size)), 0, 0.0
        most = max((len(c.places) * (len(c.places) + 1) // 2 for c in self.clusters.clusters), default=1)
        for part in parts(table.rows, min(4096, max(64, 2**24 // most))):  # the products of a part within 128 MiB
            whole = self._weigh(table, part, out)
            total += float(whole.sum())
            rested += part.stop - part.start
        return Sums({"products": out, "present": np.array([total, float(rested), float(len(rows))])})

    def _weigh(self, table: Table, part: slice, out: FloatArray) -> FloatArray:
        """Add the products of some rows to `out`; return the weight of 1 in each."""
        clusters, count = self.clusters, part.stop - part.start
        ratios = np.ones((clusters.size + 1, count))
        whole, inner = np.ones(count), []
        for cluster in clusters.clusters:
            rows = cluster.read(table, part)
            places = list(cluster.places)
            one = np.ones(count) if cluster.whole else rows.weigh([cluster.one])[0]
            ratios[places] = rows.weigh(cluster.functions) / one
            whole *= one
            pairs = [(i, j) for i in range(len(places)) for j in range(i + 1)]
            squares = rows.weigh([multiply(cluster.functions[i], cluster.functions[j]) for i, j in pairs]) / one
            inner.append((places, pairs, squares))
        product = (ratios * whole) @ ratios.T
        for places, pairs, squares in inner:
            sums = squares @ whole
            for (i, j), total in zip(pairs, sums, strict=True):
                product[places[i], places[j]] = product[places[j], places[i]] = total
        out += product
        return whole


@dataclass(frozen=True, eq=False)
class Direction:
    """What is asked of one linear combination of coefficients: δ, and the coefficients β at which the residual is taken."""

    delta: FloatArray
    beta: FloatArray


@dataclass(frozen=True, eq=False)
class Influences:
    """Add up s, t, their squares, and the weights of the squares of what they estimate, for several directions."""

    clusters: Clusters
    directions: tuple[Direction, ...]

    def __call__(self, table: Table, rows: IntArray) -> Sums:  # noqa: ARG002 - as every count
        """Return the sums over a block, shape (directions, sums)."""
        table = table.take(self.clusters.present(table))
        plans = [self._plan(d) for d in self.directions]
        out = np.zeros((len(plans), 9))
        for part in parts(table.rows):
            read = [c.read(table, part) for c in self.clusters.clusters]
            for row, (plan, full) in zip(out, plans, strict=True):
                row += _sums(plan, read, full=full)
        return Sums({"influences": out})

    def _plan(self, direction: Direction) -> tuple[list[list[Polynomial] | None], bool]:
        """Return for every cluster the functions f^a h^b / (a! b!); None where it has nothing but ones."""
        clusters, size = self.clusters, self.clusters.size
        full = True
        factors = []
        loose = clusters.intercept
        for cluster in clusters.clusters:
            mine = [i for i in cluster.places if i < size]
            functions = [f for i, f in zip(cluster.places, cluster.functions, strict=True) if i < size]
            f = combine(functions, direction.delta[mine].tolist())
            h = combine(functions, (-direction.beta[mine]).tolist())
            if size in cluster.places:
                h = combine([h, cluster.functions[cluster.places.index(size)]], [1.0, 1.0])
            if loose is not None:
                f = combine([f, cluster.one], [1.0, float(direction.delta[loose])])
                h = combine([h, cluster.one], [1.0, -float(direction.beta[loose])])
                loose = None
            factors.append((cluster, f, h))
            full = full and all(cluster.knows(_monomial(cluster.one, f, h, a, b)) for a, b in ((4, 0), (3, 1), (2, 2)))
        powers = POWERS if full else POWERS[:MEANS]
        plan: list[list[Polynomial] | None] = []
        for cluster, f, h in factors:
            empty = cluster.whole and not f and not h
            plan.append(None if empty else [_monomial(cluster.one, f, h, a, b) for a, b in powers])
        return plan, full


def _monomial(one: Polynomial, f: Polynomial, h: Polynomial, a: int, b: int) -> Polynomial:
    out = one
    for function, power in ((f, a), (h, b)):
        for _ in range(power):
            out = multiply(out, function)
    return {k: v / (math.factorial(a) * math.factorial(b)) for k, v in out.items()}


def _sums(plan: Sequence[list[Polynomial] | None], read: Sequence[ClusterRows], *, full: bool) -> FloatArray:
    """Return Σ s, t, s², st, t², [s]², [st], [t]², and the square of s² − [s]², of one direction."""
    powers = POWERS if full else POWERS[:MEANS]
    total: dict[tuple[int, int], FloatArray] | None = None
    for functions, rows in zip(plan, read, strict=True):
        if functions is None:
            continue
        here = dict(zip(powers, rows.weigh(functions), strict=True))
        total = here if total is None else _convolve(total, here, powers)
    assert total is not None
    s, t = total[1, 1], 2 * total[2, 0]
    sums = [s.sum(), t.sum(), s @ s, s @ t, t @ t]
    if not full:
        return np.array([*sums, 0.0, 0.0, 0.0, -1.0])
    square = 4 * total[2, 2]
    excess = s * s - square
    return np.array([*sums, square.sum(), 6 * total[3, 1].sum(), 24 * total[4, 0].sum(), excess @ excess])


def _convolve(
    left: dict[tuple[int, int], FloatArray], right: dict[tuple[int, int], FloatArray], powers: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], FloatArray]:
    """Return the generating function of a sum: the product of those of its parts, as far as it is needed."""
    out = {}
    for a, b in powers:
        parts_ = [(i, j) for i in range(a + 1) for j in range(b + 1)]
        out[a, b] = sum((left[i, j] * right[a - i, b - j] for i, j in parts_), np.zeros(1))
    return out


@dataclass(frozen=True)
class Spread:
    """Variances of the mean of s and t over the rows: that of the noise, and with the chance of the rows."""

    noise: FloatArray
    """Shape (2, 2): of s and t."""
    population: float
    """Of s."""
    sure: bool
    """Whether the variance of the noise is known to a third."""

    @classmethod
    def of(cls, sums: FloatArray, n: float) -> Spread:
        """Return the variances from the sums of `Influences`."""
        s, t, ss, st, tt, square_s, cross, square_t, excess = sums
        total = np.array([[ss, st], [st, tt]]) / n**2
        population = max(total[0, 0] - s * s / n**3, 0.0)
        if excess < 0:  # no law for the weights of fourth powers: count the chance of rows as well
            centred = total - np.outer([s, t], [s, t]) / n**3
            return cls(centred, population, sure=False)
        noise = total - np.array([[square_s, cross], [cross, square_t]]) / n**2
        doubt = math.sqrt(max(excess - (ss - square_s) ** 2 / n, 0.0)) / n**2
        exact = abs(noise[0, 0]) < 1e-12 * max(total[0, 0], 1e-300)
        if exact:
            return cls(np.zeros((2, 2)), population, sure=True)
        sure = noise[0, 0] > 3 * doubt
        if not sure:
            noise[0, 0] = min(max(noise[0, 0], 0.0) + doubt, total[0, 0])
        noise[1, 1] = max(noise[1, 1], 0.0)
        limit = math.sqrt(noise[0, 0] * noise[1, 1])
        noise[0, 1] = noise[1, 0] = min(max(noise[0, 1], -limit), limit)
        return cls(noise, max(population, noise[0, 0]), sure)


def fieller(spread: Spread, slope: float, z: float) -> tuple[float, float] | None:
    """Return the ends of the interval for θ₀ − θ; None where it has none.

    (θ₀ − θ)² ≤ z² (V_ss − 2 (θ₀ − θ) V_st/κ + (θ₀ − θ)² V_tt/κ²), with κ = `slope`.

    Examples
    --------
    >>> certain = Spread(np.array([[4.0, 0.0], [0.0, 0.0]]), 4.0, True)
    >>> fieller(certain, 1.0, 2.0)
    (-4.0, 4.0)
    """
    a = float(1 - z * z * spread.noise[1, 1] / slope**2)
    b = float(z * z * spread.noise[0, 1] / slope)
    c = float(-z * z * spread.noise[0, 0])
    if a <= 0:
        return None
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (-b - root) / a, (-b + root) / a
