"""Leaf swap: on any table every record keeps its leaf, and every table of an attribute by class, in every node, stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.owned_tables import category, mixed, number, table

from sfumato.errors import UsageError
from sfumato.guided.exposed_rows import is_rare_row
from sfumato.guided.tree.leaf_swap import LeafSwap, deal_again_below, deal_within_cells
from sfumato.randomness import SecretKey, Stream
from sfumato.trees.grow.c45 import c45
from sfumato.trees.similarity import compare_trees

TABLES = st.builds(
    mixed,
    seed=st.integers(0, 10_000),
    rows=st.integers(5, 150),
    numbers=st.integers(1, 3),
    categories=st.integers(0, 3),
    classes=st.integers(2, 4),
    missing=st.sampled_from([0.0, 0.2]),
    signal=st.sampled_from([0.0, 1.0, 2.0]),
)


def stream(key=0):
    return Stream(SecretKey(bytes([key]) * 32))


def below(tree):
    """For each node the leaves under it."""
    out = {}
    for node in reversed(range(len(tree.nodes))):
        children = tree.nodes[node].children
        out[node] = set().union(*(out[c] for c in children)) if children else {node}
    return out


def class_tables(tree, owned, classes=None):
    """In every node, for every attribute and class, the sorted values (NaN last)."""
    leaf = tree.apply(owned)
    classes = owned.codes if classes is None else classes
    out = {}
    for node, leaves in below(tree).items():
        here = np.isin(leaf, list(leaves))
        for column in owned.columns:
            for c in range(len(owned.labels)):
                out[node, column.name, c] = np.sort(column.values[here & (classes == c)])
    return out


def assert_same_tables(first, second):
    assert first.keys() == second.keys()
    for key, values in first.items():
        np.testing.assert_array_equal(values, second[key], err_msg=str(key))


@given(TABLES, st.booleans())
def test_every_record_keeps_its_leaf_and_every_table_by_class_stays(owned, labels):
    tree = c45(owned)
    after = LeafSwap(small="keep", labels=labels).perturb(owned, stream(), tree=tree).table
    np.testing.assert_array_equal(tree.apply(after), tree.apply(owned))
    assert_same_tables(class_tables(tree, owned), class_tables(tree, after))


@given(TABLES, st.sampled_from(["climb", "blind"]), st.booleans())
def test_small_cells_are_swapped_too_and_all_else_stays(owned, small, labels):
    assume(not is_rare_row(owned.codes).all())
    tree = c45(owned)
    done = LeafSwap(small=small, labels=labels).perturb(owned, stream(), tree=tree)
    kept = np.ones(owned.rows, bool)
    kept[done.left_out] = False
    assert not (kept & is_rare_row(owned.codes)).any()
    owned = owned.take(kept)
    np.testing.assert_array_equal(tree.apply(done.table), tree.apply(owned))
    before, after = class_tables(tree, owned), class_tables(tree, done.table)
    crossed = any("other classes of their leaf" in w for w in done.warnings)
    if small == "climb" and not crossed:
        assert_same_tables(
            {k: v for k, v in before.items() if k[0] == 0}, {k: v for k, v in after.items() if k[0] == 0}
        )
    assert {k: len(v) for k, v in before.items()} == {k: len(v) for k, v in after.items()}
    if done.owner["small_cells"]["records"] == 0:
        assert_same_tables(before, after)


def test_the_tree_is_found_again_where_leaves_are_pure():
    x = np.arange(40.0)
    owned = table([number("x", x), number("z", x[::-1])], x >= 20)
    after = LeafSwap().perturb(owned, stream()).table
    assert c45(after) == c45(owned)
    assert (after["z"].values != owned["z"].values).mean() > 0.8


def test_a_record_alone_in_its_cell_gets_values_of_its_class_from_up_the_tree():
    # One "yes" in the left leaf; its z must come from the other "yes" records, which are all on the right.
    x = np.r_[np.arange(20.0), 100 + np.arange(20.0)]
    y = np.r_[np.zeros(20), np.ones(20)].astype(int)
    y[3] = 1
    z = np.arange(40.0)
    owned = table([number("x", x), number("z", z, domain=(0, 99))], y)
    tree = c45(owned)
    assert tree.used == ("x",)
    done = LeafSwap().perturb(owned, stream(), tree=tree)
    assert done.owner["small_records"].tolist() == [3]
    assert done.table["z"].values[3] >= 20
    # x decides the leaf: no other "yes" has an x that the left leaf allows, so this one value stays, and is counted.
    assert done.owner["small_cells"] == {"records": 1, "unmoved": 1}
    assert any("1 values of 1 records in small cells found no record" in w for w in done.warnings)
    kept = LeafSwap(small="keep").perturb(owned, stream(), tree=tree)
    assert (kept.table["x"].values[3], kept.table["z"].values[3]) == (x[3], z[3])
    assert kept.owner["small_cells"]["unmoved"] == 2
    dropped = LeafSwap(small="suppress").perturb(owned, stream(), tree=tree)
    assert dropped.table.rows == 39
    assert dropped.left_out.tolist() == [3]


def test_with_labels_the_class_of_a_record_is_dealt_out_again():
    owned = mixed(3, rows=300, signal=0.5)
    done = LeafSwap(labels=True).perturb(owned, stream())
    assert 0 < done.changed["class"] < 0.7
    assert LeafSwap().perturb(owned, stream()).changed["class"] == 0


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("small", ["climb", "keep"])
def test_leaves_whose_rule_is_lost_are_dealt_again_and_the_tree_comes_nearer(small, labels):
    once, again = [], []
    for seed in range(12):
        owned = mixed(seed, rows=200, signal=0.6)
        tree = c45(owned)
        for redraws, found in ((0, once), (4, again)):
            method = LeafSwap(small=small, labels=labels, redraws=redraws)
            after = method.perturb(owned, stream(seed), tree=tree).table
            np.testing.assert_array_equal(tree.apply(after), tree.apply(owned))
            found.append(compare_trees(tree, c45(after), owned).rule_similarity)
    # The first deal is the same for both, and a later one is taken only where the tree is nearer.
    assert all(more >= first for first, more in zip(once, again, strict=True))
    assert np.mean(again) > np.mean(once) + 0.02


def test_dealing_again_leaves_the_other_leaves_alone():
    owned = mixed(1, rows=300, signal=0.5)
    tree = c45(owned)
    leaf = np.unique(tree.apply(owned), return_inverse=True)[1]
    first = deal_within_cells(owned, leaf, stream(1), labels=True)
    among = leaf == leaf[0]
    second = deal_again_below(first, owned, among, leaf, stream(2), labels=True)
    for one, other in zip(first.columns, second.columns, strict=True):
        np.testing.assert_array_equal(one.values[~among], other.values[~among])
    assert any((one.values != second[one.name].values).any() for one in first.columns)
    assert_same_tables(class_tables(tree, owned), class_tables(tree, second))


def test_swapping_is_uniform_inside_a_cell():
    owned = table([category("c", np.arange(4), "abcd"), number("x", [0.0] * 4, domain=(0, 1))], [0] * 4, ("only",))
    seen = np.array([LeafSwap().perturb(owned, stream(i)).table["c"].values for i in range(250)])
    counts = np.array([[(seen[:, i] == v).sum() for v in range(4)] for i in range(4)])
    assert ((counts - 62.5) ** 2 / 62.5).sum() < 40  # 9 degrees of freedom


@pytest.mark.parametrize("change", [{"least": 1}, {"small": "hide"}, {"redraws": -1}])
def test_wrong_parameters_are_refused(change):
    with pytest.raises(UsageError):
        LeafSwap(**change)


def test_a_release_without_records_is_refused():
    owned = table([number("x", [1.0, 2.0])], [0, 1])
    with pytest.raises(UsageError, match="every leaf and class is a small cell"):
        LeafSwap(small="suppress").perturb(owned, stream())
