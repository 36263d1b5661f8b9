"""How alike two trees are, rule by rule, on the rows they are meant for.

The 2003 and 2005 papers judge a release by whether the tree grown from it says the same as the tree of the original
("we evaluate trees by comparing the logic rules associated with them"), and leave the comparison to the eye. Here it is
a number:

- sim(r, s) of two rules is 0 where their classes differ; else the mean, over the attributes that either of them tests, of
  the Jaccard index of the two conditions, measured in rows. An attribute that only one of them tests counts 0.
- RS, rule similarity, is the mean of sim over the rows, each with its rule in either tree. It is symmetric, lies in
  [0, 1], does not depend on the order of tests, and needs no matching of rules.
- PA, prediction agreement, is the share of rows with the same predicted class. Both are needed: of two attributes that
  say the same, a tree may test the other one, and predict alike by different rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError
from sfumato.table import Table
from sfumato.trees.inputs import encode
from sfumato.trees.rules import Condition, rule_text, rules
from sfumato.trees.tree import Tree

VERY_SIMILAR = (0.85, 0.90)
SIMILAR = (0.60, 0.80)
"""Least RS and PA of a verdict."""


class Verdict(StrEnum):
    """The four grades of the 2005 paper's Table 4.2."""

    EXACT = "E"
    VERY_SIMILAR = "V"
    SIMILAR = "S"
    DISSIMILAR = "D"


@dataclass(frozen=True)
class RuleMatch:
    """A rule of the first tree beside the rule of the second one that is nearest to it among those of its rows."""

    first: str
    second: str
    records: int
    shared: int
    similarity: float


