"""Correlations of all pairs of columns of numbers through the noise.

Means, variances and covariances come from weights without bias, over the rows that have both values. With x and y centred and
scaled by them, a row's influence on the correlation ρ is [xy] − ρ/2 ([x²] + [y²]), [·] the weight. Its square less the weight of
(xy − ρ/2 (x² + y²))² is the variance of the noise, without bias. Intervals are even on Fisher's scale atanh ρ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.channels import Discrete
from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.errors import UsageError
from sfumato.questions.regression import Powers, Source, parts
from sfumato.questions.weights import joint_powers, noise_covariance
from sfumato.reconstruction import Figure
from sfumato.report import charts
from sfumato.table import Column, Table

Z = 1.959963984540054
MAX_POWER = 4


@dataclass(frozen=True, eq=False)
class Reader:
    """Weights of the powers of one column of numbers, up to the fourth as far as its law has them."""

    powers: Powers

    @property
    def name(self) -> str:
        """The column."""
        return self.powers.column.name

    @property
    def known(self) -> int:
        """The highest power with a weight."""
        return MAX_POWER if self.powers.exact else min(len(self.powers.weights), MAX_POWER)

    def weigh(self, values: FloatArray) -> FloatArray:
        """Return the weights of 1, u, u², …, shape (powers, rows); 0 beyond what the law knows."""
        out = np.zeros((MAX_POWER + 1, len(values)))
        out[0] = 1.0
        for power in range(1, self.known + 1):
            out[power] = self.powers.weigh(values, power)
        return out


def shift(weights: FloatArray, centre: float, size: float) -> FloatArray:
    """Return the weights of the powers of (u − centre)/size from those of u."""
    out = np.zeros_like(weights)
    for power in range(len(weights)):
        for k in range(power + 1):
            out[power] += comb(power, k) * (-centre) ** (power - k) * weights[k]
        out[power] /= size**power
    return out


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Add up first and second moments of every pair of columns over the rows that have both."""

    readers: tuple[Reader, ...]
    covariance: FloatArray

    def __call__(self, table: Table, rows: IntArray) -> Sums:  # noqa: ARG002 - as every count
        """Return n, Σu, Σv, Σu², Σv², Σuv of a block, shape (columns, columns, 6)."""
        d = len(self.readers)
        out = np.zeros((d, d, 6))
        for part in parts(table.rows):
            values = [table[r.name].values[part] for r in self.readers]
            present = np.stack([~np.isnan(v) for v in values]).astype(np.float64)
            weights = np.stack([np.nan_to_num(r.weigh(v)[:3]) for r, v in zip(self.readers, values, strict=True)])
            weights = weights * present[:, None]
            one, first, second = weights[:, 0], weights[:, 1], weights[:, 2]
            both = one @ one.T
            sums = (both, first @ one.T, one @ first.T, second @ one.T, one @ second.T)
            for k, add in enumerate(sums):
                out[:, :, k] += add
            out[:, :, 5] += first @ first.T - self.covariance * both
        return Sums({"moments": out})


@dataclass(frozen=True, eq=False)
class PairInfluences:
    """Add up the squares of the influences on every correlation, and the weights of what they estimate."""

    readers: tuple[Reader, ...]
    covariance: FloatArray
    centres: FloatArray
    """Mean and standard deviation of both columns of each pair, and ρ: shape (columns, columns, 5)."""

    def __call__(self, table: Table, rows: IntArray) -> Sums:  # noqa: ARG002 - as every count
        """Return Σ s, Σ s², Σ [s²] of a block, shape (columns, columns, 3)."""
        d = len(self.readers)
        out = np.zeros((d, d, 3))
        for part in parts(table.rows):
            values = [table[r.name].values[part] for r in self.readers]
            weights = [r.weigh(v) for r, v in zip(self.readers, values, strict=True)]
            for i, j in combinations(range(d), 2):
                if np.isfinite(self.centres[i, j]).all():
                    present = ~np.isnan(values[i]) & ~np.isnan(values[j])
                    out[i, j] += self._sums(i, j, [w[:, present] for w in (weights[i], weights[j])])
        return Sums({"influences": out})

    def _sums(self, i: int, j: int, weights: list[FloatArray]) -> tuple[float, float, float]:
        m_i, s_i, m_j, s_j, rho = self.centres[i, j]
        if self.covariance[i, j]:
            scaled = np.stack([(weights[0][1] - m_i) / s_i, (weights[1][1] - m_j) / s_j])
            sizes = np.array([s_i, s_j])
            joint = self.covariance[np.ix_([i, j], [i, j])] / np.outer(sizes, sizes)

            def product(a: int, b: int) -> FloatArray:
                return joint_powers(scaled, joint, (a, b))
        else:
            x, y = shift(weights[0], m_i, s_i), shift(weights[1], m_j, s_j)

            def product(a: int, b: int) -> FloatArray:
                return x[a] * y[b]

        s = product(1, 1) - rho / 2 * (product(2, 0) + product(0, 2))
        if min(self.readers[i].known, self.readers[j].known) < MAX_POWER:
            return float(s.sum()), float(s @ s), 0.0
        square = product(2, 2) * (1 + rho**2 / 2) - rho * (product(3, 1) + product(1, 3))
        square = square + rho**2 / 4 * (product(4, 0) + product(0, 4))
        return float(s.sum()), float(s @ s), float(square.sum())


