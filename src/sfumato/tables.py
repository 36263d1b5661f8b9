"""Laws as tables of whole numbers: which 64-bit word stands for which draw.

A draw is a function of two uniform words, computed by integer arithmetic alone. So every probability is a number of words,
divided by 2⁶⁴ or 2¹²⁸, and can be counted; and every machine draws the same. Logarithms and exponentials enter once, when a
table is made, by decimal arithmetic that is correctly rounded everywhere.

`WordTable` finds the outcome of a word among thresholds, `choose` one of n equally likely outcomes. `HalfNormal`,
`OwnOrAny` and `TwoSidedGeometric` are made of these two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray, WordArray

WORDS = 2**64
DIGITS = Context(prec=60)
"""Decimals are kept to 60 digits, so that rounding to 64 bits is never in doubt."""


def choose(words: WordArray, factor: int, outcomes: int | None = None) -> IntArray:
    """Return ⌊u · factor / 2ᵇ⌋, u the b leading bits of each word: one of `factor` places, each for 2ᵇ/factor words, give or take one.

    `outcomes` says how many are told apart, where that is not each place; `leading_bits` says what b is.

    >>> import numpy as np
    >>> choose(np.array([0, 2**63, 2**64 - 1], np.uint64), 10).tolist()
    [0, 5, 9]
    """
    bits = leading_bits(factor, outcomes)
    if bits < 64:
        out = words.copy()  # contiguous: each pass over every second word costs more than this one
        out >>= np.uint64(64 - bits)
        out *= np.uint64(factor)
        out >>= np.uint64(bits)
        return out.view(np.int64)
    half, low_half = np.uint64(32), np.uint64(2**32 - 1)
    top, rest = np.uint64(factor >> 32), np.uint64(factor & 2**32 - 1)
    high, low = words >> half, words & low_half
    middle = low * rest
    middle >>= half
    middle += high * rest
    low *= top
    low += middle & low_half
    low >>= half
    middle >>= half
    high *= top
    high += middle
    high += low
    return high.view(np.int64)


def leading_bits(factor: int, outcomes: int | None = None) -> int:
    """Return b: as many bits as one product holds, if each outcome then has some hundred words at least; all 64 otherwise."""
    bits = 64 - factor.bit_length()
    return bits if bits >= (outcomes or factor).bit_length() + 8 else 64


def fewest_and_most(size: int) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest probability that `choose` gives one of `size` outcomes."""
    words = 1 << leading_bits(size)
    return Fraction(words // size, words), Fraction(-(-words // size), words)


def scaled_factor(value: Fraction, bits: int) -> tuple[int, int]:
    """Return a factor and a shift with factor/2^shift = value, to this many bits; the shift is 1 at least and 61 at most."""
    exponent = bits - value.numerator.bit_length() + value.denominator.bit_length()
    shift = min(max(exponent, 1), 61)
    return max(round(value * (1 << shift)), 1), shift


@dataclass(frozen=True, eq=False)
class WordTable:
    """Outcome i has the words from `starts[i]` up to the next start; the first start is 0.

    A guide by the 14 leading bits of a word knows the first outcome that they leave possible and where the next one begins.
    Adding what the word has beyond its leading bits carries over into the outcome exactly from there on. In the few crowded
    places, where more than two outcomes are possible, the guide is negative and a search does.

    Examples
    --------
    >>> import numpy as np
    >>> table = WordTable.of([0, 2**62, 2**63])
    >>> table.locate(np.array([0, 2**62 - 1, 2**62, 2**64 - 1], np.uint64)).tolist()
    [0, 0, 1, 2]
    """

    starts: WordArray
    guide: IntArray
    crowded: bool

    rest: ClassVar[int] = 50
    """Bits of a word beyond the leading ones; 2¹³ outcomes and they fit 63 bits."""

    @classmethod
    def of(cls, starts: list[int]) -> WordTable:
        """Return the table with these starts, increasing from 0."""
        array, rest = np.array(starts, np.uint64), cls.rest
        entries = np.arange(2 ** (64 - rest), dtype=np.uint64) << np.uint64(rest)
        first = np.searchsorted(array, entries, side="right") - 1
        last = np.searchsorted(array, entries + np.uint64(2**rest - 1), side="right") - 1
        guide = first << rest
        cut = last > first
        guide[cut] += 2**rest - (array[first[cut] + 1] - entries[cut]).view(np.int64)
        guide[last > first + 1] = -(2**62)
        return cls(array, guide, bool((last > first + 1).any()))

    @cached_property
    def counts(self) -> list[int]:
        """How many words every outcome has."""
        starts = [*self.starts.tolist(), WORDS]
        return [after - start for start, after in itertools.pairwise(starts)]

    def locate(self, words: WordArray) -> IntArray:
        """Return the outcome of every word."""
        place = self.guide.take((words >> np.uint64(self.rest)).view(np.int64))
        place += (words & np.uint64(2**self.rest - 1)).view(np.int64)
        place >>= self.rest
        if self.crowded and len(crowded := np.flatnonzero(place < 0)):
            place[crowded] = np.searchsorted(self.starts, words[crowded], side="right") - 1
        return place


def exponential(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds of e^x from below and above, closer together than 10⁻⁵⁰ of it.

    >>> from fractions import Fraction
    >>> low, high = exponential(Fraction(1))
    >>> float(low), 0 < (high - low) / low < Fraction(1, 10**50)
    (2.718281828459045, True)
    """
    power = DIGITS.exp(decimal(exponent))
    slack = 1 + abs(exponent)  # the exponent itself is rounded to 60 digits
    crumb = Fraction(power) * slack / 10**58
    return Fraction(power) - crumb, Fraction(power) + crumb


def decimal(value: Fraction) -> Decimal:
    """Return a fraction to 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def float_below(value: Fraction) -> float:
    """Return the largest float64 that is not above `value`."""
    near = float(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def float_above(value: Fraction) -> float:
    """Return the smallest float64 that is not below `value`."""
    return -float_below(-value)


@dataclass(frozen=True)
class OwnOrAny:
    """With chance t/2⁶⁴ one of the `own` outcomes of a value, else one of `every` outcome there is, by `choose`.

    An outcome y then has the probability (1 − t/2⁶⁴) P(y), plus t/2⁶⁴ P(y | own) where it is one of the value's own.

    Examples
    --------
    >>> from fractions import Fraction
    >>> coin = OwnOrAny.within(Fraction(3), own=1, every=2)
    >>> coin.threshold == 2**63, coin.gamma
    (True, Fraction(3, 1))
    """

    own: int
    every: int
    threshold: int

    @classmethod
    def within(cls, gamma: Fraction, own: int, every: int) -> OwnOrAny:
        """Return the table with the largest t whose exact amplification is at most `gamma`, and t below 2⁶⁴."""
        most, fewest = fewest_and_most(own)[1], fewest_and_most(every)[0]
        weight = (gamma - 1) * fewest
        return cls(own, every, min(math.floor(WORDS * weight / (most + weight)), WORDS - 1))

    @property
    def gamma(self) -> Fraction:
        """The exact amplification: 1 + t max P(y | own) / ((2⁶⁴ − t) min P(y))."""
        most, fewest = fewest_and_most(self.own)[1], fewest_and_most(self.every)[0]
        return 1 + Fraction(self.threshold * most, (WORDS - self.threshold) * fewest)

    @property
    def near(self) -> float:
        """The chance t/2⁶⁴ to draw among the own outcomes."""
        return self.threshold / WORDS

    @property
    def rest(self) -> float:
        """The chance 1 − t/2⁶⁴, which is never 0."""
        return (WORDS - self.threshold) / WORDS

    def draws_own(self, words: WordArray) -> NDArray[np.bool_]:
        """Return whether each first word means one of the own outcomes."""
        return np.asarray(np.ascontiguousarray(words) < np.uint64(self.threshold))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {
            "form": "own-or-any",
            "own": self.own,
            "every": self.every,
            "threshold": hex(self.threshold),
            "own_bits": leading_bits(self.own),
            "every_bits": leading_bits(self.every),
        }


CELLS_PER_SIGMA = 512


def in_parts(function: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """Return a function of each value, worked out for as many at a time as a processor's cache holds with what lies between."""
    size = 1 << 14
    if values.size <= size:
        return function(values)
    flat = values.ravel()
    out = np.empty(flat.shape)
    for begin in range(0, len(flat), size):
        out[begin : begin + size] = function(flat[begin : begin + size])
    return out.reshape(values.shape)


@dataclass(frozen=True, eq=False)
class HalfNormal:
    """|z| of a standard normal: cell i of width 1/512 by 63 bits of a word, and a place in it by another word.

    Inside a cell all places are equally likely, so the distribution function is straight between the multiples of 1/512,
    and nowhere farther than 1.2·10⁻⁷ from the normal one. The lowest bit of the first word is the sign. The last cell, at 8.64,
    also has the few words that are due beyond it.
    """

    table: WordTable

    @cached_property
    def upto(self) -> FloatArray:
        """P(|z| < i/512) for every node i."""
        return np.append(self.table.starts, WORDS).astype(np.float64) / WORDS

    @cached_property
    def _integral(self) -> FloatArray:
        """∫ P(|z| < t) dt up to every node, in cells."""
        return np.append(0.0, np.cumsum((self.upto[1:] + self.upto[:-1]) / 2))

    def cdf(self, z: FloatArray) -> FloatArray:
        """Return P(draw < z) of the signed draw."""
        return in_parts(self._cdf, z)

    def _cdf(self, z: FloatArray) -> FloatArray:
        near = np.abs(z) < (len(self.upto) - 1) / CELLS_PER_SIGMA
        if not near.all():  # beyond the last cell nothing is ever drawn
            out = (z > 0).astype(np.float64)
            out[near] = self._cdf(z[near]) if near.any() else 0.0
            return out
        cell, inside = self._place(z)
        tail = 0.5 - 0.5 * (self.upto.take(cell) + inside * self._rise.take(cell))
        return np.where(z < 0, tail, 1 - tail)

    def cdf_integral(self, z: FloatArray) -> FloatArray:
        """Return ∫ P(draw < t) dt from −∞ to z."""
        return in_parts(self._cdf_integral, z)

    def _cdf_integral(self, z: FloatArray) -> FloatArray:
        cell, inside = self._place(z)
        upto = self._integral.take(cell) + inside * (self.upto.take(cell) + inside / 2 * self._rise.take(cell))
        # By symmetry ∫ F up to −z is ∫ (1 − F) from z on, and ∫ F up to z is z more.
        beyond = 0.5 * (self._mean - (np.minimum(np.abs(z) * CELLS_PER_SIGMA, len(self.upto) - 1) - upto))
        return np.maximum(z, 0.0) + beyond / CELLS_PER_SIGMA

    @cached_property
    def _rise(self) -> FloatArray:
        return np.diff(self.upto)

    @cached_property
    def _mean(self) -> float:
        """E|z| in cells: ∫ P(|z| > t) dt."""
        return float(len(self.upto) - 1 - self._integral[-1])

    def _place(self, z: FloatArray) -> tuple[IntArray, FloatArray]:
        place = np.minimum(np.abs(z) * CELLS_PER_SIGMA, len(self.upto) - 1)
        cell = np.minimum(place.astype(np.int64), len(self.upto) - 2)
        return cell, place - cell

    def draw(self, words: WordArray) -> FloatArray:
        """Return standard normal values from two words each, to 53 bits of the place in a cell."""
        first, second = np.ascontiguousarray(words[:, 0]), words[:, 1]
        out = (second >> np.uint64(11)).view(np.int64).astype(np.float64)
        out *= 2.0**-53
        out += self.table.locate(first)
        out *= 1 / CELLS_PER_SIGMA
        return np.negative(out, out=out, where=(first & np.uint64(1)).view(np.int64) == 1)


@lru_cache(maxsize=1)
def half_normal() -> HalfNormal:
    """Return the one table of the normal law.

    With δ half a cell and m = (2i+1) δ its middle, ∫ φ(m + t) dt over |t| ≤ δ is 2 φ(m) Σ He₂ₖ(m) δ²ᵏ⁺¹/(2k+1)!, of which five
    terms leave less than 2⁻⁸⁰; and φ(m + 2δ) = φ(m) e^(−4δ²(i+1)).
    """
    bits = 192  # of the fixed point: 5,000 products lose less than 2⁻¹⁶⁰
    one, d = 1 << bits, CELLS_PER_SIGMA.bit_length()  # δ = 2⁻ᵈ

    def to_fixed(value: Decimal) -> int:
        return int(DIGITS.multiply(value, Decimal(one)))

    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    fall = to_fixed(DIGITS.exp(decimal(Fraction(-1, 1 << 2 * d - 2))))
    density = to_fixed(DIGITS.exp(decimal(Fraction(-1, 1 << 2 * d + 1))))
    density = density * to_fixed(DIGITS.divide(2, DIGITS.sqrt(DIGITS.multiply(2, pi)))) >> bits
    starts, mass, ratio = [0], 0, fall
    for i in range(10 * CELLS_PER_SIGMA):
        before, hermite, total = 0, one, 0  # Heₖ(m) δᵏ
        for k in range(9):
            if k % 2 == 0:
                total += hermite // math.factorial(k + 1)
            before, hermite = hermite, ((2 * i + 1) * hermite - k * before) >> 2 * d
        mass += density * total >> bits + d - 1
        start = 2 * ((mass >> bits - 64) + 1 >> 1)
        if start == starts[-1]:
            break
        starts.append(start)
        density, ratio = density * ratio >> bits, ratio * fall >> bits
    return HalfNormal(WordTable.of(starts))
