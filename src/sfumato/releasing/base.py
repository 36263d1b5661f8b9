"""A draft: a release that is ready to be written, however it was made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.engines import Mapped
from sfumato.hashing import WordArray
from sfumato.io import Block, Source, Written
from sfumato.releases import Entry, Making, Manifest, Sketch


@dataclass(frozen=True, eq=False)
class Tally:
    """What has to be known in the end of the rows of a release; `a + b` is that of the rows of both."""

    sketch: Sketch
    missing: Mapping[str, int]
    entities: tuple[WordArray, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        missing = {name: count + other.missing[name] for name, count in self.missing.items()}
        return Tally(self.sketch + other.sketch, missing, self.entities + other.entities)


@dataclass(frozen=True, eq=False)
class Released:
    """One block of the release, and its tally."""

    batch: pa.RecordBatch
    tally: Any


@dataclass(frozen=True, eq=False)
class Draft(ABC):
    """What is left to do: write the released rows, then say what they are.

    An engine maps `kernel` over the blocks of `columns` of `source`, writes the rows of `schema` that it returns, and adds up
    the tallies that the methods below are handed.
    """

    source: Source
    columns: Sequence[str]
    kernel: Callable[[Block], Mapped]
    schema: pa.Schema

    @abstractmethod
    def check(self, written: Written, tally: Any) -> None:
        """Raise an error if what was written may not be released."""

    @abstractmethod
    def entry(self, tally: Any) -> Entry:
        """Return the line for the owner's ledger."""

    @abstractmethod
    def manifest(self, written: Written, tally: Any, earlier: tuple[str, ...]) -> Manifest:
        """Return the public statement; `earlier` names releases of the same rows with other noise."""

    @abstractmethod
    def making(self, written: Written, tally: Any) -> Making:
        """Return what only the owner should know."""
