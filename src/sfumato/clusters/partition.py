"""A table divided into clusters, arranged so that each cluster is one contiguous slice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError
from sfumato.text import join_names

LabelArray = NDArray[np.int64]


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


def check_labels(labels: ArrayLike, rows: int, clusters: int) -> LabelArray:
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

    order: LabelArray
    bounds: LabelArray

    @classmethod
    def of(cls, labels: LabelArray, clusters: int) -> Partition:
        """Return the partition that the labels describe."""
        small: NDArray[Any] = labels.astype(np.uint16) if clusters <= 2**16 else labels  # 16 bits sort by radix
        sizes = np.bincount(labels, minlength=clusters)
        return cls(np.argsort(small, kind="stable"), np.concatenate([[0], np.cumsum(sizes)]))

    def groups(self) -> Iterator[tuple[int, LabelArray]]:
        """Yield each cluster that has rows, and the numbers of its rows."""
        for i, (begin, end) in enumerate(zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)):
            if end > begin:
                yield i, self.order[begin:end]


def cluster_means(table: FloatArray, labels: LabelArray, clusters: int) -> FloatArray:
    """Return the mean of every cluster; NaN for a cluster without rows."""
    sizes = np.bincount(labels, minlength=clusters).astype(np.float64)
    sizes[sizes == 0] = np.nan
    origin = table.mean(axis=0) if len(table) else np.zeros(table.shape[1])
    sums = [
        np.bincount(labels, weights=column - o, minlength=clusters) for column, o in zip(table.T, origin, strict=True)
    ]
    return np.stack(sums, axis=1) / sizes[:, None] + origin
