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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.base import Guarantee, snap
from sfumato.channels.gaussian import Gaussian
from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError, listed
from sfumato.randomness import Addresses, CellWords, Entities, SecretKey, normal
from sfumato.schema import Attribute


def covariance_of(table: FloatArray) -> FloatArray:
    """Σ over the rows that are complete."""
    complete = table[~np.isnan(table).any(axis=1)]
    if len(complete) < 2:
        raise DataError(
            f"{len(complete)} complete rows have no covariance; fill the missing values, or use other noise"
        )
    return np.atleast_2d(np.cov(complete, rowvar=False))


@dataclass(frozen=True)
class CorrelatedGaussian:
    """A joint law of several columns: N(0, Σ_r), one draw a record; `ratio` is c where Σ_r = c Σ_x.

    Σ_r is published, since a miner needs it, and with c it tells Σ_x: covariances of the whole table, not of any row.
    """

    law: ClassVar[str] = "correlated-gaussian"
    names: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...]
    ratio: float | None = None
    steps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        d = len(self.names)
        matrix = np.array(self.covariance, dtype=np.float64)
        if matrix.shape != (d, d) or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
            raise UsageError(f"{self.law}: the covariance of {d} columns must be a symmetric {d} × {d} matrix")
        if d and np.linalg.eigvalsh(matrix).min() < -1e-9 * max(np.trace(matrix), 1e-300):
            raise UsageError(f"{self.law}: the covariance has a negative eigenvalue, and no noise has that; mend it")
        if self.steps and len(self.steps) != d:
            raise UsageError(f"{self.law}: {len(self.steps)} steps do not fit {d} columns")

    @classmethod
    def shaped_like(cls, table: ArrayLike, attributes: Sequence[Attribute], ratio: float = 1.0) -> CorrelatedGaussian:
        """Noise of covariance c Σ_x, Σ_x taken from the owner's own table (rows × attributes)."""
        values = np.asarray(table, dtype=np.float64)
        if not 0 < ratio < math.inf:
            raise UsageError(f"{cls.law}: ratio = {ratio:g} must be a positive number")
        if values.ndim != 2 or values.shape[1] != len(attributes):
            raise UsageError(
                f"{cls.law}: the table has shape {values.shape}, and {len(attributes)} attributes were given"
            )
        if labels := [a.name for a in attributes if not a.kind.numeric]:
            raise UsageError(f"{listed(labels)}: {cls.law} noise needs numeric columns; use substitution for them")
        matrix = ratio * covariance_of(values)
        return cls(
            tuple(a.name for a in attributes),
            tuple(tuple(float(v) for v in row) for row in (matrix + matrix.T) / 2),
            ratio,
            tuple(a.step for a in attributes),
        )

    @cached_property
    def root(self) -> FloatArray:
        """L with L Lᵀ = Σ_r; Σ_r may be singular, so by eigenvectors rather than Cholesky."""
        values, vectors = np.linalg.eigh(np.array(self.covariance, dtype=np.float64))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def perturb(self, key: SecretKey, addresses: Addresses, table: FloatArray) -> FloatArray:
        """Released rows, each a function of the key, its address and its whole record.

        The draw hangs on every value of the record: were only the noise of a corrected column fresh, the difference of two
        releases would show the correction in all directions that this column's noise does not reach.
        """
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise UsageError(f"{self.law}: a table of shape {table.shape} does not fit {len(self.names)} columns")
        records = self._digests(key, addresses, table)
        nothing = np.zeros(len(table))
        draws = np.column_stack(
            [normal(CellWords(key.derive(self.law, "draw", i))(records, nothing)[:, 0]) for i in range(table.shape[1])]
        )
        out = table + draws @ self.root.T
        for i, step in enumerate(self.steps):
            out[:, i] = snap(out[:, i], step)
        return out

    def _digests(self, key: SecretKey, addresses: Addresses, table: FloatArray) -> Addresses:
        """128 bits a record: one cipher block after another over its values, the law mixed into the key (CBC-MAC)."""
        cells = CellWords(key.derive(self.law, "record", self.to_dict()))
        here = addresses
        for column in table.T:
            words = cells(here, np.where(np.isnan(column), np.nan, column))
            here = Entities(words[:, 0].copy(), words[:, 1].copy())
        return here

    def marginal(self, attribute: Attribute) -> Gaussian:
        """The law of one column by itself."""
        place = self.names.index(attribute.name)
        return Gaussian(sigma=math.sqrt(self.covariance[place][place])).on(attribute)

    def density(self, noise: FloatArray) -> FloatArray:
        """Log f(r) of noise vectors, on the directions in which there is noise."""
        values, vectors = np.linalg.eigh(np.array(self.covariance, dtype=np.float64))
        kept = values > values.max() * 1e-12
        along = noise @ vectors[:, kept]
        square = (along**2 / values[kept]).sum(axis=1)
        return np.asarray(-0.5 * (square + np.log(2 * math.pi * values[kept]).sum()))

    def interval_width(self, name: str, confidence: float = 0.95) -> float:
        """2 z σ of one column, without regard to the others."""
        from scipy.special import ndtri

        place = self.names.index(name)
        return float(2 * ndtri((1 + confidence) / 2) * math.sqrt(self.covariance[place][place]))

    def guarantee(self) -> Guarantee:
        """None, as for any gaussian noise."""
        return Guarantee(math.inf, "the ratio of two normal densities grows without bound in the tails")

    def reconstruct(self, released: FloatArray) -> tuple[FloatArray, FloatArray]:
        """μ_x and Σ_x from a release: E[y] = E[x] and Σ_y = Σ_x + Σ_r.

        Where c is known, Σ_y = (1 + 1/c) Σ_r as well: both are unbiased, and Σ_r/c is exact up to the owner's own sample.
        """
        complete = released[~np.isnan(released).any(axis=1)]
        signal = covariance_of(released) - np.array(self.covariance)
        values, vectors = np.linalg.eigh(signal)
        return complete.mean(axis=0), (vectors * np.maximum(values, 0.0)) @ vectors.T

    def shrunk(self, released: FloatArray) -> FloatArray:
        """The best linear guess at each value, x̂ = μ + (y − μ)/(1 + c): what the defence leaves to every attack."""
        if self.ratio is None:
            raise UsageError(f"{self.law}: without a ratio c there is no scalar shrink; use the Bayes estimate")
        mean = np.nanmean(released, axis=0)
        return np.asarray(mean + (released - mean) / (1 + self.ratio))

    def to_dict(self) -> dict[str, Any]:
        """The law as plain data."""
        return {
            "law": self.law,
            "names": list(self.names),
            "covariance": [list(row) for row in self.covariance],
            "ratio": self.ratio,
            "steps": list(self.steps),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CorrelatedGaussian:
        """The inverse of `to_dict`."""
        if unknown := set(data) - {"law", "names", "covariance", "ratio", "steps"}:
            raise UsageError(f"{cls.law} has no parameter {listed(sorted(unknown))}")
        return cls(
            tuple(data["names"]),
            tuple(tuple(float(v) for v in row) for row in data["covariance"]),
            data.get("ratio"),
            tuple(float(s) for s in data.get("steps", ())),
        )

    def scaled(self, factor: float) -> CorrelatedGaussian:
        """The same shape with `factor` times the covariance."""
        rows = tuple(tuple(factor * v for v in row) for row in self.covariance)
        return replace(self, covariance=rows, ratio=None if self.ratio is None else factor * self.ratio)
