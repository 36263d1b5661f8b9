"""The part of an audit that counting alone can do, over all rows on any engine: how far distributions moved, what stayed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.auditing.utility import kolmogorov_smirnov, total_variation, wasserstein
from sfumato.counts import FloatArray, IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError
from sfumato.reconstruction.counted import CellCounts
from sfumato.releases import Release
from sfumato.releases.reading import CountedTable, Reader
from sfumato.views import distributions


def counted_distances(
    release: Release, original: Any, engine: Engine, encoding: str = "utf-8"
) -> dict[str, dict[str, Any]]:
    """For every modified column the distance of reconstructed and of released shares to the true ones, over all rows."""
    truth = CountedTable(Reader.of_original(release.manifest), engine.open(original, encoding), engine)
    counted = release.counted(engine)
    columns = {c.name: c for c in counted.table.columns if c.channel is not None}
    names = tuple(name for name in columns if release.manifest[name].missing < release.manifest.data.rows)
    if not names:
        return {}
    views = distributions(release, list(names), engine=engine)
    grids = tuple(views[name].overall.grid for name in names)
    true = truth.fold(CellCounts(names, grids)).tables
    seen = counted.fold(CellCounts(names, grids)).tables
    rows = {int(t.sum()) for t in true}
    if rows != {release.manifest.data.rows}:
        raise DataError(
            f"the original has {max(rows):,} rows and the release {release.manifest.data.rows:,}; "
            "give the very table that the release was made from"
        )
    out = {}
    for name, grid, before, after in zip(names, grids, true, seen, strict=True):
        if not before[:, 1:].any():
            continue
        mass, p, q = views[name].overall.mass, _shares(before), _shares(after)
        about: dict[str, Any] = {
            "rows": int(before.sum()),
            "total_variation": total_variation(mass, p),
        }
        channel = columns[name].channel
        if channel is None or channel.reports is None:  # reports are no values, so their shares are none
            about["total_variation_released"] = total_variation(q, p)
        if columns[name].attribute.kind.numeric:
            about |= {
                "kolmogorov_smirnov": kolmogorov_smirnov(mass, p),
                "wasserstein": wasserstein(grid, mass, p),
                "wasserstein_released": wasserstein(grid, q, p),
            }
        out[name] = about
    return out


def _shares(counts: IntArray) -> FloatArray:
    cells = counts[:, 1:].sum(axis=0).astype(np.float64)
    return np.asarray(cells / max(cells.sum(), 1.0))
