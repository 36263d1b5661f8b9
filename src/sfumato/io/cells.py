"""Between a table's cells and the numbers that laws act on.

Numbers stay numbers, dates are days since 1970, categories are their place in the declared list; NaN is a missing value.
What does not fit the declared domain is refused here, with column, value, row and next step.

Numbers and days in other spellings are recognised, so that their owner can rewrite them, but not read: 1,234 is a thousand or
little more than one, and 05/06/2020 is in May or in June.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import BoolArray, FloatArray, snap
from sfumato.errors import CellError, DataError
from sfumato.scales import MIN_GRID, Ruler
from sfumato.schema import Attribute, Interval, Kind, Missing
from sfumato.text import join_names

Refuse = Callable[[BoolArray, Callable[[str], str], str], None]
"""Raises CellError for the first of some wrong cells: which they are, what is wrong with their text, and the next step."""
LIST_AS_MISSING = "fix it, or list it under missing_values in the plan"


@dataclass(frozen=True)
class Encoder:
    """Read one column as its attribute says; texts in `absent` mean a missing value.

    Parameters
    ----------
    attribute : Attribute
        How to read the column, and what it may hold.
    absent : tuple of str
        Texts that stand for a missing value.
    remedy : str, optional
        The next step for somebody who cannot change the plan; without it, messages speak to the owner.
    ruler : Ruler, optional
        The scale that numbers are read on; by default the attribute's.
    grid : float
        The grid of released places on that scale; 0 for true values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.schema import Attribute, Interval, Kind
    >>> Encoder(Attribute("age", Kind.INTEGER, Interval(0, 120)))(pa.array(["30", "", "41"])).tolist()
    [30.0, nan, 41.0]
    """

    attribute: Attribute
    absent: tuple[str, ...] = ("",)
    remedy: str | None = None
    ruler: Ruler | None = None
    grid: float = 0.0

    def __call__(self, array: pa.Array, start: int = 0) -> FloatArray:
        """Return numbers for the cells, places where they are on a scale; `start` is the first row's number, for messages."""
        values = self.read(array, start)
        ruler = self.ruler or self.attribute.ruler
        if ruler is None:
            return values
        places = ruler.to_places(values)
        return snap(places, self.grid) if self.grid else places

    def read(self, array: pa.Array, start: int = 0) -> FloatArray:
        """Return numbers for the cells in the column's own unit."""
        array = decode_dictionary(array)
        refuse = partial(self._refuse, array, start)
        values = self._numbers(array, refuse) if self.attribute.kind.numeric else self._categories(array, refuse)
        if self.attribute.missing is Missing.CATEGORY:
            values[np.isnan(values)] = len(self.attribute.categories)
        return values

    def _refuse(self, array: pa.Array, start: int, wrong: BoolArray, what: Callable[[str], str], remedy: str) -> None:
        """Raise CellError for the first cell that is `wrong`; `what` says of its text what is wrong."""
        if wrong.any():
            place = int(np.argmax(wrong))
            why = f"{what(format_cell(array[place]))}; {self.remedy or remedy}"
            raise CellError(self.attribute.name, start + place, why)

    def _categories(self, array: pa.Array, refuse: Refuse) -> FloatArray:
        categories = self.attribute.categories
        texts = format_labels(array, self.attribute.name)
        places = pc.index_in(texts, value_set=pa.array(categories, pa.string()))
        codes = places.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
        if places.null_count == 0:
            return codes
        missing = self._missing(texts)
        # A text that means "missing" elsewhere may be a category here: what is declared wins.
        refuse(
            np.isnan(codes) & ~missing,
            lambda text: f"{text!r} is not among the declared categories ({join_names(categories)})",
            "add it to the plan's categories, or fix the value",
        )
        return codes

    def _numbers(self, array: pa.Array, refuse: Refuse) -> FloatArray:
        values, missing = self._read_numbers(array, refuse)
        attribute, domain = self.attribute, self.domain
        inside = bool(len(values)) and domain.low <= values.min() and values.max() <= domain.high  # never where NaN is
        if not inside:
            self._refuse_outside(values, missing, refuse)
            if attribute.clip:
                values = np.clip(values, domain.low, domain.high)
        step = attribute.step
        whole = pa.types.is_integer(array.type) and step == 1.0
        if attribute.kind in (Kind.INTEGER, Kind.DATE) and not whole:
            quotient = values / step
            off_step = (quotient != np.floor(quotient)) & ~missing
            remedy = "declare the column real, or fix the value"
            refuse(off_step, lambda text: f"{text} is not a multiple of {step:g}", remedy)
        return values

    @property
    def domain(self) -> Interval:
        """The ends of a numeric column in its own unit."""
        domain = self.attribute.domain
        return domain if isinstance(domain, Interval) else self.attribute.interval  # which refuses anything else

    def count_clipped(self, array: pa.Array) -> int:
        """Return how many numbers lie beyond the ends of the domain."""
        array = decode_dictionary(array)
        values, _ = self._read_numbers(array, partial(self._refuse, array, 0))
        return int(np.count_nonzero((values < self.domain.low) | (values > self.domain.high)))

    def _refuse_outside(self, values: FloatArray, missing: BoolArray, refuse: Refuse) -> None:
        domain = self.domain
        low, high = self.attribute.format_value(domain.low), self.attribute.format_value(domain.high)
        infinite, outside = ~np.isfinite(values) & ~missing, (values < domain.low) | (values > domain.high)
        refuse(infinite, lambda text: f"{text} is not a finite number", LIST_AS_MISSING)
        if not self.attribute.clip:
            remedy = "widen the domain in the plan, or fix the value"
            refuse(outside, lambda text: f"{text} is outside [{low}, {high}]", remedy)

    def _read_numbers(self, array: pa.Array, refuse: Refuse) -> tuple[FloatArray, BoolArray]:
        return self._days(array, refuse) if self.attribute.kind is Kind.DATE else self._floats(array, refuse)

    def _floats(self, array: pa.Array, refuse: Refuse) -> tuple[FloatArray, BoolArray]:
        if pa.types.is_string(array.type):
            numbers, missing = self._parse(array, refuse, pa.float64(), "number", LIST_AS_MISSING)
        elif pa.types.is_boolean(array.type):
            numbers = array.cast(pa.int8()).cast(pa.float64())
            missing = _find_nulls(array)
        elif pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
            numbers = array.cast(pa.float64(), safe=False)
            missing = _find_nulls(array)
            if "nan" in (t.lower() for t in self.absent) and pa.types.is_floating(array.type):
                missing |= np.isnan(_to_floats(numbers))
        elif pa.types.is_null(array.type):
            return np.full(len(array), math.nan), np.ones(len(array), dtype=bool)
        else:
            raise DataError(
                f"{self.attribute.name}: a column of type {array.type} is not numeric; "
                f"{self.remedy or 'declare it categorical'}"
            )
        values = _to_floats(numbers)
        marks = match_absent_numbers(values, self.absent)
        if marks.any():  # -999 is as missing as a number as it is as a text
            values = np.where(marks, math.nan, values)
            missing = missing | marks
        return values, missing

    def _days(self, array: pa.Array, refuse: Refuse) -> tuple[FloatArray, BoolArray]:
        if pa.types.is_timestamp(array.type):
            array, midnight = truncate_to_days(array, self.attribute.name)
            remedy = "round the column to days, or declare it categorical"
            refuse(~midnight, lambda text: f"{text} is more than a day", remedy)
        if pa.types.is_date(array.type):
            return _to_floats(array.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())), _find_nulls(array)
        remedy = "write it as 2024-01-31, or declare the column categorical"
        days, missing = self._parse(array, refuse, pa.date32(), "date", remedy)
        return _to_floats(days.cast(pa.int32()).cast(pa.float64())), missing

    def _parse(
        self, array: pa.Array, refuse: Refuse, kind: pa.DataType, what: str, remedy: str
    ) -> tuple[pa.Array, BoolArray]:
        """Return texts as values of a type, and which are missing; `what` is one such value in a message."""
        texts = format_labels(array, self.attribute.name)
        missing = self._missing(texts)
        texts = pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), pc.utf8_trim_whitespace(texts))
        try:
            return texts.cast(kind), missing
        except pa.ArrowInvalid:
            unread = np.array([not _parses(t, kind) for t in texts.to_pylist()])
            refuse(unread, lambda text: f"{text!r} is not a {what}{_describe_look(text)}", remedy)
            raise DataError(f"{self.attribute.name}: some values cannot be read as {what}s") from None

    def _missing(self, texts: pa.Array) -> BoolArray:
        listed_absent = pc.is_in(texts, value_set=pa.array(self.absent, pa.string()))
        return _find_nulls(texts) | listed_absent.to_numpy(zero_copy_only=False).astype(bool)


