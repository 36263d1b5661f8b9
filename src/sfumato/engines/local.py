"""This machine: one process, several threads, or several processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from sfumato.tables import Block

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
