"""Releases row by row: what happens to one block (a frozen value that travels to any worker), and the draft around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.channels import Channel, CorrelatedGaussian
from sfumato.counts import FloatArray, WordArray
from sfumato.engines import Engine, count_groups
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.io import (
    Block,
    Decoder,
    Encoder,
    Source,
    Written,
    decode_dictionary,
    format_labels,
    name_files_in_errors,
    released_attribute,
)
from sfumato.plans import Plan
from sfumato.randomness import Addresses, Entities, Rows, SecretKey
from sfumato.releases import (
    Entry,
    Making,
    Manifest,
    ReleasedColumn,
    RowOrder,
    RowsOfEntities,
    Sketch,
    content_values,
    load_key,
    round_rows_up,
    sketch_of,
    whole_outputs,
)
from sfumato.releasing.base import Draft, Released, Scope, Tally
from sfumato.releasing.entity_ids import EntityWords, note_alike, pair_words
from sfumato.releasing.joint_noise import JointKernel, joint_law
from sfumato.schema import Attribute
from sfumato.table import perturb_present
from sfumato.text import join_names

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

    def perturb(self, values: FloatArray, addresses: Addresses) -> FloatArray:
        """Return values as they are released: missing ones stay missing, true ones stay true."""
        return values if self.channel is None else perturb_present(self.channel, self.key, addresses, values)


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
    """Whether the tally holds a word a row, by which the rows of each entity are counted."""

    def __call__(self, block: Block) -> Released:
        """Read, blur and write one block."""
        addresses = block_addresses(block, self.identifier, self.entity_key)
        arrays = []
        seen = {c.name: self._read(c, block) for c in self.columns if c.encoder.attribute.domain is not None}
        missing = {name: int(np.isnan(values).sum()) for name, values in seen.items()}
        together = self.joint.perturb(seen, addresses) if self.joint else {}
        for column in self.columns:
            if column.encoder.attribute.domain is None:  # an identifier that is released as the text it is
                arrays.append(format_labels(block.batch.column(column.name), column.name))
            elif column.name in together:
                arrays.append(column.decoder(together[column.name]))
            else:
                arrays.append(column.decoder(column.perturb(seen[column.name], addresses)))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        entities: tuple[WordArray, ...] = ()
        odd_ids: tuple[WordArray, ...] = ()
        if self.identifier and self.gathers:
            entities = (addresses.high ^ addresses.low,)
            odd_ids = (pair_words(self.entity_key, decode_dictionary(block.batch.column(self.identifier))),)
        content = {c.name: content_values(c.encoder.attribute, seen[c.name]) for c in self.columns if c.name in seen}
        clipped = {
            c.name: c.encoder.count_clipped(block.batch.column(c.name))
            for c in self.columns
            if c.encoder.attribute.clip
        }
        sketch = sketch_of(self.sketch_key, content, addresses)
        return Released(batch, Tally(sketch, missing, entities, clipped=clipped, odd_ids=odd_ids))

    @staticmethod
    def _read(column: ColumnKernel, block: Block) -> FloatArray:
        return column.encoder(block.batch.column(column.name), block.start)


def block_addresses(block: Block, identifier: str | None, entity_key: SecretKey) -> Addresses:
    """Return whose noise that of a block's rows is: the entities', or their own by their numbers."""
    if identifier is not None:
        return EntityWords(identifier, entity_key).addresses(block)
    if block.numbers is None:
        return Rows(block.start, block.rows)
    return Entities(block.numbers.astype(np.uint64), np.zeros(block.rows, np.uint64))


@dataclass(frozen=True)
class RowSketch:
    """The sketch of a block's true rows: by it a table is known again before any noise is drawn."""

    plan: Plan
    entity_key: SecretKey
    sketch_key: SecretKey

    @classmethod
    def of(cls, plan: Plan, owner: SecretKey) -> RowSketch:
        """Return it under an owner's key."""
        return cls(plan, owner.derive("entities"), owner.derive("sketch"))

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        identifier = self.plan.schema.identifier
        names = [a.name for a in self.plan.schema if a.released and a.domain is not None]
        return names + ([identifier.name] if identifier and identifier.name not in names else [])

    def __call__(self, block: Block) -> Sketch:
        """Return the sketch of one block."""
        identifier = self.plan.schema.identifier
        addresses = block_addresses(block, identifier.name if identifier else None, self.entity_key)
        content = {}
        for attribute in self.plan.schema:
            if attribute.released and attribute.domain is not None:
                encoder = Encoder(attribute, self.plan.absent.get(attribute.name, ("",)))
                values = encoder(block.batch.column(attribute.name), block.start)
                content[attribute.name] = content_values(attribute, values)
        return sketch_of(self.sketch_key, content, addresses)


