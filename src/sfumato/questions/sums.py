"""One fold over the rows: for every combination of codes, sums of weights of numbers, and of their products.

A figure is made of totals T_i = Σ c_i over the true rows, with c_i the indicator of some cells times a monomial of numbers. Each
has an unbiased weight W_i = L_i(codes) m_i(numbers). The noise of the totals has the covariance Σ_rows Cov(W_i, W_j | x), and
Σ W_i W_j − W_ij estimates it without bias, W_ij the weight of c_i c_j: the indicator of the cells of both, times the product of both
monomials. So sums by code of m_i, of m_i m_j, and of the weights of products are all that is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray, Sums
from sfumato.questions.axes import Axis
from sfumato.questions.functions import unit_of
from sfumato.questions.weights import ColumnWeights, Weight, joint_powers, noise_covariance
from sfumato.table import Column, Table

Monomial = tuple[tuple[str, int], ...]
"""Columns with their powers; power 0 asks whether the value is there."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """How monomials of columns of numbers are read; frozen, so that a worker can have it."""

    weights: Mapping[tuple[str, int], Weight]
    together: Mapping[str, Column]
    """Columns whose noise was drawn together with that of another one here."""
    variances: Mapping[str, float]
    """The variance of the noise of each of them, in units of u."""

    @classmethod
    def of(cls, columns: Sequence[Column], monomials: Sequence[Monomial]) -> Numbers:
        """Return how the monomials are read; raise NoWeightError where a law leaves no weight."""
        groups = noise_covariance(columns)
        joined = [c for i, c in enumerate(columns) if c.channel is not None and np.count_nonzero(groups[i]) > 1]
        needed = {pair for monomial in monomials for pair in monomial}
        by_name = {c.name: ColumnWeights.of(c) for c in columns}
        weights = {(name, power): by_name[name].power(power) for name, power in sorted(needed)}
        noise = {c.name: _noise_variance(by_name[c.name]) for c in joined}
        return cls(weights, {c.name: c for c in joined}, noise)

    def __call__(self, table: Table, monomial: Monomial) -> FloatArray:
        """Return the weight of a monomial, row by row."""
        out: FloatArray = np.ones(table.rows)
        joined = [(name, power) for name, power in monomial if name in self.together and power]
        if len(joined) > 1:
            columns = [self.together[name] for name, _ in joined]
            covariance = noise_covariance(columns)
            covariance[np.diag_indices(len(columns))] = [self.variances[c.name] for c in columns]
            scaled = np.stack(
                [(table[c.name].values - unit_of(c.attribute)[0]) / unit_of(c.attribute)[1] for c in columns]
            )
            out = np.nan_to_num(joint_powers(scaled, covariance, [power for _, power in joined]))
        else:
            joined = []
        for name, power in monomial:
            if (name, power) not in joined:
                out = out * self.weights[name, power](table[name].values)
        return out


def _noise_variance(weights: ColumnWeights) -> float:
    """Return the variance of the noise in units of u: y² less the weight of x²."""
    first, low = weights.power(1), np.array([weights.column.attribute.interval.low])
    assert first.square is not None
    return float((first(low) ** 2 - first.square(low))[0])


def code_rows(axes: Sequence[Axis], table: Table, rows: int) -> IntArray:
    """Return the combination of codes of each row."""
    flat = np.zeros(rows, dtype=np.int64)
    for axis in axes:
        flat = flat * axis.size + axis.codes(table[axis.name].values)
    return flat


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums by combination of codes: of monomials, and of products of two of them."""

    axes: tuple[Axis, ...]
    numbers: Numbers
    monomials: tuple[Monomial, ...]
    pairs: tuple[tuple[Monomial, Monomial], ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each axis."""
        return tuple(axis.size for axis in self.axes)

    def codes(self, table: Table, rows: int) -> IntArray:
        """Return the combination of codes of each row."""
        return code_rows(self.axes, table, rows)

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the sums of some rows."""
        flat, cells = self.codes(table, len(rows)), int(np.prod(self.shape))
        values = {monomial: self.numbers(table, monomial) for monomial in self.monomials}
        columns = [None if not m else values[m] for m in self.monomials]
        columns += [values[one] * values[other] for one, other in self.pairs]
        sums = [np.bincount(flat, weights, minlength=cells).astype(np.float64) for weights in columns]
        return Sums({"sums": np.stack(sums), "rows": len(rows)})


@dataclass(frozen=True)
class Total:
    """c: the indicator of cells, times a monomial."""

    mask: int
    """The place of the cells among the masks."""
    monomial: Monomial = ()

    def times(self, other: Total, masks: Masks) -> Total:
        """Return the product of two."""
        powers = dict(self.monomial)
        for name, power in other.monomial:
            powers[name] = powers.get(name, 0) + power
        return Total(masks.both(self.mask, other.mask), tuple(sorted(powers.items())))


class Masks:
    """Sets of cells over all axes, each kept once; the intersection of two is one more."""

    def __init__(self) -> None:
        self.arrays: list[BoolArray] = []
        self._places: dict[bytes, int] = {}

    def add(self, array: BoolArray) -> int:
        """Return the place of a set."""
        key = array.tobytes()
        if key not in self._places:
            self._places[key] = len(self.arrays)
            self.arrays.append(array)
        return self._places[key]

    def both(self, one: int, other: int) -> int:
        """Return the place of the cells that lie in both."""
        return one if one == other else self.add(self.arrays[one] & self.arrays[other])


@dataclass(frozen=True, eq=False)
class Folded:
    """The sums of all rows, and what totals follow from them for each group."""

    count: CellSums
    sums: FloatArray
    """Shape (monomials and pairs, combinations of codes)."""
    groups: IntArray
    """The group of each combination of classes."""
    masks: Masks

    def _sums_of(self, monomial: Monomial) -> FloatArray:
        return np.asarray(self.sums[self.count.monomials.index(monomial)])

    def _sums_of_pair(self, one: Monomial, other: Monomial) -> FloatArray:
        place = self.count.pairs.index(order_pair(one, other))
        return np.asarray(self.sums[len(self.count.monomials) + place])

    @cached_property
    def exact_axes(self) -> bool:
        """Whether every code is a class."""
        return all(axis.exact for axis in self.count.axes)

    def split(self, total: Total) -> tuple[dict[str, int], Monomial]:
        """Return the powers that are read off axes, and the monomial that is summed row by row."""
        on_axes = {name: power for name, power in total.monomial if self._has_powers(name)}
        return on_axes, tuple((name, power) for name, power in total.monomial if name not in on_axes)

    def _has_powers(self, name: str) -> bool:
        return any(axis.name == name and axis.powers for axis in self.count.axes)

    def readings(self, group: int, total: Total, side: str = "") -> FloatArray:
        """Return L of a total for one group at every combination of codes."""
        powers, _ = self.split(total)
        out = (self.masks.arrays[total.mask] & (self.groups == group)).astype(np.float64)
        for axis in self.count.axes:
            matrix = axis.matrix(powers.get(axis.name), side)
            out = np.moveaxis(out, 0, -1) if matrix is None else np.tensordot(out, matrix, axes=([0], [0]))
        return out.reshape(-1)

    def values(self, group: int, totals: Sequence[Total], side: str = "") -> FloatArray:
        """Return the unbiased estimates of some totals of one group."""
        return np.array([self.readings(group, t, side) @ self._sums_of(self.split(t)[1]) for t in totals])

    def noise(self, group: int, totals: Sequence[Total], side: str = "") -> FloatArray:
        """Return the covariance of the noise of some totals of one group."""
        size = len(totals)
        out = np.zeros((size, size))
        readings = [self.readings(group, t, side) for t in totals]
        rests = [self.split(t)[1] for t in totals]
        for i in range(size):
            for j in range(i, size):
                both = totals[i].times(totals[j], self.masks)
                second = self.readings(group, both, side) @ self._sums_of(self.split(both)[1])
                first = (readings[i] * readings[j]) @ self._sums_of_pair(rests[i], rests[j])
                out[i, j] = out[j, i] = first - second
        return out

    def effective_rows(self, group: int, total: Total) -> float:
        """Return (Σ W)²/Σ W²: as many rows of equal weight would say as much of the group."""
        readings = self.readings(group, Total(total.mask))
        counts = self._sums_of(())
        squares = float(readings**2 @ counts)
        return max(float(readings @ counts), 0.0) ** 2 / squares if squares > 0 else 0.0


def order_pair(one: Monomial, other: Monomial) -> tuple[Monomial, Monomial]:
    """Return two monomials in the order in which their product is kept."""
    return (one, other) if one <= other else (other, one)
