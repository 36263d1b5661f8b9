"""Figures that need several columns of numbers through their noise: ranges of two of them, or a mean of one where another is cut.

Rows are divided by all other columns that the question asks of, and by which of the numbers are missing: each part is a set of
classes of those, for which a released row has a weight L. The numbers of a part are fitted (see `tied_columns`), and a total of the
figure is the rows of a part times the mean of a functional of its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from sfumato.counts import BoolArray, FloatArray
from sfumato.errors import DataError, NoWeightError
from sfumato.questions.axes import Axis, Codes, make_axis
from sfumato.questions.conditions import TRUE, Always, Both, Condition, Key, merge_ends
from sfumato.questions.estimate import Estimate
from sfumato.questions.functions import NumberSet, unit_of
from sfumato.questions.layout import Cut, is_binned, is_smooth
from sfumato.questions.memory import Memory
from sfumato.questions.query import Asked, Statistic
from sfumato.questions.ranges.one_column import MIN_ROWS, BlurredCounts
from sfumato.questions.ranges.tied_columns import CrossSums, Functional, Score, TiedColumns, joint_noise
from sfumato.questions.statistics import TOO_FEW, Z, evaluate, monomials_of
from sfumato.questions.sums import CellSums, Monomial, Numbers
from sfumato.reconstruction import Distribution, observed_grid
from sfumato.table import Column

MIN_BOTTOM = 2.0
"""Standard errors from 0 of the rows that a ratio is among. Of fits, top and bottom err together, so fewer do than of weights."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that agree in all but the numbers: how many, the fit of their numbers, and a functional for each total."""

    rows: float
    rows_error: float
    effective: float
    fit: TiedColumns
    functionals: tuple[Functional, ...]
    classes: tuple[FloatArray, ...]
    """Which part of each fine cell lies in each class, for each column that is present."""

    @cached_property
    def values(self) -> FloatArray:
        """The totals."""
        return self.rows * np.array([self.fit.share(f, self.classes) for f in self.functionals])

    def variance(self, gradient: FloatArray) -> float:
        """Return the squared error of Σ gradient × totals."""
        mean = float(gradient @ self.values) / self.rows
        return (
            self.rows**2 * self.fit.variance(self.functionals, gradient, self.classes) + (mean * self.rows_error) ** 2
        )


