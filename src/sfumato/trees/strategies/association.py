"""From reconstructed distributions to codes: which interval or category each row is taken to have.

"We associate each data value with an interval by sorting the values, and assigning the N(I_1) lowest values to interval
I_1, and so on" (Agrawal & Srikant 2000, section 4.2). The association serves counting; it is not an estimate of a row's
true value, as the paper's footnote 3 warns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Discrete, Kernel, Projective, Transition
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.hashing import WordArray, draw_uniform, splitmix64
from sfumato.reconstruction import fit_groups, true_grid
from sfumato.schema import Kind
from sfumato.table import Column

CodeArray = NDArray[np.int16]

TRUE_CELLS = 500
"""A column that was released as true is cut at its quantiles, into at most this many cells."""


def whole_counts(mass: FloatArray, n: NDArray[Any]) -> IntArray:
    """Return whole numbers in the proportions of `mass`, shape (groups, cells), that add up to `n`: differences of the rounded sum."""
    below = np.cumsum(mass, axis=1)
    below /= below[:, -1:]
    ends = np.floor(below * n[:, None] + 0.5).astype(np.int64)
    return np.diff(ends, axis=1, prepend=0)


@dataclass(frozen=True, eq=False)
class Association:
    """One column and the way its released values become codes on the grid of its true values.

    - Released as true: the codes are its own.
    - Noise on an ordered scale: sorted assignment; equal released values in the order of a hash of their row.
    - Laws with finitely many outputs (substitution, intervals), on ordered domains or not: every category keeps as many
      of the rows that show it as the reconstruction allows, chosen by hash, and only the surplus moves, to where there
      are too few. The counts are met and as few rows as possible are moved.
    - Reports: every row draws a value from its posterior, by hash; then the counts are met in the same way.

    A missing value stays missing, with code −1.
    """

    column: Column
    grid: Grid
    marks: WordArray
    """One for each row, from its number in the release (`row_marks`)."""
    stream: int
    """Tells the attributes' draws apart."""
    common_start: bool = False
    """Whether groups of rows are fitted from what all of them share, rather than from a flat start."""

    @classmethod
    def of(
        cls, column: Column, intervals: int, marks: WordArray, stream: int, common_start: bool = False
    ) -> Association:
        """Choose the grid of the true values."""
        max_codes = 2**15 - 1
        channel = column.channel
        if channel is not None and (channel.reports or 0) > max_codes:
            raise UsageError(
                f"{column.name}: {channel.reports:,} reports are too many to grow a tree from; mine with naive-bayes, or "
                "leave the column out"
            )
        if channel is None:
            grid = true_value_grid(column)
        elif isinstance(channel, Discrete) and column.attribute.kind.numeric:
            grid = true_grid(column, None, len(marks))
        else:
            grid = column.true_grid(intervals)
        return cls(column, grid, marks, stream, common_start)

    def as_true(self) -> Association:
        """Return the same column with its released values unadjusted."""
        column = self.column.as_true()
        return replace(self, column=column, grid=true_value_grid(column))

    @property
    def ordered(self) -> bool:
        """Whether a cut between neighbouring codes means something."""
        return self.column.attribute.kind is not Kind.CATEGORICAL

    @property
    def exact(self) -> bool:
        """Whether the column was released as true."""
        return self.column.channel is None

    @cached_property
    def transition(self) -> Transition:
        """The column's law between its true and its observed grid."""
        channel = self.column.channel
        return Transition.of(None, self.grid) if channel is None else Transition.reuse(channel, self.grid)

    @property
    def observed_grid(self) -> Grid:
        """The grid on which released values are counted."""
        return self.transition.observed

    @property
    def kernel(self) -> Kernel:
        """P(observed cell | true cell)."""
        return self.transition.matrix

    @cached_property
    def unadjusted(self) -> IntArray:
        """The code of each observed cell if the released value were the true one; beyond the domain, its end.

        A report is not a value, and stands for the first of those that it is likeliest from.
        """
        if isinstance(self.column.channel, Projective):
            return self.kernel.likeliest()
        if self.exact or self._discrete:
            return np.arange(self.grid.size)
        return self.grid.locate(self.observed_grid.centres)

    @cached_property
    def observed(self) -> CodeArray:
        """The observed cell of each row."""
        if self._discrete:
            return self.column.locate(self.observed_grid).astype(np.int16)
        # In sorted order the cells are runs, and finding where each begins is quicker than locating every value.
        begins = np.searchsorted(self.column.values[self.order], self.observed_grid.inner_cuts)
        sizes = np.diff(begins, prepend=0, append=len(self.order))
        out = np.full(len(self.column.values), -1, np.int16)
        out[self.order] = np.repeat(np.arange(len(sizes), dtype=np.int16), sizes)
        return out

    @property
    def _discrete(self) -> bool:
        return isinstance(self.column.channel, Discrete)

    @cached_property
    def order(self) -> IntArray:
        """The rows that have a value, from the lowest released value to the highest, equal ones by their draw."""
        draw = draw_uniform(self.marks, 2 * self.stream)
        return self._sort(draw if self._discrete else spread(self.column, draw))

    @cached_property
    def shuffled(self) -> IntArray:
        """The rows that have a value, in an order unrelated to `order`."""
        return self._sort(draw_uniform(self.marks, 2 * self.stream + 1))

    def _sort(self, key: FloatArray) -> IntArray:
        absent = np.isnan(self.column.values)
        if not absent.any():
            return ascending(key)
        present = np.flatnonzero(~absent)
        return present[ascending(key[present])]

    def counts(self, group: IntArray, groups: int) -> FloatArray:
        """Return observed counts by group; rows of group −1 are left out."""
        size = self.observed_grid.size + 1
        key = (group + 1) * size + (self.observed + 1)
        table = np.bincount(key, minlength=(groups + 1) * size).reshape(groups + 1, size)
        return table[1:, 1:].astype(np.float64)

    def fit(self, counts: FloatArray) -> FloatArray:
        """Return the distribution of the true cells in every group, given observed counts, shape (groups, observed cells).

        The iteration of the 2000 paper stops before it has settled, and sooner for a group of few rows. From a flat start a rare
        class therefore keeps more of a heavy tail than a common one: a difference that tells them apart and is not there.
        Groups with a common start differ only where their rows say so, but keep to it where they should not.
        """
        if not self.common_start:
            return fit_groups(self.kernel, counts)
        shared = fit_groups(self.kernel, counts.sum(axis=0, keepdims=True))
        return fit_groups(self.kernel, counts, shared[0]) if len(counts) > 1 else shared

    def codes(self, group: IntArray, groups: int, out: CodeArray | None = None) -> CodeArray:
        """Reconstruct every group's distribution and give its rows their codes; group −1 stays as it is in `out`."""
        if out is None:
            out = np.full(len(self.column.values), -1, np.int16)
        if self.exact:
            some = group >= 0
            out[some] = self.column.locate(self.grid)[some]
            return out
        counts = self.counts(group, groups)
        n = counts.sum(axis=1).astype(np.int64)
        mass = self.fit(counts)
        targets = whole_counts(mass, n)
        if isinstance(self.column.channel, Projective):
            shown = self._draw(self.column.channel, group, mass)
            self._keep_most(shown, group, groups, targets, out)
        elif self._discrete:
            self._keep_most(self.observed, group, groups, targets, out)
        else:
            out[in_groups(self.order, group, groups)] = deal_codes(targets)
        return out

    def _draw(self, channel: Projective, group: IntArray, mass: FloatArray) -> CodeArray:
        out = np.full(len(group), -1, np.int16)
        draw = draw_uniform(splitmix64(self.marks), 2 * self.stream)  # unrelated to `order` and `shuffled`
        for g in range(len(mass)):
            rows = np.flatnonzero((group == g) & (self.observed >= 0))
            out[rows] = channel.draw_values(self.observed[rows].astype(np.int64), mass[g], draw[rows])
        return out

    def _keep_most(self, seen: CodeArray, group: IntArray, groups: int, targets: IntArray, out: CodeArray) -> None:
        size = self.grid.size
        shown = np.where((group >= 0) & (seen >= 0), group * size + seen, -1)
        counts = np.bincount(shown[shown >= 0], minlength=groups * size).reshape(groups, size)
        rows = in_groups(self.order, shown, groups * size)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts.ravel(), counts.ravel())
        kept = np.minimum(counts, targets)
        stays = places < kept.ravel()[shown[rows]]
        out[rows[stays]] = seen[rows[stays]]
        moving = np.full(len(group), -1)
        moving[rows[~stays]] = group[rows[~stays]]
        out[in_groups(self.shuffled, moving, groups)] = deal_codes(targets - kept)


