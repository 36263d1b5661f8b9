"""Terms that must be weighed together, and what released values say of products of them.

Columns that stand in one term, or whose noise was drawn together, make a cluster. Noise is independent between clusters given the
true row, so the weight of a product of functions of several clusters is the product of their weights. Inside a cluster a function
is a polynomial in its numbers with coefficients for each combination of its labels; products of such functions are such functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Discrete
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.questions.functions import NumberSet, OfLabels, OfNumbers, Piece, unit_of
from sfumato.questions.regression.formula import Design, Factor
from sfumato.questions.weights import (
    CellWeight,
    ColumnWeights,
    NoWeightError,
    Weight,
    joint_powers,
    locate,
    noise_covariance,
)
from sfumato.schema import Interval, Missing
from sfumato.table import Column, Table

Polynomial = dict[tuple[int, ...], FloatArray]
"""By the powers of the numbers, the coefficient for each combination of labels."""


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return the product of two functions of a cluster."""
    out: Polynomial = {}
    for p, one in a.items():
        for q, other in b.items():
            powers = tuple(i + j for i, j in zip(p, q, strict=True))
            product = one * other
            out[powers] = out[powers] + product if powers in out else product
    return out


def combine(functions: Sequence[Polynomial], weights: Sequence[float]) -> Polynomial:
    """Return the sum of functions, each times its weight."""
    out: Polynomial = {}
    for function, weight in zip(functions, weights, strict=True):
        if weight:
            for powers, one in function.items():
                out[powers] = out.get(powers, 0.0) + weight * one
    return out


@dataclass(frozen=True, eq=False)
class States:
    """A column with finitely many true values: labels, bins, or few numbers."""

    name: str
    grid: Grid
    table: FloatArray
    """The weight of the indicator of each state, shape (released cells, states)."""
    values: FloatArray
    """What the states are as numbers from 0 to 1."""
    span: tuple[float, float]
    """Where 0 lies in the unit of the column, and how long 1 is."""
    exact: bool

    @classmethod
    def of_labels(cls, column: Column) -> States:
        """Return the labels of a column; a missing value that takes part in the law is none of them."""
        weights, size = ColumnWeights.of(column), len(column.attribute.categories)
        tables = [weights.weigh(OfLabels(tuple(row))) for row in np.eye(size, size + 1)]
        return cls._of(column, tables, np.arange(size, dtype=np.float64))

    @classmethod
    def of_bins(cls, column: Column, law: Discrete) -> States:
        """Return the bins of a law of numbers."""
        weights, bins = ColumnWeights.of(column), law.bin_grid
        if bins.atoms is not None:
            pieces = [Piece(v, v) for v in bins.atoms]
        else:
            ends = bins.points
            last = len(ends) - 2
            pieces = [Piece(a, b, high_in=i == last) for i, (a, b) in enumerate(pairwise(ends.tolist()))]
        low, width = column.attribute.interval.low, column.attribute.interval.range or 1.0
        values = (bins.centres - low) / width
        if column.attribute.ruler is not None:  # pieces are in the unit of the column
            to_values = column.attribute.to_values
            ends_of = {p: to_values(np.array([p.low, p.high])).tolist() for p in pieces}
            pieces = [replace(p, low=ends_of[p][0], high=ends_of[p][1]) for p in pieces]
            start, size = unit_of(column.attribute)
            values = (to_values(bins.centres) - start) / size
        return cls._of(column, [weights.weigh(OfNumbers(0, NumberSet((piece,)))) for piece in pieces], values)

    @classmethod
    def _of(cls, column: Column, tables: Sequence[Weight], values: FloatArray) -> States:
        cells = [w for w in tables if isinstance(w, CellWeight)]
        table = np.stack([w.table[:-1] for w in cells], axis=1)
        if column.attribute.missing is not Missing.CATEGORY:
            # Every row has one of the states. Σw − 1 has the mean 0 whatever the true state is, so its share may be taken off each.
            table = table - (table.sum(axis=1, keepdims=True) - 1) / table.shape[1]
        span = unit_of(column.attribute) if column.attribute.kind.numeric else (0.0, 1.0)
        return cls(column.name, cells[0].grid, table, values, span, column.channel is None)

    def cells(self, values: FloatArray) -> IntArray:
        """Return the released cell of each value, which is present."""
        return np.minimum(locate(self.grid, values), len(self.table) - 1)


