"""A method around clusters, laid on a whole table: numbers by the method, labels by swaps inside the same clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.clusters import KMeans, Scaling, kmeans
from sfumato.counts import FloatArray, IntArray, snap
from sfumato.engines import Needs
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import Perturbed
from sfumato.guided.cluster._voronoi import inside
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.randomness import Stream
from sfumato.schema import Kind
from sfumato.table import Column, Original, require_original
from sfumato.text import join_names


@dataclass(frozen=True)
class Clustered:
    """`method` around the k-means clusters of the numeric columns, on the scale of their declared domains.

    ``k`` is chosen by the silhouette where it is not given. Clusters of fewer than ten rows are neither stable nor
    private: they are refused, or merged with `small="merge"`.
    """

    needs: ClassVar[Needs] = Needs.ROWS
    method: ClusterMethod
    k: int | None = None
    small: str = "refuse"
    starts: int = 10

    @property
    def law(self) -> str:
        """The method's name."""
        return self.method.law

    def to_dict(self) -> dict[str, Any]:
        """Return the public statement: the method and the way clusters were found."""
        return self.method.to_dict() | {"k": self.k, "small": self.small, "starts": self.starts}

    @classmethod
    def from_dict(cls, method: type[ClusterMethod], data: Mapping[str, Any]) -> Clustered:
        """Return the method from texts or numbers, as a command line or a plan gives them; what is not ours is the method's."""
        own = {n: data[n] for n in ("k", "small", "starts") if data.get(n) is not None}
        rest = {n: v for n, v in data.items() if n not in ("k", "small", "starts")}
        try:
            numbers = {n: int(str(own[n])) for n in ("k", "starts") if n in own}
        except ValueError:
            raise UsageError(f"{method.law}: k = {own.get('k')!r} and starts must be whole numbers") from None
        small = str(own.get("small", "refuse"))
        if small not in ("refuse", "merge"):
            raise UsageError(f"{method.law}: small = {small!r} is unknown; choose refuse or merge")
        return cls(method.from_dict(rest), numbers.get("k"), small, numbers.get("starts", 10))

    def perturb(self, table: Original, stream: Stream) -> Perturbed:
        """Perturb the table: numbers by the method, labels by swaps within clusters; the class stays as it is."""
        table = require_original(table, self.law)
        numbers = [c for c in table.columns if c.attribute.kind.numeric]
        if not numbers:
            raise UsageError(f"{self.law} perturbs numbers, and the table has none; use substitution, or leaf-swap")
        if gaps := [c.name for c in numbers if np.isnan(c.values).any()]:
            raise DataError(
                f"{join_names(gaps)}: holds missing values, and a record without a number has no place among clusters; "
                "withhold the column, or fill the gaps"
            )
        scaling = Scaling.from_ends(
            [c.attribute.interval.low for c in numbers], [c.attribute.interval.high for c in numbers]
        )
        scaled = scaling.apply(np.column_stack([c.values for c in numbers]))
        clusters = self._clusters(scaled)
        moved = scaling.invert(self.method.perturb(scaled, clusters.labels, clusters.centres, stream))
        values = {c.name: self._on_grid(c, moved[:, i], clusters.labels) for i, c in enumerate(numbers)}
        self._check_days(numbers, scaling.apply(np.column_stack([values[c.name] for c in numbers])), clusters)
        for column in table.columns:
            if column.name not in values:
                values[column.name] = column.values[stream.permutation_within(clusters.labels)]
        released = table.with_values(values)
        public = {"scaling": scaling.to_dict(), "clusters": len(clusters.centres), "columns": [c.name for c in numbers]}
        if self.method.keeps_labels:
            public["guarantee"] = (
                "on this scale the original clusters and their centres are a fixed point of k-means on the release"
            )
        return Perturbed.of(table, released, public=public, owner={"clusters": clusters.to_dict()})

    def _clusters(self, scaled: FloatArray) -> KMeans:
        if not self.method.needs_clusters:
            labels = np.zeros(len(scaled), np.int64)
            return KMeans(labels, scaled.mean(axis=0, keepdims=True), 0.0, "none", 0, 0, converged=True)
        return kmeans(scaled, self.k, starts=self.starts, small=self.small)

    def _check_days(self, numbers: list[Column], scaled: FloatArray, clusters: KMeans) -> None:
        """Refuse where rounding to days would break the fixed point."""
        days = [c.name for c in numbers if c.attribute.kind is Kind.DATE]
        if days and self.method.keeps_labels and not inside(scaled, clusters.labels, clusters.centres).all():
            raise DataError(
                f"{join_names(days)}: {self.law} keeps every record in its cluster's cell, which whole days are too coarse for; "
                "write the dates as numbers of days, or withhold the column"
            )

    def _on_grid(self, column: Column, moved: FloatArray, labels: IntArray) -> FloatArray:
        """Return swapped values as exactly the numbers they were (scaling may move a last bit), others on a fine grid.

        There is no date between two days: dates are rounded so that each cluster's sum, and with it its mean, stays.
        """
        own = np.sort(column.values)
        place = (
            np.clip(np.searchsorted(own, moved), 1, max(len(own) - 1, 1))
            if len(own) > 1
            else np.zeros(len(moved), np.int64)
        )
        near = np.where(np.abs(own[place - 1] - moved) <= np.abs(own[place] - moved), own[place - 1], own[place])
        span = column.attribute.interval.range or 1.0
        genuine = np.abs(near - moved) <= 1e-9 * span
        if column.attribute.kind is Kind.DATE:
            return near if genuine.all() else round_keeping_sums(moved, labels)
        if genuine.all() or self.method.swaps:
            return np.where(genuine, near, snap(moved, _fine(column, span)))
        return snap(moved, _fine(column, span))


def round_keeping_sums(values: FloatArray, group: IntArray) -> FloatArray:
    """Return whole numbers beside the values, each up or down, that have the (rounded) sum of their group: largest parts go up."""
    low = np.floor(values)
    part = values - low
    first = np.lexsort((-part, group))
    sizes = np.bincount(group)
    rank = np.empty(len(values), np.int64)
    rank[first] = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    up = np.round(np.bincount(group, part)).astype(np.int64)
    return np.asarray(low + (rank < up[group]))


def _fine(column: Column, span: float) -> float:
    """Return the grid of values that no row had: 10⁶ times finer than the domain, so that low bits tell nothing."""
    step = 10.0 ** math.floor(math.log10(span / 1e6))
    return (
        min(step, column.attribute.step) if column.attribute.step and column.attribute.kind is not Kind.REAL else step
    )
