"""Leaf swap: every attribute permuted on its own among the rows of the same leaf and class.

All rows keep their leaf, since the values they receive satisfied its conditions in another row of it; and every
table of an attribute by class, in every node of the tree, is exactly what it was. So every test of the tree is chosen
again, and only growth below heterogeneous leaves can differ. There chance may let a subtree survive its pruning that did
not before; so the release's own tree is grown, and the leaves whose rule it lost are dealt again (`redraws`). The price
is what a recipient learns from knowing so: of each leaf at most log₂(redraws + 1) bits about which of its permutations
was drawn.

What it does not do: the class stays as predictable as the leaf is pure; values are genuine, so an extreme value still
shows that somebody has it; relations between attributes inside a leaf are gone, and with them what other models use; and
a leaf and class with one row has no row to swap with (`small` says what happens then).

Unless small=keep, no row is released whole because it has no partner: rare classes are left out (`exposed_rows`),
a row that finds no partner of its class for any of its values exchanges them with other classes of its leaf, and one that is
alone in its leaf, too, is left out. That chance lets a row keep all its values is not prevented: were it, the rows that
did change could be put together again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.engines import Needs
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.guided.base import Perturbed, parameter
from sfumato.guided.exposed_rows import STATEMENT
from sfumato.guided.tree.base import Exchange, TreeMethod, check_choice
from sfumato.guided.tree.class_noise import LABELS_PERMUTED, permute_labels
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.randomness import Stream
from sfumato.schema import Attribute, Role
from sfumato.table import Column, Original, Table
from sfumato.trees import Tree, c45, row_similarities

SMALL = ("climb", "blind", "suppress", "keep")

LIMITS = (
    "the class of a record stays as predictable as its leaf is pure",
    "values are genuine: an extreme value still shows that somebody has it",
    "relations between attributes inside a leaf are destroyed, and models that need them suffer",
)
"""What a recipient is told of every leaf swap, beside what happens in small cells."""

IN_SMALL_CELLS = {
    "climb": "a record with fewer than {least} in its leaf and class swaps with its class elsewhere in the tree, or else with its "
    "leaf; a value for which no partner is found there stays, so single values of such records may be true",
    "blind": "a record with fewer than {least} in its leaf and class swaps with any class of its leaf",
    "suppress": "records with fewer than {least} in their leaf and class are left out",
    "keep": "records with fewer than {least} in their leaf and class are released as they are: such a row is a fact about "
    "somebody, and a rare class shows which row it is",
}


@dataclass(frozen=True)
class LeafSwap(TreeMethod):
    """Permute every attribute inside each leaf and class.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = sf.release("iris", None, f"{folder}/release", method="leaf-swap")
    >>> made.manifest.method["law"]
    'leaf-swap'
    """

    law: ClassVar[str] = "leaf-swap"
    needs: ClassVar[Needs] = Needs.COUNTS
    words: ClassVar[str] = "values swapped among records of the same leaf and class of the owner's tree"
    reads: ClassVar[str] = (
        "Every value in a modified column is a true one, but as a rule another person's: a row is put together from several "
        "people of one leaf and class. By chance a cell, or a whole row, is its own person's"
    )
    uses: ClassVar[str] = (
        "A decision tree grown from it comes near the owner's, and each column, alone or by class, is distributed as in the "
        "original except in small cells. Relations between columns inside a leaf are gone, and cannot be recovered"
    )
    small: str = parameter(
        "climb", "cells below `least`: climb (swap within the class, up the tree), blind (any class), suppress, or keep"
    )
    least: int = parameter(2, "a leaf and class with fewer records is a small cell")
    redraws: int = parameter(
        3, "times that leaves whose rule does not come back in the release's own tree are dealt again; 0 for never"
    )
    labels: bool = parameter(False, "permute the labels of each leaf too, and deal values out by the released label")

    @classmethod
    def in_words(cls, attribute: Attribute, stated: Mapping[str, Any]) -> str:  # noqa: ARG003 - the same however small cells fare
        """Say what was done to the class or to another column."""
        return LABELS_PERMUTED if attribute.role is Role.TARGET else cls.words

    @classmethod
    def row_in_words(cls, stated: Mapping[str, Any], numbers: int) -> str:  # noqa: ARG003 - any column may be swapped
        """Say what a row may be taken for, and whether rows of small cells are whole."""
        kept = "; where a leaf and class has too few records, rows are released as they are (see below)"
        return f"{cls.reads}{kept if stated.get('small') == 'keep' else ''}."

    @classmethod
    def moves_gaps(cls, attribute: Attribute, stated: Mapping[str, Any]) -> bool:  # noqa: ARG003 - the same however small cells fare
        """Return whether the column is not the class."""
        return attribute.role is not Role.TARGET

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.law, "small", self.small, SMALL)
        if self.redraws < 0:
            raise UsageError(f"{self.law}: redraws = {self.redraws}; give 0 for one deal, or the times to deal again")
        if self.least < 2:
            raise UsageError(
                f"{self.law}: least = {self.least}; a cell of one record has no other to swap with, give 2 or more"
            )

    @property
    def limits(self) -> list[str]:
        """What the swap leaves open, what happens to small cells, and that rare classes are left out."""
        small = IN_SMALL_CELLS[self.small].format(least=self.least)
        return [*LIMITS, small] if self.small == "keep" else [*LIMITS, small, STATEMENT]

    def for_counts(self) -> Self:
        """Return the method without redraws: looking at the release's own tree takes the whole release."""
        if self.small not in ("keep", "suppress"):
            raise UsageError(
                f"{self.law}: small={self.small} exchanges values with rows of other leaves or classes, and needs the whole "
                "table in the memory of one machine: run it with engine=Local(), or choose small=suppress (or keep)"
            )
        if self.labels:
            raise UsageError(f"{self.law}: labels=true deals values out by released labels; run it with engine=Local()")
        return replace(super().for_counts(), redraws=0)

    @property
    def leaves_rare_out(self) -> bool:
        """Unless small cells are to be kept as they are."""
        return self.small != "keep"

    def rows_kept(self, table: Original, *, by_counts: bool) -> BoolArray | None:
        """Return the rows that are in no rare class, and in no small cell that is left out whatever is drawn."""
        kept = super().rows_kept(table, by_counts=by_counts)
        drawn = by_counts or self.small == "climb" or (self.small == "suppress" and self.labels)
        if kept is None or drawn or not kept.any():
            return kept
        rest = table.take(kept)
        leaf = np.unique(c45(rest).apply(rest), return_inverse=True)[1]
        blind = self.small == "blind"
        cell = leaf if blind else cells_of(leaf, rest.codes, len(rest.labels))
        kept[kept] = np.bincount(cell)[cell] >= (2 if blind else self.least)
        return kept

    @property
    def exchange(self) -> Exchange:
        """Return how values are exchanged within a leaf and class."""
        return Exchange(self.least, self.small, self.leaves_rare_out)

    def _draw(self, table: Original, leaves: Leaves, stream: Stream) -> Perturbed:
        deal = deal_within_cells(table, leaves.number, stream, labels=self.labels)
        best = self._settle(table, leaves, deal, stream)
        if not self.redraws:
            return best
        alike = row_similarities(leaves.tree, c45(best.table), table)
        for _ in range(self.redraws):
            lost = np.unique(leaves.number[alike < 1])
            if not len(lost):
                break
            tried = deal_again_below(
                deal, table, np.isin(leaves.number, lost), leaves.number, stream, labels=self.labels
            )
            done = self._settle(table, leaves, tried, stream)
            now_alike = row_similarities(leaves.tree, c45(done.table), table)
            if now_alike.mean() > alike.mean():
                deal, best, alike = tried, done, now_alike
        return best

    def _settle(self, table: Original, leaves: Leaves, deal: Table, stream: Stream) -> Perturbed:
        """Treat the small cells of a deal and count its changes."""
        leaf, given = leaves.number, deal.codes
        to = cells_of(leaf, given, len(table.labels))
        small = np.bincount(to)[to] < self.least
        values = {c.name: c.values for c in deal.columns}
        lone = np.flatnonzero(small)
        unmoved = np.full(len(lone), len(values) if self.small == "keep" else 0)
        blindly = small if self.small == "blind" else np.zeros(table.rows, bool)
        if self.small == "climb":
            values, unmoved = exchange_values(table.with_values({}, given), values, leaves, lone, stream)
            blindly[lone[unmoved == len(values)]] = True
            unmoved[blindly[lone]] = 0
        if blindly.any():
            values = {name: swap_blindly(column, leaf, blindly, stream) for name, column in values.items()}
        out = small if self.small == "suppress" else blindly & (np.bincount(leaf)[leaf] < 2)
        released = table.with_values(values, given)
        if out.all():
            raise UsageError("leaf-swap: every leaf and class is a small cell; lower `least`, or choose small=blind")
        if out.any():
            released, table = released.take(~out), table.take(~out)
        counted = {"records": len(lone), "unmoved": int(unmoved.sum())}
        warnings = [unmoved_note(counted["unmoved"], len(lone))] if counted["unmoved"] else []
        if self.small == "climb" and blindly.any():
            warnings.append(crossed_note(int(blindly.sum())))
        if out.any():
            warnings.append(left_out_note(int(out.sum())))
        public = {"limits": self.limits}
        owner = {"small_cells": counted, "small_records": lone, "leaves": leaves.size}
        done = Perturbed.of(table, released, public=public, owner=owner, warnings=warnings)
        return replace(done, left_out=np.flatnonzero(out))


