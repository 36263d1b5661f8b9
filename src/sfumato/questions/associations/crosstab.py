"""A table of two columns of labels through the noise, the chi-square test of independence, and Cramér's V.

Let A and B hold the weights of the labels at each released cell, and O the counts of released cells. The counts of true labels are
AᵀOB without bias, and Σ O (A B)² − AᵀOB is the variance of the noise, since the square of an indicator is itself.

The test: D_ij = π_ij − π_i π_j is a mean of ψ = (A_i − π_i)(B_j − π_j). If the columns are independent, so are their weights, and
Cov(ψ) = Cov(A) ⊗ Cov(B). So X² = n tr(Dᵀ Cov(A)⁻¹ D Cov(B)⁻¹) is chi-square with (I − 1)(J − 1) degrees of freedom: it has its level
whatever the noise is. Without noise it is Pearson's.

Cramér's V: φ² = Σ D_ij²/(π_i π_j), less the part of Σ D² that the noise alone makes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.channels import Discrete
from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.errors import DataError, UsageError
from sfumato.questions.regression import Source, States, check_some_rows, level_names
from sfumato.reconstruction import Figure
from sfumato.schema import Missing
from sfumato.table import Column, Table

Z = 1.959963984540054


def states_of(column: Column) -> States:
    """Return the labels of a column, or the bins of its law; raise UsageError for other numbers."""
    name, channel = column.name, column.channel
    if not column.attribute.kind.numeric:
        return States.of_labels(column)
    if not isinstance(channel, Discrete):
        raise UsageError(
            f"{name} is a number without labels; associate columns of labels, or name no column for the correlations of numbers"
        )
    return States.of_bins(column, channel)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Count released cells of two columns together."""

    one: States
    other: States
    missing: tuple[float, float]
    """From this code on a value released as true is a missing one."""

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the counts of a block."""
        values = [table[s.name].values for s in (self.one, self.other)]
        present = ~np.isnan(values[0]) & ~np.isnan(values[1])
        for v, least in zip(values, self.missing, strict=True):
            present &= ~(v >= least)
        left, right = self.one.cells(values[0][present]), self.other.cells(values[1][present])
        shape = len(self.one.table), len(self.other.table)
        counts = np.bincount(left * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape)
        return Sums({"counts": counts, "rows": np.array([len(rows)])})


@dataclass(frozen=True)
class ChiSquare:
    """The test of independence: the chance of so large a statistic where the columns are independent in the population."""

    statistic: float
    freedom: int
    p: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"statistic": float(f"{self.statistic:.12g}"), "df": self.freedom, "p": float(f"{self.p:.12g}")}


@dataclass(frozen=True, eq=False)
class Crosstab:
    """How many rows have each pair of labels.

    Attributes
    ----------
    columns : tuple of str
        The two columns.
    labels : tuple of tuple of str
        Their labels.
    counts : list of list of Figure
        Rows with each pair, an interval for the count of the true table each.
    test : ChiSquare
        The test of independence in the population.
    v : Figure
        Cramér's V of the true table: 0 without association, 1 where one column tells the other.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("mushroom", sf.plan("mushroom", noise="substitution", privacy=0.5), f"{folder}/release")
    ...     result = sf.associate(release, "odor", "class")
    >>> result.test.p < 0.001, len(result.counts)
    (True, 9)
    """

    columns: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    counts: list[list[Figure]]
    test: ChiSquare
    v: Figure
    rows: float
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `rows[]` with both labels and the count of each cell, `chi_square`, `cramers_v`."""
        one, other = self.columns
        return {
            "columns": list(self.columns),
            "kind": "exact" if self.exact else "likely",
            "rests_on": float(f"{self.rows:.12g}"),
            "rows": [
                {one: a, other: b} | figure.to_dict() | {"share": float(f"{float(figure) / self.rows:.12g}")}
                for a, line in zip(self.labels[0], self.counts, strict=True)
                for b, figure in zip(self.labels[1], line, strict=True)
            ],
            "chi_square": self.test.to_dict(),
            "cramers_v": self.v.to_dict(),
        }

    def to_arrow(self) -> pa.Table:
        """Return the cells as an Arrow table, one row per pair of labels."""
        return pa.Table.from_pylist(self.to_dict()["rows"])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the table as texts."""
        body = [
            [label, *(f"{float(f):,.0f} ± {Z * f.se:,.0f}" if f.se else f"{float(f):,.0f}" for f in line)]
            for label, line in zip(self.labels[0], self.counts, strict=True)
        ]
        return [f"{self.columns[0]} \\ {self.columns[1]}", *self.labels[1]], body

    def facts(self) -> list[str]:
        """Return test and Cramér's V in words."""
        t = self.test
        p = "< 0.0001" if t.p < 1e-4 else f"= {t.p:.4f}"
        verdict = "go together" if t.p < 0.05 else "may be independent"
        return [
            f"chi-square {t.statistic:,.2f} with {t.freedom} degrees of freedom, p {p}: {' and '.join(self.columns)} {verdict}",
            f"Cramér's V {float(self.v):.3f} ({self.v.low:.3f} … {self.v.high:.3f})",
        ]

    def __repr__(self) -> str:
        return f"Crosstab({self.columns[0]} × {self.columns[1]}: p = {self.test.p:.3g}, V = {float(self.v):.3f})"


