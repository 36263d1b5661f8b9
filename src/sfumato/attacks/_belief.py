"""What a released value tells about the true one: the channel's law and the reconstructed distribution, by Bayes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.channels import Kernel, Substitution, Transition, TwoLevels
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, scatter
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


@dataclass(frozen=True, eq=False)
class _Lines:
    """Some released cells: which labels are inside, and the sums and numbers of those before each rank."""

    inside: BoolArray
    mass: FloatArray
    number: IntArray
    total: FloatArray


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """Posteriors over many labels, reduced to what an attack asks of them: P(label | released cell) ∝ K[s, p] π_p.

    Through a law of two levels the posterior of label p is high π_p or low π_p, up to a factor. With labels ranked by π once for
    all, the labels inside the set of a released cell are in order, and so are those outside; sums along the ranks,

        I(r) = Σ π over the inside ones among the first r,   O(r) = Σ π over the outside ones,

    say what stands before any label in the order of the posterior, so nothing is sorted again. Labels of equal posterior stand
    with the inside ones first, those of none by number.

    `doubt` of every posterior may be any label.

    With doubt δ the posterior is (1 − δ) times the plain one plus δ/d, which leaves the order as it is.
    """

    kernel: TwoLevels
    prior: FloatArray
    doubt: float = 0.0

    @cached_property
    def order(self) -> IntArray:
        """Labels by falling prior, equal ones by number."""
        return np.argsort(-self.prior, kind="stable")

    @cached_property
    def rank(self) -> IntArray:
        """The place of each label."""
        return np.argsort(self.order)

    @cached_property
    def _sorted(self) -> FloatArray:
        return self.prior[self.order]

    @cached_property
    def _upto(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self._sorted)])

    @cached_property
    def _inside_before(self) -> IntArray:
        """For an outside label of each rank, up to which rank inside ones stand before it: high π_r ≥ low π_j."""
        inner, outer = self.kernel.high * self._sorted, self.kernel.low * self._sorted
        return self._by_rank(np.searchsorted(-inner, -outer, side="right"))

    @cached_property
    def _outside_before(self) -> IntArray:
        """For an inside label of each rank, up to which rank outside ones stand before it: low π_j > high π_r."""
        inner, outer = self.kernel.high * self._sorted, self.kernel.low * self._sorted
        return self._by_rank(np.searchsorted(-outer, -inner, side="left"))

    def _by_rank(self, before: IntArray) -> IntArray:
        """Labels that have no prior stand by rank alone, inside or not."""
        return np.where(self._sorted > 0, before, np.arange(len(before)))

    def _lines(self, cells: IntArray) -> Iterator[tuple[slice, _Lines]]:
        for part in self.kernel.in_parts(cells):
            inside = self.kernel.inside(cells[part], self.order)
            ends = (len(inside), inside.shape[1] + 1)
            mass, number = np.zeros(ends), np.zeros(ends, np.int64)
            np.cumsum(inside * self._sorted, axis=1, out=mass[:, 1:])
            np.cumsum(inside, axis=1, out=number[:, 1:])
            total = self.kernel.low * (self._upto[-1] - mass[:, -1]) + self.kernel.high * mass[:, -1]
            yield part, _Lines(inside, mass, number, np.maximum(total, 1e-300))

    def _inner(self, lines: _Lines, at: IntArray, upto: IntArray) -> FloatArray:
        """Posterior of the inside labels before rank `upto`, for the given lines."""
        plain = self.kernel.high * lines.mass[at, upto] / lines.total[at]
        return (1 - self.doubt) * plain + self._crumb * lines.number[at, upto]

    def _outer(self, lines: _Lines, at: IntArray, upto: IntArray) -> FloatArray:
        """The same of the outside labels."""
        plain = self.kernel.low * (self._upto[upto] - lines.mass[at, upto]) / lines.total[at]
        return (1 - self.doubt) * plain + self._crumb * (upto - lines.number[at, upto])

    def _own(self, lines: _Lines, at: IntArray, rank: IntArray) -> FloatArray:
        level = np.where(lines.inside[at, rank], self.kernel.high, self.kernel.low)
        return (1 - self.doubt) * level * self._sorted[rank] / lines.total[at] + self._crumb

    @property
    def _crumb(self) -> float:
        return self.doubt / len(self.prior)

    def places(self, cells: IntArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        """For each released cell and label: the posterior of all labels that stand before it, and its own."""
        before, own = np.empty(len(cells)), np.empty(len(cells))
        different, where = np.unique(cells, return_inverse=True)
        turn = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[turn], np.arange(len(different) + 1))
        rank = self.rank[labels]
        for part, lines in self._lines(different):
            rows = turn[ends[part.start] : ends[part.stop]]
            at, r = where[rows] - part.start, rank[rows]
            inside = lines.inside[at, r]
            inner = np.where(inside, r, self._inside_before[r])
            outer = np.where(inside, self._outside_before[r], r)
            before[rows] = self._inner(lines, at, inner) + self._outer(lines, at, outer)
            own[rows] = self._own(lines, at, r)
        return before, own

    def guesses(self, cells: IntArray, level: float) -> tuple[IntArray, FloatArray]:
        """For each released cell the likeliest label, and how many labels the smallest set of posterior `level` holds."""
        picks, widths = np.empty(len(cells), np.int64), np.empty(len(cells))
        for part, lines in self._lines(cells):
            picks[part] = self.order[self._first(lines)]
            widths[part] = self._widths(lines, level)
        return picks, widths

    def _first(self, lines: _Lines) -> IntArray:
        """The rank of the likeliest label: the first inside one, unless the first of all is likelier."""
        best = lines.inside.argmax(axis=1)
        some = lines.inside[np.arange(len(best)), best]
        # Equal ones go to the label of the lower number, as the largest of a row is found.
        first, second = self.kernel.high * self._sorted[best], self.kernel.low * self._sorted[0]
        earlier = (first == second) & (self.order[best] < self.order[0])
        return np.where(some & ((first > second) | earlier), best, 0)

    def _widths(self, lines: _Lines, level: float) -> FloatArray:
        """Take labels until `level` is reached, of the last one only as much as needed.

        State 0 holds nothing, state j + 1 the outside labels before rank j and the inside ones that stand before an outside
        one of rank j. To the next state the label of rank j is taken first, if it is outside, and then inside ones. Labels
        without any posterior are in no set.
        """
        size = len(self.prior) if self.doubt else int(np.count_nonzero(self._sorted))
        at = np.arange(len(lines.total))
        stops = np.minimum(np.concatenate([[0], self._inside_before[:size], [size]]), size)

        def mass_in(state: IntArray) -> FloatArray:
            return self._inner(lines, at, stops[state]) + self._outer(lines, at, np.maximum(state - 1, 0))

        state = _bisect(mass_in, np.zeros(len(at), np.int64), np.full(len(at), size + 1), level)
        left = level - mass_in(state)
        outer = np.maximum(state - 1, 0)
        next_one = np.minimum(outer, size - 1)
        outside = (state > 0) & (outer < size) & ~lines.inside[at, next_one]
        own = np.where(outside, self._own(lines, at, next_one), 0.0)
        taken = _share(left, own)
        low = stops[state]
        high = np.where(left > own, stops[np.minimum(state + 1, size + 1)], low)
        need = self._inner(lines, at, low) + np.maximum(left - own, 0.0)
        inner = _bisect(lambda rank: self._inner(lines, at, rank), low, high, need)
        # Where the bisection ends, the sum grows: the label of that rank is inside, and is taken in part.
        following = np.where(inner < high, self._own(lines, at, np.minimum(inner, size - 1)), 0.0)
        part = _share(need - self._inner(lines, at, inner), following)
        return np.asarray(outer - lines.number[at, outer] + taken + lines.number[at, inner] + part)

    def dense(self, cells: IntArray) -> FloatArray:
        """The posteriors of some released cells, one row each; where nothing explains a cell, its likelihood."""
        lines = self.kernel.rows(cells)
        joint = lines * self.prior
        total = joint.sum(axis=1, keepdims=True)
        rest = lines / np.maximum(lines.sum(axis=1, keepdims=True), 1e-300)
        return np.where(total > 1e-280, joint / np.maximum(total, 1e-300), rest)


def _share(left: FloatArray, own: FloatArray) -> FloatArray:
    """How much of a label with posterior `own` it takes to make up what is left; nothing of one without any."""
    return np.where(own > 0, np.clip(left / np.where(own > 0, own, 1.0), 0.0, 1.0), 0.0)


def _bisect(of: Callable[[IntArray], FloatArray], low: IntArray, high: IntArray, bound: FloatArray | float) -> IntArray:
    """The largest place from low to high at which the rising function is not above the bound; `low` where it is nowhere."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = of(middle) <= bound
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low
