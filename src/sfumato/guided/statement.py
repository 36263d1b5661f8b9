"""The public statement of a guided release: which columns the method changed, and how."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.releases.plan import Plan
from sfumato.schema import Consent
from sfumato.tables import Written


def guided_manifest(
    plan: Plan,
    method: Any,
    written: Written,
    earlier: tuple[str, ...],
    *,
    changed: Container[str],
    missing: Mapping[str, int],
    public: Mapping[str, Any],
) -> Manifest:
    """The manifest of a release that `method` made: what it changed is its own, all else is stated to be true."""
    columns = []
    for attribute in (a for a in plan.schema if a.released):
        name = attribute.name
        guided = method.law if name in changed else None
        stated = replace(attribute, consent=Consent.MODIFIED if guided else Consent.TRUE)
        columns.append(ReleasedColumn(stated, None, missing[name], guided, plan.absent.get(name, ("",))))
    return Manifest(
        name=plan.release_name,
        columns=tuple(columns),
        data=written,
        addressing="table",
        withheld=tuple(a.name for a in plan.schema if not a.released),
        again=earlier,
        extra={"method": method.to_dict(), "public": dict(public)},
    )