@dataclass(frozen=True, eq=False)
class Powers:
    """A number under smooth noise, or under none: weights of the powers of u, its place from 0 to 1."""

    column: Column
    weights: tuple[Weight, ...]
    """Of u¹, u², … as far as the law has them; of a true number of any power."""
    span: tuple[float, float]
    """Where u = 0 lies in the unit in which the number stands in the formula, and how long u = 1 is."""

    @classmethod
    def of(cls, column: Column, *, place: bool) -> Powers:
        """Return the weights of a number, or of its place on its scale."""
        if place and column.attribute.ruler is not None:
            on_places = replace(column.attribute, scale=None, clip=False, domain=Interval(0.0, 1.0))
            column = replace(column, attribute=on_places)
        weights: list[Weight] = []
        reader, max_power = ColumnWeights.of(column), 8
        for power in range(1, max_power + 1):
            try:
                weights.append(reader.power(power))
            except NoWeightError:
                break
        return cls(column, tuple(weights), (0.0, 1.0) if place else unit_of(column.attribute))

    @property
    def exact(self) -> bool:
        """Whether there is no noise in it."""
        return self.column.channel is None

    def weigh(self, values: FloatArray, power: int) -> FloatArray:
        """Return the weight of u^power; the power itself where there is no noise."""
        if self.exact:
            attribute = self.column.attribute
            low, width = unit_of(attribute)
            return np.asarray(((attribute.to_values(values) - low) / width) ** power)
        if power > len(self.weights):
            raise UsageError(
                f"{self.column.name}: its noise leaves no weight of the power {power}, which this formula needs; "
                "leave its highest power out"
            )
        return self.weights[power - 1](values)

    def to_unit(self, values: FloatArray) -> FloatArray:
        """Return released values in the unit of u, where noise is added to u itself."""
        low, width = self.column.attribute.interval.low, self.column.attribute.interval.range or 1.0
        return (values - low) / width


@dataclass(frozen=True, eq=False)
class Cluster:
    """Terms whose columns hang together, and the response where its column does."""

    states: tuple[States, ...]
    powers: tuple[Powers, ...]
    covariance: FloatArray | None
    """Of the noise of the numbers in the unit of u, where a joint law drew it."""
    places: tuple[int, ...]
    """Which columns of the design its functions are; the response is the last of the design."""
    functions: tuple[Polynomial, ...]

    @property
    def size(self) -> int:
        """The number of combinations of labels."""
        return int(np.prod([s.table.shape[1] for s in self.states], initial=1))

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return (*(s.name for s in self.states), *(p.column.name for p in self.powers))

    @property
    def exact(self) -> bool:
        """Whether there is no noise in it."""
        return all(s.exact for s in self.states) and all(p.exact for p in self.powers)

    @property
    def one(self) -> Polynomial:
        """The function that is 1 wherever no value is missing."""
        return {(0,) * len(self.powers): np.ones(self.size)}

    @property
    def whole(self) -> bool:
        """Whether the weight of 1 is 1 in every row."""
        return all(np.allclose(s.table.sum(axis=1), 1.0, atol=1e-9) for s in self.states)

    def knows(self, function: Polynomial) -> bool:
        """Return whether the laws have weights of all powers in a function."""
        if self.covariance is not None:
            return True
        return all(
            power == 0 or own.exact or power <= len(own.weights)
            for powers in function
            for power, own in zip(powers, self.powers, strict=True)
        )

    def read(self, table: Table, rows: slice) -> ClusterRows:
        """Return some rows, ready to be weighed."""
        flat: IntArray = np.zeros(rows.stop - rows.start, np.int64)
        for states in self.states:
            flat = flat * len(states.table) + states.cells(table[states.name].values[rows])
        return ClusterRows(self, flat, [table[p.column.name].values[rows] for p in self.powers])

    def corners(self, function: Polynomial) -> FloatArray:
        """Return a function at both ends of every number, for all combinations of labels."""
        ends = list(product((0.0, 1.0), repeat=len(self.powers)))
        out = np.zeros((len(ends), self.size))
        for powers, coefficients in function.items():
            at = [math.prod(u**k for u, k in zip(end, powers, strict=True)) for end in ends]
            out += np.outer(at, coefficients)
        return out.ravel()

    def by_cell(self, function: NDArray[Any]) -> NDArray[Any]:
        """Return the weight of a function of the labels at each combination of released cells, shape (…, cells)."""
        shape = [s.table.shape[1] for s in self.states]
        out = function.reshape(*function.shape[:-1], *shape)
        first = function.ndim - 1
        for axis, states in enumerate(self.states):
            out = np.moveaxis(np.tensordot(out, states.table, axes=(first + axis, 1)), -1, first + axis)
        return np.asarray(out.reshape(*function.shape[:-1], -1))


