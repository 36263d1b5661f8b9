"""Whether neighbouring rows are alike, from one pass: statistics of blocks that stand one after the other add up.

Numbers: r = 1 − Σ(xᵢ₊₁ − xᵢ)²/(2 Σ(xᵢ − x̄)²), von Neumann's ratio, the correlation of a row with the next; it needs no mean while
it is gathered. Labels: how often a row has the label of the one before, beyond what its shares make of it. In an order that
chance has made both are 0, with a standard deviation of about 1/√n.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import FloatArray, IntArray

ALIKE = 0.3
"""The likeness of neighbours from which a word is said about it."""
SURE = 6.0
BUCKETS = 64
"""Labels are told apart by this many classes of their checksums: enough to see runs, and little to keep."""


@dataclass(frozen=True)
class NumbersAlong:
    """Numbers in the order of their rows."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Σ(x − x̄)²."""
    jumps: float = 0.0
    """Σ(xᵢ₊₁ − xᵢ)²."""
    first: float = math.nan
    last: float = math.nan

    @classmethod
    def of(cls, values: FloatArray) -> NumbersAlong:
        """Return the present values of one block."""
        values = values[np.isfinite(values)]
        if not len(values):
            return cls()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(values.mean())
            squares, jumps = float(((values - mean) ** 2).sum()), float((np.diff(values) ** 2).sum())
        return cls(len(values), mean, squares, jumps, float(values[0]), float(values[-1]))

    def __add__(self, other: NumbersAlong) -> NumbersAlong:
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        gap = other.mean - self.mean
        return NumbersAlong(
            count,
            self.mean + gap * other.count / count,
            self.squares + other.squares + gap * gap * self.count * other.count / count,
            self.jumps + other.jumps + (other.first - self.last) * (other.first - self.last),
            self.first,
            other.last,
        )

    @property
    def likeness(self) -> float:
        """The correlation of a row with the next."""
        found = 1 - self.jumps / (2 * self.squares) if self.squares > 0 else 0.0
        return found if math.isfinite(found) else 0.0


@dataclass(frozen=True)
class LabelsAlong:
    """Labels, as classes of their checksums, in the order of their rows."""

    sizes: tuple[int, ...] = (0,) * BUCKETS
    same: int = 0
    first: int = -1
    last: int = -1

    @classmethod
    def of(cls, texts: pa.Array) -> LabelsAlong:
        """Return the present texts of one block."""
        if not len(texts):
            return cls()
        coded = pc.dictionary_encode(texts)
        names = [zlib.crc32(str(text).encode()) % BUCKETS for text in coded.dictionary.to_pylist()]
        codes: IntArray = np.array(names, dtype=np.int64)[coded.indices.to_numpy(zero_copy_only=False)]
        sizes = np.bincount(codes, minlength=BUCKETS)
        same = int((codes[1:] == codes[:-1]).sum())
        return cls(tuple(int(s) for s in sizes), same, int(codes[0]), int(codes[-1]))

    @property
    def count(self) -> int:
        """Rows with a label."""
        return sum(self.sizes)

    def __add__(self, other: LabelsAlong) -> LabelsAlong:
        if not self.count or not other.count:
            return self if self.count else other
        sizes = tuple(a + b for a, b in zip(self.sizes, other.sizes, strict=True))
        return LabelsAlong(sizes, self.same + other.same + (self.last == other.first), self.first, other.last)

    @property
    def likeness(self) -> float:
        """(share of equal neighbours − Σp²)/(1 − Σp²)."""
        n = self.count
        if n < 2:
            return 0.0
        by_chance = sum((s / n) ** 2 for s in self.sizes)
        return (self.same / (n - 1) - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0


def ordered(along: NumbersAlong | LabelsAlong) -> bool:
    """Return whether neighbours are so alike, and so surely, that the order of the rows tells values."""
    return along.likeness >= ALIKE and along.likeness * math.sqrt(along.count) >= SURE
