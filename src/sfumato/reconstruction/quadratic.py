"""Interior-point method for many small penalised problems at once.

Each problem b is

    minimise  ½ PᵀAP − gᵀP + λ ‖D P‖₁    subject to  P ≥ 0, Σ P = 1,

with D a banded difference operator. Splitting D P = u − v with u, v ≥ 0 gives a quadratic programme whose multipliers y of
the split lie in [−λ, λ]. Mehrotra's predictor–corrector steps follow the central path; all problems of a batch run side
by side, and each leaves when its duality gap is closed. About ten steps, each one Cholesky factorisation of an m × m matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, IntArray

BAND = 4
"""The most coefficients in a row of D: differences up to the third order."""


@dataclass(frozen=True, eq=False)
class Differences:
    """D as its bands: row j holds coefficients `bands[j, k]` on the columns j + k; rows of zeros pad it to m − 1 rows."""

    bands: FloatArray

    @classmethod
    def of(cls, widths: FloatArray, order: int) -> Differences:
        """Return the order-th derivative of the density P/width, times the width it stands for, on a domain of length one.

        Order 1: Σ|D P| is the total variation of the density. Order 2: that of its slope. Both are free of the number of
        cells and of the unit of the attribute.
        """
        share = widths / widths.sum()
        m = len(share)
        matrix = np.diag(1.0 / share)
        places = np.cumsum(share) - share / 2
        for k in range(order):
            matrix = np.diff(matrix, axis=0)
            if k < order - 1:
                matrix /= np.diff(places)[:, None]
                places = (places[1:] + places[:-1]) / 2
        bands = np.zeros((m - 1, BAND))
        for j in range(len(matrix)):
            bands[j, : order + 1] = matrix[j, j : j + order + 1]
        return cls(bands)

    @property
    def matrix(self) -> FloatArray:
        """D as an array."""
        rows = len(self.bands)
        out = np.zeros((rows, rows + 1 + BAND))
        for k in range(BAND):
            out[np.arange(rows), np.arange(rows) + k] = self.bands[:, k]
        return out[:, : rows + 1]


def apply(bands: FloatArray, p: FloatArray) -> FloatArray:
    """Return D P for each problem."""
    rows = bands.shape[1]
    padded = np.concatenate([p, np.zeros((len(p), BAND))], axis=1)
    out = bands[:, :, 0] * padded[:, :rows]
    for k in range(1, BAND):
        out += bands[:, :, k] * padded[:, k : k + rows]
    return out


def apply_transposed(bands: FloatArray, y: FloatArray, size: int) -> FloatArray:
    """Return Dᵀ y for each problem."""
    rows = bands.shape[1]
    out = np.zeros((len(y), size + BAND))
    for k in range(BAND):
        out[:, k : k + rows] += bands[:, :, k] * y
    return out[:, :size]


def add_gram(h: FloatArray, bands: FloatArray, s: FloatArray) -> None:
    """Add Dᵀ diag(s) D to H, lower triangle only, in place."""
    rows, size = bands.shape[1], h.shape[1]
    for k in range(BAND):
        for low in range(k + 1):
            weight = s * bands[:, :, k] * bands[:, :, low]
            reach = min(rows, size - k)
            index = np.arange(reach)
            h[:, index + k, index + low] += weight[:, :reach]


def solve_penalised(
    a: FloatArray, g: FloatArray, strength: FloatArray, bands: FloatArray, gap: float = 1e-3
) -> FloatArray:
    """Return the minimisers P, one row per problem.

    Parameters
    ----------
    a
        Curvature A of each problem, (B, m, m), positive semidefinite.
    g
        Linear term, (B, m).
    strength
        λ of each problem, (B,), positive.
    bands
        The bands of each D, (B, m − 1, BAND); zeros where nothing is penalised.
    gap
        Duality gap, in nats of log-likelihood, at which a problem counts as solved.
    """
    max_steps = 40
    problems, size = g.shape
    if size == 1:
        return np.ones((problems, 1))
    state = _State.begin(g, strength, bands)
    out = np.empty((problems, size))
    left: IntArray = np.arange(problems)
    for _ in range(max_steps):
        if (done := state.gap < gap).any():
            out[left[done]] = state.p[done]
            keep = ~done
            left, state = left[keep], state.take(keep)
            a, g, bands = a[keep], g[keep], bands[keep]
            if not len(left):
                break
        state = state.step(a, g, bands)
    if len(left):
        out[left] = state.p
    out = np.maximum(out, 0.0)
    return out / out.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class _State:
    """A point on (or near) the central path: P, u, v with their multipliers z, λ − y, λ + y, and ν of the total."""

    p: FloatArray
    z: FloatArray
    u: FloatArray
    v: FloatArray
    y: FloatArray
    nu: FloatArray
    strength: FloatArray
    real: FloatArray

    @classmethod
    def begin(cls, g: FloatArray, strength: FloatArray, bands: FloatArray) -> _State:
        problems, size = g.shape
        p = np.full((problems, size), 1.0 / size)
        d = apply(bands, p)
        u = np.maximum(d, 0.0) + 0.1
        z = np.full((problems, size), 1.0) * np.maximum(1.0, 0.01 * np.abs(g).mean(axis=1, keepdims=True))
        real = (np.abs(bands).sum(axis=2) > 0).astype(np.float64)
        return cls(p, z, u, u - d, np.zeros_like(u), np.zeros(problems), strength[:, None], real)

    def take(self, keep: Any) -> _State:
        return _State(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))

    @property
    def gap(self) -> FloatArray:
        """Σ Pz + Σ u(λ−y) + Σ v(λ+y): zero at the solution."""
        split = self.real * (self.u * (self.strength - self.y) + self.v * (self.strength + self.y))
        return np.asarray((self.p * self.z).sum(axis=1) + split.sum(axis=1))

    def step(self, a: FloatArray, g: FloatArray, bands: FloatArray) -> _State:
        """Make one predictor–corrector step.

        With r the residuals of complementarity, Newton's equations reduce to
        (A + Dᵀ S D + diag(z/P)) ΔP + Δν 1 = …, S = 1/(u/(λ−y) + v/(λ+y)), and Σ ΔP = 1 − Σ P.
        """
        from scipy.linalg.lapack import dpotrf, dpotrs

        p, z, u, v = self.p, self.z, self.u, self.v
        size = p.shape[1]
        su, sv = self.strength - self.y, self.strength + self.y
        s = self.real / (u / su + v / sv)
        h = a.copy()
        diagonal = np.arange(size)
        h[:, diagonal, diagonal] += z / p
        add_gram(h, bands, s)
        # The lower triangle by rows is the upper one by columns, the order LAPACK wants: no copy is made.
        factors = [dpotrf(one.T, lower=0, overwrite_a=1, clean=0)[0] for one in h]
        residual_p = (
            g - np.matmul(a, p[:, :, None])[:, :, 0] - apply_transposed(bands, self.y, size) + z - self.nu[:, None]
        )
        residual_d = self.real * (u - v - apply(bands, p))
        residual_e = 1.0 - p.sum(axis=1)

        def solve(right: FloatArray) -> FloatArray:
            return np.array([dpotrs(f, r, lower=0)[0] for f, r in zip(factors, right, strict=True)])

        ones = solve(np.ones_like(p))

        def direction(ru: FloatArray, rv: FloatArray, rz: FloatArray) -> tuple[FloatArray, ...]:
            pull = ru / su - rv / sv + residual_d
            x = solve(residual_p + rz / p + apply_transposed(bands, s * pull, size))
            dnu = (x.sum(axis=1) - residual_e) / ones.sum(axis=1)
            dp = x - dnu[:, None] * ones
            dy = s * (apply(bands, dp) - pull)
            return dp, (rz - z * dp) / p, (ru + u * dy) / su, (rv - v * dy) / sv, dy, dnu

        def longest(move: tuple[FloatArray, ...]) -> FloatArray:
            dp, dz, du, dv, dy, _ = move
            limit = np.full(len(p), 1.0)
            for value, change in ((p, dp), (z, dz), (u, du), (v, dv), (su, -dy), (sv, dy)):
                shrink = np.max(-change / value, axis=1)
                limit = np.minimum(limit, 1.0 / np.maximum(shrink, 1e-12))
            return limit

        gap = self.gap
        mean_gap = gap / (size + 2 * self.real.sum(axis=1))
        guess = direction(-u * su, -v * sv, -z * p)
        t = longest(guess)[:, None]
        dp, dz, du, dv, dy, _ = guess
        split = (u + t * du) * (su - t * dy) + (v + t * dv) * (sv + t * dy)
        reached = ((p + t * dp) * (z + t * dz)).sum(axis=1) + (self.real * split).sum(axis=1)
        centre = ((np.maximum(reached, 0.0) / gap) ** 3 * mean_gap)[:, None]
        move = direction(centre - u * su + du * dy, centre - v * sv - dv * dy, centre - z * p - dz * dp)
        t = 0.995 * longest(move)[:, None]
        dp, dz, du, dv, dy, dnu = move
        return _State(
            p + t * dp,
            z + t * dz,
            u + t * du,
            v + t * dv,
            self.y + t * dy,
            self.nu + t[:, 0] * dnu,
            self.strength,
            self.real,
        )
