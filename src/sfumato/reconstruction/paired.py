"""Two columns whose noise was drawn together: the kernel of the pair, and EM through it.

The kernel is no Kronecker product here, so it is built: P(y₁ in s₁, y₂ in s₂ | x) = ∫ over s₁ of φ(r₁) [Φ(b) − Φ(a)] dr₁, since
r₂ given r₁ is normal with mean β r₁ and variance τ², β = Σ₁₂/Σ₁₁ and τ² = Σ₂₂ − Σ₁₂²/Σ₁₁.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.channels.base import inner_cuts, lattice_cut
from sfumato.counts import FloatArray, Grid
from sfumato.reconstruction.separable import TINY, JointFit, smooth_axis

TRUE_CELLS, OBSERVED_CELLS = 30, 44
"""A pair's kernel has the square of so many rows and columns."""
PROBES = 4
"""Places in a cell of true values, and nodes in a cell of released ones."""
TAIL = 8.0
"""Standard deviations beyond which an open end cell holds nothing."""


def pair_kernel(
    covariance: FloatArray, true: tuple[Grid, Grid], observed: tuple[Grid, Grid], steps: tuple[float, float]
) -> FloatArray:
    """K[s₁, s₂, p₁, p₂] for noise of this covariance, true values spread evenly over their cells."""
    from scipy.special import ndtr

    first = math.sqrt(covariance[0, 0])
    slope = covariance[0, 1] / covariance[0, 0]
    rest = math.sqrt(max(covariance[1, 1] - slope * covariance[0, 1], 1e-12 * covariance[1, 1]))
    (x1, share1), (x2, share2) = (_probes(grid) for grid in true)
    nodes, weights = np.polynomial.legendre.leggauss(PROBES)
    cuts1, cuts2 = (lattice_cut(inner_cuts(g), s) for g, s in zip(observed, steps, strict=True))
    ends = np.concatenate([[x1.min() - TAIL * first], cuts1, [x1.max() + TAIL * first]])
    ends = np.maximum.accumulate(ends)
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    # An open end cell is wide, so it is cut finer: nodes must not lie farther apart than the noise is wide.
    pieces = np.maximum(1, np.ceil(4 * half / min(first, rest / max(abs(slope), 1e-9)))).astype(np.int64)
    cell = np.repeat(np.arange(len(half)), pieces)
    place = np.concatenate([(np.arange(k) + 0.5) / k for k in pieces])
    width = half[cell] / pieces[cell]
    at = (middle - half)[cell] + 2 * half[cell] * place
    y1 = (at[:, None] + width[:, None] * nodes).ravel()
    w1 = (width[:, None] * weights).ravel()
    owner = np.repeat(cell, PROBES)
    sizes = (len(half), len(cuts2) + 1, len(x1), len(x2))
    out = np.zeros(sizes)
    for p, xs in enumerate(x1):
        for x, share in zip(xs, share1, strict=True):
            r1 = y1 - x
            density = share * w1 * np.exp(-0.5 * (r1 / first) ** 2) / (first * math.sqrt(2 * math.pi))
            kept = density > 1e-12
            below = ndtr((cuts2[None, :, None, None] - x2 - slope * r1[kept, None, None, None]) / rest) @ share2
            chance = np.diff(below, axis=1, prepend=0.0, append=1.0) * density[kept, None, None]
            np.add.at(out[:, :, p, :], owner[kept], chance)
    return out / out.sum(axis=(0, 1), keepdims=True)


def _probes(grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Gauss's places in each cell, one row a cell, and their shares: an atom stands where it is."""
    if grid.atoms is not None:
        return grid.atoms[:, None], np.ones(1)
    nodes, weights = np.polynomial.legendre.leggauss(PROBES)
    edges = grid.finite_edges
    return edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2, weights / 2


def pair_fit(kernel: FloatArray, counts: FloatArray, smoothing: Sequence[float], iterations: int) -> JointFit:
    """EMS as in `joint_fit`, through the kernel of a pair."""
    shape = kernel.shape[2:]
    matrix = kernel.reshape(counts.size, -1)
    flat = counts.ravel().astype(np.float64)
    seen = flat > 0
    matrix, flat = np.ascontiguousarray(matrix[seen]), flat[seen]
    share = flat / flat.sum()
    mass = np.full(shape, 1.0 / np.prod(shape))
    trail = []
    for _ in range(iterations):
        expected = np.maximum(matrix @ mass.ravel(), TINY)
        trail.append(float(flat @ np.log(expected)))
        mass = mass * ((share / expected) @ matrix).reshape(shape)
        for axis, strength in enumerate(smoothing):
            mass = smooth_axis(mass, strength, axis)
        mass = mass / mass.sum()
    trail.append(float(flat @ np.log(np.maximum(matrix @ mass.ravel(), TINY))))
    return JointFit(mass, tuple(trail))
