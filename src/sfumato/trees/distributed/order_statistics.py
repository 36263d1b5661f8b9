"""Which value stands at a rank, among rows that no one machine holds: found by counting, exactly.

Values are turned into whole numbers in the same order. A slot is a range of them that holds a wanted rank; one fold
counts its 256 parts, and the part that holds the rank is the next slot. When few enough rows are left in all slots, one
more fold brings their numbers together, and the rank is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError
from sfumato.hashing import WordArray

PARTS_BITS = 8
PARTS = 1 << PARTS_BITS
MAX_GATHERED = 1 << 17
"""Numbers of one column that may be brought together."""
MAX_EQUAL_GATHERED = 1 << 22
"""The same where they are all equal and only their rows can tell them apart."""
SIGN_BIT = np.uint64(1 << 63)
MAX_WORD = np.uint64(2**64 - 1)


def order_words(values: FloatArray) -> WordArray:
    """Return floats as whole numbers in the same order: negative ones with all bits flipped, others with the sign bit set."""
    bits = (values + 0.0).view(np.uint64)  # −0.0 and 0.0 are one value
    return np.where(bits & SIGN_BIT, ~bits, bits | SIGN_BIT)


def unorder_words(words: WordArray) -> FloatArray:
    """Return the floats of `order_words`.

    >>> import numpy as np
    >>> unorder_words(order_words(np.array([-1.5, 0.0, 2.0]))).tolist()
    [-1.5, 0.0, 2.0]
    """
    return np.where(words & SIGN_BIT, words ^ SIGN_BIT, ~words).view(np.float64)


@dataclass(frozen=True, eq=False)
class Layer:
    """Slots of numbers from `low` to `low + width`, each in at most 256 parts of 2^shift numbers.

    `below` gives the slot of the next layer that a part is, or −1.
    """

    low: WordArray
    width: WordArray
    below: IntArray | None = None

    @cached_property
    def shift(self) -> WordArray:
        """How many bits the place inside a part has."""
        bits = np.array([int(w).bit_length() for w in self.width], np.int64)
        return np.maximum(bits - PARTS_BITS, 0).astype(np.uint64)

    def part(self, slot: IntArray, words: WordArray) -> IntArray:
        """Return the part of its slot that each number is in."""
        return ((words - self.low[slot]) >> self.shift[slot]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Slots:
    """Layers of slots; `first` gives each list of rows its slot in the first one, −1 where no rank is wanted."""

    first: IntArray
    layers: tuple[Layer, ...]

    @classmethod
    def over(cls, asked: IntArray, lists: int, low: WordArray, high: WordArray) -> Slots:
        """Return one slot for each list in `asked`, over all numbers from low to high."""
        first = np.full(lists, -1)
        first[asked] = np.arange(len(asked))
        return cls(first, (Layer(low, high - low),))

    @property
    def size(self) -> int:
        """The number of slots in the last layer."""
        return len(self.layers[-1].low)

    def locate(self, lists: IntArray, words: WordArray) -> tuple[IntArray, IntArray]:
        """Return which rows are in a slot of the last layer, and in which."""
        rows = np.flatnonzero(lists >= 0)
        slot = self.first[lists[rows]]
        rows, slot = rows[slot >= 0], slot[slot >= 0]
        for layer in self.layers[:-1]:
            assert layer.below is not None
            slot = layer.below[slot, layer.part(slot, words[rows])]
            rows, slot = rows[slot >= 0], slot[slot >= 0]
        return rows, slot

    def counts(self, lists: IntArray, words: WordArray) -> IntArray:
        """Count rows by slot and part."""
        rows, slot = self.locate(lists, words)
        part = self.layers[-1].part(slot, words[rows])
        return np.bincount(slot * PARTS + part, minlength=self.size * PARTS).reshape(self.size, PARTS)

    def finer(self, slot: IntArray, part: IntArray) -> tuple[Slots, IntArray]:
        """Return the slots that the given parts are, and the new slot of each."""
        layer = self.layers[-1]
        keys, new = np.unique(slot * PARTS + part, return_inverse=True)
        below = np.full((self.size, PARTS), -1)
        below.ravel()[keys] = np.arange(len(keys))
        old = keys // PARTS
        low = layer.low[old] + ((keys % PARTS).astype(np.uint64) << layer.shift[old])
        width = (np.uint64(1) << layer.shift[old]) - np.uint64(1)
        layers = (*self.layers[:-1], replace(layer, below=below), Layer(low, width))
        return replace(self, layers=layers), new


@dataclass(frozen=True, eq=False)
class WantedRanks:
    """Ranks that are wanted: in which list of rows, at which place from 0 on, and how many rows the list holds."""

    lists: IntArray
    ranks: IntArray
    sizes: IntArray
    """Of every list."""
    low: WordArray
    high: WordArray
    """Of every list, the range its numbers lie in."""
    by_row: bool = True
    """Whether it matters which of several records with the same number has the rank."""


@dataclass(frozen=True, eq=False)
class RankedRows:
    """The number at each wanted rank, and the row that has it; equal numbers stand in the order of their rows."""

    words: WordArray
    rows: IntArray


@dataclass(frozen=True, eq=False)
class Gathered:
    """Slots, numbers and rows of the rows that are left."""

    slot: IntArray
    words: WordArray
    rows: IntArray

    def __add__(self, other: Gathered) -> Gathered:
        pairs = zip((self.slot, self.words, self.rows), (other.slot, other.words, other.rows), strict=True)
        return Gathered(*(np.concatenate(pair) for pair in pairs))


SlotsByColumn = Mapping[int, Slots]
"""Slots by column."""


def select(
    wanted: Mapping[int, WantedRanks],
    count: Callable[[SlotsByColumn], Mapping[int, IntArray]],
    gather: Callable[[SlotsByColumn], Mapping[int, Gathered]],
) -> dict[int, RankedRows]:
    """Return the rows at the wanted ranks of several columns; `count` and `gather` are folds over all rows."""
    slots, place, rank, left = {}, {}, {}, {}
    for column, asked in wanted.items():
        lists, number = np.unique(asked.lists, return_inverse=True)
        slots[column] = Slots.over(lists, len(asked.sizes), asked.low[lists], asked.high[lists])
        place[column], rank[column] = number, asked.ranks.copy()
        left[column] = int(asked.sizes[lists].sum())

    def single(column: int) -> bool:
        """Return whether every slot is one number, which cannot be split further."""
        return not slots[column].layers[-1].width.any()

    while wide := [c for c in wanted if left[c] > MAX_GATHERED and not single(c)]:
        counted = count({c: slots[c] for c in wide})
        for column in wide:
            table = counted[column]
            ends = np.cumsum(table, axis=1)[place[column]]
            part = (ends <= rank[column][:, None]).sum(axis=1)
            before = np.where(part > 0, np.take_along_axis(ends, np.maximum(part - 1, 0)[:, None], 1)[:, 0], 0)
            rank[column] = rank[column] - before
            held = table[place[column], part]
            slots[column], place[column] = slots[column].finer(place[column], part)
            sizes = np.zeros(slots[column].size, np.int64)
            sizes[place[column]] = held
            left[column] = int(sizes.sum())
    if stuck := [c for c, asked in wanted.items() if asked.by_row and left[c] > MAX_EQUAL_GATHERED]:
        raise DataError(
            f"column {stuck[0] + 1}: more than {MAX_EQUAL_GATHERED:,} records have the same released value where a cut is to be "
            "made; mine on one machine with engine=Local()"
        )
    few = {c: s for c, s in slots.items() if wanted[c].by_row or not single(c)}
    gathered = gather(few) if few else {}
    out = {}
    for column in wanted:
        if column not in few:
            words = slots[column].layers[-1].low[place[column]]
            out[column] = RankedRows(words, np.full(len(words), -1))
            continue
        records = gathered[column]
        order = np.lexsort((records.rows, records.words, records.slot))
        first = np.searchsorted(records.slot[order], np.arange(slots[column].size))
        chosen = order[first[place[column]] + rank[column]]
        out[column] = RankedRows(records.words[chosen], records.rows[chosen])
    return out
