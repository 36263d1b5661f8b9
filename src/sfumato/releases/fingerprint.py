"""Is this table known? A small private fingerprint, to recognise it in a later release, and a check against a release of it.

The fingerprint is two samples, both of which depend on nothing but the table's cells, so that sketches of blocks add up. They
recognise a table even when rows or columns were added, dropped or corrected:

- The K rows whose *addresses* have the smallest keyed hashes, with a keyed hash of each of their cells. Any two tables
  choose the same addresses, so on the columns they share they can be compared row by row, whatever else they hold.
- The K smallest keyed hashes of rows: two tables share as many of them as they share rows, wherever these are (bottom-K
  sampling). Rows are hashed over several sets of columns: all of them, all but one, and halves chosen by name. So rows that
  were moved are known again though a column was changed, left out or put in.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, FloatArray, WordArray
from sfumato.errors import GIVE_SAME_TABLE, DataError
from sfumato.hashing import GOLDEN_STEP, splitmix64
from sfumato.randomness import CELLS_PER_CHUNK, Addresses, SecretKey
from sfumato.scales import RESOLUTION
from sfumato.schema import Attribute, Missing
from sfumato.table import Column

SAMPLE_ROWS = 256
CONTENT_ROWS = 256
MIN_DISTINCT_ROWS = 0.5
"""Content alone identifies rows only where most of them differ."""
MAX_CHANCE_AGREEMENT = 0.9
"""A column whose cells agree with this probability by chance does not show whether a table is the same."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """The cells of rows chosen by their address, and the smallest hashes of rows over several sets of columns."""

    addresses: WordArray
    cells: Mapping[str, WordArray]
    content: Mapping[str, WordArray]
    """By the name of the set, which two tables share where the set is the same (see `column_sets`)."""
    rows: int

    @classmethod
    def empty(cls) -> Sketch:
        """Return the sketch of no rows."""
        return cls(np.empty(0, np.uint64), {}, {}, 0)

    def __add__(self, other: Sketch) -> Sketch:
        if not self.rows or not other.rows:
            return self if self.rows else other
        addresses = np.concatenate([self.addresses, other.addresses])
        chosen = np.argsort(addresses, kind="stable")[:SAMPLE_ROWS]
        return Sketch(
            addresses[chosen],
            {name: np.concatenate([cells, other.cells[name]])[chosen] for name, cells in self.cells.items()},
            {s: _smallest(np.concatenate([words, other.content[s]])) for s, words in self.content.items()},
            self.rows + other.rows,
        )

    def equals(self, other: Sketch) -> bool:
        """Return whether both are of one table, as far as the chosen rows show."""
        cells = set(self.cells) == set(other.cells) and all(
            np.array_equal(self.cells[n], other.cells[n]) for n in self.cells
        )
        return self.rows == other.rows and cells and np.array_equal(self.addresses, other.addresses)

    def same_places(self, other: Sketch) -> float:
        """Return the share of the smaller table's rows that both have at the same address: whole rows, or the column most alike."""
        columns = set(self.cells) & set(other.cells)
        return max([self.same_rows_at(other, columns), *(v for v in self.same_cells(other).values() if v is not None)])

    def same_rows_at(self, other: Sketch, columns: Collection[str]) -> float:
        """Return the share of the smaller table's rows that agree in all of these columns at the same address."""
        both, share = _shared_words(self.addresses, other.addresses)
        if not columns or not len(both):
            return 0.0
        names = sorted(columns)
        return beyond_chance(self._rows_at(both, names), other._rows_at(both, names)) * share

    def renamed_columns(self, other: Sketch) -> dict[str, str]:
        """Return the columns of `other` that hold the cells of a column which it no longer has, and their former names."""
        min_agreement, min_share = 0.9, 0.3  # of the cells of a column that was only renamed, and of the table
        both, share = _shared_words(self.addresses, other.addresses)
        gone, new = sorted(set(self.cells) - set(other.cells)), sorted(set(other.cells) - set(self.cells))
        out: dict[str, str] = {}
        for name in new if len(both) and share >= min_share else ():
            for former in gone:
                old, new_ = self._cells_at(both, former), other._cells_at(both, name)
                if chance_agreement(old, new_) <= MAX_CHANCE_AGREEMENT and beyond_chance(old, new_) >= min_agreement:
                    out[name] = former
        return out

    def same_cells(self, other: Sketch) -> dict[str, float | None]:
        """Return `same_places` column by column: a column that was corrected or declared otherwise hides nothing of the others.

        None where a column is nearly constant, and so the same in any two tables.
        """
        both, share = _shared_words(self.addresses, other.addresses)
        out: dict[str, float | None] = {}
        for name in sorted(set(self.cells) & set(other.cells)) if len(both) else ():
            a, b = self._cells_at(both, name), other._cells_at(both, name)
            out[name] = None if chance_agreement(a, b) > MAX_CHANCE_AGREEMENT else beyond_chance(a, b) * share
        return out

    def common_rows(self, other: Sketch) -> list[tuple[tuple[str, ...], float, float]]:
        """Return sets of columns by which rows can be told apart, the share of the smaller table's rows that both have, wherever
        they are, and the share of rows that are unlike any other.

        A single column, or less than half of the columns, may agree in tables of different people: days, running numbers.
        """
        sets, out = column_sets(self.cells), []
        for name in sorted(set(self.content) & set(other.content)):
            columns = sets[name]
            few = len(columns) * 2 < min(len(self.cells), len(other.cells)) or (len(columns) == 1 < len(self.cells))
            shares = self.distinct_share(name), other.distinct_share(name)
            # Rows that one table repeats are still told apart by the other.
            if not few and max(shares) >= MIN_DISTINCT_ROWS:
                common = _shared_words(self.content[name], other.content[name], CONTENT_ROWS)[1]
                out.append((columns, common, min(shares)))
        return out

    def _cells_at(self, addresses: WordArray, column: str) -> WordArray:
        return self.cells[column][np.searchsorted(self.addresses, addresses)]

    def _rows_at(self, addresses: WordArray, columns: list[str]) -> WordArray:
        total = np.zeros(len(addresses), np.uint64)
        for name in columns:
            total = splitmix64(total * GOLDEN_STEP + self._cells_at(addresses, name))
        return total

    def distinct_share(self, name: str | None = None) -> float:
        """Return the share of rows unlike any other in a set of columns, by default all: the K-th smallest of d hashes is near K/d."""
        content = self.content.get(name or set_name(self.cells), np.empty(0, np.uint64))
        if self.rows == 0 or len(content) < CONTENT_ROWS:
            return len(content) / max(self.rows, 1)
        return min(1.0, CONTENT_ROWS / (float(content[-1]) * 2.0**-64) / self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the ledger."""
        return {
            "rows": self.rows,
            "addresses": _hex(self.addresses),
            "cells": {name: _hex(cells) for name, cells in self.cells.items()},
            "content": {name: _hex(words) for name, words in self.content.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sketch:
        """Return the sketch that `to_dict` described."""
        cells = {str(name): _words(text) for name, text in data["cells"].items()}
        content = {str(name): _words(text) for name, text in data["content"].items()}
        return cls(_words(data["addresses"]), cells, content, int(data["rows"]))


def column_sets(columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the sets of columns over which rows are hashed, each by its name.

    All columns; all but one, for eight of them; and eight halves. Which ones depends on the columns' names alone, so that two
    tables share the sets which no difference between them touches.

    Examples
    --------
    >>> sorted(column_sets(["a", "b", "c"]).values())
    [('a', 'b'), ('a', 'b', 'c'), ('a', 'c'), ('b', 'c')]
    """
    max_left_out, halves, min_halved = 8, 8, 6
    names = sorted(columns)
    marks = {n: int.from_bytes(hashlib.sha256(n.encode()).digest()[:8]) for n in names}
    sets = [tuple(names)]
    if len(names) > 1:
        sets += [
            tuple(n for n in names if n != left_out) for left_out in sorted(names, key=marks.__getitem__)[:max_left_out]
        ]
    if len(names) >= min_halved:
        sets += [tuple(n for n in names if marks[n] >> half & 1) for half in range(halves)]
    return {set_name(s): s for s in sets if s}


def set_name(columns: Iterable[str]) -> str:
    """Return the name of a set of columns."""
    return hashlib.sha256("\0".join(sorted(columns)).encode()).hexdigest()[:12]


def sketch_of(key: SecretKey, columns: Mapping[str, FloatArray], addresses: Addresses) -> Sketch:
    """Return the sketch of one block: cells hash by secret linear maps, then are mixed until every bit counts.

    For rows Σ c_j · bits_j is mixed once at the end. Whole numbers have all their bits in the upper half of a float64, and
    multiplying only carries upward, so the upper half is first folded onto the lower.
    """
    size = addresses.size
    place_secret = _secret(key, "address")
    secrets = {name: _secret(key, "column", name)[0] for name in columns}
    sets = column_sets(columns)
    places = np.empty(size, np.uint64)
    kept: dict[str, list[WordArray]] = {name: [] for name in sets}
    for begin in range(0, size, CELLS_PER_CHUNK):
        end = min(begin + CELLS_PER_CHUNK, size)
        part = addresses.part(begin, end)
        places[begin:end] = splitmix64(
            splitmix64(part.high * GOLDEN_STEP + part.low) * place_secret[0] + place_secret[1]
        )
        for name, sums in _row_sums({n: v[begin:end] for n, v in columns.items()}, secrets, sets).items():
            kept[name].append(_smallest(splitmix64(sums)))
    chosen = _order_of_smallest(places)
    # One secret for the cells of all columns, so that a column is known again under another name.
    factor, summand = _secret(key, "cell")
    cells = {
        name: splitmix64(_bits(values[chosen]) * factor + summand) >> np.uint64(32) for name, values in columns.items()
    }
    return Sketch(
        places[chosen], cells, {n: _smallest(np.concatenate(words)) for n, words in kept.items() if words}, size
    )


def _row_sums(
    columns: Mapping[str, FloatArray], secrets: Mapping[str, np.uint64], sets: Mapping[str, tuple[str, ...]]
) -> dict[str, WordArray]:
    """Return Σ c_j · bits_j over each set of columns, for rows few enough to stay in the cache.

    A set that lacks few columns is the sum over all less those, so that the cost is linear in the columns.
    """
    lacking = {name: set(columns) - set(members) for name, members in sets.items()}
    whole = np.zeros(len(next(iter(columns.values()), ())), np.uint64)
    halves = {n: np.zeros_like(whole) for n, gone in lacking.items() if len(gone) > 1}
    left_out = {name for gone in lacking.values() if len(gone) == 1 for name in gone}
    without: dict[str, WordArray] = {}
    for name, values in columns.items():
        bits = _bits(values)
        bits ^= bits >> np.uint64(32)
        bits *= secrets[name]
        whole += bits
        for half, sums in halves.items():
            if name not in lacking[half]:
                sums += bits
        if name in left_out:
            without[name] = bits
    return {
        n: halves[n] if n in halves else _subtract(whole, *(without[g] for g in gone)) for n, gone in lacking.items()
    }


def _subtract(total: WordArray, *parts: WordArray) -> WordArray:
    out = total.copy()
    for part in parts:
        out -= part
    return out


def _bits(values: FloatArray) -> WordArray:
    """Return the bits of each value, −0.0 and 0.0 alike.

    Fractions are rounded to 20 binary digits, about six decimal ones: a copy of the table in float32 is the same table.
    """
    half, kept = np.uint64(1 << 31), np.uint64(0xFFFFFFFF00000000)
    exact = (values + 0.0).view(np.uint64)
    return np.where(values == np.rint(values), exact, (exact + half) & kept)


def beyond_chance(a: WordArray, b: WordArray) -> float:
    """Return Cohen's κ = (agreement − chance)/(1 − chance), or 0 where the excess may itself be chance.

    Rows of flags agree in half of all places by chance alone. Where all rows agree there is no doubt to allow for.
    """
    agreement = float(np.mean(a == b))
    if agreement == 1.0:
        return 1.0
    chance = chance_agreement(a, b)
    min_excess = 4.0  # standard errors
    if agreement - chance <= min_excess * math.sqrt(chance * (1 - chance) / len(a)):
        return 0.0
    return (agreement - chance) / (1 - chance)


def chance_agreement(a: WordArray, b: WordArray) -> float:
    """Return how often a word of the one equals a word of the other by chance."""
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    first, second = (np.bincount(c, minlength=len(values)) for c in (codes[: len(a)], codes[len(a) :]))
    return float(first @ second) / max(1, len(a) * len(b))


def content_values(attribute: Attribute, values: FloatArray) -> FloatArray:
    """Return what a column is recognised by: numbers as they are, labels by their text, whatever place a plan gives them."""
    if attribute.ruler is not None:  # so that a table is known again on another scale, or on none
        return np.asarray(attribute.ruler.write_values(values, 2**10 * RESOLUTION))
    if attribute.kind.numeric or attribute.domain is None:
        return values
    known = np.append(_label_numbers(attribute.categories), np.nan)
    return known[np.where(np.isnan(values), -1, values).astype(np.int64)]


@cache
def _label_numbers(labels: tuple[str, ...]) -> FloatArray:
    """Return a number of 48 bits for each label, and one for a missing value that takes part as a label."""
    return np.array([_label_number(text) for text in (*labels, "\0missing")])


def _label_number(text: str) -> float:
    """Return the number that a label spells, so that a plan may call it a label or a number; for other labels a hash."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) else float(int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]))


def _secret(key: SecretKey, *labels: str) -> WordArray:
    """Return an odd factor and a summand."""
    words = np.frombuffer(key.derive("sketch", *labels).secret[:16], np.uint64)
    return words | np.array([1, 0], np.uint64)


def _order_of_smallest(words: WordArray) -> NDArray[np.intp]:
    few = np.argpartition(words, SAMPLE_ROWS)[:SAMPLE_ROWS] if len(words) > SAMPLE_ROWS else np.arange(len(words))
    return few[np.argsort(words[few], kind="stable")]


def _smallest(words: WordArray) -> WordArray:
    """Return the smallest distinct words, as many as a sample has; equal words are rare where it matters."""
    if len(words) > 4 * CONTENT_ROWS:
        few = words[words <= np.partition(words, 2 * CONTENT_ROWS)[2 * CONTENT_ROWS]]
        unique: WordArray = np.unique(few)
        if len(unique) >= CONTENT_ROWS:
            return unique[:CONTENT_ROWS]
    return np.asarray(np.unique(words)[:CONTENT_ROWS])


def _shared_words(a: WordArray, b: WordArray, size: int = SAMPLE_ROWS) -> tuple[WordArray, float]:
    """Return the words that two samples of smallest ones have in common, and their share in those of the smaller one."""
    union = np.union1d(a, b)[:size]
    in_a, in_b = np.isin(union, a), np.isin(union, b)
    both = in_a & in_b
    return union[both], float(both.sum() / max(1, min(in_a.sum(), in_b.sum())))


def _hex(words: WordArray) -> str:
    return words.astype(">u8").tobytes().hex()


def _words(text: str) -> WordArray:
    return np.frombuffer(bytes.fromhex(text), ">u8").astype(np.uint64)


def check_same_rows(columns: Iterable[Column], truth: Mapping[str, FloatArray], guided: Container[str] = ()) -> None:
    """Raise DataError if the released columns cannot be these true ones, row for row.

    An audit compares each released row with its original. Against rows in another order every attack fails and every promise
    looks kept, so such a table is refused: by columns that were released as they are, by cells left missing, and by the laws.
    `guided` columns have no law and are not checked.
    """
    for column in (c for c in columns if c.name in truth and c.name not in guided):
        true = truth[column.name]
        if not len(true):
            continue
        if column.channel is None:
            same = np.isclose(column.values, true, rtol=1e-9, atol=0.0, equal_nan=True)
            _check_share(column, ~same, "is released as it is, and differs")
        elif column.attribute.missing is not Missing.CATEGORY:
            _check_share(column, np.isnan(column.values) != np.isnan(true), "is missing in one of them only")
        if column.channel is not None and not rows_follow_law(column, true):
            raise DataError(
                f"{column.name}: the released values do not follow those of the original as their law says; {GIVE_SAME_TABLE}"
            )


def _check_share(column: Column, wrong: BoolArray, words: str) -> None:
    max_changed = 0.01  # cells that may have been corrected since; more is another table
    if wrong.mean() > max_changed:
        raise DataError(
            f"{column.name}, row {int(np.argmax(wrong)) + 1}: the value {words} in {wrong.mean():.0%} of the rows of release and "
            f"original; {GIVE_SAME_TABLE}"
        )


def rows_follow_law(column: Column, truth: FloatArray) -> bool:
    """Return whether the rows are in the right order, by D = Σ log P(z | x) − m(z), m(z) its mean over all true values.

    Shuffled, D is 0 in the mean; in the right order it is what the law expects, μ > 0. The nearer of the two is taken, and
    the right one where the law keeps them too close together to decide.
    """
    cells, max_labels, max_rows = 64, 512, 20_000
    min_density = 1e-12
    certainty = 8.0  # standard deviations by which the right order must stand out before its absence means anything
    channel = column.channel
    grid = column.true_grid(cells)
    if channel is None or channel.reports is not None or grid.size > max_labels:
        return True
    rows = np.flatnonzero(~np.isnan(column.values) & ~np.isnan(truth))
    rows = rows[:: -(-len(rows) // max_rows) or 1]
    if not len(rows):
        return True
    observed_grid = column.observed_grid(grid)
    law = np.maximum(channel.transition(grid, observed_grid), 0.0)
    true, shown = grid.locate(truth[rows]), observed_grid.locate(column.values[rows])
    shares = np.bincount(true, minlength=grid.size) / len(true)
    logs = np.log(np.maximum(law, min_density))
    evidence = logs - (logs @ shares)[:, None]
    shuffled = float(((evidence**2) @ shares)[shown].sum())
    mean = (law * evidence).sum(axis=0)
    right = float(((law * evidence**2).sum(axis=0) - mean**2)[true].sum())
    expected = float(mean[true].sum())
    if expected <= certainty * max(shuffled, right, 0.0) ** 0.5:
        return True
    return float(evidence[shown, true].sum()) >= expected / 2
