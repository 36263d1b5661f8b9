"""Numbers and days in spellings that this program does not read, recognised so that their owner can rewrite them.

They are not read as they stand: 1,234 is a thousand or little more than one, and 05/06/2020 is in May or in June.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


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