def cross(source: Source, one: Column, other: Column) -> Crosstab:
    """Return the table of two columns."""
    if one.name == other.name:
        raise UsageError(f"{one.name} is named twice; name two columns")
    _check_cells(one, other)
    a, b = states_of(one), states_of(other)
    missing = _first_missing(one), _first_missing(other)
    sums = source.rows([one.name, other.name]).fold(PairCounts(a, b, missing)).arrays
    observed = sums["counts"].astype(np.float64)
    check_some_rows(observed.sum(), f"{one.name} and {other.name}")
    factor = float(source.rows_of_one)
    counts = a.table.T @ observed @ b.table
    noise = np.maximum((a.table**2).T @ observed @ b.table**2 - counts, 0.0) * factor
    n = float(counts.sum())
    exact = a.exact and b.exact
    if exact:
        noise = np.zeros_like(noise)
    figures = [
        [_count(float(c), math.sqrt(v), n) for c, v in zip(row, spread, strict=True)]
        for row, spread in zip(counts, noise, strict=True)
    ]
    labels = level_names(one), level_names(other)
    test = chi_square(observed, a.table, b.table, factor)
    v = cramers_v(observed, a.table, b.table, factor, exact=exact)
    return Crosstab((one.name, other.name), labels, figures, test, v, n, exact)


def _check_cells(one: Column, other: Column) -> None:
    """Raise UsageError for a table of more cells than can be tested; numbers without levels are refused later, by their name."""
    max_cells = 10_000
    sizes = [
        len(level_names(c)) if isinstance(c.channel, Discrete) or not c.attribute.kind.numeric else 1
        for c in (one, other)
    ]
    if math.prod(sizes) > max_cells:
        raise UsageError(
            f"{one.name} and {other.name} have {sizes[0]:,} and {sizes[1]:,} labels, and a table of at most {max_cells:,} cells is "
            "tested; name a column of fewer labels"
        )


def _count(count: float, se: float, n: float) -> Figure:
    return Figure(count, se, max(count - Z * se, 0.0), min(max(count + Z * se, 0.0), n))


def _first_missing(column: Column) -> float:
    """Return the code of a missing value that was released as a category without noise."""
    if column.channel is None and column.attribute.missing is Missing.CATEGORY:
        return float(len(column.attribute.categories))
    return math.inf


