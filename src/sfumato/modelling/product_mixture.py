"""A mixture of products, fitted through the noise: the joint distribution of all columns of a table.

A row comes from one of a few components; given the component its columns are independent. Noise is independent from column to
column too, so the likelihood of a released row is again such a mixture::

    P(y) = Σ_k π_k Π_c (K_c f_kc)[y_c],

and only the tables f_kc of one column each lie behind a kernel. All that EM needs of the rows is how often each bin was
released by each component, N_kc[y]: sums, which blocks and machines can add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.modelling.chance import Chance
from sfumato.modelling.facets import TINY, Facet, Locator
from sfumato.reconstruction import em_step

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Mixture:
    """π_k and, for every column, the tables f_kc, shape (components, cells)."""

    weights: FloatArray
    tables: tuple[FloatArray, ...]

    @property
    def size(self) -> int:
        """The number of components."""
        return len(self.weights)

    def released_shares(self, facets: Sequence[Facet]) -> list[FloatArray]:
        """Return K_c f_kc for every column, shape (components, bins)."""
        return [np.maximum(t @ f.kernel.T, TINY) for t, f in zip(self.tables, facets, strict=True)]

    def log_bins(self, facets: Sequence[Facet]) -> Float32Array:
        """Return log (K_c f_kc) of all columns' bins one below the other, shape (all bins, components)."""
        return np.ascontiguousarray(np.log(np.concatenate(self.released_shares(facets), axis=1)).T, dtype=np.float32)

    @property
    def log_weights(self) -> Float32Array:
        """Log π_k."""
        return np.log(np.maximum(self.weights, TINY)).astype(np.float32)

    def parts(self, number: int) -> list[Mixture]:
        """Return the mixtures that `union` joined, `number` of equal size."""
        size = self.size // number
        cuts = [slice(begin, begin + size) for begin in range(0, self.size, size)]
        return [Mixture(self.weights[c] / self.weights[c].sum(), tuple(t[c] for t in self.tables)) for c in cuts]

    @classmethod
    def union(cls, parts: Sequence[Mixture]) -> Mixture:
        """Return the mean of several mixtures: one of them is drawn first, and then one of its components."""
        weights = np.concatenate([part.weights / len(parts) for part in parts])
        return cls(weights, tuple(np.concatenate(t) for t in zip(*(p.tables for p in parts), strict=True)))

    def choose_components(self, size: int, chance: Chance) -> IntArray:
        """Draw the component of each of `size` new rows."""
        return pick_rows(np.broadcast_to(np.cumsum(self.weights), (size, self.size)), chance.heights("component"))


def pick_rows(upto: FloatArray, heights: FloatArray) -> IntArray:
    """Draw a place from each row of cumulative weights, which need not end at 1."""
    return np.minimum((upto < (heights * upto[:, -1])[:, None]).sum(axis=1), upto.shape[1] - 1)


