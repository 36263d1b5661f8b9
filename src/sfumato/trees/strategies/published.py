"""The 2000 paper's ways to grow a tree from a release: original, randomized, global, by class, local.

All but `local` settle every row's codes once, at the root, and differ only in how.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sfumato.counts import BoolArray, IntArray
from sfumato.engines import Needs
from sfumato.hashing import row_marks
from sfumato.reconstruction import paper_size
from sfumato.table import Original, Table, correlated_columns, refuse_correlated_noise, require_original
from sfumato.trees.grow import MDL, BinarySplitter, CodedRows, Growth, Limits, Pruner, Splits, grow_from
from sfumato.trees.strategies.association import Association
from sfumato.trees.strategies.base import Draft, check_minable, strategy
from sfumato.trees.strategies.judge import Drafter, Judge, fit_draft
from sfumato.trees.strategies.leaf_counts import with_leaves
from sfumato.trees.tree import Tree


@strategy("original", Needs.COUNTS, true_values=True)
def original(table: Original, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """Grow the tree of true values."""
    true = require_original(table, "the strategy original")
    return draft_published(true, "original", limits, as_counted=True).cut(pruner or MDL())


@strategy("randomized", Needs.COUNTS)
def as_released(table: Table, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """Grow the tree of the released values as if they were true: no correction, for comparison."""
    return _fit(table, "randomized", limits, pruner)


@strategy("global", Needs.COUNTS)
def global_(table: Table, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """Reconstruct every attribute once, from all rows together (section 4.2, Global)."""
    return _fit(table, "global", limits, pruner)


@strategy("byclass", Needs.COUNTS)
def byclass(
    table: Table, limits: Limits | None = None, pruner: Pruner | None = None, *, as_counted: bool = False
) -> Tree:
    """Reconstruct every attribute once for each class (section 4.2, ByClass), and then the leaves (`leaves`).

    With `as_counted` the leaves keep the counts of the rows assigned to them, as in the paper.
    """
    return _fit(table, "byclass", limits, pruner, as_counted)


@strategy("local", Needs.COUNTS)
def local(
    table: Table, limits: Limits | None = None, pruner: Pruner | None = None, *, as_counted: bool = False
) -> Tree:
    """Reconstruct every attribute for each class at every node that is large enough (section 4.2, Local), then the leaves.

    A node's rows were chosen by one column's released values; where another column's noise goes with that of the first,
    its law among them is no longer the stated one. With `as_counted` the leaves keep the counts of the rows assigned to
    them, as in the paper.
    """
    return _fit(table, "local", limits, pruner, as_counted)


def _fit(table: Table, name: str, limits: Limits | None, pruner: Pruner | None, as_counted: bool = False) -> Tree:
    return fit_draft(table, published_drafts(name, limits, as_counted), pruner).tree


def published_drafts(name: str, limits: Limits | None = None, as_counted: bool = False) -> tuple[Drafter, ...]:
    """Return the ways to grow a published strategy's tree, the simplest first: from a flat start and from a common one."""
    starts = (False, True) if name in WITH_LEAVES else (False,)
    return tuple(
        partial(draft_published, name=name, limits=limits, as_counted=as_counted, common_start=start)
        for start in starts
    )


def choose_growth(table: Table, name: str, limits: Limits | None = None) -> tuple[bool, Pruner]:
    """Return from which start a published strategy is to grow and how to cut it back, by these rows of a table."""
    drafts = published_drafts(name, limits)
    verdict = Judge(table).judge(drafts)
    return verdict.draft is not drafts[0], verdict.pruner


