"""A draft: a release that is ready to be written, however it was made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sfumato.counts import FloatArray, WordArray
from sfumato.engines import Mapped
from sfumato.io import Block, Decoder, Source, Written
from sfumato.randomness import SecretKey
from sfumato.releases import Entry, Making, Manifest, Sketch


@dataclass(frozen=True)
class Scope:
    """Whose noise it is: a release's name, and the public salt of its table.

    The salt keeps two tables apart that are released under one key and one plan: without it, equal values in equal rows would
    get equal noise, and two releases would show where their tables agree. It is random, never a digest of the table: one
    corrected cell would then redraw everybody's noise.
    """

    name: str
    salt: str

    @classmethod
    def of_name(cls, name: str, owner: SecretKey) -> Scope:
        """Return the scope of a name that an owner gives: the same name means the same noise."""
        return cls(name, owner.fingerprint("salt", name))


@dataclass(frozen=True, eq=False)
class Tally:
    """What has to be known in the end of the rows of a release; `a + b` is that of the rows of both."""

    sketch: Sketch
    missing: Mapping[str, int]
    entities: tuple[WordArray, ...] = ()
    changed: Mapping[str, int] = field(default_factory=dict)
    """Cells of each column that a guided method changed."""
    clipped: Mapping[str, int] = field(default_factory=dict)
    """Cells of each column that clips which were moved to an end of its domain."""
    odd_ids: tuple[WordArray, ...] = ()
    """Of ids that are not written plainly, the words of the plain form and their own (see `entity_ids`)."""

    def __add__(self, other: Tally) -> Tally:
        missing = {name: count + other.missing[name] for name, count in self.missing.items()}
        changed = {name: count + other.changed[name] for name, count in self.changed.items()}
        clipped = {name: count + other.clipped[name] for name, count in self.clipped.items()}
        entities, odd_ids = self.entities + other.entities, self.odd_ids + other.odd_ids
        return Tally(self.sketch + other.sketch, missing, entities, changed, clipped, odd_ids)


@dataclass(frozen=True, eq=False)
class Released:
    """One block of the release, and its tally."""

    batch: pa.RecordBatch
    tally: Tally


@dataclass(frozen=True, eq=False)
class Decoding:
    """Write numbers as the cells of a release."""

    decoders: Mapping[str, Decoder]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the release."""
        return pa.schema([(name, d.type) for name, d in self.decoders.items()])

    def release(
        self, values: Mapping[str, FloatArray], changed: Mapping[str, int] | None = None, sketch: Sketch | None = None
    ) -> Released:
        """Write the rows of one block, and tally them."""
        arrays = [decoder(values[name]) for name, decoder in self.decoders.items()]
        missing = {name: int(np.isnan(values[name]).sum()) for name in self.decoders}
        tally = Tally(sketch or Sketch.empty(), missing, changed=changed or {})
        return Released(pa.RecordBatch.from_arrays(arrays, schema=self.schema), tally)

    def __call__(self, block: Block) -> Released:
        """Write a block that holds the numbers to release."""
        return self.release({n: block.batch.column(n).to_numpy(zero_copy_only=False) for n in self.decoders})


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
    def check(self, written: Written, tally: Tally) -> None:
        """Raise an error if what was written may not be released."""

    @abstractmethod
    def entry(self, tally: Tally) -> Entry:
        """Return the line for the owner's ledger."""

    @abstractmethod
    def manifest(self, written: Written, tally: Tally, earlier: tuple[str, ...]) -> Manifest:
        """Return the public statement; `earlier` names releases of the same rows with other noise."""

    @abstractmethod
    def making(self, written: Written, tally: Tally) -> Making:
        """Return what only the owner should know."""
