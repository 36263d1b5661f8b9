"""The C4.5-like builder: against a naive twin, against Weka's J48, against frozen trees, and by what C4.5 promises."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.support import naive_c45
from tests.support import weka_j48 as weka
from tests.support.owned_tables import category, mixed, number, table

from sfumato.errors import DataError, UsageError
from sfumato.papers.parties import boston_table, bundled_table
from sfumato.trees import text
from sfumato.trees.grow.c45 import c45
from sfumato.trees.grow.pruning import Pessimistic, added_errors
from sfumato.trees.tree import Tree

HERE = Path(__file__).parent


def alike(tree, naive, at=0):
    """Whether our tree is the naive one, node for node."""
    node = tree.nodes[at]
    np.testing.assert_allclose(node.counts, naive["counts"], atol=1e-9)
    if naive["test"] is None:
        assert node.test is None
        return
    a, threshold = naive["test"]
    assert node.test.attribute == tree.attributes[a].name
    assert node.test.threshold == threshold
    assert len(node.children) == len(naive["children"])
    for child, other in zip(node.children, naive["children"], strict=True):
        alike(tree, other, child)


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(12))
def test_the_builder_is_its_naive_twin(seed, missing):
    owned = mixed(seed, rows=40 + 12 * seed, classes=2 + seed % 3, missing=missing, signal=1.5)
    alike(c45(owned), naive_c45.of_table(owned))


def test_other_leaf_sizes_and_confidences_are_the_twins_too():
    owned = mixed(5, rows=150, signal=1.5)
    alike(c45(owned, min_leaf=5), naive_c45.of_table(owned, min_leaf=5))
    alike(c45(owned, confidence=0.05), naive_c45.of_table(owned, confidence=0.05))


@pytest.mark.parametrize("name", ["iris", "breast_cancer_wisconsin"])
def test_the_trees_of_iris_and_wbc_are_those_agreed_with_j48(name):
    found = text(c45(bundled_table(name, complete=False)))
    assert found + "\n" == (HERE / "expected" / f"c45_{name}.txt").read_text("utf-8")


@pytest.mark.skipif(weka.jar() is None, reason="weka.jar or java is not installed")
@pytest.mark.parametrize(
    ("name", "rows"), [("iris", None), ("breast_cancer_wisconsin", None), ("german_credit", None), ("adult", 2000)]
)
def test_the_builder_agrees_with_j48_node_for_node(name, rows, tmp_path):
    owned = bundled_table(name, complete=False)
    owned = owned if rows is None else owned.take(np.arange(rows))
    weka.write_arff(owned, tmp_path / "table.arff")
    assert weka.same(weka.lines(c45(owned)), weka.j48(tmp_path / "table.arff")) is None


@pytest.mark.skipif(
    weka.jar() is None or "SFUMATO_BOSTON" not in os.environ,
    reason="weka or Boston Housing is not at hand (its path goes into SFUMATO_BOSTON)",
)
def test_the_builder_agrees_with_j48_on_boston(tmp_path):
    owned = boston_table(os.environ["SFUMATO_BOSTON"])
    weka.write_arff(owned, tmp_path / "table.arff")
    assert weka.same(weka.lines(c45(owned)), weka.j48(tmp_path / "table.arff")) is None


@pytest.mark.skipif(weka.jar() is None, reason="weka.jar or java is not installed")
def test_fractions_of_missing_values_are_those_of_j48(tmp_path):
    owned = mixed(3, rows=300, numbers=3, categories=3, missing=0.2)
    weka.write_arff(owned, tmp_path / "table.arff")
    assert weka.same(weka.lines(c45(owned)), weka.j48(tmp_path / "table.arff")) is None


def test_a_tie_goes_to_the_first_attribute_and_the_lowest_cut():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 5)
    owned = table([number("first", x), number("second", x)], np.repeat([0, 1, 0, 1], 5))
    root = c45(owned, prune=False).nodes[0].test
    assert (root.attribute, root.threshold) == ("first", 0.0)


def test_the_threshold_is_a_value_of_the_whole_table_not_above_the_middle():
    # In the right branch only 1 and 9 remain; 4 is in the table, below the middle 5, and 6 above it.
    x = np.array([1.0] * 6 + [9.0] * 6 + [4.0, 6.0] * 4)
    side = np.array([1] * 12 + [0] * 8)
    owned = table([category("side", side, "lr"), number("x", x)], np.array([0] * 6 + [1] * 6 + [2] * 8))
    tree = c45(owned, prune=False)
    tests = [n.test for n in tree.nodes if n.test is not None and n.test.threshold is not None]
    assert [t.threshold for t in tests] == [4.0]


def test_an_empty_branch_is_a_leaf_with_its_parents_class():
    code = np.array([0] * 6 + [1] * 6)
    tree = c45(table([category("c", code, "abc")], np.array([0] * 6 + [1] * 5 + [0])), prune=False)
    assert tree.nodes[3].counts == (0.0, 0.0)
    assert tree.node_classes.tolist() == [0, 0, 1, 0]


def test_an_attribute_with_a_value_a_record_does_not_raise_the_mean_gain():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    many = category("many", rng.permutation(60) // 2, [f"v{i}" for i in range(30)])
    good = number("good", y + 0.4 * rng.normal(size=60))
    owned = table([many, good], y)
    assert c45(owned).nodes[0].test.attribute == "good"
    alike(c45(owned), naive_c45.of_table(owned))


@pytest.mark.parametrize(
    ("columns", "classes"),
    [
        ([number("x", [1.0, 2.0, 3.0, 4.0, 5.0])], [0, 0, 0, 0, 0]),
        ([number("x", [7.0] * 6, domain=(0, 9))], [0, 1, 0, 1, 1, 1]),
        ([number("x", [np.nan] * 6, domain=(0, 9)), category("c", [np.nan] * 6, "ab")], [0, 1, 0, 1, 1, 1]),
        ([number("x", [1.0])], [1]),
    ],
)
def test_one_class_constant_columns_and_empty_columns_give_a_leaf(columns, classes):
    tree = c45(table(columns, classes))
    assert tree.leaves == 1
    assert sum(tree.nodes[0].counts) == len(classes)


def test_records_without_a_class_are_left_out():
    owned = mixed(2, rows=80)
    some = owned.take(np.arange(60))
    owned.target.values[60:] = np.nan
    assert c45(owned) == c45(some)


def test_the_tree_is_plain_data_and_comes_back():
    tree = c45(mixed(1, missing=0.1))
    assert Tree.from_dict(tree.to_dict()) == tree


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: type(t)(t.columns), "needs a class"),
        (lambda t: type(t)((), t.target), "at least one attribute"),
        (lambda t: t.with_values({}, np.full(t.rows, -1)), "no record has a class"),
    ],
)
def test_what_cannot_be_grown_is_refused(change, message):
    with pytest.raises((UsageError, DataError), match=message):
        c45(change(mixed(0)))


def test_a_category_can_be_the_class_and_the_class_an_input():
    owned = mixed(4, rows=150, missing=0.1)
    view = owned.with_target("c1")
    assert view.labels == owned["c1"].attribute.categories
    assert [c.name for c in view.columns] == ["n0", "n1", "c0", "class"]
    np.testing.assert_array_equal(view.codes >= 0, ~np.isnan(owned["c1"].values))
    with pytest.raises(UsageError, match="n0: a real column cannot be a class"):
        owned.with_target("n0")


def test_added_errors_are_quinlans():
    # Quinlan 1993, section 4.2: U25%(0, 6) = 0.206, U25%(0, 9) = 0.143, U25%(0, 1) = 0.750.
    found = added_errors(np.array([6.0, 9.0, 1.0]), np.zeros(3), 0.25) / np.array([6.0, 9.0, 1.0])
    np.testing.assert_allclose(found, [0.206, 0.143, 0.750], atol=5e-4)
    # His U25%(1, 16) = 0.157 is exact; the normal approximation comes to within a hundredth.
    assert (1 + added_errors(np.array([16.0]), np.array([1.0]), 0.25)[0]) / 16 == pytest.approx(0.157, abs=0.01)
    assert added_errors(np.array([0.0, 3.0]), np.array([0.0, 3.0]), 0.25).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("confidence", [0.0, 0.6, -1.0])
def test_a_confidence_outside_its_range_is_refused(confidence):
    with pytest.raises(UsageError, match="confidence"):
        Pessimistic(confidence)
