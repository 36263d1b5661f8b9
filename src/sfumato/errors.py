"""What goes wrong, in words: every message names the column, the value and the next step."""

from __future__ import annotations


class SfumatoError(Exception):
    """Base of all errors that are meant for a person; the command line prints them without a traceback.

    Examples
    --------
    >>> import sfumato as sf
    >>> try:
    ...     sf.Interval(120, 0)
    ... except sf.SfumatoError as error:
    ...     print(error)
    domain [120.0, 0.0] is upside down; give the lower end first
    """


class UsageError(SfumatoError):
    """The request itself is wrong: an unknown name, an option that does not fit, a plan that contradicts itself."""


class NoWeightError(UsageError):
    """The law of a column allows no unbiased weight of a function of its true values; a fit may still estimate it."""


class DataError(SfumatoError):
    """The table does not hold what it should: a value outside its domain, a ragged row, an unreadable file."""


class CellError(DataError):
    """One cell of a table is wrong.

    Parameters
    ----------
    column : str
        The name of its column.
    row : int
        The number of its row in the table, from 0 on; messages count from 1.
    why : str
        What is wrong, and the next step.
    """

    def __init__(self, column: str, row: int, why: str) -> None:
        super().__init__(column, row, why)  # kept as they are, for an error that travels is made again from them
        self.column, self.row, self.why = column, row, why

    def __str__(self) -> str:
        return f"{self.column}, row {self.row + 1}: {self.why}"

    def in_file(self, name: str, row: int) -> DataError:
        """Return the same error for a table in several files: it names the file and the row in that file."""
        return DataError(f"{name}, {self.column}, row {row + 1}: {self.why}")


class OutputError(SfumatoError):
    """The output cannot be written, or would overwrite something."""


class LedgerError(SfumatoError):
    """The release would weaken one already made under the same key."""


class DraftWarning(UserWarning):
    """The folder that was opened is a draft: its owner has not published it."""


class EngineError(SfumatoError):
    """A cluster could not do its work."""


GET_RELEASE_AGAIN = "get the release again from the data owner"
GIVE_SAME_TABLE = "give the same table that the release was made from, with its rows in the same order"
