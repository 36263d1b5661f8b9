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
from collections import deque
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

WORDS = 2**64
TINY = Fraction(1, 10**9)
SUM = "probabilities do not add up to 1"


class Wrong(Exception):
    """What is wrong, in one line."""


def demand(right: bool, words: str) -> None:
    """Raise Wrong unless `right`."""
    if not right:
        raise Wrong(words)


def choose(word: int, size: int, bits: int) -> int:
    """Return ⌊u · size / 2ᵇ⌋ for the b leading bits u of a word."""
    return (word >> 64 - bits) * size >> bits


def words_below(place: int, size: int, bits: int) -> int:
    """Count the b-bit words u with ⌊u · size / 2ᵇ⌋ < place."""
    return -(-place * 2**bits // size)


def share(place: int, size: int, bits: int) -> Fraction:
    """Return the share of words u with ⌊u · size / 2ᵇ⌋ = place."""
    return Fraction(words_below(place + 1, size, bits) - words_below(place, size, bits), 2**bits)


def spread(size: int, bits: int) -> Fraction:
    """Return the most words of one of `size` places, divided by the fewest; the first place has most, the last fewest."""
    return share(0, size, bits) / share(size - 1, size, bits)


def read_starts(texts: list[str]) -> list[int]:
    """Return the first word of each outcome: they begin at 0 and increase, so that counts add up to 2⁶⁴."""
    starts = [int(text, 16) for text in texts]
    demand(starts[0] == 0 and all(a < b for a, b in pairwise([*starts, WORDS])), "thresholds do not increase")
    return starts


def exponential(exponent: Fraction) -> Fraction:
    """Return e^x to 80 digits."""
    with localcontext() as context:
        context.prec = 90
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


class Law:
    """What every form of a law answers: a draw, P(released | true), γ (None where infinite), and whether it is the ideal law.

    `t` is the table of the certificate, `stated` the law as the manifest states it.
    """

    def __init__(self, t: dict[str, Any], stated: dict[str, Any], shared: dict[str, Any]) -> None:
        self.t, self.stated, self.shared, self.step = t, stated, shared, float(t.get("step", 1.0))
        whole = float(round(1 / self.step))
        self.parts = whole if whole > 1 and abs(whole * self.step - 1) < 1e-12 else 0.0
        self.prepare()

    def prepare(self) -> None:
        """Read the table."""

    def draw(self, first: int, second: int, true: float) -> float:
        raise NotImplementedError

    def chance(self, true: float, released: float) -> Fraction:
        raise NotImplementedError

    def gamma(self) -> Fraction | None:
        return None

    def check(self) -> None:
        raise NotImplementedError

    def index(self, value: float) -> int:
        """Return which multiple of the step a value rounds to, halves upward."""
        return math.floor((value * self.parts if self.parts else value / self.step) + 0.5)

    def value(self, index: int) -> float:
        """Return a multiple of the step as it is released."""
        return index / self.parts if self.parts else index * self.step

    def place(self, true: float) -> int:
        """Return the bin of a number, the code of a label."""
        return bisect_right(self.t["cuts"], true) if "cuts" in self.t else int(true)

    def outcome(self, released: float) -> int:
        """Return which of the listed values was released, the code of a label."""
        return int(self.t["values"].index(released)) if "values" in self.t else int(released)

    def name_outcome(self, outcome: int) -> float:
        """Return the value of an outcome."""
        return float(self.t["values"][outcome]) if "values" in self.t else float(outcome)


class RoundedNormal(Law):
    """±⌊(i R + ⌊u R⌋)/2ˢ + ½⌋ steps: cell i of |z| by 63 bits, the sign by the last one, the place u by the second word."""

    def prepare(self) -> None:
        self.starts, self.cells = read_starts(self.shared["normal"]), self.shared["cells_per_sigma"]
        self.width, self.shift, self.bits = int(self.t["width"], 16), self.t["shift"], self.t["bits"]

    def draw(self, first: int, second: int, true: float) -> float:
        cell = bisect_right(self.starts, first) - 1
        n = cell * self.width + choose(second, self.width, self.bits) + 2 ** (self.shift - 1) >> self.shift
        return self.value(self.index(true) + (-n if first % 2 else n))

    def below(self, n: int) -> Fraction:
        """Return P(|N| < n)."""
        cell, rest = divmod((2 * n - 1) * 2 ** (self.shift - 1), self.width)
        if n <= 0 or cell >= len(self.starts):
            return Fraction(int(n > 0))
        start, after = [*self.starts, WORDS][cell : cell + 2]
        return (start + (after - start) * Fraction(words_below(rest, self.width, self.bits), 2**self.bits)) / WORDS

    def chance(self, true: float, released: float) -> Fraction:
        n = abs(self.index(released) - self.index(true))
        return (self.below(n + 1) - self.below(n)) / (2 if n else 1)

    def check(self) -> None:
        for i, start in enumerate(self.starts):
            ideal = math.erf(i / self.cells / math.sqrt(2))
            demand(abs(start / WORDS - ideal) < 1e-15 and start % 2 == 0, f"threshold {i} of the normal table is wrong")
        sigma = Fraction(self.width * self.cells, 2**self.shift)
        demand(abs(sigma * Fraction(self.step) / Fraction(self.stated["sigma"]) - 1) < TINY, "sigma is not as stated")
        for k in range(1, 200):
            n = max(1, round(k * sigma * 9 / 200))
            ideal = math.erf(float((n - Fraction(1, 2)) / sigma) / math.sqrt(2))
            demand(abs(self.below(n) - Fraction(ideal)) < 2.5e-7, f"P(|N| < {n}) is not that of the normal law")
        demand(self.below(math.ceil(Fraction(len(self.starts), self.cells) * sigma) + 2) == 1, SUM)


class RoundedUniform(Law):
    """⌊(⌊u 2A⌋ − A)/2ˢ + ½⌋ steps, u by the first word."""

    def prepare(self) -> None:
        self.half, self.shift, self.bits = int(self.t["half"], 16), self.t["shift"], self.t["bits"]

    def draw(self, first: int, second: int, true: float) -> float:  # noqa: ARG002 - one word is enough
        n = choose(first, 2 * self.half, self.bits) - self.half + 2 ** (self.shift - 1) >> self.shift
        return self.value(self.index(true) + n)

    def below(self, n: int) -> Fraction:
        """Return P(N < n)."""
        place = min(max(n * 2**self.shift - 2 ** (self.shift - 1) + self.half, 0), 2 * self.half)
        return Fraction(words_below(place, 2 * self.half, self.bits), 2**self.bits)

    def chance(self, true: float, released: float) -> Fraction:
        n = self.index(released) - self.index(true)
        return self.below(n + 1) - self.below(n)

    def check(self) -> None:
        alpha = Fraction(self.half, 2**self.shift)
        demand(abs(alpha * Fraction(self.step) / Fraction(self.stated["alpha"]) - 1) < TINY, "alpha is not as stated")
        last = math.ceil(alpha) + 1
        demand(self.below(-last) == 0 and self.below(last + 1) == 1, SUM)
        for n in range(-last, last + 1, max(1, last // 500)):
            ideal = min(max((n - Fraction(1, 2) + alpha) / (2 * alpha), Fraction(0)), Fraction(1))
            demand(abs(self.below(n) - ideal) <= Fraction(1, 2**self.bits), f"P(N < {n}) is not uniform")


class TwoSidedGeometric(Law):
    """Zero or a block of cells by the first word, the side by its last bit; the cell in a block by the second word."""

    def prepare(self) -> None:
        self.blocks, self.cells = read_starts(self.t["blocks"]), read_starts(self.t["cells"])
        self.width, self.spare, self.low, self.high = (self.t[k] for k in ("width", "spare_bits", "low", "high"))
        self.scale = Fraction(self.stated["b"]) / Fraction(self.step)
        grain = 2**self.spare if self.width > 1 else 1
        demand(all(start % grain == 0 for start in self.cells), "a cell depends on the spare bits")
        blocks, cells = ([b - a for a, b in pairwise([*starts, WORDS])] for starts in (self.blocks, self.cells))
        demand(all(start % 2 == 0 for start in self.blocks), "the two sides differ")
        # The mass of 0, 1, 2, … cells on one side; that of the last block; that from a cell on, the farthest first.
        self.mass = [blocks[0] * WORDS, *(c // 2 * w for c in blocks[1:-1] for w in cells)]
        self.last = [blocks[-1] // 2 * w for w in cells]
        self.tails = [blocks[-1] // 2 * WORDS]
        for mass in reversed(self.mass[1:]):
            self.tails.append(self.tails[-1] + mass)

    def draw(self, first: int, second: int, true: float) -> float:
        block, cell = bisect_right(self.blocks, first) - 1, bisect_right(self.cells, second) - 1
        m = (block - 1) * len(self.cells) + cell + 1 if block else 0
        n = (-m if first % 2 else m) * self.width - self.width // 2
        n += second % 2**self.spare * self.width >> self.spare if self.width > 1 else 0
        return self.value(min(max(self.index(true) + n, self.t["bottom"]), self.t["top"]))

    def tail(self, side: int, steps: int) -> Fraction:
        """Count the pairs of words that lead at least this many steps out, above (0) or below (1)."""
        cell, inside = divmod(steps + self.width // 2, self.width)
        inner = words_below(inside, self.width, self.spare)
        part = words_below(self.width - inside, self.width, self.spare) if side else 2**self.spare - inner
        demand(0 < cell < len(self.mass), "a released value lies beyond the table")
        return self.tails[-1 - cell] + Fraction(part, 2**self.spare) * self.mass[cell]

    def chance(self, true: float, released: float) -> Fraction:
        n, y = self.index(released) - self.index(true), self.index(released)
        if y in (self.t["bottom"], self.t["top"]):
            return self.tail(int(y == self.t["bottom"]), abs(n)) / WORDS**2
        cell, inside = divmod(n + self.width // 2, self.width)
        mass = [*self.mass, *self.last, *[0] * (abs(cell) + 1)][abs(cell)]
        return mass * share(inside, self.width, self.spare) / WORDS**2

    def gamma(self) -> Fraction | None:
        distance, beyond = self.high - self.low, self.t["top"] - self.high
        if distance > 50 * self.scale + 1:
            return None
        # The largest ratio of two cells of one row that lie no farther apart than the domain is wide.
        apart, reach = -(-distance // self.width), -(-(distance + beyond) // self.width) + 1
        row, worst = [*reversed(self.mass[1:reach]), *self.mass[:reach]], Fraction(1)
        least, most = deque[int](), deque[int]()
        for i, mass in enumerate(row):
            while least and row[least[-1]] >= mass:
                least.pop()
            while most and row[most[-1]] <= mass:
                most.pop()
            for queue in (least, most):
                queue.append(i)
                if queue[0] < i - apart:
                    queue.popleft()
            if row[most[0]] * worst.denominator > row[least[0]] * worst.numerator:
                worst = Fraction(row[most[0]], row[least[0]])
        ends = (self.tail(side, beyond) / self.tail(side, beyond + distance) for side in (0, 1))
        return max(worst, *ends) * spread(self.width, self.spare)

    def check(self) -> None:
        demand(self.mass[0] + 2 * self.tails[-1] == WORDS**2, SUM)
        ends = [self.index(self.stated["low"]), self.index(self.stated["high"])]
        demand([self.low, self.high] == ends, "the domain is another one")
        root = exponential(-self.width / self.scale / 2)
        for m in range(0, len(self.mass), max(1, len(self.mass) // 500)):
            beyond = Fraction(math.exp(-(m - 1) * self.width / self.scale)) if m else Fraction(0)
            ideal = root * (1 - root**2) / 2 * beyond if m else 1 - root
            slack = ideal / 10**6 + Fraction(len(self.blocks), 2**60)
            demand(abs(Fraction(self.mass[m], WORDS**2) - ideal) < slack, f"P({m} cells) is not geometric")
        gamma, apart = self.gamma(), -(-(self.high - self.low) // self.width) * self.width
        asked = exponential(apart / self.scale) * spread(self.width, self.spare) * (1 + 1000 * TINY)
        demand(gamma is None or gamma <= asked, "gamma exceeds e^(range/b)")


class OwnOrAny(Law):
    """Where the first word is below the threshold one of the value's own outcomes, else one of all, by the second word."""

    def prepare(self) -> None:
        names = ("set", "own", "every", "own_bits", "every_bits")
        self.set, self.own, self.every, self.own_bits, self.every_bits = (self.t[k] for k in names)
        self.threshold = int(self.t["threshold"], 16)
        demand(0 <= self.threshold < WORDS, "the threshold leaves no other value possible")

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
        return (q ** (d - 1 - lead) - 1) // (q - 1) + behind

    def draw(self, first: int, second: int, true: float) -> float:
        own = first < self.threshold
        y = choose(second, self.own, self.own_bits) if own else choose(second, self.every, self.every_bits)
        y = self.member(true, y) if own else y
        return self.value(y + self.t["low"] - self.t["window"]) if self.set == "window" else self.name_outcome(y)

    def chance(self, true: float, released: float) -> Fraction:
        y = self.outcome(released) if self.set != "window" else self.index(released) - self.t["low"] + self.t["window"]
        own = sum(share(k, self.own, self.own_bits) for k in range(self.own) if self.member(true, k) == y)
        kept = Fraction(self.threshold, WORDS)
        return kept * own + (1 - kept) * share(y, self.every, self.every_bits)

    def gamma(self) -> Fraction:
        return self.ratio(self.threshold)

    def ratio(self, threshold: int) -> Fraction:
        """Return the amplification with this threshold."""
        most, fewest = share(0, self.own, self.own_bits), share(self.every - 1, self.every, self.every_bits)
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
            q, d = t["order"], t["dimension"]
            sizes = (q ** (d - 1) - 1) // (q - 1), (q**d - 1) // (q - 1)
            demand((q, d) == (law["order"], law["dimension"]), "the space is another one")
            for x in range(min(law["size"], 5)):
                demand(
                    len({self.member(x, k) for k in range(self.own)}) == self.own, f"the set of {x} has a code twice"
                )
        demand((self.own, self.every) == sizes, "the numbers of outcomes are others")
        for size, bits in ((self.own, self.own_bits), (self.every, self.every_bits)):
            demand(words_below(size, size, bits) == 2**bits and spread(size, bits) < 1.01, SUM)
        asked = Fraction(law["gamma"]) if "gamma" in law else exponential(Fraction(law["epsilon"]))
        demand(self.gamma() <= asked, "gamma exceeds what was asked")
        largest = self.threshold == WORDS - 1 or self.ratio(self.threshold + 1) > asked
        demand(largest, "gamma is lower than what was asked")


def coordinates(point: int, q: int, d: int) -> list[int]:
    """Return a point of the projective space of d coordinates over q elements, written with a leading one."""
    behind = max(m for m in range(d) if (q**m - 1) // (q - 1) <= point)
    rest = point - (q**behind - 1) // (q - 1)
    return [0] * (d - 1 - behind) + [1] + [rest // q ** (behind - 1 - i) % q for i in range(behind)]


class Columns(Law):
    """A matrix of counts, one column per true value, from the leading bits of the first word."""

    def prepare(self) -> None:
        self.columns, self.bits = [[int(c, 16) for c in column] for column in self.t["columns"]], self.t["bits"]

    def draw(self, first: int, second: int, true: float) -> float:  # noqa: ARG002 - one word is enough
        column, word = self.columns[self.place(true)], first >> 64 - self.bits
        return self.name_outcome(next(i for i in range(len(column)) if word < sum(column[: i + 1])))

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


class Fixed(Law):
    """No chance: a value is released as what its bin releases."""

    def draw(self, first: int, second: int, true: float) -> float:  # noqa: ARG002 - no chance in it
        return self.name_outcome(self.place(true))

    def chance(self, true: float, released: float) -> Fraction:
        return Fraction(int(self.name_outcome(self.place(true)) == released))

    def check(self) -> None:
        demand(len(self.t["values"]) == len(self.t["cuts"]) + 1, "a bin lacks its value")


FORMS = {
    "rounded-normal": RoundedNormal,
    "rounded-uniform": RoundedUniform,
    "two-sided-geometric": TwoSidedGeometric,
    "own-or-any": OwnOrAny,
    "columns": Columns,
    "fixed": Fixed,
}


def check_column(column: dict[str, Any], shared: dict[str, Any]) -> None:
    """Raise Wrong unless every claim about a column is right."""
    claimed = column["gamma"]
    demand((claimed is None) == bool(column["reason"]), "an infinite gamma needs a reason, and a finite one none")
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


def check(certificate: dict[str, Any], manifest: dict[str, Any]) -> int:
    """Raise Wrong unless a certificate is right and speaks of the columns of the manifest; return how many laws it proves."""
    stated = {a["name"]: a.get("mechanism") for a in manifest["attributes"]}
    columns = {c["name"]: c for c in certificate["columns"]}
    demand(certificate["sfumato_certificate"] == 1, "this is not a certificate of version 1")
    demand(stated.keys() == columns.keys(), "certificate and manifest speak of different columns")
    for name, column in columns.items():
        demand(column["mechanism"] == stated[name], f"{name}: the law is not that of the manifest")
        try:
            check_column(column, certificate["shared"])
        except Wrong as wrong:
            raise Wrong(f"{name}: {wrong}") from None
        except (LookupError, TypeError, ValueError, ArithmeticError, StopIteration) as error:
            raise Wrong(f"{name}: the certificate cannot be read ({type(error).__name__}: {error})") from None
    return sum(c["table"] is not None for c in columns.values())


def main(arguments: list[str]) -> int:
    """Check the two files that are named."""
    if len(arguments) != 2:
        print("usage: python check_certificate.py law.cert.json manifest.json", file=sys.stderr)
        return 2
    try:
        documents = []
        for path in arguments:
            with open(path, encoding="utf-8") as file:
                documents.append(json.load(file))
        laws = check(*documents)
    except (Wrong, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        print(f"wrong: {error}", file=sys.stderr)
        return 1
    print(f"right: {laws} laws of {len(documents[0]['columns'])} columns are as certified")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
