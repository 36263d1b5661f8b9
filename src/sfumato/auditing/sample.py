"""The same rows of the original and of releases whose tables an engine holds: what attacks are run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.attacks import View
from sfumato.auditing.truth import Truth, check_rows, truth_of
from sfumato.counts import IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError
from sfumato.releases import Release, count_original, sampled
from sfumato.table import require_original


def read_sample(
    release: Release, original: Any, others: Sequence[Release], engine: Engine, size: int, encoding: str
) -> tuple[Truth, list[View], IntArray]:
    """Read at most `size` rows of the original, the same of the release and the others, and their numbers.

    Rows are chosen by a hash of their numbers.
    """
    found = sampled(count_original(original, release.manifest, engine, encoding=encoding), size)
    check_rows(release, found.of)
    seen = [(r, sampled(r.counted(engine), size)) for r in (release, *others)]
    for made, part in seen:
        if not np.array_equal(part.rows, found.rows):
            raise DataError(f"{made.folder} has other rows than the original; give releases of the same rows")
    views = [View.of(made, part.table) for made, part in seen]
    return truth_of(release.manifest, require_original(found.table, "an audit")), views, found.rows
