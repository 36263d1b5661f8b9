"""Released tables as several tables of plausible true rows: what any learner can be fitted on.

A learner that takes released values as true learns the noise with them. One that is fitted on draws from P(true row | released row)
sees values as spread out as the true ones, and as dependent. The mean over a few draws takes out the chance of each.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.modelling import FitSettings, TableModel
from sfumato.schema import Attribute
from sfumato.table import Table

Sizes = list[int | None]
"""The number of labels of each column, None for numbers."""
MAX_GROUPS = 255
"""More labels than this are no groups for a learner, but numbers in the order of the labels."""


def draw_tables(table: Table, draws: int, seed: int = 0) -> tuple[list[Table], dict[str, Any]]:
    """Return tables of plausible true rows for the same released ones, and what was chosen on the way.

    Parameters
    ----------
    table
        The released columns with their laws. Where all values are true, they are their own and only draw.
    draws
        How many tables.
    seed
        Another seed gives other draws.
    """
    if all(column.channel is None for column in table.all_columns):
        return [table], {"why": "nothing is perturbed, so the values are learned from as they are"}
    model = TableModel.fit(table, FitSettings(seed=seed))
    rows = np.arange(table.rows)
    tables = [model.draw(table, rows, f"draw {number} of seed {seed}") for number in range(draws)]
    return tables, {"draws": draws, "model": dict(model.chosen)}


def stack_columns(table: Table) -> FloatArray:
    """Return the attributes as a matrix: numbers in the unit of their column, places of labels, NaN where missing."""
    if not table.columns:
        return np.empty((table.rows, 0))
    return np.column_stack([c.attribute.to_values(c.values) for c in table.columns])


def fill_empty(matrix: Any) -> Any:
    """Return a matrix to learn from, its columns without a value set to 0: scikit-learn cannot bin them, and they tell nothing.

    Examples
    --------
    >>> import numpy as np
    >>> fill_empty(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist()
    [[1.0, 0.0], [nan, 0.0]]
    """
    if not isinstance(matrix, np.ndarray) or matrix.dtype.kind != "f":
        return matrix
    return np.where(np.isnan(matrix).all(axis=0), 0.0, matrix)


def spread_labels(matrix: FloatArray, sizes: Sizes) -> tuple[FloatArray, list[tuple[int, int | None]]]:
    """Return a matrix with one column per label, 1 where a row has it, and for each column its attribute and label.

    Examples
    --------
    >>> import numpy as np
    >>> wide, origin = spread_labels(np.array([[0.5, 1.0], [0.7, np.nan]]), [None, 2])
    >>> wide.tolist(), origin
    ([[0.5, 0.0, 1.0], [0.7, 0.0, 0.0]], [(0, None), (1, 0), (1, 1)])
    """
    columns: list[FloatArray] = []
    origin: list[tuple[int, int | None]] = []
    for place, size in enumerate(sizes):
        if size is None or size > MAX_GROUPS:
            columns.append(matrix[:, [place]])
            origin.append((place, None))
        else:
            columns.append((matrix[:, [place]] == np.arange(size)).astype(np.float64))
            origin += [(place, label) for label in range(size)]
    return np.hstack(columns), origin


def limit_threads(rows: int) -> AbstractContextManager[Any]:
    """Return a context in which few rows are learned from in one thread: several wait for each other, on a busy machine for minutes.

    Parameters
    ----------
    rows
        How many rows are learned from.
    """
    min_rows = 50_000
    return nullcontext() if rows >= min_rows else _controller().limit(limits=1, user_api="openmp")


@cache
def _controller() -> Any:
    import threadpoolctl  # type: ignore[import-untyped]  # scikit-learn's own dependency

    return threadpoolctl.ThreadpoolController()


def label_counts(attributes: tuple[Attribute, ...]) -> Sizes:
    """Return the number of labels of each attribute, None for numbers."""
    return [None if a.kind.numeric else len(a.labels) for a in attributes]
