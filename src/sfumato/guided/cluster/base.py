"""What every perturbation around clusters has in common: a scaled table around given clusters, and a whole table around its own.

In a whole table numbers are perturbed by the method, and labels by swaps inside the same clusters.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters import KMeans, Scaling, check_finite, check_labels, kmeans
from sfumato.counts import FloatArray, IntArray, snap
from sfumato.engines import Needs
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import Method, Pattern, Perturbed
from sfumato.randomness import Stream
from sfumato.schema import Attribute, Kind, Role
from sfumato.table import Column, Original, require_original
from sfumato.text import join_names


@dataclass(frozen=True)
class ClusterMethod(Method):
    """One way to perturb a table around its clusters. Subclasses are frozen dataclasses of their parameters."""

    pattern: ClassVar[Pattern] = Pattern.CLUSTERS
    reads: ClassVar[str] = (
        "Numbers were moved, and none should be read as a fact about anyone, except one that a whole cluster shares; labels are "
        "true ones, but as a rule another person's"
    )
    uses: ClassVar[str] = (
        "Clusters of it come near the owner's. Other statistics of the modified columns are off by an amount that no law "
        "states, and cannot be corrected"
    )
    words_for_labels: ClassVar[str] = "labels swapped inside each cluster"
    needs_clusters: ClassVar[bool] = True
    swaps: ClassVar[bool] = False
    """Whether released numbers are those of other rows, wherever they find a place."""
    keeps_labels: ClassVar[bool] = False
    """Whether the original labels and centres are an exact k-means fixed point of every release."""

    @classmethod
    def in_words(cls, attribute: Attribute, stated: Mapping[str, Any]) -> str:  # noqa: ARG003 - whatever the clusters
        """Say what was done to a number or to a label."""
        return cls.words if attribute.kind.numeric else cls.words_for_labels

    @classmethod
    def moves_gaps(cls, attribute: Attribute, stated: Mapping[str, Any]) -> bool:  # noqa: ARG003 - whatever the clusters
        """Return whether the column holds labels, and is not the class."""
        return not attribute.kind.numeric and attribute.role is not Role.TARGET

    @classmethod
    def plan(cls, parameters: Mapping[str, Any]) -> Clustered:
        """Return the method around the clusters of a table; what does not say how to find clusters is the method's."""
        return Clustered.from_dict(cls, parameters)

    def perturb(
        self, scaled: ArrayLike, labels: ArrayLike | None, centres: ArrayLike | None, stream: Stream
    ) -> FloatArray:
        """Perturb the table, on the same scale.

        Attributes that are constant in the whole table are released as they are: they hold no secret, and a rotation
        that spread others into them would hide nothing more.
        """
        table = check_finite(scaled)
        rows, columns = table.shape
        if not self.needs_clusters:
            labels_, centres_ = np.zeros(rows, np.int64), np.zeros((1, columns))
        elif labels is None or centres is None:
            raise UsageError(f"{self.law} perturbs around clusters; give labels and centres")
        else:
            centres_ = check_finite(centres, "the centres")
            if centres_.shape[1] != columns:
                raise UsageError(f"the centres have {centres_.shape[1]} attributes and the table {columns}")
            labels_ = check_labels(labels, rows, len(centres_))
        if not rows:
            return table.copy()
        varying = np.flatnonzero(table.min(axis=0) < table.max(axis=0))
        if len(varying) == columns:
            return self._release(table, labels_, centres_, stream)
        out = table.copy()
        if len(varying):
            out[:, varying] = self._release(table[:, varying], labels_, centres_[:, varying], stream)
        return out

    def keeps_cells(self, table: FloatArray, labels: IntArray, centres: FloatArray) -> bool:  # noqa: ARG002 - what a method may ask for
        """Return whether a released table has the fixed point that the method guarantees, if it guarantees one."""
        return True

    @abstractmethod
    def _release(self, table: FloatArray, labels: IntArray, centres: FloatArray, stream: Stream) -> FloatArray:
        """Return the perturbed table, given one with rows and without constant columns; the argument stays as it is."""


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
        if days and not self.method.keeps_cells(scaled, clusters.labels, clusters.centres):
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
