"""Numbers and lists as people write them: 50,000 rather than 5e+04, and the first eight names of twelve."""

from __future__ import annotations

from collections.abc import Iterable


def format_number(value: float, digits: int = 4) -> str:
    """Round to `digits` significant digits, with commas between thousands and a power of ten only where it is needed.

    >>> format_number(50_000), format_number(0.123456), format_number(1e15)
    ('50,000', '0.1235', '1e+15')
    """
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def join_names(values: Iterable[object], limit: int = 8) -> str:
    """Join the names with commas; after `limit` of them, say how many there are in all.

    >>> join_names(["a", "b", "c"])
    'a, b, c'
    >>> join_names("abc", limit=2)
    'a, b, … (3 in all)'
    """
    names = [str(value) for value in values]
    return ", ".join(names) if len(names) <= limit else f"{', '.join(names[:limit])}, … ({len(names)} in all)"
