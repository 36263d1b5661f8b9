"""Spectral filtering (Kargupta, Datta, Wang & Sivakumar 2003): noise has few ways to look like structure.

The sample covariance of n rows of pure noise of variance σ² in d columns has eigenvalues between σ²(1 − √(d/n))² and
σ²(1 + √(d/n))². What lies above is signal: project on it, and the noise in the other directions is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Remedy, Scope, ValueAttack, View
from sfumato.attacks.linear._moments import FILTERED, linear_view
from sfumato.counts import FloatArray


def noise_bounds(variance: float, rows: int, columns: int) -> tuple[float, float]:
    """λ_min, λ_max of the sample covariance of pure noise (Kargupta et al. 2003, equations 7 and 8)."""
    q = math.sqrt(columns / rows)
    return variance * max(0.0, 1 - q) ** 2, variance * (1 + q) ** 2


def root_and_inverse(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M^{1/2} and its pseudo-inverse, of a positive semidefinite M."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > max(values.max(), 0.0) * 1e-12
    root = np.where(kept, np.sqrt(np.maximum(values, 0.0)), 0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, root, 1.0), 0.0)
    return (vectors * root) @ vectors.T, (vectors * inverse) @ vectors.T


@dataclass(frozen=True)
class Spectral(ValueAttack):
    """Whiten the noise, keep the directions whose variance exceeds what noise alone can have, and turn back."""

    name: ClassVar[str] = "spectral"
    title: ClassVar[str] = "Spectral filtering"
    assumes: ClassVar[str] = "The manifest; that the noise is the same for all rows and independent of the values."
    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = FILTERED

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        linear = linear_view(view)
        if linear is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        root, inverse = root_and_inverse(linear.noise)
        white = (linear.values - linear.mean) @ inverse
        n, d = white.shape
        values, vectors = np.linalg.eigh(white.T @ white / n)
        signal = vectors[:, values > noise_bounds(1.0, n, d)[1]]
        estimate = white @ signal @ signal.T @ root + linear.mean
        return Claim(linear.to_recoveries(estimate), {"signal_directions": int(signal.shape[1]), "columns": d})