def decode_dictionary(array: pa.Array) -> pa.Array:
    """Return the array without dictionary or large-string encoding."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        viewed = array.type.value_type in (pa.string_view(), pa.binary_view())  # what polars gives, and no cast takes
        array = decode_dictionary(array.dictionary).take(array.indices) if viewed else array.cast(array.type.value_type)
    if pa.types.is_large_string(array.type) or array.type == pa.string_view():
        array = array.cast(pa.string())
    return array.cast(pa.binary()) if array.type == pa.binary_view() else array


def format_labels(array: pa.Array, name: str = "a column") -> pa.Array:
    """Return cells as the labels people write: 3 rather than 3.0, true rather than 1."""
    array = decode_dictionary(array)
    if pa.types.is_string(array.type):
        return array
    if pa.types.is_floating(array.type):
        texts = [
            None if v is None else str(int(v)) if math.isfinite(v) and v.is_integer() else repr(v)
            for v in array.to_pylist()
        ]
        return pa.array(texts, pa.string())
    try:
        return array.cast(pa.string())
    except pa.ArrowException:
        raise DataError(
            f"{name}: values of type {array.type} have no plain text form; convert the column first"
        ) from None


def truncate_to_days(instants: pa.Array, name: str) -> tuple[pa.Array, BoolArray]:
    """Return the days of timestamps, by the clock of their own time zone, and which of them are midnight exactly."""
    try:
        local = instants if instants.type.tz is None else pc.local_timestamp(instants)
        days = local.cast(pa.date32(), safe=False)
        same = pc.fill_null(pc.equal(days.cast(local.type, safe=False), local), fill_value=True)
    except pa.ArrowException as error:
        raise DataError(f"{name}: {instants.type} cannot be read as days: {error}; convert the column") from None
    return days, same.to_numpy(zero_copy_only=False).astype(bool)


def format_cell(scalar: pa.Scalar) -> str:
    """Return one cell as text, cut short where it is long."""
    try:
        value = scalar.as_py()
    except (OverflowError, ValueError):  # days that Python's calendar does not have
        value = scalar.cast(pa.string()).as_py()
    text = "" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def match_absent_numbers(numbers: FloatArray, absent: Iterable[str]) -> BoolArray:
    """Return which numbers stand for a missing value: -999 where "-999" is among the `absent` texts."""
    marks = [float(text) for text in absent if _parses(text, pa.float64())]
    return np.isin(numbers, marks) if marks else np.zeros(len(numbers), dtype=bool)


def _describe_look(text: str) -> str:
    form = detect_spelling([text])
    return "" if form is None else f"; such values look like {form}"


def _parses(text: str | None, kind: pa.DataType) -> bool:
    try:
        pa.scalar(text, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _find_nulls(array: pa.Array) -> BoolArray:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    return array.is_null().to_numpy(zero_copy_only=False).astype(bool)


def _to_floats(numbers: pa.Array) -> FloatArray:
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def released_attribute(attribute: Attribute, reports: int | None) -> Attribute:
    """Return what the cells of a released column hold: the attribute's values, or whole numbers where they are reports."""
    return attribute if reports is None else Attribute(attribute.name, Kind.INTEGER, Interval(0, reports - 1))


