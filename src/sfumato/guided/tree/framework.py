"""The whole framework: every attribute perturbed, each by the technique that suits it (2004 framework; 2005, section III).

Numbers get noise: over their domain where the leaf does not test them (LINNAPT), inside the leaf's own interval where it
does (LINFAPT), so that noise alone moves no row to another leaf. Labels are permuted inside leaves. Categories are
drawn by DETECTIVE. What nevertheless stays in clear is named in a warning, because it re-identifies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.guided.base import Perturbed, parameter
from sfumato.guided.exposed_rows import STATEMENT
from sfumato.guided.tree.base import TreeMethod, check_choice
from sfumato.guided.tree.class_noise import LABELS_PERMUTED, expected_changes, random_variance
from sfumato.guided.tree.detective import Detective, choose_columns, expected_change
from sfumato.guided.tree.leaf_swap import cells_of, deal_values, exchange_values, permute_known_labels
from sfumato.guided.tree.owner_tree import Leaves, Segments
from sfumato.guided.tree.value_noise import SD, ValueNoise, add_noise, cells_to_perturb
from sfumato.randomness import Stream
from sfumato.schema import Attribute, Role
from sfumato.table import Original
from sfumato.trees import Tree

NUMBERS = ("noise", "swap")


@dataclass(frozen=True)
class Framework(TreeMethod):
    """Join LINNAPT, LINFAPT, class noise and DETECTIVE in one release."""

    law: ClassVar[str] = "framework"
    words: ClassVar[str] = "noise that keeps the record in its leaf of the owner's tree"
    reads: ClassVar[str] = (
        "Numbers were blurred or swapped, and labels dealt out again; single cells are still the true ones"
    )
    numbers: str = parameter(
        "noise", "noise: LINNAPT and LINFAPT; swap: dealt out again inside each leaf by the released label"
    )
    noise: str = parameter("additive", "additive or relative")
    sd: float = parameter(SD, "standard deviation of the noise, in that of the attribute, or relative to the value")
    p: float = parameter(0.1, "DETECTIVE: chance of a sibling leaf's majority value")
    v: float = parameter(0.0, "DETECTIVE: chance of any value of the domain")
    up: int = parameter(1, "DETECTIVE: 1 for sibling leaves, more for cousins")
    chained: bool = parameter(False, "DETECTIVE: find each leaf from the values released so far")

    @classmethod
    def in_words(cls, attribute: Attribute, stated: Mapping[str, Any]) -> str:
        """Say what was done to the class, a label or a number."""
        if attribute.role is Role.TARGET:
            return LABELS_PERMUTED
        if not attribute.kind.numeric:
            return Detective.words
        if stated.get("numbers") == "swap":
            return "values swapped among records of the same leaf and released class of the owner's tree"
        return cls.words

    @classmethod
    def moves_gaps(cls, attribute: Attribute, stated: Mapping[str, Any]) -> bool:
        """Return whether numbers were swapped."""
        swapped = attribute.kind.numeric and attribute.role is not Role.TARGET
        return swapped and stated.get("numbers") == "swap"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.law, "numbers", self.numbers, NUMBERS)
        check_choice(self.law, "noise", self.noise, ("additive", "relative"))
        _ = ValueNoise(self.noise, self.sd), self.detective

    @property
    def leaves_rare_out(self) -> bool:
        """Swapped numbers follow their class, and the one row of a class would keep them all together."""
        return self.numbers == "swap"

    @property
    def detective(self) -> Detective:
        """How categories are perturbed."""
        return Detective(p=self.p, v=self.v, up=self.up, chained=self.chained)

    def _prepare(self, table: Original, tree: Tree) -> tuple[Leaves, dict[str, Segments]]:
        names = choose_columns(table, "", self.law)
        return Leaves.of(tree, table), {name: Segments.of(table, name) for name in names}

    def _draw(self, table: Original, prepared: tuple[Leaves, dict[str, Segments]], stream: Stream) -> Perturbed:
        leaves, segments = prepared
        classes = permute_known_labels(table.codes, leaves.number, stream)
        values = self._numbers(table, classes, leaves, stream)
        values |= self.detective.new_values(table, segments, stream, values, classes)
        owner = {
            "expected_changes": expected_changes(leaves.counts),
            "variance_of_changes": random_variance(leaves.counts),
            "expected_change": {name: expected_change(own, self.p, self.v, self.up) for name, own in segments.items()},
        }
        public = {"limits": [STATEMENT]} if self.leaves_rare_out else {}
        return Perturbed.of(table, table.with_values(values, classes), owner=owner, public=public)

    def _numbers(self, table: Original, classes: IntArray, leaves: Leaves, stream: Stream) -> dict[str, FloatArray]:
        numeric = tuple(c for c in table.columns if c.attribute.kind.numeric)
        if self.numbers == "swap":
            k = len(table.labels)
            cell, to = cells_of(leaves.number, table.codes, k), cells_of(leaves.number, classes, k)
            values = {c.name: deal_values(c.values, cell, to, stream) for c in numeric}
            alone = np.flatnonzero(np.bincount(to)[to] < 2)
            return exchange_values(
                replace(table, columns=numeric).with_values({}, classes), values, leaves, alone, stream
            )[0]
        noise = ValueNoise(self.noise, self.sd)
        cells = cells_to_perturb(table, leaves, "all")
        for name in cells:
            noise.check(table[name])
        return add_noise(table, leaves, cells, noise, stream)