class ClusterRows:
    """Rows of a cluster, and the weights of its functions on them."""

    def __init__(self, cluster: Cluster, cells: IntArray, numbers: list[FloatArray]) -> None:
        self.cluster, self.cells, self.numbers = cluster, cells, numbers
        self._powers: dict[tuple[int, ...], FloatArray | None] = {}

    def weigh(self, functions: Sequence[Polynomial]) -> FloatArray:
        """Return the weights of functions, shape (functions, rows)."""
        out = np.zeros((len(functions), len(self.cells)))
        every = dict.fromkeys(powers for function in functions for powers in function)
        for powers in every:
            mine = [i for i, function in enumerate(functions) if powers in function]
            coefficients = np.stack([functions[i][powers] for i in mine])
            at = coefficients if not self.cluster.states else self.cluster.by_cell(coefficients)[:, self.cells]
            number = self._power(powers)
            out[mine] += at if number is None else at * number
        return out

    def _power(self, powers: tuple[int, ...]) -> FloatArray | None:
        """Return the weight of a product of powers of the numbers; None for 1."""
        if powers not in self._powers:
            if not any(powers):
                self._powers[powers] = None
            elif self.cluster.covariance is not None:
                scaled = np.stack([p.to_unit(v) for p, v in zip(self.cluster.powers, self.numbers, strict=True)])
                self._powers[powers] = joint_powers(scaled, self.cluster.covariance, powers)
            else:
                own = [self._own(i, k) for i, k in enumerate(powers) if k]
                self._powers[powers] = reduce(np.multiply, own)
        return self._powers[powers]

    def _own(self, place: int, power: int) -> FloatArray:
        return self.cluster.powers[place].weigh(self.numbers[place], power)


@dataclass(frozen=True, eq=False)
class Clusters:
    """A design as its clusters, on terms that were centred and scaled; `back` leads from their coefficients to those asked for."""

    design: Design
    clusters: tuple[Cluster, ...]
    intercept: int | None
    """The place of the intercept, which belongs to no cluster."""
    back: FloatArray
    """Coefficients of the formula = back @ coefficients of the scaled terms."""
    bins: tuple[str, ...]
    """Columns of numbers that are known up to their bin."""
    unit: tuple[float, float]
    """The response is unit[0] + unit[1] × the scaled response."""
    missing: Mapping[str, float]
    """Of columns released as true whose missing values are a category, the code of these."""

    @classmethod
    def of(cls, design: Design, columns: Sequence[Column], *, linear: bool = True) -> Clusters:
        """Group the terms of a design; with `linear` the response is scaled, and may share a cluster with terms."""
        by_name = {c.name: c for c in columns}
        factors = [tuple(t.factors) for t in design.terms] + [(design.response,)]
        groups = _groups(design, by_name)
        place_of = {name: i for i, group in enumerate(groups) for name in group}
        axes = [_axes(group, factors, by_name) for group in groups]
        middle = any(not t.factors for t in design.terms)
        p = len(design.terms)
        back = np.eye(p)
        functions: list[list[tuple[int, Polynomial]]] = [[] for _ in groups]
        intercept = next((i for i, t in enumerate(design.terms) if not t.factors), None)
        unit = (0.0, 1.0)
        for i, parts in enumerate(factors):
            if not parts:
                continue
            group = place_of[parts[0].column]
            states, powers = axes[group]
            function = None
            alone = len(parts) == 1 and parts[0].level is None
            for factor in parts:
                numeric = factor.level is None
                low, width = _span(factor, states, powers)
                centre, scale = 0.0, 1.0
                if numeric and i < p:
                    centre = 0.5 if middle and alone and factor.power == 1 else 0.0
                    scale = width if centre else max(abs(low), abs(low + width))
                elif numeric and linear:
                    centre = 0.5 if middle else 0.0
                    scale = width if middle else max(abs(low), abs(low + width))
                    unit = (low + 0.5 * width if middle else 0.0, scale)
                one = _factor_function(factor, states, powers, centre, scale)
                function = one if function is None else multiply(function, one)
                if numeric and i < p:
                    back[i, :] /= scale**factor.power
                    if centre and intercept is not None:
                        back[intercept, i] = -(low + 0.5 * width) / scale
            assert function is not None
            functions[group].append((i, function))
        clusters = []
        for (states, powers), mine in zip(axes, functions, strict=True):
            covariance = _joint(powers)
            clusters.append(
                Cluster(states, powers, covariance, tuple(i for i, _ in mine), tuple(function for _, function in mine))
            )
        binned = tuple(
            s.name
            for c in clusters
            for s in c.states
            if by_name[s.name].attribute.kind.numeric and s.name not in design.by_level and not _atoms(by_name[s.name])
        )
        missing = {
            c.name: float(len(c.attribute.categories))
            for c in columns
            if c.channel is None and c.attribute.missing is Missing.CATEGORY
        }
        return cls(design, tuple(clusters), intercept, back * unit[1] if linear else back, binned, unit, missing)

    @property
    def size(self) -> int:
        """p, the number of coefficients."""
        return len(self.design.terms)

    def present(self, table: Table) -> BoolArray:
        """Return the rows that have a value in every column of the formula."""
        out: BoolArray = np.ones(table.rows, dtype=bool)
        for name in self.design.columns:
            values = table[name].values
            out &= ~np.isnan(values) & ~(values >= self.missing.get(name, math.inf))
        return out


