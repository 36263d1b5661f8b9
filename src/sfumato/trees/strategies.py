"""The 2000 paper's ways to grow a tree from a release: original, randomized, global, by class, local.

All but `local` settle every record's codes once, at the root, and differ only in how.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.counts import IntArray
from sfumato.errors import DataError, UsageError, listed
from sfumato.observed import ObservedTable, drawn_together, refuse_correlated_noise
from sfumato.reconstruction.problem import paper_size
from sfumato.trees.assign import Association, row_marks
from sfumato.trees.grow import Limits, grow_from
from sfumato.trees.leaves import with_leaves
from sfumato.trees.local import LocalRecords
from sfumato.trees.prune import MDL, Pruner
from sfumato.trees.records import CodedRecords, checked
from sfumato.trees.splits import BinarySplitter
from sfumato.trees.tree import Tree

Strategy = Callable[..., Tree]
"""(table, limits, pruner) → tree; limits and pruner may be left out."""


def original(table: ObservedTable, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """The tree of a table whose values are all true."""
    if noisy := [c.name for c in table.columns if c.channel is not None]:
        raise UsageError(f"{listed(noisy)} was perturbed; use byclass or local, or give the true table")
    return _settled(table, "original", limits, pruner)


def randomized(table: ObservedTable, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """The tree of the released values as if they were true: no correction, for comparison."""
    return _settled(table, "randomized", limits, pruner)


def global_(table: ObservedTable, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """Reconstruct every attribute once, from all records together (section 4.2, Global)."""
    return _settled(table, "global", limits, pruner)


def byclass(
    table: ObservedTable, limits: Limits | None = None, pruner: Pruner | None = None, *, as_counted: bool = False
) -> Tree:
    """Reconstruct every attribute once for each class (section 4.2, ByClass), and then the leaves (`leaves`).

    With `as_counted` the leaves keep the counts of the records assigned to them, as in the paper.
    """
    return _settled(table, "byclass", limits, pruner, as_counted)


def local(
    table: ObservedTable, limits: Limits | None = None, pruner: Pruner | None = None, *, as_counted: bool = False
) -> Tree:
    """Reconstruct every attribute for each class at every node that is large enough (section 4.2, Local), then the leaves.

    A node's records were chosen by one column's released values; where another column's noise goes with that of the first,
    its law among them is no longer the stated one. With `as_counted` the leaves keep the counts of the records assigned to
    them, as in the paper.
    """
    refuse_correlated_noise("the strategy local", table.columns)
    return _settled(table, "local", limits, pruner, as_counted)


STRATEGIES: dict[str, Strategy] = {
    "original": original,
    "randomized": randomized,
    "global": global_,
    "byclass": byclass,
    "local": local,
}


def _settled(
    table: ObservedTable, name: str, limits: Limits | None, pruner: Pruner | None, as_counted: bool = True
) -> Tree:
    classes, associations = prepared(table, name == "randomized")
    k = len(table.labels)
    group, groups = (np.zeros_like(classes), 1) if name == "global" else (classes, k)
    codes = [a.codes(group, groups) for a in associations]
    grids = [a.grid for a in associations]
    unordered = frozenset(i for i, a in enumerate(associations) if not a.ordered)
    records = LocalRecords if name == "local" else CodedRecords
    source = records(*checked(codes, [g.size for g in grids], classes, k, None))
    if isinstance(source, LocalRecords):
        source.associations = associations
    growth = grow_from(
        source, BinarySplitter(categorical=unordered), pruner or MDL(), limits or Limits.for_rows(len(classes))
    )
    # How records stray is a product over attributes only where their noise is independent.
    if not as_counted and not drawn_together(table.columns):
        growth = with_leaves(growth, associations, codes, classes)
    return Tree.of(growth, [c.attribute for c in table.columns], grids, table.labels, name)


def prepared(table: ObservedTable, as_true: bool = False) -> tuple[IntArray, list[Association]]:
    """The classes and columns of the records that have a class; with `as_true` every column is taken at its word."""
    if table.classes is None or not table.labels:
        raise UsageError("a tree needs a class; declare the target column of the release")
    if not table.columns:
        raise UsageError("a tree needs at least one attribute beside the class; the release has none")
    rows = np.flatnonzero(table.classes >= 0)
    if not len(rows):
        raise DataError("no record has a class; check the target column of the release")
    if len(rows) < table.rows:
        table = table.take(rows)
    m = paper_size(len(rows))
    marks = row_marks(rows)
    associations = [Association.of(c, m, marks, i) for i, c in enumerate(table.columns)]
    if as_true:
        associations = [a.as_true() for a in associations]
    assert table.classes is not None
    return table.classes, associations
