"""Numbers that may stand for a missing value, such as −999: lone ends of a column, repeated, far from all other values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.counts import FloatArray

KEPT = 3
LEAST_SHARE = 0.01
FAR, FAR_MARK = 10.0, 1.0
"""How many widths of the rest lie between it and a value that is a mark: any number, and one of nines as marks are."""
MINUS_ONE_GAP, MINUS_ONE_TIMES, MINUS_ONE_VALUES = 0.05, 3, 6

End = tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class Ends:
    """The lowest and the highest few values of a column, outermost first, and how often each stands there.

    A value among the lowest three of a table is among the lowest three of every block that holds it, so counts add up exactly.
    """

    lows: End = ()
    highs: End = ()

    @classmethod
    def of(cls, values: FloatArray) -> Ends:
        """Return the ends of finite numbers."""
        return cls(_lowest(values), tuple((-v, n) for v, n in _lowest(-values)))

    def __add__(self, other: Ends) -> Ends:
        return Ends(_merged(self.lows, other.lows, 1), _merged(self.highs, other.highs, -1))


def sentinels(ends: Ends, rows: int, distinct: int | None) -> list[tuple[float, int]]:
    """Return values that look like marks for missing, with their counts; `distinct` is the number of values, None if large."""
    many = distinct is None or distinct > MINUS_ONE_VALUES
    return _beyond(ends.lows, ends.highs, rows, 1, many=many) + _beyond(ends.highs, ends.lows, rows, -1, many=many)


def _lowest(values: FloatArray) -> End:
    out: list[tuple[float, int]] = []
    while len(values) and len(out) < KEPT:
        low = values.min()
        above = values[values > low]
        out.append((float(low), len(values) - len(above)))
        values = above
    return tuple(out)


def _merged(a: End, b: End, sign: int) -> End:
    counts = dict(a)
    for value, count in b:
        counts[value] = counts.get(value, 0) + count
    return tuple(sorted(counts.items(), key=lambda item: sign * item[0])[:KEPT])


def _beyond(near: End, other: End, rows: int, sign: int, *, many: bool) -> list[tuple[float, int]]:
    """Return marks at one end; the outermost value of the other end may be one too, and is left out of the rest's width."""
    found: list[tuple[float, int]] = []
    for place, ((value, count), (following, followers)) in enumerate(pairwise(near)):
        widths = [sign * (v - following) for v, _ in other[:2] if sign * (v - following) > 0]
        if not widths or count < LEAST_SHARE * rows:
            continue
        gap, width = sign * (following - value), min(widths)
        far = gap >= (FAR_MARK if _is_mark(value) else FAR) * width
        lone_minus = value == -1 and following >= 0 and many and sign > 0
        if far or (lone_minus and (gap >= MINUS_ONE_GAP * width or count >= MINUS_ONE_TIMES * followers)):
            found = [end for end in near[: place + 1] if end[1] >= LEAST_SHARE * rows]
    return found


def _is_mark(value: float) -> bool:
    """Return 9, 99, 999, … and 88, 888, … of either sign, which people write where a file of numbers needs a number."""
    digits = f"{abs(value):.0f}"
    return value == np.round(value) and (set(digits) == {"9"} or (len(digits) > 1 and set(digits) <= {"8"}))
