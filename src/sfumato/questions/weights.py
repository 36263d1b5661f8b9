"""Weights: what a released value says, without bias, of a function of the true one.

A function c of a column's true value has a weight w on released values with E[w(Y) | x] = c(x), whatever x is. So the sum of w
over the rows is an unbiased estimate of the sum of c over their true values, and a product of weights of several columns is
one of the product of their functions, since columns have independent noise given the true row.

released as true   w = c.
labels             Kᵀw = c. Where K has two levels (high in the set of a label, low elsewhere; a label has s released cells, and
                   shares t of them with any other), w(y) = a Σ c(labels of y) + b with a = 1/((h − l)(s − t)) and
                   b = −a (l s + (h − l) t) Σc: k-ary response has s = 1, t = 0. Any other K is inverted by least squares.
numbers, smooth    Noise maps polynomials to polynomials: E[φ(Y) | x] = B φ(x) with φ = 1, t, t², …, so c = cᵀφ has w = (B⁻ᵀc)ᵀφ.
                   On a scale φ are the functions that a shift turns into sums of each other (see `Scale.functions`).
numbers, bins      As labels for what is a function of the bin. Where c varies inside a bin, w is that of its mean over the bin,
                   and `below` and `above` are weights of functions that bound c from both sides.
missing values     A law of labels sees them where they take part as a category. Elsewhere they are released as they are.

The square of an indicator is itself, and `square` is the weight s of c². So w² − s estimates Var(w | x) without bias, row by row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sfumato.channels import Channel, Discrete, Projective, Transition, TwoLevels, label_operator
from sfumato.counts import FloatArray, Grid, IntArray, lattice_range, snap
from sfumato.errors import NoWeightError
from sfumato.questions.functions import Function, OfLabels, OfNumbers, unit_of
from sfumato.schema import Attribute, Missing
from sfumato.table import Column


class Reading(StrEnum):
    """How a function of a true value is read off the released one."""

    EXACT = "exact"
    """There is no noise in it."""
    UNBIASED = "unbiased"
    """Right in the mean, whatever the true values are."""
    BOUNDED = "bounded"
    """Between two functions that are read without bias."""


@dataclass(frozen=True, eq=False)
class Weight(ABC):
    """w with E[w(Y) | x] = c(x); it travels to any worker as it is.

    Parameters
    ----------
    reading : Reading
        Whether it is exact, unbiased, or bounded by `below` and `above`.
    square : Weight, optional
        The weight of c². None where the law has none.
    below, above : Weight, optional
        Weights of functions that are nowhere above c, and nowhere below it; None where w itself is without bias.
    """

    reading: Reading
    square: Weight | None = None
    below: Weight | None = None
    above: Weight | None = None

    @abstractmethod
    def __call__(self, values: FloatArray) -> FloatArray:
        """Return w of released values as a `Column` holds them, NaN where missing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TrueWeight(Weight):
    """The function itself, of a column of numbers that is released as true."""

    column: Column
    function: OfNumbers

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return c."""
        return self.function.at(values, self.column.attribute)


@dataclass(frozen=True, eq=False, kw_only=True)
class CellWeight(Weight):
    """A number for each released cell, and one for a missing value."""

    grid: Grid
    table: FloatArray
    """One entry per released cell, and the last for a missing value."""

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the entry of the cell of each value."""
        return np.asarray(self.table[locate(self.grid, values)])


