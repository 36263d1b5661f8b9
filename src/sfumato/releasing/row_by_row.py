"""What happens to one block of rows on its way into a release. A frozen value: it travels to any worker as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.channels import Channel, CorrelatedGaussian
from sfumato.counts import FloatArray
from sfumato.errors import CellError, DataError, UsageError
from sfumato.hashing import WordArray
from sfumato.io import Block, Decoder, Encoder, decode_dictionary, format_cell, format_labels, released_attribute
from sfumato.plans import Plan
from sfumato.randomness import Addresses, Entities, Rows, SecretKey, entity_addresses
from sfumato.releases import Sketch, content_values, load_key, sketch_of, whole_outputs
from sfumato.releasing.joint_noise import JointKernel
from sfumato.schema import Attribute
from sfumato.table import released

ENTITY_SCOPE = "entity"


@dataclass(frozen=True)
class ColumnKernel:
    """One released column: how it is read, blurred and written."""

    encoder: Encoder
    decoder: Decoder
    channel: Channel | None
    key: SecretKey

    @property
    def name(self) -> str:
        """The column's name."""
        return self.encoder.attribute.name

    def released(self, values: FloatArray, addresses: Addresses) -> FloatArray:
        """Values as they are released: missing ones stay missing, true ones stay true."""
        return values if self.channel is None else released(self.channel, self.key, addresses, values)


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
    tally: Tally


