"""Columns as each is by itself, tied together by their correlations: a normal copula.

Behind every column of numbers stands a normal variable u of which the value is an increasing function. The columns by themselves
say which function; how far two columns vary together says how far their normal variables do. Noise hides the shape of a joint
distribution, and leaves its covariances, which the law makes unbiased: they are what many rows still tell under strong noise.

With h_k the orthonormal Hermite polynomials, a value x = Σ c_k h_k(u) has (Mehler 1866)::

    Cov(x, y) = Σ_{k ≥ 1} c_k d_k ρ^k.

The normal variables are one mixture of products: u = Bz + √λ e, with λ the least eigenvalue of their correlations R and
BBᵀ = R − λI. Given z columns are independent, so any share of rows is a mean over z of products of one column's shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.counts import FloatArray

MAX_CORRELATION = 0.98
"""Beyond it the normal variables are as good as one, and sums over z would need many more places."""


def cut_normal(mass: FloatArray) -> FloatArray:
    """Return the ends of a column's cells as its normal variable has them.

    Examples
    --------
    >>> cut_normal(np.array([0.25, 0.25, 0.5])).round(3).tolist()
    [-inf, -0.674, 0.0, inf]
    """
    from scipy.special import ndtri

    upto = np.concatenate([[0.0], np.cumsum(mass)])
    out = ndtri(np.clip(upto / upto[-1], 0.0, 1.0))
    out[0], out[-1] = -np.inf, np.inf
    return np.asarray(out)


def hermite_terms(mass: FloatArray, values: FloatArray, terms: int = 40) -> FloatArray:
    """Return c_1, c_2, … of a column: ∫ h_k φ over a cell is (h_{k−1} φ at its low end − the same at its high end)/√k.

    Parameters
    ----------
    mass
        The share of each cell.
    values
        The value of each cell.
    terms
        How many.
    """
    ends = cut_normal(mass)[1:-1]
    kept = np.isfinite(ends)  # beyond it lies nothing
    ends, jumps = ends[kept], np.diff(values)[kept]
    density = np.exp(-0.5 * ends**2) / math.sqrt(2 * math.pi)
    before, now = np.zeros_like(ends), np.ones_like(ends)
    out = np.empty(terms)
    for k in range(1, terms + 1):
        out[k - 1] = float(jumps @ (now * density)) / math.sqrt(k)
        before, now = now, (ends * now - math.sqrt(k - 1) * before) / math.sqrt(k)
    return out


def latent_correlation(one: FloatArray, other: FloatArray, covariance: float) -> tuple[float, float]:
    """Return ρ with Σ c_k d_k ρ^k = covariance, and how much ρ moves with the covariance.

    Parameters
    ----------
    one, other
        The terms of two columns (see `hermite_terms`).
    covariance
        That of their values.

    Examples
    --------
    >>> coin = hermite_terms(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    >>> round(latent_correlation(coin, coin, 1 / 12)[0], 2)  # both are 1 in a third of the rows: sin(π/6)
    0.5
    """
    grid = np.linspace(-MAX_CORRELATION, MAX_CORRELATION, 393)
    powers = np.power.outer(grid, np.arange(1, len(one) + 1))
    rising = np.maximum.accumulate(powers @ (one * other))
    if not rising[-1] > rising[0]:  # a column with one value goes with nothing
        return 0.0, 0.0
    rising += np.arange(len(grid)) * 1e-12 * (rising[-1] - rising[0])
    rho = float(np.interp(covariance, rising, grid))
    place = int(np.clip(np.searchsorted(grid, rho), 1, len(grid) - 1))
    slope = float((grid[place] - grid[place - 1]) / max(rising[place] - rising[place - 1], 1e-300))
    return rho, slope


def nearest_correlation(matrix: FloatArray, least: float = 1 - MAX_CORRELATION) -> FloatArray:
    """Return a matrix of correlations whose eigenvalues are at least `least`, as near as clipping brings it.

    Examples
    --------
    >>> bool(np.linalg.eigvalsh(nearest_correlation(np.array([[1.0, 2.0], [2.0, 1.0]]))).min() > 0)
    True
    """
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= least:
        return matrix
    out = (vectors * np.maximum(values, 2 * least)) @ vectors.T
    scale = np.sqrt(np.diag(out))
    return np.asarray(out / np.outer(scale, scale))


@dataclass(frozen=True, eq=False)
class Copula:
    """The joint distribution of columns of numbers: cells of each, tied by correlations.

    Parameters
    ----------
    margins : sequence of array
        The share of each cell of each column, in order.
    correlation : array
        R, the correlations of the normal variables.

    Examples
    --------
    >>> coin = np.array([0.5, 0.5])
    >>> both = Copula((coin, coin), np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> upper = [np.array([[0.0], [1.0]])] * 2
    >>> round(float(both.share([c @ u for c, u in zip(both.shares, upper)], np.ones((1, 1)))), 3)
    0.333
    """

    margins: tuple[FloatArray, ...]
    correlation: FloatArray

    @cached_property
    def _factors(self) -> tuple[FloatArray, float]:
        """B and λ."""
        if not self.margins:
            return np.zeros((0, 0)), 1.0
        values, vectors = np.linalg.eigh(nearest_correlation(self.correlation))
        left = values - values[0]
        kept = left > 1e-9
        return np.asarray(vectors[:, kept] * np.sqrt(left[kept])), float(values[0])

    @cached_property
    def centres(self) -> FloatArray:
        """Bz at all places z, shape (places, columns): points of a lattice that fill space evenly."""
        from scipy.special import ndtri

        size = 1024
        factors, _ = self._factors
        rank = factors.shape[1]
        if not rank:
            return np.zeros((1, len(self.margins)))
        root = 1.5  # of x^(rank + 1) = x + 1, whose powers repeat in no short period
        for _ in range(60):
            root = (1 + root) ** (1 / (rank + 1))
        steps = root ** -np.arange(1.0, rank + 1) if rank > 1 else np.array([1 / size])
        heights = ((np.arange(size)[:, None] + 0.5) * steps) % 1.0
        return np.asarray(ndtri(heights) @ factors.T)

    @cached_property
    def _standard(self) -> list[FloatArray]:
        spread = math.sqrt(self._factors[1])
        return [
            (cut_normal(mass) - middle[:, None]) / spread
            for mass, middle in zip(self.margins, self.centres.T, strict=True)
        ]

    @cached_property
    def shares(self) -> list[FloatArray]:
        """The share of each cell given z, one array (places, cells) per column; their means over z are the margins."""
        from scipy.special import ndtr

        out = []
        for mass, ends in zip(self.margins, self._standard, strict=True):
            given = np.diff(ndtr(ends), axis=1)
            mean = given.mean(axis=0)
            out.append(given * np.where(mean > 0, mass / np.where(mean > 0, mean, 1.0), 1.0))
        return out

    @cached_property
    def slopes(self) -> list[FloatArray]:
        """How much each of `shares` grows with the centre of its column's normal variable."""
        spread = math.sqrt(self._factors[1])
        return [-np.diff(np.exp(-0.5 * ends**2), axis=1) / (math.sqrt(2 * math.pi) * spread) for ends in self._standard]

    def share(self, parts: Sequence[FloatArray], tensor: FloatArray) -> float:
        """Return the mean over z of Σ tensor × Π parts.

        Parameters
        ----------
        parts
            For each column its shares of classes given z, shape (places, classes).
        tensor
            The weight of each combination of classes.
        """
        return float(contract(parts, tensor).mean())

    def share_by_cell(
        self, parts: Sequence[FloatArray], tensor: FloatArray, place: int, inside: FloatArray
    ) -> FloatArray:
        """Return the same given the cell of one column: a function whose mean over the cells is the share.

        Parameters
        ----------
        parts, tensor
            As for `share`.
        place
            The column.
        inside
            Which part of each of its cells lies in each class, shape (cells, classes).
        """
        given = contract(parts, tensor, keep=place)
        by_class = self.shares[place].T @ given / len(given)
        mass = self.margins[place]
        return np.asarray((by_class * inside).sum(axis=1) / np.maximum(mass, 1e-12))

    def share_slope(
        self,
        parts: Sequence[FloatArray],
        tensor: FloatArray,
        pair: tuple[int, int],
        insides: tuple[FloatArray, FloatArray],
    ) -> float:
        """Return how much the share grows with the correlation of two columns: E[∂²/∂u∂v] (Price 1958).

        Parameters
        ----------
        parts, tensor
            As for `share`.
        pair
            The two columns.
        insides
            Which part of each of their cells lies in each class.
        """
        own = list(parts)
        for place, inside in zip(pair, insides, strict=True):
            own[place] = self.slopes[place] @ inside
        return self.share(own, tensor)


def contract(parts: Sequence[FloatArray], tensor: FloatArray, keep: int | None = None) -> FloatArray:
    """Return Σ tensor × Π parts at every place z; shape (places, classes) where the classes of one column are kept.

    Examples
    --------
    >>> halves = np.array([[0.5, 0.5]])
    >>> contract([halves, halves], np.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [0.25]
    """
    tensor = tensor if keep is None else np.moveaxis(tensor, keep, -1)
    order = [p for i, p in enumerate(parts) if i != keep]
    places = len(parts[0]) if parts else 1
    out: FloatArray = np.broadcast_to(tensor, (places, *tensor.shape))
    for part in order:
        out = np.einsum("zk,zk...->z...", part, out)
    return np.asarray(out)
