"""Points and hyperplanes of the projective space over the integers modulo a prime: a design of sets that all look alike.

With q the prime and t the number of coordinates there are K = (qᵗ−1)/(q−1) points. Point x names the set
S(x) = {y : ⟨x, y⟩ = 0 mod q}. Every such set has s = (qᵗ⁻¹−1)/(q−1) points, and any two of them share exactly
l = (qᵗ⁻²−1)/(q−1). A point is written as its multiple whose first coordinate that is not zero is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.counts import FloatArray, IntArray


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

    def incidence(self, sets: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return A[y, x]: whether point y lies in S(x), for the first `sets` points x."""
        out = np.empty((self.size, sets), np.bool_)
        for begin in range(0, self.size, 1024):
            out[begin : begin + 1024] = self.orthogonal(np.arange(begin, min(begin + 1024, self.size)), np.arange(sets))
        return out

    def orthogonal(self, first: IntArray, second: IntArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return whether ⟨x, y⟩ = 0, for each point x of `first` (one row) and y of `second` (one column).

        Sums of t products below q² are far below 2²⁴, so that they are exact, and so is whether their quotient is whole.
        """
        part = self._coordinates[first] @ self._coordinates[second].T
        part /= np.float32(self.order)
        return np.asarray(np.floor(part) == part)

    @cached_property
    def _coordinates(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
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
    def _roots(self) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
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