def spread(column: Column, draw: FloatArray) -> FloatArray:
    """Return released values by which rows are sorted: equal ones on a lattice are drawn apart, by less than half a step."""
    step = (column.channel and column.channel.step) or 0.0
    return np.asarray(column.values + step * 0.999 * (draw - 0.5))


def ascending(key: FloatArray) -> IntArray:
    """Return places from the smallest key to the largest, equal ones in their order; quicker than a stable sort where all differ."""
    order = np.argsort(key)
    along = key[order]
    return np.argsort(key, kind="stable") if (along[1:] == along[:-1]).any() else order


def in_groups(order: IntArray, group: IntArray, groups: int) -> IntArray:
    """Return the rows of `order`, group after group and in order within each; those of group −1 are left out."""
    own = group.take(order)
    # Numpy sorts 16-bit integers by radix, in linear time.
    ranked = order[np.argsort(own.astype(np.int16) if groups < 2**15 else own, kind="stable")]
    return ranked[np.count_nonzero(own < 0) :]


def deal_codes(counts: IntArray) -> CodeArray:
    """Return codes for rows in group order: counts[g, 0] times 0, counts[g, 1] times 1, and so on."""
    groups, size = counts.shape
    return np.repeat(np.tile(np.arange(size, dtype=np.int16), groups), counts.ravel())


