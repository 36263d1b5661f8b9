"""Did the patterns survive? Trees and clusters of a release beside those of the original, which only the owner can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.clusters import (
    Scaling,
    cluster_privacy,
    fixed_point_agreement,
    kmeans,
    rerun_agreement,
    single_start_agreement,
)
from sfumato.counts import FloatArray
from sfumato.engines import Engine
from sfumato.errors import GIVE_SAME_TABLE, DataError, UsageError
from sfumato.guided import kept_rows
from sfumato.io import check_columns, name_files_in_errors, open_table, read_blocks
from sfumato.releases import SAMPLE, CountedTable, Reader, Release, Sampled, check_same_rows, sampled
from sfumato.schema import Kind
from sfumato.table import Column, Table
from sfumato.trees import c45, compare_trees

MOST_LABELS = 50
LABELS = "it holds labels, between which there is no distance"
FILL = "the owner can fill the gaps, or drop their rows, before the release"


@dataclass(frozen=True)
class Comparison:
    """Trees, one for each column that was asked for as a class, and clusters of the numeric columns."""

    trees: tuple[dict[str, Any], ...]
    clusters: dict[str, Any] | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"trees": list(self.trees), "clusters": self.clusters, "notes": list(self.notes)}


def original_of(release: Release, table: Any, encoding: str = "utf-8") -> Table:
    """The original rows of a release, read by the attributes its manifest states."""
    reader = Reader.of_original(release.manifest)
    source = open_table(table, encoding)
    check_columns(source, reader.names, GIVE_SAME_TABLE)
    with name_files_in_errors(source):
        original = reader.joined([reader(block) for block in read_blocks(source, reader.names)])
    if original.rows != release.manifest.data.rows and (kept := kept_rows(release.manifest, original)) is not None:
        original = original.take(kept)
    _same_rows(original.rows, release)
    return original


def _same_order(release: Release, original: Table, seen: Table) -> None:
    guided = {c.attribute.name for c in release.manifest.columns if c.guided is not None}
    truth = {c.name: c.values for c in original.all_columns}
    check_same_rows(seen.all_columns, truth, guided)


def _same_rows(rows: int, release: Release) -> None:
    if rows != (stated := release.manifest.data.rows):
        raise DataError(f"the original has {rows:,} rows and the release {stated:,}; {GIVE_SAME_TABLE}")


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
    if k is not None and k < 1:
        raise UsageError(f"k: {k} is not a number of clusters; give a whole number from 1 on")
    if sample < 1:
        raise UsageError(f"sample: {sample} rows cannot be compared; give a whole number from 1 on")
    release = release if isinstance(release, Release) else Release.open(release)
    trees, notes = [], []
    if engine is None:
        original, seen = original_of(release, table, encoding), release.observed()
    else:
        pair = sampled_pair(release, table, engine, sample, encoding)
        original, seen = pair[0].table, pair[1].table
        if not pair[0].whole:
            notes.append(f"compared by {original.rows:,} of {pair[0].of:,} rows, chosen by a hash of their numbers")
    _same_order(release, original, seen)
    seen = _as_it_is(seen)
    if original.target is not None and original.columns:
        trees.append(_tree(original, seen))
    if every:
        trees += [_tree(*_turned(name, original, seen)) for name in _categorical(original)]
    if not trees:
        notes.append("no class is declared, so no trees were compared; release with --target COLUMN")
    clusters: dict[str, Any] | None
    try:
        clusters = found = _clusters(release, original, seen, k)
        notes += [f"clusters were compared without {n}: {w}" for n, w in found["left_out"].items() if w != LABELS]
    except (UsageError, DataError) as error:
        clusters = None
        notes.append(f"clusters were not compared: {error}")
    return Comparison(tuple(trees), clusters, tuple(notes))


def _as_it_is(table: Table) -> Table:
    return replace(table, columns=tuple(c.unadjusted() for c in table.columns))


def _tree(original: Table, seen: Table) -> dict[str, Any]:
    first, second = c45(original), c45(seen)
    found = compare_trees(first, second, original, matched=True)
    return {"target": first.target, "leaves": [first.leaves, second.leaves]} | found.to_dict()


def _categorical(table: Table) -> list[str]:
    return [
        c.name for c in table.columns if not c.attribute.kind.numeric and len(c.attribute.categories) <= MOST_LABELS
    ]


def _turned(name: str, *tables: Table) -> tuple[Table, ...]:
    """The tables with another column as the target; the old target is no input."""
    return tuple(replace(table, target=None).with_target(name) for table in tables)


def left_out(table: Table) -> dict[str, str]:
    """The columns that have no place among clusters, and why."""
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
    return out


def _numbers(table: Table) -> tuple[list[Column], dict[str, str]]:
    """Numeric columns that vary and hold no gaps, and why the others are left out."""
    without = left_out(table)
    columns = [c for c in table.columns if c.name not in without]
    if not columns:
        why = "".join(f"; {name}: {reason}" for name, reason in without.items())
        raise UsageError(f"no numeric column is complete, so there is nothing to cluster{why}; {FILL}")
    return columns, without


def scaled(columns: list[Column]) -> FloatArray:
    """Columns on the scale of their declared domains."""
    ends = [(c.attribute.interval.low, c.attribute.interval.high) for c in columns]
    return Scaling.from_ends([e[0] for e in ends], [e[1] for e in ends]).apply(
        np.column_stack([c.values for c in columns])
    )


def _clusters(release: Release, original: Table, seen: Table, k: int | None) -> dict[str, Any]:
    columns, without = _numbers(original)
    x, y = scaled(columns), scaled([seen[c.name] for c in columns])
    method = release.manifest.method or {}
    wanted = k or (int(method["k"]) if method.get("k") else None)
    found = kmeans(x, wanted, small="merge")
    privacy = cluster_privacy(x, y, found.labels)
    return {
        "k": found.k,
        "sizes": list(found.sizes),
        "chosen_by": found.chosen_by,
        "agreement": rerun_agreement(y, found.labels, found.k),
        "protocols": {
            "rerun": rerun_agreement(y, found.labels, found.k),
            "fixed_point": fixed_point_agreement(y, found.labels, found.centres),
            "single_start": single_start_agreement(x, y, found.k),
        },
        "privacy": privacy.to_dict(),
        "verdict": privacy.verdict,
        "columns": [c.name for c in columns],
        "left_out": without,
    }


def cluster(release: Release | str | Path, k: int | None = None) -> dict[str, Any]:
    """k-means on the numeric columns of a release, on the scale of their declared domains.

    Centres are values as people write them, days as calendar days. `left_out` says which columns took no part, and why.
    """
    release = release if isinstance(release, Release) else Release.open(release)
    columns, without = _numbers(_as_it_is(release.observed()))
    found = kmeans(scaled(columns), k, least=1)
    low = np.array([c.attribute.interval.low for c in columns])
    span = np.array([c.attribute.interval.range for c in columns])
    centres = found.centres * span + low
    return {
        "k": found.k,
        "chosen_by": found.chosen_by,
        "rows": release.manifest.data.rows,
        "columns": [c.name for c in columns],
        "left_out": without,
        "sizes": list(found.sizes),
        "centres": [{c.name: _shown(c, float(v)) for c, v in zip(columns, row, strict=True)} for row in centres],
        "scatter": found.scatter,
        "notes": list(found.notes),
    }


def _shown(column: Column, value: float) -> float | str:
    return str(column.attribute.format_value(value)) if column.attribute.kind is Kind.DATE else value
