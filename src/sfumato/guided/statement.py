"""The public statement of a guided release: which columns the method changed, and how."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.releases.plan import Plan
from sfumato.schema import Attribute, Consent, Kind
from sfumato.tables import Written

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
