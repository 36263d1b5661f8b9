"""Is this the table that the release was made from, row for row?

An audit compares each released row with its original. Against rows in another order every attack fails and every promise
looks kept, so such a table is refused: by columns that were released as they are, by cells left missing, and by the laws.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.errors import GIVE_SAME_TABLE, DataError
from sfumato.schema import Missing
from sfumato.table import Column

BoolArray = NDArray[np.bool_]


def check_same_rows(columns: Iterable[Column], truth: Mapping[str, FloatArray], guided: Container[str] = ()) -> None:
    """Raise DataError if the released columns cannot be these true ones, row for row.

    `guided` columns have no law and are not checked.
    """
    for column in (c for c in columns if c.name in truth and c.name not in guided):
        true = truth[column.name]
        if not len(true):
            continue
        if column.channel is None:
            _check_share(column, ~_equal(column.values, true), "is released as it is, and differs")
        elif column.attribute.missing is not Missing.CATEGORY:
            _check_share(column, np.isnan(column.values) != np.isnan(true), "is missing in one of them only")
        if column.channel is not None and not rows_follow_law(column, true):
            raise DataError(
                f"{column.name}: the released values do not follow those of the original as their law says; {GIVE_SAME_TABLE}"
            )


def _equal(a: FloatArray, b: FloatArray) -> BoolArray:
    return np.isclose(a, b, rtol=1e-9, atol=0.0, equal_nan=True)


def _check_share(column: Column, wrong: BoolArray, words: str) -> None:
    max_changed = 0.01  # cells that may have been corrected since; more is another table
    if wrong.mean() > max_changed:
        raise DataError(
            f"{column.name}, row {int(np.argmax(wrong)) + 1}: the value {words} in {wrong.mean():.0%} of the rows of release and "
            f"original; {GIVE_SAME_TABLE}"
        )


def rows_follow_law(column: Column, truth: FloatArray) -> bool:
    """Return whether the rows are in the right order, by D = Σ log P(z | x) − m(z), m(z) its mean over all true values.

    Shuffled, D is 0 in the mean; in the right order it is what the law expects, μ > 0. The nearer of the two is taken, and
    the right one where the law keeps them too close together to decide.
    """
    cells, max_labels, max_rows = 64, 512, 20_000
    min_density = 1e-12
    certainty = 8.0  # standard deviations by which the right order must stand out before its absence means anything
    channel = column.channel
    grid = column.true_grid(cells)
    if channel is None or channel.reports is not None or grid.size > max_labels:
        return True
    rows = np.flatnonzero(~np.isnan(column.values) & ~np.isnan(truth))
    rows = rows[:: -(-len(rows) // max_rows) or 1]
    if not len(rows):
        return True
    observed_grid = column.observed_grid(grid)
    law = np.maximum(channel.transition(grid, observed_grid), 0.0)
    true, shown = grid.locate(truth[rows]), observed_grid.locate(column.values[rows])
    shares = np.bincount(true, minlength=grid.size) / len(true)
    logs = np.log(np.maximum(law, min_density))
    evidence = logs - (logs @ shares)[:, None]
    shuffled = float(((evidence**2) @ shares)[shown].sum())
    mean = (law * evidence).sum(axis=0)
    right = float(((law * evidence**2).sum(axis=0) - mean**2)[true].sum())
    expected = float(mean[true].sum())
    if expected <= certainty * max(shuffled, right, 0.0) ** 0.5:
        return True
    return float(evidence[shown, true].sum()) >= expected / 2