@dataclass(frozen=True)
class SketchByKeyFile:
    """The same, with the keys read from a file that lies where the work is done."""

    plan: Plan
    key_file: str
    fingerprint: str

    def __call__(self, block: Block) -> Sketch:
        """Return the sketch of one block."""
        return RowSketch.of(self.plan, load_worker_key(self.key_file, self.fingerprint))(block)


@dataclass(frozen=True)
class OrderByKeyFile:
    """A random order of rows, with the key read from a file that lies where the work is done."""

    salt: str
    key_file: str
    fingerprint: str

    def __call__(self, block: Block) -> WordArray:
        """Return the word of each row of a block."""
        return RowOrder.of(load_worker_key(self.key_file, self.fingerprint), self.salt)(block)


def key_fingerprint(owner: SecretKey) -> str:
    """Return a name by which driver and workers know that they hold the same key."""
    return owner.fingerprint("key file")


def load_worker_key(path: str, fingerprint: str) -> SecretKey:
    """Return the key in a file on a worker; raise UsageError if it is not the driver's."""
    owner = load_key(path)
    if key_fingerprint(owner) != fingerprint:
        raise UsageError(
            f"the key file {path} of a worker holds another key than the driver's; put the same file on every worker, or leave "
            "keys_on_workers=True out"
        )
    return owner


@dataclass(frozen=True)
class KernelByKeyFile:
    """The kernel of a plan, made where it is used from a key file that lies there: no secret travels."""

    plan: Plan
    scope: Scope
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
        owner = load_worker_key(self.key_file, self.fingerprint)
        return replace(kernel_for(self.plan, owner, self.scope, self.joint), gathers=False)

    def __call__(self, block: Block) -> Released:
        """Read, blur and write one block."""
        return self.kernel(block)


@dataclass(frozen=True)
class WordsByKeyFile:
    """The words of entities, made in the same way."""

    kernel: KernelByKeyFile

    def __call__(self, block: Block) -> WordArray:
        """Return one word per row."""
        made = self.kernel.kernel
        return EntityWords(str(made.identifier), made.entity_key)(block)


def kernel_for(plan: Plan, owner: SecretKey, scope: Scope, joint: CorrelatedGaussian | None = None) -> ReleaseKernel:
    """Return the kernel of a plan under an owner's key.

    With an identifier the entity takes the place of table and row, so the scope of the noise key is the same whatever the
    release is called and wherever the entity turns up. `joint` is the law of columns that are blurred together.
    """
    bound = bind_laws(plan, joint)
    identifier = plan.schema.identifier
    columns = []
    for attribute in plan.schema:
        if not attribute.released:
            continue
        channel = bound.get(attribute.name)
        encoder = Encoder(attribute, plan.absent.get(attribute.name, ("",)))
        cells = attribute if channel is None else released_attribute(attribute, channel.reports)
        decoder = Decoder(cells, whole_outputs(cells, channel), (channel and channel.step) or 0.0)
        labels = noise_labels(plan, scope, attribute, channel, joint)
        columns.append(ColumnKernel(encoder, decoder, channel, owner.derive(*labels)))
    return ReleaseKernel(
        tuple(columns),
        identifier.name if identifier else None,
        owner.derive("entities"),
        owner.derive("sketch"),
        pa.schema([(c.name, c.decoder.type) for c in columns]),
        None
        if joint is None
        else JointKernel(joint, owner.derive("noise", *_address_scope(plan, scope), "joint", joint.to_dict())),
    )


def bind_laws(plan: Plan, joint: CorrelatedGaussian | None = None) -> dict[str, Channel]:
    """Return the bound law of every modified column: its own, or its part in the joint one."""
    return plan.bind() | ({n: joint.marginal(plan.schema[n]) for n in joint.names} if joint else {})


