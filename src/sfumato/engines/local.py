"""This machine: one process, several threads, or several processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.base import Mapped, Progress, Target, first_repeat
from sfumato.io import BLOCK_ROWS, ArrowSource, Block, Source, Written, blocks, naming_files, open_table, writing

T = TypeVar("T")


@dataclass(frozen=True)
class Local:
    """Blocks by `workers` at a time; never more than two a worker are held, so memory does not grow with the table.

    Threads are enough for noise, which NumPy and AES work without Python's lock; `processes` is for kernels that hold it.
    """

    workers: int = 1
    processes: bool = False

    @classmethod
    def all_cores(cls) -> Local:
        """One thread a core."""
        return cls(os.cpu_count() or 1)

    @property
    def gathers(self) -> bool:
        """Yes: there is one memory here."""
        return True

    @property
    def keys_on_workers(self) -> bool:
        """No: nothing leaves this process, or at most this machine."""
        return False

    def open(self, table: Any, encoding: str = "utf-8") -> Source:
        """A path, a bundled table's name, or anything that speaks Arrow."""
        return open_table(table, encoding)

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
        """One file, written as the blocks come in."""
        total: Any = None
        with naming_files(source), writing(target.folder, target.form, target.schema) as (put, written):
            for part in self.map(kernel, _told(source, columns, block_rows, progress)):
                put(part.batch)
                total = part.tally if total is None else total + part.tally
        return written[0], total

    def fold(
        self, kernel: Callable[[Block], T], source: Source, columns: Sequence[str], *, block_rows: int = BLOCK_ROWS
    ) -> T | None:
        """Sums as the blocks come in."""
        total: T | None = None
        with naming_files(source):
            for part in self.map(kernel, blocks(source, columns, block_rows)):
                total = part if total is None else total + part  # type: ignore[operator]
        return total

    def exchange(
        self,
        assign: Callable[[Block], pa.RecordBatch],
        within: Callable[[pa.Table], pa.Table],
        source: Source,
        columns: Sequence[str],
        schema: pa.Schema,
    ) -> Source:
        """All rows in this memory, group after group."""
        rows = pa.Table.from_batches(list(self.map(assign, blocks(source, columns))), schema).sort_by("group")
        group = rows["group"].to_numpy()
        begins = np.flatnonzero(np.append(True, group[1:] != group[:-1])).tolist() if len(group) else []
        ends = [*begins[1:], len(group)]
        parts = [within(rows.slice(b, e - b)) for b, e in zip(begins, ends, strict=True)]
        whole = pa.concat_tables(parts).sort_by("number") if parts else rows
        return ArrowSource("the exchanged table", whole.drop_columns(["group", "number"]))

    def first_repeat(
        self, words: Callable[[Block], NDArray[np.uint64]], source: Source, columns: Sequence[str]
    ) -> tuple[int, int] | None:
        """All words are sorted here."""
        return first_repeat(list(self.map(words, blocks(source, columns))))

    def check_numbers(self, source: Source) -> None:
        """Rows are numbered as they are read."""

    def map(self, kernel: Callable[[Block], T], blocks: Iterable[Block]) -> Iterator[T]:
        """Results in the order of the blocks."""
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


def _told(source: Source, columns: Sequence[str], rows: int, progress: Progress | None) -> Iterator[Block]:
    done = 0
    for block in blocks(source, columns, rows):
        yield block
        done += block.rows
        if progress:
            progress(done, source.rows)
