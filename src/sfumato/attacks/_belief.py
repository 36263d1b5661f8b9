"""What a released value tells about the true one: the channel's law and the reconstructed distribution, by Bayes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.attacks._ranked_labels import RankedLabels
from sfumato.channels import Kernel, Substitution, Transition, TwoLevels
from sfumato.counts import FloatArray, Grid, IntArray, scatter
from sfumato.table import Column

CONFIDENCE = 0.95
TOLERANCE = 0.05
"""A number counts as found when the guess is within this share of the domain's range."""


@dataclass(frozen=True, eq=False)
class Belief:
    """P(true cell p | released cell s) ∝ K[s, p] π_p, for every s at once: rows only look theirs up."""

    column: Column
    transition: Transition
    prior: FloatArray
    learned: bool = False
    """Whether the kernel came from known rows, since the release states no law of single values."""

    @property
    def clear(self) -> bool:
        """Whether the released value is the true one."""
        return self.column.channel is None and not self.learned

    @classmethod
    def of(cls, column: Column) -> Belief:
        """The belief about one column of a release."""
        grid, mass = reconstruct_prior(column)
        return cls(column, column.transition(grid), mass)

    @property
    def grid(self) -> Grid:
        """The cells of the true value."""
        return self.transition.true

    @property
    def observed(self) -> Grid:
        """The cells of the released value."""
        return self.transition.observed

    @property
    def kernel(self) -> Kernel:
        """K[s, p] = P(released in s | true in p)."""
        return self.transition.matrix

    @cached_property
    def ranked(self) -> RankedLabels | None:
        """Where labels are many: their posteriors by rank, since an array of them would fill the memory."""
        return RankedLabels(self.kernel, self.prior) if isinstance(self.kernel, TwoLevels) else None

    @cached_property
    def codes(self) -> IntArray:
        """The released cell of each row, −1 where missing."""
        return self.column.locate(self.observed)

    @cached_property
    def evidence(self) -> FloatArray:
        """P(s) = Σ_p K[s, p] π_p."""
        return self.kernel @ self.prior

    @cached_property
    def posterior(self) -> FloatArray:
        """P(p | s); where no reconstructed value explains s, the nearest likelihood decides, and failing that the prior."""
        law = self.kernel.dense()
        joint = law * self.prior
        total = joint.sum(axis=1, keepdims=True)
        likelihood = law.sum(axis=1, keepdims=True)
        rest = np.where(likelihood > 0, law / np.maximum(likelihood, 1e-300), self.prior)
        return np.where(total > 1e-280, joint / np.maximum(total, 1e-300), rest)

    @cached_property
    def widths(self) -> FloatArray:
        """The size of each true cell in the attribute's unit; one for a label."""
        return cell_widths(self.grid)

    @cached_property
    def means(self) -> FloatArray:
        """E[x | s]."""
        if self.ranked is not None:
            return (self.kernel @ (self.prior * self.grid.centres)) / np.maximum(self.evidence, 1e-300)
        return self.posterior @ self.grid.centres

    @cached_property
    def picks(self) -> FloatArray:
        """For each s the guess that is right most often: the likeliest label, or the middle of the likeliest window."""
        if self.ranked is not None:
            return self._guesses[0]
        return best_guesses(self.grid, self.posterior, self.tolerance)

    @property
    def tolerance(self) -> float:
        """How far off a guess may be; 0 for labels."""
        attribute = self.column.attribute
        return TOLERANCE * attribute.interval.range if attribute.kind.numeric else 0.0

    @cached_property
    def credible(self) -> FloatArray:
        """`credit[s, p]`: the smallest set of 95 % posterior probability, its last cell in part."""
        return smallest_sets(self.posterior, self.widths)

    @cached_property
    def set_widths(self) -> FloatArray:
        """The size of that set for each s; nothing where one value of a grid holds 95 % alone, and so is known."""
        if self.ranked is not None:
            return self._guesses[1]
        sizes = self.credible @ self.widths
        if self.column.channel is None or isinstance(self.column.channel, Substitution):
            return sizes  # substitution promises a number of values, a known one counted as one
        alone = values_in_cells(self.grid) == 1
        return np.where((self.posterior[:, alone] >= CONFIDENCE).any(axis=1), 0.0, sizes)

    @cached_property
    def _guesses(self) -> tuple[FloatArray, FloatArray]:
        """Among many labels the likeliest and the size of the set, for each s that some row has; NaN for others."""
        assert self.ranked is not None
        seen = np.unique(self.codes[self.codes >= 0])
        picks, widths = self.ranked.guesses(seen, CONFIDENCE)
        size = len(self.evidence)
        return scatter(size, seen, picks.astype(np.float64)), scatter(size, seen, widths)

    def of_rows(self, table: FloatArray) -> FloatArray:
        """Look a value per released cell up for every row; NaN where the cell is missing."""
        present = self.codes >= 0
        return scatter(len(self.codes), present, table[self.codes[present]])


