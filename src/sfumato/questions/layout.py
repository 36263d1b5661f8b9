"""How a figure is laid out: which columns are axes, which cells are one class, and which sums are needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.channels import Discrete
from sfumato.counts import IntArray
from sfumato.errors import UsageError
from sfumato.questions.axes import Axis, make_axis
from sfumato.questions.conditions import TRUE, Always, Both, Cells, Condition, Key, Values, merge_ends
from sfumato.questions.query import Asked
from sfumato.questions.statistics import Plan, monomials_of
from sfumato.questions.sums import CellSums, Masks, Monomial, Numbers, Total, order_pair
from sfumato.schema import Kind
from sfumato.table import Column
from sfumato.text import join_names

MAX_CELLS = 4_000_000
"""More combinations of codes than this fit no memory, and no rows fill them."""


@dataclass(frozen=True, eq=False)
class Layout:
    """One figure: its totals over classes, the group of each combination of classes, and the sums to fold."""

    plan: Plan
    masks: Masks
    groups: IntArray
    count: CellSums
    exact: bool
    """Whether nothing that it asks of has noise."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The cells of all columns that a figure's conditions and the groups ask of, merged into classes."""

    columns: tuple[Column, ...]
    cells: tuple[Cells, ...]
    classes: tuple[IntArray, ...]
    """The class of each cell, one array per column."""
    arrays: tuple[Any, ...]
    """The group, and the truth of each condition, by class of every column."""

    @classmethod
    def of(
        cls, columns: Mapping[str, Column], keys: Sequence[Key], conditions: Sequence[Condition], extra: Sequence[str]
    ) -> Cut:
        """Cut the columns; `extra` are columns that need an axis though nothing is asked of them."""
        ends = merge_ends((*keys, *conditions))
        names = [*ends, *(name for name in extra if name not in ends)]
        chosen = tuple(columns[name] for name in names)
        cells = tuple(cut_column(columns[name], ends.get(name, ())) for name in names)
        shape = tuple(len(c.values) for c in cells)
        check_size(math.prod(shape), names)
        values = lay_out(names, cells)
        places = np.zeros((1,) * len(shape), dtype=np.int64)
        for key in keys:
            places = places * len(key.groups()) + key.places(values)
        parts: list[Any] = [places, *(condition.truth(values) for condition in conditions)]
        full = [np.broadcast_to(part, shape) for part in parts]
        classes = []
        for axis in range(len(shape)):
            sliced = [np.moveaxis(part, axis, 0).reshape(shape[axis], -1) for part in full]
            classes.append(merge_alike(np.concatenate(sliced, axis=1).astype(np.int64), apart=names[axis] in extra))
        arrays = full
        for axis, merged in enumerate(classes):
            _, first = np.unique(merged, return_index=True)
            arrays = [np.take(a, first, axis=axis) for a in arrays]
        return cls(chosen, cells, tuple(classes), tuple(arrays))


def merge_alike(slices: IntArray, *, apart: bool = False) -> IntArray:
    """Return the class of each cell: those with equal slices are one; the last, a missing value, may be kept apart.

    Examples
    --------
    >>> merge_alike(np.array([[1, 0], [0, 0], [1, 0]])).tolist()
    [1, 0, 1]
    """
    slices = np.ascontiguousarray(slices)
    known = {row: place for place, row in enumerate(sorted({row.tobytes() for row in slices}))}
    out = np.array([known[row.tobytes()] for row in slices], dtype=np.int64)
    if apart and np.count_nonzero(out == out[-1]) > 1:
        out = out.copy()
        out[-1] = out.max() + 1
    return np.asarray(out, dtype=np.int64)


def cut_column(column: Column, ends: tuple[float, ...]) -> Cells:
    """Return the cells of a column: its labels, or numbers between the ends that are asked for."""
    if not column.attribute.kind.numeric:
        return Cells.of_labels(len(column.attribute.categories))
    return Cells.of_numbers(ends)


def lay_out(names: Sequence[str], cells: Sequence[Cells]) -> Values:
    """Return one value per cell of each column, each along an axis of its own."""
    shapes = [tuple(-1 if i == axis else 1 for i in range(len(names))) for axis in range(len(names))]
    return {name: np.array(c.values).reshape(shape) for name, c, shape in zip(names, cells, shapes, strict=True)}


