"""Conditions and groups over true values, in SQL's logic of three values: false, unknown, true.

What a question asks of a column cuts its values into cells on which every condition is constant: the labels, or the numbers and
intervals between the ends that the question names, and the missing value last. So a condition over several columns is an array
with one axis per column.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.questions.functions import NumberSet, Piece

Truth = NDArray[np.int8]
FALSE, UNKNOWN, TRUE = 0, 1, 2
Values = Mapping[str, FloatArray]
"""One value per cell of each column, shaped to be broadcast against the others; labels are codes, a missing value is NaN."""


class Condition(ABC):
    """What is true, false or unknown of a row."""

    @abstractmethod
    def truth(self, values: Values) -> Truth:
        """Return 2 where it is true, 1 where it is unknown, 0 where it is false."""

    @abstractmethod
    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give each column it asks of, with the numbers at which its answer may change."""


@dataclass(frozen=True)
class InSet(Condition):
    """Whether a number lies in a set; unknown where it is missing."""

    column: str
    numbers: NumberSet

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        cells = values[self.column]
        return np.where(np.isnan(cells), UNKNOWN, np.where(self.numbers.holds(cells), TRUE, FALSE)).astype(np.int8)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give the ends of the pieces."""
        yield self.column, tuple(e for p in self.numbers.pieces for e in (p.low, p.high) if math.isfinite(e))


@dataclass(frozen=True)
class HasLabel(Condition):
    """Whether a label is one of some; unknown where it is missing."""

    column: str
    codes: frozenset[int]

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        cells = values[self.column]
        member = np.isin(cells, list(self.codes))
        return np.where(np.isnan(cells), UNKNOWN, np.where(member, TRUE, FALSE)).astype(np.int8)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give the column."""
        yield self.column, ()


@dataclass(frozen=True)
class IsMissing(Condition):
    """Whether there is no value."""

    column: str

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        return np.where(np.isnan(values[self.column]), TRUE, FALSE).astype(np.int8)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give the column."""
        yield self.column, ()


@dataclass(frozen=True)
class Always(Condition):
    """True, false or unknown of every row."""

    value: int = TRUE

    def truth(self, values: Values) -> Truth:  # noqa: ARG002 - the same of every row
        """Return the truth."""
        return np.array(self.value, dtype=np.int8)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give nothing."""
        return ()


@dataclass(frozen=True)
class Truly(Condition):
    """Whether a condition is true: false where it is unknown."""

    condition: Condition

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        return np.where(self.condition.truth(values) == TRUE, TRUE, FALSE).astype(np.int8)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give those of the condition."""
        return self.condition.ends()


@dataclass(frozen=True)
class Not(Condition):
    """The opposite; unknown where the condition is unknown."""

    condition: Condition

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        return np.asarray(TRUE - self.condition.truth(values), dtype=np.int8)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give those of the condition."""
        return self.condition.ends()


@dataclass(frozen=True)
class Both(Condition):
    """And: the less true of the two."""

    one: Condition
    other: Condition

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        return np.minimum(self.one.truth(values), self.other.truth(values))

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give those of both."""
        yield from self.one.ends()
        yield from self.other.ends()


@dataclass(frozen=True)
class Either(Condition):
    """Or: the truer of the two."""

    one: Condition
    other: Condition

    def truth(self, values: Values) -> Truth:
        """Return the truth on each cell."""
        return np.maximum(self.one.truth(values), self.other.truth(values))

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give those of both."""
        yield from self.one.ends()
        yield from self.other.ends()


class Key(ABC):
    """What rows are grouped by."""

    @abstractmethod
    def places(self, values: Values) -> IntArray:
        """Return the place of each cell's group among `groups`."""

    @abstractmethod
    def groups(self) -> tuple[Any, ...]:
        """Return the value of every group that there may be, None where it is NULL."""

    @abstractmethod
    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give each column it asks of, with the numbers at which its answer may change."""


@dataclass(frozen=True)
class LabelKey(Key):
    """Group by the labels of a column; the missing value is the last group."""

    column: str
    labels: tuple[str, ...]

    def places(self, values: Values) -> IntArray:
        """Return the code, and the number of labels where there is none."""
        cells = values[self.column]
        return np.where(np.isnan(cells), len(self.labels), np.nan_to_num(cells)).astype(np.int64)

    def groups(self) -> tuple[Any, ...]:
        """Return the labels and None."""
        return (*self.labels, None)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give the column."""
        yield self.column, ()