@dataclass(frozen=True, eq=False)
class Bins:
    """Released rows as sparse vectors of ones, one for the bin of each column: a sum over columns is one matrix product."""

    matrix: csr_matrix
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, locators: Sequence[Facet | Locator], codes: Sequence[IntArray]) -> Bins:
        """Return the vectors for the bins of every column; negative codes leave no mark."""
        from scipy.sparse import csr_matrix

        sizes = tuple(locator.bins for locator in locators)
        starts = np.cumsum((0, *sizes))
        stacked = np.stack(codes, axis=1)
        present = stacked >= 0
        columns = (stacked + starts[:-1])[present].astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
        ones = np.ones(len(columns), np.float32)
        return cls(csr_matrix((ones, columns, ends), shape=(len(stacked), int(starts[-1]))), sizes)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    def take(self, rows: IntArray) -> Bins:
        """Return some of the rows."""
        return replace(self, matrix=self.matrix[rows])

    def responsibilities(self, log_bins: Float32Array, log_weights: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Return P(component | released row), and the log-likelihood of each row."""
        logs: Float32Array = self.matrix @ log_bins
        logs += log_weights
        top = logs.max(axis=1, keepdims=True)
        logs -= top
        np.exp(logs, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        logs /= total
        return logs, (np.log(total) + top)[:, 0]


@dataclass(frozen=True, eq=False)
class Expectation:
    """One pass of EM over some rows: N_kc[y] of all columns, n π_k, and the log-likelihood. It travels to any worker as it is."""

    names: ClassVar[tuple[str, ...]] = ("counts", "weights", "likelihood")
    log_bins: Float32Array
    log_weights: Float32Array

    @classmethod
    def of(cls, mixture: Mixture, facets: Sequence[Facet]) -> Expectation:
        """Return the pass that starts from a mixture."""
        return cls(mixture.log_bins(facets), mixture.log_weights)

    def __call__(self, bins: Bins, times: IntArray | None = None) -> Sums:
        """Return the sums over rows, each counted `times` times where that is given.

        Shares are rounded to 2⁻²⁰, so that sums of them are exact in float64: the same for any blocks in any order.
        """
        block, parts = 2**14, np.float32(2.0**20)
        if times is not None:
            drawn = np.flatnonzero(times)
            bins, times = bins.take(drawn), times[drawn]
        counts = np.zeros((self.log_bins.shape[1], self.log_bins.shape[0]))
        weights = np.zeros(self.log_bins.shape[1])
        likelihood = 0.0
        for begin in range(0, bins.rows, block):
            part = bins.matrix[begin : begin + block]
            shares, logs = replace(bins, matrix=part).responsibilities(self.log_bins, self.log_weights)
            shares *= parts
            whole = np.rint(shares, out=shares).astype(np.float64)
            heights = np.rint(logs.astype(np.float64) * float(parts))
            if times is not None:
                whole *= times[begin : begin + block, None]
                heights *= times[begin : begin + block]
            counts += (part.T @ whole).T
            weights += whole.sum(axis=0)
            likelihood += float(heights.sum())
        unit = 1 / float(parts)  # a power of two, so that these products are exact
        return Sums({"counts": counts * unit, "weights": weights * unit, "likelihood": np.array(likelihood * unit)})


def start_mixture(facets: Sequence[Facet], components: int, rng: np.random.Generator) -> Mixture:
    """Vary the distribution of every column at random, once per component: along a few waves where cells have an order."""
    ripples = 6
    tables = []
    for facet in facets:
        base, size = facet.shares, facet.size
        if components == 1:
            tables.append(base[None])
            continue
        if facet.attribute.kind.numeric and size > ripples:
            wave = np.arange(1, ripples + 1)[:, None]
            waves = np.cos(np.pi * wave * np.linspace(0, 1, size)) / np.sqrt(wave)
            tilt = rng.normal(size=(components, ripples)) @ waves
        else:
            tilt = rng.normal(size=(components, size))
        table = base * np.exp(tilt)
        tables.append(table / table.sum(axis=1, keepdims=True))
    return Mixture(np.full(components, 1 / components), tuple(tables))


def maximise(mixture: Mixture, sums: Sums, facets: Sequence[Facet], prior: float) -> Mixture:
    """Return the next mixture: EM through each column's kernel, with `prior` rows of the column's own distribution.

    Parameters
    ----------
    mixture
        The mixture so far.
    sums
        What a pass over the rows counted with it.
    facets
        The columns.
    prior
        Rows that follow the columns' own distributions, added to each component.
    """
    inner_steps = 2  # through the kernel: they cost next to nothing beside the pass over the rows
    counts, weights = sums.arrays["counts"], sums.arrays["weights"] + prior
    starts = np.cumsum([0, *(f.bins for f in facets)])
    tables = []
    for facet, table, begin, end in zip(facets, mixture.tables, starts, starts[1:], strict=False):
        own = counts[:, begin:end]
        for _ in range(inner_steps):
            table = em_step(facet.kernel, own, table, TINY).mass + prior * facet.shares
            table /= table.sum(axis=1, keepdims=True)
        tables.append(table)
    return Mixture(weights / weights.sum(), tuple(tables))