def _deviations(
    observed: FloatArray, a: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return D, both margins, and ψ of every released pair of cells, shape (released pairs, labels of a, labels of b)."""
    cells = np.argwhere(observed > 0)
    left, right = a[cells[:, 0]], b[cells[:, 1]]
    weight = observed[cells[:, 0], cells[:, 1]]
    whole = left.sum(axis=1) * right.sum(axis=1)
    total = float(weight @ whole)
    joint = (left * weight[:, None]).T @ right / total
    one, other = joint.sum(axis=1), joint.sum(axis=0)
    deviation = joint - np.outer(one, other)
    # d(π_ij − π_i π_j) = dπ_ij − π_j dπ_i − π_i dπ_j, each a ratio to the weight of rows that have both values
    in_one, in_other = left * right.sum(axis=1)[:, None], right * left.sum(axis=1)[:, None]
    psi = left[:, :, None] * right[:, None, :] - in_one[:, :, None] * other - one[:, None] * in_other[:, None, :]
    psi = psi - (joint - 2 * np.outer(one, other)) * whole[:, None, None]
    return deviation, one, other, psi * (weight.sum() / total)


def chi_square(observed: FloatArray, a: FloatArray, b: FloatArray, factor: float = 1.0) -> ChiSquare:
    """Return the test of independence of the true labels.

    Parameters
    ----------
    observed
        Counts of released pairs.
    a, b
        The weights of the labels at each released cell, shape (released cells, labels).
    factor
        How many rows share their noise at most.

    Examples
    --------
    >>> table = np.array([[30.0, 20.0], [10.0, 40.0]])
    >>> round(chi_square(table, np.eye(2), np.eye(2)).statistic, 3)  # Pearson's
    16.667
    """
    from scipy.special import chdtrc

    deviation, one, other, psi = _deviations(observed, a, b)
    kept_a, kept_b = _drop_one(one), _drop_one(other)
    freedom = len(kept_a) * len(kept_b)
    if not freedom:
        raise DataError("one of the columns has a single label, so there is nothing to associate; name another column")
    n = float(observed.sum())
    whole = np.allclose(a.sum(axis=1), 1, atol=1e-9) and np.allclose(b.sum(axis=1), 1, atol=1e-9)
    d = deviation[np.ix_(kept_a, kept_b)]
    if whole:
        spread_a, spread_b = (
            _covariance(a[:, kept_a], observed.sum(axis=1)),
            _covariance(b[:, kept_b], observed.sum(axis=0)),
        )
        statistic = n * float(np.sum(d * (np.linalg.pinv(spread_a) @ d @ np.linalg.pinv(spread_b))))
    else:  # rows with a missing value leave the weights of the two columns dependent
        flat = psi[:, kept_a][:, :, kept_b].reshape(len(psi), -1)
        spread = (flat * observed[observed > 0][:, None]).T @ flat / n
        statistic = n * float(d.ravel() @ np.linalg.pinv(spread) @ d.ravel())
    statistic /= factor
    return ChiSquare(statistic, freedom, float(chdtrc(freedom, max(statistic, 0.0))))


def _drop_one(shares: FloatArray) -> IntArray:
    """Return all labels that occur but the commonest, which the others determine."""
    there = np.flatnonzero(shares != 0)
    return there[there != np.argmax(shares)]


def _covariance(weights: FloatArray, counts: FloatArray) -> FloatArray:
    n = counts.sum()
    mean = counts @ weights / n
    return np.asarray((weights * counts[:, None]).T @ weights / n - np.outer(mean, mean))


def cramers_v(
    observed: FloatArray, a: FloatArray, b: FloatArray, factor: float = 1.0, *, exact: bool = False
) -> Figure:
    """Return Cramér's V of the true table, √(φ²/(min(I, J) − 1)).

    Parameters
    ----------
    observed, a, b, factor
        As for `chi_square`.
    exact
        Whether there is no noise in either column.
    """
    deviation, one, other, psi = _deviations(observed, a, b)
    n = float(observed.sum())
    least = 1.0 / n
    there_a, there_b = np.flatnonzero(one > least), np.flatnonzero(other > least)
    freedom = min(len(there_a), len(there_b)) - 1
    if freedom < 1:
        return Figure(0.0, 0.0)
    inside = np.ix_(there_a, there_b)
    scale = np.sqrt(np.outer(one[there_a], other[there_b]))
    scaled = deviation[inside] / scale
    if exact:
        return Figure(math.sqrt(float((scaled**2).sum()) / freedom), 0.0)
    flat = psi[:, there_a][:, :, there_b].reshape(len(psi), -1) / scale.ravel()
    weight = observed[observed > 0]
    total = (flat * weight[:, None]).T @ flat / n**2
    # ψ of true pairs, whose sum over the true counts is the part of the variance without noise
    left = np.repeat(np.eye(len(one)), len(other), axis=0) - one
    right = np.tile(np.eye(len(other)), (len(one), 1)) - other
    true = left[:, :, None] * right[:, None, :] - deviation
    true = true[:, there_a][:, :, there_b].reshape(len(true), -1) / scale.ravel()
    counts = np.maximum((a.T @ observed @ b).ravel(), 0.0)
    noise = (total - (true * counts[:, None]).T @ true / n**2) * factor
    bias = float(np.trace(noise))
    square = float((scaled**2).sum()) - bias
    along = scaled.ravel()
    # For D = d + e, Cov(e) = N: Var(D² − tr N) = 4 dᵀNd + 2 tr N², and E DᵀND = dᵀNd + tr N²
    twice = 2 * float(np.sum(noise * noise.T))
    se = math.sqrt(max(4 * float(along @ noise @ along) - twice, twice, 0.0))
    low, high = (min(max(square + sign * Z * se, 0.0) / freedom, 1.0) for sign in (-1, 1))
    value = math.sqrt(min(max(square, 0.0) / freedom, 1.0))
    return Figure(value, (math.sqrt(high) - math.sqrt(low)) / (2 * Z), math.sqrt(low), math.sqrt(high))
