"""Which columns of a table hold numbers and days in another spelling than the plain one.

Every column begins with all spellings that are known. Each block of rows leaves those that can read all its texts, until
enough rows were seen and no question is open: whether 01/02/2024 is in January may be settled by row 30,000 only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.findings import Note
from sfumato.io.cells import decode_dictionary, truncate_to_days
from sfumato.io.reading import Reading
from sfumato.io.spellings import DATE_FORMATS, ISO, PLAIN_NUMBER, SPELLED_NUMBERS, DateFormat, NumberSpelling
from sfumato.text import join_names

ABSENT_MARKS = frozenset({"?", "nan", "null", "#n/a", "<na>", r"\n"})
"""Texts that no one gives as an answer: they mean a missing value even among labels."""
ABSENT_WORDS = ABSENT_MARKS | {"na", "n/a", "nat", "none", "-", ".", "missing", "unknown", "*"}
"""Texts that mean a missing value among numbers or days; among labels they may be answers."""
MONTH_FIRST = {"%d/%m/%Y": "%m/%d/%Y", "%d/%m/%y": "%m/%d/%y", "%d-%m-%Y": "%m-%d-%Y"}
"""Formats of which the other one differs in the order of day and month only."""


@dataclass
class Candidates:
    """The spellings that read all texts of a column so far."""

    numbers: tuple[NumberSpelling, ...] = SPELLED_NUMBERS
    dates: tuple[DateFormat, ...] = DATE_FORMATS
    plain: bool = True
    """Whether the texts are numbers as programs write them."""
    marked: bool = False
    """Whether a number has a sign that could be between thousands or before decimals."""
    timed: bool = False
    """Whether a time of day was seen that is not midnight."""
    distinct: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def narrow(self, array: pa.Array) -> None:
        """Keep the spellings that read these cells, too; texts without digits may stand for a missing value."""
        array = decode_dictionary(array)
        if pa.types.is_timestamp(array.type):
            midnight = truncate_to_days(array, "a column")[1]
            self.numbers, self.dates, self.timed = (), (ISO,), self.timed or not midnight.all()
            self.distinct.add("a time")
            return
        if not pa.types.is_string(array.type) or not (self.numbers or self.dates):
            self.numbers = self.dates = ()
            return
        texts = pc.unique(pc.utf8_trim_whitespace(array.drop_null()))
        spelled = texts.filter(pc.match_substring_regex(texts, r"\d"))
        most = 100  # kept, to see which are commoner: values or words
        self.words |= {t for t in texts[:most].to_pylist() if t and not any(c.isdigit() for c in t)}
        self.distinct |= set(spelled[:most].to_pylist()[: most - len(self.distinct)])
        if not len(spelled):
            return
        first = spelled[:most].to_pylist()
        self.dates = tuple(d for d in self.dates if all(map(d.may_match, first)) and not d.to_iso(spelled).null_count)
        self.numbers = tuple(n for n in self.numbers if pc.all(n.matches(spelled)).as_py())
        self.plain = self.plain and bool(pc.all(pc.match_substring_regex(spelled, PLAIN_NUMBER)).as_py())
        self.marked = self.marked or bool(pc.any(pc.match_substring_regex(spelled, r"\d[.,]\d")).as_py())
        self.timed = self.timed or any(d.has_times(spelled) for d in self.dates[:1])

    @property
    def seen(self) -> bool:
        """Whether there are values, and more of them than words."""
        absent = {w for w in self.words if w.lower() in ABSENT_WORDS}
        return bool(self.distinct) and len(self.words - absent) <= len(self.distinct)

    @property
    def is_date(self) -> bool:
        """Whether the column holds days that are not plain already."""
        return self.seen and bool(self.dates) and (self.dates[0] != ISO or self.timed)

    @property
    def is_spelled(self) -> bool:
        """Whether the column holds numbers, and the plain spelling cannot read them."""
        return self.seen and not self.dates and bool(self.numbers) and not self.plain

    @property
    def open(self) -> bool:
        """Whether two of the spellings that are left read the same texts as different values."""
        days = self.is_date and len(self.dates) > 1
        return days or (self.is_spelled and len({n.decimal for n in self.numbers}) > 1)


@dataclass(frozen=True)
class Detected:
    """A reading with nothing left to find out, and what to tell the owner of it."""

    reading: Reading
    notes: tuple[Note, ...]


def detect_spellings(batches: Iterable[pa.RecordBatch], given: Reading) -> Detected:
    """Find the columns of numbers and days in other spellings; what is given is not questioned."""
    if given.numbers is not None and given.dates is not None:
        return Detected(given, ())
    columns = _narrow_all(batches, given)
    dates, doubtful_days = _choose_dates(columns, given) if given.dates is None else (dict(given.dates), {})
    spelling, numbers = NumberSpelling(given.decimal or ".", given.thousands or ""), given.numbers
    doubtful_numbers: dict[str, str] = {}
    if numbers is None:
        others = {n: c for n, c in columns.items() if n not in dates}
        spelling, numbers, doubtful_numbers = _choose_numbers(
            others, given, comma_likely=given.delimiter in (";", "\t")
        )
    reading = replace(
        given,
        numbers=numbers,
        dates=dates,
        date_format=None,
        decimal=spelling.decimal if numbers else given.decimal,
        thousands=spelling.thousands if numbers else given.thousands,
    )
    times = [name for name in dates if name in columns and columns[name].timed]
    return Detected(reading, tuple(_notes(reading, times, doubtful_days, doubtful_numbers)))


def _narrow_all(batches: Iterable[pa.RecordBatch], given: Reading) -> dict[str, Candidates]:
    enough = 20_000
    columns: dict[str, Candidates] = {}
    rows = 0
    for batch in batches:
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            columns.setdefault(name, _begin(given)).narrow(array)
        rows += batch.num_rows
        if rows >= enough and not any(c.open for c in columns.values()):
            break
    return columns


def _begin(given: Reading) -> Candidates:
    """Return the spellings that may be meant, given some of their signs."""
    dates = DATE_FORMATS if given.date_format is None else (DateFormat(given.date_format),)
    numbers = tuple(
        n
        for n in SPELLED_NUMBERS
        if given.decimal in (None, n.decimal) and (not given.thousands or n.thousands in ("", given.thousands))
    )
    return Candidates(numbers, dates)


def _choose_dates(columns: dict[str, Candidates], given: Reading) -> tuple[dict[str, str], dict[str, str]]:
    """Return the format of each column of days, and of those among them that could be read in another."""
    dated = {n: c.dates for n, c in columns.items() if c.is_date}
    sure = {formats[0].format for formats in dated.values() if len(formats) == 1}
    american = bool(sure & set(MONTH_FIRST.values()))
    european = bool(sure & {*MONTH_FIRST, "%d.%m.%Y", "%d.%m.%y"}) or given.delimiter in (";", "\t", "|")
    european = european or any(c.is_spelled and {n.decimal for n in c.numbers} == {","} for c in columns.values())
    out, doubtful = {}, {}
    for name, formats in dated.items():
        chosen = formats[0].format
        both = {f.format for f in formats} >= {chosen, MONTH_FIRST.get(chosen, "")}
        if both and (american or (not european and "/" in chosen)):
            chosen = MONTH_FIRST[chosen]
        if both and not (american or sure & set(MONTH_FIRST)):
            doubtful[name] = chosen
        out[name] = chosen
    return out, doubtful


def _choose_numbers(
    columns: dict[str, Candidates], given: Reading, *, comma_likely: bool
) -> tuple[NumberSpelling, tuple[str, ...], dict[str, str]]:
    """Return the spelling of the table's numbers, its columns, and those among them that could be read in another."""
    spelled = {n: set(c.numbers) for n, c in columns.items() if c.is_spelled}
    pointed = [n for n, c in columns.items() if c.seen and c.marked and c.plain and not c.dates]
    if not spelled and not (pointed and given.decimal == ","):
        return SPELLED_NUMBERS[0], (), {}
    certain = [s for s in spelled.values() if len({n.decimal for n in s}) == 1]
    votes = certain or list(spelled.values())
    decimals = {n.decimal for s in votes for n in s}
    decimal = given.decimal or (next(iter(decimals)) if len(decimals) == 1 else "," if comma_likely else ".")

    def score(one: NumberSpelling) -> tuple[int, bool, int]:
        plainest = -SPELLED_NUMBERS.index(one)
        reads = sum(one in s for s in spelled.values()) or sum(one in columns[n].numbers for n in pointed)
        return reads, one.thousands == (given.thousands or ""), plainest

    best = max((n for n in SPELLED_NUMBERS if n.decimal == decimal), key=score)
    names = [n for n, s in spelled.items() if best in s]
    # 1.234 is a number of its own in a plain file, and more than a thousand beside 1.234,56.
    names += [n for n in pointed if best in columns[n].numbers and decimal == ","]
    doubtful = {} if certain or given.decimal else dict.fromkeys(names, decimal)
    return best, tuple(n for n in columns if n in names), doubtful