def unmoved_note(values: int, records: int) -> Note:
    """Return the note to the owner about values that stay where they are."""
    return Note(
        "SF224",
        f"{values} values of {records} records in small cells found no record to swap with and are "
        "released as they are; small=suppress leaves such records out",
    )


def crossed_note(records: int) -> Note:
    """Return the note to the owner about rows that found no partner in their class."""
    return Note(
        "SF225",
        f"{records} records in small cells found no record of their class to swap any value with, and exchanged their "
        "values with other classes of their leaf; small=suppress leaves such records out",
    )


def left_out_note(records: int) -> Note:
    """Return the note to the owner about rows in small cells that are not in the release."""
    return Note(
        "SF226", f"{records} records in small cells have no record to swap with and are left out of the release"
    )


def deal_within_cells(table: Table, leaf: IntArray, stream: Stream, *, labels: bool) -> Table:
    """Permute every attribute inside each leaf and class; with `labels`, the classes of each leaf before that."""
    given = permute_known_labels(table.codes, leaf, stream) if labels else table.codes
    cell, to = (cells_of(leaf, classes, len(table.labels)) for classes in (table.codes, given))
    return table.with_values({c.name: deal_values(c.values, cell, to, stream) for c in table.columns}, given)


def deal_again_below(
    deal: Table, table: Table, among: BoolArray, leaf: IntArray, stream: Stream, *, labels: bool
) -> Table:
    """Give an earlier deal fresh permutations in the leaves of some rows, `among`."""
    fresh = deal_within_cells(table.take(among), leaf[among], stream, labels=labels)
    values = {c.name: c.values.copy() for c in deal.columns}
    for column in fresh.columns:
        values[column.name][among] = column.values
    classes = deal.codes.copy()
    classes[among] = fresh.codes
    return deal.with_values(values, classes)


