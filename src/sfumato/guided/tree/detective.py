"""DETECTIVE: perturbation of categorical attributes by the leaves of their own trees (Islam & Brankovic 2005, section III).

A row's new value is drawn from its leaf's law q_L (see `Segments.law`) and, given the leaf, does not depend on the old
one: it changes with probability 1 − Σ f_v q_v. An intruder who can place the row in its leaf guesses the old value with
max f_v, whatever p is: p distorts, it adds no secrecy against such an intruder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.engines import Needs
from sfumato.errors import UsageError
from sfumato.guided.base import Perturbed, parameter
from sfumato.guided.tree.base import Redraw, TreeMethod, check_choice, check_probability
from sfumato.guided.tree.class_noise import draw_categories
from sfumato.guided.tree.owner_tree import Segments
from sfumato.randomness import Stream
from sfumato.table import Original, Table
from sfumato.trees import Tree

DRAWS = ("shuffle", "iid")


@dataclass(frozen=True)
class Detective(TreeMethod):
    """Deal labels out again, within the leaves of the trees that have them as class."""

    law: ClassVar[str] = "detective"
    needs: ClassVar[Needs] = Needs.COUNTS
    words: ClassVar[str] = "labels dealt out again within the leaves and siblings of a tree grown for them"
    reads: ClassVar[str] = (
        "Labels were dealt out again among records that are alike, and many are still the true ones; all other columns are "
        "true: a row is a record of somebody, blurred in part"
    )
    p: float = parameter(0.05, "chance of a sibling leaf's majority value in place of the leaf's own distribution")
    v: float = parameter(0.0, "chance of any value of the domain")
    up: int = parameter(1, "1: sibling leaves; more: cousins, all leaves below the ancestor this many levels higher")
    draws: str = parameter("shuffle", "shuffle: a leaf's values are dealt out again; iid: each is drawn on its own")
    chained: bool = parameter(False, "find each leaf from the values released so far, which keeps joint structure")
    attributes: str = parameter("", "columns to perturb, separated by commas; all categorical ones unless said")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.law, "draws", self.draws, DRAWS)
        check_probability(self.law, p=self.p, v=self.v)
        if self.up < 1:
            raise UsageError(f"{self.law}: up = {self.up} reaches no sibling; give 1 for siblings or more for cousins")

    def for_counts(self) -> Self:
        """Return the method unless it follows values already released."""
        if self.chained:
            raise UsageError(f"{self.law}: chained=true follows values already released; run it with engine=Local()")
        return super().for_counts()

    def redrawn_columns(self, mined: Table) -> tuple[str, ...]:
        """Return the categorical columns, or those named."""
        names = choose_columns(mined, self.attributes, self.law)
        if not names:
            raise UsageError(
                f"{self.law}: the table has no categorical column; use class noise, or another method with engine=Local()"
            )
        return names

    def redraw(self, segments: Segments) -> Redraw:
        """Draw from the law of each leaf, or deal its values out again and then move some."""
        nodes, size = segments.counts.shape
        if self.draws == "iid":
            laws = np.zeros((nodes, size))
            for node in segments.leaves.tolist():
                laws[node] = segments.law(node, self.p, self.v, self.up)
            return Redraw(laws=laws)
        of_leaves, sizes = sibling_majorities(segments, segments.leaves, self.up)
        kin, kin_size = np.zeros((nodes, of_leaves.shape[1]), np.int64), np.zeros(nodes, np.int64)
        kin[segments.leaves], kin_size[segments.leaves] = of_leaves, sizes
        return Redraw(shuffle=True, kin=kin, kin_size=kin_size, p=self.p, v=self.v)

    def _prepare(self, table: Original, tree: Tree) -> dict[str, Segments]:  # noqa: ARG002
        names = choose_columns(table, self.attributes, self.law)
        if not names:
            raise UsageError(f"{self.law}: the table has no categorical column; use innocent, framework or leaf-swap")
        return {name: Segments.of(table, name) for name in names}

    def _draw(self, table: Original, segments: dict[str, Segments], stream: Stream) -> Perturbed:
        values = self.new_values(table, segments, stream)
        owner = {"expected_change": {n: expected_change(s, self.p, self.v, self.up) for n, s in segments.items()}}
        return Perturbed.of(table, table.with_values(values), owner=owner, public={"perturbed_columns": list(segments)})

    def new_values(
        self,
        table: Original,
        segments: dict[str, Segments],
        stream: Stream,
        others: Mapping[str, FloatArray] | None = None,
        codes: IntArray | None = None,
    ) -> dict[str, FloatArray]:
        """Return new values of every attribute in `segments`; missing values stay missing.

        The paper perturbs each attribute from the original table and then combines the columns. Chained, the attributes
        come in turn: a row's leaf is found from the values released so far (`others` and `codes` are such values of
        other columns), the leaf's law from the original table.
        """
        released: dict[str, FloatArray] = {}
        for name, own in segments.items():
            node = own.node
            if self.chained and (released or others or codes is not None):
                seen = table.with_values({**(others or {}), **released}, codes)
                node = own.tree.apply(seen.with_target(name))
            released[name] = self._values(table, own, node, stream)
        return released

    def _values(self, table: Original, own: Segments, node: IntArray, stream: Stream) -> FloatArray:
        column = table[own.attribute]
        codes = column.codes
        known = np.flatnonzero(codes >= 0)
        reached, leaf = np.unique(node[known], return_inverse=True)
        if self.draws == "shuffle":
            shares = np.array([own.frequencies(int(n)) for n in reached])
            new = deal_shares(shares, leaf, stream)
            new = self._move(own, reached, leaf, new, stream)
        else:
            laws = np.array([own.law(int(n), self.p, self.v, self.up) for n in reached])
            new = draw_categories(laws, leaf, stream.uniform(len(leaf)))
        values = column.values.copy()
        values[known] = new
        return values

    def _move(self, own: Segments, reached: IntArray, leaf: IntArray, dealt: IntArray, stream: Stream) -> IntArray:
        """Replace values, with probability p by the majority of a random sibling, then with probability v by any value."""
        out = dealt.copy()
        kin, number = sibling_majorities(own, reached, self.up)
        moves = np.flatnonzero((stream.uniform(len(out)) < self.p) & (number[leaf] > 0))
        if len(moves):
            which = np.floor(stream.uniform(len(moves)) * number[leaf[moves]]).astype(np.int64)
            out[moves] = kin[leaf[moves], which]
        if self.v > 0:
            anywhere = np.flatnonzero(stream.uniform(len(out)) < self.v)
            out[anywhere] = stream.integers(len(anywhere), own.counts.shape[1])
        return out


def sibling_majorities(own: Segments, nodes: IntArray, up: int) -> tuple[IntArray, IntArray]:
    """Return the majorities of each node's siblings, shape (nodes, most siblings), filled up with 0, and how many there are."""
    kin = [own.majorities[own.siblings(n, up)] for n in nodes.tolist()]
    number = np.array([len(majorities) for majorities in kin], np.int64)
    table = np.zeros((len(kin), max(int(number.max(initial=0)), 1)), np.int64)
    for row, majorities in zip(table, kin, strict=True):
        row[: len(majorities)] = majorities
    return table, number


