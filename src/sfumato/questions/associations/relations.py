"""One door to associations: a table of two columns, the correlations of all numbers, or itemsets."""

from __future__ import annotations

from typing import Any

from sfumato.engines import Engine, Local
from sfumato.errors import UsageError
from sfumato.questions.associations.correlations import Correlations, correlate
from sfumato.questions.associations.crosstab import Crosstab, cross
from sfumato.questions.associations.itemsets import Itemsets, find_itemsets
from sfumato.questions.regression import Source
from sfumato.schema import find_column


def associate(
    release: Any,
    *columns: str,
    itemsets: bool = False,
    min_support: float = 0.1,
    min_confidence: float = 0.5,
    max_size: int = 3,
    engine: Engine = Local(),
) -> Crosstab | Correlations | Itemsets:
    """Find out which columns of a release go together.

    Parameters
    ----------
    release : Release, path or Table
        A release, its folder, or a table of released columns in memory.
    *columns : str
        Two columns of labels for their table; none for the correlations of all columns of numbers. With `itemsets`, the columns to look
        at; by default all.
    itemsets : bool
        Find labels that stand together in many rows, and rules between them.
    min_support, min_confidence : float
        The least share of rows of an itemset, and the least confidence of a rule.
    max_size : int
        The largest number of items in a set.
    engine : Engine
        Where the work is done.

    Returns
    -------
    Crosstab, Correlations or Itemsets
        Figures with intervals that hold those of the true table.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     result = sf.associate(release)
    >>> result["sepal_length", "petal_length"].low > 0.7
    True
    """
    source = Source.of(release, engine)
    every = source.columns
    chosen = [find_column(every, name) for name in columns]
    if itemsets:
        return find_itemsets(source, chosen or every, min_support, min_confidence, max_size)
    if not columns:
        return correlate(source, list(every))
    if len(columns) != 2:
        raise UsageError(
            f"{len(columns)} columns were named; name two for their table, or none for the correlations of numbers"
        )
    if all(c.attribute.kind.numeric for c in chosen) and not any(
        c.channel and c.channel.representatives is not None for c in chosen
    ):
        return correlate(source, chosen)
    return cross(source, *chosen)
