"""The 2000 paper's ways to grow a tree from a release: original, randomized, global, by class, local.

All but `local` settle every record's codes once, at the root, and differ only in how.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import IntArray
from sfumato.engines import Needs
from sfumato.errors import DataError, UsageError
from sfumato.hashing import row_marks
from sfumato.reconstruction import paper_size
from sfumato.table import Original, Table, drawn_together, refuse_correlated_noise, require_original
from sfumato.trees.grow import (
    MDL,
    BinarySplitter,
    CodedRows,
    Limits,
    Pruner,
    Splits,
    check_codes,
    grow_from,
)
from sfumato.trees.strategies.association import Association
from sfumato.trees.strategies.base import strategy
from sfumato.trees.strategies.leaf_counts import with_leaves
from sfumato.trees.tree import Tree


@strategy("original", Needs.COUNTS, true_values=True)
def original(table: Original, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """Grow the tree of true values."""
    return _grow(require_original(table, "the strategy original"), "original", limits, pruner)


@strategy("randomized", Needs.COUNTS)
def randomized(table: Table, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """The tree of the released values as if they were true: no correction, for comparison."""
    return _grow(table, "randomized", limits, pruner)


@strategy("global", Needs.COUNTS)
def global_(table: Table, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """Reconstruct every attribute once, from all records together (section 4.2, Global)."""
    return _grow(table, "global", limits, pruner)


@strategy("byclass", Needs.COUNTS)
def byclass(
    table: Table, limits: Limits | None = None, pruner: Pruner | None = None, *, as_counted: bool = False
) -> Tree:
    """Reconstruct every attribute once for each class (section 4.2, ByClass), and then the leaves (`leaves`).

    With `as_counted` the leaves keep the counts of the records assigned to them, as in the paper.
    """
    return _grow(table, "byclass", limits, pruner, as_counted)


@strategy("local", Needs.COUNTS)
def local(
    table: Table, limits: Limits | None = None, pruner: Pruner | None = None, *, as_counted: bool = False
) -> Tree:
    """Reconstruct every attribute for each class at every node that is large enough (section 4.2, Local), then the leaves.

    A node's records were chosen by one column's released values; where another column's noise goes with that of the first,
    its law among them is no longer the stated one. With `as_counted` the leaves keep the counts of the records assigned to
    them, as in the paper.
    """
    refuse_correlated_noise("the strategy local", table.columns)
    return _grow(table, "local", limits, pruner, as_counted)


def _grow(table: Table, name: str, limits: Limits | None, pruner: Pruner | None, as_counted: bool = True) -> Tree:
    classes, associations = prepare(table, name == "randomized")
    k = len(table.labels)
    group, groups = (np.zeros_like(classes), 1) if name == "global" else (classes, k)
    codes = [a.codes(group, groups) for a in associations]
    grids = [a.grid for a in associations]
    unordered = frozenset(i for i, a in enumerate(associations) if not a.ordered)
    records = LocalRecords if name == "local" else CodedRows
    source = records(*check_codes(codes, [g.size for g in grids], classes, k, None))
    if isinstance(source, LocalRecords):
        source.associations = associations
    growth = grow_from(
        source, BinarySplitter(categorical=unordered), pruner or MDL(), limits or Limits.for_rows(len(classes))
    )
    # How records stray is a product over attributes only where their noise is independent.
    if not as_counted and not drawn_together(table.columns):
        growth = with_leaves(growth, associations, codes, classes)
    return Tree.of(growth, [c.attribute for c in table.columns], grids, table.labels, name)


def prepare(table: Table, as_true: bool = False) -> tuple[IntArray, list[Association]]:
    """The classes and columns of the records that have a class; with `as_true` every column is taken at its word."""
    if table.target is None:
        raise UsageError("a tree needs a class; declare the target column of the release")
    if not table.columns:
        raise UsageError("a tree needs at least one attribute beside the class; the release has none")
    rows = np.flatnonzero(table.codes >= 0)
    if not len(rows):
        raise DataError("no record has a class; check the target column of the release")
    if len(rows) < table.rows:
        table = table.take(rows)
    m = paper_size(len(rows))
    marks = row_marks(rows)
    associations = [Association.of(c, m, marks, i) for i, c in enumerate(table.columns)]
    if as_true:
        associations = [a.as_true() for a in associations]
    return table.codes, associations


MIN_ROWS = 1000
"""A node with fewer records keeps the association it inherits: "to avoid over-fitting, reconstruction is stopped"."""


class LocalRecords(CodedRows):
    """Coded records that reconstruct again, by class, at every open node of at least `FEWEST_RECORDS` records.

    An attribute already tested on the way to a node keeps its association: its records were chosen by it.
    """

    associations: Sequence[Association] = ()
    _tested: NDArray[np.bool_] | None = None

    def descend(self, splits: Splits, is_open: NDArray[np.bool_]) -> None:
        """Route, and reconstruct; histograms of the parents are void, as they were counted under another association."""
        self._parents = None
        made = splits.attribute >= 0
        family = np.repeat(np.flatnonzero(made), splits.children[made])
        tested = np.zeros((len(made), len(self.sizes)), bool) if self._tested is None else self._tested.copy()
        tested[made, splits.attribute[made]] = True
        self._tested = tested[family][is_open]
        super().descend(splits, is_open)
        large = np.bincount(self._slot, minlength=self._open) >= MIN_ROWS
        if not large.any():
            return
        place = np.full(self._cells.shape[1], self._open * self.n_classes)
        place[self._rows] = self._slot * self.n_classes + self._classes[self._rows]
        for a, association in enumerate(self.associations):
            fresh = large & ~self._tested[:, a]
            if association.exact or not fresh.any():
                continue
            number = np.cumsum(fresh) - 1
            table = np.where(fresh[:, None], number[:, None] * self.n_classes + np.arange(self.n_classes), -1)
            group = np.append(table, -1)[place]
            codes = self._cells[a] - 1
            self._cells[a] = association.codes(group, int(fresh.sum()) * self.n_classes, codes) + 1
