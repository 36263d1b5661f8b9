"""A look at a table: what each column seems to hold, and whether neighbouring rows are alike. One pass, and profiles of blocks
add up.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError
from sfumato.io import ABSENT_MARKS, ABSENT_WORDS, Block, decode_dictionary, format_labels, truncate_to_days
from sfumato.plans.tails import Sizes

END_VALUES = 3
"""How many of the lowest, and of the highest values of a column are kept."""
End = tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class Ends:
    """The lowest and the highest few values of a column, outermost first, and how often each stands there.

    A lone end, repeated and far from all other values, may be a number such as −999 that stands for a missing value. A value
    among the lowest three of a table is among the lowest three of every block that holds it, so counts add up exactly.
    """

    lows: End = ()
    highs: End = ()

    @classmethod
    def of(cls, values: FloatArray) -> Ends:
        """Return the ends of finite numbers."""
        return cls(_lowest(values), tuple((-v, n) for v, n in _lowest(-values)))

    def __add__(self, other: Ends) -> Ends:
        return Ends(_merge_ends(self.lows, other.lows, 1), _merge_ends(self.highs, other.highs, -1))


def sentinels(ends: Ends, rows: int, distinct: int | None) -> list[tuple[float, int]]:
    """Return values that look like marks for missing, with their counts; `distinct` is the number of values, None if large."""
    many = distinct is None or distinct > 6
    return _beyond(ends.lows, ends.highs, rows, 1, many=many) + _beyond(ends.highs, ends.lows, rows, -1, many=many)


def _lowest(values: FloatArray) -> End:
    out: list[tuple[float, int]] = []
    while len(values) and len(out) < END_VALUES:
        low = values.min()
        above = values[values > low]
        out.append((float(low), len(values) - len(above)))
        values = above
    return tuple(out)


def _merge_ends(a: End, b: End, sign: int) -> End:
    counts = dict(a)
    for value, count in b:
        counts[value] = counts.get(value, 0) + count
    return tuple(sorted(counts.items(), key=lambda item: sign * item[0])[:END_VALUES])


def _beyond(near: End, other: End, rows: int, sign: int, *, many: bool) -> list[tuple[float, int]]:
    """Return marks at one end; the outermost value of the other end may be one too, and is left out of the rest's width."""
    min_share = 0.01
    # How many widths of the rest lie between it and a mark: any number, and one of nines as marks are.
    far, far_mark = 10.0, 1.0
    # Of −1 where all other values are positive: in widths, or beside its neighbour's count.
    min_gap, min_times = 0.05, 3
    marks: list[tuple[float, int]] = []
    for place, ((value, count), (following, followers)) in enumerate(pairwise(near)):
        widths = [sign * (v - following) for v, _ in other[:2] if sign * (v - following) > 0]
        if not widths or count < min_share * rows:
            continue
        gap, width = sign * (following - value), min(widths)
        is_far = gap >= (far_mark if _is_mark(value) else far) * width
        lone_minus = value == -1 and following >= 0 and many and sign > 0
        if is_far or (lone_minus and (gap >= min_gap * width or count >= min_times * followers)):
            marks = [end for end in near[: place + 1] if end[1] >= min_share * rows]
    return marks


def _is_mark(value: float) -> bool:
    """Return 9, 99, 999, … and 88, 888, … of either sign, which people write where a file of numbers needs a number."""
    digits = f"{abs(value):.0f}"
    return value == np.round(value) and (set(digits) == {"9"} or (len(digits) > 1 and set(digits) <= {"8"}))


BUCKETS = 64
"""Labels are told apart by this many classes of their checksums: enough to see runs, and little to keep."""


