"""A tree read as rules: one for each leaf, with one condition for each attribute on the way to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.schema import MISSING_LABEL, Attribute, Kind
from sfumato.text import visible
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


def rules(tree: Tree) -> tuple[Rule, ...]:
    """Return one rule per leaf, in the order of the drawing from top to bottom."""
    said = [tree.labels[c] for c in tree.node_classes]
    return tuple(Rule(conditions(tree, path), said[n], tree.nodes[n].counts, n) for n, path in tree.paths())


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


def text(tree: Tree) -> str:
    """Return the tree, indented; each leaf with its class, its rows and how many of them have another class.

    Missing values follow the branch that is marked with an asterisk.
    """
    lines = []
    stack = [(0, "", "")]
    while stack:
        number, indent, condition = stack.pop()
        node = tree.nodes[number]
        if node.test is None:
            lines.append(f"{indent}{condition}{': ' if condition else ''}{leaf_text(tree, number)}")
            continue
        below = indent
        if condition:
            lines.append(f"{indent}{condition}:")
            below += "│   "
        for branch in reversed(range(len(node.children))):
            mark = " *" if branch == node.test.missing else ""
            words = branch_text(tree.attribute(node.test.attribute), node.test, branch)
            stack.append((node.children[branch], below, f"{words}{mark}"))
    if len(tree.nodes) > 1:
        lines += ["", "(records / of these another class; * missing values go here)"]
    return "\n".join(map(visible, lines))


def leaf_text(tree: Tree, number: int) -> str:
    """Return a leaf in words: ``A (1,203 / 12)``."""
    counts = tree.nodes[number].counts
    predicted = int(tree.node_classes[number])
    return f"{tree.labels[predicted]} ({format_amount(math.fsum(counts))} / {format_amount(math.fsum(counts) - counts[predicted])})"


def rules_text(tree: Tree, most: int | None = None) -> str:
    """Return the rules, those that cover most rows first."""
    ranked = sorted(rules(tree), key=lambda rule: -rule.total)
    lines = [rule_text(tree, rule) for rule in ranked[:most]]
    if most is not None and len(ranked) > most:
        lines.append(f"… and {len(ranked) - most} more")
    return "\n".join(map(visible, lines))


def rule_text(tree: Tree, rule: Rule) -> str:
    """Return a rule in words: ``if age < 40 and salary ≥ 75000 then A (1,203 records, 99.0 % right)``."""
    words = " and ".join(condition_text(tree.attribute(c.attribute), c) for c in rule.conditions)
    share = f", {100 * rule.confidence:.1f} % right" if rule.total else ""
    head = f"if {words} then " if words else "always "
    return f"{head}{tree.target} = {rule.label} ({format_amount(rule.total)} records{share})"


def branch_text(attribute: Attribute, test: Test, branch: int) -> str:
    """Return what one branch of a test says."""
    return f"{attribute.name} {relation(attribute, test, branch)}"


def relation(attribute: Attribute, test: Test, branch: int) -> str:
    """Return one branch without its attribute: ``< 40``, ``≥ 40``, ``in {red, blue}``."""
    if test.threshold is None:
        return _one_of(test.groups[branch])
    sign = ("≤" if test.closed else "<") if branch == 0 else (">" if test.closed else "≥")
    return f"{sign} {format_threshold(attribute, test.threshold)}"


def condition_text(attribute: Attribute, condition: Condition) -> str:
    """Return one condition of a rule in words."""
    name = attribute.name
    if condition.labels is not None:
        return f"{name} {_one_of(condition.labels)}"
    low, high = format_threshold(attribute, condition.low), format_threshold(attribute, condition.high)
    below = f"{'≤' if condition.high_closed else '<'} {high}"
    if math.isinf(condition.low):
        return f"{name} {below}"
    if math.isinf(condition.high):
        return f"{name} {'>' if condition.low_open else '≥'} {low}"
    return f"{low} {'<' if condition.low_open else '≤'} {name} {below}"


def format_threshold(attribute: Attribute, value: float) -> str:
    """Return a threshold in the digits that matter: a thousandth of the domain's range, a calendar day for dates."""
    if math.isinf(value) or attribute.kind is not Kind.REAL:
        return str(value if math.isinf(value) else attribute.format_value(value))
    span = attribute.interval.range or abs(value) or 1.0
    digits = max(0, 3 - math.floor(math.log10(span)))
    return f"{value:.{digits}f}"


def format_amount(weight: float) -> str:
    """Return a number of rows, without a decimal point where it is whole."""
    return f"{weight:,.0f}" if abs(weight - round(weight)) < 1e-6 or weight >= 100 else f"{weight:,.1f}"


def _one_of(labels: tuple[str, ...]) -> str:
    if len(labels) == 1:
        return f"= {labels[0]}"
    max_labels = 20  # a longer set is cut short for readers; the model's JSON has them all
    more = f", … ({len(labels):,} in all)" if len(labels) > max_labels else ""
    return f"in {{{', '.join(labels[: max_labels - 8 if more else None])}{more}}}"
