"""The clusters of a release: k-means on its numeric columns, on the scale of their declared domains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.clusters import Scaling, kmeans
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.releases import Release, as_release
from sfumato.schema import Kind
from sfumato.table import Column, Table

LABELS = "it holds labels, between which there is no distance"


def cluster(release: Release | str | Path, k: int | None = None) -> dict[str, Any]:
    """Cluster the numeric columns of a release by k-means, on the scale of their declared domains.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.
    k : int, optional
        How many clusters; by default chosen by the silhouette.

    Returns
    -------
    dict
        `k`, the `sizes` and `centres` of the clusters (days as calendar days), the `columns` that took part, and why others
        were `left_out`.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release")
    ...     clusters = sf.cluster(release, k=3)
    >>> sum(clusters["sizes"])
    150
    """
    opened = as_release(release)
    columns, without = complete_columns(unadjusted_table(opened.read_table()))
    clusters = kmeans(scale_columns(columns), k, least=1)
    low = np.array([c.attribute.interval.low for c in columns])
    span = np.array([c.attribute.interval.range for c in columns])
    centres = clusters.centres * span + low
    return {
        "k": clusters.k,
        "chosen_by": clusters.chosen_by,
        "rows": opened.manifest.data.rows,
        "columns": [c.name for c in columns],
        "left_out": without,
        "sizes": list(clusters.sizes),
        "centres": [{c.name: _format_value(c, float(v)) for c, v in zip(columns, row, strict=True)} for row in centres],
        "scatter": clusters.scatter,
        "notes": list(clusters.notes),
    }


def unadjusted_table(table: Table) -> Table:
    """Return a release as a reader sees it who takes released values for true ones."""
    return replace(table, columns=tuple(c.as_true() for c in table.columns))


def _format_value(column: Column, value: float) -> float | str:
    if column.attribute.ruler is not None:
        return float(column.attribute.ruler.to_values(value))
    return str(column.attribute.format_value(value)) if column.attribute.kind is Kind.DATE else value


def complete_columns(table: Table) -> tuple[list[Column], dict[str, str]]:
    """Return the numeric columns that vary and have no gaps, and why the others are left out."""
    out = {}
    for column in table.columns:
        gaps = int(np.isnan(column.values).sum())
        if not column.attribute.kind.numeric:
            out[column.name] = LABELS
        elif gaps:
            out[column.name] = (
                f"{gaps:,} of {table.rows:,} rows hold no value, and a row without a number has no place among clusters"
            )
        elif not column.attribute.interval.range > 0:
            out[column.name] = "its domain is one single value"
    columns = [c for c in table.columns if c.name not in out]
    if not columns:
        why = "".join(f"; {name}: {reason}" for name, reason in out.items())
        fill = "the owner can fill the gaps, or drop their rows, before the release"
        raise UsageError(f"no numeric column is complete, so there is nothing to cluster{why}; {fill}")
    return columns, out


def scale_columns(columns: list[Column]) -> FloatArray:
    """Return columns on the scale of their declared domains."""
    intervals = [c.attribute.interval for c in columns]
    scaling = Scaling.from_ends([i.low for i in intervals], [i.high for i in intervals])
    return scaling.apply(np.column_stack([c.values for c in columns]))