def true_value_grid(column: Column) -> Grid:
    """Return the grid of a column released as true: categories, or cells cut half-way between neighbouring released values."""
    attribute = column.attribute
    if not attribute.kind.numeric:
        return column.true_grid(2)
    return quantile_grid(column.values[~np.isnan(column.values)], attribute.interval.low, attribute.interval.high)


def quantile_grid(values: FloatArray, low: float, high: float, cells: int = TRUE_CELLS) -> Grid:
    """Return at most `cells` cells of about equal count, cut half-way between values that occur; the ends are open."""
    values = np.sort(values)
    if not len(values) or values[0] == values[-1]:
        return Grid(edges=np.array([-np.inf, np.inf])) if low == high else Grid.cells(low, high, 1)
    new = np.flatnonzero(np.diff(values)) + 1  # the places where a new value begins
    if len(new) >= cells:
        new = np.unique(new[np.searchsorted(new, quantile_places(len(values), cells)).clip(max=len(new) - 1)])
    return cut_between(values[new - 1], values[new])


def quantile_places(n: int, cells: int = TRUE_CELLS) -> FloatArray:
    """Return where n sorted values are cut into cells of about equal count."""
    return np.linspace(0, n, cells + 1)[1:-1]


def cut_between(below: FloatArray, above: FloatArray) -> Grid:
    """Return cells cut half-way between neighbouring values that occur; the ends are open."""
    cuts = (below + above) / 2
    cuts = np.where(cuts > below, cuts, above)  # neighbours in floating point have no middle
    return Grid(edges=np.concatenate([[-np.inf], np.unique(cuts), [np.inf]]))
