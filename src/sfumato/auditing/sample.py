"""The same rows of the original and of releases whose tables an engine holds: what attacks are run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.attacks import View
from sfumato.auditing.truth import Truth
from sfumato.counts import IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError
from sfumato.releases import CountedTable, Manifest, Reader, Release, sampled
from sfumato.table import Table


def read_sample(
    release: Release, original: Any, others: Sequence[Release], engine: Engine, size: int, encoding: str
) -> tuple[Truth, list[View], IntArray]:
    """Read at most `size` rows of the original, the same of the release and the others, and their numbers.

    Rows are chosen by a hash of their numbers.
    """
    counted = CountedTable(Reader.of_original(release.manifest), engine.open(original, encoding), engine)
    found = sampled(counted, size)
    if found.of != release.manifest.data.rows:
        raise DataError(
            f"the original has {found.of:,} rows and the release {release.manifest.data.rows:,}; "
            "give the same table that the release was made from, with its rows in the same order"
        )
    seen = [(r, sampled(r.counted(engine), size)) for r in (release, *others)]
    for made, part in seen:
        if not np.array_equal(part.rows, found.rows):
            raise DataError(f"{made.folder} has other rows than the original; give releases of the same rows")
    views = [View.of(made, part.table) for made, part in seen]
    return _truth(release.manifest, found.table), views, found.rows


def _truth(manifest: Manifest, table: Table) -> Truth:
    values = {c.name: c.values for c in table.all_columns}
    names = [c.attribute.name for c in manifest.columns if c.attribute.name in values]
    return {name: values[name] for name in names}
