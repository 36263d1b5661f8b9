"""Rows as points: checked, put on a scale, and arranged so that each cluster is one contiguous slice.

The scale on which distances are measured is part of a clustering, and stated with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.text import join_names


def check_finite(values: ArrayLike, what: str = "the table") -> FloatArray:
    """Return `values` as a matrix; raise DataError where a value is missing or infinite."""
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} holds values that are no numbers ({error}); choose its numeric columns") from error
    if table.ndim != 2:
        raise UsageError(f"{what} has {table.ndim} dimensions; give rows × attributes")
    if table.shape[1] == 0:
        raise UsageError(f"{what} has no attributes; name at least one numeric column")
    # A finite sum proves a finite table at a fraction of the memory; only an infinite one needs the second look.
    with np.errstate(all="ignore"):
        doubtful = not np.isfinite(table.sum())
    if doubtful and not (finite := np.isfinite(table)).all():
        bad = np.flatnonzero(~finite.all(axis=0))
        raise DataError(
            f"{what}: {int((~finite).sum())} missing or infinite values in column {join_names(bad.tolist())}; "
            "drop or fill these rows first"
        )
    return table


def check_labels(labels: ArrayLike, rows: int, clusters: int) -> IntArray:
    """Return the cluster number of every row; raise UsageError unless all are between 0 and `clusters` − 1."""
    array = np.asarray(labels)
    if array.shape != (rows,) or not np.issubdtype(array.dtype, np.integer):
        raise UsageError(f"labels have shape {array.shape} and type {array.dtype}; give {rows} whole numbers")
    if rows and not (array.min() >= 0 and array.max() < clusters):
        raise UsageError(
            f"labels run from {array.min()} to {array.max()}; with {clusters} centres they end at {clusters - 1}"
        )
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows ordered by cluster: rows `order[bounds[i]:bounds[i + 1]]` are those of cluster i."""

    order: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, labels: IntArray, clusters: int) -> Partition:
        """Return the partition that the labels describe."""
        small: NDArray[Any] = labels.astype(np.uint16) if clusters <= 2**16 else labels  # 16 bits sort by radix
        sizes = np.bincount(labels, minlength=clusters)
        return cls(np.argsort(small, kind="stable"), np.concatenate([[0], np.cumsum(sizes)]))

    def groups(self) -> Iterator[tuple[int, IntArray]]:
        """Yield each cluster that has rows, and the numbers of its rows."""
        for i, (begin, end) in enumerate(zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)):
            if end > begin:
                yield i, self.order[begin:end]


def cluster_means(table: FloatArray, labels: IntArray, clusters: int) -> FloatArray:
    """Return the mean of every cluster; NaN for a cluster without rows."""
    sizes = np.bincount(labels, minlength=clusters).astype(np.float64)
    sizes[sizes == 0] = np.nan
    origin = table.mean(axis=0) if len(table) else np.zeros(table.shape[1])
    sums = [
        np.bincount(labels, weights=column - o, minlength=clusters) for column, o in zip(table.T, origin, strict=True)
    ]
    return np.stack(sums, axis=1) / sizes[:, None] + origin


@dataclass(frozen=True)
class Scaling:
    """z = (x − offset) / unit, column by column. A constant column has unit 1: it becomes 0 and comes back exactly.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[0.0, 5.0], [10.0, 5.0]])
    >>> Scaling.fit(table).apply(table).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """

    kind: ClassVar[str] = "min-max"
    offset: tuple[float, ...]
    unit: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.offset) != len(self.unit) or not all(u > 0 for u in self.unit):
            raise UsageError("scaling: every column needs an offset and a positive unit")

    @classmethod
    def fit(cls, values: ArrayLike) -> Scaling:
        """Return the scale of a table: its smallest and largest values."""
        table = check_finite(values)
        if not len(table):
            raise UsageError("scaling: the table has no rows; give the scale from a declared domain instead")
        return cls.from_ends(table.min(axis=0), table.max(axis=0))

    @classmethod
    def from_ends(cls, low: ArrayLike, high: ArrayLike) -> Scaling:
        """Return the min-max scale of a declared domain, which is learned from no row."""
        low_, high_ = np.atleast_1d(np.asarray(low, np.float64)), np.atleast_1d(np.asarray(high, np.float64))
        # 1/unit must stay finite: a column that varies by less than that is constant to a float.
        unit = np.where(high_ - low_ > 1e-300, high_ - low_, 1.0)
        return cls(tuple(low_.tolist()), tuple(unit.tolist()))

    def apply(self, values: ArrayLike) -> FloatArray:
        """Return the scaled table."""
        return (np.asarray(values, np.float64) - np.array(self.offset)) / np.array(self.unit)

    def invert(self, scaled: ArrayLike) -> FloatArray:
        """Return the table in its own units."""
        out: FloatArray = np.asarray(scaled, np.float64) * np.array(self.unit)
        out += np.array(self.offset)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as plain data, for a manifest."""
        return {"kind": self.kind, "offset": list(self.offset), "unit": list(self.unit)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scaling:
        """Return the scale that `to_dict` described."""
        if data["kind"] != cls.kind:
            raise UsageError(f"scaling: {data['kind']!r} is unknown; it must be {cls.kind}")
        return cls(tuple(map(float, data["offset"])), tuple(map(float, data["unit"])))