@dataclass(frozen=True)
class NumberKey(Key):
    """Group by single numbers; all others and the missing value are the last group."""

    column: str
    numbers: tuple[float, ...]

    def places(self, values: Values) -> IntArray:
        """Return the place of the number."""
        cells = values[self.column]
        if not self.numbers:
            return np.zeros(np.shape(cells), dtype=np.int64)
        known = np.array(self.numbers)
        near = np.clip(np.searchsorted(known, cells), 0, len(known) - 1)
        return np.where(known[near] == cells, near, len(known)).astype(np.int64)

    def groups(self) -> tuple[Any, ...]:
        """Return the numbers and None."""
        return (*self.numbers, None)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give the numbers."""
        yield self.column, self.numbers


@dataclass(frozen=True)
class BucketKey(Key):
    """Group by floor(x/width), times width where it is `scaled`; the missing value is the last group."""

    column: str
    width: float
    scaled: bool
    first: int
    last: int
    """floor(x/width) at both ends of the domain."""

    def places(self, values: Values) -> IntArray:
        """Return the place of the bucket; beyond the domain that of the end."""
        cells = values[self.column]
        bucket = np.clip(np.floor(cells / self.width), self.first, self.last) - self.first
        return np.where(np.isnan(cells), self.last - self.first + 1, np.nan_to_num(bucket)).astype(np.int64)

    def groups(self) -> tuple[Any, ...]:
        """Return where each bucket begins, or its number, and None."""
        numbers = range(self.first, self.last + 1)
        return (*(n * self.width if self.scaled else float(n) for n in numbers), None)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give the least number of each bucket, as a division by the width sees it."""
        yield self.column, tuple(_first_in_bucket(n, self.width) for n in range(self.first + 1, self.last + 1))


def _first_in_bucket(number: int, width: float) -> float:
    """Return the least float64 x with floor(x/width) ≥ number."""
    x = number * width
    while math.floor(math.nextafter(x, -math.inf) / width) >= number:
        x = math.nextafter(x, -math.inf)
    while math.floor(x / width) < number:
        x = math.nextafter(x, math.inf)
    return x


@dataclass(frozen=True)
class CaseKey(Key):
    """Group by the value that belongs to the first condition that is true."""

    branches: tuple[tuple[Condition, Any], ...]
    default: Any = None

    @property
    def _values(self) -> list[Any]:
        out: list[Any] = []
        for value in (*(value for _, value in self.branches), self.default):
            if value is not None and not any(type(v) is type(value) and v == value for v in out):
                out.append(value)
        return [*out, None]

    def _place(self, value: Any) -> int:
        return next(i for i, v in enumerate(self._values) if v is value or (type(v) is type(value) and v == value))

    def places(self, values: Values) -> IntArray:
        """Return the place of the value of the first true condition."""
        out: Any = np.array(self._place(self.default))
        for condition, value in reversed(self.branches):
            out = np.where(condition.truth(values) == TRUE, self._place(value), out)
        return np.asarray(out, dtype=np.int64)

    def groups(self) -> tuple[Any, ...]:
        """Return the values, each once, and None."""
        return tuple(self._values)

    def ends(self) -> Iterable[tuple[str, tuple[float, ...]]]:
        """Give those of all conditions."""
        for condition, _ in self.branches:
            yield from condition.ends()


def merge_ends(parts: Iterable[Condition | Key]) -> dict[str, tuple[float, ...]]:
    """Return every column that is asked of, with all numbers at which an answer may change, in order."""
    out: dict[str, set[float]] = {}
    for part in parts:
        for column, ends in part.ends():
            out.setdefault(column, set()).update(ends)
    return {column: tuple(sorted(ends)) for column, ends in out.items()}


@dataclass(frozen=True)
class Cells:
    """The cells of one column: numbers and the intervals between them, or labels; the missing value is the last."""

    values: tuple[float, ...]
    """A value inside each cell, NaN for the last."""
    pieces: tuple[Piece, ...] = ()
    """The numbers of each cell but the last; nothing for labels."""

    @classmethod
    def of_labels(cls, size: int) -> Cells:
        """Return one cell per label."""
        return cls((*map(float, range(size)), math.nan))

    @classmethod
    def of_numbers(cls, ends: tuple[float, ...]) -> Cells:
        """Return the cells between the ends, and the ends.

        Examples
        --------
        >>> Cells.of_numbers((40.0,)).values
        (39.0, 40.0, 41.0, nan)
        """
        if not ends:
            return cls((0.0, math.nan), (Piece(),))
        values, pieces = [ends[0] - max(1.0, abs(ends[0]) * 1e-6)], [Piece(high=ends[0], high_in=False)]
        for place, end in enumerate(ends):
            values.append(end)
            pieces.append(Piece(end, end))
            if place + 1 < len(ends):
                after = ends[place + 1]
                between = end + (after - end) / 2
                if end < between < after:
                    values.append(between)
                    pieces.append(Piece(end, after, low_in=False, high_in=False))
        values.append(ends[-1] + max(1.0, abs(ends[-1]) * 1e-6))
        pieces.append(Piece(low=ends[-1], low_in=False))
        return cls((*values, math.nan), tuple(pieces))