@dataclass(frozen=True)
class NumbersAlong:
    """Numbers in the order of their rows: r = 1 − Σ(xᵢ₊₁ − xᵢ)²/(2 Σ(xᵢ − x̄)²), von Neumann's ratio, which needs no mean beforehand.

    In an order that chance has made it is 0, with a standard deviation of about 1/√n, as is that of `LabelsAlong`.
    """

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
        ratio = 1 - self.jumps / (2 * self.squares) if self.squares > 0 else 0.0
        return ratio if math.isfinite(ratio) else 0.0


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
        names = [_checksum(str(text)) % BUCKETS for text in coded.dictionary.to_pylist()]
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


def is_ordered(along: NumbersAlong | LabelsAlong) -> bool:
    """Return whether neighbours are so alike, and so surely, that the order of the rows tells values."""
    min_likeness, min_deviations = 0.3, 6.0
    return along.likeness >= min_likeness and along.likeness * math.sqrt(along.count) >= min_deviations


MAX_DISTINCT = 20_000
"""Different texts of a column that are kept: enough for zip codes and diagnoses, and little memory."""
SAMPLE_SIZE = 100
"""Different texts of a column that are looked at for what they are."""
UNIQUE_ROWS = 100_000
"""Whether a column never repeats is judged on this many rows."""

NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
WHOLE = r"^\s*[+-]?[0-9]+\s*$"
PADDED = r"^\s*[+-]?0[0-9]"
DAY = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"


@dataclass(frozen=True)
class ColumnProfile:
    """What was seen of one column."""

    name: str
    rows: int = 0
    missing: int = 0
    numbers: int = 0
    whole: int = 0
    padded: int = 0
    days: int = 0
    decimals: int = 0
    low: float = math.inf
    high: float = -math.inf
    first_day: str | None = None
    last_day: str | None = None
    counts: Mapping[str, int] | None = field(default_factory=dict)
    """The distinct texts with their rows, or None once there are more than MAX_DISTINCT."""
    sample: frozenset[str] = frozenset()
    """Some of the distinct texts, however many there are."""
    unique: bool = True
    seen: frozenset[str] = field(default=frozenset(), repr=False)
    not_numbers: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    """Texts seen that may mean a missing value, as they are written."""
    worded: int = 0
    """Rows that hold one of them."""
    logical: bool = False
    levels: tuple[str, ...] | None = None
    """All categories of an ordered categorical, in their order."""
    ends: Ends = field(default_factory=Ends)
    sizes: Sizes = field(default_factory=Sizes)
    unread: str | None = None
    """The type of a column whose values are neither numbers nor days nor labels."""
    numbers_along: NumbersAlong = field(default_factory=NumbersAlong)
    labels_along: LabelsAlong = field(default_factory=LabelsAlong)

    @property
    def distinct(self) -> frozenset[str] | None:
        """The distinct texts, or None once there are more than MAX_DISTINCT."""
        return None if self.counts is None else frozenset(self.counts)

    @property
    def rows_each(self) -> tuple[float, int] | None:
        """Rows per value, on average and at most; None where values are too many to count."""
        return (self.present / len(self.counts), max(self.counts.values())) if self.counts else None

    @property
    def ordered(self) -> bool:
        """Whether neighbouring rows are alike, as in a sorted table."""
        return is_ordered(self.numbers_along if self.numbers_along.count == self.present else self.labels_along)

    @property
    def present(self) -> int:
        """Rows that hold a value."""
        return self.rows - self.missing

    @property
    def absent_words(self) -> tuple[str, ...]:
        """Texts such as "NA" that stand for a missing value in a column of numbers or days."""
        return tuple(sorted(self.words))

    @property
    def absent_marks(self) -> tuple[str, ...]:
        """Texts such as "?" that stand for a missing value in any column."""
        return tuple(sorted(w for w in self.words if w.strip().lower() in ABSENT_MARKS))

    def __add__(self, other: ColumnProfile) -> ColumnProfile:
        added = (
            "rows", "missing", "numbers", "whole", "padded", "days", "worded", "ends", "sizes", "numbers_along", "labels_along",
        )  # fmt: skip
        counts = None if self.counts is None or other.counts is None else Counter(self.counts) + Counter(other.counts)
        repeats = bool(self.seen & other.seen)
        return ColumnProfile(
            name=self.name,
            **{n: getattr(self, n) + getattr(other, n) for n in added},
            decimals=max(self.decimals, other.decimals),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            first_day=min((d for d in (self.first_day, other.first_day) if d), default=None),
            last_day=max((d for d in (self.last_day, other.last_day) if d), default=None),
            counts=None if counts is None or len(counts) > MAX_DISTINCT else counts,
            sample=frozenset(sorted(self.sample | other.sample, key=_checksum)[:SAMPLE_SIZE]),
            unique=self.unique and other.unique and not repeats,
            seen=self.seen | other.seen if self.unique and not repeats and self.rows < UNIQUE_ROWS else frozenset(),
            not_numbers=frozenset(sorted(self.not_numbers | other.not_numbers)[:50]),
            words=self.words | other.words,
            logical=self.logical or other.logical,
            levels=self.levels if self.levels == other.levels else None,
            unread=self.unread or other.unread,
        )


