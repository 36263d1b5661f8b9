"""The shape of a table as noise may take it on: moments that add up over blocks, and a covariance without empty directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import DataError
from sfumato.text import join_names

MIN_ROWS = 30
"""A covariance over fewer rows than this would tell about them, and is not taken."""
FLOOR = 1e-3
"""The least eigenvalue of the noise's correlations: no direction of the table, not even one without data, goes without noise."""
DIGITS = 6
"""Significant digits of a published covariance: all that noise needs, and the same on any machine."""


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
        return Moments(
            self.names,
            self.origin,
            self.unit,
            self.pairs + other.pairs,
            self.sums + other.sums,
            self.products + other.products,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
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


def published(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """Return a symmetric matrix to `DIGITS` significant digits."""
    even = (matrix + matrix.T) / 2
    return tuple(tuple(float(f"{v:.{DIGITS}g}") for v in row) for row in even)
