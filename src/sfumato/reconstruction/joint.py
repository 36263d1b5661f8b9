"""Contingency tables of up to four attributes, reconstructed through the channels of all of them at once.

One attribute at a time, reconstruction loses how attributes depend on each other. The counts of their combinations keep it.

Noise of two columns that was drawn together has no Kronecker product as its kernel, so the kernel of the pair is built:
P(y₁ in s₁, y₂ in s₂ | x) = ∫ over s₁ of φ(r₁) [Φ(b) − Φ(a)] dr₁, since r₂ given r₁ is normal with mean β r₁ and variance τ²,
β = Σ₁₂/Σ₁₁ and τ² = Σ₂₂ − Σ₁₂²/Σ₁₁.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from sfumato.channels import CellRule, DenseKernel, Kernel, Marginal, Transition
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, lattice_cut
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction.bases import Lattice
from sfumato.reconstruction.columns import reconstruct, spacing
from sfumato.reconstruction.em import iterate, smooth_table, step_stop
from sfumato.reconstruction.joint_choice import FOLDS, MIN_ROWS, JointData, choose_joint, fit_path
from sfumato.reconstruction.problem import Problem
from sfumato.table import Column, Table, correlated_columns, refuse_correlated_noise

TRUE_CELLS = {1: 100, 2: 64, 3: 26, 4: 12}
OBSERVED_CELLS = {1: 256, 2: 64, 3: 40, 4: 20}
"""How finely a table is cut, by its number of axes: as fine as some seconds of work allow."""
PAIR_CELLS = (30, 44)
"""True and observed cells of each axis of a pair, whose kernel has the square of these as its columns and rows."""


@dataclass(frozen=True, eq=False)
class JointAxis:
    """One attribute of a joint table."""

    name: str
    transition: Transition
    exact: bool
    """Whether it was released as true."""
    ordered: bool
    """Whether neighbouring cells hold neighbouring values."""
    codes: IntArray
    """The observed cell of each row; −1 where the value is missing."""

    @classmethod
    def of(cls, column: Column, true: Grid, max_observed: int, rule: CellRule = CellRule.EXACT) -> JointAxis:
        """Return the axis of a column, with at most `max_observed` cells of its released values."""
        transition = column.transition(true, max_observed, keep_last_cut=True, rule=rule)
        ordered = spacing(column, transition.true) is not None
        return cls(column.name, transition, column.channel is None, ordered, column.locate(transition.observed))


def cut_evenly(column: Column, size: int) -> Grid:
    """Return at most `size` cells of the true values; of whole numbers each holds the same number, but the last maybe fewer.

    Cells that hold one number and two in turn would be smoothed into each other.
    """
    grid = column.true_grid(size)
    if not grid.step or grid.edges is None:
        return grid
    return replace(grid, edges=Lattice.of(column.attribute).even_edges(size))


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Masses of all combinations of true cells.

    Parameters
    ----------
    names, grids
        The attributes and the cells of their true values.
    mass : array
        The share of each combination, one array axis per attribute.
    n : float
        The number of rows that have all values.
    trail : tuple of float
        The log-likelihood (nats) before each step and after the last.
    chosen : mapping
        How smooth it is and whether the attributes depend on each other, as the release alone says, and `why` in a
        sentence; empty where the smoothing was given or nothing is noisy.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.counts import Grid
    >>> two = Grid.categories(("no", "yes"))
    >>> both = JointDistribution(("a", "b"), (two, two), np.array([[0.5, 0.1], [0.1, 0.3]]), 1000)
    >>> both.marginal("b")
    array([0.6, 0.4])
    """

    names: tuple[str, ...]
    grids: tuple[Grid, ...]
    mass: FloatArray
    n: float
    trail: tuple[float, ...] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def marginal(self, *names: str) -> FloatArray:
        """Return the masses of some of the attributes, in the order asked for."""
        for name in names:
            if name not in self.names:
                raise UsageError(f"there is no axis {name!r}; the axes are {', '.join(self.names)}")
        places = [self.names.index(name) for name in names]
        others = tuple(i for i in range(self.mass.ndim) if i not in places)
        left = [i for i in range(self.mass.ndim) if i in places]
        return np.transpose(self.mass.sum(axis=others), [left.index(p) for p in places])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the axes with their edges or categories, the masses as nested lists, and what was chosen."""
        axes = []
        for name, grid in zip(self.names, self.grids, strict=True):
            key = "edges" if grid.edges is not None else "categories"
            values = list(grid.labels) if grid.labels is not None else [float(v) for v in grid.points]
            axes.append({"name": name, key: values})
        out = {"axes": axes, "mass": self.mass.tolist(), "n": float(self.n), "iterations": max(len(self.trail) - 1, 0)}
        return out | ({"chosen": dict(self.chosen)} if self.chosen else {})


def reconstruct_joint(
    table: Table,
    names: Sequence[str],
    *,
    bins: int | Mapping[str, int] | None = None,
    by_class: bool = False,
    smoothing: float | None = None,
    iterations: int = 1500,
    kernel: CellRule | str = CellRule.EXACT,
) -> JointDistribution | dict[str, JointDistribution]:
    """Reconstruct the joint distribution of the true values of some attributes, overall or for each class.

    Rows with a missing value in any of them are left out. Laws may be mixed, also with columns released as true. Of columns
    whose noise was drawn together, a table may have two and no other attribute; it goes through the kernel of the pair.

    Parameters
    ----------
    table
        The release.
    names
        One to four attributes.
    bins
        Cells of a numeric domain, for all attributes or by name.
    by_class
        Whether to reconstruct each class apart.
    smoothing
        s of `smooth_axis`, along ordered attributes only. By default it is chosen by held-out rows, together with whether
        the attributes depend on each other at all (see `joint_choice`).
    iterations
        The largest number of EM steps of a fit.
    kernel
        ``exact``, or ``midpoint`` as the 2000 paper has it.

    Returns
    -------
    JointDistribution or dict
        The distribution, or by_class those of the classes by their labels.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.table import Column, Table
    >>> a, b = (sf.Attribute(name, sf.Kind.CATEGORICAL, sf.Categories(("no", "yes"))) for name in "ab")
    >>> law = sf.Substitution(gamma=3.0).on(a)
    >>> same = np.repeat([0.0, 1.0], [600, 400])
    >>> released = Table((Column(a, law, same), Column(b, None, same)))
    >>> reconstruct_joint(released, ["a", "b"]).mass.round(2)
    array([[0.6, 0. ],
           [0. , 0.4]])
    """
    if not 1 <= len(names) <= max(TRUE_CELLS) or len(set(names)) != len(names):
        raise UsageError(f"a joint table takes one to {max(TRUE_CELLS)} different attributes, not {list(names)}")
    if smoothing is not None and not 0 <= smoothing <= 1:
        raise UsageError(f"smoothing {smoothing:g} must lie between 0 and 1; leave it out to have it chosen")
    columns = [table[name] for name in names]
    paired = len(names) == 2 and len(correlated_columns(columns)) == 2
    if not paired:
        refuse_correlated_noise("a joint table of more than two attributes", columns)
    true, observed = PAIR_CELLS if paired else (TRUE_CELLS[len(names)], OBSERVED_CELLS[len(names)])
    rule = CellRule(kernel)
    axes = []
    for column in columns:
        size = bins.get(column.name) if isinstance(bins, Mapping) else bins
        grid = column.true_grid(size) if size else cut_evenly(column, true)
        axes.append(JointAxis.of(column, grid, observed, rule))
    together = _pair_of(axes, columns) if paired else None

    def fit(rows: BoolArray) -> JointDistribution:
        return _fit(axes, [c.take(rows) for c in columns], rows, together, smoothing, iterations, rule)

    present = np.all([a.codes >= 0 for a in axes], axis=0)
    if not by_class:
        return fit(present)
    if table.target is None:
        raise UsageError("the table has no class to divide by; name a target, or reconstruct without by_class")
    classes = {label: table.codes == code for code, label in enumerate(table.labels)}
    return {label: fit(present & rows) for label, rows in classes.items() if rows.any()}


def _pair_of(axes: Sequence[JointAxis], columns: Sequence[Column]) -> FloatArray:
    """Return the kernel of two columns whose noise was drawn together."""
    law = next(c.channel.joint for c in columns if isinstance(c.channel, Marginal) and c.channel.joint is not None)
    first, second = axes
    steps = tuple(float((c.channel and c.channel.step) or 0.0) for c in columns)
    return pair_kernel(
        law.among([c.name for c in columns]),
        (first.transition.true, second.transition.true),
        (first.transition.observed, second.transition.observed),
        (steps[0], steps[1]),
    )


def _fit(
    axes: Sequence[JointAxis],
    columns: Sequence[Column],
    rows: BoolArray,
    together: FloatArray | None,
    smoothing: float | None,
    steps: int,
    rule: CellRule,
) -> JointDistribution:
    """Fit the rows, which have a value in each of the columns."""
    seed = 20000
    names, grids = tuple(a.name for a in axes), tuple(a.transition.true for a in axes)
    shape, observed = tuple(g.size for g in grids), tuple(a.transition.observed.size for a in axes)
    cells = np.ravel_multi_index(tuple(a.codes[rows] for a in axes), observed)
    n = len(cells)
    if not n:
        raise DataError(f"{', '.join(names)}: no row has all of these values; reconstruct fewer at once")
    counts = np.bincount(cells, minlength=math.prod(observed)).astype(np.float64)
    if all(a.exact for a in axes):
        return JointDistribution(names, grids, counts.reshape(shape) / n, n)
    if together is None:
        kernel: Kernel = ProductKernel(tuple(None if a.exact else a.transition.matrix for a in axes), observed)
        kept = np.arange(len(counts))
    else:
        kept = np.flatnonzero(counts)
        kernel = DenseKernel(together.reshape(len(counts), -1)[kept])
    problem = Problem.of(kernel, counts[kept])
    ordered = [a.ordered for a in axes]
    if smoothing is not None:
        (alone,) = fit_path(problem, shape, ordered, [smoothing], steps)
        return JointDistribution(names, grids, alone.mass.reshape(shape), n, alone.trail)

    def data(some: BoolArray) -> JointData:
        margins = [reconstruct(c.take(some), grid=g, kernel=rule).mass for c, g in zip(columns, grids, strict=True)]
        part = np.bincount(cells[some], minlength=len(counts)).astype(np.float64)
        return JointData(problem.with_counts(part[kept]), tuple(margins))

    fold = np.random.default_rng(seed).integers(0, FOLDS, n)
    parts = [fold == i for i in range(FOLDS)] if n >= MIN_ROWS else []
    folds = [(data(~part), np.bincount(cells[part], minlength=len(counts))[kept].astype(np.float64)) for part in parts]
    choice = choose_joint(data(np.ones(n, dtype=bool)), folds, ordered, steps)
    return JointDistribution(names, grids, choice.mass, n, choice.trail, choice.chosen)


PROBES = 4
"""Places in a cell of true values, and nodes in a cell of released ones."""


def pair_kernel(
    covariance: FloatArray, true: tuple[Grid, Grid], observed: tuple[Grid, Grid], steps: tuple[float, float]
) -> FloatArray:
    """Return K[s₁, s₂, p₁, p₂] for noise of this covariance, true values spread evenly over their cells."""
    from scipy.special import ndtr

    max_sd = 8.0  # standard deviations beyond which an open end cell holds nothing
    first = math.sqrt(covariance[0, 0])
    slope = covariance[0, 1] / covariance[0, 0]
    rest = math.sqrt(max(covariance[1, 1] - slope * covariance[0, 1], 1e-12 * covariance[1, 1]))
    (x1, share1), (x2, share2) = (_probes(grid) for grid in true)
    nodes, weights = np.polynomial.legendre.leggauss(PROBES)
    cuts1, cuts2 = (lattice_cut(g.inner_cuts, s) for g, s in zip(observed, steps, strict=True))
    ends = np.concatenate([[x1.min() - max_sd * first], cuts1, [x1.max() + max_sd * first]])
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
    """Return Gauss's places in each cell, one row per cell, and their shares; an atom stands where it is."""
    if grid.atoms is not None:
        return grid.atoms[:, None], np.ones(1)
    nodes, weights = np.polynomial.legendre.leggauss(PROBES)
    edges = grid.finite_edges
    return edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2, weights / 2


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
    smooth, stop = smooth_table(shape, strengths), step_stop(tolerance)
    problem = Problem.of(kernel, counts.ravel())
    fit = iterate(problem, stop, method="ems", smooth=smooth, start=mass.ravel(), most=iterations)
    return JointFit(fit.mass.reshape(shape), fit.trail)
