"""Weights of exponentials of the linear predictor, real or complex, times the terms of a cluster.

Noise maps exponentials to themselves: E[e^{θY} | x] = c₀(θ) + c₁(θ) e^{θx}. Additive noise has c₀ = 0 and c₁ = M(θ), the moment
generating function of the noise; a square wave has c₀ too. So (e^{θy} − c₀)/c₁ is the weight of e^{θx}, and its derivatives by θ are
those of x e^{θx} and x² e^{θx}. At imaginary θ these are waves, of which any bounded function of the predictor is a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Additive, SquareWave
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.questions.regression.clusters import Cluster, ClusterRows, Polynomial, Powers, combine

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Wave:
    """c₀ and c₁ of one column with their first two derivatives, in the unit of u."""

    noise: FloatArray
    """Values that the noise takes."""
    chance: FloatArray
    anywhere: FloatArray
    """Values that a report which knows nothing takes, and its chance."""
    nothing: float

    @classmethod
    def of(cls, powers: Powers) -> Wave:
        """Return the wave of a law of numbers."""
        channel, width = powers.column.channel, powers.column.attribute.interval.range or 1.0
        low = powers.column.attribute.interval.low
        if channel is None:
            return cls(np.zeros(1), np.ones(1), np.zeros(1), 0.0)
        if isinstance(channel, SquareWave):
            noise, chance = _noise_table(channel.noise_near)
            reports = np.linspace(*channel.reports_between, 4001)
            middles = (reports[1:] + reports[:-1]) / 2
            return cls(noise / width, chance * channel.near, (middles - low) / width, 1 - channel.near)
        if not isinstance(channel, Additive):
            raise UsageError(
                f"{powers.column.name}: {channel.law} noise leaves no weight of exponentials; leave it out"
            )
        noise, chance = _noise_table(channel)
        return cls(noise / width, chance, np.zeros(1), 0.0)

    def constants(self, theta: ComplexArray) -> tuple[ComplexArray, ...]:
        """Return c₀, c₀′, c₀″, c₁, c₁′, c₁″."""
        spread = np.exp(np.outer(theta, self.noise)) * self.chance
        own = [spread @ self.noise**k for k in range(3)]
        if not self.nothing:
            zero = np.zeros(len(theta), np.complex128)
            return (zero, zero, zero, *own)
        far = np.exp(np.outer(theta, self.anywhere)) * (self.nothing / len(self.anywhere))
        return (*(far @ self.anywhere**k for k in range(3)), *own)

    def weigh(self, y: FloatArray, theta: ComplexArray) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
        """Return the weights of x^k e^{θx} for k = 0, 1, 2, shape (θ, rows)."""
        z0, z1, z2, m0, m1, m2 = (c[:, None] for c in self.constants(theta))
        a = 1 / m0
        da = -m1 * a**2
        dda = 2 * m1**2 * a**3 - m2 * a**2
        e = np.exp(np.outer(theta, y))
        first, second = y * e, y * y * e
        e, first, second = e - z0, first - z1, second - z2
        return a * e, da * e + a * first, dda * e + 2 * da * first + a * second


def _noise_table(channel: Additive) -> tuple[FloatArray, FloatArray]:
    """Return the values of additive noise and their chances; many steps are taken together where the noise is much wider."""
    cells_each_side, scales = 3200, 16  # cells of 1/200 of the scale: e^{θy} bends in them by (θ scale)²/10⁶
    scale, step = float(channel.scale or 0.0), float(channel.step or 0.0)
    width = max(step, scales * scale / cells_each_side)
    width = step * round(width / step) if step else width
    half = math.ceil(scales * scale / width)
    edges = width * (np.arange(2 * half + 2) - half - 0.5)
    if step and round(width / step) % 2 == 0:  # edges lie halfway between whole steps
        edges = edges + step / 2
    chance = np.diff(channel.cdf(np.asarray(edges, dtype=np.float64)))
    middles = (edges[1:] + edges[:-1]) / 2
    kept = chance > 0
    return middles[kept], chance[kept] / chance[kept].sum()


class ClusterWaves:
    """The weights of e^{κh}, f_i e^{κh} and f_i f_j e^{κh} of a cluster on some rows, for several κ; h is its part of the predictor."""

    def __init__(self, cluster: Cluster, waves: Sequence[Wave], rows: ClusterRows, beta: FloatArray, size: int) -> None:
        self.cluster, self.rows, self.waves = cluster, rows, waves
        mine = [i for i, place in enumerate(cluster.places) if place < size]
        self.places = [cluster.places[i] for i in mine]
        self.functions = [cluster.functions[i] for i in mine]
        self.predictor = combine(self.functions, beta[self.places].tolist())
        self.plain = not self.functions

    @cached_property
    def values(self) -> FloatArray:
        """The functions themselves, where there is no noise in the cluster."""
        return self.rows.weigh(self.functions)

    def weigh(self, kappa: ComplexArray) -> tuple[ComplexArray, list[ComplexArray]]:
        """Return the weight of e^{κh} and the ratios to it of those of f_i e^{κh}, each of shape (κ, rows)."""
        count = len(self.rows.cells)
        if self.plain:
            one = np.ones(count) if self.cluster.whole else self.rows.weigh([self.cluster.one])[0]
            return np.broadcast_to(one.astype(np.complex128), (len(kappa), count)), []
        if self.cluster.exact:
            h = self.rows.weigh([self.predictor])[0] if self.predictor else np.zeros(count)
            return np.exp(np.outer(kappa, h)), [np.broadcast_to(v, (len(kappa), count)) for v in self.values]
        self._groups = self._by_slope(kappa)
        whole = self._apply(kappa, self.cluster.one)
        safe = np.where(np.abs(whole) > 1e-250, whole, 1e-250)
        return whole, [self._apply(kappa, f) / safe for f in self.functions]

    def sum_pairs(self, kappa: ComplexArray, others: ComplexArray) -> ComplexArray | None:
        """Return Σ over the rows of `others` times the weight of f_i f_j e^{κh}, shape (κ, i, j); None without noise."""
        if self.plain or self.cluster.exact:
            return None
        size = len(self.functions)
        out = np.zeros((len(kappa), size, size), np.complex128)
        split = self.functions
        for mask, grown, x in self._groups:
            sums = {powers: self._to_states(others * x[powers]) * grown * mask for powers in x}
            for i, left in enumerate(split):
                for j, right in enumerate(split[: i + 1]):
                    total = np.zeros(len(kappa), np.complex128)
                    for p, one in left.items():
                        for q, other in right.items():
                            powers = tuple(a + b for a, b in zip(p, q, strict=True))
                            total += sums[powers] @ (one * other)
                    out[:, i, j] += total
                    if i != j:
                        out[:, j, i] += total
        return out

    def _by_slope(
        self, kappa: ComplexArray
    ) -> list[tuple[FloatArray, ComplexArray, dict[tuple[int, ...], ComplexArray]]]:
        """Return, for states with the same slopes: the states, e^{κ a}, and the weights of powers of numbers times e^{κ b x}."""
        cluster = self.cluster
        axes = len(cluster.powers)
        parts = self.predictor
        zero = (0,) * axes
        constant = parts.get(zero, np.zeros(cluster.size))
        slopes = np.zeros((cluster.size, axes))
        for i in range(axes):
            slopes[:, i] = parts.get(_unit(i, axes), 0.0)
        grown = np.exp(np.outer(kappa, constant))
        out = []
        for slope in np.unique(slopes, axis=0) if axes else slopes[:1]:
            mask = np.all(slopes == slope, axis=1).astype(np.float64)
            out.append((mask, grown, self._number_weights(kappa, slope)))
        return out

    def _number_weights(self, kappa: ComplexArray, slope: FloatArray) -> dict[tuple[int, ...], ComplexArray]:
        powers, count = self.cluster.powers, len(self.rows.cells)
        axes = len(powers)
        zero = (0,) * axes
        if not axes:
            return {zero: np.ones((len(kappa), count), np.complex128)}
        y = [p.scaled(v) for p, v in zip(powers, self.rows.numbers, strict=True)]
        if self.cluster.covariance is None:  # one number: see `check_exponential`
            e, first, second = self.waves[0].weigh(y[0], kappa * slope[0])
            return {(0,): e, (1,): first, (2,): second}
        sigma = self.cluster.covariance
        along = sigma @ slope
        e = np.exp(np.outer(kappa, slope @ np.stack(y)) - 0.5 * (kappa**2 * (slope @ along))[:, None])
        shift = [y[i] - (kappa * along[i])[:, None] for i in range(axes)]
        out = {zero: e}
        for i in range(axes):
            out[_unit(i, axes)] = shift[i] * e
            for j in range(i + 1):
                both = tuple(a + b for a, b in zip(_unit(i, axes), _unit(j, axes), strict=True))
                out[both] = (shift[i] * shift[j] - sigma[i, j]) * e
        return out

    def _apply(self, kappa: ComplexArray, function: Polynomial) -> ComplexArray:
        """Return the weight of a function times e^{κh}."""
        cluster = self.cluster
        out = np.zeros((len(kappa), len(self.rows.cells)), np.complex128)
        for mask, grown, x in self._groups:
            for powers, coefficients in function.items():
                table = coefficients * mask * grown
                at = table if not cluster.states else cluster.by_cell(table)[:, self.rows.cells]
                out += at * x[powers]
        return out

    def _to_states(self, by_row: ComplexArray) -> ComplexArray:
        """Return the sums over rows, cell by cell, as sums over states, shape (κ, states)."""
        cluster = self.cluster
        if not cluster.states:
            return by_row.sum(axis=1, keepdims=True)
        cells = int(np.prod([len(s.table) for s in cluster.states]))
        sums = np.stack(
            [
                np.bincount(self.rows.cells, row.real, cells) + 1j * np.bincount(self.rows.cells, row.imag, cells)
                for row in by_row
            ]
        )
        out = sums.reshape(len(sums), *(len(s.table) for s in cluster.states))
        for axis, states in enumerate(cluster.states):
            out = np.moveaxis(np.tensordot(out, states.table, axes=(1 + axis, 0)), -1, 1 + axis)
        return np.asarray(out.reshape(len(sums), -1))


def _unit(place: int, size: int) -> tuple[int, ...]:
    return tuple(int(i == place) for i in range(size))


def check_exponential(cluster: Cluster, size: int) -> None:
    """Raise UsageError where exponentials of the terms of a cluster have no weight, naming what to leave out."""
    terms = [(place, f) for place, f in zip(cluster.places, cluster.functions, strict=True) if place < size]
    if cluster.exact or not terms:
        return
    name = " and ".join(dict.fromkeys(cluster.names))
    if size in cluster.places:
        raise UsageError(
            f"{name}: the noise of the response was drawn with that of others; with family='gaussian' they can be fitted together"
        )
    if any(sum(powers) > 1 for _, f in terms for powers in f):
        raise UsageError(
            f"{name}: powers and products of numbers with noise are fitted with family='gaussian' only; leave the term out"
        )
    if len(cluster.powers) > 1 and cluster.covariance is None:
        raise UsageError(f"{name}: two numbers share labels in their interactions; leave one of the interactions out")
    for powers in cluster.powers:
        if powers.column.attribute.ruler is not None:
            raise UsageError(
                f"{powers.column.name}: its noise is even on its scale only; write place({powers.column.name})"
            )
