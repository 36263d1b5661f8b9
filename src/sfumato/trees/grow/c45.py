"""A C4.5-like builder: gain ratio, multiway categories, exact cuts, pessimistic pruning, deterministic ties.

It follows C4.5 release 8 with Weka J48's exact normal quantile in the error bound (C4.5 interpolates a table) and without
subtree raising. Records with missing values are fractional while the tree grows, as in C4.5; when the finished tree is
applied, they follow the branch with most records, so that every record has one leaf.
"""

from __future__ import annotations

import numpy as np

from sfumato.errors import DataError, UsageError
from sfumato.schema import Attribute
from sfumato.table import Column, Table, labels_of
from sfumato.text import join_names
from sfumato.trees.grow.gain_ratio import GainRatioSplitter
from sfumato.trees.grow.growth import Growth, Limits, grow_from
from sfumato.trees.grow.pruning import KeepAll, Pessimistic, Pruner
from sfumato.trees.grow.sorted_rows import Coded, SortedRows
from sfumato.trees.tree import Node, Test, Tree


def c45(
    table: Table,
    *,
    min_leaf: float = 2.0,
    confidence: float = 0.25,
    prune: bool = True,
    max_depth: int | None = None,
) -> Tree:
    """Grow the tree of a table of true values; rows without a class are left out.

    Parameters
    ----------
    table
        Columns released as true (or not released at all), and a target.
    min_leaf
        At least two branches of a test hold this many rows.
    confidence
        CF of the pessimistic error bound; smaller prunes more.
    prune, max_depth
        Whether to collapse and prune, and where to stop at the latest.

    Returns
    -------
    Tree
        Tests in true units, with the class counts of every node.
    """
    table = with_known_class(table)
    pruner: Pruner = Pessimistic(confidence) if prune else KeepAll()
    coded = Coded.of(
        [c.values for c in table.columns],
        [c.attribute.kind.numeric for c in table.columns],
        [0 if c.attribute.kind.numeric else len(labels_of(c.attribute)) for c in table.columns],
    )
    source = SortedRows(coded, table.codes, len(table.labels))
    growth = grow_from(source, GainRatioSplitter(), pruner, Limits(min_leaf=min_leaf, max_depth=max_depth))
    return build_tree(growth, [c.attribute for c in table.columns], coded, table.required_target)


def with_known_class(table: Table) -> Table:
    """Return the rows that have a class; raise an error unless a tree can be grown from them."""
    if table.target is None:
        raise UsageError("a tree needs a class; name the target column")
    if noisy := [c.name for c in table.columns if c.channel is not None]:
        raise UsageError(f"{join_names(noisy)} was perturbed by a channel; this builder needs true values")
    if not (table.codes >= 0).any():
        raise DataError("no record has a class; check the target column")
    return table if (table.codes >= 0).all() else table.take(np.flatnonzero(table.codes >= 0))


def build_tree(growth: Growth, attributes: list[Attribute], coded: Coded, target: Column) -> Tree:
    """Return the tree in true units: codes become thresholds and labels."""
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
    return Tree(tuple(attributes), labels_of(target.attribute), tuple(nodes), "c4.5", target.name)
