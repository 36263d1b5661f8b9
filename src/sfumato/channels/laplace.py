"""Laplace noise, the additive law with a finite ε on a bounded domain: x + Laplace(b), rounded to whole steps.

Rounded, it is geometric on either side of zero: with q = e^(−step/b), P(0) = 1 − √q and P(±n) = ½ (1 − q) q^(n−½). Two values
that are d steps apart then differ by q^(−d) at most, so that ε = range/b holds on the grid exactly.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.channels.additive import Additive
from sfumato.channels.base import Guarantee, Settled, wish
from sfumato.counts import FloatArray, Grid, IntArray, WordArray, lattice_index, lattice_value
from sfumato.errors import UsageError
from sfumato.schema import Attribute
from sfumato.tables import DIGITS, WORDS, WordTable, decimal, exponential


@dataclass(frozen=True)
class Laplace(Additive):
    """Add Laplace noise, rounded to a fixed grid; ε is finite.

    Parameters
    ----------
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain's range: at 95 %,
        2 ln 20 · b = privacy × range. Give this or `b`.
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.
    step : float, optional
        Grid of the released values; the attribute's own unless given.
    b : float, optional
        Scale of the noise, in the attribute's own unit.

    Notes
    -----
    ε = range/b, since the domain is bounded.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
    >>> law = sf.Laplace(b=50).on(age)
    >>> round(law.guarantee().epsilon, 6)
    2.0
    """

    law: ClassVar[str] = "laplace"
    scale_field: ClassVar[str] = "b"
    b: float | None = wish("scale of the noise, in the attribute's own unit")

    _b = Settled[float]("b")
    _low = Settled[float]("low")
    _high = Settled[float]("high")

    def on(self, attribute: Attribute) -> Self:
        """Bind the wish as any additive law, where words are fine enough to reach every step of a cell."""
        law = super().on(attribute)
        if (law.b or 0.0) > 2.0**32 * (law.step or 0.0):
            raise UsageError(
                f"{attribute.name}: {self.law} noise of scale {law.b:g} cannot be drawn in steps of {law.step:g}; "
                "ask for less, or give a coarser step"
            )
        return law

    def noise_in_words(self) -> str:
        """Name the noise with its parameter."""
        return f"Laplace noise of scale {self._b:.6g}"

    @cached_property
    def table(self) -> TwoSidedGeometric:
        """The law of N in whole numbers, as far as values are released."""
        bottom, low, high, top = self._places
        return two_sided_geometric(Fraction(self._b) / Fraction(self._step), high - low, max(top - low, high - bottom))

    @cached_property
    def _places(self) -> tuple[int, int, int, int]:
        """The steps of the lowest released value, of both ends of the domain, and of the highest released value.

        Values end 16 b beyond the domain. Draws from finite words have a last value, and a last value would tell x from x′
        for certain; cut off before, every output is possible for every input.
        """
        low, high = (int(end) for end in lattice_index(np.array([self._low, self._high]), self._step))
        beyond = math.ceil(16 * Fraction(self._b) / Fraction(self._step))
        return low - beyond, low, high, high + beyond

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ½ e^{t/b} below zero, 1 − ½ e^{−t/b} above; straight within cells that are wider than a step."""
        width = self.table.width * self._step
        if self.table.width == 1:
            tail = 0.5 * np.exp(-np.abs(t) / self._b)
        else:
            place = np.abs(t) / width + 0.5
            cell = np.floor(place)
            upper = 0.5 * np.exp(-(cell + 0.5) * width / self._b)
            # The middle cell has half of its mass on either side of zero.
            lower = np.where(cell > 0, upper * math.exp(width / self._b), 1 - upper)
            tail = lower + (upper - lower) * (place - cell)
        return np.where(t < 0, tail, 1 - tail)

    def cdf_integral(self, t: FloatArray) -> FloatArray:
        """Return max(t, 0) + (b/2) e^{−|t|/b}."""
        return np.maximum(t, 0.0) + 0.5 * self._b * np.exp(-np.abs(t) / self._b)

    def density(self, t: FloatArray) -> FloatArray:
        """Return e^{−|t|/b} / 2b."""
        return np.exp(-np.abs(t) / self._b) / (2 * self._b)

    def quantile_width(self, confidence: float) -> float:
        """Return w, in units of b: P(|y| ≤ w/2) = 1 − e^{−w/2b} = c, so w = −2 b ln(1 − c)."""
        return -2 * math.log1p(-confidence)

    def noise(self, words: WordArray) -> IntArray:
        """Draw N: a block of cells by one word, the cell in it by the other."""
        return self.table.draw(words)

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Return (k + N) step, no farther than 16 b beyond the domain."""
        bottom, _, _, top = self._places
        place = lattice_index(values, self._step)
        place += self.noise(words)
        np.clip(place, bottom, top, out=place)
        return lattice_value(place, self._step)

    def mean_cdf(self, true: Grid, cuts: FloatArray) -> FloatArray:
        """Return it as for any noise, but nothing is released beyond the ends."""
        bottom, _, _, top = self._places
        inside = super().mean_cdf(true, cuts)
        above, below = cuts > top * self._step, cuts < bottom * self._step
        return np.where(above[:, None], 1.0, np.where(below[:, None], 0.0, inside))

    def exact_table(self) -> dict[str, Any]:
        """Return the blocks and the cells, and between which steps values are released."""
        bottom, low, high, top = self._places
        worst = lattice_value(np.array([low, high, low - self.table.width], dtype=np.float64), self._step)
        ends = {"bottom": bottom, "low": low, "high": high, "top": top}
        return self.table.to_dict() | ends | {"step": self._step, "worst": worst.tolist()}

    @property
    def reach(self) -> float:
        """12 b: beyond lies one value in 160,000."""
        return 12 * self._b

    def guarantee(self) -> Guarantee:
        """Return γ as counted from the table: e^ε with ε = R/b, up to the rounding of 64-bit words."""
        exponent = (self._high - self._low) / self._b
        gamma = self.table.gamma
        if gamma is None:
            return Guarantee(math.inf, f"ε = range/b = {exponent:.0f} is beyond any meaning")
        return Guarantee.of(gamma)


@dataclass(frozen=True, eq=False)
class TwoSidedGeometric:
    """The law of N by counts of words: P(0) = 1 − √q, P(±m) ∝ q^m, where cell m holds the `width` steps around m × width.

    Cells come in blocks of K, a power of two. One word picks zero or a block, by its lowest bit the side of it; the other word
    picks the cell in a block. Its low 28 bits place N inside a cell that is wider than a step.

    From the last block inward no block counts more than r = e^(K w/b) times the next, rounded down. So no ratio exceeds what
    it should, however coarse the counts in the tail are. Zero has what is left.
    """

    width: int
    """Steps in a cell, odd."""
    blocks: WordTable
    """Zero, then the blocks outward; all starts are even, so that the lowest bit is free."""
    cells: WordTable
    """The K cells of a block."""
    distance: int
    """Steps between the ends of the domain."""
    beyond: int
    """Steps from one end of the domain to the farthest released value on the other side."""
    finite: bool
    """Whether ε is at most 50, and every released value is possible for every true one."""

    spare: ClassVar[int] = 28

    @property
    def size(self) -> int:
        """K."""
        return len(self.cells.starts)

    def draw(self, words: WordArray) -> IntArray:
        """Draw N from two words each."""
        first, second = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])
        block = self.blocks.locate(first)
        block <<= self.size.bit_length() - 1
        out = self.cells.locate(second)
        out += block
        out += 1 - self.size
        np.maximum(out, 0, out=out)  # zero is a block before the first, all of whose cells lie below 1
        first &= np.uint64(1)
        sign = first.view(np.int64)
        np.negative(sign, out=sign)
        out ^= sign
        out -= sign
        if self.width > 1:
            out *= self.width
            second &= np.uint64(2**self.spare - 1)
            second *= np.uint64(self.width)
            second >>= np.uint64(self.spare)
            out += second.view(np.int64)
            out -= self.width // 2
        return out

    @cached_property
    def counts(self) -> list[int]:
        """Words per block on one side; the last block has all that lies farther out."""
        return [count // 2 for count in self.blocks.counts[1:]]

    def _tail(self, side: int, steps: int) -> Fraction:
        """Return the number of pairs of words for all that lies at least this many steps out, above (0) or below (1)."""
        counts, inner, spare = self.counts, self.cells.counts, 2**self.spare
        cell, inside = divmod(steps + self.width // 2, self.width)
        block, place = divmod(cell - 1, self.size)
        # Of the innermost cell the upper side has the last places, the lower side the first.
        first = -(-inside * spare // self.width)
        part = spare - first if side == 0 else -(-(self.width - inside) * spare // self.width)
        whole = counts[block] * sum(inner[place + 1 :]) + WORDS * sum(counts[block + 1 :])
        return whole + Fraction(part * counts[block] * inner[place], spare)

    @cached_property
    def gamma(self) -> Fraction | None:
        """The exact amplification, None where a released value is impossible for a true one.

        Two values apart by up to D cells lie `jump` blocks apart, and their places in the blocks at most D − K jump. Blocks
        and places farther out count no more than those before, so the largest jumps are the worst. The last value gathers
        all that lies farther out, where the ends of the domain are the worst pair.
        """
        if not self.finite:
            return None
        apart, size, inner, counts = -(-self.distance // self.width), self.size, self.cells.counts, self.counts
        worst = Fraction(1)
        for jump in {-1, *(apart // size + k for k in (-1, 0, 1))}:
            room = min(apart - jump * size, size - 1)
            if room <= -size or jump < -1:
                continue
            first = range(max(-room, 0), min(size, size - room))
            inside = max(Fraction(inner[r], inner[r + room]) for r in first)
            pairs = zip(counts[max(-jump, 0) : -1], counts[max(jump, 0) : -1], strict=False)
            worst = max([worst, *(inside * Fraction(a, b) for a, b in pairs)])
        if apart:
            block, place = divmod(apart - 1, size)
            least = min([counts[block] * inner[place], *(c * inner[-1] for c in counts[:block])])
            worst = max(worst, Fraction(self.blocks.counts[0] * WORDS, least))
        ends = (self._tail(s, self.beyond - self.distance) / self._tail(s, self.beyond) for s in (0, 1))
        spare = 2**self.spare
        return max(worst, *ends) * Fraction(-(-spare // self.width), spare // self.width)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {
            "form": "two-sided-geometric",
            "width": self.width,
            "blocks": [hex(start) for start in self.blocks.starts.tolist()],
            "cells": [hex(start) for start in self.cells.starts.tolist()],
            "spare_bits": self.spare,
        }


@lru_cache(maxsize=64)
def two_sided_geometric(scale: Fraction, distance: int, beyond: int) -> TwoSidedGeometric:
    """Return the law of scale b, in steps, for a domain this many steps wide and values released this many steps away."""
    max_epsilon = 50
    width = 1 if scale < 8192 else 2 * int(scale / 8192) + 1
    size = min(1024, 1 << max(int(scale / width).bit_length() - 1, 0))
    finite = distance <= max_epsilon * scale + 1
    needed = beyond + width if finite else math.ceil(45 * scale)
    number = needed // (width * size) + 2
    d = DIGITS
    q = d.exp(decimal(-width / scale))
    block = d.exp(decimal(-width * size / scale))
    rise = exponential(width * size / scale)[0]
    # Counts that exceed their due by 1/(r − 1) do so still after a product with r is rounded down: none falls behind.
    excess = 1 / (rise - 1)
    ideal = [d.multiply(WORDS // 2, d.sqrt(q))]
    for _ in range(number):
        ideal.append(d.multiply(ideal[-1], block))
    counts = [math.ceil(Fraction(ideal[number]) + excess)]
    for j in range(number - 1, -1, -1):
        own = math.ceil(Fraction(d.subtract(ideal[j], ideal[j + 1])) + excess)
        counts.append(min(own, math.floor(counts[-1] * rise)))
    grain = 0 if width == 1 else TwoSidedGeometric.spare
    upto, cells = Decimal(1), []
    for _ in range(size):
        part = d.divide(d.subtract(1, upto), d.subtract(1, block))
        cells.append(round(Fraction(d.multiply(part, WORDS >> grain))) << grain)
        upto = d.multiply(upto, q)
    outward = [2 * count for count in reversed(counts)]
    starts = [0, *itertools.accumulate([WORDS - sum(outward), *outward[:-1]])]
    return TwoSidedGeometric(width, WordTable.of(starts), WordTable.of(cells), distance, beyond, finite)