def _notes(reading: Reading, times: list[str], days: dict[str, str], numbers: dict[str, str]) -> Iterator[Note]:
    if reading.words:
        yield Note("SF261", f"read as: {reading.words}")
    if days:
        taken = DateFormat(next(iter(days.values())))
        other = next(b if a == taken.format else a for a, b in MONTH_FIRST.items() if taken.format in (a, b))
        yield Note(
            "SF262",
            f"{join_names(days)}: day and month can be told apart in no row; the days were taken as {taken.example}. "
            f"If that is wrong, give date_format='{other}'",
        )
    if numbers:
        decimal = next(iter(numbers.values()))
        taken_as, other = ("decimal commas", ".") if decimal == "," else ("signs between thousands", ",")
        yield Note(
            "SF262",
            f"{join_names(numbers)}: commas could stand before decimals or between thousands; they were taken as {taken_as}. "
            f"If that is wrong, give decimal='{other}'",
        )
    if times:
        yield Note(
            "SF263",
            f"{join_names(times)}: the time of day is left out, and only the day is read, by the clock of the table",
        )


def respell(batch: pa.RecordBatch, reading: Reading) -> pa.RecordBatch:
    """Return the rows with numbers and days as plain texts, in the columns that the reading names."""
    spelling = NumberSpelling(reading.decimal or ".", reading.thousands or "")
    numbers, dates = set(reading.numbers or ()), reading.dates or {}
    arrays = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name in dates:
            arrays.append(_to_days(decode_dictionary(array), DateFormat(dates[name]), name))
        elif name in numbers and pa.types.is_string(decode_dictionary(array).type):
            arrays.append(spelling.to_plain(decode_dictionary(array)))
        else:
            arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _to_days(array: pa.Array, form: DateFormat, name: str) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        return truncate_to_days(array, name)[0]
    if not pa.types.is_string(array.type):
        return array
    days = form.to_iso(array)
    return pc.if_else(pc.is_valid(days), days, array)


def find_stray(batch: pa.RecordBatch, reading: Reading) -> tuple[str, int, str] | None:
    """Return column, place and text of a number with a decimal point in a column of decimal commas, if there is one."""
    spelling = NumberSpelling(reading.decimal or ".", reading.thousands or "")
    if spelling.decimal == ".":
        return None
    for name in reading.numbers or ():
        if name in batch.schema.names and pa.types.is_string((array := decode_dictionary(batch.column(name))).type):
            odd = pc.and_(pc.match_substring_regex(array, PLAIN_NUMBER), pc.invert(spelling.matches(array)))
            if pc.any(odd).as_py():
                place = pc.index(odd, value=True).as_py()
                return name, place, array[place].as_py()
    return None
