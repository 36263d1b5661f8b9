"""An engine has two verbs: map blocks, fold counts. It does no arithmetic, and arithmetic knows no engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from sfumato.tables import Block

T = TypeVar("T")


class Engine(Protocol):
    """Where work is done. Results come in the order of the blocks, whatever order they were done in."""

    def map(self, kernel: Callable[[Block], T], blocks: Iterable[Block]) -> Iterator[T]:
        """The kernel's result for each block."""


def fold(engine: Engine, kernel: Callable[[Block], T], blocks: Iterable[Block]) -> T | None:
    """The sum of the kernel's results over all blocks; None where there are no blocks."""
    total: T | None = None
    for part in engine.map(kernel, blocks):
        total = part if total is None else total + part  # type: ignore[operator]
    return total
