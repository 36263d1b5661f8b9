"""Mixtures of products, fitted through the noise.

A record is drawn from one of a few components; given the component its attributes are independent. Noise is independent
across attributes too, so the likelihood of a released record is again such a mixture::

    P(w) = Σ_k π_k Π_a F_ka[w_a],     F_ka = K_a p_ka,

and only the one-attribute tables p_ka lie behind a kernel. EM needs the expected counts of released bins by component;
from there every table is a one-attribute reconstruction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.reconstruction import em_step, smooth_axis
from sfumato.trees.strategies._axes import Axis

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Float32Array = NDArray[np.float32]

TINY = 1e-30
FLOOR = 1e-9
"""Mass that every cell keeps: a cell that EM has emptied once could never fill again."""


@dataclass(frozen=True, eq=False)
class Products:
    """π_k and, for every axis, the tables p_ka (one row a component, one column a true cell)."""

    weights: FloatArray
    tables: tuple[FloatArray, ...]

    @property
    def size(self) -> int:
        """The number of components."""
        return len(self.weights)

    @classmethod
    def union(cls, parts: Sequence[Products], shares: Sequence[float] | FloatArray) -> Products:
        """The mixture of mixtures: with `shares` adding up to 1, one is drawn first and then one of its components."""
        return cls(
            np.concatenate([share * part.weights for part, share in zip(parts, shares, strict=True)]),
            tuple(np.concatenate(tables) for tables in zip(*(part.tables for part in parts), strict=True)),
        )

    def joint_log(self, axes: Sequence[Axis], codes: Sequence[IntArray]) -> Float32Array:
        """log π_k Π_a F_ka[w_a], one row a record; a missing value that no axis expects says nothing."""
        seen = Indicators.of(axes, codes)
        return seen.joint_log(self)

    def cell_density(self, cells: Sequence[IntArray]) -> FloatArray:
        """Σ_k π_k Π_a p_ka[x_a]: how likely the given true cells are, one entry a record."""
        out = np.zeros(len(cells[0]))
        for k in range(self.size):
            part = np.full(len(out), self.weights[k])
            for table, code in zip(self.tables, cells, strict=True):
                part *= table[k].take(code)
            out += part
        return out

    def sample(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """True cells of `size` records, one array an axis."""
        component = np.sort(rng.choice(self.size, size, p=self.weights / self.weights.sum()))
        out = []
        for table in self.tables:
            steps = np.cumsum(table, axis=1)
            steps /= steps[:, -1:]
            # Cumulative rows laid end to end climb by one each: one search draws from all components at once.
            ladder = (steps + np.arange(self.size)[:, None]).ravel()
            drawn = np.searchsorted(ladder, component + rng.random(size), side="right") - component * table.shape[1]
            out.append(np.minimum(drawn, table.shape[1] - 1))
        return out


@dataclass(frozen=True, eq=False)
class Indicators:
    """Records as sparse rows of ones, one for the bin of each axis: sums over attributes become one matrix product."""

    axes: tuple[Axis, ...]
    matrix: csr_matrix
    starts: IntArray

    @classmethod
    def of(cls, axes: Sequence[Axis], codes: Sequence[IntArray]) -> Indicators:
        """Rows from the bins of every axis; negative codes leave no mark."""
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
        """log π_k Π_a F_ka[w_a]."""
        seen = [table @ axis.kernel.T for table, axis in zip(model.tables, self.axes, strict=True)]
        logs = np.log(np.maximum(np.concatenate(seen, axis=1), TINY)).astype(np.float32)
        out: Float32Array = self.matrix @ np.ascontiguousarray(logs.T)
        out += np.log(np.maximum(model.weights, TINY)).astype(np.float32)
        return out

    def some(self, rows: IntArray) -> Indicators:
        """A part of the records."""
        return Indicators(self.axes, self.matrix[rows], self.starts)


def normalise(logs: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Rows of log-weights as rows that add up to 1 (in place), and the logarithm of what they added up to."""
    top = logs.max(axis=1, keepdims=True)
    logs -= top
    np.exp(logs, out=logs)
    total = logs.sum(axis=1, keepdims=True)
    logs /= total
    return logs, (np.log(total) + top)[:, 0]


def reconstruct_axis(axis: Axis, counts: FloatArray, start: FloatArray, steps: int, strength: float) -> FloatArray:
    """`steps` of EMS on every row of counts: P ← P ∘ Kᵀ(N/(KP)), then the smoother."""
    tables = start
    for _ in range(steps):
        tables = em_step(axis.kernel, counts, tables, TINY).mass + FLOOR
        tables /= tables.sum(axis=1, keepdims=True)
        # The cell of missing values stands apart.
        cells = axis.grid.size
        tables[:, :cells] = smooth_axis(tables[:, :cells], axis.smoothing(strength), 1)
    return tables


def marginal(axis: Axis, codes: IntArray, steps: int = 60, strength: float = 0.02) -> FloatArray:
    """The distribution of one attribute alone, as a single row."""
    size = axis.kernel.shape[0]
    counts = np.bincount(codes[codes >= 0], minlength=size)[None, :size].astype(np.float64)
    return reconstruct_axis(axis, counts, np.full((1, axis.size), 1 / axis.size), steps, strength)


def fit_products(
    axes: Sequence[Axis],
    codes: Sequence[IntArray],
    components: int,
    rng: np.random.Generator,
    *,
    passes: tuple[int, int] = (80, 40),
    sketch: int = 15_000,
    strength: float = 0.005,
) -> Products:
    """EM from a random start.

    Parameters
    ----------
    axes, codes
        The axes and, for each, the bins of the released records.
    components
        K.
    rng
        Where the start comes from, and the part of the records that the first passes see.
    passes, sketch
        How many passes over a sample of `sketch` records, and then over all of them.
    strength
        s of the smoother.
    """
    seen = Indicators.of(axes, codes)
    tables = [
        tilt_exponentially(marginal(axis, code), components, axis.ordered, rng)
        for axis, code in zip(axes, codes, strict=True)
    ]
    model = Products(np.full(components, 1 / components), tuple(tables))
    rows = len(codes[0])
    if rows > 2 * sketch:
        sample = seen.some(np.sort(rng.permutation(rows)[:sketch]))
        model = _passes(sample, model, passes[0], strength)
        return _passes(seen, model, passes[1], strength)
    return _passes(seen, model, sum(passes), strength)


def tilt_exponentially(base: FloatArray, components: int, ordered: bool, rng: np.random.Generator) -> FloatArray:
    """Random variations of one distribution: it, times the exponential of a few random waves; a lone one stays as it is."""
    ripples = 6  # Cosine waves in a random start.
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
    inner_steps = 3  # Reconstruction steps a pass: they cost next to nothing beside the pass over the records.
    prior_records = 0.5  # Records added to every component, so that none vanishes for good.
    turned = seen.matrix.T.tocsr()
    for _ in range(passes):
        shares, _ = normalise(seen.joint_log(model))
        counts = np.asarray((turned @ shares).T, dtype=np.float64)
        weights = shares.sum(axis=0, dtype=np.float64) + prior_records
        tables = tuple(
            reconstruct_axis(axis, counts[:, start:end], table, inner_steps, strength)
            for axis, table, start, end in zip(seen.axes, model.tables, seen.starts, seen.starts[1:], strict=False)
        )
        model = Products(weights / weights.sum(), tables)
    return model
