"""The same rows of the original and of releases whose tables an engine holds: what attacks are run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks import View
from sfumato.auditing.truth import Truth
from sfumato.counts import IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError
from sfumato.releases import CountedTable, Manifest, Reader, Release, sampled
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class SomeRows:
    """True values, what is seen of them in the release and in others, and the numbers of the rows."""

    truth: Truth
    view: View
    others: tuple[View, ...]
    rows: IntArray


def rows_of(
    release: Release, original: Any, others: Sequence[Release | Any], engine: Engine, size: int, encoding: str
) -> SomeRows:
    """At most `size` rows, the same of every table, chosen by a hash of their numbers."""
    counted = CountedTable(Reader.of_original(release.manifest), engine.open(original, encoding), engine)
    found = sampled(counted, size)
    if found.of != release.manifest.data.rows:
        raise DataError(
            f"the original has {found.of:,} rows and the release {release.manifest.data.rows:,}; "
            "give the same table that the release was made from, with its rows in the same order"
        )
    opened = [o if isinstance(o, Release) else Release.open(o) for o in others]
    seen = [(r, sampled(r.counted(engine), size)) for r in (release, *opened)]
    for made, part in seen:
        if not np.array_equal(part.rows, found.rows):
            raise DataError(f"{made.folder} has other rows than the original; give releases of the same rows")
    views = [View.of(made, part.table) for made, part in seen]
    return SomeRows(_truth(release.manifest, found.table), views[0], tuple(views[1:]), found.rows)


def _truth(manifest: Manifest, table: Table) -> Truth:
    values = {c.name: c.values for c in table.all_columns}
    names = [c.attribute.name for c in manifest.columns if c.attribute.name in values]
    return {name: values[name] for name in names}
