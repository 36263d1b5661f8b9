"""True values as they come, turned into the numbers that a tree's tests compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.errors import CellError, DataError
from sfumato.schema import Attribute, Kind, Missing, day_number
from sfumato.table import Column, Table
from sfumato.text import join_names

Columns = Mapping[str, Any] | Table
"""Columns by name (arrays, lists, a dataframe), or the table of a release."""


def encode(
    attributes: Sequence[Attribute], wanted: Sequence[str], columns: Columns
) -> tuple[dict[str, FloatArray], int]:
    """Return numbers for the wanted columns (category codes, days, NaN where missing or unknown), and the number of rows."""
    names = [c.name for c in columns.columns] if isinstance(columns, Table) else list(columns.keys())
    if lacking := [name for name in wanted if name not in names]:
        raise DataError(f"column {join_names(lacking)} is missing; the tree asks for {join_names(wanted)}")
    read: Callable[[Attribute, Any], FloatArray] = _from_release if isinstance(columns, Table) else _from_values
    out = {a.name: read(a, columns[a.name]) for a in attributes if a.name in wanted}
    sizes = {len(values) for values in out.values()}
    if len(sizes) > 1:
        raise DataError(f"columns of {join_names(sorted(sizes))} rows do not make a table")
    if sizes:
        return out, sizes.pop()
    if isinstance(columns, Table):
        return out, columns.rows
    return out, len(columns[names[0]]) if names else 0


def _from_release(attribute: Attribute, column: Column) -> FloatArray:
    released = column.attribute
    if attribute.kind.numeric != released.kind.numeric:
        raise DataError(f"{attribute.name}: the tree takes it as {attribute.kind}, the table as {released.kind}")
    if attribute.kind.numeric or released.categories == attribute.categories:
        return released.to_values(column.values)
    known = {label: float(i) for i, label in enumerate(attribute.categories)}
    missing = float(len(attribute.categories)) if attribute.missing is Missing.CATEGORY else np.nan
    table = np.array([*(known.get(label, np.nan) for label in released.categories), missing, missing])
    places = np.where(np.isnan(column.values), len(table) - 1, column.values).astype(np.int64)
    return table[places]


def _from_values(attribute: Attribute, values: Any) -> FloatArray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"{attribute.name}: a column has one dimension, this one has {array.ndim}")
    if not attribute.kind.numeric:
        return _categories(attribute, array)
    if attribute.kind is Kind.DATE:
        return _days(attribute, array)
    return _numbers(attribute, array)


def _numbers(attribute: Attribute, array: NDArray[Any]) -> FloatArray:
    if array.dtype.kind in "iufb":
        return array.astype(np.float64)
    texts = np.array([np.nan if is_absent(v) else v for v in array.tolist()], dtype=object)
    try:
        return texts.astype(np.float64)
    except (TypeError, ValueError):
        place, value = _first_wrong(texts, float)
        raise CellError(attribute.name, place, f"{value!r} is not a number; fix it, or leave it empty") from None


def _days(attribute: Attribute, array: NDArray[Any]) -> FloatArray:
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind == "M":
        days = array.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
    try:
        return np.array([np.nan if is_absent(v) else day_number(v) for v in array.tolist()], dtype=np.float64)
    except ValueError:
        place, value = _first_wrong(array, lambda v: is_absent(v) or day_number(v))
        why = f"{value!r} is not a date; write it as 2000-05-16, or leave it empty"
        raise CellError(attribute.name, place, why) from None


def _first_wrong(values: NDArray[Any], read: Callable[[Any], object]) -> tuple[int, object]:
    for place, value in enumerate(values.tolist()):
        try:
            read(value)
        except (TypeError, ValueError):
            return place, value
    raise AssertionError("all values can be read")


def _categories(attribute: Attribute, array: NDArray[Any]) -> FloatArray:
    known: dict[Any, float] = {label: float(i) for i, label in enumerate(attribute.categories)}
    lost = float(len(known)) if attribute.missing is Missing.CATEGORY else np.nan
    if array.dtype.kind in "US":
        labels, places = np.unique(array.astype(str), return_inverse=True)
        return np.array([_code(known, v, lost) for v in labels.tolist()], dtype=np.float64)[places]
    return np.array([_code(known, v, lost) for v in array.tolist()], dtype=np.float64)


def _code(known: Mapping[Any, float], value: object, lost: float) -> float:
    """Return a label's code: a declared label wins over its reading as "missing"; a number that is a label in text is that label."""
    if isinstance(value, str):
        return known.get(value, lost if is_absent(value) else np.nan)
    if is_absent(value):
        return lost
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return known.get(str(value), known.get(text, np.nan))


def is_absent(value: object) -> bool:
    """Return whether a cell holds nothing: None, NaN (of any maker), or an empty text."""
    return value is None or value == "" or value != value or type(value).__name__ in ("NAType", "NaTType")
