"""The leaves of ByClass and Local are reconstructed: how records stray between boxes is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import mined_tables as tables

from sfumato.channels import Gaussian, Substitution, Uniform
from sfumato.table import Original
from sfumato.trees.grow.coded_rows import CodedRows
from sfumato.trees.grow.growth import Limits, grow_from
from sfumato.trees.grow.pruning import MDL
from sfumato.trees.grow.splits import BinarySplitter
from sfumato.trees.strategies.leaf_counts import Leaves, boxes, class_shares, leaf_of, sum_over_branches, with_leaves
from sfumato.trees.strategies.published import byclass, local, original, prepare

truth, released, bands = tables.truth, tables.released, tables.bands

NOISE = {"x": Gaussian(privacy=0.5), "y": Uniform(privacy=0.5), "colour": Substitution(gamma=9)}


def rule(columns):
    """Needs x, y and the colour; in the dark where x is missing."""
    return np.where(columns["colour"] == 2, columns["x"] > 0.5, bands(columns) > 0).astype(np.int64)


@pytest.fixture(scope="module")
def grown():
    """A tree over noisy, substituted, missing and true values; what it was grown from."""
    columns = truth(8000, 1)
    classes = rule(columns)
    columns["x"][::7] = np.nan
    table = released(columns, classes, NOISE)
    classes, associations = prepare(table)
    codes = [a.codes(classes, 2) for a in associations]
    source = CodedRows.of(codes, [a.grid.size for a in associations], classes, 2)
    unordered = frozenset(i for i, a in enumerate(associations) if not a.ordered)
    growth = grow_from(source, BinarySplitter(categorical=unordered), MDL(), Limits(min_leaf=20))
    assert set(growth.attribute[growth.attribute >= 0]) >= {0, 1, 4}
    return growth, associations, np.stack(codes) + 1, classes


def walked(growth, cells):
    """One record down the tree, test by test."""
    node = 0
    while growth.attribute[node] >= 0:
        node = growth.first_child[node] + growth.branch[node, cells[growth.attribute[node]]]
    return node


def test_records_fall_where_walking_test_by_test_leads(grown):
    growth, _, cells, _ = grown
    found = leaf_of(growth, dict(enumerate(cells)))
    for row in range(0, 8000, 97):
        assert found[row] == walked(growth, cells[:, row])


def test_a_box_holds_the_cells_that_lead_to_its_leaf(grown):
    growth, associations, cells, _ = grown
    leaf = leaf_of(growth, dict(enumerate(cells)))
    inside = [boxes(growth, a, 1 + association.grid.size) for a, association in enumerate(associations)]
    assert all(box[leaf, cell].all() for box, cell in zip(inside, cells, strict=True))
    # Boxes of leaves are disjoint and fill the space: one combination of cells lies in exactly one.
    rng = np.random.default_rng(0)
    leaves = growth.attribute < 0
    for _ in range(50):
        point = [rng.integers(0, box.shape[1]) for box in inside]
        holds = np.logical_and.reduce([box[leaves, cell] for box, cell in zip(inside, point, strict=True)])
        assert holds.sum() == 1


def test_strays_are_the_sums_over_cells_and_leave_nobody_out(grown):
    growth, associations, cells, classes = grown
    leaves = np.flatnonzero(growth.attribute < 0)
    inside = {a: boxes(growth, a, 1 + associations[a].grid.size)[leaves] for a in range(len(associations))}
    leaves_ = Leaves(associations, lambda a: class_shares(cells[a] - 1, associations[a].grid.size, classes, 2))
    _, strays = leaves_.strays(inside)
    np.testing.assert_allclose(strays.sum(axis=0), 1.0, atol=1e-9)
    for to, home in ((0, 0), (1, 0), (len(leaves) - 1, 2), (3, len(leaves) // 2)):
        expected = 1.0
        for a, association in enumerate(associations):
            share = np.bincount(cells[a][classes == 1], minlength=1 + association.grid.size).astype(float)
            if not (share * inside[a][home]).sum():
                share[:] = 1.0
            part = whole = 0.0
            for true in np.flatnonzero(inside[a][home]):
                whole += share[true]
                if true == 0:
                    part += share[0] * inside[a][to, 0]
                    continue
                for seen in range(association.observed_grid.size):
                    if association.exact or association.observed_grid.size == association.grid.size:
                        code = seen
                    else:
                        code = int(association.grid.locate(association.observed_grid.centres[[seen]])[0])
                    if inside[a][to, 1 + code]:
                        part += share[true] * association.kernel.dense()[seen, true - 1]
            expected *= part / whole
        assert strays[to, home] == pytest.approx(expected, rel=1e-9)


def test_nodes_hold_what_their_leaves_hold_and_no_record_is_lost(grown):
    growth, associations, cells, classes = grown
    new = with_leaves(growth, associations, cells - 1, classes)
    assert list(new.counts[0]) == list(np.bincount(classes))
    assert (new.counts == np.floor(new.counts)).all()
    assert (new.counts >= 0).all()
    for node in np.flatnonzero(new.attribute >= 0):
        assert list(new.counts[list(new.child_numbers(node))].sum(axis=0)) == list(new.counts[node])
    assert not np.array_equal(new.counts, growth.counts)
    assert np.array_equal(
        sum_over_branches(growth, np.where(growth.attribute[:, None] < 0, growth.counts, 0)), growth.counts
    )


def test_the_leaves_of_true_values_are_as_counted():
    columns = truth(2000, 3)
    table = released(columns, rule(columns), {})
    assert (
        byclass(table).nodes
        == byclass(table, as_counted=True).nodes
        == original(Original(table.columns, table.target)).nodes
    )


@pytest.mark.parametrize("strategy", [byclass, local])
def test_reconstructed_leaves_are_nearer_to_the_truth(strategy):
    columns = truth(30_000, 4)
    classes = bands(columns)
    noise = dict.fromkeys(("x", "y", "junk"), Gaussian(privacy=0.5))
    table, clear = released(columns, classes, noise), released(columns, classes, {})
    errors = []
    for as_counted in (True, False):
        tree = strategy(table, as_counted=as_counted)
        leaf = tree.apply(clear)
        true = np.bincount(leaf * 2 + classes, minlength=2 * len(tree.nodes)).reshape(-1, 2)
        leaves = [i for i, node in enumerate(tree.nodes) if node.test is None]
        errors.append(np.abs(np.array([tree.nodes[i].counts for i in leaves]) - true[leaves]).sum() / 30_000)
    assert errors[1] < 0.9 * errors[0]


def test_long_sets_of_labels_are_cut_short_for_readers():
    from sfumato.trees.rules import _one_of

    assert _one_of(("a",)) == "= a"
    assert _one_of(("a", "b")) == "in {a, b}"
    many = tuple(f"z{i}" for i in range(2000))
    assert _one_of(many) == "in {" + ", ".join(many[:12]) + ", … (2,000 in all)}"