@dataclass(frozen=True)
class Decoder:
    """Write numbers back as the cells of a release: integers where all are whole, dates, labels.

    Parameters
    ----------
    attribute : Attribute
        What the cells hold.
    whole : bool
        Whether every released number is a whole one, so that the column can be written as integers.
    grid : float
        The grid of the places, where the column is on a scale.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.schema import Attribute, Interval, Kind
    >>> Decoder(Attribute("age", Kind.INTEGER, Interval(0, 120)), whole=True)(np.array([30.0, np.nan])).to_pylist()
    [30, None]
    """

    attribute: Attribute
    whole: bool = False
    grid: float = 0.0

    @property
    def type(self) -> pa.DataType:
        """The column's type in the release."""
        if self.attribute.domain is None:
            return pa.string()
        if not self.attribute.kind.numeric:
            return pa.dictionary(pa.int32(), pa.string())
        if self.attribute.kind is Kind.DATE and self.whole:
            return pa.date32()
        return pa.int64() if self.whole else pa.float64()

    def __call__(self, values: FloatArray) -> pa.Array:
        """Return the cells; NaN becomes a missing value."""
        attribute = self.attribute
        if not attribute.kind.numeric:
            missing = np.isnan(values) | (values >= len(attribute.categories))
            indices = pa.array(np.where(missing, 0, values).astype(np.int32), mask=missing)
            return pa.DictionaryArray.from_arrays(indices, pa.array(attribute.categories, pa.string()))
        if attribute.ruler is not None:
            values = attribute.ruler.write_values(values, self.grid or MIN_GRID)
        missing = np.isnan(values)
        mask = missing if missing.any() else None
        present = values if mask is None else np.where(missing, 0, values)
        if attribute.kind is Kind.DATE and self.whole:
            return pa.array(present.astype(np.int32), pa.int32(), mask=mask).cast(pa.date32())
        if self.whole:
            return pa.array(present.astype(np.int64), pa.int64(), mask=mask)
        return pa.array(values, pa.float64(), mask=mask)


