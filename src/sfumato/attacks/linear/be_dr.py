"""The Bayes estimate BE-DR (Huang, Du & Chen 2005, section 6): the best linear guess from all columns together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Remedy, Scope, ValueAttack, View
from sfumato.attacks.linear._moments import FILTERED, linear_view
from sfumato.counts import FloatArray


def bayes_estimate(values: FloatArray, mean: FloatArray, signal: FloatArray, noise: FloatArray) -> FloatArray:
    """X̂ = μ + Σ_x (Σ_x + Σ_r)⁺ (u − μ), the posterior mean of x under normal x and noise.

    Equal to (Σ_x⁻¹ + Σ_r⁻¹)⁻¹ (Σ_x⁻¹ μ + Σ_r⁻¹ u), the form of the paper, where both inverses exist; this one needs neither.
    """
    weights = signal @ np.linalg.pinv(signal + noise, rcond=1e-12, hermitian=True)
    return np.asarray(mean + (values - mean) @ weights.T)


@dataclass(frozen=True)
class BayesEstimate(ValueAttack):
    """BE-DR with Σ_x = Σ_u − Σ_r."""

    name: ClassVar[str] = "bayes"
    title: ClassVar[str] = "Bayes estimate from all columns"
    assumes: ClassVar[str] = "The manifest; that the true values are roughly jointly normal."
    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = FILTERED

    def run(self, view: View) -> Claim:
        """One recovery per numeric column."""
        linear = linear_view(view, self.beliefs(view))
        if linear is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        estimate = bayes_estimate(linear.values, linear.mean, linear.signal, linear.noise)
        return Claim(linear.to_recoveries(estimate), {"columns": len(linear.names)})
