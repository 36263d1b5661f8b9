"""Make releases: row by row, from the whole table, or from counts."""

from sfumato.releasing.door import release

__all__ = ["release"]