def cells_of(leaf: IntArray, classes: IntArray, n_classes: int) -> IntArray:
    """Return leaf and class as one number; rows without a class are a class of their own."""
    return leaf * (n_classes + 1) + classes + 1


def permute_known_labels(classes: IntArray, leaf: IntArray, stream: Stream) -> IntArray:
    """Permute the labels of each leaf; rows without one stay without."""
    known = np.flatnonzero(classes >= 0)
    out = classes.copy()
    out[known] = permute_labels(classes[known], leaf[known], stream)
    return out


def deal_values(values: FloatArray, cell: IntArray, to: IntArray, stream: Stream) -> FloatArray:
    """Return the values of each cell, in random order, for the rows that the cell has now (`to`; the same numbers in each).

    A uniformly random order, with values that may stay: were they forced to move, two rows of a cell would exchange
    all their values, which is no change at all.
    """
    out = np.empty_like(values)
    out[np.argsort(to, kind="stable")] = values[np.lexsort((stream.words(len(cell)), cell))]
    return out


def swap_blindly(values: FloatArray, leaf: IntArray, small: BoolArray, stream: Stream) -> FloatArray:
    """Let each row of a small cell exchange its value with a random row of its leaf, whatever the class.

    The leaf's own table of the attribute stays exact; that by class moves by at most one row per exchange.
    """
    out = values.copy()
    order = np.argsort(leaf, kind="stable")
    sizes = np.bincount(leaf)
    first = np.cumsum(sizes) - sizes
    rows = np.flatnonzero(small)
    places = np.floor(stream.uniform(len(rows)) * sizes[leaf[rows]]).astype(np.int64)
    for row, partner in zip(rows.tolist(), order[first[leaf[rows]] + places].tolist(), strict=True):
        out[row], out[partner] = out[partner], out[row]
    return out


