"""A release whose noise is bent around a pattern of the whole table.

The owner mines first, so the table has to be in memory. Noise is drawn as one stream under a key that a digest of the table
enters: the same table gives the same release, and any change of it draws everything afresh (which the ledger then refuses,
as it refuses any fresh noise for the same rows).
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.guided import (
    GuidedMethod,
    Perturbed,
    hardly_changed,
    hardly_note,
    whole_note,
    whole_records,
)
from sfumato.io import ROW_GROUP, Decoder, Written, open_new_folder, open_writer
from sfumato.plans import Plan
from sfumato.randomness import Rows, SecretKey, Stream
from sfumato.releases import Entry, Manifest, Release, ReleasedColumn, content_values, sketch_of, true_table
from sfumato.releasing.door import owner_key, publish, refuse_input_inside
from sfumato.schema import Attribute, Consent, Kind, Role
from sfumato.table import Table
from sfumato.text import join_names


@dataclass(frozen=True)
class GuidedRelease:
    """The release, and what only its owner should know of how it came about."""

    release: Release
    perturbed: Perturbed


def guided_release(
    table: Any,
    plan: Plan,
    method: GuidedMethod,
    folder: str | Path,
    *,
    key: SecretKey | str | Path | None = None,
    again: bool = False,
    force: bool = False,
    format: str = "parquet",  # noqa: A002 - the word users expect
    encoding: str = "utf-8",
) -> GuidedRelease:
    """Perturb a whole table by a guided method and make its release folder."""
    folder = Path(folder)
    refuse_input_inside(table, folder)
    if plan.schema.identifier is not None:
        raise UsageError(
            f"{method.law}: noise that follows the whole table cannot be tied to an entity; leave --id out, or declare no "
            "identifier in the plan"
        )
    owner, ledger = owner_key(key, folder)
    truth = true_table(plan, table, encoding)
    if not truth.rows:
        raise DataError("the table has a header but no rows; a release needs at least one")
    labels = ["guided", plan.release_name, method.to_dict(), _digest(truth)]
    perturbed = method.perturb(truth, Stream(owner.derive(*labels)))
    if plan.channels:
        words = f"{join_names(sorted(plan.channels), 12)}: the plan gives noise of their own, but {method.law} takes its place"
        perturbed = replace(perturbed, warnings=(*perturbed.warnings, Note("SF228", words)))
    released = _with_true_columns(plan, truth, perturbed)
    before, after = (_all_values(t) for t in (_kept(truth, perturbed), released))
    if found := int(whole_records(before, after, _changed(plan, perturbed)).sum()):
        perturbed = replace(perturbed, warnings=(*perturbed.warnings, whole_note(found, released.rows)))
    if still := hardly_changed(before, after, _changed(plan, perturbed) & {c.name for c in truth.columns}):
        perturbed = replace(perturbed, warnings=(*perturbed.warnings, hardly_note(still)))
    with open_new_folder(folder, force=force) as hidden:
        attributes = [fitting(a, after[a.name]) if a.name in after else a for a in plan.schema if a.released]
        written = _write(hidden, format, attributes, released)
        values = _all_values(truth)
        known = {name: content_values(plan.schema[name], column) for name, column in values.items()}
        entry = Entry.now(
            plan.release_name,
            dict.fromkeys(values, owner.fingerprint(*labels)),
            sketch_of(owner.derive("sketch"), known, Rows(0, truth.rows)),
            {name: {"law": method.law} for name in values},
        )
        manifest = publish(
            hidden,
            entry,
            ledger,
            lambda earlier: guided_manifest(
                plan,
                method,
                written,
                earlier,
                changed=_changed(plan, perturbed),
                missing={a.name: int(np.isnan(after[a.name]).sum()) for a in attributes},
                public=perturbed.public,
                stated={a.name: a for a in attributes},
            ),
            again=again,
        )
    return GuidedRelease(Release(folder, manifest), perturbed)


def _digest(table: Table) -> str:
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(column.name.encode())
        digest.update(np.ascontiguousarray(column.values + 0.0).tobytes())
    if table.target is not None:
        digest.update(table.codes.tobytes())
    return digest.hexdigest()


def _kept(truth: Table, perturbed: Perturbed) -> Table:
    """The true rows that have one in the release."""
    if not len(perturbed.left_out):
        return truth
    return truth.take(np.setdiff1d(np.arange(truth.rows), perturbed.left_out))


def _with_true_columns(plan: Plan, truth: Table, perturbed: Perturbed) -> Table:
    """Columns whose people agreed to true values keep them."""
    keep = {a.name for a in plan.schema if a.consent is Consent.TRUE and a.role is not Role.TARGET}
    released, kept = perturbed.table, _kept(truth, perturbed)
    columns = tuple(kept[c.name] if c.name in keep else c for c in released.columns)
    return replace(released, columns=columns)


def _all_values(table: Table) -> dict[str, FloatArray]:
    """Every column, and the target as one of them."""
    return {c.name: c.values for c in table.all_columns}


def _whole(attribute: Attribute, values: FloatArray) -> bool:
    if attribute.kind not in (Kind.INTEGER, Kind.DATE):
        return False
    known = values[~np.isnan(values)]
    return bool(np.all(known == np.floor(known)))


def _write(hidden: Path, form: str, attributes: list[Attribute], table: Table) -> Written:
    values = _all_values(table)
    columns = {a.name: values[a.name] for a in attributes}
    decoders = {a.name: Decoder(a, _whole(a, columns[a.name])) for a in attributes}
    schema = pa.schema([(name, d.type) for name, d in decoders.items()])
    with open_writer(hidden, form, schema) as (put, written):
        for begin in range(0, table.rows, ROW_GROUP):
            arrays = [decoders[n](values[begin : begin + ROW_GROUP]) for n, values in columns.items()]
            put(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return written[0]


def _changed(plan: Plan, perturbed: Perturbed) -> set[str]:
    """The columns a method changed, but for those whose people agreed to true values."""
    kept = {a.name for a in plan.schema if a.consent is Consent.TRUE and a.role is not Role.TARGET}
    return {name for name, share in perturbed.changed.items() if share > 0} - kept


OFF_STEP = 1e-6
"""Values this far from a multiple of the step, in steps, are on it but for rounding."""


def fitting(attribute: Attribute, values: FloatArray) -> Attribute:
    """The attribute as released values have it: real, and of no step, where they left the declared whole numbers or steps."""
    if not attribute.kind.numeric or not attribute.step:
        return attribute
    places = values[~np.isnan(values)] / attribute.step
    if np.all(np.abs(places - np.round(places)) <= OFF_STEP):
        return attribute
    return replace(attribute, kind=Kind.REAL, resolution=None)


def guided_manifest(
    plan: Plan,
    method: Any,
    written: Written,
    earlier: tuple[str, ...],
    *,
    changed: Container[str],
    missing: Mapping[str, int],
    public: Mapping[str, Any],
    stated: Mapping[str, Attribute] | None = None,
) -> Manifest:
    """The manifest of a release that `method` made: what it changed is its own, all else is stated to be true.

    `stated` holds columns whose released values are of another kind than the plan declares (see `fitting`).
    """
    columns = []
    for attribute in (a for a in plan.schema if a.released):
        name = attribute.name
        guided = method.law if name in changed else None
        fits = (stated or {}).get(name, attribute)
        fits = replace(fits, consent=Consent.MODIFIED if guided else Consent.TRUE)
        columns.append(ReleasedColumn(fits, None, missing[name], guided, plan.absent.get(name, ("",))))
    return Manifest(
        name=plan.release_name,
        columns=tuple(columns),
        data=written,
        addressing="table",
        withheld=tuple(a.name for a in plan.schema if not a.released),
        again=earlier,
        extra={"method": method.to_dict(), "public": dict(public)},
    )