@dataclass(frozen=True)
class Spelling:
    """A spelling: its pattern, what it is, and how to rewrite it."""

    pattern: re.Pattern[str]
    what: str
    how: str
    number: bool = True

    def __str__(self) -> str:
        return f"{self.what}: {self.how}"


def _spelling(pattern: str, what: str, how: str, *, number: bool = True) -> Spelling:
    return Spelling(re.compile(rf"\s*(?:{pattern})\s*"), what, how, number)


AS_DAYS = "write them as year-month-day (2020-05-17)"
SPELLINGS = (
    _spelling(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*", "time stamps", "cut them to their days (2020-05-17)", number=False),
    _spelling(r"\d{1,2}\.\d{1,2}\.(\d{4}|\d\d)", "days with points", AS_DAYS, number=False),
    _spelling(r"\d{1,2}/\d{1,2}/(\d{4}|\d\d)|\d{4}/\d{1,2}/\d{1,2}", "days with slashes", AS_DAYS, number=False),
    _spelling(r"\d{1,2}-\d{1,2}-\d{4}|\d{4}-\d-\d{1,2}|\d{4}-\d{1,2}-\d", "days in another order or without zeros", AS_DAYS,
              number=False),
    _spelling(r"[+-]?[\d.,]*\d\s*%", "percentages", "remove the % sign (89.3)"),
    _spelling(r"[+-]?[$€£]\s*[\d.,]*\d|[+-]?[\d.,]*\d\s*[$€£]", "amounts of money", "remove the currency sign (12.50)"),
    _spelling(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", "numbers with commas, it seems between thousands", "remove the commas (817988)"),
    _spelling(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+", "numbers with decimal commas", "write them with a point (23.00)"),
)  # fmt: skip


def detect_spelling(texts: Iterable[str]) -> Spelling | None:
    """Return the spelling that all the texts have, if there is one."""
    texts = list(texts)
    if not texts:
        return None
    return next((form for form in SPELLINGS if all(form.pattern.fullmatch(t) for t in texts)), None)
