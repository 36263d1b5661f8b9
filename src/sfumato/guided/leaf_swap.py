"""Leaf swap: every attribute permuted on its own among the records of the same leaf and class.

All records keep their leaf, since the values they receive satisfied its conditions in another record of it; and every
table of an attribute by class, in every node of the tree, is exactly what it was. So every test of the tree is chosen
again, and only growth below heterogeneous leaves can differ.

What it does not do: the class stays as predictable as the leaf is pure; values are genuine, so an extreme value still
shows that somebody has it; relations between attributes inside a leaf are gone, and with them what other models use; and
a leaf and class with one record has nobody to swap with (`small` says what happens then).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.clusters.method import parameter
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.guided.class_noise import permuted
from sfumato.guided.leaves import Leaves
from sfumato.guided.partners import exchanged
from sfumato.guided.tree_method import Perturbed, TreeMethod, choice, with_values
from sfumato.observed import ObservedTable
from sfumato.randomness import Stream

SMALL = ("climb", "blind", "suppress", "keep")

LIMITS = (
    "the class of a record stays as predictable as its leaf is pure",
    "values are genuine: an extreme value still shows that somebody has it",
    "relations between attributes inside a leaf are destroyed, and models that need them suffer",
)
"""What a recipient is told of every leaf swap, beside the count of small cells."""


@dataclass(frozen=True)
class LeafSwap(TreeMethod):
    """Permute every attribute inside each leaf and class."""

    law: ClassVar[str] = "leaf-swap"
    small: str = parameter(
        "climb", "cells below `least`: climb (swap within the class, up the tree), blind (any class), suppress, or keep"
    )
    least: int = parameter(2, "a leaf and class with fewer records is a small cell")
    labels: bool = parameter(False, "permute the labels of each leaf too, and deal values out by the released label")

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.law, "small", self.small, SMALL)
        if self.least < 2:
            raise UsageError(
                f"{self.law}: least = {self.least}; a cell of one record has nobody to swap with, give 2 or more"
            )

    def _draw(self, table: ObservedTable, leaves: Leaves, stream: Stream, target: str) -> Perturbed:
        assert table.classes is not None
        leaf, k = leaves.number, len(table.labels)
        cell = cells_of(leaf, table.classes, k)
        given = permuted_labels(table.classes, leaf, stream) if self.labels else table.classes
        to = cells_of(leaf, given, k)
        small = np.bincount(to)[to] < self.least
        values = {c.name: dealt_again(c.values, cell, to, stream) for c in table.columns}
        unmoved = 0
        if self.small == "climb":
            seen = with_values(table, {}, given)
            values, unmoved = exchanged(seen, values, leaves, np.flatnonzero(small), stream)
        elif self.small == "blind":
            values = {name: blind(column, leaf, small, stream) for name, column in values.items()}
            unmoved = int((small & (np.bincount(leaf)[leaf] < 2)).sum()) * len(values)
        elif self.small == "keep":
            unmoved = int(small.sum()) * len(values)
        released = with_values(table, values, given)
        if self.small == "suppress" and small.any():
            raise_if_all(small)
            released, table = released.take(~small), table.take(~small)
        warnings = []
        if unmoved:
            warnings.append(
                f"{unmoved} values of {int(small.sum())} records in small cells found nobody to swap with and are "
                "released as they are; small=suppress leaves such records out"
            )
        public: dict[str, Any] = {
            "small_cells": {"rule": self.small, "least": self.least, "records": int(small.sum()), "unmoved": unmoved},
            "limits": list(LIMITS),
        }
        owner = {"small_records": np.flatnonzero(small), "leaves": leaves.size}
        return Perturbed.of(table, released, target, public=public, owner=owner, warnings=warnings)


def raise_if_all(small: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    """A release without records is none."""
    if small.all():
        raise UsageError("leaf-swap: every leaf and class is a small cell; lower `least`, or choose small=blind")


def cells_of(leaf: IntArray, classes: IntArray, n_classes: int) -> IntArray:
    """Leaf and class as one number; records without a class are a class of their own."""
    return leaf * (n_classes + 1) + classes + 1


def permuted_labels(classes: IntArray, leaf: IntArray, stream: Stream) -> IntArray:
    """The labels of each leaf in a random order; records without one stay without."""
    known = np.flatnonzero(classes >= 0)
    out = classes.copy()
    out[known] = permuted(classes[known], leaf[known], stream)
    return out


def dealt_again(values: FloatArray, cell: IntArray, to: IntArray, stream: Stream) -> FloatArray:
    """The values of each cell, in random order, for the records that the cell has now (`to`; the same numbers in each).

    A uniformly random order, with values that may stay: were they forced to move, two records of a cell would exchange
    all their values, which is no change at all.
    """
    out = np.empty_like(values)
    out[np.argsort(to, kind="stable")] = values[np.lexsort((stream.words(len(cell)), cell))]
    return out


def blind(values: FloatArray, leaf: IntArray, small: np.ndarray[Any, np.dtype[np.bool_]], stream: Stream) -> FloatArray:
    """Let each record of a small cell exchange its value with a random record of its leaf, whatever the class.

    The leaf's own table of the attribute stays exact; that by class moves by at most one record an exchange.
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
