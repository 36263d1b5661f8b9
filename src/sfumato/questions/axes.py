"""The columns that conditions and groups ask of, as axes: cells of the true value, merged, read off codes of the released one.

Cells that no condition and no group tells apart are one class. Released values that say the same of all classes are one code. So a
question about one of fifty labels under k-ary response has two classes and two codes, and rows are counted in a small table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.channels import Discrete
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.questions.conditions import Cells
from sfumato.questions.functions import NumberSet, OfLabels, OfNumbers
from sfumato.questions.weights import CellWeight, ColumnWeights, NoWeightError, Reading, Weight, locate
from sfumato.table import Column


@dataclass(frozen=True, eq=False)
class Codes:
    """The code of each released value; it travels to any worker as it is."""

    places: IntArray
    """The code of each place; the last is that of a missing value."""
    grid: Grid | None = None
    """Where released values are located; without it and without `ends`, all that are present have place 0."""
    ends: FloatArray | None = None
    """For numbers that are released as true: the ends between cells, of which each is a cell itself."""

    def __call__(self, values: FloatArray) -> IntArray:
        """Return the codes."""
        if self.grid is not None:
            return np.asarray(self.places[locate(self.grid, values)])
        absent = np.isnan(values)
        if self.ends is None or not len(self.ends):
            return np.where(absent, self.places[-1], self.places[0])
        place = np.searchsorted(self.ends, values)
        at_end = self.ends[np.minimum(place, len(self.ends) - 1)] == values
        return np.asarray(self.places[np.where(absent, -1, 2 * place + at_end)])


@dataclass(frozen=True, eq=False)
class Axis:
    """One column: the classes of its true value, and what each code says of them."""

    name: str
    codes: Codes
    size: int
    """The number of codes."""
    classes: int
    indicators: FloatArray | None = None
    """Weights of the indicators, shape (classes, codes); None where a code is a class."""
    powers: Mapping[int, FloatArray] = field(default_factory=dict)
    """Weights of u^k inside each class, 0 where the value is missing."""
    below: Mapping[int | None, FloatArray] = field(default_factory=dict)
    above: Mapping[int | None, FloatArray] = field(default_factory=dict)
    """Bounds of the indicators (None) and powers, where a class or a power varies inside a bin."""

    @property
    def exact(self) -> bool:
        """Whether a code says which class it is."""
        return self.indicators is None

    def matrix(self, power: int | None, side: str = "") -> FloatArray | None:
        """Return the weights of the indicators, or of u^power inside each class; `side` is "below" or "above"."""
        bounds = self.below if side == "below" else self.above if side == "above" else {}
        if power in bounds:
            return bounds[power]
        return self.indicators if power is None else self.powers[power]


def make_axis(column: Column, cells: Cells, classes: IntArray, powers: Sequence[int]) -> Axis:
    """Return the axis of a column.

    Parameters
    ----------
    column
        The column; its values are not used.
    cells
        The cells that the question cuts it into; the last is the missing value.
    classes
        The class of each cell.
    powers
        The powers of its numbers that figures need, where it is read as bins.
    """
    size = int(classes.max()) + 1
    if column.channel is None:
        return Axis(column.name, _true_codes(column, cells, classes), size, size)
    weights = ColumnWeights.of(column)
    if column.attribute.kind.numeric and not isinstance(column.channel, Discrete):
        if len(cells.values) > 2 and len(np.unique(classes[:-1])) > 1:
            raise NoWeightError(
                f"{column.name}: a range cannot be read through {column.channel.law} noise without bias"
            )
        return Axis(column.name, Codes(np.array([classes[0], classes[-1]])), size, size)
    weights_by_power = [_class_weights(weights, cells, classes, power) for power in (None, *powers)]
    return _compress(column.name, size, [None, *powers], weights_by_power)


def _true_codes(column: Column, cells: Cells, classes: IntArray) -> Codes:
    if not column.attribute.kind.numeric:
        extra = len(column.attribute.labels) - len(
            column.attribute.categories
        )  # a missing value that takes part has a code
        return Codes(np.append(classes, classes[[-1] * extra]), grid=Grid.categories(column.attribute.labels))
    ends = np.array([p.low for p in cells.pieces if p.low == p.high])
    places = np.full(2 * len(ends) + 2, classes[-1])  # 2k lies below end k, 2k + 1 is end k
    values = np.array(cells.values[:-1])
    place = np.searchsorted(ends, values)
    at_end = ends[np.minimum(place, len(ends) - 1)] == values if len(ends) else np.zeros(len(values), dtype=bool)
    places[2 * place + at_end] = classes[:-1]
    return Codes(places, ends=ends)


def _class_weights(weights: ColumnWeights, cells: Cells, classes: IntArray, power: int | None) -> list[Weight]:
    """Return the weight of each class's indicator, or of u^power inside it."""
    out = []
    for number in range(int(classes.max()) + 1):
        inside = classes == number
        missing = float(inside[-1]) if power is None else 0.0
        if not cells.pieces:
            out.append(weights.weigh(OfLabels((*inside[:-1].astype(float).tolist(), missing))))
            continue
        pieces = tuple(p for p, chosen in zip(cells.pieces, inside[:-1], strict=True) if chosen)
        every = len(pieces) == len(cells.pieces)
        out.append(weights.weigh(OfNumbers(power or 0, None if every else NumberSet(pieces), missing)))
    return out


def _compress(name: str, size: int, powers: Sequence[int | None], found: Sequence[Sequence[Weight]]) -> Axis:
    """Return the axis whose codes are the released values that say different things."""
    tables: list[FloatArray] = []
    for side in ("", "below", "above"):
        tables += [np.stack([_table(w, side) for w in weights]) for weights in found]
    every = np.concatenate(tables)
    _, first, places = np.unique(every.round(12), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(
        tables[0][:, first].argmax(axis=0), kind="stable"
    )  # so that a code which is a class has its number
    first, places = first[order], np.argsort(order)[places.reshape(-1)]
    kept = [table[:, first] for table in tables]
    middle, below, above = (dict(zip(powers, kept[i * len(powers) :], strict=False)) for i in range(3))
    bounded = [
        p for p, weights in zip(powers, found, strict=True) if any(w.reading is Reading.BOUNDED for w in weights)
    ]
    first_weight = found[0][0]
    assert isinstance(first_weight, CellWeight)
    indicators = middle[None]
    one_hot = (
        None not in bounded and np.array_equal(indicators, np.eye(size)) and not [p for p in powers if p is not None]
    )
    return Axis(
        name,
        Codes(places, grid=first_weight.grid),
        len(first),
        size,
        None if one_hot else indicators,
        {p: table for p, table in middle.items() if p is not None},
        {p: below[p] for p in bounded},
        {p: above[p] for p in bounded},
    )


def _table(weight: Weight, side: str) -> FloatArray:
    bound = {"below": weight.below, "above": weight.above}.get(side)
    chosen = weight if bound is None else bound
    assert isinstance(chosen, CellWeight)
    return chosen.table