@dataclass(frozen=True, eq=False)
class SeveralLayout:
    """A figure of several columns under noise: what is counted, and which parts rows are divided into."""

    asked: Asked
    columns: tuple[Column, ...]
    """The numbers; their values are not used."""
    cut: Cut
    places: tuple[int, ...]
    """Their axes in the cut."""
    axes: tuple[Axis, ...]
    """All other columns, and which of the numbers are missing."""
    counts: tuple[CellSums, ...]
    """Rows by released cell, for each of the numbers."""
    cross: CrossSums

    def estimate(
        self, group: int, results: Sequence[FloatArray], rows: float, shared: float, memory: Memory
    ) -> Estimate:
        """Return the figure of one group.

        Parameters
        ----------
        group
            Which group.
        results
            What `counts` and then `cross` counted.
        rows
            The rows of the release.
        shared
            How many rows may share one draw of noise.
        memory
            Fits of earlier figures.
        """
        try:
            parts, left_out = [], 0.0
            for part in self._parts(group, results, shared, memory):
                if part.effective < MIN_ROWS:
                    left_out += abs(part.rows)
                else:
                    parts.append(part)
            if not parts or left_out > 0.05 * sum(part.rows for part in parts):
                return Estimate.untold(TOO_FEW, rows)
            out = self._figure(parts, left_out)
        except DataError:  # no value is left to be fitted
            return Estimate.untold(TOO_FEW, rows)
        return replace(out, rows=rows, effective_rows=min(part.effective for part in parts))

    def _figure(self, parts: Sequence[Part], left_out: float) -> Estimate:
        asked, statistic = self.asked, self.asked.statistic
        totals = np.sum([part.values for part in parts], axis=0)
        if statistic is Statistic.QUANTILE:
            return self._quantile(parts)
        units = [unit_of(next(c for c in self.columns if c.name == name).attribute) for name in asked.columns]
        function = evaluate(asked, units)
        bottom = totals[1] if statistic is Statistic.SHARE else totals[0]
        if statistic is Statistic.COUNT:
            value, gradient = float(totals[0]), np.ones(1)
        else:
            unit = np.eye(len(totals))[1 if statistic is Statistic.SHARE else 0]
            if not bottom > MIN_BOTTOM * math.sqrt(sum(part.variance(unit) for part in parts)):
                return Estimate.untold(TOO_FEW)
            value, gradient = float(function(totals)), slope_of(function, totals)
        se = math.sqrt(sum(part.variance(gradient) for part in parts) + (left_out * float(gradient[0]) / 2) ** 2)
        if not math.isfinite(value) or not math.isfinite(se):
            return Estimate.untold(TOO_FEW)
        low, high = self._limits(sum(part.rows + Z * part.rows_error for part in parts) + left_out)
        ends = (value - Z * se, value + Z * se)
        if statistic is Statistic.DEVIATION:
            ends = (math.sqrt(max(ends[0], 0.0)), math.sqrt(max(ends[1], 0.0)))
            value = math.sqrt(max(value, 0.0))
            se /= 2 * max(value, math.sqrt(se), 1e-300)
        value = min(max(value, low), high)
        return Estimate(value, se, max(ends[0], low), min(ends[1], high), by=self._how(parts))

    def _how(self, parts: Sequence[Part]) -> str:
        tied = any((np.abs(np.triu(part.fit.correlation, 1)) > 0).any() for part in parts)
        if not tied and any(len(part.fit.columns) > 1 for part in parts):
            return "fits of the columns, as if independent: how they depend on each other is lost in the noise"
        return "fits of the columns, tied by their correlations"

    def _limits(self, rows: float) -> tuple[float, float]:
        statistic = self.asked.statistic
        if statistic is Statistic.COUNT:
            return 0.0, max(rows, 0.0)
        if statistic is Statistic.SHARE:
            return 0.0, 1.0
        if statistic is Statistic.MEAN:
            low, width = unit_of(self._own[0].attribute)
            return low, low + width
        if statistic in (Statistic.VARIANCE, Statistic.DEVIATION):
            return 0.0, math.inf
        return (-1.0, 1.0) if statistic is Statistic.CORRELATION else (-math.inf, math.inf)

    @property
    def _own(self) -> list[Column]:
        """The columns that the figure is of."""
        return [next(c for c in self.columns if c.name == name) for name in self.asked.columns]

    def _quantile(self, parts: Sequence[Part]) -> Estimate:
        """Return a quantile of one column: its cells given the condition, and the interval by inverting their cumulated share."""
        if len(parts) != 1:
            return Estimate.untold(
                "it is a quantile of rows that noisy labels or missing values divide; ask for shares of ranges"
            )
        (part,) = parts
        (chosen,) = part.functionals
        present = [c.column.name for c in part.fit.columns]
        place = present.index(self.asked.columns[0])
        counts = part.fit.columns[place]
        total = part.fit.share(chosen, part.classes)
        if not total > MIN_BOTTOM * math.sqrt(part.fit.variance([chosen], np.ones(1), part.classes)):
            return Estimate.untold(TOO_FEW)
        given = np.maximum(part.fit.shares_by_cell(chosen, part.classes, place), 0.0) * part.fit.masses[place]
        own = counts.distribution
        shape = Distribution(own.name, own.fine[0], given / given.sum(), part.rows * total, "copula", ruler=own.ruler)
        level = self.asked.level
        value = float(shape.quantile(level))
        below = own.cover(-math.inf, value) - level
        around = Functional(chosen.tensor, tuple(below if i == place else None for i in range(len(present))))
        doubt = Z * math.sqrt(part.fit.variance([around], np.ones(1), part.classes)) / total
        low, high = (float(shape.quantile(min(max(level + sign * doubt, 0.0), 1.0))) for sign in (-1, 1))
        return Estimate(value, (high - low) / (2 * Z), low, high, by=self._how(parts))

    def _parts(self, group: int, results: Sequence[FloatArray], shared: float, memory: Memory) -> Iterator[Part]:
        """Yield the parts that rows of a group are divided into, those that have rows."""
        masks = self._masks(group)
        monomials: list[Monomial] = [()] if self.asked.statistic is Statistic.QUANTILE else monomials_of(self.asked)
        own = set(self.asked.columns)
        size = len(self.columns)
        others = masks[0].shape[:-size] if size else masks[0].shape
        for gone in product((False, True), repeat=size):
            if any(c.name in own for c, missing in zip(self.columns, gone, strict=True) if missing):
                continue
            present = [i for i in range(size) if not gone[i]]
            picked = [
                mask[(..., *(self._classes(i)[1] if gone[i] else slice(None) for i in range(size)))] for mask in masks
            ]
            picked = [self._drop_missing(mask, present) for mask in picked]
            patterns: dict[bytes, list[int]] = {}
            flat = [mask.reshape(math.prod(others), -1) for mask in picked]
            for number in range(math.prod(others)):
                key = b"".join(mask[number].tobytes() for mask in flat)
                if any(mask[number].any() for mask in flat):
                    patterns.setdefault(key, []).append(number)
            for numbers in patterns.values():
                chosen = np.zeros(math.prod(others))
                chosen[numbers] = 1.0
                readings = self._read(chosen.reshape(others), gone)
                tensors = [mask[numbers[0]].reshape(picked[0].shape[len(others) :]).astype(np.float64) for mask in flat]
                part = self._part(readings, present, tensors, monomials, results, shared, memory)
                if part is not None:
                    yield part

    def _masks(self, group: int) -> list[BoolArray]:
        """Return where each total counts, axes of other columns first and those of the numbers last."""
        here = np.asarray(self.cut.arrays[0]) == group
        top, among = (np.asarray(array) == TRUE for array in self.cut.arrays[1:])
        monomials = 1 if self.asked.statistic is Statistic.QUANTILE else len(monomials_of(self.asked))
        masks = [top & here, among & here] if self.asked.statistic is Statistic.SHARE else [top & here] * monomials
        return [np.moveaxis(mask, self.places, range(-len(self.places), 0)) for mask in masks]

    def _classes(self, place: int) -> tuple[list[int], int]:
        """Return the classes of one of the numbers, and the class of a missing value."""
        classes = self.cut.classes[self.places[place]]
        return [k for k in range(int(classes.max()) + 1) if k != classes[-1]], int(classes[-1])

    def _drop_missing(self, mask: BoolArray, present: Sequence[int]) -> BoolArray:
        for axis, place in enumerate(present):
            mask = np.take(mask, self._classes(place)[0], axis=mask.ndim - len(present) + axis)
        return mask

    def _read(self, chosen: FloatArray, gone: Sequence[bool]) -> FloatArray:
        """Return L at every combination of codes."""
        out = chosen
        for axis in self.axes[: chosen.ndim]:
            matrix = axis.matrix(None)
            out = np.moveaxis(out, 0, -1) if matrix is None else np.tensordot(out, matrix, axes=([0], [0]))
        for missing in gone:
            out = np.multiply.outer(out, np.array([0.0, 1.0]) if missing else np.array([1.0, 0.0]))
        return out.reshape(-1)

    def _part(
        self,
        readings: FloatArray,
        present: Sequence[int],
        tensors: Sequence[FloatArray],
        monomials: Sequence[Monomial],
        results: Sequence[FloatArray],
        shared: float,
        memory: Memory,
    ) -> Part | None:
        tables = [results[i][0].reshape(len(readings), -1) for i in range(len(self.columns))]
        first, squares = readings @ tables[0], readings**2 @ tables[0]
        rows, second = float(first.sum()), float(squares.sum())
        if rows < 0.5:
            return None
        spread = max(second / rows, 1.0) * shared
        blurred = []
        for i in present:
            counts = (readings @ tables[i])[:-1]
            blurred.append(self._column(i, counts, spread, memory))
        sums = self._select(results[-1] @ readings, present)
        noise = joint_noise([self.columns[i] for i in present])
        fit = memory.fit(
            ("tied", *(b.column.name for b in blurred), *(b.counts.tobytes() for b in blurred), sums.tobytes(), spread),
            lambda: TiedColumns.of(blurred, sums, noise),
        )
        classes = tuple(self._insides(i, b) for i, b in zip(present, blurred, strict=True))
        functionals = tuple(
            Functional(tensor, tuple(self._factor(b, dict(monomial)) for b in blurred))
            for tensor, monomial in zip(tensors, monomials, strict=True)
        )
        error = math.sqrt(max(second - rows, 0.0) * shared)
        return Part(rows, error, rows / spread, fit, functionals, classes)

    def _column(self, place: int, counts: FloatArray, spread: float, memory: Memory) -> BlurredCounts:
        column, grid = self.columns[place], self.counts[place].axes[-1].codes.grid
        assert grid is not None
        return memory.fit((column.name, counts.tobytes(), spread), lambda: BlurredCounts(column, grid, counts, spread))

    def _select(self, sums: FloatArray, present: Sequence[int]) -> FloatArray:
        """Return the cross sums of the columns that are present."""
        size = len(self.columns)
        table = np.zeros((size, size))
        table[np.triu_indices(size)] = sums[size:]
        kept = table[np.ix_(present, present)]
        return np.concatenate([sums[list(present)], kept[np.triu_indices(len(present))]])

    def _insides(self, place: int, blurred: BlurredCounts) -> FloatArray:
        cells, classes = self.cut.cells[self.places[place]], self.cut.classes[self.places[place]]
        out = []
        for number in self._classes(place)[0]:
            pieces = tuple(p for p, k in zip(cells.pieces, classes[:-1], strict=True) if k == number)
            out.append(blurred.cover(NumberSet(pieces)))
        return np.stack(out, axis=1)

    def _factor(self, blurred: BlurredCounts, powers: Mapping[str, int]) -> FloatArray | None:
        power = powers.get(blurred.column.name, 0)
        if not power:
            return None
        low, width = unit_of(blurred.column.attribute)
        return np.asarray(((blurred.distribution.fine_values() - low) / width) ** power)