@dataclass(frozen=True, eq=False)
class Correlations:
    """The correlation of every pair of columns of numbers.

    Attributes
    ----------
    columns : tuple of str
        The columns.
    pairs : mapping of two names to Figure
        The correlation of the true values over the rows that have both; None where the rows cannot tell it.
    skipped : mapping of str to str
        Columns that were left out, and why.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     result = sf.associate(release)
    >>> result["petal_length", "petal_width"].low > 0.9
    True
    """

    columns: tuple[str, ...]
    pairs: Mapping[tuple[str, str], Figure | None]
    rows: Mapping[tuple[str, str], float]
    exact: frozenset[tuple[str, str]]
    skipped: Mapping[str, str]

    def __getitem__(self, pair: tuple[str, str]) -> Figure | None:
        one, other = pair
        if one == other and one in self.columns:
            return Figure(1.0, 0.0)
        return self.pairs[(one, other) if (one, other) in self.pairs else (other, one)]

    def __repr__(self) -> str:
        return f"Correlations({', '.join(self.columns)})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `columns`, and `rows[]` with one pair each."""
        empty = dict.fromkeys(("estimate", "se", "low", "high"))
        return {
            "columns": list(self.columns),
            "rows": [
                {"one": one, "other": other}
                | (empty if figure is None else figure.to_dict())
                | {
                    "kind": "exact" if (one, other) in self.exact else "likely" if figure is not None else "unknown",
                    "rests_on": self.rows[one, other],
                }
                for (one, other), figure in self.pairs.items()
            ],
            "skipped": dict(self.skipped),
        }

    def to_arrow(self) -> pa.Table:
        """Return the pairs as an Arrow table."""
        return pa.Table.from_pylist(self.to_dict()["rows"])

    def to_svg(self) -> str:
        """Draw the matrix as a heat map."""
        size = len(self.columns)
        values, words = np.full((size, size), np.nan), [[""] * size for _ in range(size)]
        for i, one in enumerate(self.columns):
            for j, other in enumerate(self.columns):
                figure = self[one, other]
                if figure is not None:
                    values[i, j] = float(figure)
                    words[i][j] = f"{one}, {other}: {float(figure):.2f} ({figure.low:.2f} … {figure.high:.2f})"
        return charts.heat_map("Correlations of the true values", self.columns, values, words)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the list of pairs as texts, the strongest first."""
        told = sorted(self.pairs.items(), key=lambda p: -abs(float(p[1])) if p[1] is not None else 1.0)
        body = [
            [one, other, *(["cannot be told", ""] if f is None else [f"{float(f):.3f}", f"{f.low:.3f} … {f.high:.3f}"])]
            for (one, other), f in told
        ]
        return ["column", "column", "correlation", "95 % interval"], body


def correlate(source: Source, columns: list[Column]) -> Correlations:
    """Return the correlations of the columns of numbers."""
    readers, skipped = [], {}
    for column in columns:
        if not column.attribute.kind.numeric:
            continue
        if isinstance(column.channel, Discrete):
            skipped[column.name] = f"{column.channel.law} tells bins, not numbers"
            continue
        reader = Reader(Powers.of(column, place=False))
        if reader.known < 2:
            skipped[column.name] = "its law has no weight of squares"
        else:
            readers.append(reader)
    if len(readers) < 2:
        raise UsageError(
            "correlations need two columns of numbers whose noise can be corrected for; name two columns of labels for a table"
        )
    names = tuple(r.name for r in readers)
    rows = source.rows(names)
    covariance = noise_covariance([r.powers.column for r in readers])
    np.fill_diagonal(covariance, np.where(np.count_nonzero(covariance, axis=1) > 1, np.diag(covariance), 0.0))
    moments = rows.fold(PairMoments(tuple(readers), covariance - np.diag(np.diag(covariance)))).arrays["moments"]
    n = np.maximum(moments[:, :, 0], 1.0)
    means = [moments[:, :, k] / n for k in range(1, 6)]
    variance_i, variance_j = means[2] - means[0] ** 2, means[3] - means[1] ** 2
    product = means[4] - means[0] * means[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = np.sqrt(variance_i), np.sqrt(variance_j)
        rho = np.clip(product / (sizes[0] * sizes[1]), -1.0, 1.0)
    centres = np.stack([means[0], sizes[0], means[1], sizes[1], rho], axis=-1)
    sums = rows.fold(PairInfluences(tuple(readers), covariance, centres)).arrays["influences"]
    pairs: dict[tuple[str, str], Figure | None] = {}
    exact = set()
    for i, j in combinations(range(len(readers)), 2):
        key = names[i], names[j]
        pairs[key] = None
        if np.isfinite(centres[i, j]).all():
            certain = readers[i].powers.exact and readers[j].powers.exact
            _, square, known = sums[i, j]
            noise = 0.0 if certain else max(square - known, 0.05 * square) / n[i, j] ** 2 * source.rows_of_one
            pairs[key] = _figure(float(rho[i, j]), math.sqrt(noise), math.sqrt(square) / n[i, j])
            if certain:
                exact.add(key)
    return Correlations(
        names, pairs, {k: float(n[names.index(k[0]), names.index(k[1])]) for k in pairs}, frozenset(exact), skipped
    )


def _figure(rho: float, se: float, population: float) -> Figure | None:
    """Return a correlation with an interval that is even on Fisher's scale; None where it would be all of −1 … 1."""
    if se > 0.5:
        return None
    inside = min(max(rho, -0.999999), 0.999999)
    z, spread = math.atanh(inside), se / max(1 - inside**2, se)
    return Figure(rho, se, math.tanh(z - Z * spread), math.tanh(z + Z * spread), max(population, se))
