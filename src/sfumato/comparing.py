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
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.guided.left_out import kept_rows
from sfumato.observed import Column, ObservedTable
from sfumato.releases import Release
from sfumato.releases.reading import CountedTable, Reader
from sfumato.releases.sampling import SAMPLE, Sampled, sampled
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
    reader = Reader.of_original(release.manifest)
    source = open_table(table, encoding)
    original = reader.joined([reader(block) for block in blocks(source, reader.names)])
    if original.rows != release.manifest.data.rows and (kept := kept_rows(release.manifest, original)) is not None:
        original = original.take(kept)
    _same_rows(original.rows, release)
    return original


def _same_rows(rows: int, release: Release) -> None:
    if rows != (stated := release.manifest.data.rows):
        raise DataError(
            f"the original has another number of rows than the release ({stated:,}); is it the right table?"
        )


def sampled_pair(
    release: Release, table: Any, engine: Engine, sample: int, encoding: str = "utf-8"
) -> tuple[Sampled, Sampled]:
    """The same rows of the original and of the release: a sample by a hash of their numbers, or all where they are few."""
    original = CountedTable(Reader.of_original(release.manifest), engine.open(table, encoding), engine)
    first, second = sampled(original, sample), sampled(release.counted(engine), sample)
    _same_rows(first.of, release)
    if not np.array_equal(first.rows, second.rows):
        raise DataError(
            "the rows of the original have no numbers that tell which row of the release is theirs; give the files that the "
            "release was made from, or name the column of row numbers"
        )
    return first, second


def compare(
    table: Any,
    release: Release | str | Path,
    *,
    k: int | None = None,
    every: bool = False,
    encoding: str = "utf-8",
    engine: Engine | None = None,
    sample: int = SAMPLE,
) -> Comparison:
    """C4.5 trees and k-means clusters of the original and of the release, and how alike they are.

    The release is mined as it is, with any tool's eyes. ``every`` also grows a tree for each categorical column. With an
    engine neither table is held: both are compared by the same `sample` of their rows.
    """
    release = release if isinstance(release, Release) else Release.open(release)
    trees, notes = [], []
    if engine is None:
        original, seen = original_of(release, table, encoding), _as_it_is(release.observed())
    else:
        pair = sampled_pair(release, table, engine, sample, encoding)
        original, seen = pair[0].table, _as_it_is(pair[1].table)
        if not pair[0].whole:
            notes.append(f"compared by {original.rows:,} of {pair[0].of:,} rows, chosen by a hash of their numbers")
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


def _as_it_is(table: ObservedTable) -> ObservedTable:
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
    columns = numbers_of(_as_it_is(release.observed()))
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
