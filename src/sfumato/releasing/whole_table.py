"""A release whose noise is bent around a pattern of the whole table.

The owner mines first, so the table has to be in memory. Noise is drawn as one stream under a key that a digest of the table
enters: the same table gives the same release, and any change of it draws everything afresh (which the ledger then refuses,
as it refuses any fresh noise for the same rows).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import FloatArray
from sfumato.errors import DataError
from sfumato.findings import Note
from sfumato.guided import GuidedMethod, Perturbed, exposed_rows
from sfumato.io import ArrowSource, Decoder, Written
from sfumato.plans import Plan
from sfumato.randomness import Rows, SecretKey, Stream
from sfumato.releases import Entry, Making, Manifest, ReleasedColumn, Sketch, content_values, read_original, sketch_of
from sfumato.releasing.base import Decoding, Draft, Scope, Tally
from sfumato.schema import Attribute, Consent, Kind, Role
from sfumato.table import Original, Table
from sfumato.text import join_names


@dataclass(frozen=True, eq=False)
class GuidedDraft(Draft):
    """A release by a guided method: what it changed is its own, all else is stated to be true."""

    plan: Plan
    scope: Scope
    method: GuidedMethod
    names: Sequence[str]
    noise: str
    """The public name of the noise: equal names mean equal noise."""
    sketch: Sketch | None
    """Of the true rows, where the rows to write are no longer theirs."""

    def entry(self, tally: Tally) -> Entry:
        """Return one name of noise and one law for all columns."""
        laws = {name: {"law": self.method.law} for name in self.names}
        noise = dict.fromkeys(self.names, self.noise)
        return Entry(self.scope.name, noise, self.sketch or tally.sketch, laws=laws, salt=self.scope.salt)

    def manifest(self, written: Written, tally: Tally, earlier: tuple[str, ...]) -> Manifest:
        """State the method and its parameters."""
        columns, changed = [], self.changed_columns(tally)
        for attribute in self.released_attributes():
            name = attribute.name
            guided = self.method.law if name in changed else None
            stated = replace(attribute, consent=Consent.MODIFIED if guided else Consent.TRUE)
            absent = self.plan.absent.get(name, ("",))
            columns.append(ReleasedColumn(stated, None, tally.missing[name], guided, absent))
        return Manifest(
            name=self.scope.name,
            salt=self.scope.salt,
            columns=tuple(columns),
            data=written,
            addressing="table",
            withheld=tuple(a.name for a in self.plan.schema if not a.released),
            again=earlier,
            extra={"method": self.method.to_dict(), "public": dict(self.public())},
        )

    def released_attributes(self) -> Iterable[Attribute]:
        """Return the columns of the release as their values have them."""
        return (a for a in self.plan.schema if a.released)

    @abstractmethod
    def changed_columns(self, tally: Tally) -> set[str]:
        """Return the columns that the method changed."""

    @abstractmethod
    def public(self) -> Mapping[str, Any]:
        """Return what the manifest says beside the parameters."""


@dataclass(frozen=True, eq=False)
class WholeTableDraft(GuidedDraft):
    """A release that was perturbed in memory, as numbers that are still to be written as cells."""

    attributes: tuple[Attribute, ...]
    perturbed: Perturbed

    def check(self, written: Written, tally: Tally) -> None:
        """Accept what was written: the method has seen to it."""

    def released_attributes(self) -> Iterable[Attribute]:
        """Return the columns of the release, some of another kind than the plan declares (see `_fit_attribute`)."""
        return self.attributes

    def changed_columns(self, tally: Tally) -> set[str]:  # noqa: ARG002
        """Return the columns that the method changed and that were not released as true instead."""
        return _changed_columns(self.plan, self.perturbed)

    def public(self) -> Mapping[str, Any]:
        """Return what the method says to everybody."""
        return self.perturbed.public

    def making(self, written: Written, tally: Tally) -> Making:  # noqa: ARG002
        """Return the shares of changed cells, and what the method tells its owner."""
        return Making(
            warnings=self.perturbed.warnings,
            changed=self.perturbed.changed,
            owner=self.perturbed.owner,
            left_out=self.perturbed.left_out,
        )


def draft_whole_table(table: Any, plan: Plan, scope: Scope, method: GuidedMethod, owner: SecretKey) -> WholeTableDraft:
    """Perturb a whole table by a guided method."""
    truth = read_original(table, plan)
    if not truth.rows:
        raise DataError("the table has a header but no rows; a release needs at least one")
    labels = ["guided", scope.salt, method.to_dict(), _digest(truth)]
    perturbed = method.perturb(truth, Stream(owner.derive(*labels)))
    warnings = list(perturbed.warnings)
    if plan.channels:
        words = f"{join_names(sorted(plan.channels), 12)}: the plan gives noise of their own, but {method.law} takes its place"
        warnings.append(Note("SF228", words))
    released = _with_true_columns(plan, truth, perturbed)
    before, after = (_all_values(t) for t in (_kept_rows(truth, perturbed), released))
    changed = _changed_columns(plan, perturbed)
    if unchanged := int(exposed_rows.unchanged_rows(before, after, changed).sum()):
        warnings.append(exposed_rows.unchanged_note(unchanged, released.rows))
    if still := exposed_rows.find_hardly_changed(before, after, changed & {c.name for c in truth.columns}):
        warnings.append(exposed_rows.hardly_note(still))
    values = _all_values(truth)
    known = {name: content_values(plan.schema[name], column) for name, column in values.items()}
    attributes = tuple(_fit_attribute(a, after[a.name]) if a.name in after else a for a in plan.schema if a.released)
    columns = {a.name: after[a.name] for a in attributes}
    kernel = Decoding({a.name: Decoder(a, _whole(a, columns[a.name])) for a in attributes})
    return WholeTableDraft(
        ArrowSource("the perturbed table", pa.table(columns)),
        list(columns),
        kernel,
        kernel.schema,
        plan,
        scope,
        method,
        tuple(values),
        owner.fingerprint(*labels),
        sketch_of(owner.derive("sketch"), known, Rows(0, truth.rows)),
        attributes,
        replace(perturbed, warnings=tuple(warnings)),
    )


def _digest(table: Table) -> str:
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(column.name.encode())
        digest.update(np.ascontiguousarray(column.values + 0.0).tobytes())
    if table.target is not None:
        digest.update(table.codes.tobytes())
    return digest.hexdigest()


def _kept_rows(truth: Original, perturbed: Perturbed) -> Original:
    """Return the true rows that have one in the release."""
    if not len(perturbed.left_out):
        return truth
    return truth.take(np.setdiff1d(np.arange(truth.rows), perturbed.left_out))


def _with_true_columns(plan: Plan, truth: Original, perturbed: Perturbed) -> Table:
    """Return the release with true values where people agreed to them."""
    keep, kept = true_columns(plan), _kept_rows(truth, perturbed)
    columns = tuple(kept[c.name] if c.name in keep else c for c in perturbed.table.columns)
    return replace(perturbed.table, columns=columns)


def _all_values(table: Table) -> dict[str, FloatArray]:
    """Return every column, and the target as one of them."""
    return {c.name: c.values for c in table.all_columns}


def _whole(attribute: Attribute, values: FloatArray) -> bool:
    if attribute.kind not in (Kind.INTEGER, Kind.DATE):
        return False
    known = values[~np.isnan(values)]
    return bool(np.all(known == np.floor(known)))


def _changed_columns(plan: Plan, perturbed: Perturbed) -> set[str]:
    """Return the columns that a method changed, without those whose people agreed to true values."""
    return {name for name, share in perturbed.changed.items() if share > 0} - true_columns(plan)


def _fit_attribute(attribute: Attribute, values: FloatArray) -> Attribute:
    """Return the attribute as released values have it: real, without a step, where they left the declared steps."""
    off_step = 1e-6  # of a step: closer to a multiple, a value is off it by rounding alone
    if not attribute.kind.numeric or not attribute.step:
        return attribute
    places = values[~np.isnan(values)] / attribute.step
    if np.all(np.abs(places - np.round(places)) <= off_step):
        return attribute
    return replace(attribute, kind=Kind.REAL, resolution=None)


def true_columns(plan: Plan) -> set[str]:
    """Return the columns, without the target, whose people agreed to true values."""
    return {a.name for a in plan.schema if a.consent is Consent.TRUE and a.role is not Role.TARGET}
