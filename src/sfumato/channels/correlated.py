"""Correlated gaussian noise, the defence against filtering (Huang, Du & Chen 2005, section 8): y = x + r, Cov(r) = Σ_r = c Σ_x.

Filters and Bayes estimates tell noise from data by direction: data vary along a few, independent noise along all. Noise shaped
like the data leaves no such direction. With Σ_r = c Σ_x the best linear guess is a shrink of each value for itself,
x̂ = μ + (y − μ)/(1 + c), with or without the other columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.channels.base import Channel, Guarantee, JointLaw
from sfumato.channels.gaussian import Gaussian
from sfumato.counts import FloatArray, snap
from sfumato.errors import DataError, UsageError
from sfumato.randomness import Addresses, CellWords, Entities, SecretKey, normal
from sfumato.schema import Attribute
from sfumato.text import join_names


@dataclass(frozen=True)
class CorrelatedGaussian(JointLaw):
    """Draw the noise of several numeric columns together, with the covariance of the data.

    Parameters
    ----------
    names : tuple of str
        The columns, in the order of the covariance.
    covariance : tuple of tuple of float
        Σ_r: every row of the table gets one draw from N(0, Σ_r).
    ratio : float, optional
        c, where Σ_r = c Σ_x.
    steps : tuple of float
        Grid of the released values of each column.

    Notes
    -----
    Σ_r is published, since a miner needs it, and with c it tells Σ_x: covariances of the whole table, not of any row. Where
    Σ_x is learned from the table it is blurred first, so that it tells no value better than the release does.

    Examples
    --------
    >>> from sfumato.channels import CorrelatedGaussian
    >>> law = CorrelatedGaussian(("height", "weight"), ((4.0, 3.0), (3.0, 9.0)))
    >>> round(law.interval_width("weight"), 2)
    11.76
    """

    law: ClassVar[str] = "correlated-gaussian"
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {"ratio": (0.05, 0.1, 0.25, 0.5, 1.0, 2.0), "privacy": ()}
    names: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...]
    ratio: float | None = None
    steps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        d = len(self.names)
        matrix = np.array(self.covariance, dtype=np.float64)
        if matrix.shape != (d, d) or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
            raise UsageError(f"{self.law}: the covariance of {d} columns must be a symmetric {d} × {d} matrix")
        own = np.diag(matrix)
        if d and not np.abs(matrix).max() < 1e150:
            raise UsageError(
                f"{self.law}: the covariance holds {np.abs(matrix).max():g}, which no noise has; correct it"
            )
        if d and (own.min() < 0 or np.linalg.eigvalsh(matrix / np.sqrt(_or_one(np.outer(own, own)))).min() < -1e-9 * d):
            raise UsageError(f"{self.law}: the covariance has a negative eigenvalue, and no noise has that; correct it")
        if self.steps and len(self.steps) != d:
            raise UsageError(f"{self.law}: {len(self.steps)} steps do not fit {d} columns")

    @classmethod
    def like(
        cls, covariance: FloatArray, attributes: Sequence[Attribute], ratio: float, floor: float = 0.0
    ) -> CorrelatedGaussian:
        """Return noise of covariance c Σ_x for a known Σ_x; a direction without data gets the least that noise may have."""
        if not 0 < ratio < math.inf:
            raise UsageError(f"{cls.law}: ratio = {ratio:g} must be a positive number")
        noise = publish(ratio * without_empty_directions(covariance, min(max(floor, FLOOR), 1.0)))
        law = cls(tuple(a.name for a in attributes), noise, ratio)
        return replace(law, steps=tuple(float(law.marginal(a).step or 0.0) for a in attributes))

    @cached_property
    def root(self) -> FloatArray:
        """L with L Lᵀ = Σ_r: Cholesky's, which is one and the same on any machine; by eigenvectors where Σ_r is singular."""
        matrix = np.array(self.covariance, dtype=np.float64)
        try:
            return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(matrix)
            return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def perturb(self, key: SecretKey, addresses: Addresses, table: FloatArray) -> FloatArray:
        """Return released rows, each a function of the key, its address and its whole record.

        The draw depends on every value of the record: were only the noise of a corrected column fresh, the difference of two
        releases would show the correction in all directions that this column's noise does not reach.
        """
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise UsageError(f"{self.law}: a table of shape {table.shape} does not fit {len(self.names)} columns")
        records = self._digests(key, addresses, table)
        nothing = np.zeros(len(table))
        out = table.copy()
        for i, along in enumerate(self.root.T):
            draw = normal(CellWords(key.derive(self.law, "draw", i))(records, nothing))
            for j in np.flatnonzero(along):  # column by column: a matrix product may round otherwise in another block
                out[:, j] += draw * along[j]
        for i, step in enumerate(self.steps):
            out[:, i] = snap(out[:, i], step)
        return out

    def _digests(self, key: SecretKey, addresses: Addresses, table: FloatArray) -> Addresses:
        """Return 128 bits per row: one cipher block after another over its values, the law mixed into the key (CBC-MAC)."""
        cells = CellWords(key.derive(self.law, "record", self.to_dict()))
        here = addresses
        for column in table.T:
            words = cells(here, np.where(np.isnan(column), np.nan, column))
            here = Entities(words[:, 0].copy(), words[:, 1].copy())
        return here

    def marginal(self, attribute: Attribute) -> Marginal:
        """Return the law of one column by itself, which remembers that its noise is not drawn for itself."""
        place = self.names.index(attribute.name)
        alone = Gaussian(sigma=math.sqrt(self.covariance[place][place])).on(attribute)
        return self.member(alone)

    def member(self, alone: Gaussian) -> Marginal:
        """Return a gaussian law as one of this joint law's columns."""
        return Marginal(sigma=alone.sigma, step=alone.step, low=alone.low, high=alone.high, joint=self)

    def among(self, names: Sequence[str]) -> FloatArray:
        """Return Σ_r of some of the columns, in the order asked for."""
        places = [self.names.index(n) for n in names]
        return np.array(self.covariance, dtype=np.float64)[np.ix_(places, places)]

    def interval_width(self, name: str, confidence: float = 0.95) -> float:
        """Return 2 z σ of one column, without regard to the others."""
        from scipy.special import ndtri

        place = self.names.index(name)
        return float(2 * ndtri((1 + confidence) / 2) * math.sqrt(self.covariance[place][place]))

    def guarantee(self) -> Guarantee:
        """Return none, as for any gaussian noise."""
        return Guarantee(math.inf, "the ratio of two normal densities grows without bound in the tails")

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """Return what a person may set: c or the width of an interval, or Σ_r outright."""
        return {
            "ratio": "c, where the noise has c times the covariance of the data",
            "privacy": "width of the 95 % interval of every column, as a fraction of the domain's range",
            "names": "the columns of a declared covariance, in its order",
            "covariance": "Σ_r itself, so that nothing is learned from the table",
        }

    def in_words(self) -> str:
        """Say what a recipient must know of noise that was drawn together."""
        c = f" = {self.ratio:.4g} Σx" if self.ratio is not None else ""
        shrunk = f", and Σx = Σy/{1 + self.ratio:.4g} without it" if self.ratio is not None else ""
        return (
            f"The noise of {join_names(self.names, 30)} is correlated (covariance Σr{c}, in the manifest): each column alone may "
            f"be treated as gaussian, but not two of them as independent. Covariances of the true values are Σx = Σy − Σr{shrunk}. "
            "Σr tells them as well: figures of the whole table, blurred so that they tell no row better than the release does."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data."""
        return {
            "law": self.law,
            "names": list(self.names),
            "covariance": [list(row) for row in self.covariance],
            "ratio": self.ratio,
            "steps": list(self.steps),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CorrelatedGaussian:
        """Return the inverse of `to_dict`."""
        if unknown := set(data) - {"law", "names", "covariance", "ratio", "steps"}:
            raise UsageError(f"{cls.law} has no parameter {join_names(sorted(unknown))}")
        ratio = data.get("ratio")
        return cls(
            tuple(data["names"]),
            tuple(tuple(float(v) for v in row) for row in data["covariance"]),
            None if ratio is None else float(ratio),
            tuple(float(s) for s in data.get("steps", ())),
        )


def _or_one(values: FloatArray) -> FloatArray:
    return np.where(values > 0, values, 1.0)


@dataclass(frozen=True)
class Marginal(Gaussian):
    """One column of a joint law: gaussian by itself, but its noise goes with that of the other columns.

    It is not a law of its own and not in the registry: a manifest states it as gaussian, with the joint law beside.
    """

    joint: CorrelatedGaussian | None = None

    def in_words(self) -> str:
        """Say that the noise is not drawn for this column alone."""
        return f"{super().in_words()}, drawn together with other columns"

    def exact_table(self) -> None:
        """Return none: the noise of a row is drawn for several columns at once, as floats."""

    def to_dict(self) -> dict[str, Any]:
        """Return the column's own law as plain data; the joint law is stated once for all its columns."""
        return Gaussian(sigma=self.sigma, step=self.step, low=self.low, high=self.high).to_dict()


def rejoin(law: CorrelatedGaussian, name: str, channel: Channel | None) -> Channel:
    """Return a manifest's gaussian column as a member of its joint law; raise DataError where it does not fit."""
    place = law.names.index(name)
    if not isinstance(channel, Gaussian) or channel.sigma is None:
        raise DataError(f"{name}: a column of {law.law} noise must be gaussian by itself")
    if abs(channel.sigma**2 / law.covariance[place][place] - 1) > 1e-6:
        raise DataError(f"{name}: sigma = {channel.sigma:g} does not agree with the joint covariance")
    return law.member(channel)


MIN_ROWS = 30
"""A covariance over fewer rows than this would tell about them, and is not taken."""
FLOOR = 1e-3
"""The least eigenvalue of the noise's correlations: no direction of the table, not even one without data, goes without noise."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the pairs of columns that are both present, of values that were shifted and scaled by `origin` and `unit`.

    ``a + b`` is right for any two parts of a table; equal parts added in equal order give equal bits.
    """

    names: tuple[str, ...]
    origin: FloatArray
    unit: FloatArray
    pairs: FloatArray
    """n_ij: rows that have both columns."""
    sums: FloatArray
    """Σ z_i over those rows."""
    products: FloatArray
    """Σ z_i z_j over those rows."""
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, names: tuple[str, ...], table: FloatArray, origin: FloatArray, unit: FloatArray) -> Self:
        """Return the moments of one block, rows × columns, NaN where a value is missing."""
        present = ~np.isnan(table)
        z = np.where(present, (table - origin) / unit, 0.0)
        there = present.astype(np.float64)
        low = np.where(present, table, np.inf).min(axis=0, initial=np.inf)
        high = np.where(present, table, -np.inf).max(axis=0, initial=-np.inf)
        return cls(names, origin, unit, there.T @ there, z.T @ there, z.T @ z, low, high)

    def __add__(self, other: Moments) -> Moments:
        return replace(
            self,
            pairs=self.pairs + other.pairs,
            sums=self.sums + other.sums,
            products=self.products + other.products,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
        )

    def covariance(self) -> FloatArray:
        """Return Σ_x from all pairs that are there; 0 for two columns that fewer than `MIN_ROWS` rows share.

        A column that does not vary, or that fewer rows have, is refused: its variance is published.
        """
        still = [n for n, low, high in zip(self.names, self.low, self.high, strict=True) if not high > low]
        if still:
            raise DataError(
                f"{join_names(still)}: does not vary in the table, and noise shaped like it would be none; "
                "withhold it, or give it noise of its own in a plan"
            )
        if few := [n for n, rows in zip(self.names, np.diag(self.pairs), strict=True) if rows < MIN_ROWS]:
            raise DataError(
                f"{join_names(few)}: fewer than {MIN_ROWS} rows have a value, and their variance, which the noise would publish, "
                "tells about them; withhold it, or give it noise of its own in a plan"
            )
        n = np.maximum(self.pairs, 1.0)
        centred = self.products / n - (self.sums / n) * (self.sums.T / n)
        known = self.pairs >= MIN_ROWS
        return np.where(known, centred * n / np.maximum(n - 1, 1.0), 0.0) * np.outer(self.unit, self.unit)