@dataclass(frozen=True, eq=False, kw_only=True)
class SmoothWeight(Weight):
    """A sum of functions of the released number."""

    space: Space
    coefficients: tuple[float, ...]
    missing: float = 0.0

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the sum, and the function of a missing value where the value is missing."""
        absent = np.isnan(values)
        out = np.array(self.coefficients) @ self.space.functions(np.where(absent, 0.0, values), len(self.coefficients))
        return np.where(absent, self.missing, out)


def locate(grid: Grid, values: FloatArray) -> IntArray:
    """Return the cell of each value; the number of cells where it is missing."""
    codes = grid.locate(values)
    codes[np.isnan(values)] = grid.size
    return codes


class ColumnWeights(ABC):
    """The weights of one column's functions.

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.table import Column
    >>> smokes = sf.Attribute("smokes", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> column = Column(smokes, sf.Substitution(gamma=3.0).on(smokes), np.array([0.0, 1.0, np.nan]))
    >>> yes = ColumnWeights.of(column).weigh(OfLabels((0.0, 1.0, 0.0)))
    >>> yes(column.values).tolist()
    [-0.5, 1.5, 0.0]
    """

    def __init__(self, column: Column) -> None:
        self.column = replace(column, values=np.empty(0))

    @staticmethod
    def of(column: Column) -> ColumnWeights:
        """Return the weights of a column, whatever its law; its values are not used."""
        channel, numeric = column.channel, column.attribute.kind.numeric
        if not numeric:
            return LabelWeights(column)
        if channel is None:
            return TrueNumberWeights(column)
        return BinWeights(column) if isinstance(channel, Discrete) else SmoothWeights(column)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def exact(self) -> bool:
        """Whether the column is released as true."""
        return self.column.channel is None

    def weigh(self, function: Function) -> Weight:
        """Return the weight of a function, with that of its square; raise NoWeightError where the law has none."""
        weight = self._weigh(function)
        if function.square == function:
            return replace(weight, square=weight)
        try:
            return replace(weight, square=self._weigh(function.square))
        except NoWeightError:
            return weight

    def power(self, power: int) -> Weight:
        """Return the weight of u^power, 0 where the value is missing; u is the value from 0 to 1 over the domain."""
        return self.weigh(OfNumbers(power))

    def present(self) -> Weight:
        """Return the weight of whether there is a value."""
        if self.column.attribute.kind.numeric:
            return self.weigh(OfNumbers())
        return self.weigh(OfLabels((*np.ones(len(self.column.attribute.categories)), 0.0)))

    def label_matrix(self, values: FloatArray) -> FloatArray:
        """Return the weights of the indicators of all labels, shape (rows, labels); the last is a missing value."""
        size = len(self.column.attribute.categories) + 1
        indicators = np.eye(size)
        tables = [self.weigh(OfLabels(tuple(row))) for row in indicators]
        return np.stack([weight(values) for weight in tables], axis=1)

    @abstractmethod
    def _weigh(self, function: Function) -> Weight:
        """Return the weight of a function, without its square."""

    def _none(self, what: str) -> NoWeightError:
        law = "no law" if self.column.channel is None else self.column.channel.law
        return NoWeightError(f"{self.name}: {law} noise leaves no unbiased weight of {what}")


class TrueNumberWeights(ColumnWeights):
    """Numbers that are released as true."""

    def _weigh(self, function: Function) -> Weight:
        assert isinstance(function, OfNumbers)
        return TrueWeight(reading=Reading.EXACT, column=self.column, function=function)


class LabelWeights(ColumnWeights):
    """Labels under any kernel, or released as true."""

    @cached_property
    def transition(self) -> Transition:
        """The law of the labels; a missing value is the last of them where it takes part."""
        return Transition.of(self.column.channel, Grid.categories(self.column.attribute.labels))

    def _weigh(self, function: Function) -> Weight:
        assert isinstance(function, OfLabels)
        values = np.array(function.values)
        if self.column.attribute.missing is Missing.CATEGORY:  # the law sees it; no cell is ever empty
            labels, missing = values, values[-1]
        else:
            labels, missing = values[:-1], values[-1]
        table, certain = self._solve(labels)
        return CellWeight(
            reading=Reading.EXACT if certain else Reading.UNBIASED,
            grid=self.transition.observed,
            table=np.append(table, missing),
        )

    def _solve(self, labels: FloatArray) -> tuple[FloatArray, bool]:
        """Return w for the function of each label, and whether there is no noise in it."""
        channel = self.column.channel
        if channel is None:
            return labels, True
        if np.ptp(labels) == 0:  # K has columns that add up to one
            return np.full(self.transition.observed.size, labels[0]), True
        operator = label_operator(channel, self.transition.true)
        if operator is not None:
            shared = channel.space.shared if isinstance(channel, Projective) else 0
            return two_level_weights(operator, labels, shared), False
        return solve_weights(self.transition.matrix.dense(), labels, self._none("these labels")), False


def two_level_weights(kernel: TwoLevels, function: FloatArray, shared: int) -> FloatArray:
    """Return the w of the module's docstring for a kernel of two levels whose sets share `shared` cells two by two.

    With Kᵀw = l Σw + (h − l) Aᵀw and w = a Ac + b: Σw = a s Σc + b J, and (Aᵀw)_x = a ((s − t) c_x + t Σc) + b s. The
    coefficient of c_x must be 1, and the rest 0; l J + (h − l) s = 1, since columns of K add up to one.

    Examples
    --------
    >>> from sfumato.channels.transition import OwnCells
    >>> two_level_weights(TwoLevels(OwnCells(2), 0.25, 0.75), np.array([0.0, 1.0]), 0).tolist()
    [-0.5, 1.5]
    """
    low, gain, size, total = kernel.low, kernel.high - kernel.low, kernel.sets.set_size, float(function.sum())
    slope = 1 / (gain * (size - shared))
    return np.asarray(slope * kernel.sets.cells_of(function) - slope * (low * size + gain * shared) * total)


def solve_weights(kernel: FloatArray, function: FloatArray, refusal: NoWeightError) -> FloatArray:
    """Return the shortest w with Kᵀw = c; raise `refusal` where there is none."""
    max_error = 1e-8
    weights, *_ = np.linalg.lstsq(kernel.T, function)
    if not np.abs(weights @ kernel - function).max() <= max_error * max(1.0, float(np.abs(function).max())):
        raise refusal
    return np.asarray(weights)


class BinWeights(ColumnWeights):
    """Numbers under a law of bins: the bin of a value is blurred or not, and where in it the value lies is not released."""

    @cached_property
    def law(self) -> Discrete:
        """The law."""
        assert isinstance(self.column.channel, Discrete)
        return self.column.channel

    @cached_property
    def kernel(self) -> FloatArray:
        """P(released representative | bin)."""
        return np.asarray(self.law.matrix_product(np.eye(self.law.bin_grid.size)))

    @cached_property
    def certain(self) -> bool:
        """Whether the bin is released as it is."""
        return bool(np.array_equal(self.kernel, np.eye(len(self.kernel))))

    @cached_property
    def points(self) -> list[FloatArray]:
        """Values that each bin may hold, in the unit of the column, the first and the last among them."""
        grid, attribute = self.law.bin_grid, self.column.attribute
        if grid.atoms is not None:
            return [attribute.to_values(np.array([atom])) for atom in grid.atoms]
        low, high, step = attribute.interval.low, attribute.interval.high, attribute.step
        if step:
            first, last = lattice_range(np.clip(grid.points, low - step / 2, high + step / 2), step)
            return [_spread(a, max(a, b), b - a + 1, whole=True) * step for a, b in zip(first, last, strict=True)]
        first = np.clip(grid.points[:-1], low, high)
        last = np.clip(grid.points[1:], low, high)
        last[:-1] = np.nextafter(last[:-1], -np.inf)  # cells are half-open, the last one is closed
        return [attribute.to_values(_spread(a, b, math.inf)) for a, b in zip(first, last, strict=True)]

    def _weigh(self, function: Function) -> Weight:
        assert isinstance(function, OfNumbers)
        shapes = [self._over_bin(function, points) for points in self.points]
        mean, least, most = (np.array([shape[i] for shape in shapes]) for i in range(3))
        if np.array_equal(least, most):
            return self._weight(mean, function.missing, Reading.EXACT if self.certain else Reading.UNBIASED)
        below, above = (self._weight(ends, function.missing, Reading.UNBIASED) for ends in (least, most))
        return replace(self._weight(mean, function.missing, Reading.BOUNDED), below=below, above=above)

    def _over_bin(self, function: OfNumbers, points: FloatArray) -> tuple[float, float, float]:
        """Return mean, minimum and maximum of a function over a bin."""
        values = function.at(points, self.column.attribute)
        least, most = float(values.min()), float(values.max())
        if function.inside is not None:  # an end of a piece may lie between two of the points
            ends = np.array([end for piece in function.inside.pieces for end in (piece.low, piece.high)])
            ends = ends[(points[0] < ends) & (ends < points[-1])]
            nearby = self._neighbours(ends)
            if len(nearby):
                beside = function.at(nearby, self.column.attribute)
                least, most = min(least, float(beside.min())), max(most, float(beside.max()))
        return float(values.mean()), least, most

    def _neighbours(self, ends: FloatArray) -> FloatArray:
        """Return the possible values at and on both sides of each end."""
        step = self.column.attribute.step
        if not step:
            return np.concatenate([np.nextafter(ends, -np.inf), ends, np.nextafter(ends, np.inf)])
        below = np.floor(ends / step + 1e-9)
        return np.concatenate([below, below + 1]) * step

    def _weight(self, by_bin: FloatArray, missing: float, reading: Reading) -> CellWeight:
        if self.certain or np.ptp(by_bin) == 0:
            table, exact = by_bin, True
        else:
            table, exact = solve_weights(self.kernel, by_bin, self._none("the bins")), False
        reading = Reading.EXACT if exact and reading is not Reading.BOUNDED else reading
        representatives = np.asarray(self.law.representatives)
        order = np.argsort(representatives)
        grid = Grid(atoms=representatives[order])
        return CellWeight(reading=reading, grid=grid, table=np.append(table[order], missing))


def _spread(low: float, high: float, size: float, *, whole: bool = False) -> FloatArray:
    """Return at most 129 numbers from `low` to `high`, both included."""
    points = np.linspace(low, high, int(min(max(size, 1), 129)))
    return np.unique(np.round(points)) if whole else points


@dataclass(frozen=True)
class Space:
    """Functions of a number on which additive noise and square waves act linearly; frozen, so that a worker can have it."""

    low: float
    width: float
    ruler: Any = None

    def functions(self, y: FloatArray, size: int) -> FloatArray:
        """Return the first `size` functions of released numbers, shape (functions, values); powers without a scale."""
        if self.ruler is None:
            t = (2 * (y - self.low) - self.width) / self.width
            return np.asarray(np.vander(t, size, increasing=True).T)
        power = next(p for p in range(1, MAX_POWER + 1) if self.size(p) == size)
        return np.asarray(self.ruler.scale.functions(y, self.ruler.span, power))

    def size(self, power: int) -> int | None:
        """Return how many functions x^power needs; None where a scale has none."""
        if self.ruler is None:
            return power + 1
        functions = self.ruler.scale.functions(np.zeros(1), self.ruler.span, power)
        return None if functions is None else len(functions)


MAX_POWER = 4
"""The square of a square: what the standard error of a variance needs."""


class SmoothWeights(ColumnWeights):
    """Numbers under additive noise, or a square wave."""

    @cached_property
    def space(self) -> Space:
        """The functions that the weights are sums of."""
        interval = self.column.attribute.interval
        return Space(interval.low, interval.high - interval.low, self.column.attribute.ruler)

    def _weigh(self, function: Function) -> Weight:
        assert isinstance(function, OfNumbers)
        if function.inside is not None:
            raise self._none("a range of values")
        if function.power == 0:
            return SmoothWeight(reading=Reading.EXACT, space=Space(0, 1), coefficients=(1.0,), missing=function.missing)
        assert self.column.channel is not None
        coefficients = power_coefficients(self.column.channel, self.column.attribute, function.power)
        if coefficients is None:
            raise self._none(f"power {function.power} of its values")
        return SmoothWeight(
            reading=Reading.UNBIASED, space=self.space, coefficients=coefficients, missing=function.missing
        )


@lru_cache(maxsize=256)
def power_coefficients(channel: Channel, attribute: Attribute, power: int) -> tuple[float, ...] | None:
    """Return B⁻ᵀc of u^power, from the law at some true values; None where the law maps the functions to others.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> [round(c, 6) for c in power_coefficients(sf.Gaussian(privacy=0.5).on(age), age, 1)]
    [0.5, 0.5]
    """
    tolerance, low, width = 2e-4, *unit_of(attribute)
    interval = attribute.interval
    space = Space(interval.low, interval.high - interval.low, attribute.ruler)
    size = space.size(power)
    if size is None or power > MAX_POWER:
        return None
    true, released, kernel = law_on_points(channel, attribute)
    if attribute.ruler is None:  # on few values a power is a polynomial of a lower degree
        size = min(size, len(true))
    before, mapped = space.functions(true, size), space.functions(released, size) @ kernel
    wanted = ((attribute.to_values(true) - low) / width) ** power
    shift, *_ = np.linalg.lstsq(before.T, mapped.T)
    function, *_ = np.linalg.lstsq(before.T, wanted)
    coefficients, *_ = np.linalg.lstsq(shift, function)
    if not np.abs(coefficients @ mapped - wanted).max() <= tolerance:
        return None
    return tuple(coefficients.tolist())


@lru_cache(maxsize=16)
def law_on_points(channel: Channel, attribute: Attribute) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return some true values that the law can see, released ones, and P(released | true)."""
    points, interval = 65, attribute.interval
    step = attribute.step or channel.step or 0.0
    grid = np.linspace(interval.low, interval.high, points)
    true = np.unique(snap(grid, step))
    inside = (true >= interval.low - 1e-9 * step) & (true <= interval.high + 1e-9 * step)
    true = true[inside] if np.count_nonzero(inside) > 1 else true
    if attribute.step and channel.step and channel.step > attribute.step:
        true = np.unique(snap(true, channel.step))
    observed = widen(channel.observed_grid(Grid(edges=grid)), channel.step or 0.0)
    return true, observed.centres, Transition.of(channel, Grid(atoms=true), observed).matrix.dense()


def widen(grid: Grid, step: float) -> Grid:
    """Return finer cells, twice as far: weights that grow with the released number see what is negligible to everything else."""
    max_cells = 12_000
    low, high = (float(end) for end in grid.finite_edges[[0, -1]])
    if not step:
        return grid
    beyond = round((high - low) / (2 * step))
    steps = round((high - low) / step) + 2 * beyond
    each = math.ceil(steps / max_cells)
    edges = low + step * (each * np.arange(math.ceil(steps / each) + 1, dtype=np.float64) - beyond)
    edges[0], edges[-1] = -np.inf, np.inf
    return Grid(edges=edges, step=step)


def noise_covariance(columns: Sequence[Column]) -> FloatArray:
    """Return the known covariance of the noise of columns of numbers in units of u, 0 between columns of different laws.

    Columns whose noise a joint law drew together have their Σ_r; all other pairs are independent given the true row. The
    diagonal is left 0 for columns without a joint law: their own noise is in their weights.
    """
    out = np.zeros((len(columns), len(columns)))
    for i, one in enumerate(columns):
        joint = None if one.channel is None else one.channel.joint
        for j, other in enumerate(columns):
            if joint is not None and other.channel is not None and other.channel.joint == joint:
                out[i, j] = joint.among([one.name, other.name])[0, 1] / (
                    unit_of(one.attribute)[1] * unit_of(other.attribute)[1]
                )
    return out


def joint_powers(scaled: FloatArray, covariance: FloatArray, powers: Sequence[int]) -> FloatArray:
    """Return the weight of Π u_j^{k_j} under gaussian noise of a known covariance, for values in units of u.

    These are Hermite polynomials of several variables: H_0 = 1 and H_{k+e_i} = y_i H_k − Σ_j Σ_ij k_j H_{k−e_j}.

    Parameters
    ----------
    scaled
        Released values, shape (columns, rows).
    covariance
        That of the noise, shape (columns, columns).
    powers
        k, one per column.

    Examples
    --------
    >>> joint_powers(np.array([[3.0], [2.0]]), np.array([[1.0, 0.5], [0.5, 1.0]]), (1, 1)).tolist()
    [5.5]
    """
    known: dict[tuple[int, ...], FloatArray] = {}

    def hermite(k: tuple[int, ...]) -> FloatArray:
        if not any(k):
            return np.ones(scaled.shape[1])
        if k not in known:
            i = next(place for place, power in enumerate(k) if power)
            less = tuple(power - (place == i) for place, power in enumerate(k))
            out = scaled[i] * hermite(less)
            for j, power in enumerate(less):
                if power:
                    out = out - covariance[i, j] * power * hermite(tuple(p - (q == j) for q, p in enumerate(less)))
            known[k] = out
        return known[k]

    return hermite(tuple(powers))
