"""Numbers as people write them: 50,000 rather than 5e+04."""

from __future__ import annotations


def written(value: float, digits: int = 4) -> str:
    """So many significant digits, and commas between thousands; a power of ten only where there is no other way."""
    return f"{float(f'{value:.{digits}g}'):,.10g}"