def check_size(size: int, names: Sequence[str]) -> None:
    """Raise UsageError where a question cuts its columns into more combinations than can be counted."""
    if size > MAX_CELLS:
        raise UsageError(
            f"{join_names(list(names))}: the question cuts them into {size:,} combinations, and at most {MAX_CELLS:,} are counted; "
            "ask of fewer columns, or in wider buckets"
        )


def lay_out_figure(asked: Asked, where: Condition, keys: Sequence[Key], columns: Mapping[str, Column]) -> Layout:
    """Return the layout of a figure; raise NoWeightError where a law leaves no unbiased weight.

    Parameters
    ----------
    asked
        The figure.
    where
        Which rows are looked at.
    keys
        What they are grouped by.
    columns
        The columns of the release by name; their values are not used.
    """
    binned = [name for name in dict.fromkeys(asked.columns) if is_binned(columns[name])]
    rows = Both(where, asked.rows)
    among = Both(where, asked.among or Always())
    cut = Cut.of(columns, keys, (rows, among), binned)
    masks, groups = Masks(), np.asarray(cut.arrays[0])
    for_rows, for_among = (masks.add(np.ascontiguousarray(a == TRUE)) for a in cut.arrays[1:])
    monomials = monomials_of(asked)
    places = [for_rows] * len(monomials)
    if asked.statistic.value == "share":
        places = [for_rows, for_among]
    totals = tuple(Total(place, monomial) for place, monomial in zip(places, monomials, strict=True))
    axes = tuple(
        make_axis(column, cells, classes, _powers(totals, column.name) if column.name in binned else ())
        for column, cells, classes in zip(cut.columns, cut.cells, cut.classes, strict=True)
    )
    check_size(math.prod(axis.size for axis in axes), [axis.name for axis in axes])
    exact = all(axis.exact for axis in axes) and all(columns[name].channel is None for name in asked.columns)
    plan = Plan(asked, totals, for_among if asked.among is not None else None)
    return Layout(plan, masks, groups, _sums(totals, axes, columns, exact=exact), exact)


def is_binned(column: Column) -> bool:
    """Whether the law of a column of numbers releases bins."""
    return column.attribute.kind.numeric and isinstance(column.channel, Discrete)


def is_smooth(column: Column) -> bool:
    """Whether the law of a column of numbers spreads a value over all others."""
    return column.attribute.kind.numeric and column.channel is not None and not is_binned(column)


def _powers(totals: Sequence[Total], name: str) -> list[int]:
    """Return the powers of a column that totals and their products have."""
    single = {power for total in totals for other, power in total.monomial if other == name}
    return sorted(single | {a + b for a in single for b in single})


def _sums(totals: Sequence[Total], axes: tuple[Axis, ...], columns: Mapping[str, Column], *, exact: bool) -> CellSums:
    """Return the sums that totals, and the covariance of their noise, are made of."""
    on_axes = {axis.name for axis in axes if axis.powers}

    def rest(total: Total) -> Monomial:
        return tuple((name, power) for name, power in total.monomial if name not in on_axes)

    masks = Masks()
    masks.add(np.ones(1, dtype=bool))
    plain = [Total(0, total.monomial) for total in totals]
    monomials = {(), *(rest(total) for total in plain)}
    pairs: set[tuple[Monomial, Monomial]] = set()
    if not exact:
        for i, one in enumerate(plain):
            for other in plain[i:]:
                monomials.add(rest(one.times(other, masks)))
                pairs.add(order_pair(rest(one), rest(other)))
    names = sorted({name for monomial in monomials for name, _ in monomial})
    numbers = Numbers.of([columns[name] for name in names], sorted(monomials))
    return CellSums(axes, numbers, tuple(sorted(monomials)), tuple(sorted(pairs)))


def needs_fit(asked: Asked, where: Condition, keys: Sequence[Key], columns: Mapping[str, Column]) -> bool:
    """Whether a figure asks for a range of a column under smooth noise, or for a quantile of a column with noise."""
    conditions: list[Condition | Key] = [where, *keys, asked.rows, asked.among or Always()]
    ranges = [name for name, ends in merge_ends(conditions).items() if ends and is_smooth(columns[name])]
    quantile = asked.statistic.value == "quantile"
    return bool(ranges) or (
        quantile and any(columns[name].channel is not None for name in [*asked.columns, *merge_ends(conditions)])
    )


def days_of(column: Column) -> bool:
    """Whether the numbers of a column are days."""
    return column.attribute.kind is Kind.DATE
