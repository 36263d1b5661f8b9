"""What can be asked of one column's true value: a number for each label, or a power of the value inside a set of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts import BoolArray, FloatArray
from sfumato.schema import Attribute


@dataclass(frozen=True, order=True)
class Piece:
    """All numbers between two ends; each end belongs to it or does not."""

    low: float = -math.inf
    high: float = math.inf
    low_in: bool = True
    high_in: bool = True

    def holds(self, values: FloatArray) -> BoolArray:
        """Return whether each value lies in it."""
        above = values >= self.low if self.low_in else values > self.low
        below = values <= self.high if self.high_in else values < self.high
        return np.asarray(above & below)


@dataclass(frozen=True)
class NumberSet:
    """A set of numbers: pieces that do not touch each other.

    Examples
    --------
    >>> teens = NumberSet((Piece(13, 20, high_in=False),))
    >>> teens.holds(np.array([12.0, 13.0, 20.0])).tolist()
    [False, True, False]
    """

    pieces: tuple[Piece, ...]

    def holds(self, values: FloatArray) -> BoolArray:
        """Return whether each value lies in the set; a missing value does not."""
        out = np.zeros(np.shape(values), dtype=bool)
        for piece in self.pieces:
            out |= piece.holds(values)
        return out


@dataclass(frozen=True)
class OfLabels:
    """A number for each label of a column and, last, one for a missing value.

    Examples
    --------
    >>> OfLabels((0.0, 1.0, 0.0)).square.values
    (0.0, 1.0, 0.0)
    """

    values: tuple[float, ...]

    @property
    def square(self) -> OfLabels:
        """The square of the function."""
        return OfLabels(tuple(v * v for v in self.values))


@dataclass(frozen=True)
class OfNumbers:
    """u^power where the value lies in a set, 0 elsewhere; u runs from 0 at the low to 1 at the high end of the domain.

    Parameters
    ----------
    power : int
        0 asks whether the value is there.
    inside : NumberSet, optional
        The set, in the unit of the column; by default all numbers.
    missing : float
        The function of a missing value.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> OfNumbers(2).at(np.array([50.0, np.nan]), age).tolist()
    [0.25, 0.0]
    """

    power: int = 0
    inside: NumberSet | None = None
    missing: float = 0.0

    @property
    def square(self) -> OfNumbers:
        """The square of the function."""
        return replace(self, power=2 * self.power, missing=self.missing**2)

    def at(self, values: FloatArray, attribute: Attribute) -> FloatArray:
        """Return the function of values in the unit of the column, NaN where missing."""
        low, width = unit_of(attribute)
        out = ((values - low) / width) ** self.power if self.power else np.ones(len(values))
        if self.inside is not None:
            out = np.where(self.inside.holds(values), out, 0.0)
        return np.where(np.isnan(values), self.missing, out)


Function = OfLabels | OfNumbers


def unit_of(attribute: Attribute) -> tuple[float, float]:
    """Return where u = 0 lies in the unit of a column of numbers, and how long u = 1 is.

    >>> import sfumato as sf
    >>> unit_of(sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(20, 100)))
    (20.0, 80.0)
    """
    low, high = attribute.interval.low, attribute.interval.high
    if attribute.ruler is not None:
        low, high = attribute.ruler.low, attribute.ruler.high
    return low, (high - low) or 1.0
