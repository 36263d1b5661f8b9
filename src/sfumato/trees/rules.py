"""A tree read as rules: one for each leaf, with one condition for each attribute on the way to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.schema import Attribute
from sfumato.table import MISSING_LABEL
from sfumato.trees.inputs import Columns, encode
from sfumato.trees.tree import Test, Tree


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one attribute: an interval, or one of some labels.

    `missing` says whether a missing value, or an unknown label, satisfies it too, because every test on the way sends
    it along.
    """

    attribute: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_closed: bool = False
    labels: tuple[str, ...] | None = None
    missing: bool = True

    def narrow(self, test: Test, branch: int) -> Condition:
        """Return the condition together with one more test."""
        missing = self.missing and test.missing == branch
        if test.threshold is None:
            group = set(test.groups[branch])
            labels = tuple(v for v in self.labels or () if v in group)
            return replace(self, labels=labels, missing=missing)
        if branch == 0:
            if test.threshold > self.high or (test.threshold == self.high and test.closed):
                return replace(self, missing=missing)
            return replace(self, high=test.threshold, high_closed=test.closed, missing=missing)
        if test.threshold < self.low or (test.threshold == self.low and not test.closed):
            return replace(self, missing=missing)
        return replace(self, low=test.threshold, low_open=test.closed, missing=missing)

    def holds(self, attribute: Attribute, values: FloatArray) -> NDArray[np.bool_]:
        """Return which of the values (labels as their codes, NaN for missing or unknown) satisfy it."""
        if self.labels is None:
            above = values > self.low if self.low_open else values >= self.low
            below = values <= self.high if self.high_closed else values < self.high
            inside = above & below
        else:
            known = (*attribute.categories, MISSING_LABEL)
            inside = np.isin(values, [float(known.index(label)) for label in self.labels])
        return np.asarray(np.where(np.isnan(values), self.missing, inside), bool)


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, the class is `label`; `counts` are the training rows it covers, by class."""

    conditions: tuple[Condition, ...]
    label: str
    counts: tuple[float, ...]
    leaf: int

    @property
    def total(self) -> float:
        """The number of training rows that the rule covers."""
        return math.fsum(self.counts)

    @property
    def confidence(self) -> float:
        """The share of them that has the rule's class."""
        return max(self.counts) / self.total if self.total else math.nan

    def covers(self, tree: Tree, columns: Columns) -> NDArray[np.bool_]:
        """Return which rows satisfy all conditions."""
        values, rows = encode(tree.attributes, [c.attribute for c in self.conditions], columns)
        out = np.ones(rows, bool)
        for condition in self.conditions:
            out &= condition.holds(tree.attribute(condition.attribute), values[condition.attribute])
        return out


def rules(tree: Tree) -> tuple[Rule, ...]:
    """Return one rule per leaf, in the order of the drawing from top to bottom."""
    out = []
    for leaf, path in tree.paths():
        label = tree.labels[int(tree.node_classes[leaf])]
        out.append(Rule(conditions(tree, path), label, tree.nodes[leaf].counts, leaf))
    return tuple(out)


def conditions(tree: Tree, path: Sequence[tuple[Test, int]]) -> tuple[Condition, ...]:
    """Return the tests of a path, those on one attribute joined, in the order in which the attributes first occur."""
    joined: dict[str, Condition] = {}
    for test, branch in path:
        attribute = tree.attribute(test.attribute)
        if test.attribute not in joined:
            labels = None if test.threshold is not None else (*attribute.categories, MISSING_LABEL)
            joined[test.attribute] = Condition(test.attribute, labels=labels)
        joined[test.attribute] = joined[test.attribute].narrow(test, branch)
    return tuple(joined.values())
