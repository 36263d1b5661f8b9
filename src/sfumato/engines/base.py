"""An engine maps blocks (`write`) and folds counts (`fold`). It does no arithmetic, and arithmetic knows no engine.

Two more verbs are for what no row can tell of itself: which ids occur twice (`first_repeat`), and which rows are in the same
group (`exchange`). `open` and `check_numbers` prepare a table; `gathers` and `keys_on_workers` say what may leave a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.io import BLOCK_ROWS, Block, Source, Written

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
"""Called with the rows done, and the rows in all where they are known."""


class Needs(Enum):
    """What a strategy or a guided method has to see of a table."""

    ROWS = auto()
    """All rows, in the memory of one machine: an engine that gathers."""
    COUNTS = auto()
    """Mergeable counts, so that any engine will do."""


class Mapped(Protocol):
    """What a kernel makes of a block that is written: the new rows, and counts of them."""

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows to write."""

    @property
    def tally(self) -> Any:
        """Counts; those of all blocks are added up."""


@dataclass(frozen=True)
class Target:
    """Where mapped rows go: `data.<form>` in a folder."""

    folder: Path
    form: str
    schema: pa.Schema


class Engine(Protocol):
    """Where work is done. Nothing that it returns depends on how the rows were split, or in what order they were done."""

    @property
    def gathers(self) -> bool:
        """Whether the rows of a table may be brought together in one memory; if not, work is done by counts."""

    @property
    def keys_on_workers(self) -> bool:
        """Whether workers read the owner's key from a file of their own, so that no key is sent to them."""

    def open(self, table: Any, encoding: str = "utf-8") -> Source:
        """Open a table as this engine reads it."""

    def write(
        self,
        kernel: Callable[[Block], Mapped],
        source: Source,
        columns: Sequence[str],
        target: Target,
        *,
        block_rows: int = BLOCK_ROWS,
        progress: Progress | None = None,
    ) -> tuple[Written, Any]:
        """Map every block, write the rows in order, and add up the tallies."""

    def fold(
        self, kernel: Callable[[Block], T], source: Source, columns: Sequence[str], *, block_rows: int = BLOCK_ROWS
    ) -> T | None:
        """Return the sum of the kernel's results over all blocks; None where there are no blocks."""

    def exchange(
        self,
        assign: Callable[[Block], pa.RecordBatch],
        within: Callable[[pa.Table], pa.Table],
        source: Source,
        columns: Sequence[str],
        schema: pa.Schema,
    ) -> Source:
        """Bring rows together by group: `assign` gives every row a `group` and its `number`, `within` rewrites all rows of a group.

        The rows of the result stand in the order of their numbers.
        """

    def first_repeat(
        self, words: Callable[[Block], NDArray[np.uint64]], source: Source, columns: Sequence[str]
    ) -> tuple[int, int] | None:
        """Return the first row (second of the pair) whose word an earlier row has already; None where all differ."""

    def check_numbers(self, source: Source) -> None:
        """Raise DataError if the row numbers that a table brings are missing, negative or repeated: noise belongs to them."""


def first_repeat(words: Sequence[NDArray[np.uint64]]) -> tuple[int, int] | None:
    """Return the first repeated word among words in memory, block after block."""
    together = np.concatenate(words) if words else np.empty(0, np.uint64)
    order = np.argsort(together, kind="stable")
    twice = np.flatnonzero(together[order][1:] == together[order][:-1])
    if not len(twice):
        return None
    later = order[twice + 1]
    at = int(np.argmin(later))
    return int(order[twice[at]]), int(later[at])
