"""A release as linear attacks see it: unbiased views of the true values, and the covariance of their noise.

Additive noise is such a view by itself. Other laws are turned into one: E[w | x] ≈ a x + b, so u = (w − b)/a = x + noise. For
gamma-diagonal substitution this is exact with a = (γ−1)/(γ+N−1) and b = (1−a) × mean of the domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Recovery, Remedy, View
from sfumato.channels import Marginal
from sfumato.counts import FloatArray, Grid, IntArray
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
        out = []
        for i, name in enumerate(self.names):
            full = np.full(self.total, np.nan)
            full[self.rows] = estimate[:, i]
            out.append(Recovery(name, full, full))
        return tuple(out)


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
        gain = 1e-6  # a release that says nothing of this column: its linear is all noise
    shift = float(m_mean - gain * x_mean)
    bend = p @ (m - gain * x - shift) ** 2
    return gain, shift, float((p @ v + bend) / gain**2)
