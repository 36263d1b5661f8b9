"""Likeness of trees: hand-worked figures, what every likeness must satisfy, and a naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.owned_tables import category, mixed, number, table

from sfumato.errors import DataError
from sfumato.trees.grow.c45 import c45
from sfumato.trees.similarity import Verdict, compare_trees, verdict
from sfumato.trees.tree import Node, Test, Tree


def naive(first, second, owned):
    """RS by its definition: for each record, its two rules, attribute by attribute, as sets of records."""
    paths = [dict(tree.paths()) for tree in (first, second)]
    leaves = [tree.apply(owned) for tree in (first, second)]

    def condition(tree, path, name):
        out = np.ones(owned.rows, bool)
        for test, branch in path:
            if test.attribute == name:
                out &= tree._branch(test, owned[name].values) == branch
        return out

    total = 0.0
    for x in range(owned.rows):
        one, other = (paths[i][leaves[i][x]] for i in (0, 1))
        labels = [tree.labels[tree.node_classes[leaf[x]]] for tree, leaf in zip((first, second), leaves, strict=True)]
        if labels[0] != labels[1]:
            continue
        tested = [{test.attribute for test, _ in path} for path in (one, other)]
        if not tested[0] | tested[1]:
            total += 1
            continue
        share = 0.0
        for name in tested[0] & tested[1]:
            a, b = condition(first, one, name), condition(second, other, name)
            share += (a & b).sum() / (a | b).sum()
        total += share / len(tested[0] | tested[1])
    return total / owned.rows


def stump(owned, name, threshold, counts):
    at = tuple(c.attribute for c in owned.columns)
    nodes = (Node((5.0, 5.0), Test(name, threshold=threshold, closed=True), (1, 2)), Node(counts[0]), Node(counts[1]))
    return Tree(at, owned.labels, nodes)


TEN = table([number("x", np.arange(10.0)), number("z", np.arange(10.0)[::-1])], [0] * 5 + [1] * 5, ("no", "yes"))
SIDES = ((4.0, 0.0), (0.0, 4.0))


def test_two_thresholds_are_compared_by_the_records_between_them():
    # x ≤ 4 against x ≤ 5: records 0–4 share 5 of 6, record 5 changes class, 6–9 share 4 of 5.
    found = compare_trees(stump(TEN, "x", 4.0, SIDES), stump(TEN, "x", 5.0, SIDES), TEN)
    assert found.rule_similarity == pytest.approx((5 * 5 / 6 + 0 + 4 * 4 / 5) / 10)
    assert found.agreement == 0.9
    assert found.same_root
    assert found.verdict == Verdict.SIMILAR


def test_another_attribute_gives_no_similarity_however_alike_the_predictions():
    other = stump(TEN, "z", 4.0, SIDES[::-1])
    found = compare_trees(stump(TEN, "x", 4.0, SIDES), other, TEN)
    assert (found.rule_similarity, found.agreement, found.same_root) == (0.0, 1.0, False)
    assert found.verdict == Verdict.DISSIMILAR


def test_thresholds_that_part_the_records_alike_are_the_same_rule():
    found = compare_trees(stump(TEN, "x", 4.0, SIDES), stump(TEN, "x", 4.5, SIDES), TEN)
    assert (found.rule_similarity, found.verdict) == (1.0, Verdict.EXACT)


def test_two_trees_without_a_test_are_the_same_if_their_class_is():
    leaf = Tree(tuple(c.attribute for c in TEN.columns), TEN.labels, (Node((6.0, 4.0)),))
    other = Tree(tuple(c.attribute for c in TEN.columns), TEN.labels, (Node((4.0, 6.0)),))
    assert compare_trees(leaf, leaf, TEN).verdict == Verdict.EXACT
    assert compare_trees(leaf, other, TEN).rule_similarity == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_rule_similarity_is_symmetric_within_0_and_1_and_what_its_definition_says(seed):
    owned = mixed(seed, rows=90, missing=0.1 * (seed % 2), signal=1.5)
    other = c45(owned.take(np.random.default_rng(seed).permutation(owned.rows)[:60]))
    tree = c45(owned)
    there, back = compare_trees(tree, other, owned), compare_trees(other, tree, owned)
    assert 0 <= there.rule_similarity <= 1
    assert there.rule_similarity == pytest.approx(back.rule_similarity, abs=1e-12)
    assert there.agreement == back.agreement
    assert there.rule_similarity == pytest.approx(naive(tree, other, owned), abs=1e-12)
    same = compare_trees(tree, tree, owned)
    assert (same.rule_similarity, same.agreement, same.verdict) == (1.0, 1.0, Verdict.EXACT)


def test_the_order_of_tests_does_not_matter():
    x, z = np.repeat([0.0, 1.0], 10), np.tile([0.0, 1.0], 10)
    owned = table([category("x", x, "ab"), category("z", z, "ab")], (x * z).astype(int), ("no", "yes"))
    at = tuple(c.attribute for c in owned.columns)
    groups = (("a",), ("b",))

    def ordered(first, second):
        inner = Node((5.0, 5.0), Test(second, groups=groups), (3, 4))
        return Tree(
            at,
            owned.labels,
            (
                Node((15.0, 5.0), Test(first, groups=groups), (1, 2)),
                Node((10.0, 0.0)),
                inner,
                Node((5.0, 0.0)),
                Node((0.0, 5.0)),
            ),
        )

    found = compare_trees(ordered("x", "z"), ordered("z", "x"), owned)
    # Only the corner (b, b) has the same rule in both; (a, a) is covered by x = a here and by z = a there.
    corner = (x == 1) & (z == 1)
    expected = np.where(corner, 1.0, np.where((x == 0) & (z == 0), 0.0, 0.5 * 1 / 1))
    assert found.rule_similarity == pytest.approx(expected.mean())


@pytest.mark.parametrize(
    ("rs", "pa", "root", "exact", "grade"),
    [
        (1.0, 1.0, True, True, "E"),
        (0.85, 0.90, True, False, "V"),
        (0.99, 0.99, False, False, "S"),
        (0.849, 0.99, True, False, "S"),
        (0.60, 0.80, False, False, "S"),
        (0.599, 1.0, True, False, "D"),
        (0.9, 0.79, True, False, "D"),
    ],
)
def test_verdicts_have_the_stated_limits(rs, pa, root, exact, grade):
    assert str(verdict(rs, pa, root, exact)) == grade


def test_rules_are_set_side_by_side():
    owned = mixed(1, rows=120, signal=2.0)
    tree = c45(owned)
    found = compare_trees(tree, c45(owned, confidence=0.01), owned, matched=True)
    assert sum(match.records for match in found.matches) == owned.rows
    assert all(match.shared <= match.records and 0 <= match.similarity <= 1 for match in found.matches)
    assert found.to_dict()["rules"][0]["first"].startswith(("if", "always"))


def test_no_records_is_an_error():
    with pytest.raises(DataError, match="without rows"):
        compare_trees(c45(TEN), c45(TEN), TEN.take(np.zeros(0, np.int64)))
