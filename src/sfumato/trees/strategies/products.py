"""Mixtures of products: a model of several columns behind their noise, of all rows or of each class.

A row is drawn from one of a few components; given the component its attributes are independent. Noise is independent across
attributes too, so the likelihood of a released row is again such a mixture::

    P(w) = Σ_k π_k Π_a F_ka[w_a],     F_ka = K_a p_ka,

and only the one-attribute tables p_ka lie behind a kernel. EM needs the expected counts of released bins by component;
from there every table is a one-attribute reconstruction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.table import Table
from sfumato.trees.strategies.base import (
    FLOOR,
    TINY,
    Axis,
    Progress,
    class_shares,
    keep_classified_rows,
    marginal,
    quiet,
    reconstruct_axis,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ClassMixtures:
    """P(true cells | class) as a mixture of products for every class, and the shares of the classes."""

    axes: tuple[Axis, ...]
    models: tuple[Products, ...]
    shares: FloatArray

    def pool(self) -> Products:
        """Return the distribution of all rows, whatever their class."""
        return Products.union(self.models, self.shares)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[list[IntArray], FloatArray]:
        """Return true cells of rows drawn from all classes, and P(class | cells) of each, shape (classes, rows).

        The exact posterior instead of the class a row was drawn from: the same expectation, less chance in it.
        """
        cells = self.pool().sample(size, rng)
        joint = np.stack(
            [share * model.cell_density(cells) for share, model in zip(self.shares, self.models, strict=True)]
        )
        return cells, joint / np.maximum(joint.sum(axis=0), 1e-300)


def fit_mixtures(
    table: Table,
    names: Sequence[str],
    *,
    components: int = 24,
    rows_per_component: int = 200,
    starts: int = 2,
    seed: int = 0,
    progress: Progress = quiet,
) -> ClassMixtures:
    """Fit each class by EM from several random starts; averaging the fits smooths out what chance put into each.

    A class with few rows gets fewer components, one per `rows_per_component`. Starts vary what all classes share, so that classes
    differ where their rows say so.
    """
    cells, bins = 50, 64
    table = keep_classified_rows(table)
    axes = tuple(Axis.of(table[name], cells, bins) for name in names)
    shares = class_shares(table.codes, len(table.labels))
    if not axes:
        return ClassMixtures((), tuple(Products(np.ones(1), ()) for _ in shares), shares)
    codes = [axis.codes(table) for axis in axes]
    shared = [marginal(axis, code) for axis, code in zip(axes, codes, strict=True)]
    models = []
    for c, label in enumerate(table.labels):
        rows = np.flatnonzero(table.codes == c)
        size = max(1, min(components, len(rows) // rows_per_component))
        fits = []
        for start in range(starts if size > 1 else 1):
            progress(f"mixture of {label}, start {start + 1}")
            rng = np.random.default_rng([seed, c, start])
            fits.append(fit_products(axes, [code[rows] for code in codes], shared, size, rng))
        models.append(Products.union(fits, [1 / len(fits)] * len(fits)))
    return ClassMixtures(axes, tuple(models), shares)


@dataclass(frozen=True, eq=False)
class Products:
    """π_k and, for every axis, the tables p_ka, shape (components, true cells)."""

    weights: FloatArray
    tables: tuple[FloatArray, ...]

    @property
    def size(self) -> int:
        """The number of components."""
        return len(self.weights)

    @classmethod
    def union(cls, parts: Sequence[Products], shares: Sequence[float] | FloatArray) -> Products:
        """Return the mixture of mixtures: with `shares` adding up to 1, one is drawn first and then one of its components."""
        return cls(
            np.concatenate([share * part.weights for part, share in zip(parts, shares, strict=True)]),
            tuple(np.concatenate(tables) for tables in zip(*(part.tables for part in parts), strict=True)),
        )

    def joint_log(self, axes: Sequence[Axis], codes: Sequence[IntArray]) -> Float32Array:
        """Return log π_k Π_a F_ka[w_a], shape (rows, components); a missing value that no axis expects says nothing."""
        return Indicators.of(axes, codes).joint_log(self)

    def cell_density(self, cells: Sequence[IntArray]) -> FloatArray:
        """Return Σ_k π_k Π_a p_ka[x_a], how likely the given true cells of each row are."""
        out = np.zeros(len(cells[0]))
        for k in range(self.size):
            part = np.full(len(out), self.weights[k])
            for table, code in zip(self.tables, cells, strict=True):
                part *= table[k].take(code)
            out += part
        return out

    def sample(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Draw the true cells of `size` rows, one array per axis."""
        component = np.sort(rng.choice(self.size, size, p=self.weights / self.weights.sum()))
        return [draw_cells(table, component, rng.random(size)) for table in self.tables]