def profile(blocks: Iterable[Block]) -> dict[str, ColumnProfile]:
    """Return profiles of all columns; empty where the table has no rows."""
    out: dict[str, ColumnProfile] = {}
    for block in blocks:
        for name, array in zip(block.batch.schema.names, block.batch.columns, strict=True):
            seen = replace(_of(name, decode_dictionary(array), block.start), levels=_levels(array, name))
            out[name] = out[name] + seen if name in out else seen
    return out


def _of(name: str, array: pa.Array, start: int) -> ColumnProfile:
    rows = len(array)
    kind = array.type
    logical = pa.types.is_boolean(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _of_numbers(name, array, start)
    if not _readable(array, name):
        return ColumnProfile(name, rows, array.null_count, counts=None, unique=False, unread=str(kind))
    if pa.types.is_timestamp(kind):
        days, midnight = truncate_to_days(array, name)
        array = days if midnight.all() else array
    texts = format_labels(array, name)
    empty = _count(pc.equal(texts, ""))
    present = texts.filter(pc.fill_null(pc.not_equal(texts, ""), fill_value=False))
    numeric = pc.match_substring_regex(present, NUMBER)
    values = pc.utf8_trim_whitespace(present.filter(numeric)).cast(pa.float64())
    floats = values.to_numpy(zero_copy_only=False)
    days = pc.match_substring_regex(present, DAY)
    dates = pc.utf8_trim_whitespace(present.filter(days))
    real = _are_days(dates)
    others = pc.unique(present.filter(pc.invert(numeric)))
    unique, times = pc.value_counts(present).flatten()
    known = pa.array(sorted(ABSENT_WORDS), pa.string())
    words = others.filter(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(others)), value_set=known))
    return ColumnProfile(
        name=name,
        rows=rows,
        missing=texts.null_count + empty,
        numbers=_count(numeric),
        whole=_count(pc.match_substring_regex(present, WHOLE)),
        padded=_count(pc.match_substring_regex(present, PADDED)),
        days=len(dates) if real else 0,
        decimals=_decimals(present.filter(numeric)),
        low=float(floats.min(initial=math.inf)),
        high=float(floats.max(initial=-math.inf)),
        first_day=pc.min(dates).as_py() if real else None,
        last_day=pc.max(dates).as_py() if real else None,
        counts=_pair(unique, times) if len(unique) <= MAX_DISTINCT else None,
        sample=frozenset(_thin(unique).to_pylist()),
        unique=len(unique) == len(present),
        seen=frozenset(unique.to_pylist()) if start < UNIQUE_ROWS else frozenset(),
        not_numbers=frozenset(others[:50].to_pylist()),
        words=frozenset(words.to_pylist()),
        worded=_count(pc.is_in(present, value_set=words)) if len(words) else 0,
        ends=Ends.of(floats[np.isfinite(floats)]),
        sizes=Sizes.of(floats[np.isfinite(floats)]),
        logical=logical,
        numbers_along=NumbersAlong.of(floats),
        labels_along=LabelsAlong.of(present),
    )


