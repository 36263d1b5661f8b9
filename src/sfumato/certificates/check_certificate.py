"""Check law.cert.json, the certificate of a release, without sfumato: this file needs Python's standard library alone.

    python check_certificate.py law.cert.json manifest.json

For every column it counts words: how many of the 2⁶⁴ first and 2⁶⁴ second words lead from a true value to a released one.
From these counts it computes, in whole numbers and fractions, that probabilities add up to 1, that the amplification γ is
what is claimed and no more than was asked, and how far the law is from the ideal one, computed by other means. It draws the
sample vectors again, and compares laws with those of the manifest. Exit code 0 if all is right, 1 with one line if not.
"""

from __future__ import annotations

import json
import math
import sys
from bisect import bisect_right
from collections.abc import Callable
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

WORDS = 2**64
TINY, HALF = Fraction(1, 10**9), Fraction(1, 2)
SUM = "probabilities do not add up to 1"
EPOCH = date(1970, 1, 1).toordinal()
LIMITS = {"bits": 64, "own_bits": 64, "every_bits": 64, "spare_bits": 64, "shift": 64, "order": 999, "dimension": 22}


class Wrong(ValueError):
    """What is wrong, in one line."""


def demand(right: bool, words: str) -> None:
    """Raise Wrong unless `right`."""
    if not right:
        raise Wrong(words)


def choose(word: int, size: int, bits: int) -> int:
    """Return ⌊u · size / 2ᵇ⌋ for the b leading bits u of a word."""
    return (word >> 64 - bits) * size >> bits