def choose_columns(table: Table, wish: str, law: str) -> tuple[str, ...]:
    """Return the categorical columns, or those named."""
    if not wish:
        return tuple(c.name for c in table.columns if not c.attribute.kind.numeric)
    names = tuple(name.strip() for name in wish.split(",") if name.strip())
    for name in names:
        if table[name].attribute.kind.numeric:
            raise UsageError(f"{name}: {law} perturbs categories, and this is a {table[name].attribute.kind} column")
    return names


def deal_shares(shares: FloatArray, group: IntArray, stream: Stream) -> IntArray:
    """Deal values out to the rows of each group in the group's proportions, to whom by chance.

    Each row's value follows the shares, and each value's number of rows is one of the two whole numbers around its
    share of the group (systematic sampling); where the shares are the group's own, that is an exact permutation.
    """
    sizes = np.bincount(group, minlength=len(shares))
    order = np.lexsort((stream.words(len(group)), group))
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    start = stream.uniform(len(shares))
    whole = np.cumsum(shares * sizes[:, None], axis=1)
    # Whole numbers up to rounding are whole: else a value that belongs once could come twice.
    near = np.round(whole)
    whole = np.where(np.abs(whole - near) < 1e-6, near, whole)
    at = group[order]
    out = np.empty(len(group), np.int64)
    values = np.zeros(len(group), np.int64)
    position = place + start[at]
    for value in range(shares.shape[1] - 1):
        values += position >= whole[at, value]
    out[order] = values
    return out


def expected_change(own: Segments, p: float, v: float = 0.0, up: int = 1) -> float:
    """Return the mean over the rows of 1 − Σ f_v q_v: the share of values that DETECTIVE changes on average."""
    leaves = own.leaves.tolist()
    sizes = own.counts[leaves].sum(axis=1)
    kept = np.array([own.frequencies(leaf) @ own.law(leaf, p, v, up) for leaf in leaves])
    return float(1 - (sizes @ kept) / sizes.sum()) if len(leaves) else 0.0