@dataclass(frozen=True, eq=False)
class Family:
    """For every node the run of leaves below it, leaves numbered from first to last in the tree."""

    begin: IntArray
    end: IntArray
    parent: IntArray

    @classmethod
    def of(cls, tree: Tree) -> Family:
        """Return leaves in the order of `Tree.paths`; a node's leaves then stand together."""
        size = len(tree.nodes)
        begin, end, parent = np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, -1)
        for place, (leaf, _) in enumerate(tree.paths()):
            begin[leaf], end[leaf] = place, place + 1
        for number in range(size - 1, -1, -1):  # children come after their parents
            if children := list(tree.nodes[number].children):
                begin[number], end[number] = begin[children].min(), end[children].max()
                parent[children] = number
        return cls(begin, end, parent)


def exchange_values(
    table: Table, values: dict[str, FloatArray], leaves: Leaves, lone: IntArray, stream: Stream
) -> tuple[dict[str, FloatArray], IntArray]:
    """Return the columns after every lone row has exchanged its values, and of each in how many columns it found no partner.

    For each attribute on its own, a row climbs from its leaf until a node holds another row of its class such that either one's
    value satisfies the conditions of the other's leaf. The two exchange that value. Both keep their leaf, and the tables of the
    attribute by class stay exact in that node and everywhere above it.
    """
    family = Family.of(leaves.tree)
    place = family.begin[leaves.nodes][leaves.number]
    # Records of one class in the order of their leaves: those below a node are one run.
    by_place = np.argsort(place, kind="stable")
    order = {int(c): by_place[table.codes[by_place] == c] for c in np.unique(table.codes[lone])}
    unmoved = np.zeros(len(lone), np.int64)
    out = {}
    for column in table.columns:
        new = values[column.name].copy()
        known, codes = np.unique(new, return_inverse=True)
        allowed = _check_conditions(column, leaves, known)
        draws = stream.uniform(len(lone))
        for i, (row, u) in enumerate(zip(lone.tolist(), draws.tolist(), strict=True)):
            partner = _partner(row, u, leaves, family, place, order[int(table.codes[row])], allowed, codes)
            if partner < 0:
                unmoved[i] += 1
                continue
            new[[row, partner]] = new[[partner, row]]
            codes[[row, partner]] = codes[[partner, row]]
        out[column.name] = new
    return out, unmoved


def _check_conditions(column: Column, leaves: Leaves, known: FloatArray) -> BoolArray:
    """Return which of the values satisfy each leaf's conditions."""
    out = np.ones((leaves.size, len(known)), bool)
    for leaf in range(leaves.size):
        condition = leaves.condition(leaf, column.name)
        if condition is not None:
            out[leaf] = condition.holds(column.attribute, known)
    return out


def _partner(
    row: int,
    u: float,
    leaves: Leaves,
    family: Family,
    place: IntArray,
    same_class: IntArray,
    allowed: BoolArray,
    codes: IntArray,
) -> int:
    """Return a random row among those of the nearest ancestor that can exchange with this one, −1 if there is none."""
    own = int(leaves.number[row])
    node = int(family.parent[leaves.nodes[own]])
    places = place[same_class]
    while node >= 0:
        run = same_class[np.searchsorted(places, family.begin[node]) : np.searchsorted(places, family.end[node])]
        run = run[run != row]
        fits = run[allowed[own, codes[run]] & allowed[leaves.number[run], codes[row]]]
        if len(fits):
            return int(fits[int(u * len(fits))])
        node = int(family.parent[node])
    return -1