def _readable(array: pa.Array, name: str) -> bool:
    """Return whether the values have a text that people would write: a length of time, bytes, lists and structures have none."""
    kind = array.type
    bytes_of_any_length = (pa.binary(), pa.large_binary(), pa.binary_view())
    if pa.types.is_duration(kind) or pa.types.is_fixed_size_binary(kind) or kind in bytes_of_any_length:
        return False
    try:
        format_labels(array[:1], name)
    except DataError:
        return False
    return True


def _levels(array: pa.Array, name: str) -> tuple[str, ...] | None:
    """Return the categories of an ordered categorical, unless two of them are written alike or one is nothing."""
    ordered = pa.types.is_dictionary(array.type) and array.type.ordered
    if not ordered or not _readable(decode_dictionary(array.dictionary), name):
        return None
    texts = format_labels(array.dictionary, name).to_pylist()
    return tuple(texts) if len(set(texts)) == len(texts) and not {None, ""} & set(texts) else None


def _of_numbers(name: str, array: pa.Array, start: int) -> ColumnProfile:
    values = array.drop_null()
    floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    finite = floats[np.isfinite(floats)]
    unique, times = pc.value_counts(values).flatten()
    whole = len(finite) if pa.types.is_integer(array.type) else int(np.sum(finite == np.floor(finite)))
    most = MAX_DISTINCT if whole == len(finite) else 1000
    few = format_labels(unique, name) if len(unique) <= most else None
    repeats_none = len(unique) == len(values)
    absent = frozenset({"nan"} if len(finite) < len(floats) else ())
    return ColumnProfile(
        name=name,
        rows=len(array),
        missing=array.null_count,
        numbers=len(values),
        whole=whole,
        decimals=0 if whole == len(finite) else _decimals_of(finite),
        low=float(finite.min(initial=math.inf)),
        high=float(finite.max(initial=-math.inf)),
        counts=None if few is None else _pair(few, times),
        sample=frozenset(format_labels(_thin(unique), name).to_pylist()),
        unique=repeats_none,
        seen=frozenset(format_labels(unique, name).to_pylist() if start < UNIQUE_ROWS and repeats_none else ()),
        not_numbers=absent,
        numbers_along=NumbersAlong.of(floats),
        words=absent,
        ends=Ends.of(finite),
        sizes=Sizes.of(finite),
    )


def _pair(texts: pa.Array, times: pa.Array) -> dict[str, int]:
    return dict(zip(texts.to_pylist(), times.to_pylist(), strict=True))


def _thin(values: pa.Array) -> pa.Array:
    """Return every k-th value, so that at most SAMPLE_SIZE are left."""
    return values[:: -(-len(values) // SAMPLE_SIZE) or 1]


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def _decimals_of(numbers: FloatArray) -> int:
    """Return the fewest decimals, up to 6, that write all numbers exactly; 17 where more are needed."""
    with np.errstate(over="ignore", invalid="ignore"):
        return next((d for d in range(1, 7) if np.array_equal(np.round(numbers, d), numbers)), 17)


def _are_days(texts: pa.Array) -> bool:
    """Return whether there are any, and all stand in the calendar (which 2023-02-29 and the year 0 do not)."""
    try:
        texts.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return len(texts) > 0 and pc.min(texts).as_py() >= "0001"


def _decimals(texts: pa.Array) -> int:
    """Return the most digits after a decimal point."""
    if not len(texts):
        return 0
    tails = pc.utf8_length(pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^[^.]*\.?", ""))
    scientific = pc.any(pc.match_substring_regex(texts, "[eE]")).as_py()
    return 17 if scientific else int(pc.max(tails).as_py())


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)
