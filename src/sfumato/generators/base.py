"""What every synthetic table shares: fixed blocks, one random stream per block, and a description of its columns.

A block's rows come from the seed and the block's number alone, so memory stays flat however long the table is, and the
first n rows of a long table are the table of n rows. The randomness here is for experiments and protects no one: it
is public and repeatable on purpose, unlike the noise of a release.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UsageError
from sfumato.schema import Attribute
from sfumato.text import join_names

ROWS_PER_BLOCK = 65_536
"""Rows in a block. A constant of the tables: with another size the same seed would give other rows."""

Block = dict[str, NDArray[Any]]
"""Column name to values, all of one length, in the order of the table."""


@dataclass(frozen=True)
class Generator:
    """A synthetic table that can be asked for any number of rows.

    Attributes
    ----------
    name, about
        The name to ask for, and one line for a person.
    attributes
        The columns in table order, the class included.
    make
        ``make(rows, seed=..., **options)``, which yields the blocks.
    options
        The names that `make` takes beside `rows` and `seed`.
    target
        The class column, where there is one.
    """

    name: str
    about: str
    attributes: tuple[Attribute, ...]
    make: Callable[..., Iterator[Block]]
    options: tuple[str, ...] = ()
    target: str | None = None

    def blocks(self, rows: int, seed: int = 0, **options: Any) -> Iterator[Block]:
        """Yield `rows` rows in blocks of `ROWS_PER_BLOCK`; wrong options are refused here, before the first block."""
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            allowed = f"it takes {join_names(self.options)}" if self.options else "it takes only rows and seed"
            raise UsageError(f"{self.name}: there is no option {unknown[0]!r}; {allowed}, so leave {unknown[0]!r} out")
        return self.make(rows, seed=seed, **options)


def check_whole(name: str, value: int, lowest: int) -> int:
    """Return `value` as an int of at least `lowest`; raise UsageError with its name if it is not one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name}: {value!r} is not a whole number; give one from {lowest} up") from None
    if number < lowest:
        raise UsageError(f"{name}: {number} is too small; give a whole number from {lowest} up")
    return number


def draw_blocks(draw: Callable[[int, int, int], Block], rows: int, *, seed: int = 0) -> Iterator[Block]:
    """Yield ``draw(seed, number, size)`` of every block: all have `ROWS_PER_BLOCK` rows but the last."""
    rows, seed = check_whole("rows", rows, 1), check_whole("seed", seed, 0)
    starts = range(0, rows, ROWS_PER_BLOCK)
    return (draw(seed, start // ROWS_PER_BLOCK, min(ROWS_PER_BLOCK, rows - start)) for start in starts)


def stream(seed: int, block: int, use: int = 0) -> np.random.Generator:
    """Return the random stream of one block, a separate one for each `use` within it.

    PCG64 is named, not left to NumPy's default, and the tables draw only ``random()`` from it, a fixed map from its
    bits: the same seed then gives the same table under any version of NumPy.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(use, block))))