def draw_cells(table: FloatArray, rows: IntArray, heights: FloatArray) -> IntArray:
    """Draw a cell from the distribution table[row] for each of `rows`, given a height from [0, 1) each.

    Cumulative rows laid end to end climb by one each, so that one search draws from all of them at once.
    """
    lists, size = table.shape
    steps = np.cumsum(table, axis=1)
    steps /= steps[:, -1:]
    ladder = (steps + np.arange(lists)[:, None]).ravel()
    return np.minimum(np.searchsorted(ladder, rows + heights, side="right") - rows * size, size - 1)


@dataclass(frozen=True, eq=False)
class Indicators:
    """Rows as sparse vectors of ones, one for the bin of each axis: sums over attributes become one matrix product."""

    axes: tuple[Axis, ...]
    matrix: csr_matrix
    starts: IntArray

    @classmethod
    def of(cls, axes: Sequence[Axis], codes: Sequence[IntArray]) -> Indicators:
        """Return the vectors for the bins of every axis; negative codes leave no mark."""
        from scipy.sparse import csr_matrix

        sizes = [axis.kernel.shape[0] for axis in axes]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        stacked = np.stack(codes, axis=1)
        present = stacked >= 0
        columns = (stacked + starts[:-1])[present].astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
        ones = np.ones(len(columns), np.float32)
        return cls(tuple(axes), csr_matrix((ones, columns, ends), shape=(len(stacked), int(starts[-1]))), starts)

    def joint_log(self, model: Products) -> Float32Array:
        """Return log π_k Π_a F_ka[w_a]."""
        seen = [table @ axis.kernel.T for table, axis in zip(model.tables, self.axes, strict=True)]
        logs = np.log(np.maximum(np.concatenate(seen, axis=1), TINY)).astype(np.float32)
        out: Float32Array = self.matrix @ np.ascontiguousarray(logs.T)
        out += np.log(np.maximum(model.weights, TINY)).astype(np.float32)
        return out


def normalise(logs: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Turn rows of log-weights into rows that add up to 1, in place; return also the logarithm of what they added up to."""
    top = logs.max(axis=1, keepdims=True)
    logs -= top
    np.exp(logs, out=logs)
    total = logs.sum(axis=1, keepdims=True)
    logs /= total
    return logs, (np.log(total) + top)[:, 0]


def fit_products(
    axes: Sequence[Axis],
    codes: Sequence[IntArray],
    shared: Sequence[FloatArray],
    components: int,
    rng: np.random.Generator,
    *,
    passes: tuple[int, int] = (80, 40),
    sketch: int = 15_000,
    strength: float = 0.005,
) -> Products:
    """Fit by EM from a random start.

    Parameters
    ----------
    axes, codes
        The axes and, for each, the bins of the released rows.
    shared
        The distribution that components vary at the start, for each axis, as a single row.
    components
        K.
    rng
        Where the start comes from, and the sample of rows that the first passes see.
    passes, sketch
        How many passes over a sample of `sketch` rows, and then over all of them.
    strength
        s of the smoother.
    """
    seen = Indicators.of(axes, codes)
    tables = [
        tilt_exponentially(distribution, components, axis.ordered, rng)
        for axis, distribution in zip(axes, shared, strict=True)
    ]
    model = Products(np.full(components, 1 / components), tuple(tables))
    rows = len(codes[0])
    if rows > 2 * sketch:
        sample = np.sort(rng.permutation(rows)[:sketch])
        model = _passes(replace(seen, matrix=seen.matrix[sample]), model, passes[0], strength)
        return _passes(seen, model, passes[1], strength)
    return _passes(seen, model, sum(passes), strength)


def tilt_exponentially(base: FloatArray, components: int, ordered: bool, rng: np.random.Generator) -> FloatArray:
    """Vary a distribution at random: multiply it by the exponential of a few random waves; a lone one stays as it is."""
    ripples = 6  # cosine waves in a random start
    size = base.shape[1]
    if components == 1:
        return base
    if ordered and size > ripples:
        wave = np.arange(1, ripples + 1)[:, None]
        waves = np.cos(np.pi * wave * np.linspace(0, 1, size)) / np.sqrt(wave)
        tilt = rng.normal(size=(components, ripples)) @ waves
    else:
        tilt = rng.normal(size=(components, size))
    out = base * np.exp(tilt) + FLOOR
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _passes(seen: Indicators, model: Products, passes: int, strength: float) -> Products:
    inner_steps = 3  # reconstruction steps per pass: they cost next to nothing beside the pass over the rows
    prior_rows = 0.5  # added to every component, so that none vanishes for good
    turned = seen.matrix.T.tocsr()
    for _ in range(passes):
        shares, _ = normalise(seen.joint_log(model))
        counts = np.asarray((turned @ shares).T, dtype=np.float64)
        weights = shares.sum(axis=0, dtype=np.float64) + prior_rows
        tables = tuple(
            reconstruct_axis(axis, counts[:, start:end], table, inner_steps, strength)
            for axis, table, start, end in zip(seen.axes, model.tables, seen.starts, seen.starts[1:], strict=False)
        )
        model = Products(weights / weights.sum(), tables)
    return model
