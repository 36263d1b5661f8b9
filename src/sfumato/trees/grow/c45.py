"""A C4.5-like builder: gain ratio, multiway categories, exact cuts, pessimistic pruning, deterministic ties.

It follows C4.5 release 8 with Weka J48's exact normal quantile in the error bound (C4.5 interpolates a table) and without
subtree raising. Records with missing values are fractional while the tree grows, as in C4.5; when the finished tree is
applied, they follow the branch with most records, so that every record has one leaf.
"""

from __future__ import annotations

import numpy as np

from sfumato.counts import IntArray
from sfumato.errors import DataError, UsageError
from sfumato.schema import Attribute, Categories, Kind, Missing
from sfumato.table import MISSING_LABEL, Column, Table
from sfumato.text import join_names
from sfumato.trees.grow.gain_ratio import GainRatioSplitter
from sfumato.trees.grow.growth import Growth, Limits, grow_from
from sfumato.trees.grow.pruning import KeepAll, Pessimistic, Pruner
from sfumato.trees.grow.sorted_records import Coded, SortedRecords
from sfumato.trees.tree import Node, Test, Tree

CLASS = "class"


def c45(
    table: Table,
    *,
    min_leaf: float = 2.0,
    confidence: float = 0.25,
    prune: bool = True,
    max_depth: int | None = None,
    target: str = CLASS,
) -> Tree:
    """The tree of a table of true values, its class given by `table.classes`; records without a class are left out.

    Parameters
    ----------
    table
        Columns released as true (or not released at all), with classes and labels.
    min_leaf
        At least two branches of a test hold so many records.
    confidence
        CF of the pessimistic error bound; smaller prunes more.
    prune, max_depth
        Whether to collapse and prune, and where to stop at the latest.
    target
        What the class is called.
    """
    table = classified(table)
    pruner: Pruner = Pessimistic(confidence) if prune else KeepAll()
    coded = Coded.of(
        [c.values for c in table.columns],
        [c.attribute.kind.numeric for c in table.columns],
        [0 if c.attribute.kind.numeric else len(labels_of(c.attribute)) for c in table.columns],
    )
    assert table.classes is not None
    source = SortedRecords(coded, table.classes, len(table.labels))
    growth = grow_from(source, GainRatioSplitter(), pruner, Limits(min_leaf=min_leaf, max_depth=max_depth))
    return tree_of(growth, [c.attribute for c in table.columns], coded, table.labels, target)


def classified(table: Table) -> Table:
    """The records that have a class, after a check that a tree can be grown from them."""
    if table.classes is None or not table.labels:
        raise UsageError("a tree needs a class; name the target column")
    if noisy := [c.name for c in table.columns if c.channel is not None]:
        raise UsageError(f"{join_names(noisy)} was perturbed by a channel; this builder needs true values")
    if not (table.classes >= 0).any():
        raise DataError("no record has a class; check the target column")
    return table if (table.classes >= 0).all() else table.take(np.flatnonzero(table.classes >= 0))


def labels_of(attribute: Attribute) -> tuple[str, ...]:
    """The categories of an attribute, a missing value among them where it takes part as one."""
    if attribute.missing is Missing.CATEGORY:
        return (*attribute.categories, MISSING_LABEL)
    return attribute.categories


def with_class(table: Table, name: str, class_name: str = CLASS) -> Table:
    """The same records with a categorical column as their class, and the class as one more column.

    That is the table from which DETECTIVE (2005, section III) grows the tree of an attribute.
    """
    column = table[name]
    if column.attribute.kind.numeric:
        raise UsageError(f"{name}: a {column.attribute.kind} column cannot be a class; choose a categorical one")
    others = [c for c in table.columns if c.name != name]
    if table.classes is not None:
        attribute = Attribute(class_name, Kind.CATEGORICAL, Categories(table.labels))
        values = np.where(table.classes >= 0, table.classes, np.nan)
        others.append(Column(attribute, None, values))
    return Table(tuple(others), codes_of(column), labels_of(column.attribute))


def codes_of(column: Column) -> IntArray:
    """The codes of a categorical column as whole numbers, −1 where missing."""
    return np.where(np.isnan(column.values), -1.0, column.values).astype(np.int64)


def tree_of(
    growth: Growth, attributes: list[Attribute], coded: Coded, labels: tuple[str, ...], target: str = CLASS
) -> Tree:
    """Codes turned into thresholds and labels."""
    total = growth.counts.sum(axis=1)
    nodes = []
    for i, (a, counts) in enumerate(zip(growth.attribute.tolist(), growth.counts.tolist(), strict=True)):
        if a < 0:
            nodes.append(Node(tuple(counts)))
            continue
        children = growth.children_of(i)
        heaviest = int(np.argmax(total[children.start : children.stop]))
        attribute = attributes[a]
        if attribute.kind.numeric:
            threshold = float(coded.values[a][growth.cut[i]])
            test = Test(attribute.name, threshold=threshold, closed=True, missing=heaviest)
        else:
            test = Test(attribute.name, groups=tuple((v,) for v in labels_of(attribute)), missing=heaviest)
        nodes.append(Node(tuple(counts), test, tuple(children)))
    return Tree(tuple(attributes), labels, tuple(nodes), "c4.5", target)
