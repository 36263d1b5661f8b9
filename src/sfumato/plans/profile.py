"""A look at a table: what each column seems to hold. One pass, and profiles of blocks add up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import FloatArray
from sfumato.errors import DataError
from sfumato.io import Block, decode_dictionary, format_labels, truncate_to_days
from sfumato.plans.ordering import LabelsAlong, NumbersAlong, ordered
from sfumato.plans.sentinels import Ends

MOST_DISTINCT = 20_000
"""So many different texts of a column are kept: enough for zip codes and diagnoses, and little memory."""
MOST_DISTINCT_REALS = 1000
UNIQUE_ROWS = 100_000
"""Whether a column never repeats is judged on this many rows."""

NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
WHOLE = r"^\s*[+-]?[0-9]+\s*$"
PADDED = r"^\s*[+-]?0[0-9]"
DAY = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"
ABSENT_MARKS = frozenset({"?", "nan", "null", "#n/a", "<na>", r"\n"})
"""Texts that nobody gives as an answer: they mean a missing value even among labels."""
ABSENT_WORDS = ABSENT_MARKS | {"na", "n/a", "nat", "none", "-", ".", "missing", "unknown", "*"}
"""Texts that are no number and no day, and so mean a missing value among these; among labels they may be answers."""


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
    distinct: frozenset[str] | None = frozenset()
    """The distinct texts, or None once there are more than MOST_DISTINCT."""
    unique: bool = True
    seen: frozenset[str] = field(default=frozenset(), repr=False)
    not_numbers: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    """Texts seen that are among ABSENT_WORDS, as they are written."""
    worded: int = 0
    """Rows that hold one of them."""
    logical: bool = False
    levels: tuple[str, ...] | None = None
    """All categories of an ordered categorical, in their order."""
    ends: Ends = field(default_factory=Ends)
    unread: str | None = None
    """The type of a column whose values are neither numbers nor days nor labels."""
    numbers_along: NumbersAlong = field(default_factory=NumbersAlong)
    labels_along: LabelsAlong = field(default_factory=LabelsAlong)

    @property
    def ordered(self) -> bool:
        """Whether neighbouring rows are alike, as in a sorted table."""
        return ordered(self.numbers_along if self.numbers_along.count == self.present else self.labels_along)

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
        distinct = None if self.distinct is None or other.distinct is None else self.distinct | other.distinct
        repeats = bool(self.seen & other.seen)
        return ColumnProfile(
            name=self.name,
            rows=self.rows + other.rows,
            missing=self.missing + other.missing,
            numbers=self.numbers + other.numbers,
            whole=self.whole + other.whole,
            padded=self.padded + other.padded,
            days=self.days + other.days,
            decimals=max(self.decimals, other.decimals),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            first_day=min((d for d in (self.first_day, other.first_day) if d), default=None),
            last_day=max((d for d in (self.last_day, other.last_day) if d), default=None),
            distinct=None if distinct is None or len(distinct) > MOST_DISTINCT else distinct,
            unique=self.unique and other.unique and not repeats,
            seen=self.seen | other.seen if self.unique and not repeats and self.rows < UNIQUE_ROWS else frozenset(),
            not_numbers=frozenset(sorted(self.not_numbers | other.not_numbers)[:50]),
            words=self.words | other.words,
            worded=self.worded + other.worded,
            logical=self.logical or other.logical,
            numbers_along=self.numbers_along + other.numbers_along,
            labels_along=self.labels_along + other.labels_along,
            levels=self.levels if self.levels == other.levels else None,
            ends=self.ends + other.ends,
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
    number = (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)) and not logical
    if number:
        return _of_numbers(name, array, start)
    if not _readable(array, name):
        return ColumnProfile(name, rows, array.null_count, distinct=None, unique=False, unread=str(kind))
    if pa.types.is_timestamp(kind):
        days, midnight = truncate_to_days(array, name)
        array = days if midnight.all() else array
    texts = format_labels(array, name)
    empty = _count(pc.equal(texts, ""))
    present = texts.filter(pc.fill_null(pc.not_equal(texts, ""), fill_value=False))
    numeric = pc.match_substring_regex(present, NUMBER)
    values = pc.utf8_trim_whitespace(present.filter(numeric)).cast(pa.float64())
    ends = _ends(values)
    days = pc.match_substring_regex(present, DAY)
    dates = pc.utf8_trim_whitespace(present.filter(days))
    real = _are_days(dates)
    others = pc.unique(present.filter(pc.invert(numeric)))
    unique = pc.unique(present)
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
        low=ends[0],
        high=ends[1],
        first_day=pc.min(dates).as_py() if real else None,
        last_day=pc.max(dates).as_py() if real else None,
        distinct=_few(unique),
        unique=len(unique) == len(present),
        seen=_seen(unique, start),
        not_numbers=frozenset(others[:50].to_pylist()),
        words=frozenset(words.to_pylist()),
        worded=_count(pc.is_in(present, value_set=words)) if len(words) else 0,
        ends=Ends.of(_finite(values)),
        logical=logical,
        numbers_along=NumbersAlong.of(values.to_numpy(zero_copy_only=False)),
        labels_along=LabelsAlong.of(present),
    )


def _readable(array: pa.Array, name: str) -> bool:
    """Return whether the values have a text that people would write: a length of time, bytes, lists and structures have none."""
    kind = array.type
    if pa.types.is_duration(kind) or kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        return False
    if pa.types.is_fixed_size_binary(kind):
        return False
    try:
        format_labels(array[:1], name)
    except DataError:
        return False
    return True


def _levels(array: pa.Array, name: str) -> tuple[str, ...] | None:
    """Return the categories of an ordered categorical, unless two of them are written alike or one is nothing."""
    if (
        not pa.types.is_dictionary(array.type)
        or not array.type.ordered
        or not _readable(decode_dictionary(array.dictionary), name)
    ):
        return None
    texts = format_labels(array.dictionary, name).to_pylist()
    return tuple(texts) if len(set(texts)) == len(texts) and not {None, ""} & set(texts) else None


def _of_numbers(name: str, array: pa.Array, start: int) -> ColumnProfile:
    values = array.drop_null()
    floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    finite = floats[np.isfinite(floats)]
    unique = pc.unique(values)
    whole = len(finite) if pa.types.is_integer(array.type) else int(np.sum(finite == np.floor(finite)))
    most = MOST_DISTINCT if whole == len(finite) else MOST_DISTINCT_REALS
    few = format_labels(unique, name) if len(unique) <= most else None
    return ColumnProfile(
        name=name,
        rows=len(array),
        missing=array.null_count,
        numbers=len(values),
        whole=whole,
        decimals=0 if whole == len(finite) else 17,
        low=float(finite.min()) if len(finite) else math.inf,
        high=float(finite.max()) if len(finite) else -math.inf,
        distinct=None if few is None else frozenset(few.to_pylist()),
        unique=len(unique) == len(values),
        seen=_seen(format_labels(unique, name), start)
        if start < UNIQUE_ROWS and len(unique) == len(values)
        else frozenset(),
        not_numbers=frozenset({"nan"}) if len(finite) < len(floats) else frozenset(),
        numbers_along=NumbersAlong.of(floats),
        words=frozenset({"nan"}) if len(finite) < len(floats) else frozenset(),
        ends=Ends.of(finite),
    )


def _are_days(texts: pa.Array) -> bool:
    """Return whether there are any, and all stand in the calendar (which 2023-02-29 and the year 0 do not)."""
    try:
        texts.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return len(texts) > 0 and pc.min(texts).as_py() >= "0001"


def _few(unique: pa.Array) -> frozenset[str] | None:
    return frozenset(unique.to_pylist()) if len(unique) <= MOST_DISTINCT else None


def _seen(unique: pa.Array, start: int) -> frozenset[str]:
    return frozenset(unique.to_pylist()) if start < UNIQUE_ROWS else frozenset()


def _finite(values: pa.Array) -> FloatArray:
    floats: FloatArray = values.to_numpy(zero_copy_only=False)
    return floats[np.isfinite(floats)]


def _ends(values: pa.Array) -> tuple[float, float]:
    if not len(values):
        return math.inf, -math.inf
    ends = pc.min_max(values).as_py()
    return float(ends["min"]), float(ends["max"])


def _decimals(texts: pa.Array) -> int:
    """Return the most digits after a decimal point."""
    if not len(texts):
        return 0
    tails = pc.utf8_length(pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^[^.]*\.?", ""))
    scientific = pc.any(pc.match_substring_regex(texts, "[eE]")).as_py()
    return 17 if scientific else int(pc.max(tails).as_py())


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)
