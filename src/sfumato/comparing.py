"""Did the patterns survive? Trees and clusters of a release beside those of the original, which only the owner can do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.clusters.agreement import fixed_point, rerun, single_start
from sfumato.clusters.kmeans import kmeans
from sfumato.clusters.privacy import cluster_privacy
from sfumato.clusters.scaling import Scaling
from sfumato.counts import FloatArray
from sfumato.encoding import Encoder
from sfumato.errors import DataError, UsageError
from sfumato.observed import Column, ObservedTable
from sfumato.releases import Release
from sfumato.schema import Role
from sfumato.tables import blocks, open_table
from sfumato.trees.c45 import c45
from sfumato.trees.similarity import compare_trees

MOST_LABELS = 50


@dataclass(frozen=True)
class Comparison:
    """Trees, one for each column that was asked for as a class, and clusters of the numeric columns."""

    trees: tuple[dict[str, Any], ...]
    clusters: dict[str, Any] | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"trees": list(self.trees), "clusters": self.clusters, "notes": list(self.notes)}


def original_of(release: Release, table: Any, encoding: str = "utf-8") -> ObservedTable:
    """The original rows of a release, read by the attributes its manifest states."""
    columns = [c for c in release.manifest.columns if c.attribute.role is not Role.IDENTIFIER]
    parts: dict[str, list[FloatArray]] = {c.attribute.name: [] for c in columns}
    for block in blocks(open_table(table, encoding), list(parts)):
        for c in columns:
            parts[c.attribute.name].append(
                Encoder(c.attribute, c.absent)(block.batch.column(c.attribute.name), block.start)
            )
    values = {n: np.concatenate(p) if p else np.empty(0) for n, p in parts.items()}
    rows = release.manifest.data.rows
    if len(next(iter(values.values()), np.empty(0))) != rows:
        raise DataError(f"the original has another number of rows than the release ({rows:,}); is it the right table?")
    target = release.manifest.schema.target
    kept = tuple(
        Column(c.attribute, None, values[c.attribute.name]) for c in columns if c.attribute.role is not Role.TARGET
    )
    if target is None or target.kind.numeric:
        return ObservedTable(kept)
    classes = np.where(np.isnan(values[target.name]), -1, values[target.name]).astype(np.int64)
    return ObservedTable(kept, classes, target.categories)


def compare(
    table: Any, release: Release | str | Path, *, k: int | None = None, every: bool = False, encoding: str = "utf-8"
) -> Comparison:
    """C4.5 trees and k-means clusters of the original and of the release, and how alike they are.

    The release is mined as it is, with any tool's eyes. ``every`` also grows a tree for each categorical column.
    """
    release = release if isinstance(release, Release) else Release.open(release)
    original, seen = original_of(release, table, encoding), _as_it_is(release)
    trees, notes = [], []
    if original.classes is not None and original.columns:
        target = release.manifest.schema.target
        trees.append(_tree(target.name if target else "class", original, seen))
    if every:
        trees += [_tree(name, *_turned(name, original, seen)) for name in _categorical(original)]
    if not trees:
        notes.append("no class is declared, so no trees were compared; release with --target COLUMN")
    try:
        clusters: dict[str, Any] | None = _clusters(release, original, seen, k)
    except (UsageError, DataError) as error:
        clusters = None
        notes.append(f"clusters were not compared: {error}")
    return Comparison(tuple(trees), clusters, tuple(notes))


def _as_it_is(release: Release) -> ObservedTable:
    table = release.observed()
    return ObservedTable(tuple(c.at_its_word() for c in table.columns), table.classes, table.labels)


def _tree(name: str, original: ObservedTable, seen: ObservedTable) -> dict[str, Any]:
    first, second = c45(original, target=name), c45(seen, target=name)
    found = compare_trees(first, second, original, matched=True)
    return {"target": name, "leaves": [first.leaves, second.leaves]} | found.to_dict()


def _categorical(table: ObservedTable) -> list[str]:
    return [
        c.name for c in table.columns if not c.attribute.kind.numeric and len(c.attribute.categories) <= MOST_LABELS
    ]


def _turned(name: str, *tables: ObservedTable) -> tuple[ObservedTable, ...]:
    """The tables with another column as the class."""
    out = []
    for table in tables:
        column = table[name]
        classes = np.where(np.isnan(column.values), -1, column.values).astype(np.int64)
        rest = tuple(c for c in table.columns if c.name != name)
        out.append(ObservedTable(rest, classes, column.attribute.categories))
    return tuple(out)


def numbers_of(table: ObservedTable) -> list[Column]:
    """Numeric columns that vary and hold no gaps: those that have a place among clusters."""
    return [
        c
        for c in table.columns
        if c.attribute.kind.numeric and not np.isnan(c.values).any() and c.attribute.interval.range > 0
    ]


def scaled(columns: list[Column]) -> FloatArray:
    """Columns on the scale of their declared domains."""
    if not columns:
        raise UsageError("no numeric column is complete, so there is nothing to cluster")
    ends = [(c.attribute.interval.low, c.attribute.interval.high) for c in columns]
    return Scaling.from_ends([e[0] for e in ends], [e[1] for e in ends]).apply(
        np.column_stack([c.values for c in columns])
    )


def _clusters(release: Release, original: ObservedTable, seen: ObservedTable, k: int | None) -> dict[str, Any]:
    columns = numbers_of(original)
    x, y = scaled(columns), scaled([seen[c.name] for c in columns])
    method = release.manifest.method or {}
    wanted = k or (int(method["k"]) if method.get("k") else None)
    found = kmeans(x, wanted, small="merge")
    privacy = cluster_privacy(x, y, found.labels)
    return {
        "k": found.k,
        "sizes": list(found.sizes),
        "chosen_by": found.chosen_by,
        "agreement": rerun(y, found.labels, found.k),
        "protocols": {
            "rerun": rerun(y, found.labels, found.k),
            "fixed_point": fixed_point(y, found.labels, found.centres),
            "single_start": single_start(x, y, found.k),
        },
        "privacy": privacy.to_dict(),
        "verdict": privacy.verdict,
        "columns": [c.name for c in columns],
    }


def cluster(release: Release | str | Path, k: int | None = None) -> dict[str, Any]:
    """k-means on the numeric columns of a release, on the scale of their declared domains."""
    release = release if isinstance(release, Release) else Release.open(release)
    columns = numbers_of(_as_it_is(release))
    found = kmeans(scaled(columns), k, least=1)
    low = np.array([c.attribute.interval.low for c in columns])
    span = np.array([c.attribute.interval.range for c in columns])
    centres = found.centres * span + low
    return {
        "k": found.k,
        "chosen_by": found.chosen_by,
        "rows": release.manifest.data.rows,
        "columns": [c.name for c in columns],
        "sizes": list(found.sizes),
        "centres": [dict(zip([c.name for c in columns], map(float, row), strict=True)) for row in centres],
        "scatter": found.scatter,
        "notes": list(found.notes),
    }