def cell_widths(grid: Grid) -> FloatArray:
    """Widths of cells; an atom of a lattice is as wide as the lattice's step, a label counts one, a lone atom nothing.

    Cells of a lattice that are hardly wider than its step are as wide as the values that they hold: [11, 12] may hold two.
    """
    if grid.labels is not None:
        return np.ones(grid.size)
    if grid.size == 1 and grid.atoms is not None:
        return np.zeros(1)
    widths = np.diff(grid.finite_edges)
    return grid.step * values_in_cells(grid) if grid.step and widths.max() < 2 * grid.step else widths


def values_in_cells(grid: Grid) -> FloatArray:
    """How many values of the grid's lattice lie in each cell; an atom is one, and off a lattice there are endlessly many."""
    if grid.atoms is not None:
        return np.ones(grid.size)
    if not grid.step:
        return np.full(grid.size, np.inf)
    cuts = np.ceil(grid.points / grid.step - 1e-9)
    cuts[-1] = np.floor(grid.points[-1] / grid.step + 1e-9) + 1  # the last cell is closed
    return np.diff(cuts)


def smallest_sets(posterior: FloatArray, widths: FloatArray, confidence: float = CONFIDENCE) -> FloatArray:
    """For each row the cells of highest density until `confidence` is reached; the last one only as far as needed."""
    density = posterior / np.maximum(widths, 1e-300)
    order = np.argsort(-density, axis=1, kind="stable")
    mass = np.take_along_axis(posterior, order, axis=1)
    before = np.cumsum(mass, axis=1) - mass
    taken = np.minimum(np.maximum(confidence - before, 0.0), mass)
    share = np.where(mass > 0, taken / np.where(mass > 0, mass, 1.0), 0.0)
    out = np.empty_like(posterior)
    np.put_along_axis(out, order, share, axis=1)
    return out


def best_guesses(grid: Grid, posterior: FloatArray, tolerance: float) -> FloatArray:
    """The guess with the most posterior probability within ± tolerance of it; without a tolerance, the likeliest value."""
    if tolerance <= 0 or grid.size == 1:
        return grid.centres[np.argmax(posterior, axis=1)]
    starts, mass = window_masses(grid, posterior, 2 * tolerance)
    return starts[np.argmax(mass, axis=1)] + tolerance


def window_masses(grid: Grid, posterior: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Windows of this size that begin at an atom or a cell's edge, and P(x in the window).

    Between atoms no window is better than one that begins at an atom; over cells, whose mass lies evenly, one that begins
    (or, by symmetry, ends) at an edge is best up to a cell.
    """
    cumulative = np.concatenate([np.zeros((len(posterior), 1)), np.cumsum(posterior, axis=1)], axis=1)
    if grid.atoms is not None:
        high = np.searchsorted(grid.atoms, grid.atoms + size * (1 + 1e-9), side="right")
        return grid.atoms, cumulative[:, high] - cumulative[:, :-1]
    edges = grid.finite_edges
    at = np.interp(edges[:-1] + size, edges, np.arange(len(edges), dtype=np.float64))
    whole = np.minimum(at.astype(np.int64), grid.size - 1)
    part = at - whole
    upto = cumulative[:, whole] * (1 - part) + cumulative[:, whole + 1] * part
    return edges[:-1], upto - cumulative[:, :-1]


def reconstruct_prior(column: Column) -> tuple[Grid, FloatArray]:
    """Return the reconstructed distribution, on cells fine enough for the law; the counts where values are true.

    A column without a single value has the uniform distribution.
    """
    grid = column.true_grid(100)
    if np.isnan(column.values).all():
        return grid, np.full(grid.size, 1.0 / grid.size)
    if column.channel is None:
        codes = column.locate(grid)
        counts = np.bincount(codes[codes >= 0], minlength=grid.size).astype(np.float64)
        return grid, counts / counts.sum()
    from sfumato.reconstruction import paper_size, reconstruct, share_cells

    distribution = reconstruct(column)
    if distribution.grid.labels is not None:
        return distribution.grid, distribution.mass
    grid, mass = distribution.fine
    chosen = distribution.chosen
    if chosen.get("scale") == "even" and not chosen.get("atoms"):
        # Where nothing is narrow, fewer cells say the same, and groups of rows are told apart in them with fewer steps.
        even = Grid.over(column.attribute, paper_size(distribution.n))
        grid, mass = even, share_cells(even.finite_edges, grid.finite_edges) @ mass
    return refine_grid(grid, mass, column.channel.interval_width(0.95))


def refine_grid(grid: Grid, mass: FloatArray, width: float) -> tuple[Grid, FloatArray]:
    """Return the same masses on cells of at most width/20, each old cell cut evenly.

    `width` is the interval that the law promises: on coarser cells its width would be one of rounding.
    """
    max_cells, cells_per_width = 800, 20
    if grid.edges is None or not np.isfinite(grid.edges).all():
        return grid, mass
    coarsest = float(np.diff(grid.edges).max())
    factor = min(math.ceil(coarsest * cells_per_width / width), max(1, max_cells // grid.size)) if width > 0 else 1
    if grid.step:
        factor = min(factor, max(1, math.floor(coarsest / grid.step + 1e-9)))
    if factor <= 1:
        return grid, mass
    places = np.arange(grid.size * factor + 1) / factor
    edges = np.interp(places, np.arange(grid.size + 1), grid.edges)
    return Grid(edges=edges, step=grid.step), np.repeat(mass / factor, factor)