@dataclass(frozen=True)
class Similarity:
    """How alike two trees are on a table."""

    rule_similarity: float
    agreement: float
    same_root: bool
    verdict: Verdict
    records: int
    matches: tuple[RuleMatch, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, under the names that `sfumato compare` prints."""
        return {
            "rule_similarity": self.rule_similarity,
            "agreement": self.agreement,
            "same_root": self.same_root,
            "verdict": str(self.verdict),
            "records": self.records,
            "rules": [vars(match) for match in self.matches],
        }


def compare_trees(first: Tree, second: Tree, table: Table, *, matched: bool = False) -> Similarity:
    """Return how alike two trees are on the rows of `table` (the original ones, wherever they are available).

    With `matched`, each rule is paired with the nearest one of the other tree, in words.
    """
    if not table.rows:
        raise DataError("two trees cannot be compared without rows; give the original table")
    a, b, counts, _ = _leaf_pairs(first, second, table)
    similarity, same = _pair_similarities(first, second, table, a, b)
    rs, pa = float(similarity @ counts) / table.rows, float(counts[same].sum()) / table.rows
    root = _root(first) == _root(second)
    exact = bool((similarity == 1.0).all())
    matches = _matches(first, second, a, b, counts, similarity) if matched else ()
    return Similarity(rs, pa, root, verdict(rs, pa, root, exact), table.rows, matches)


def row_similarities(first: Tree, second: Tree, table: Table) -> FloatArray:
    """Return sim of the two rules of each row; RS is their mean."""
    a, b, _, pair = _leaf_pairs(first, second, table)
    return _pair_similarities(first, second, table, a, b)[0][pair]


def verdict(rs: float, pa: float, same_root: bool, exact: bool) -> Verdict:
    """Return E if every row's rule is the same, V: same root, RS ≥ .85, PA ≥ .90, S: RS ≥ .60, PA ≥ .80, else D."""
    if exact:
        return Verdict.EXACT
    if same_root and rs >= VERY_SIMILAR[0] and pa >= VERY_SIMILAR[1]:
        return Verdict.VERY_SIMILAR
    if rs >= SIMILAR[0] and pa >= SIMILAR[1]:
        return Verdict.SIMILAR
    return Verdict.DISSIMILAR


def _root(tree: Tree) -> str | None:
    test = tree.nodes[0].test
    return None if test is None else test.attribute


def _leaf_pairs(first: Tree, second: Tree, table: Table) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return leaves of the first and second tree that share rows, how many they share, and the pair of each row."""
    size = max(len(second.nodes), 1)
    pairs, pair, counts = np.unique(
        first.apply(table) * size + second.apply(table), return_inverse=True, return_counts=True
    )
    a, b = np.divmod(pairs, size)
    return a, b, counts, pair


def _pair_similarities(
    first: Tree, second: Tree, table: Table, a: IntArray, b: IntArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return sim of the rules of leaves a and b, and whether they predict the same class."""
    labels = [np.array(tree.labels)[tree.node_classes] for tree in (first, second)]
    same = labels[0][a] == labels[1][b]
    return np.where(same, _rule_similarities(first, second, table, a, b), 0.0), same


def _rule_similarities(first: Tree, second: Tree, table: Table, a: IntArray, b: IntArray) -> FloatArray:
    """Return the mean Jaccard index of the conditions of the rules of leaves a and b, over the attributes that either tests."""
    names = list(dict.fromkeys((*first.used, *second.used)))
    total, tested = np.zeros(len(a)), np.zeros(len(a))
    sides = [_conditions(tree) for tree in (first, second)]
    for name in names:
        places, weights = _distinct(table, name)
        held = []
        numbers = []
        for tree, conditions in zip((first, second), sides, strict=True):
            distinct, of_leaf = conditions.get(name, ((), {}))
            number = np.full(len(tree.nodes), -1)
            number[list(of_leaf)] = list(of_leaf.values())
            numbers.append(number)
            held.append(_find_satisfying(tree, distinct, table, name, places))
        inside = held[0] * weights
        both = inside @ held[1].T
        either = inside.sum(axis=1)[:, None] + (held[1] * weights).sum(axis=1)[None, :] - both
        jaccard = both / np.where(either > 0, either, 1.0)
        one, other = numbers[0][a], numbers[1][b]
        tested += (one >= 0) | (other >= 0)
        shared = (one >= 0) & (other >= 0)
        total[shared] += jaccard[one[shared], other[shared]]
    return np.where(tested > 0, total / np.where(tested > 0, tested, 1.0), 1.0)


def _conditions(tree: Tree) -> dict[str, tuple[tuple[Condition, ...], dict[int, int]]]:
    """Return for every attribute its distinct conditions, and the number of the condition in the rule of each leaf."""
    distinct: dict[str, dict[Condition, int]] = {}
    numbers: dict[str, dict[int, int]] = {}
    for rule in rules(tree):
        for condition in rule.conditions:
            known = distinct.setdefault(condition.attribute, {})
            numbers.setdefault(condition.attribute, {})[rule.leaf] = known.setdefault(condition, len(known))
    return {name: (tuple(known), numbers[name]) for name, known in distinct.items()}


def _distinct(table: Table, name: str) -> tuple[IntArray, FloatArray]:
    """Return a row for each distinct value of a column (missing is one of them), and how many rows share it."""
    _, places, counts = np.unique(table[name].values, return_index=True, return_counts=True)
    return places, counts.astype(np.float64)


def _find_satisfying(
    tree: Tree, distinct: tuple[Condition, ...], table: Table, name: str, places: IntArray
) -> FloatArray:
    """Return which of the distinct values satisfy each condition, as 0 and 1."""
    out = np.zeros((len(distinct), len(places)))
    if distinct:
        values, _ = encode(tree.attributes, [name], table)
        for row, condition in zip(out, distinct, strict=True):
            row[:] = condition.holds(tree.attribute(name), values[name][places])
    return out


def _matches(
    first: Tree, second: Tree, a: IntArray, b: IntArray, counts: IntArray, similarity: FloatArray
) -> tuple[RuleMatch, ...]:
    """Return every rule that covers rows of the table, those with most rows first."""
    of = [{rule.leaf: rule for rule in rules(tree)} for tree in (first, second)]
    out = []
    for leaf in np.unique(a):
        pairs = np.flatnonzero(a == leaf)
        nearest = pairs[np.lexsort((-counts[pairs], -similarity[pairs]))[0]]
        out.append(
            RuleMatch(
                rule_text(first, of[0][int(leaf)]),
                rule_text(second, of[1][int(b[nearest])]),
                int(counts[pairs].sum()),
                int(counts[nearest]),
                float(similarity[nearest]),
            )
        )
    return tuple(sorted(out, key=lambda match: -match.records))
