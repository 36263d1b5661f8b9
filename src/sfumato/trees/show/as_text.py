"""A tree and its rules as text that people read."""

from __future__ import annotations

import math

from sfumato.schema import Attribute, Kind
from sfumato.trees.rules import Condition, Rule, rules
from sfumato.trees.tree import Test, Tree


def text(tree: Tree) -> str:
    """Return the tree, indented; each leaf with its class, its rows and how many of them have another class.

    Missing values follow the branch that is marked with an asterisk.
    """
    lines = []
    stack = [(0, "", "")]
    asterisk = False
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
            asterisk = True
            words = branch_text(tree.attribute(node.test.attribute), node.test, branch)
            stack.append((node.children[branch], below, f"{words}{mark}"))
    if asterisk:
        lines += ["", "(records / of these another class; * missing values go here)"]
    return "\n".join(lines)


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
    return "\n".join(lines)


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