def _address_scope(plan: Plan, scope: Scope) -> list[str]:
    return [ENTITY_SCOPE] if plan.schema.identifier else ["table", scope.salt]


def noise_labels(
    plan: Plan, scope: Scope, attribute: Attribute, channel: Channel | None, joint: CorrelatedGaussian | None = None
) -> list[object]:
    """Return what a noise key is derived from: the scope, the attribute, and all that a draw depends on.

    Labels are drawn by their place in the list, so the list belongs to it: in another order the same person's noise is fresh,
    and has to be known as such.
    """
    law: Mapping[str, object] | None = None
    if joint is not None and attribute.name in joint.names:
        law = joint.to_dict()
    elif channel is not None:
        law = channel.draw_inputs()
    labels = [] if attribute.domain is None or attribute.kind.numeric else [list(attribute.categories)]
    return ["noise", *_address_scope(plan, scope), attribute.name, law, *labels]


def noise_names(plan: Plan, owner: SecretKey, scope: Scope, joint: CorrelatedGaussian | None = None) -> dict[str, str]:
    """Return a public name for the noise of each modified column; equal names mean equal noise.

    Noise is a function of the place on a column's scale, which the key need not know. On another scale, or between other ends, the
    same value has another place and so fresh noise: that is another name.
    """
    return {
        name: owner.fingerprint(
            *noise_labels(plan, scope, plan.schema[name], channel, joint), *_place_labels(plan, name)
        )
        for name, channel in bind_laws(plan, joint).items()
    }


def _place_labels(plan: Plan, name: str) -> list[object]:
    """Return what the place of a value depends on; nothing for a column without a scale."""
    ruler = plan.schema[name].ruler
    return [] if ruler is None else [ruler.scale.to_dict(), ruler.low, ruler.high]


@dataclass(frozen=True, eq=False)
class RowDraft(Draft):
    """A release whose rows are blurred one by one: each by its own noise, or by its entity's."""

    plan: Plan
    scope: Scope
    owner: SecretKey
    own: ReleaseKernel
    """The kernel with the keys of this release; the one that travels may read them from a file."""
    words: Callable[[Block], WordArray]
    engine: Engine
    has_ledger: bool

    def check(self, written: Written, tally: Tally) -> None:  # noqa: ARG002
        """Refuse a table without rows."""
        if written.rows == 0:
            raise DataError(f"{self.source.name} has a header but no rows; a release needs at least one")

    def _count_entities(self, tally: Tally) -> RowsOfEntities | None:
        """Return how many entities there are, and the rows of each; None where each has one row, or none is named."""
        if (column := self.own.identifier) is None:
            return None
        if self.engine.gathers:
            number, largest = count_groups(tally.entities)
        else:
            number, largest = self.engine.count_groups(self.words, self.source, [column])
        return RowsOfEntities(column, number, round_rows_up(largest)) if largest > 1 else None

    def entry(self, tally: Tally) -> Entry:
        """Return the names of the noise, and the laws."""
        joint = self.own.joint.law if self.own.joint else None
        laws = {c.name: c.channel.to_dict() for c in self.own.columns if c.channel is not None}
        names = noise_names(self.plan, self.owner, self.scope, joint)
        together = joint.names if joint else ()
        return Entry(
            self.scope.name,
            names,
            tally.sketch,
            laws=laws,
            together=together,
            salt=self.scope.salt,
            by_entity=self.own.identifier is not None,
        )

    def manifest(self, written: Written, tally: Tally, earlier: tuple[str, ...]) -> Manifest:
        """State the law of every column."""
        columns = tuple(
            ReleasedColumn(
                c.encoder.attribute,
                c.channel,
                tally.missing.get(c.name, 0),
                absent=c.encoder.absent,
                promise=self.plan.promises.get(c.name),
            )
            for c in self.own.columns
        )
        return Manifest(
            name=self.scope.name,
            salt=self.scope.salt,
            columns=columns,
            data=written,
            addressing="entity" if self.own.identifier else "row",
            withheld=tuple(a.name for a in self.plan.schema if not a.released),
            again=earlier,
            joint=self.own.joint.law if self.own.joint else None,
            entities=self._count_entities(tally),
        )

    def making(self, written: Written, tally: Tally) -> Making:  # noqa: ARG002
        """Say what was clipped, and warn where the ledger cannot tell rows apart."""
        warnings = [
            Note(
                "SF291",
                f"{name}: {count:,} values beyond the ends of the domain were moved to them, as clip = true asks",
            )
            for name, count in tally.clipped.items()
            if count
        ]
        if self.own.identifier and tally.odd_ids:
            words_of, pairs = np.concatenate(tally.entities), np.concatenate(tally.odd_ids)
            warnings += [n for n in (note_alike(self.own.identifier, words_of, pairs),) if n is not None]
        if self.has_ledger and not self.own.identifier and not self.entry(tally).rows_distinct:
            words = (
                "Most rows look like others in what is released, so the ledger cannot know them again in another order or "
                "behind an inserted row: keep rows and order as they are when releasing again, or name people by identifier=, "
                "whose noise is fixed."
            )
            warnings.append(Note("SF231", words))
        return Making(warnings=tuple(warnings))


