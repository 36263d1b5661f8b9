"""Spellings of numbers and days, and the same values as plain texts: 1.234,56 is 1234.56, and 31.12.2024 is 2024-12-31."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import UsageError

ANY_OF = {"": "", ",": ",", ".": r"\.", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}
"""What a sign between thousands looks like: spaces and apostrophes come in several kinds."""
PLAIN_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
"""Numbers as programs write them."""
SIGN = "[+\u2212-]?"


@dataclass(frozen=True)
class NumberSpelling:
    """Numbers with a decimal sign and, maybe, a sign between thousands; the minus may stand behind, as SAP writes it.

    Examples
    --------
    >>> NumberSpelling(",", ".").to_plain(pa.array(["1.234,56", "7", "12,5-", "n/a"])).to_pylist()
    ['1234.56', '7', '-12.5', 'n/a']
    """

    decimal: str = "."
    thousands: str = ""

    @cached_property
    def pattern(self) -> str:
        """The expression that its texts match."""
        point = re.escape(self.decimal)
        groups = rf"[1-9]\d{{0,2}}(?:{ANY_OF[self.thousands]}\d{{3}})+|" if self.thousands else ""
        return rf"^\s*{SIGN}(?:(?:{groups}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?-?\s*$"

    def matches(self, texts: pa.Array) -> pa.Array:
        """Return which texts are such numbers."""
        return pc.match_substring_regex(texts, self.pattern)

    def to_plain(self, texts: pa.Array) -> pa.Array:
        """Return the numbers with a decimal point and nothing else; other texts stay as they are."""
        plain = pc.utf8_trim_whitespace(texts)
        if self.thousands:
            plain = pc.replace_substring_regex(plain, ANY_OF[self.thousands], "")
        if self.decimal != ".":
            plain = pc.replace_substring(plain, self.decimal, ".")
        plain = pc.replace_substring(plain, "\u2212", "-")
        plain = pc.replace_substring_regex(plain, "^[+]?(.*)-$", r"-\1")
        return pc.if_else(self.matches(texts), plain, texts)


SPELLED_NUMBERS = tuple(
    NumberSpelling(decimal, thousands)
    for decimal in (".", ",")
    for thousands in ("", ".", ",", "'", " ")
    if decimal != thousands
)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DIRECTIVES = {
    "d": r"(?P<d>\d{1,2})", "m": r"(?P<m>\d{1,2})", "Y": r"(?P<Y>\d{4})", "y": r"(?P<y>\d{2})", "b": "(?P<b>[A-Za-z]{3,9})",
    "H": r"\d{1,2}", "I": r"\d{1,2}", "M": r"\d{1,2}", "S": r"\d{1,2}", "f": r"\d{1,9}", "p": "[AaPp][Mm]",
    "z": r"(?:Z|[+-]\d\d:?\d\d)", "Z": "[A-Za-z]{1,5}",
}  # fmt: skip
EXAMPLES = {
    "d": "31", "m": "12", "Y": "2024", "y": "24", "b": "Dec", "H": "23", "I": "11", "M": "59", "S": "59", "f": "0", "p": "PM", "z": "Z",
    "Z": "CET",
}  # fmt: skip
CLOCK = (
    r"(?P<t>(?:[ T,]+|, at )\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm])?\s*"
    r"(?:Z|UTC|[A-Z]{3,4}|[+-]\d{2}:?\d{2}|[+-]\d{2})?(?:\[[\w/]+\])?)?"
)
"""A time of day with its zone, which may follow any day."""
MIDNIGHT = r"^[ T,]+0{1,2}[:.]00(?:[:.]00(?:[.,]0+)?)?\D*$"


@dataclass(frozen=True)
class DateFormat:
    """Days in a format of `strptime`; a time of day may follow, and is left out.

    Examples
    --------
    >>> DateFormat("%d.%m.%Y").to_iso(pa.array(["31.12.2024", "1.2.2024 13:05", "30.2.2024"])).to_pylist()
    ['2024-12-31', '2024-02-01', None]
    """

    format: str

    def __post_init__(self) -> None:
        directives = re.findall("%(.)", self.format.replace("%%", "").replace("%B", "%b"))
        if unknown := [d for d in directives if d not in DIRECTIVES]:
            raise UsageError(
                f"{self.format!r}: %{unknown[0]} is not read; use %d %m %b %Y %y, and %H %M %S %f %p %z for times"
            )
        once = [directives.count(d) for d in "d"] + [sum(directives.count(d) for d in pair) for pair in ("mb", "Yy")]
        if once != [1, 1, 1] or len(set(directives)) < len(directives):
            raise UsageError(f"{self.format!r} does not name a day, a month and a year once each, as %d.%m.%Y does")

    @cached_property
    def _parts(self) -> list[str]:
        """Literals and directives in turn, directives with their percent sign."""
        return [p for p in re.split("(%.)", self.format.replace("%B", "%b")) if p]

    @property
    def example(self) -> str:
        """The last day of 2024."""
        return "".join(EXAMPLES.get(p[1:], p[1:]) if p.startswith("%") else p for p in self._parts)

    @cached_property
    def pattern(self) -> str:
        """The expression that its texts match; digits that follow one another need all their places."""
        out = ""
        parts = self._parts
        for before, part, after in zip(["", *parts[:-1]], parts, [*parts[1:], ""], strict=True):
            if not part.startswith("%"):
                out += re.escape(part)
                continue
            expression = DIRECTIVES[part[1:]]
            packed = before.startswith("%") or after.startswith("%")
            out += expression.replace("{1,2}", "{2}") if packed else expression
        return rf"^\s*{out}{'' if '%H' in parts or '%I' in parts else CLOCK}\s*$"

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def may_match(self, text: str) -> bool:
        """Return whether a text has this form; whether it is a day of the calendar is another question."""
        return self._expression.match(text) is not None

    def to_iso(self, texts: pa.Array) -> pa.Array:
        """Return the days as 2024-12-31; null where a text is not such a day."""
        parts = pc.extract_regex(texts, self.pattern)
        names = [field.name for field in parts.type]
        if "Y" in names:
            year = pc.struct_field(parts, "Y")
        else:
            short = pc.struct_field(parts, "y")
            pivot = 69  # 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068: what POSIX says of %y
            old = pc.greater_equal(short.cast(pa.int32()), pivot)
            year = pc.binary_join_element_wise(pc.if_else(old, "19", "20"), short, "")
        if "b" in names:
            short = pc.utf8_slice_codeunits(pc.utf8_lower(pc.struct_field(parts, "b")), 0, 3)
            place = pc.index_in(short, value_set=pa.array(MONTHS))
            month = pc.add(place, 1).cast(pa.string())
        else:
            month = pc.struct_field(parts, "m")
        padded = [pc.utf8_lpad(part, 2, "0") for part in (month, pc.struct_field(parts, "d"))]
        return _only_days(pc.binary_join_element_wise(year, *padded, "-"))

    def has_times(self, texts: pa.Array) -> bool:
        """Return whether a time of day other than midnight stands behind a day."""
        if "%H" in self._parts or "%I" in self._parts:
            return True
        times = pc.struct_field(pc.extract_regex(texts, self.pattern), "t")
        spoken = pc.and_(pc.not_equal(times, ""), pc.invert(pc.match_substring_regex(times, MIDNIGHT)))
        return bool(pc.any(spoken).as_py())


def _only_days(texts: pa.Array) -> pa.Array:
    """Return the texts that stand in the calendar, which 2023-02-29 does not, and null for others."""
    try:
        texts.cast(pa.date32())
    except pa.ArrowInvalid:
        return pa.array([t if t is not None and _is_day(t) else None for t in texts.to_pylist()], pa.string())
    return texts


def _is_day(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True


DATE_FORMATS = tuple(
    DateFormat(form)
    for form in (
        "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
        "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%d%b%Y", "%b %d, %Y", "%d-%b-%y",
    )
)  # fmt: skip
"""What is tried, the commonest first. Points are never month-first: days are not written so anywhere."""
ISO = DATE_FORMATS[0]
