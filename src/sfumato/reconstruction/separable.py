"""EM for a joint distribution seen through independent channels, one per axis.

Noise is independent across attributes, so P(observed cell | true cell) = K₁[s₁,p₁] · K₂[s₂,p₂] · …: the kernel of the whole
table is the Kronecker product of small matrices. It is never built: applying it to a tensor is one small matrix product
along each axis, O(Σ m) instead of O(Π m) multiplications for each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.channels import is_implied
from sfumato.counts import FloatArray
from sfumato.errors import UsageError

TINY = 1e-300
"""Keeps a quotient finite where both of its parts are zero."""


@dataclass(frozen=True, eq=False)
class JointFit:
    """Masses of the true cells, and the log-likelihood (natural, of all rows) before each step and after the last."""

    mass: FloatArray
    trail: tuple[float, ...]


def contract(tensor: FloatArray, matrices: Sequence[FloatArray | None]) -> FloatArray:
    """(M₁ ⊗ M₂ ⊗ …) applied to a tensor: axis d of the result is M_d times axis d; None leaves an axis as it is.

    Each pass takes the leading axis and hands it back as the last one, so that after all passes the order is restored and
    every product is one plain matrix product on contiguous memory.
    """
    for matrix in matrices:
        rest = tensor.shape[1:]
        flat = tensor.reshape(tensor.shape[0], -1)
        flat = flat.T if matrix is None else flat.T @ matrix.T
        tensor = np.ascontiguousarray(flat).reshape(*rest, -1)
    return tensor


def smooth_axis(mass: FloatArray, strength: float, axis: int) -> FloatArray:
    """P ← (1−s) P + s × mean of the two neighbours along an axis; beyond an end the end cell is its own neighbour.

    With that rule the smoother is doubly stochastic: it keeps the total, and it keeps the uniform distribution.
    """
    if strength == 0 or mass.shape[axis] < 2:
        return mass
    p = mass if axis == 0 else mass.swapaxes(0, axis)
    half = (strength / 2) * p
    out = (1 - strength) * p
    out[1:] += half[:-1]
    out[:-1] += half[1:]
    out[0] += half[0]
    out[-1] += half[-1]
    return out if axis == 0 else out.swapaxes(0, axis)


def joint_fit(
    kernels: Sequence[FloatArray | None],
    counts: FloatArray,
    smoothing: float | Sequence[float] = 0.02,
    iterations: int = 300,
    start: FloatArray | None = None,
    tolerance: float = 0.0,
) -> JointFit:
    """EMS through a separable channel; without smoothing it is EM, whose likelihood never decreases.

    Parameters
    ----------
    kernels
        One K[s, p] = P(observed s | true p) for each axis; None where the axis was released as true.
    counts
        Observed counts, one axis a kernel.
    smoothing
        s of `smooth_axis`, for all axes or one for each; give 0 for the axes of unordered categories.
    iterations
        How many steps to make at most.
    start
        Masses to begin with; uniform unless given.
    tolerance
        Stop once a step moves the masses by less than this in total variation; 0 makes all the steps.
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    if counts.ndim != len(kernels):
        raise UsageError(f"{len(kernels)} kernels do not fit a table of {counts.ndim} axes; give one for each axis")
    forward = [k if k is None or is_implied(k) else np.ascontiguousarray(k, dtype=np.float64) for k in kernels]
    for axis, (kernel, size) in enumerate(zip(forward, counts.shape, strict=True)):
        if kernel is not None and kernel.shape[0] != size:
            raise UsageError(f"axis {axis}: a kernel with {kernel.shape[0]} rows does not fit {size} observed cells")
    backward = [None if k is None else k.T if is_implied(k) else np.ascontiguousarray(k.T) for k in forward]
    shape = tuple(size if k is None else k.shape[1] for k, size in zip(forward, counts.shape, strict=True))
    strengths = [float(smoothing)] * len(shape) if isinstance(smoothing, int | float) else [float(s) for s in smoothing]
    if len(strengths) != len(shape) or not all(0 <= s <= 1 for s in strengths):
        raise UsageError(f"smoothing {smoothing} must be one number, or one for each of {len(shape)} axes, from 0 to 1")

    mass = np.full(shape, 1.0 / np.prod(shape)) if start is None else start / start.sum()
    total = counts.sum()
    if not total > 0:
        return JointFit(mass, ())
    share = counts / total
    seen = counts > 0
    trail: list[float] = []
    for _ in range(iterations):
        expected = np.maximum(contract(mass, forward), TINY)
        trail.append(float(np.dot(counts[seen], np.log(expected[seen]))))
        new = mass * contract(share / expected, backward)
        for axis, strength in enumerate(strengths):
            new = smooth_axis(new, strength, axis)
        new /= new.sum()
        moved = 0.5 * float(np.abs(new - mass).sum()) if tolerance else 1.0
        mass = new
        if moved < tolerance:
            break
    expected = np.maximum(contract(mass, forward), TINY)
    trail.append(float(np.dot(counts[seen], np.log(expected[seen]))))
    return JointFit(mass, tuple(trail))


def joint_em(
    kernels: Sequence[FloatArray | None],
    counts: FloatArray,
    smoothing: float | Sequence[float] = 0.02,
    iterations: int = 300,
) -> FloatArray:
    """The masses of `joint_fit` alone."""
    return joint_fit(kernels, counts, smoothing, iterations).mass
