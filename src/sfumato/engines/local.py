"""An engine maps blocks (`write`) and folds counts (`fold`). This machine is one: one process, several threads, or several processes.

An engine does no arithmetic, and arithmetic knows no engine. Two more verbs are for what no row can tell of itself: which ids
stand in how many rows (`count_groups`), and which rows are in the same group (`exchange`). `open` and `check_numbers` prepare a table;
`gathers` and `keys_on_workers` say what may leave a worker.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.counts import WordArray
from sfumato.io import (
    BLOCK_ROWS,
    ArrowSource,
    Block,
    Source,
    Written,
    name_files_in_errors,
    open_buckets,
    open_table,
    open_writer,
    read_blocks,
)

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
"""Called with the rows done, and the rows in all where they are known."""
Words = Callable[[Block], WordArray]
"""Gives one word per row of a block."""
Assign = Callable[[Block], pa.RecordBatch]
"""Gives every row of a block a group and its number."""
Within = Callable[[pa.Table], pa.Table]
"""Rewrites all rows of a group."""


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

    def open(self, table: Any, encoding: str | None = None) -> Source:
        """Open a table as this engine reads it."""

    def write(
        self,
        kernel: Callable[[Block], Mapped],
        source: Source,
        columns: Sequence[str],
        target: Target,
        *,
        order: Words | None = None,
        block_rows: int = BLOCK_ROWS,
        progress: Progress | None = None,
    ) -> tuple[Written, Any]:
        """Map every block, write the rows in the order of the table, or of the words that `order` gives them; add up the tallies."""

    def fold(
        self, kernel: Callable[[Block], T], source: Source, columns: Sequence[str], *, block_rows: int = BLOCK_ROWS
    ) -> T | None:
        """Return the sum of the kernel's results over all blocks; None where there are no blocks."""

    def exchange(
        self, assign: Assign, within: Within, source: Source, columns: Sequence[str], schema: pa.Schema
    ) -> Source:
        """Bring rows together by group: `assign` gives every row a `group` and its `number`, `within` rewrites all rows of a group.

        The rows of the result stand in the order of their numbers.
        """

    def count_groups(self, words: Words, source: Source, columns: Sequence[str]) -> tuple[int, int]:
        """Return how many different words the rows have, and in how many rows the commonest stands."""

    def check_numbers(self, source: Source) -> None:
        """Raise DataError if the row numbers that a table brings are missing, negative or repeated: noise belongs to them."""


def count_groups(words: Sequence[WordArray]) -> tuple[int, int]:
    """Return how many different words there are in memory, block after block, and how often the commonest stands there."""
    times = np.unique(np.concatenate(words), return_counts=True)[1] if words else np.empty(0, np.int64)
    return len(times), int(times.max(initial=0))


@dataclass(frozen=True)
class Local:
    """Work on this machine, with `workers` blocks at a time.

    At most two blocks per worker are held, so memory does not grow with the table.

    Parameters
    ----------
    workers : int
        How many blocks are worked at a time.
    processes : bool
        Use processes instead of threads. Threads are enough for noise, since NumPy and AES release Python's lock.
    gathers : bool
        Bring all rows of a table into memory where a strategy or method needs them. Without it, trees, comparisons and
        guided releases are made by counts, as on a cluster.

    Examples
    --------
    >>> from sfumato.io import open_table
    >>> Local(workers=2).fold(lambda block: block.rows, open_table("iris"), ["class"])
    150
    """

    workers: int = 1
    processes: bool = False
    gathers: bool = True

    @classmethod
    def all_cores(cls) -> Local:
        """Return an engine with one thread per core."""
        return cls(os.cpu_count() or 1)

    @property
    def keys_on_workers(self) -> bool:
        """False: nothing leaves this machine."""
        return False

    def open(self, table: Any, encoding: str | None = None) -> Source:
        """Open a path, a bundled table's name, or anything that speaks Arrow."""
        return open_table(table, encoding)

    def write(
        self,
        kernel: Callable[[Block], Mapped],
        source: Source,
        columns: Sequence[str],
        target: Target,
        *,
        order: Words | None = None,
        block_rows: int = BLOCK_ROWS,
        progress: Progress | None = None,
    ) -> tuple[Written, Any]:
        """Write one file as the blocks come in; in another order, when all are in."""
        total: Any = None
        with (
            name_files_in_errors(source),
            open_writer(target.folder, target.form, target.schema) as (put, written),
            open_buckets(target.folder, target.schema) if order else nullcontext() as buckets,
        ):
            blocks = _report_progress(source, columns, block_rows, progress)
            for part, words in self.map(_WithWords(kernel, order), blocks):
                put(part.batch) if buckets is None or words is None else buckets.put(part.batch, words)
                total = part.tally if total is None else total + part.tally
            for batch in buckets.read() if buckets is not None else ():
                put(batch)
        return written[0], total

    def fold(
        self, kernel: Callable[[Block], T], source: Source, columns: Sequence[str], *, block_rows: int = BLOCK_ROWS
    ) -> T | None:
        """Add up the results as the blocks come in."""
        total: T | None = None
        with name_files_in_errors(source):
            for part in self.map(kernel, read_blocks(source, columns, block_rows)):
                total = part if total is None else total + part  # type: ignore[operator]
        return total

    def exchange(
        self, assign: Assign, within: Within, source: Source, columns: Sequence[str], schema: pa.Schema
    ) -> Source:
        """Bring all rows into memory, group after group."""
        rows = pa.Table.from_batches(list(self.map(assign, read_blocks(source, columns))), schema).sort_by("group")
        group = rows["group"].to_numpy()
        begins = np.flatnonzero(np.append(True, group[1:] != group[:-1])).tolist() if len(group) else []
        ends = [*begins[1:], len(group)]
        parts = [within(rows.slice(b, e - b)) for b, e in zip(begins, ends, strict=True)]
        whole = pa.concat_tables(parts).sort_by("number") if parts else rows
        return ArrowSource("the exchanged table", whole.drop_columns(["group", "number"]))

    def count_groups(self, words: Words, source: Source, columns: Sequence[str]) -> tuple[int, int]:
        """Sort all words in memory."""
        return count_groups(list(self.map(words, read_blocks(source, columns))))

    def check_numbers(self, source: Source) -> None:
        """Do nothing: rows are numbered as they are read."""

    def map(self, kernel: Callable[[Block], T], blocks: Iterable[Block]) -> Iterator[T]:
        """Yield results in the order of the blocks."""
        if self.workers <= 1:
            yield from map(kernel, blocks)
            return
        with self._pool() as pool:
            waiting: deque[Future[T]] = deque()
            try:
                for block in blocks:
                    waiting.append(pool.submit(kernel, block))
                    if len(waiting) >= 2 * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _pool(self) -> Executor:
        if not self.processes:
            return ThreadPoolExecutor(self.workers)
        import multiprocessing

        # A fresh interpreter: forking one that runs threads (as Arrow does) can deadlock.
        return ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))


@dataclass(frozen=True)
class _WithWords:
    """A kernel, and the words by which its rows are put in order."""

    kernel: Callable[[Block], Mapped]
    order: Words | None

    def __call__(self, block: Block) -> tuple[Mapped, WordArray | None]:
        return self.kernel(block), None if self.order is None else self.order(block)


def _report_progress(source: Source, columns: Sequence[str], rows: int, progress: Progress | None) -> Iterator[Block]:
    done = 0
    for block in read_blocks(source, columns, rows):
        yield block
        done += block.rows
        if progress:
            progress(done, source.rows)