def draft_published(
    table: Table, name: str, limits: Limits | None = None, *, as_counted: bool = False, common_start: bool = False
) -> Draft:
    """Grow the tree of a published strategy; leaves are reconstructed by class and local, unless they stay `as_counted`."""
    if name == "local":
        refuse_correlated_noise("the strategy local", table.columns)
    classes, associations = prepare(table, name == "randomized", common_start)
    k = len(table.labels)
    group, groups = (np.zeros_like(classes), 1) if name == "global" else (classes, k)
    codes = [a.codes(group, groups) for a in associations]
    grids = [a.grid for a in associations]
    unordered = frozenset(i for i, a in enumerate(associations) if not a.ordered)
    # How rows stray is a product over attributes only where their noise is independent.
    with_own_leaves = as_counted or name not in WITH_LEAVES or correlated_columns(table.columns)

    def grow(pruner: Pruner) -> Growth:
        source = (LocalRows if name == "local" else CodedRows).of(codes, [g.size for g in grids], classes, k)
        if isinstance(source, LocalRows):
            source.associations = associations
        splitter = BinarySplitter(categorical=unordered)
        return grow_from(source, splitter, pruner, limits or Limits.for_rows(len(classes)))

    def finish(growth: Growth) -> Tree:
        if not with_own_leaves:
            growth = with_leaves(growth, associations, codes, classes)
        return Tree.of(growth, [c.attribute for c in table.columns], grids, table.labels, name)

    return Draft.of(grow, finish, **({"start": "common" if common_start else "flat"} if name in WITH_LEAVES else {}))


WITH_LEAVES = ("byclass", "local")
"""Strategies that count rows by class, so that their leaves can be reconstructed."""


def prepare(table: Table, as_true: bool = False, common_start: bool = False) -> tuple[IntArray, list[Association]]:
    """Return the classes and columns of the rows that have a class; with `as_true` released values stay unadjusted."""
    rows = check_minable(table)
    if len(rows) < table.rows:
        table = table.take(rows)
    m, marks = paper_size(len(rows)), row_marks(rows)
    associations = [Association.of(c, m, marks, i, common_start) for i, c in enumerate(table.columns)]
    return table.codes, [a.as_true() for a in associations] if as_true else associations


MIN_ROWS = 1000
"""A node with fewer rows keeps the association it inherits: "to avoid over-fitting, reconstruction is stopped"."""


class LocalRows(CodedRows):
    """Coded rows that reconstruct again, by class, at every open node of at least `MIN_ROWS` rows.

    An attribute already tested on the way to a node keeps its association: its rows were chosen by it.
    """

    associations: Sequence[Association] = ()
    _tested: BoolArray | None = None

    def descend(self, splits: Splits, is_open: BoolArray) -> None:
        """Route, and reconstruct; histograms of the parents are void, as they were counted under another association."""
        self._parents = None
        self._tested = find_tested(self._tested, splits, is_open, len(self.sizes))
        super().descend(splits, is_open)
        large = np.bincount(self._slot, minlength=self._open) >= MIN_ROWS
        place = np.full(self._cells.shape[1], self._open * self.n_classes)
        place[self._rows] = self._slot * self.n_classes + self._classes[self._rows]
        for a, groups in fresh_groups(self.associations, large, self._tested, self.n_classes).items():
            codes = self._cells[a] - 1
            group = np.append(groups, -1)[place]
            self._cells[a] = self.associations[a].codes(group, int(groups.max()) + 1, codes) + 1


def find_tested(tested: BoolArray | None, splits: Splits, is_open: BoolArray, attributes: int) -> BoolArray:
    """Return which attributes were tested on the way to each open child, given the same of the parents."""
    out = np.zeros((len(splits.made), attributes), bool) if tested is None else tested.copy()
    out[splits.made, splits.attribute[splits.made]] = True
    return np.asarray(out[splits.family][is_open])


def fresh_groups(
    associations: Sequence[Association], large: BoolArray, tested: BoolArray, n_classes: int
) -> dict[int, IntArray]:
    """Return, for each attribute that is reconstructed again, the group of every (open node, class); −1 for none."""
    out = {}
    for a, association in enumerate(associations):
        fresh = large & ~tested[:, a]
        if not association.exact and fresh.any():
            number = np.cumsum(fresh) - 1
            out[a] = np.where(fresh[:, None], number[:, None] * n_classes + np.arange(n_classes), -1)
    return out
