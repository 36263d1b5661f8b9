"""What happens to one block of rows on its way into a release. A frozen value: it travels to any worker as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sfumato.channels import Channel
from sfumato.channels.correlated import CorrelatedGaussian
from sfumato.counts import FloatArray
from sfumato.encoding import Decoder, Encoder, as_text, cells_of, plain, shown_cell
from sfumato.errors import DataError, UsageError
from sfumato.observed import released
from sfumato.randomness import Addresses, Entities, Rows, SecretKey, WordArray, entity_addresses
from sfumato.releases.joint import JointKernel
from sfumato.releases.plan import Plan
from sfumato.releases.sketch import Sketch, sketch_of
from sfumato.schema import Attribute, Kind
from sfumato.tables import Block

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
class Released:
    """One block of the release, with what has to be known of it in the end."""

    batch: pa.RecordBatch
    sketch: Sketch
    missing: Mapping[str, int]
    entities: WordArray


@dataclass(frozen=True)
class ReleaseKernel:
    """All columns of a release, and whose noise it is: the row's, or the entity's."""

    columns: tuple[ColumnKernel, ...]
    identifier: str | None
    entity_key: SecretKey
    sketch_key: SecretKey
    schema: pa.Schema = field(repr=False)
    joint: JointKernel | None = None

    def __call__(self, block: Block) -> Released:
        """Read, blur and write one block."""
        addresses = self._addresses(block)
        arrays = []
        seen = {c.name: self._read(c, block) for c in self.columns if c.encoder.attribute.domain is not None}
        missing = {name: int(np.isnan(values).sum()) for name, values in seen.items()}
        together = self.joint.released(seen, addresses) if self.joint else {}
        for column in self.columns:
            if column.encoder.attribute.domain is None:  # an identifier that is released as the text it is
                arrays.append(as_text(block.batch.column(column.name), column.name))
            elif column.name in together:
                arrays.append(column.decoder(together[column.name]))
            else:
                arrays.append(column.decoder(column.released(seen[column.name], addresses)))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        entities = addresses.high ^ addresses.low if self.identifier else np.empty(0, np.uint64)
        return Released(batch, sketch_of(self.sketch_key, seen, addresses), missing, entities)

    @staticmethod
    def _read(column: ColumnKernel, block: Block) -> FloatArray:
        return column.encoder(block.batch.column(column.name), block.start)

    def _addresses(self, block: Block) -> Addresses:
        if self.identifier is None:
            return Rows(block.start, block.rows)
        return self._entities(block)

    def _entities(self, block: Block) -> Entities:
        ids = plain(block.batch.column(self.identifier))
        absent = ids.is_null().to_numpy(zero_copy_only=False).astype(bool)
        if pa.types.is_string(ids.type):
            absent |= np.asarray(as_text(ids, str(self.identifier)).fill_null("").to_pylist(), dtype=object) == ""
        if pa.types.is_floating(ids.type):
            ids = as_text(ids, str(self.identifier))
        if absent.any():
            row = block.start + int(np.argmax(absent)) + 1
            raise DataError(
                f"{self.identifier}, row {row}: the id is missing; give every row one, or release without --id"
            )
        try:
            return entity_addresses(self.entity_key, ids)
        except pa.ArrowException:
            raise DataError(
                f"{self.identifier}: ids of type {ids.type} have no plain text form; convert the column first"
            ) from None


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
        cells = attribute if channel is None else cells_of(attribute, channel.reports)
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
    """What a noise key is derived from: the scope, the attribute, and the law with all its parameters."""
    law = joint if joint is not None and attribute.name in joint.names else channel
    return ["noise", *_scope(plan), attribute.name, None if law is None else law.to_dict()]


def noise_names(plan: Plan, owner: SecretKey, joint: CorrelatedGaussian | None = None) -> dict[str, str]:
    """A public name for the noise of each modified column: equal names mean equal noise."""
    return {
        name: owner.fingerprint(*noise_labels(plan, plan.schema[name], channel, joint))
        for name, channel in bound_laws(plan, joint).items()
    }


def whole_outputs(attribute: Attribute, channel: Channel | None) -> bool:
    """Whether all released values are whole numbers, so that they are written as such."""
    if attribute.kind not in (Kind.INTEGER, Kind.DATE):
        return False
    if channel is None:
        return True
    representatives = getattr(channel, "representatives", None)
    if representatives is not None:
        return bool(np.all(representatives == np.floor(representatives)))
    step = getattr(channel, "step", None)
    return step is not None and step > 0 and float(step).is_integer()


def first_repeat(entities: list[WordArray]) -> tuple[int, int] | None:
    """The first row (and the earlier one) whose id occurs twice."""
    words = np.concatenate(entities) if entities else np.empty(0, np.uint64)
    order = np.argsort(words, kind="stable")
    twice = np.flatnonzero(words[order][1:] == words[order][:-1])
    if not len(twice):
        return None
    later = order[twice + 1]
    at = int(np.argmin(later))
    return int(order[twice[at]]), int(later[at])


def cell_text(block: Block, name: str, place: int) -> str:
    """One cell, for a message."""
    return shown_cell(block.batch.column(name)[place])
