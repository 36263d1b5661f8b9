"""How a table is read: what stands between its fields, and how its numbers and days are spelled."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from sfumato.errors import UsageError
from sfumato.text import join_names

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars (|)"}
THOUSANDS = {"": "nothing", ",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}
NAMED_SIGNS = {"tab": "\t", "\\t": "\t", "space": " ", "none": ""}


def check_encoding(name: str) -> None:
    """Raise UsageError unless Python knows a text encoding of that name."""
    try:
        "".encode(name)
        codecs.lookup(name)
    except (LookupError, ValueError):
        raise UsageError(f"there is no encoding {name!r}; common ones are utf-8, latin-1 and cp1252") from None


@dataclass(frozen=True)
class Reading:
    """How to read a table; what is None is found out from the table.

    Parameters
    ----------
    delimiter : str, optional
        The sign between fields of a CSV file; "tab" is one too.
    decimal, thousands : str, optional
        The decimal sign, and the sign between thousands ("" for none, "space" for any space).
    date_format : str, optional
        How days are spelled, as for `strptime`: "%d.%m.%Y".
    encoding : str, optional
        The encoding of a text file.
    comment : str, optional
        Lines that begin with this sign are left out.
    skip_rows : int, optional
        Lines before the header that are left out.
    sheet : str, optional
        The sheet of a workbook.
    query : str, optional
        The query whose answer is the table.
    numbers : tuple of str, optional
        The columns whose numbers are spelled with these signs; others are read as they stand.
    dates : mapping of str to str, optional
        The columns of days, each with its format.

    Examples
    --------
    >>> Reading(delimiter=";", decimal=",", numbers=("cost",), dates={"born": "%d.%m.%Y"}).words
    'semicolons between fields, decimal commas (cost), days as 31.12.2024 (born)'
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    comment: str | None = None
    skip_rows: int | None = None
    sheet: str | None = None
    query: str | None = None
    numbers: tuple[str, ...] | None = None
    dates: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for sign in ("delimiter", "thousands"):
            if (given := getattr(self, sign)) is not None:
                object.__setattr__(self, sign, NAMED_SIGNS.get(given, given))
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise UsageError(f"delimiter={self.delimiter!r} is not one sign; common ones are , ; | and tab")
        if self.decimal not in (None, ".", ","):
            raise UsageError(f"decimal={self.decimal!r} is not a decimal sign; give a point or a comma")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise UsageError(f"thousands={self.thousands!r} is not known between thousands; give , . ' space or none")
        if self.decimal is not None and self.decimal == self.thousands:
            raise UsageError(f"{self.decimal!r} cannot be both the decimal sign and between thousands; give another")
        if self.comment and len(self.comment) != 1:
            raise UsageError(f"comment={self.comment!r} is not one sign; a common one is #")
        if self.skip_rows is not None and self.skip_rows < 0:
            raise UsageError(f"skip_rows={self.skip_rows} is below 0; give the number of lines before the header")
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.date_format is not None or self.dates:
            from sfumato.io.spellings import DateFormat

            for form in (self.date_format, *(self.dates or {}).values()):
                if form is not None:
                    DateFormat(form)

    def over(self, other: Reading | None) -> Reading:
        """Return what is given here, and the other's where nothing is."""
        if other is None:
            return self
        return replace(other, **{f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not None})

    def only(self, columns: set[str]) -> Reading:
        """Return the same reading, with the spelling of these columns alone."""
        numbers = tuple(n for n in self.numbers or () if n in columns)
        return replace(self, numbers=numbers, dates={n: f for n, f in (self.dates or {}).items() if n in columns})

    @property
    def words(self) -> str:
        """What is not as in a plain file (commas, decimal points, 2024-12-31, UTF-8), in words; empty where all is."""
        from sfumato.io.spellings import DateFormat

        out = []
        if self.delimiter not in (None, ","):
            out.append(f"{SEPARATORS.get(self.delimiter or '', repr(self.delimiter))} between fields")
        if self.numbers:
            signs = (["decimal commas"] if self.decimal == "," else []) + (
                [f"{THOUSANDS[self.thousands]} between thousands"] if self.thousands else []
            )
            out.append(f"{' and '.join(signs) or 'the minus behind'} ({join_names(self.numbers)})")
        for form in dict.fromkeys((self.dates or {}).values()):
            names = [n for n, f in (self.dates or {}).items() if f == form]
            out.append(f"days as {DateFormat(form).example} ({join_names(names)})")
        if self.encoding not in (None, "utf-8"):
            out.append({"cp1252": "windows-1252"}.get(self.encoding or "", str(self.encoding)))
        if self.skip_rows:
            out.append(f"{self.skip_rows} {'line' if self.skip_rows == 1 else 'lines'} before the header left out")
        if self.comment:
            out.append(f"lines that begin with {self.comment} left out")
        if self.sheet:
            out.append(f"the sheet {self.sheet!r}")
        return ", ".join(out)

    def to_dict(self) -> dict[str, Any]:
        """Return what a plan remembers, as plain data."""
        given = {f.name: v for f in fields(self) if (v := getattr(self, f.name))}
        return given | {"numbers": list(self.numbers or ()), "dates": dict(self.dates or {})}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Return the inverse of `to_dict`."""
        known = {f.name for f in fields(cls)}
        if not isinstance(data, Mapping) or set(data) - known:
            raise UsageError(f"the [reading] section of a plan holds {join_names(sorted(known), 12)}, and nothing else")
        values = dict(data)
        dates, numbers, skip = values.pop("dates", {}), values.pop("numbers", []), values.pop("skip_rows", None)
        texts = [*values.values(), *numbers] if isinstance(numbers, list | tuple) else [numbers]
        if isinstance(dates, Mapping):
            texts += [*dates.keys(), *dates.values()]
        if (
            not isinstance(dates, Mapping)
            or not isinstance(numbers, list | tuple)
            or type(skip) not in (int, type(None))
        ):
            raise UsageError(
                "[reading]: numbers is a list of columns, dates a table of formats, skip_rows a whole number"
            )
        if odd := [t for t in texts if not isinstance(t, str)]:
            raise UsageError(f"[reading]: {odd[0]!r} is not a text; write it in quotes")
        return cls(**values, skip_rows=skip, numbers=tuple(numbers), dates=dict(dates))


PLAIN_SPELLING = Reading(numbers=(), dates={})
"""Numbers with a point, days as 2024-12-31; what stands between fields is found out."""
PLAIN = Reading(delimiter=",", decimal=".", encoding="utf-8", comment="", skip_rows=0, numbers=(), dates={})
"""How our own files are read."""