@dataclass(frozen=True)
class ReleaseKernel:
    """All columns of a release, and whose noise it is: the row's, or the entity's."""

    columns: tuple[ColumnKernel, ...]
    identifier: str | None
    entity_key: SecretKey
    sketch_key: SecretKey
    schema: pa.Schema = field(repr=False)
    joint: JointKernel | None = None
    gathers: bool = True
    """Whether the tally holds a word a row, by which repeated ids are found."""

    def __call__(self, block: Block) -> Released:
        """Read, blur and write one block."""
        addresses = self._addresses(block)
        arrays = []
        seen = {c.name: self._read(c, block) for c in self.columns if c.encoder.attribute.domain is not None}
        missing = {name: int(np.isnan(values).sum()) for name, values in seen.items()}
        together = self.joint.released(seen, addresses) if self.joint else {}
        for column in self.columns:
            if column.encoder.attribute.domain is None:  # an identifier that is released as the text it is
                arrays.append(format_labels(block.batch.column(column.name), column.name))
            elif column.name in together:
                arrays.append(column.decoder(together[column.name]))
            else:
                arrays.append(column.decoder(column.released(seen[column.name], addresses)))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        entities = (addresses.high ^ addresses.low,) if self.identifier and self.gathers else ()
        return Released(batch, Tally(sketch_of(self.sketch_key, self._content(seen), addresses), missing, entities))

    def _content(self, seen: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {c.name: content_values(c.encoder.attribute, seen[c.name]) for c in self.columns if c.name in seen}

    @staticmethod
    def _read(column: ColumnKernel, block: Block) -> FloatArray:
        return column.encoder(block.batch.column(column.name), block.start)

    def _addresses(self, block: Block) -> Addresses:
        if self.identifier is not None:
            return EntityWords(self.identifier, self.entity_key).addresses(block)
        if block.numbers is None:
            return Rows(block.start, block.rows)
        return Entities(block.numbers.astype(np.uint64), np.zeros(block.rows, np.uint64))


@dataclass(frozen=True)
class EntityWords:
    """Whose rows these are, as keyed digests of their ids."""

    identifier: str
    key: SecretKey

    def __call__(self, block: Block) -> WordArray:
        """One word a row: equal ids have equal words."""
        addresses = self.addresses(block)
        return np.asarray(addresses.high ^ addresses.low)

    def addresses(self, block: Block) -> Entities:
        """Addresses of noise that belong to the entities."""
        ids = decode_dictionary(block.batch.column(self.identifier))
        absent = ids.is_null().to_numpy(zero_copy_only=False).astype(bool)
        if pa.types.is_string(ids.type):
            absent |= np.asarray(format_labels(ids, self.identifier).fill_null("").to_pylist(), dtype=object) == ""
        if pa.types.is_floating(ids.type):
            ids = format_labels(ids, self.identifier)
        if absent.any():
            row = block.start + int(np.argmax(absent))
            raise CellError(self.identifier, row, "the id is missing; give every row one, or release without --id")
        try:
            return entity_addresses(self.key, ids)
        except pa.ArrowException:
            raise DataError(
                f"{self.identifier}: ids of type {ids.type} have no plain text form; convert the column first"
            ) from None


def key_fingerprint(owner: SecretKey) -> str:
    """By which driver and workers know that they hold the same key."""
    return owner.fingerprint("key file")


@dataclass(frozen=True)
class KernelByKeyFile:
    """The kernel of a plan, made where it is used from a key file that lies there: no secret travels."""

    plan: Plan
    key_file: str
    fingerprint: str
    """Of the owner's key on the driver: a worker with another key would lay noise that no ledger knows of."""
    joint: CorrelatedGaussian | None = None

    @property
    def identifier(self) -> str | None:
        """Whose noise it is, if not the row's."""
        return self.plan.schema.identifier.name if self.plan.schema.identifier else None

    @cached_property
    def kernel(self) -> ReleaseKernel:
        """The kernel itself; asked for by workers alone."""
        owner = load_key(self.key_file)
        if key_fingerprint(owner) != self.fingerprint:
            raise UsageError(
                f"the key file {self.key_file} of a worker holds another key than the driver's; put the same file on every "
                "worker, or leave --key-on-workers out"
            )
        return replace(kernel_for(self.plan, owner, self.joint), gathers=False)

    def __call__(self, block: Block) -> Released:
        """Read, blur and write one block."""
        return self.kernel(block)


@dataclass(frozen=True)
class WordsByKeyFile:
    """The words of entities, made in the same way."""

    kernel: KernelByKeyFile

    def __call__(self, block: Block) -> WordArray:
        """One word a row."""
        made = self.kernel.kernel
        return EntityWords(str(made.identifier), made.entity_key)(block)


def kernel_for(plan: Plan, owner: SecretKey, joint: CorrelatedGaussian | None = None) -> ReleaseKernel:
    """The kernel of a plan under an owner's key.

    With an identifier the entity takes the place of name and row, so the scope of the noise key is the same whatever the
    release is called and wherever the entity turns up. `joint` is the law of columns that are blurred together.
    """
    if plan.method is not None and joint is None:
        raise UsageError(
            f"the plan asks for the guided method {plan.method['law']}, which sees the whole table; "
            "use sfumato.guided.releasing.guided_release, or the command line"
        )
    bound = bound_laws(plan, joint)
    identifier = plan.schema.identifier
    columns = []
    for attribute in plan.schema:
        if not attribute.released:
            continue
        channel = bound.get(attribute.name)
        encoder = Encoder(attribute, plan.absent.get(attribute.name, ("",)))
        cells = attribute if channel is None else released_attribute(attribute, channel.reports)
        decoder = Decoder(cells, whole_outputs(cells, channel))
        labels = noise_labels(plan, attribute, channel, joint)
        columns.append(ColumnKernel(encoder, decoder, channel, owner.derive(*labels)))
    return ReleaseKernel(
        tuple(columns),
        identifier.name if identifier else None,
        owner.derive("entities"),
        owner.derive("sketch"),
        pa.schema([(c.name, c.decoder.type) for c in columns]),
        None if joint is None else JointKernel(joint, owner.derive("noise", *_scope(plan), "joint", joint.to_dict())),
    )


def bound_laws(plan: Plan, joint: CorrelatedGaussian | None = None) -> dict[str, Channel]:
    """The settled law of every modified column: its own, or its part in the joint one."""
    return plan.bound() | ({n: joint.marginal(plan.schema[n]) for n in joint.names} if joint else {})


def _scope(plan: Plan) -> list[str]:
    return [ENTITY_SCOPE] if plan.schema.identifier else ["release", plan.release_name]


def noise_labels(
    plan: Plan, attribute: Attribute, channel: Channel | None, joint: CorrelatedGaussian | None = None
) -> list[object]:
    """What a noise key is derived from: the scope, the attribute, and all that a draw hangs on.

    Labels are drawn by their place in the list, so the list belongs to it: in another order the same person's noise is fresh,
    and has to be known as such.
    """
    law: Mapping[str, object] | None = None
    if joint is not None and attribute.name in joint.names:
        law = joint.to_dict()
    elif channel is not None:
        law = channel.drawn_by()
    labels = [] if attribute.domain is None or attribute.kind.numeric else [list(attribute.categories)]
    return ["noise", *_scope(plan), attribute.name, law, *labels]


def noise_names(plan: Plan, owner: SecretKey, joint: CorrelatedGaussian | None = None) -> dict[str, str]:
    """A public name for the noise of each modified column: equal names mean equal noise."""
    return {
        name: owner.fingerprint(*noise_labels(plan, plan.schema[name], channel, joint))
        for name, channel in bound_laws(plan, joint).items()
    }


def cell_text(block: Block, name: str, place: int) -> str:
    """One cell, for a message."""
    return format_cell(block.batch.column(name)[place])
