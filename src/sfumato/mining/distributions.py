"""Distributions of a release as a person wants to see them: what was released, what was reconstructed, by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from sfumato.counts import Counts, FloatArray, Grid
from sfumato.engines import Engine, Local
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import Distribution, count_columns, observed_grid, reconstruct_by_class, weighted_column
from sfumato.reconstruction import reconstruct as reconstruct_column
from sfumato.releases import CountedTable, Release, as_release
from sfumato.report import charts
from sfumato.schema import Attribute, Kind
from sfumato.table import Column
from sfumato.text import join_names


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The true distribution behind one released column, beside what was released.

    Attributes
    ----------
    attribute : Attribute
        The column.
    overall : Distribution
        The reconstruction from all rows.
    classes : mapping of str to Distribution, optional
        The same for each class of the target by itself.
    released : tuple of Grid and array
        The counts of the released values.
    reports : bool
        Whether the released cells are reports, which have no labels of their own.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     width = sf.reconstruct(release, ["petal_width"])["petal_width"]
    >>> width.attribute.name, int(width.released[1].sum())
    ('petal_width', 150)
    """

    attribute: Attribute
    overall: Distribution
    classes: Mapping[str, Distribution] | None
    released: tuple[Grid, FloatArray]
    reports: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `edges` or `categories`, `mass`, and `by_class` masses; for a date, the cells' first `days`."""
        about = self.overall.to_dict()
        if self.days:
            grid = self.overall.grid
            firsts = grid.points if grid.atoms is not None else np.ceil(grid.finite_edges[:-1] - 1e-9)
            about["days"] = [self.attribute.format_value(float(day)) for day in firsts]
        if (classes := self.classes) is not None:
            about["by_class"] = {label: d.mass.tolist() for label, d in classes.items()}
            about["by_class_bands"] = {
                label: {"lower": d.lower.tolist(), "upper": d.upper.tolist(), "n": d.n} for label, d in classes.items()
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
        centres = self.attribute.to_values(grid.centres)
        median = centres[int(np.searchsorted(np.cumsum(shares), 0.5))]
        released = f"{self._number(float(centres @ shares))}, median {self._number(float(median))}"
        return self.gist(self.overall), released

    def gist(self, distribution: Distribution) -> str:
        """Return mean and median with their 95 % intervals, or the commonest labels."""
        if distribution.grid.labels is not None:
            return _commonest(distribution.grid.labels, distribution.mass)
        mean, median = distribution.mean(), distribution.quantile(0.5)
        mean_words, median_words = (
            f"{self._number(f)} ({self._number(f.low)} … {self._number(f.high)})" for f in (mean, median)
        )
        return f"{mean_words}, median {median_words}"

    @property
    def shape(self) -> str:
        """What was chosen from the release alone, in a word or two; nothing for labels."""
        chosen = self.overall.chosen
        words = ["long tail" if chosen.get("scale") == "stretched" else "even"] if chosen else []
        return ", ".join([*words, *(["spikes"] if chosen.get("atoms") else [])])

    def _number(self, value: float) -> str:
        if self.days:
            return str(self.attribute.format_value(value))
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"

    def draw(self, *, alone: bool = True, original: FloatArray | None = None) -> str:
        """Return the attribute's chart."""
        released = None if self.reports else self.released
        return self._chart(self.attribute.name, self.overall, released=released, original=original, alone=alone)

    def draw_classes(self) -> list[str]:
        """Return the charts of the classes."""
        classes = (self.classes or {}).items()
        return [self._chart(f"{self.attribute.name}, {label}", d, alone=False) for label, d in classes]

    def _chart(self, title: str, d: Distribution, **options: Any) -> str:
        options |= {"days": self.days, "ruler": d.ruler}
        return charts.distribution(title, d.grid, d.mass, lower=d.lower, upper=d.upper, **options)


NO_VALUE = "no value is present, so there is nothing to reconstruct"


class Reconstructions(dict[str, Reconstruction]):
    """The reconstructions of a release by column; `skipped` says why columns have none.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     result = sf.reconstruct(release)
    >>> sorted(result)[:2], result.skipped
    (['petal_length', 'petal_width'], {})
    """

    def __init__(self, by_column: Mapping[str, Reconstruction], skipped: Mapping[str, str]) -> None:
        super().__init__(by_column)
        self.skipped = dict(skipped)
        if skipped and not by_column:
            what = f"{join_names(list(skipped), 12)}: {NO_VALUE}"
            raise DataError(f"{what}; {'leave the column out' if len(skipped) == 1 else 'the release holds no other'}")

    def to_dict(self) -> dict[str, Any]:
        """Return the reconstructions as plain data, and why columns were skipped."""
        return {"attributes": {name: v.to_dict() for name, v in self.items()}, "skipped": self.skipped}

    def to_svg(self) -> str:
        """Draw all distributions on one sheet, with a note in the place of a column that has none."""
        drawings = [drawing for v in self.values() for drawing in (v.draw(alone=False), *v.draw_classes())]
        drawings += [charts.note(name, why) for name, why in self.skipped.items()]
        return charts.stack(drawings)


def _commonest(labels: tuple[str, ...], shares: FloatArray) -> str:
    order: list[int] = np.argsort(-shares)[:3].tolist() if len(labels) == len(shares) else []
    return ", ".join(f"{labels[i]} {100 * shares[i]:.1f} %" for i in order)


def view(
    column: Column,
    overall: Distribution,
    classes: Mapping[str, Distribution] | None,
    weights: FloatArray | None = None,
    bins: int | None = None,
) -> Reconstruction:
    """The view of one column; the released values are counted in cells about as wide as those reported."""
    grid = observed_grid(column, bins)
    counts = Counts.of([grid], [column.locate(grid)], weights).table
    if grid.edges is not None:
        widths = (np.median(np.diff(g.finite_edges)) for g in (overall.grid, grid))
        each = max(1, round(float(next(widths) / next(widths))))
        starts = np.arange(0, grid.size, each)
        counts = np.add.reduceat(counts, starts)
        grid = replace(grid, edges=np.append(grid.edges[starts], grid.edges[-1]))
    reported = column.channel is not None and column.channel.reports is not None
    return Reconstruction(column.attribute, overall, classes, (grid, counts), reported)


@overload
def reconstruct(source: Column, **options: Any) -> Distribution: ...


@overload
def reconstruct(
    source: Release | str | Path,
    attributes: Sequence[str] | None = None,
    *,
    by_class: bool = False,
    engine: Engine = Local(),
    **options: Any,
) -> Reconstructions: ...


def reconstruct(
    source: Column | Release | str | Path,
    attributes: Sequence[str] | None = None,
    *,
    by_class: bool = False,
    engine: Engine = Local(),
    **options: Any,
) -> Distribution | Reconstructions:
    """Reconstruct the distribution of the true values behind a released column, or behind every column of a release.

    Parameters
    ----------
    source : Column, Release or path
        One released column with its law, a release, or its folder.
    attributes : sequence of str, optional
        Which columns of a release; all by default.
    by_class : bool
        Also reconstruct each column for each class of the target by itself.
    engine : Engine
        Where the work is done; one that does not gather rows adds up counts.
    **options
        `method` (auto, em, ems, bayes, inverse, projection or exact), `kernel` (exact or midpoint) and `bins`, as
        `sfumato.reconstruction.reconstruct` takes them.

    Returns
    -------
    Distribution or Reconstructions
        Of a column, its distribution. Of a release, a mapping of columns to views: the distribution overall and by class,
        beside the released counts. Columns without any value are named in `Reconstructions.skipped`.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     views = sf.reconstruct(sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release"), ["petal_width"])
    >>> round(float(views["petal_width"].overall.mass.sum()), 6)
    1.0
    """
    if isinstance(source, Column):
        return reconstruct_column(source, **options)
    release = as_release(source)
    if by_class and release.manifest.schema.target is None:
        raise UsageError(f"{release.folder} has no target, so there are no classes; leave by_class=True out")
    names = list(attributes) if attributes else None
    if not engine.gathers:
        return _from_counts(release.count_table(engine, names), names, options, by_class=by_class)
    table = release.read_table(names)
    wanted = [c for c in table.columns if names is None or c.name in names]
    skipped = {c.name: NO_VALUE for c in wanted if np.isnan(c.values).all()}
    views = {}
    for column in wanted:
        if column.name not in skipped:
            overall = reconstruct_column(column, **options)
            classes = None
            if by_class:
                classes = reconstruct_by_class(table, column.name, grid=overall.grid, **options)
            views[column.name] = view(column, overall, classes, bins=options.get("bins"))
    return Reconstructions(views, skipped)


def _from_counts(
    counted: CountedTable, names: list[str] | None, options: Mapping[str, Any], *, by_class: bool
) -> Reconstructions:
    table = counted.table
    wanted = [c for c in table.columns if names is None or c.name in names]
    tables = count_columns(wanted, counted.fold, bins=options.get("bins"))
    out = {}
    skipped = {name: NO_VALUE for name, counts in tables.items() if not counts.counts[:, 1:].any()}
    for name, counts in tables.items():
        if name in skipped:
            continue
        column, weights = weighted_column(counts.column, counts.grid, counts.counts.sum(axis=0))
        overall = reconstruct_column(column, weights=weights, moments=counts.moments, **options)
        classes: dict[str, Distribution] | None = {} if by_class and table.labels else None
        for label, row in zip(table.labels, counts.counts[1:], strict=True):
            if classes is not None and row[1:].any():
                _, rows = weighted_column(counts.column, counts.grid, row)
                classes[label] = reconstruct_column(column, weights=rows, grid=overall.grid, **options)
        out[name] = view(column, overall, classes, weights, options.get("bins"))
    return Reconstructions(out, skipped)
