"""Reports for large categorical domains: a set of values that probably holds the true one, named by one small number.

Projective geometry response (Feldman, Nelson, Nguyen & Talwar, ICML 2022). Value x owns a set S(x) of s among K codes; any two
such sets share l codes. The report y is a code with

    P(y | x) = γ/T if y is in S(x), 1/T if not,    T = γ s + K − s,

and one release cell is one integer. The number of reports in S(x) is binomial with q + (p−q) P(x), where
p = γ s/T and q = (γ l + s − l)/T. Over a field of q₀ elements this gives Var ≈ (γ+q₀−1)²/((q₀−1)(γ−1)² n) for a rare value,
at its least 4γ/((γ−1)² n) where q₀ = γ + 1: as good as OLH and OUE (Wang et al. 2017) whatever the number of values, where
k-ary response has (γ+d−2)/((γ−1)² n).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.base import Channel, Guarantee, Settled, check_exactly_one, check_positive, fact, wish
from sfumato.channels.substitution import Discrete, Substitution
from sfumato.channels.transition import CellRule, TwoLevels
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, WordArray
from sfumato.errors import UsageError
from sfumato.schema import Attribute
from sfumato.tables import OwnOrAny, choose

MAX_VECTORS = 2**22
"""Reconstruction transforms an array of qᵗ numbers; this many take a tenth of a second."""


@dataclass(frozen=True)
class Projective(Discrete):
    """Report a code instead of a label, for large categorical domains.

    Parameters
    ----------
    gamma : float, optional
        γ, the ratio of a report in the value's set to any other. Give this, `epsilon`, or `rho1` with `rho2`.
    epsilon : float, optional
        ln γ.
    rho1, rho2 : float, optional
        A belief of ρ₁ must not become one of ρ₂.

    Notes
    -----
    One of K codes, γ times likelier if it lies in the set of the true value; the module says how the sets are made.

    Examples
    --------
    >>> import sfumato as sf
    >>> code = sf.Attribute("code", sf.Kind.CATEGORICAL, sf.Categories(tuple(f"{i:03}" for i in range(200))))
    >>> law = sf.Projective(gamma=8).on(code)
    >>> law.reports
    400
    >>> law.guarantee().gamma
    8.0
    """

    law: ClassVar[str] = "projective"
    categorical: ClassVar[bool] = True
    numeric: ClassVar[bool] = False
    default: ClassVar[Mapping[str, float]] = {"gamma": 19.0}
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {"gamma": (3.0, 5.0, 8.0, 12.0, 19.0, 40.0), "epsilon": ()}
    gamma: float | None = wish("γ, the ratio of a report in the value's set to any other")
    epsilon: float | None = wish("ln γ")
    rho1: float | None = wish("prior belief that must not …")
    rho2: float | None = wish("… become a belief as strong as this one")
    size: int | None = fact("d, the number of values")
    order: int | None = fact("the prime q of the projective space")
    dimension: int | None = fact("t, its number of coordinates; K = (qᵗ−1)/(q−1)")

    def __post_init__(self) -> None:
        order, dimension = 2 if self.order is None else self.order, 2 if self.dimension is None else self.dimension
        prime = 1 < order < 160 and all(order % k for k in range(2, order))
        if not prime or not 1 < dimension <= 22 or order**dimension > MAX_VECTORS:
            raise UsageError(
                f"{self.law}: order = {order} and dimension = {dimension} are not those of a projective space"
            )
        if self.order is not None and (self.size or 0) > ProjectiveSpace(order, dimension).size:
            raise UsageError(f"{self.law}: the space of order {order} has no set for each of {self.size} values")

    _gamma = Settled[float]("gamma")
    _size = Settled[int]("size")
    _order = Settled[int]("order")
    _dimension = Settled[int]("dimension")

    def on(self, attribute: Attribute) -> Self:
        """Set γ as substitution does, and the space of least variance for it."""
        where = f"{attribute.name}: {self.law}"
        if attribute.kind.numeric:
            raise UsageError(
                f"{where} reports are for categories, and this column is {attribute.kind}; use substitution for it"
            )
        rho = None if self.rho1 is None and self.rho2 is None else (self.rho1, self.rho2)
        check_exactly_one(where, gamma=self.gamma, epsilon=self.epsilon, rho1=rho)
        check_positive(where, gamma=self.gamma, epsilon=self.epsilon)
        size = len(attribute.labels)
        if size < 2:
            raise UsageError(f"{where}: the domain has a single value, which needs no report; withhold the column")
        gamma = self.companion().gamma_on(where, size)
        space = best_space(gamma, size)
        return replace(type(self)(), gamma=gamma, size=size, order=space.order, dimension=space.dimension)

    def companion(self) -> Substitution:
        """Return k-ary response of the same γ."""
        return Substitution(gamma=self.gamma, epsilon=self.epsilon, rho1=self.rho1, rho2=self.rho2)

    @classmethod
    def examples(cls) -> tuple[Channel, ...]:
        """Return wishes by ε, γ and ρ."""
        return cls(epsilon=0.5), cls(gamma=8), cls(rho1=0.05, rho2=0.5)

    def in_words(self) -> str:
        """Say which codes are reported, and how much likelier those of the true value are."""
        codes = f"a code from 0 to {self.reports - 1}"
        return f"{codes}, γ = {self._gamma:.4g} times likelier if it lies in the true value's set of codes"

    @cached_property
    def space(self) -> ProjectiveSpace:
        """The codes and the sets."""
        return _space(self._order, self._dimension)

    @property
    def reports(self) -> int:
        """K."""
        return self.space.size

    @cached_property
    def bin_grid(self) -> Grid:
        """One atom per value."""
        return Grid(atoms=np.arange(self._size, dtype=np.float64))

    @cached_property
    def representatives(self) -> FloatArray:
        """The codes."""
        return np.arange(self.reports, dtype=np.float64)

    def observed_grid(self, true: Grid) -> Grid:  # noqa: ARG002 - the same whatever the true grid
        """Return the codes."""
        return Grid(atoms=self.representatives)

    @cached_property
    def table(self) -> OwnOrAny:
        """The law in whole numbers: one of the s codes of the value's set, or any of K."""
        return OwnOrAny.within(Fraction(self._gamma), self.space.set_size, self.reports)

    @cached_property
    def _ratio(self) -> float:
        """γ as it is drawn."""
        return self.guarantee().gamma

    @property
    def total(self) -> float:
        """T = γ s + K − s: P(y | x) is γ/T or 1/T."""
        return report_total(self._ratio, self.space)

    @property
    def inside(self) -> float:
        """The probability p that the report lies in the set of the true value."""
        return self._ratio * self.space.set_size / self.total

    @property
    def outside(self) -> float:
        """The probability q that it lies in the set of a given other value."""
        return report_outside(self._ratio, self.space)

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Draw with weight (γ−1) s/T any code of the value's set, else any of the K codes.

        In the set that makes (γ−1)/T + 1/T = γ/T a code, outside it 1/T.
        """
        bins = self.bins_of(values)
        anywhere = choose(words[:, 1], self.reports)
        own = np.flatnonzero(self.table.draws_own(words[:, 0]))
        places = choose(words[own, 1], self.space.set_size)
        anywhere[own] = self.space.member(bins[own], places)
        return anywhere.astype(np.float64)

    @cached_property
    def members(self) -> BoolArray:
        """A[y, x]: whether code y lies in the set of value x."""
        return self.space.incidence(self._size)

    def _lines(self, codes: IntArray) -> BoolArray:
        """Return rows of A, looked up where it is small, computed where it would fill the memory."""
        max_kept_cells = 2**25  # 32 MB
        if self.reports * self._size <= max_kept_cells:
            return self.members[codes]
        return self.space.orthogonal(codes, np.arange(self._size))

    def matrix_product(self, shares: FloatArray) -> FloatArray:
        """Return M @ shares = (column sums + (γ−1) A @ shares)/T."""
        if shares.ndim == 1:
            return (shares.sum() + (self._ratio - 1) * self.space.hits(self._pad(shares))) / self.total
        return (shares.sum(axis=0, keepdims=True) + (self._ratio - 1) * (self.members @ shares)) / self.total

    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Return M itself where both grids are the law's own, without a product of large matrices."""
        own = np.array_equal(true.points, self.bin_grid.points) and true.atoms is not None
        if own and np.array_equal(observed.points, self.representatives) and observed.atoms is not None:
            return np.where(self.members, self._ratio / self.total, 1 / self.total)
        return super().transition(true, observed, rule)

    def operator(self, size: int) -> TwoLevels | None:
        """Return M as an operator: its two values are γ/T and 1/T."""
        return TwoLevels(ReportSets(self), 1 / self.total, self._ratio / self.total) if self.size == size else None

    def hits(self, counts: FloatArray) -> FloatArray:
        """Return how many of the counted reports lie in the set of each value."""
        return self.space.hits(counts)[: self._size]

    def draw_values(
        self, reports: IntArray, mass: FloatArray, draws: FloatArray, ratio: float | None = None
    ) -> IntArray:
        """Return a value for each report from P(x | y) ∝ P(y | x) mass[x], given a draw from [0, 1) each.

        With an infinite `ratio` in place of γ the report is taken unadjusted: only values whose set holds it.
        """
        out = np.empty(len(reports), np.int64)
        order = np.argsort(reports, kind="stable")
        seen, first = np.unique(reports[order], return_index=True)
        ends = np.append(first[1:], len(order))
        inside, rest = (1.0, 0.0) if ratio == math.inf else (self._ratio, 1.0)
        max_cells_at_once = 2**21
        step = max(1, max_cells_at_once // self._size)
        for begin in range(0, len(seen), step):
            codes = seen[begin : begin + step]
            weights = np.where(self._lines(codes), inside * mass, rest * mass)
            lost = weights.sum(axis=1) <= 0  # no value that has any mass owns such a code
            weights[lost] = mass
            upto = np.cumsum(weights, axis=1)
            upto /= upto[:, -1:]
            rows = order[first[begin] : ends[begin + len(codes) - 1]]
            line = np.searchsorted(codes, reports[rows])
            place = np.searchsorted((upto + np.arange(len(codes))[:, None]).ravel(), line + draws[rows], side="right")
            out[rows] = np.minimum(place - line * self._size, self._size - 1)
        return out

    def read(self, reports: IntArray, draws: FloatArray) -> IntArray:
        """Return one of the values in whose set the report lies."""
        return self.draw_values(reports, np.ones(self._size), draws, math.inf)

    def _pad(self, shares: FloatArray) -> FloatArray:
        return np.concatenate([shares, np.zeros(self.reports - self._size)])

    @cached_property
    def degrees(self) -> IntArray:
        """In how many of the values' sets each code lies."""
        return np.rint(self.space.hits(self._pad(np.ones(self._size)))).astype(np.int64)

    def guarantee(self) -> Guarantee:
        """Return γ as counted from the table, the largest that is at most what was asked."""
        return Guarantee.of(self.table.gamma)

    def exact_table(self) -> dict[str, Any]:
        """Return the table, and the space whose hyperplanes are the sets."""
        space = {"set": "hyperplane", "order": self._order, "dimension": self._dimension, "size": self._size}
        code = int(np.flatnonzero((self.degrees > 0) & (self.degrees < self._size))[-1])
        inside = self._lines(np.array([code]))[0]
        worst = [int(inside.argmax()), int(inside.argmin()), code]
        return self.table.to_dict() | space | {"worst": worst}

    def interval_width(self, confidence: float) -> float:
        """Return the size of the smallest set of values with this posterior probability, on a uniform prior, averaged over reports.

        A code in m of the d sets gives each of those values γ/t and each other one 1/t, t = γm + d − m.
        """
        gamma, m = self._ratio, self.degrees.astype(np.float64)
        total = gamma * m + self._size - m
        needed = confidence * total
        width = np.where(needed <= gamma * m, needed / gamma, m + needed - gamma * m)
        return float(np.average(width, weights=total))


@dataclass(frozen=True)
class ReportSets:
    """The codes in the set of each value of a `projective` law."""

    law: Projective

    @property
    def shape(self) -> tuple[int, int]:
        """Codes × values."""
        return self.law.reports, self.law.bin_grid.size

    @property
    def set_size(self) -> int:
        """s, the same for every value."""
        return self.law.space.set_size

    def cells_of(self, amounts: FloatArray) -> FloatArray:
        """Sum by one transform."""
        return self.law.space.quick_hits(np.concatenate([amounts, np.zeros(self.law.reports - len(amounts))]))

    def labels_of(self, amounts: FloatArray) -> FloatArray:
        """Sum by one transform."""
        return self.law.space.quick_hits(amounts)[: self.law.bin_grid.size]

    def incidence(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether ⟨x, y⟩ = 0."""
        return self.law.space.orthogonal(cells, labels)

    def pairs(self, cells: IntArray, labels: IntArray) -> BoolArray:
        """Return whether ⟨x, y⟩ = 0."""
        points = self.law.space.points
        return np.asarray((points[cells] * points[labels]).sum(axis=1) % self.law.space.order == 0)


@lru_cache(maxsize=16)
def _space(order: int, dimension: int) -> ProjectiveSpace:
    """Return one object per space, so that its tables are built once."""
    return ProjectiveSpace(order, dimension)


def report_total(gamma: float, space: ProjectiveSpace) -> float:
    """Return T = γ s + K − s."""
    return gamma * space.set_size + space.size - space.set_size


def report_outside(gamma: float, space: ProjectiveSpace) -> float:
    """Return the probability q = (γ l + s − l)/T of a report in the set of a given other value."""
    return (gamma * space.shared + space.set_size - space.shared) / report_total(gamma, space)


def report_variance(gamma: float, space: ProjectiveSpace) -> float:
    """Return N × the variance of the share of a rare value: q(1−q)/(p−q)², since the hits are binomial (Wang et al. 2017)."""
    inside, outside = gamma * space.set_size / report_total(gamma, space), report_outside(gamma, space)
    return outside * (1 - outside) / (inside - outside) ** 2


def response_variance(gamma: float, size: int) -> float:
    """Return the same for k-ary response, p = γ/(γ+d−1) and q = 1/(γ+d−1): (γ+d−2)/(γ−1)²."""
    return (gamma + size - 2) / (gamma - 1) ** 2


@lru_cache(maxsize=256)
def best_space(gamma: float, size: int) -> ProjectiveSpace:
    """Return the space of least variance that has a set for each value, within the limits on codes and vectors."""
    max_codes = max(4 * size, 1024)  # beyond, variance gains nothing
    spaces = []
    for prime in (p for p in range(2, 160) if all(p % k for k in range(2, p))):
        dimension = 3
        while ProjectiveSpace(prime, dimension).size < size:
            dimension += 1
        space = ProjectiveSpace(prime, dimension)
        if space.size <= max_codes and prime**dimension <= MAX_VECTORS:
            spaces.append((report_variance(gamma, space), space.size, prime, space))
    if not spaces:
        raise UsageError(f"projective: {size:,} values are too many; group them, or use substitution")
    return min(spaces)[3]


def reports_win(gamma: float, size: int) -> bool:
    """Return whether projective reports have a lower variance than k-ary response: from about d > 3γ + 2 values on.

    Wang et al. (2017) state that bound for OLH and OUE, whose variance is 4γ/(γ−1)². Here both variances are computed as they
    are; a space of few points is a little better than that, so the change comes a little sooner.
    """
    return report_variance(gamma, best_space(gamma, size)) < response_variance(gamma, size)


@dataclass(frozen=True)
class ProjectiveSpace:
    """Points are numbered 0 … K−1: first those with the fewest coordinates behind the leading one."""

    order: int
    """q, a prime."""
    dimension: int
    """t, the number of coordinates; at least 2."""

    @property
    def size(self) -> int:
        """K, the number of points."""
        return (self.order**self.dimension - 1) // (self.order - 1)

    @property
    def set_size(self) -> int:
        """s, the number of points in each S(x)."""
        return (self.order ** (self.dimension - 1) - 1) // (self.order - 1)

    @property
    def shared(self) -> int:
        """l, the number of points that two sets share."""
        return (self.order ** (self.dimension - 2) - 1) // (self.order - 1)

    @cached_property
    def _weights(self) -> IntArray:
        return self.order ** np.arange(self.dimension - 1, -1, -1, dtype=np.int64)

    @cached_property
    def points(self) -> IntArray:
        """The coordinates of every point, one row each.

        With m coordinates behind the leading one there are qᵐ points, numbered from (qᵐ−1)/(q−1) on.
        """
        first = (self.order ** np.arange(self.dimension, dtype=np.int64) - 1) // (self.order - 1)
        numbers = np.arange(self.size)
        behind = np.searchsorted(first, numbers, side="right") - 1
        out = (numbers - first[behind])[:, None] // self._weights % self.order
        out[numbers, self.dimension - 1 - behind] = 1
        return np.ascontiguousarray(out)

    def numbers(self, points: IntArray) -> IntArray:
        """Return the number of each point that is written with a leading one."""
        behind = self.dimension - 1 - np.argmax(points != 0, axis=1)
        power = self.order**behind
        return np.asarray(points @ self._weights - power + (power - 1) // (self.order - 1))

    def incidence(self, sets: int) -> BoolArray:
        """Return A[y, x]: whether point y lies in S(x), for the first `sets` points x."""
        out = np.empty((self.size, sets), np.bool_)
        for begin in range(0, self.size, 1024):
            out[begin : begin + 1024] = self.orthogonal(np.arange(begin, min(begin + 1024, self.size)), np.arange(sets))
        return out

    def orthogonal(self, first: IntArray, second: IntArray) -> BoolArray:
        """Return whether ⟨x, y⟩ = 0, for each point x of `first` (one row) and y of `second` (one column).

        Sums of t products below q² are far below 2²⁴, so that they are exact, and so is whether their quotient is whole.
        """
        part = self._coordinates[first] @ self._coordinates[second].T
        part /= np.float32(self.order)
        return np.asarray(np.floor(part) == part)

    @cached_property
    def _coordinates(self) -> NDArray[np.float32]:
        return self.points.astype(np.float32)

    def hits(self, amounts: FloatArray) -> FloatArray:
        """Return Σ_{y in S(x)} amounts[y] for every point x, by one Fourier transform over the group of the coordinates.

        Put amounts[y] on every multiple of y but 0. The sum of exp(2πi λ⟨x, y⟩/q) over λ = 1 … q−1 is q − 1 where ⟨x, y⟩ = 0
        and −1 elsewhere, so the transform at x is q · hits(x) − Σ amounts. Since ⟨x, y⟩ = ⟨y, x⟩ the same map leads from
        masses of sets to points: Σ_{x : y in S(x)} amounts[x].
        """
        shape = (self.order,) * self.dimension
        spread = np.zeros(self.order**self.dimension)
        spread[self._multiples] = amounts
        turned = np.fft.rfftn(spread.reshape(shape)).real.ravel()
        return (turned[self._half] + amounts.sum()) / self.order

    def quick_hits(self, amounts: FloatArray) -> FloatArray:
        """Return the same up to rounding, at a fraction of the cost, for those who ask again and again.

        Points are written with a leading one, so their first coordinate is 0 or 1, and the transform is wanted there alone:
        its first step leaves two parts of q, and the other steps are products with the q × q matrix of the roots of unity.
        """
        spread = np.append(amounts, 0.0)[self._owners].reshape(self.order, -1)
        first = self._roots[:, :2]
        part = spread.T @ first.real + 1j * (spread.T @ first.imag)
        for _ in range(self.dimension - 1):
            part = part.reshape(self.order, -1).T @ self._roots
        return (part.real.ravel()[self.points @ self._weights] + amounts.sum()) / self.order

    @cached_property
    def _owners(self) -> IntArray:
        """For every vector the point that it is a multiple of; K for the zero vector."""
        out = np.full(self.order**self.dimension, self.size)
        out[self._multiples] = np.arange(self.size)
        return out

    @cached_property
    def _roots(self) -> NDArray[np.complex128]:
        """exp(2πi jk/q)."""
        k = np.arange(self.order)
        return np.exp(2j * np.pi * (np.outer(k, k) % self.order) / self.order)

    @cached_property
    def _multiples(self) -> IntArray:
        """Where λy lies in the array of all vectors, one row for each λ."""
        rows = [(self.points * k % self.order) @ self._weights for k in range(1, self.order)]
        return np.array(rows)

    @cached_property
    def _half(self) -> IntArray:
        """Where the transform at x lies in the half that a real transform keeps; at −x it is the same."""
        kept = self.order // 2 + 1
        vectors = np.where(self.points[:, -1:] < kept, self.points, -self.points % self.order)
        return (vectors[:, :-1] @ self._weights[:-1]) // self.order * kept + vectors[:, -1]

    def member(self, sets: IntArray, places: IntArray) -> IntArray:
        """Return the point at each place 0 … s−1 of S(x), for each x of `sets`.

        Let k be the last coordinate of x that is not zero. The other coordinates of y are free: a point z of the space with
        one coordinate fewer; and y_k = −Σ_{i≠k} x_i z_i / x_k. If z leads before k, so does y. If z leads after k, then all
        y_i before k are zero, and so is y_k, since x is zero after k. Either way y has its leading one where z has it, and
        its number is that of z with a zero put in at k, plus y_k q^(t−1−k).
        """
        pivots, coefficients, numbers, free = self._members
        at = np.zeros(len(sets), np.int64)
        for mine, own in zip(free, coefficients, strict=True):
            at += mine.take(places) * own.take(sets)
        at %= self.order
        pivot = pivots.take(sets)
        at *= self._weights.take(pivot)
        at += numbers.take(pivot * self.set_size + places)
        return at

    @cached_property
    def _members(self) -> tuple[IntArray, list[IntArray], IntArray, list[IntArray]]:
        """Per x: k and −x_i/x_k without i = k; per (k, z): the number of z with a zero at k; the coordinates of z."""
        points, t = self.points, self.dimension
        pivots = t - 1 - np.argmax(points[:, ::-1] != 0, axis=1)
        inverses = np.array([pow(k, -1, self.order) if k else 0 for k in range(self.order)], np.int64)
        scaled = -points * inverses[points[np.arange(self.size), pivots]][:, None] % self.order
        kept = np.arange(t)[None, :] != pivots[:, None]
        coefficients = scaled[kept].reshape(self.size, t - 1)
        free = ProjectiveSpace(self.order, t - 1).points
        numbers = np.concatenate([self.numbers(np.insert(free, k, 0, axis=1)) for k in range(t)])
        return (
            pivots.astype(np.int64),
            [np.ascontiguousarray(c) for c in coefficients.T],
            numbers,
            [np.ascontiguousarray(c) for c in free.T],
        )
