"""PCA-based data reconstruction, PCA-DR (Huang, Du & Chen 2005, section 5): keep the directions in which the data vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Remedy, Scope, ValueAttack, View
from sfumato.attacks.linear._moments import FILTERED, linear_view
from sfumato.counts import FloatArray


def count_dominant(values: FloatArray, noise: FloatArray) -> int:
    """How many of the (descending) eigenvalues of Σ_x to keep: those that exceed the noise in their own direction.

    Keeping a direction costs its noise, dropping it costs its signal, so each is kept when signal ≥ noise; at least one.
    """
    return max(1, int(np.sum(values >= noise)))


@dataclass(frozen=True)
class PCA(ValueAttack):
    """X̂ = μ + (u − μ) Q Qᵀ, Q the leading eigenvectors of Σ_x = Σ_u − Σ_r."""

    name: ClassVar[str] = "pca"
    title: ClassVar[str] = "PCA data reconstruction"
    assumes: ClassVar[str] = "The manifest; that columns are correlated and the noise has a known covariance."
    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = FILTERED

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        linear = linear_view(view)
        if linear is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        # Columns of unlike units are laid on one scale first, or the one with the largest numbers would be all there is.
        scale = np.sqrt(np.maximum(np.diag(linear.covariance), 1e-300))
        values, vectors = np.linalg.eigh(linear.signal / np.outer(scale, scale))
        values, vectors = values[::-1], vectors[:, ::-1]
        noise = np.einsum("ij,ik,kj->j", vectors, linear.noise / np.outer(scale, scale), vectors)
        kept = vectors[:, : count_dominant(values, noise)]
        estimate = ((linear.values - linear.mean) / scale) @ kept @ kept.T * scale + linear.mean
        return Claim(linear.to_recoveries(estimate), {"components": int(kept.shape[1]), "columns": len(values)})