def order_rows(
    scope: Scope, owner: SecretKey, key: SecretKey | str | Path | None, engine: Engine
) -> Callable[[Block], WordArray]:
    """Return the words by which the rows of a table are shuffled."""
    if engine.keys_on_workers and isinstance(key, str | Path):
        return OrderByKeyFile(scope.salt, str(Path(key).absolute()), key_fingerprint(owner))
    return RowOrder.of(owner, scope.salt)


def sketch_rows(
    source: Source, plan: Plan, owner: SecretKey, key: SecretKey | str | Path | None, engine: Engine
) -> Sketch:
    """Return the sketch of a table's rows, read before any noise is drawn."""
    own = RowSketch.of(plan, owner)
    engine.check_numbers(source)
    _check_planned(source, plan)
    kernel: Callable[[Block], Sketch] = own
    if engine.keys_on_workers and isinstance(key, str | Path):
        kernel = SketchByKeyFile(plan, str(Path(key).absolute()), key_fingerprint(owner))
    with name_files_in_errors(source):
        return engine.fold(kernel, source, own.columns) or Sketch.empty()


def draft_rows(
    source: Source, plan: Plan, scope: Scope, owner: SecretKey, key: SecretKey | str | Path | None, engine: Engine
) -> RowDraft:
    """Prepare a release whose rows are blurred one by one."""
    joint = joint_law(plan, source, owner.derive("law", scope.salt), learn=engine.gathers)
    kernel = replace(kernel_for(plan, owner, scope, joint), gathers=engine.gathers)
    engine.check_numbers(source)
    columns = _columns_read(source, plan, kernel)
    by_file = isinstance(key, str | Path)
    shipped: Callable[[Block], Released] = kernel
    words: Callable[[Block], WordArray] = EntityWords(str(kernel.identifier), kernel.entity_key)
    if engine.keys_on_workers:
        if not by_file:
            raise UsageError("workers that read the key themselves need a key file; give its path as the key")
        shipped = KernelByKeyFile(plan, scope, str(Path(str(key)).absolute()), key_fingerprint(owner), joint)
        words = WordsByKeyFile(shipped)
    return RowDraft(source, columns, shipped, kernel.schema, plan, scope, owner, kernel, words, engine, by_file)


def _columns_read(source: Source, plan: Plan, kernel: ReleaseKernel) -> list[str]:
    """Return the columns that a release reads."""
    _check_planned(source, plan)
    names = [c.name for c in kernel.columns] + ([kernel.identifier] if kernel.identifier else [])
    return list(dict.fromkeys(names))


def _check_planned(source: Source, plan: Plan) -> None:
    """Raise UsageError where the plan says nothing about a column."""
    held, planned = source.columns, set(plan.schema.names)
    if unplanned := [c for c in held if c not in planned]:
        absent = [a.name for a in plan.schema if a.name not in held]
        misnamed = f", and speaks of {join_names(absent)}, which is not there; is it another name, or another table?"
        rest = misnamed if absent else "; add it, or withhold it"
        raise UsageError(f"the plan says nothing about column {join_names(unplanned)} of {source.name}{rest}")