def blur_covariance(moments: Moments, ratio: float, draws: FloatArray) -> tuple[FloatArray, float]:
    """Return Σ_x with noise, and the least eigenvalue that its correlations may keep.

    One row moves Σ_ij by about D_i D_j/n, D = x − μ. Without noise somebody who knows all other rows could solve the published
    Σ_r for it. An entry's noise has the standard deviation w_ij = √((d + 3) c) max(R_i s_j, R_j s_i)/n, R the ranges of the
    domains and s the standard deviations. All d entries of column i tell of x_i: ∂Σ_ij/∂x_i = D_j/n, and 2 D_i/n for j = i.
    With |D_j| ≤ R_j their Fisher information is Σ_j (∂Σ_ij/∂x_i)²/w_ij² ≤ (d − 1 + 4)/((d + 3) c s_i²) = 1/(c s_i²), that of
    the released value, whose noise is √c s_i: no value is told better by the covariance than by itself (Cramér–Rao). `draws`
    are standard normal, shape (d, d); the upper triangle is used.

    Noise may leave a direction with less than the data has in it. Its largest eigenvalue is about 2 √d of an entry, so
    directions are raised to that.
    """
    covariance = moments.covariance()
    s = np.sqrt(np.diag(covariance))
    cross = np.outer(moments.unit, s)
    weight = math.sqrt((len(s) + 3) * ratio) * np.maximum(cross, cross.T) / np.maximum(moments.pairs, 1.0)
    upper = np.triu(draws)
    noisy = np.where(moments.pairs >= MIN_ROWS, covariance + weight * (upper + np.triu(upper, 1).T), 0.0)
    own = np.diag_indices(len(noisy))
    noisy[own] = np.maximum(noisy[own], weight[own])
    return noisy, 2 * math.sqrt(len(s)) * float(np.max(weight[own] / s**2))


def without_empty_directions(covariance: FloatArray, floor: float = FLOOR) -> FloatArray:
    """Return the same variances, with the eigenvalues of the correlations raised to `floor`.

    Columns that repeat each other, and pairs counted over different rows, leave eigenvalues of nothing or less. Noise of
    that shape would leave a direction bare, in which an unusual record shows itself.
    """
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    raised = (vectors * np.maximum(values, floor)) @ vectors.T
    own = scale / np.sqrt(np.diag(raised))
    return np.asarray(raised * np.outer(own, own))


def publish(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """Return a symmetric matrix to six significant digits: all that noise needs, and the same on any machine."""
    even = (matrix + matrix.T) / 2
    return tuple(tuple(float(f"{v:.6g}") for v in row) for row in even)
