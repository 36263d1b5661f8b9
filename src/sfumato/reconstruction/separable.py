"""EM for a joint distribution seen through independent channels, one per axis.

Noise is independent across attributes, so P(observed cell | true cell) = K₁[s₁,p₁] · K₂[s₂,p₂] · …: the kernel of the whole
table is the Kronecker product of small matrices. It is never built: applying it to a tensor is one small matrix product
along each axis, O(Σ m) instead of O(Π m) multiplications for each cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sfumato.channels import Kernel
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.reconstruction.em import em_step, smooth_axis
from sfumato.reconstruction.problem import TINY


@dataclass(frozen=True, eq=False)
class JointFit:
    """Masses of the true cells, and the log-likelihood (nats, of all rows) before each step and after the last."""

    mass: FloatArray
    trail: tuple[float, ...]


def apply_along_axes(kernels: Sequence[Kernel | None], tensor: FloatArray) -> FloatArray:
    """Return (K₁ ⊗ K₂ ⊗ …) applied to a tensor: axis d of the result is K_d times axis d; None leaves an axis as it is.

    Each pass takes the leading axis and hands it back as the last one, so that after all passes the order is restored and
    every product is one plain matrix product on contiguous memory.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.channels import DenseKernel
    >>> swap = DenseKernel(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> apply_along_axes([swap, None], np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[3., 4.],
           [1., 2.]])
    """
    for kernel in kernels:
        rest = tensor.shape[1:]
        flat = tensor.reshape(tensor.shape[0], -1).T
        flat = flat if kernel is None else flat @ kernel.T
        tensor = np.ascontiguousarray(flat).reshape(*rest, -1)
    return tensor


@dataclass(frozen=True, eq=False)
class ProductKernel:
    """The kernel of a table: the Kronecker product of one kernel per axis, applied to raveled tables and never built."""

    kernels: tuple[Kernel | None, ...]
    """None for an axis that was released as true."""
    observed: tuple[int, ...]
    """The number of observed cells of each axis."""

    __array_ufunc__ = None  # arrays leave products with it to __rmatmul__

    @property
    def true(self) -> tuple[int, ...]:
        """The number of true cells of each axis."""
        return tuple(size if k is None else k.shape[1] for k, size in zip(self.kernels, self.observed, strict=True))

    @property
    def shape(self) -> tuple[int, int]:
        """Observed cells × true cells of the whole table."""
        return math.prod(self.observed), math.prod(self.true)

    @property
    def T(self) -> ProductKernel:  # noqa: N802 - as arrays call it
        """Return the transpose."""
        return ProductKernel(tuple(None if k is None else k.T for k in self.kernels), self.true)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        if right.ndim == 1:
            return apply_along_axes(self.kernels, right.reshape(self.true)).ravel()
        return np.stack([self @ column for column in right.T], axis=1)

    def __rmatmul__(self, left: FloatArray) -> FloatArray:
        if left.ndim == 1:
            return self.T @ left
        return np.stack([self.T @ row for row in left])

    def rows(self, codes: IntArray) -> FloatArray:
        """Return K[codes]."""
        places = np.unravel_index(codes, self.observed)
        lines = [
            np.eye(size)[at] if k is None else k.rows(at)
            for k, size, at in zip(self.kernels, self.observed, places, strict=True)
        ]
        return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(codes), -1), lines)

    def at(self, codes: IntArray, cells: IntArray) -> FloatArray:
        """Return K[codes[i], cells[i]] for every i."""
        pairs = zip(np.unravel_index(codes, self.observed), np.unravel_index(cells, self.true), strict=True)
        entries = [
            (s == p).astype(np.float64) if k is None else k.at(s, p)
            for k, (s, p) in zip(self.kernels, pairs, strict=True)
        ]
        return np.prod(entries, axis=0)

    def likeliest(self) -> IntArray:
        """Return for each row the first column with its largest entry."""
        best = [
            np.arange(size) if k is None else k.likeliest() for k, size in zip(self.kernels, self.observed, strict=True)
        ]
        return np.ravel_multi_index(np.meshgrid(*best, indexing="ij"), self.true).ravel()

    def dense(self) -> FloatArray:
        """Return K as an array."""
        return self.rows(np.arange(self.shape[0]))


def fit_table(
    kernel: Kernel,
    counts: FloatArray,
    start: FloatArray,
    smoothing: Sequence[float],
    iterations: int,
    tolerance: float = 0.0,
) -> JointFit:
    """Fit the masses of a table by EMS; without smoothing it is EM, whose likelihood never decreases.

    Parameters
    ----------
    kernel
        K from the raveled true cells to the raveled observed ones.
    counts
        Observed counts, raveled.
    start
        Masses to begin with, one array axis per attribute.
    smoothing
        s of `smooth_axis`, one per attribute.
    iterations
        The largest number of steps.
    tolerance
        Stop once a step moves the masses by less than this in total variation; 0 makes all the steps.
    """
    share = counts / counts.sum()
    seen = counts > 0
    mass = start
    trail: list[float] = []
    for _ in range(iterations):
        step = em_step(kernel, share, mass.ravel())
        trail.append(float(counts[seen] @ np.log(step.expected[seen])))
        new = step.mass.reshape(start.shape)
        for axis, strength in enumerate(smoothing):
            new = smooth_axis(new, strength, axis)
        new = new / new.sum()
        moved = 0.5 * float(np.abs(new - mass).sum()) if tolerance else 1.0
        mass = new
        if moved < tolerance:
            break
    expected = np.maximum(kernel @ mass.ravel(), TINY)
    trail.append(float(counts[seen] @ np.log(expected[seen])))
    return JointFit(mass, tuple(trail))


def fit_separable(
    kernels: Sequence[Kernel | None],
    counts: FloatArray,
    smoothing: float | Sequence[float] = 0.02,
    iterations: int = 300,
    start: FloatArray | None = None,
    tolerance: float = 0.0,
) -> JointFit:
    """Fit a joint distribution seen through independent channels, by EMS.

    Parameters
    ----------
    kernels
        One K[s, p] = P(observed s | true p) per axis; None where the axis was released as true.
    counts
        Observed counts, one array axis per kernel.
    smoothing
        s of `smooth_axis`, for all axes or one for each; give 0 for the axes of unordered categories.
    iterations
        The largest number of steps.
    start
        Masses to begin with; uniform unless given.
    tolerance
        Stop once a step moves the masses by less than this in total variation; 0 makes all the steps.

    Examples
    --------
    >>> import numpy as np
    >>> fit_separable([None], np.array([30.0, 10.0]), smoothing=0.0, iterations=1).mass
    array([0.75, 0.25])
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    if counts.ndim != len(kernels):
        raise UsageError(f"{len(kernels)} kernels do not fit a table of {counts.ndim} axes; give one for each axis")
    for axis, (k, size) in enumerate(zip(kernels, counts.shape, strict=True)):
        if k is not None and k.shape[0] != size:
            raise UsageError(f"axis {axis}: a kernel with {k.shape[0]} rows does not fit {size} observed cells")
    kernel = ProductKernel(tuple(kernels), counts.shape)
    shape = kernel.true
    strengths = [float(smoothing)] * len(shape) if isinstance(smoothing, int | float) else [float(s) for s in smoothing]
    if len(strengths) != len(shape) or not all(0 <= s <= 1 for s in strengths):
        raise UsageError(f"smoothing {smoothing} must be one number, or one for each of {len(shape)} axes, from 0 to 1")
    mass = np.full(shape, 1.0 / np.prod(shape)) if start is None else start / start.sum()
    if not counts.sum() > 0:
        return JointFit(mass, ())
    return fit_table(kernel, counts.ravel(), mass, strengths, iterations, tolerance)