def _atoms(column: Column) -> bool:
    return isinstance(column.channel, Discrete) and column.channel.bin_grid.atoms is not None


def _groups(design: Design, columns: dict[str, Column]) -> list[tuple[str, ...]]:
    """Return the columns that stand in one term or share a joint law, group by group."""
    group = {name: {name} for name in design.columns}
    links = [tuple(f.column for f in t.factors) for t in design.terms]
    laws: dict[object, list[str]] = {}
    for name in design.columns:
        channel = columns[name].channel
        if channel is not None and channel.joint is not None:
            laws.setdefault(channel.joint, []).append(name)
    for names in (*links, *(tuple(v) for v in laws.values())):
        merged = set().union(*(group[n] for n in names)) if names else set()
        for name in merged:
            group[name] = merged
    out = []
    for name in design.columns:
        ordered = tuple(n for n in design.columns if n in group[name])
        if ordered not in out:
            out.append(ordered)
    return out


def _axes(
    group: Sequence[str], factors: Sequence[tuple[Factor, ...]], columns: dict[str, Column]
) -> tuple[tuple[States, ...], tuple[Powers, ...]]:
    """Return how each column of a group is read."""
    states, powers = [], []
    place = {f.column: f.place for parts in factors for f in parts}
    for name in group:
        column = columns[name]
        if not column.attribute.kind.numeric:
            states.append(States.of_labels(column))
        elif isinstance(column.channel, Discrete):
            states.append(States.of_bins(column, column.channel))
        else:
            powers.append(Powers.of(column, place=place[name]))
    return tuple(states), tuple(powers)


def _span(factor: Factor, states: Sequence[States], powers: Sequence[Powers]) -> tuple[float, float]:
    """Return where a number begins in the unit of its term, and how long its domain is."""
    spans = {s.name: s.span for s in states} | {p.column.name: p.span for p in powers}
    return (0.0, 1.0) if factor.place else spans[factor.column]


def _factor_function(
    factor: Factor, states: Sequence[States], powers: Sequence[Powers], centre: float, scale: float
) -> Polynomial:
    """Return ((low + width u − centre of the domain) / scale)^power, or the indicator of a label."""
    sizes = [s.table.shape[1] for s in states]
    size, zero = int(np.prod(sizes, initial=1)), (0,) * len(powers)
    axis = next((i for i, s in enumerate(states) if s.name == factor.column), None)
    low, width = _span(factor, states, powers)
    if axis is not None:
        own = np.zeros(sizes[axis])
        if factor.level is not None:
            own[factor.level] = 1.0
        else:
            u = states[axis].values
            own = ((low * (not centre) + width * (u - centre)) / scale) ** factor.power
        shape = [1] * len(sizes)
        shape[axis] = -1
        return {zero: np.broadcast_to(own.reshape(shape), sizes).reshape(-1).copy()}
    place = next(i for i, p in enumerate(powers) if p.column.name == factor.column)
    first = tuple(int(i == place) for i in range(len(powers)))
    constant = (low * (not centre) - width * centre) / scale
    linear: Polynomial = {zero: np.full(size, constant), first: np.full(size, width / scale)}
    return reduce(multiply, [linear] * factor.power)


def _joint(powers: Sequence[Powers]) -> FloatArray | None:
    """Return the covariance of noise that was drawn together, with the variance of its rounding; None where none was."""
    columns = [p.column for p in powers]
    covariance = noise_covariance(columns)
    if np.count_nonzero(covariance - np.diag(np.diag(covariance))) == 0:
        return None
    for column, own in zip(columns, np.diag(covariance), strict=True):
        if not own:
            raise UsageError(
                f"{column.name}: stands in one term with a column that shares its noise with others; leave that interaction out"
            )
        if column.attribute.ruler is not None:
            raise UsageError(
                f"{column.name}: its noise was drawn with that of other columns; write place({column.name})"
            )
    for i, column in enumerate(columns):
        step = 0.0 if column.channel is None else column.channel.step or 0.0
        covariance[i, i] += (step / unit_of(column.attribute)[1]) ** 2 / 12
    return covariance
