"""Columns of values that each know their own type, as workbooks, JSON and SQLite hold them: one type per column, or texts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

TYPES: dict[frozenset[str], pa.DataType] = {
    frozenset({"bool"}): pa.bool_(),
    frozenset({"int"}): pa.int64(),
    frozenset({"float"}): pa.float64(),
    frozenset({"int", "float"}): pa.float64(),
    frozenset({"date"}): pa.date32(),
    frozenset({"time"}): pa.timestamp("us"),
    frozenset({"date", "time"}): pa.timestamp("us"),
    frozenset({"bytes"}): pa.binary(),
}


def kind_of(value: Any) -> str:
    """Return what one value is; whole numbers that are too large for a column of numbers are texts."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "text"
    if isinstance(value, float):
        return "float"
    if isinstance(value, datetime):
        return "time" if value.tzinfo is None else "text"
    return "date" if isinstance(value, date) else "bytes" if isinstance(value, bytes) else "text"


def kinds_of(values: Iterable[Any]) -> frozenset[str]:
    """Return what the present values are."""
    return frozenset({kind_of(v) for v in values if v is not None})


def to_column(values: Sequence[Any], kinds: frozenset[str]) -> pa.Array:
    """Return a column of the one type that holds all kinds, or of texts.

    Examples
    --------
    >>> to_column([1, 2.5, None], frozenset({"int", "float"})).to_pylist()
    [1.0, 2.5, None]
    >>> to_column([1.0, "n/a", True], frozenset({"float", "text", "bool"})).to_pylist()
    ['1', 'n/a', 'true']
    """
    kind = TYPES.get(kinds)
    if kind is None:
        return pa.array([None if v is None else format_value(v) for v in values], pa.string())
    if kind == pa.float64():
        values = [None if v is None else float(v) for v in values]
    return pa.array(values, kind)


def format_value(value: Any) -> str:
    """Return a value as a text that a CSV file would have."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half of a surrogate pair is not text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else repr(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)