def share_below(place: int, size: int, bits: int) -> Fraction:
    """Return the share of b-bit words u with ⌊u · size / 2ᵇ⌋ < place."""
    return Fraction(-(-place * 2**bits // size), 2**bits)


def share(place: int, size: int, bits: int) -> Fraction:
    """Return the share of words u with ⌊u · size / 2ᵇ⌋ = place; the first place has most, the last fewest."""
    return share_below(place + 1, size, bits) - share_below(place, size, bits)


def read_starts(texts: list[str]) -> list[int]:
    """Return the first word of each outcome, and 2⁶⁴; they increase from 0, so that counts add up to 2⁶⁴."""
    starts = [*(int(text, 16) for text in texts), WORDS]
    demand(starts[0] == 0 and all(a < b for a, b in pairwise(starts)), "thresholds do not increase")
    return starts


def exponential(exponent: Fraction) -> Fraction:
    """Return e^x to 80 digits."""
    with localcontext() as context:
        context.prec = 90
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


class Law:
    """A law without chance: a value is released as what its bin releases. Every other form overrides what it does instead.

    `t` is the table of the certificate, `stated` the law as the manifest states it.
    """

    def __init__(self, t: dict[str, Any], stated: dict[str, Any], shared: dict[str, Any]) -> None:
        self.t, self.stated, self.shared, self.step = t, stated, shared, float(t.get("step", 1.0))
        for name, most in LIMITS.items():
            demand(t.get(name, 1) in range(most + 1), f"{name} is not a number up to {most}, as ours are")
        whole = float(round(1 / self.step))
        self.parts = whole if whole > 1 and abs(whole * self.step - 1) < 1e-12 else 0.0
        self.first = t["low"] - t["window"] if "window" in t else 0
        self.prepare()

    def prepare(self) -> None:
        """Read the table."""

    def draw(self, first: int, second: int, true: float) -> float:  # noqa: ARG002 - no chance in it
        """Return what is released for a true value and two words."""
        return self.name_outcome(self.place(true))

    def chance(self, true: float, released: float) -> Fraction:
        """Return P(released | true)."""
        return Fraction(int(self.name_outcome(self.place(true)) == released))

    def gamma(self) -> Fraction | None:
        """Return the largest ratio of two chances of one released value; None where it is infinite."""
        return None

    def check(self) -> None:
        """Raise Wrong unless this is the ideal law."""
        demand(len(self.t["values"]) == len(self.t["cuts"]) + 1, "a bin lacks its value")

    def index(self, value: float) -> int:
        """Return which multiple of the step a value rounds to, halves upward."""
        return math.floor((value * self.parts if self.parts else value / self.step) + 0.5)

    def value(self, index: float) -> float:
        """Return a multiple of the step as it is released."""
        return index / self.parts if self.parts else index * self.step

    def place(self, true: float) -> int:
        """Return the bin of a number, the code of a label."""
        return bisect_right(self.t["cuts"], true) if "cuts" in self.t else int(true)

    def outcome(self, released: float) -> int:
        """Return which of the listed values was released, the code of a label, or the place in all windows."""
        return int(self.t["values"].index(released)) if "values" in self.t else self.index(released) - self.first

    def name_outcome(self, outcome: int) -> float:
        """Return the value of an outcome."""
        return float(self.t["values"][outcome]) if "values" in self.t else self.value(outcome + self.first)


class Noise(Law):
    """N steps are added to a value; what would lie beyond `bottom` or `top`, where there are such, is released as that."""

    def noise(self, first: int, second: int) -> int:
        """Return N for two words."""
        raise NotImplementedError

    def lay_out(self, upto: list[int], width: int, bits: int, shift: int, origin: int) -> None:
        """Lay cells out on a line, in units of 2⁻ˢ steps: `upto` counts words below each, zero lies at `origin`."""
        self.upto, self.width, self.bits, self.shift, self.origin = upto, width, bits, shift, origin

    def below(self, n: int) -> Fraction:
        """Return P(N < n): the cells below n − ½ steps, and of its own cell the places below."""
        cell, inside = divmod(n * 2**self.shift - 2**self.shift // 2 + self.origin, self.width)
        if not 0 <= cell < len(self.upto) - 1:
            return Fraction(int(cell > 0))
        before, after = self.upto[cell : cell + 2]
        return (before + (after - before) * share_below(inside, self.width, self.bits)) / self.upto[-1]

    def draw(self, first: int, second: int, true: float) -> float:
        place = self.index(true) + self.noise(first, second)
        return self.value(min(max(place, self.t.get("bottom", place)), self.t.get("top", place)))

    def chance(self, true: float, released: float) -> Fraction:
        return self.chance_of_steps(self.index(true), self.index(released))

    def chance_of_steps(self, x: int, y: int) -> Fraction:
        """Return P(y | x) of multiples of the step."""
        upto = Fraction(1) if y == self.t.get("top") else self.below(y - x + 1)
        return upto if y == self.t.get("bottom") else upto - self.below(y - x)

    def compare(self, name: str, scale: Fraction, last: int, ideal: Callable[[Fraction], Any], slack: float) -> None:
        """Raise Wrong unless the scale is as stated, |N| ≤ `last`, and P(N < n) is near `ideal` of (n − ½)/scale."""
        demand(abs(scale * Fraction(self.step) / Fraction(self.stated[name]) - 1) < TINY, f"{name} is not as stated")
        demand(self.below(-last) == 0 and self.below(last + 1) == 1, SUM)
        for n in range(-last, last + 1, max(1, last // 500)):
            demand(abs(self.below(n) - ideal((n - HALF) / scale)) <= slack, f"P(N < {n}) is not that of the law")


class RoundedNormal(Noise):
    """±⌊(i R + ⌊u R⌋)/2ˢ + ½⌋ steps: cell i of |z| by 63 bits, the sign by the last one, the place u by the second word."""

    def prepare(self) -> None:
        self.starts, self.cells = read_starts(self.shared["normal"]), self.shared["cells_per_sigma"]
        self.lay_out(self.starts, int(self.t["width"], 16), self.t["bits"], self.t["shift"], 0)

    def noise(self, first: int, second: int) -> int:
        cell = bisect_right(self.starts, first) - 1
        n = cell * self.width + choose(second, self.width, self.bits) + 2 ** (self.shift - 1) >> self.shift
        return -n if first % 2 else n

    def below(self, n: int) -> Fraction:
        upto = (1 + super().below(max(n, 1 - n))) / 2  # the line is that of |N|
        return upto if n > 0 else 1 - upto

    def check(self) -> None:
        for i, start in enumerate(self.starts[:-1]):
            ideal = math.erf(i / self.cells / math.sqrt(2))
            demand(abs(start / WORDS - ideal) < 1e-15 and start % 2 == 0, f"threshold {i} of the normal table is wrong")
        sigma = Fraction(self.width * self.cells, 2**self.shift)
        last = math.ceil(Fraction(len(self.starts), self.cells) * sigma) + 1
        self.compare("sigma", sigma, last, lambda z: (1 + math.erf(z / math.sqrt(2))) / 2, 1.25e-7)


class RoundedUniform(Noise):
    """⌊(⌊u 2A⌋ − A)/2ˢ + ½⌋ steps, u by the first word."""

    def prepare(self) -> None:
        self.half = int(self.t["half"], 16)
        self.lay_out([0, 1], 2 * self.half, self.t["bits"], self.t["shift"], self.half)

    def noise(self, first: int, second: int) -> int:  # noqa: ARG002 - one word is enough
        return choose(first, 2 * self.half, self.bits) - self.half + 2 ** (self.shift - 1) >> self.shift

    def check(self) -> None:
        alpha = Fraction(self.half, 2**self.shift)
        self.compare("alpha", alpha, math.ceil(alpha) + 1, lambda z: min(max((1 + z) / 2, 0), 1), 0.5**self.bits)


class TwoSidedGeometric(Noise):
    """Zero or a block of cells by the first word, the side by its last bit; the cell in a block by the second word."""

    def prepare(self) -> None:
        self.blocks, self.cells = read_starts(self.t["blocks"]), read_starts(self.t["cells"])
        demand(len(self.blocks) * len(self.cells) <= 2**22, "the table is too large")
        width, spare = self.t["width"], self.t["spare_bits"]
        self.bottom, self.low, self.high, self.top = (self.t[name] for name in ("bottom", "low", "high", "top"))
        demand(width == 1 or all(start % 2**spare == 0 for start in self.cells), "a cell depends on the spare bits")
        demand(all(start % 2 == 0 for start in self.blocks), "the two sides differ")
        self.scale, self.apart = Fraction(self.stated["b"]) / Fraction(self.step), -(-(self.high - self.low) // width)
        self.spread = share(0, width, spare) / share(width - 1, width, spare)
        blocks, cells = ([b - a for a, b in pairwise(starts)] for starts in (self.blocks, self.cells))
        # Pairs of words for zero and for cell 1, 2, … on one side. The last block has all beyond it.
        self.mass = [blocks[0] * WORDS, *(c // 2 * w for c in blocks[1:] for w in cells)]
        self.inner = self.mass[: -len(cells)]
        line = [*accumulate([*reversed(self.mass[1:]), *self.mass], initial=0)]
        self.lay_out(line, width, spare, 0, (len(self.mass) - 1) * width + width // 2)

    def noise(self, first: int, second: int) -> int:
        block, cell = bisect_right(self.blocks, first) - 1, bisect_right(self.cells, second) - 1
        m = (block - 1) * (len(self.cells) - 1) + cell + 1 if block else 0
        inside = second % 2**self.bits * self.width >> self.bits
        return (-m if first % 2 else m) * self.width - self.width // 2 + inside

    def gamma(self) -> Fraction | None:
        if self.high - self.low > 50 * self.scale + 1:
            return None
        reach = self.top - self.low + self.width // 2
        demand(reach // self.width < len(self.inner), "a released value lies beyond the table")
        # Of two cells no farther apart than the domain is wide: the most from a cell on, the fewest up to the other one.
        most = [*accumulate(reversed(self.inner), max)][::-1]
        fewest = [*accumulate(self.inner, min)][self.apart :]
        worst = max(Fraction(a, b) for a, b in zip(most, fewest, strict=False))
        above = self.chance_of_steps(self.high, self.top) / self.chance_of_steps(self.low, self.top)
        beneath = self.chance_of_steps(self.low, self.bottom) / self.chance_of_steps(self.high, self.bottom)
        return max(worst, above, beneath) * self.spread

    def check(self) -> None:
        demand(self.upto[-1] == WORDS**2, SUM)
        ends = [self.index(self.stated["low"]), self.index(self.stated["high"])]
        demand([self.low, self.high] == ends, "the domain is another one")
        root = exponential(-self.width / self.scale / 2)
        for m in range(0, len(self.inner), max(1, len(self.inner) // 500)):
            beyond = Fraction(math.exp(-(m - 1) * self.width / self.scale)) if m else Fraction(0)
            ideal = root * (1 - root**2) / 2 * beyond if m else 1 - root
            slack = ideal / 10**6 + Fraction(len(self.blocks), 2**60)
            demand(abs(Fraction(self.mass[m], WORDS**2) - ideal) < slack, f"P({m} cells) is not geometric")
        asked = exponential(self.apart * self.width / self.scale) * self.spread * (1 + 1000 * TINY)
        demand((self.gamma() or 0) <= asked, "gamma exceeds e^(range/b)")


class OwnOrAny(Law):
    """Where the first word is below the threshold one of the value's own outcomes, else one of all, by the second word."""

    def prepare(self) -> None:
        self.set, self.threshold = self.t["set"], int(self.t["threshold"], 16)
        self.own, self.every = (self.t["own"], self.t["own_bits"]), (self.t["every"], self.t["every_bits"])
        demand(0 <= self.threshold < WORDS, "the threshold leaves no other value possible")
        demand(self.t.get("order", 0) ** self.t.get("dimension", 1) <= 2**22, "the space is too large")

    def member(self, true: float, k: int) -> int:
        """Return the k-th own outcome of a value: itself, a point of its window, or a point of its hyperplane."""
        if self.set == "window":
            return self.index(true) - self.t["low"] + k
        if self.set == "self":
            return self.place(true)
        q, d = self.t["order"], self.t["dimension"]
        x, y = coordinates(int(true), q, d), coordinates(k, q, d - 1)
        pivot = max(i for i in range(d) if x[i])
        y.insert(pivot, 0)
        y[pivot] = -sum(a * b for a, b in zip(x, y, strict=True)) * pow(x[pivot], -1, q) % q
        lead = y.index(1)
        behind = sum(c * q ** (d - 1 - i) for i, c in enumerate(y) if i > lead)
        return points(d - 1 - lead, q) + behind

    def draw(self, first: int, second: int, true: float) -> float:
        own = first < self.threshold
        return self.name_outcome(self.member(true, choose(second, *self.own)) if own else choose(second, *self.every))

    def chance(self, true: float, released: float) -> Fraction:
        y, kept = self.outcome(released), Fraction(self.threshold, WORDS)
        near = y - self.member(true, 0)  # all outcomes but those of a hyperplane follow each other
        places = range(self.own[0]) if self.set == "hyperplane" else range(max(near, 0), min(near + 1, self.own[0]))
        own = sum(share(k, *self.own) for k in places if self.member(true, k) == y)
        return kept * own + (1 - kept) * share(y, *self.every)

    def gamma(self, more: int = 0) -> Fraction:
        """Return the amplification, with this many more words below the threshold."""
        threshold, most, fewest = self.threshold + more, share(0, *self.own), share(self.every[0] - 1, *self.every)
        return 1 + threshold * most / ((WORDS - threshold) * fewest)

    def check(self) -> None:
        t, law = self.t, self.stated
        if self.set == "window":
            ends = self.index(law["low"]), self.index(law["high"])
            sizes = 2 * t["window"] + 1, ends[1] - ends[0] + 1 + 2 * t["window"]
            demand((t["low"], t["high"]) == ends, "the domain is another one")
        elif self.set == "self":
            sizes = 1, law["size"]
        else:
            sizes = points(t["dimension"] - 1, t["order"]), points(t["dimension"], t["order"])
            demand(all(t[name] == law[name] for name in ("order", "dimension")), "the space is another one")
            for x in range(min(law["size"], 5)):
                once = len({self.member(x, k) for k in range(sizes[0])}) == sizes[0]
                demand(once, f"the set of {x} has a code twice")
        demand((self.own[0], self.every[0]) == sizes, "the numbers of outcomes are others")
        for size, bits in (self.own, self.every):
            whole, even = share_below(size, size, bits), share(0, size, bits) < 1.01 * share(size - 1, size, bits)
            demand(whole == 1 and even, SUM)
        asked = Fraction(law["gamma"]) if "gamma" in law else exponential(Fraction(law["epsilon"]))
        demand(self.gamma() <= asked, "gamma exceeds what was asked")
        largest = self.threshold == WORDS - 1 or self.gamma(1) > asked
        demand(largest, "gamma is lower than what was asked")


def points(d: int, q: int) -> int:
    """Return how many points the projective space of d coordinates over q elements has."""
    return int((q**d - 1) // (q - 1))


def coordinates(point: int, q: int, d: int) -> list[int]:
    """Return a point of the projective space of d coordinates over q elements, written with a leading one."""
    behind = max(m for m in range(d) if points(m, q) <= point)
    rest = point - points(behind, q)
    return [0] * (d - 1 - behind) + [1] + [rest // q ** (behind - 1 - i) % q for i in range(behind)]


class Columns(Law):
    """A matrix of counts, one column per true value, from the leading bits of the first word."""

    def prepare(self) -> None:
        self.columns, self.bits = [[int(c, 16) for c in column] for column in self.t["columns"]], self.t["bits"]

    def draw(self, first: int, second: int, true: float) -> float:  # noqa: ARG002 - one word is enough
        upto = [*accumulate(self.columns[self.place(true)])]
        return self.name_outcome(bisect_right(upto, first >> 64 - self.bits))

    def chance(self, true: float, released: float) -> Fraction:
        return Fraction(self.columns[self.place(true)][self.outcome(released)], 2**self.bits)

    def gamma(self) -> Fraction | None:
        rows = [row for row in zip(*self.columns, strict=True) if max(row)]
        return None if any(min(row) == 0 for row in rows) else max(Fraction(max(row), min(row)) for row in rows)

    def check(self) -> None:
        for k, column in enumerate(self.columns):
            demand(sum(column) == 2**self.bits and min(column) >= 0, SUM)
            for count, row in zip(column, self.stated["matrix"], strict=True):
                near = abs(count / 2**self.bits - row[k]) < 1e-9 and (count == 0) == (row[k] == 0)
                demand(near, f"column {k} is not that of the stated matrix")


FORMS = {
    "rounded-normal": RoundedNormal,
    "rounded-uniform": RoundedUniform,
    "two-sided-geometric": TwoSidedGeometric,
    "own-or-any": OwnOrAny,
    "columns": Columns,
    "fixed": Law,
}


def check_column(column: dict[str, Any], shared: dict[str, Any]) -> None:
    """Raise Wrong unless every claim about a column is right."""
    claimed = column["gamma"]
    demand((claimed is None) == bool(column["reason"]), "an infinite gamma needs a reason, and a finite one none")
    demand(
        (claimed is None) == (column["epsilon"] is None), "epsilon is claimed without gamma, or gamma without epsilon"
    )
    if column["table"] is None:
        demand(claimed is None, "gamma is claimed without a table")
        return
    law = FORMS[column["table"]["form"]](column["table"], column["mechanism"], shared)
    law.check()
    gamma = law.gamma()
    demand((gamma is None) == (claimed is None), "gamma is finite on one side only")
    true, other, released = column["table"]["worst"]
    likely, unlikely = law.chance(true, released), law.chance(other, released)
    if gamma is None:
        demand(likely > 10**9 * unlikely, "the worst pair does not show that gamma is infinite")
    else:
        stated = Fraction(int(claimed["numerator"]), int(claimed["denominator"]))
        demand(gamma <= stated, f"gamma is understated: it is {float(gamma)!r}, not {float(stated)!r}")
        demand(stated <= gamma * (1 + TINY), f"gamma is overstated: it is {float(gamma)!r}, not {float(stated)!r}")
        demand(exponential(Fraction(column["epsilon"])) >= stated, "epsilon is below ln gamma")
        # Beyond ε = 27 the farthest cells have a few words each, more than their due, and no pair comes near.
        reached = likely / unlikely >= gamma * Fraction(98, 100) or gamma > 10**12
        demand(reached and likely / unlikely <= gamma, "the worst pair does not reach gamma")
    demand(len(column["vectors"]) >= 4, "there are too few sample vectors")
    for first, second, value, expected in column["vectors"]:
        drawn = law.draw(int(first, 16), int(second, 16), value)
        demand(drawn == expected, f"words {first} {second} take {value!r} to {drawn!r}, not {expected!r}")


def check_domain(attribute: dict[str, Any], law: dict[str, Any]) -> None:
    """Raise Wrong unless a law is bound to the labels, or the ends (days as numbers, 0 and 1 on a scale), that the manifest states."""
    labels = len(attribute.get("categories", ())) + (attribute.get("missing") == "category")
    demand("categories" not in attribute or law.get("size", labels) == labels, "the labels are others")
    ends = [date.fromisoformat(e).toordinal() - EPOCH if isinstance(e, str) else e for e in attribute.get("domain", ())]
    ends = [0, 1] if "scale" in attribute else ends  # the law acts on places
    demand("high" not in law or ends == [law["low"], law["high"]], "the domain is another one")


def check(certificate: dict[str, Any], manifest: dict[str, Any]) -> int:
    """Raise Wrong unless a certificate is right and speaks of the columns of the manifest; return how many laws it proves."""
    stated, columns = manifest["attributes"], certificate["columns"]
    names, same = [c["name"] for c in columns], "certificate and manifest speak of different columns"
    demand(certificate["sfumato_certificate"] == 1, "this is not a certificate of version 1")
    demand(certificate["release"] == manifest["name"], "the certificate is that of another release")
    demand(names == [a["name"] for a in stated] and len({*names}) == len(names), same)
    for attribute, column in zip(stated, columns, strict=True):
        try:
            demand(column["mechanism"] == attribute["mechanism"], "the law is not that of the manifest")
            check_domain(attribute, column["mechanism"])
            check_column(column, certificate["shared"])
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            words = error if isinstance(error, Wrong) else f"the certificate cannot be read ({error!r})"
            raise Wrong(f"{column['name']}: {words}") from None
    return sum(c["table"] is not None for c in columns)


def main(paths: list[str]) -> int:
    """Check the two files that are named."""
    if len(paths) != 2:
        print("usage: python check_certificate.py law.cert.json manifest.json", file=sys.stderr)
        return 2
    try:
        certificate, manifest = (json.loads(Path(path).read_text("utf-8")) for path in paths)
        laws = check(certificate, manifest)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        print(f"wrong: {error}", file=sys.stderr)
        return 1
    print(f"right: {laws} laws of {len(certificate['columns'])} columns are as certified")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
