"""What goes wrong, in words: every message names the column, the value and the next step."""

from __future__ import annotations


class SfumatoError(Exception):
    """Base of all errors that are meant for a person; the command line prints them without a traceback."""


class UsageError(SfumatoError):
    """The request itself is wrong: an unknown name, an option that does not fit, a plan that contradicts itself."""


class DataError(SfumatoError):
    """The table does not hold what it should: a value outside its domain, a ragged row, an unreadable file."""


class OutputError(SfumatoError):
    """The output cannot be written, or would overwrite something."""


class LedgerError(SfumatoError):
    """The release would weaken one already made under the same key."""


class EngineError(SfumatoError):
    """A cluster could not do its work."""


def listed(values: object, limit: int = 8) -> str:
    """``a, b, c`` or ``a, b, … (12 in all)``: lists in messages stay short."""
    items = [str(v) for v in values]  # type: ignore[attr-defined]
    return ", ".join(items) if len(items) <= limit else f"{', '.join(items[:limit])}, … ({len(items)} in all)"
