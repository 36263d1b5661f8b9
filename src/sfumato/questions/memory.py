"""What was counted and fitted for earlier questions, so that many of them over one release cost little more than one."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from sfumato.counts import Sums
from sfumato.releases import Release

T = TypeVar("T")


@dataclass(eq=False)
class Memory:
    """Counts of the rows and fits of columns, by what they are of.

    Examples
    --------
    >>> memory = Memory()
    >>> [memory.fit(("age", b"counts"), lambda: 7) for _ in range(2)], len(memory.fits)
    ([7, 7], 1)
    """

    counts: dict[bytes, Sums] = field(default_factory=dict)
    fits: dict[Any, Any] = field(default_factory=dict)
    most_fits: int = 96
    """A fit of several columns takes some megabytes. With more of them the oldest is forgotten."""
    most_sums: int = 2**24
    """Numbers in all counts; with more, all are forgotten."""

    @classmethod
    def of(cls, release: Release) -> Memory:
        """Return the memory of an opened release; it lives as long as that object does."""
        memory: Memory = vars(release).setdefault("asked", cls())
        return memory

    def fit(self, key: Any, make: Callable[[], T]) -> T:
        """Return what was made for a key, or make it."""
        if key not in self.fits:
            while len(self.fits) >= self.most_fits:
                del self.fits[next(iter(self.fits))]
            self.fits[key] = make()
        kept: T = self.fits[key]
        return kept

    def remember(self, key: bytes, result: Any) -> None:
        """Keep what came of a count, if it is a table of sums."""
        if not isinstance(result, Sums):
            return
        if sum(_size(sums) for sums in self.counts.values()) + _size(result) > self.most_sums:
            self.counts.clear()
        self.counts[key] = result


def _size(sums: Sums) -> int:
    return sum(np.size(array) for array in sums.arrays.values())


def identify(count: Any) -> bytes:
    """Return the same for counts of the same: they travel to workers as bytes, and these say all that they are."""
    return hashlib.sha256(pickle.dumps(count)).digest()