def slope_of(function: object, totals: FloatArray) -> FloatArray:
    """Return the gradient of a function of totals, by differences.

    Examples
    --------
    >>> slope_of(lambda t: t[0] / t[1], np.array([1.0, 2.0])).round(6).tolist()
    [0.5, -0.25]
    """
    assert callable(function)
    out = np.zeros(len(totals))
    for i in range(len(totals)):
        step = np.zeros(len(totals))
        step[i] = 1e-5 * max(abs(float(totals[i])), 1e-3 * float(np.abs(totals).max()), 1e-12)
        out[i] = (function(totals + step) - function(totals - step)) / (2 * step[i])
    return out


def lay_out_several(
    asked: Asked, where: Condition, keys: Sequence[Key], columns: Mapping[str, Column]
) -> SeveralLayout | str:
    """Return the layout of a figure of several columns of numbers under noise; in words, why there is none."""
    max_columns = 6  # more at once cut a table into more parts than any number of rows fills
    rows, among = Both(where, asked.rows), Both(where, asked.among or Always())
    ends = merge_ends((where, *keys, asked.rows, asked.among or Always()))
    ranged = [name for name, cuts in ends.items() if cuts and is_smooth(columns[name])]
    names = list(dict.fromkeys([*ranged, *asked.columns]))
    if binned := [name for name in asked.columns if is_binned(columns[name])]:
        return f"{binned[0]} is released as bins, where a range of a blurred column chooses the rows; ask for counts"
    if len(names) > max_columns:
        return (
            f"it needs {len(names)} columns together through noise, and at most {max_columns} are fitted; ask of fewer"
        )
    cut = Cut.of(columns, keys, (rows, among), names)
    at = [c.name for c in cut.columns]
    numbers = tuple(columns[name] for name in names)
    try:
        scores = tuple(Score.of(c) for c in numbers)
        others = tuple(
            make_axis(other, cells, classes, ())
            for other, cells, classes in zip(cut.columns, cut.cells, cut.classes, strict=True)
            if other.name not in names
        )
    except NoWeightError as problem:
        return str(problem)
    if any(axis.below for axis in others):
        return "it needs the place of a value inside its bin, beside a blurred column; cut at the edges of bins"
    present = tuple(Axis(name, Codes(np.array([0, 1])), 2, 2) for name in names)
    axes = (*others, *present)
    counts = []
    for column in numbers:
        grid = observed_grid(column)
        own = Axis(column.name, Codes(np.arange(grid.size + 1), grid=grid), grid.size + 1, grid.size + 1)
        counts.append(CellSums((*axes, own), Numbers.of([], []), ((),), ()))
    places = tuple(at.index(name) for name in names)
    return SeveralLayout(asked, numbers, cut, places, axes, tuple(counts), CrossSums(axes, scores))
