"""Distributions of a release as a person wants to see them: what was released, what was reconstructed, by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import Counts, FloatArray, Grid
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import Distribution, count_columns, reconstruct, reconstruct_by_class, weighted_column
from sfumato.releases import CountedTable, Release
from sfumato.report import charts
from sfumato.schema import Attribute, Kind
from sfumato.table import Column
from sfumato.text import format_number, join_names


@dataclass(frozen=True, eq=False)
class View:
    """One attribute: its reconstruction overall and by class, beside the counts of the released values."""

    attribute: Attribute
    overall: Distribution
    classes: Mapping[str, Distribution] | None
    released: tuple[Grid, FloatArray]
    reports: bool = False
    """Whether the released cells are reports, which have no labels of their own."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the contract's `edges|categories`, `mass`, and `by_class` masses; for a date, the cells' first `days`."""
        about = self.overall.to_dict()
        if self.days:
            grid = self.overall.grid
            firsts = grid.points if grid.atoms is not None else np.ceil(grid.finite_edges[:-1] - 1e-9)
            about["days"] = [self.attribute.format_value(float(day)) for day in firsts]
        if self.classes is not None:
            about["by_class"] = {label: d.mass.tolist() for label, d in self.classes.items()}
            about["by_class_bands"] = {
                label: {"lower": d.lower.tolist(), "upper": d.upper.tolist(), "n": d.n}
                for label, d in self.classes.items()
            }
        return about

    @property
    def days(self) -> bool:
        """Whether the numbers are days since 1970."""
        return self.attribute.kind is Kind.DATE

    def in_words(self) -> tuple[str, str]:
        """The gist of the reconstruction, and of the released values without any correction."""
        grid, counts = self.released
        shares = counts / max(counts.sum(), 1.0)
        if self.overall.grid.labels is not None:
            labels = self.overall.grid.labels
            released = "codes, not labels" if self.reports else _commonest(labels, shares)
            return self.gist(self.overall), released
        mean = float(grid.centres @ shares)
        sd = float(np.sqrt(max((grid.centres - mean) ** 2 @ shares, 0.0)))
        return self.gist(self.overall), f"{self._number(mean)} ± {format_number(sd)}"

    def gist(self, found: Distribution) -> str:
        """Mean ± sd, or the commonest labels."""
        if found.grid.labels is not None:
            return _commonest(found.grid.labels, found.mass)
        return f"{self._number(found.mean())} ± {format_number(found.sd())}"

    def _number(self, value: float) -> str:
        return str(self.attribute.format_value(value)) if self.days else f"{value:.5g}"

    def drawn(self, *, alone: bool = True, original: FloatArray | None = None) -> str:
        """The attribute's chart."""
        d = self.overall
        return charts.distribution(
            self.attribute.name,
            d.grid,
            d.mass,
            lower=d.lower,
            upper=d.upper,
            released=None if self.reports else self.released,
            original=original,
            alone=alone,
            days=self.days,
        )


NO_VALUE = "no value is present, so there is nothing to reconstruct"


class Views(dict[str, View]):
    """Views by attribute, and why the attributes that were passed over have none."""

    def __init__(self, views: Mapping[str, View], skipped: Mapping[str, str]) -> None:
        super().__init__(views)
        self.skipped = dict(skipped)
        if skipped and not views:
            what = f"{join_names(list(skipped), 12)}: {NO_VALUE}"
            raise DataError(f"{what}; {'leave the column out' if len(skipped) == 1 else 'the release holds no other'}")


def _commonest(labels: tuple[str, ...], shares: FloatArray) -> str:
    order: list[int] = np.argsort(-shares)[:3].tolist() if len(labels) == len(shares) else []
    return ", ".join(f"{labels[i]} {100 * shares[i]:.1f} %" for i in order)


def view(
    column: Column,
    classes: Mapping[str, Distribution] | None,
    weights: FloatArray | None = None,
    **options: Any,
) -> View:
    """The view of one column."""
    overall = reconstruct(column, weights=weights, **options)
    grid = column.observed_grid(overall.grid)
    counts = Counts.of([grid], [column.located(grid)], weights).table
    reported = column.channel is not None and column.channel.reports is not None
    return View(column.attribute, overall, classes, (grid, counts), reported)


def distributions(
    release: Release,
    names: list[str] | None = None,
    *,
    by_class: bool = False,
    engine: Engine | None = None,
    **options: Any,
) -> Views:
    """Views of the named attributes (all by default) of a release; with an engine, from counts that it adds up.

    An attribute without a single value is passed over, and named in ``skipped``.
    """
    if by_class and release.manifest.schema.target is None:
        raise UsageError(f"{release.folder} has no target, so there are no classes; leave --by-class (by_class) out")
    if engine is not None:
        return _from_counts(release.counted(engine, names), names, options, by_class=by_class)
    table = release.observed(names)
    wanted = [c for c in table.columns if names is None or c.name in names]
    skipped = {c.name: NO_VALUE for c in wanted if np.isnan(c.values).all()}
    present = [c for c in wanted if c.name not in skipped]
    views = {c.name: view(c, _by_class(table, c.name, options) if by_class else None, **options) for c in present}
    return Views(views, skipped)


def _from_counts(
    counted: CountedTable, names: list[str] | None, options: Mapping[str, Any], *, by_class: bool
) -> Views:
    table = counted.table
    wanted = [c for c in table.columns if names is None or c.name in names]
    bins = options.get("bins")
    found = count_columns(wanted, table.labels, counted.fold, bins=bins, by_class=by_class)
    out = {}
    skipped = {name: NO_VALUE for name, counts in found.items() if not counts.overall[1][1:].any()}
    for name, counts in found.items():
        if name in skipped:
            continue
        classes = None
        if counts.by_class is not None:
            classes = {}
            for label, row in zip(table.labels, counts.by_class[1][1:], strict=True):
                if row[1:].any():
                    column, weights = weighted_column(counts.column, counts.by_class[0], row)
                    classes[label] = reconstruct(column, weights=weights, **{**options, "bins": counts.bins})
        column, weights = weighted_column(counts.column, *counts.overall)
        out[name] = view(column, classes, weights, **options)
    return Views(out, skipped)


def _by_class(table: Any, name: str, options: Mapping[str, Any]) -> Mapping[str, Distribution]:
    return reconstruct_by_class(table, name, **options)


def plotted(views: Mapping[str, View]) -> str:
    """All charts on one sheet, with a note in the place of an attribute that has none."""
    drawings = []
    for seen in views.values():
        drawings.append(seen.drawn(alone=False))
        for label, d in (seen.classes or {}).items():
            title = f"{seen.attribute.name}, {label}"
            drawings.append(
                charts.distribution(title, d.grid, d.mass, lower=d.lower, upper=d.upper, alone=False, days=seen.days)
            )
    skipped = views.skipped if isinstance(views, Views) else {}
    drawings += [charts.note(name, why) for name, why in skipped.items()]
    return charts.stack(drawings)
