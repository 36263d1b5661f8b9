"""Filters that remove noise with the correlations between numeric columns.

They see a release as unbiased views of the true values, with the covariance of their noise.
Additive noise is such a view by itself. Other laws are turned into one: E[w | x] ≈ a x + b, so u = (w − b)/a = x + noise. For
gamma-diagonal substitution this is exact with a = (γ−1)/(γ+N−1) and b = (1−a) × mean of the domain.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Claim, Recovery, Remedy, Scope, ValueAttack, View
from sfumato.channels import Marginal
from sfumato.counts import FloatArray, Grid, IntArray, scatter
from sfumato.findings import Note
from sfumato.table import Column

FILTERED = Remedy(
    Note(
        "SF412",
        "The other columns give it away. Release fewer of them, or use correlated noise (covariance c·Σx): the method "
        "correlated-gaussian with ratio=c (or privacy=p).",
    ),
    instead=Note(
        "SF412",
        "All columns together leave less than was promised, though the noise is correlated already. Release fewer of them, or "
        "ask for more of the same noise: a greater ratio=c (or privacy=p).",
    ),
    taken=lambda manifest: manifest.joint is not None,
)
"""What to do where a filter over correlated columns narrows a promise."""


@dataclass(frozen=True, eq=False)
class LinearView:
    """u = x + noise for the rows that have all numeric columns: means, covariance of u, covariance of the noise."""

    names: tuple[str, ...]
    rows: IntArray
    values: FloatArray
    noise: FloatArray
    total: int

    @property
    def mean(self) -> FloatArray:
        """μ_u = μ_x."""
        return self.values.mean(axis=0)

    @property
    def covariance(self) -> FloatArray:
        """Σ_u."""
        return np.atleast_2d(np.cov(self.values, rowvar=False))

    @property
    def signal(self) -> FloatArray:
        """Σ_x = Σ_u − Σ_r with negative eigenvalues, which only chance can give, cut off."""
        values, vectors = np.linalg.eigh(self.covariance - self.noise)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T

    def to_recoveries(self, estimate: FloatArray) -> tuple[Recovery, ...]:
        """Return the estimates as recoveries over all rows of the release."""
        columns = (scatter(self.total, self.rows, column) for column in estimate.T)
        return tuple(Recovery(name, column, column) for name, column in zip(self.names, columns, strict=True))


def linear_view(view: View, beliefs: Mapping[str, Belief] | None = None) -> LinearView | None:
    """Return the unbiased view of the numeric columns; None where fewer than two of them, or too few complete rows, are there."""
    columns = view.numeric
    if len(columns) < 2:
        return None
    table = np.column_stack([c.values for c in columns])
    complete = np.flatnonzero(~np.isnan(table).any(axis=1))
    if len(complete) <= 2 * len(columns):
        return None
    laws = [fit_line((beliefs or view.beliefs)[c.name]) for c in columns]
    gain, shift = np.array([law[0] for law in laws]), np.array([law[1] for law in laws])
    values = (table[complete] - shift) / gain
    floor = 1e-9 * values.var(axis=0)  # a column released as true has no noise, but the matrix is to be inverted
    noise = np.diag(np.maximum([law[2] for law in laws], floor)) + joint_part(columns, gain)
    if view.noise is not None:
        noise = view.noise
    return LinearView(tuple(c.name for c in columns), complete, values, noise, view.rows)


def joint_part(columns: Sequence[Column], gain: FloatArray) -> FloatArray:
    """Return the covariances between the noise of columns that a joint law drew together; 0 for all others, and on the diagonal."""
    out = np.zeros((len(columns), len(columns)))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns):
            law = first.channel.joint if isinstance(first.channel, Marginal) else None
            if i != j and law is not None and second.channel is not None and law == second.channel.joint:
                out[i, j] = law.among([first.name, second.name])[0, 1] / (gain[i] * gain[j])
    return out


def fit_line(belief: Belief) -> tuple[float, float, float]:
    """Return (a, b, v): E[w | x] = a x + b, and v the variance of (w − b)/a around x, on average over the prior."""
    channel = belief.column.channel
    if belief.clear:
        return 1.0, 0.0, 0.0
    edges = belief.grid.finite_edges
    probes = np.linspace(edges[0], edges[-1], 33)
    if channel is None:
        probes, law, centres = belief.grid.centres, belief.kernel.dense(), belief.observed.centres
    else:
        if belief.grid.atoms is not None:
            probes = belief.grid.atoms
        observed = channel.observed_grid(belief.grid)
        law, centres = channel.transition(Grid(atoms=probes), observed), observed.centres
    mean = centres @ law
    variance = np.maximum(centres**2 @ law - mean**2, 0.0)
    x, p = belief.grid.centres, belief.prior
    m, v = np.interp(x, probes, mean), np.interp(x, probes, variance)
    x_mean, m_mean = p @ x, p @ m
    spread = p @ (x - x_mean) ** 2
    gain = float((p @ ((x - x_mean) * (m - m_mean))) / spread) if spread > 0 else 1.0
    if abs(gain) < 1e-6:
        gain = 1e-6  # a release that says nothing of this column: its linear view is all noise
    shift = float(m_mean - gain * x_mean)
    bend = p @ (m - gain * x - shift) ** 2
    return gain, shift, float((p @ v + bend) / gain**2)


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
class LinearFilter(ValueAttack):
    """An attack that estimates all numeric columns together from their linear view."""

    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = FILTERED

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        linear = linear_view(view, self.beliefs(view))
        if linear is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        estimate, notes = self.estimate(linear)
        return Claim(linear.to_recoveries(estimate), notes | {"columns": len(linear.names)})

    @abstractmethod
    def estimate(self, linear: LinearView) -> tuple[FloatArray, dict[str, int]]:
        """Return the estimated values, and notes on how they were found."""


@dataclass(frozen=True)
class Spectral(LinearFilter):
    """Whiten the noise, keep the directions whose variance exceeds what noise alone can have, and turn back.

    Kargupta, Datta, Wang & Sivakumar 2003: the sample covariance of n rows of pure noise of variance σ² in d columns has
    eigenvalues between σ²(1 − √(d/n))² and σ²(1 + √(d/n))². What lies above is signal: project on it, and the noise in the other
    directions is gone.
    """

    name: ClassVar[str] = "spectral"
    title: ClassVar[str] = "Spectral filtering"
    assumes: ClassVar[str] = "The manifest; that the noise is the same for all rows and independent of the values."

    def estimate(self, linear: LinearView) -> tuple[FloatArray, dict[str, int]]:
        """Project the whitened values on the directions of signal."""
        root, inverse = root_and_inverse(linear.noise)
        white = (linear.values - linear.mean) @ inverse
        n, d = white.shape
        values, vectors = np.linalg.eigh(white.T @ white / n)
        signal = vectors[:, values > noise_bounds(1.0, n, d)[1]]
        return white @ signal @ signal.T @ root + linear.mean, {"signal_directions": int(signal.shape[1])}


@dataclass(frozen=True)
class PCA(LinearFilter):
    """X̂ = μ + (u − μ) Q Qᵀ, Q the leading eigenvectors of Σ_x = Σ_u − Σ_r: PCA-DR (Huang, Du & Chen 2005, section 5)."""

    name: ClassVar[str] = "pca"
    title: ClassVar[str] = "PCA data reconstruction"
    assumes: ClassVar[str] = "The manifest; that columns are correlated and the noise has a known covariance."

    def estimate(self, linear: LinearView) -> tuple[FloatArray, dict[str, int]]:
        """Keep the directions in which the data vary."""
        # Columns of unlike units are put on one scale first, or the one with the largest numbers would be all there is.
        scale = np.sqrt(np.maximum(np.diag(linear.covariance), 1e-300))
        values, vectors = np.linalg.eigh(linear.signal / np.outer(scale, scale))
        values, vectors = values[::-1], vectors[:, ::-1]
        noise = np.einsum("ij,ik,kj->j", vectors, linear.noise / np.outer(scale, scale), vectors)
        # Keeping a direction costs its noise and dropping it costs its signal: keep where signal ≥ noise, and at least one.
        kept = vectors[:, : max(1, int(np.sum(values >= noise)))]
        estimate = ((linear.values - linear.mean) / scale) @ kept @ kept.T * scale + linear.mean
        return estimate, {"components": int(kept.shape[1])}


def bayes_estimate(values: FloatArray, mean: FloatArray, signal: FloatArray, noise: FloatArray) -> FloatArray:
    """X̂ = μ + Σ_x (Σ_x + Σ_r)⁺ (u − μ), the posterior mean of x under normal x and noise.

    Equal to (Σ_x⁻¹ + Σ_r⁻¹)⁻¹ (Σ_x⁻¹ μ + Σ_r⁻¹ u), the form of the paper, where both inverses exist; this one needs neither.
    """
    weights = signal @ np.linalg.pinv(signal + noise, rcond=1e-12, hermitian=True)
    return np.asarray(mean + (values - mean) @ weights.T)


@dataclass(frozen=True)
class BayesEstimate(LinearFilter):
    """BE-DR with Σ_x = Σ_u − Σ_r (Huang, Du & Chen 2005, section 6): the best linear guess from all columns together."""

    name: ClassVar[str] = "bayes"
    title: ClassVar[str] = "Bayes estimate from all columns"
    assumes: ClassVar[str] = "The manifest; that the true values are roughly jointly normal."

    def estimate(self, linear: LinearView) -> tuple[FloatArray, dict[str, int]]:
        """Return the posterior mean."""
        return bayes_estimate(linear.values, linear.mean, linear.signal, linear.noise), {}
