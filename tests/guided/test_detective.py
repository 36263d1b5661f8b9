"""DETECTIVE: the law of a leaf, draws that follow it, similar values, chaining."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.owned_tables import category, mixed, table

from sfumato.errors import UsageError
from sfumato.guided.tree.detective import Detective, deal_shares, expected_change
from sfumato.guided.tree.owner_tree import Segments, similar_values, value_pairs
from sfumato.papers.parties import synthetic_table
from sfumato.randomness import SecretKey, Stream


def stream(key=0):
    return Stream(SecretKey(bytes([key]) * 32))


CSD = synthetic_table("csd", 5)
CAR = Segments.of(CSD, "car")


def test_the_tree_of_the_car_is_the_papers_figure():
    assert CAR.tree.nodes[0].test.attribute == "status"
    assert CAR.tree.used == ("profession", "status")
    leaf1, siblings = CAR.leaves[0], CAR.leaves[1:]
    assert CAR.counts[leaf1].tolist() == [62, 132, 5, 48]
    assert CAR.counts[siblings].tolist() == [[36, 0, 0, 0], [0, 0, 0, 56], [46, 0, 14, 0]]
    assert [CAR.siblings(int(leaf)) for leaf in siblings] == [
        [int(s) for s in siblings if s != leaf] for leaf in siblings
    ]
    assert CAR.siblings(int(leaf1)) == []  # its sibling is split again


def test_similarities_are_the_papers():
    leaf1, leaf3, union = similar_values(CAR)
    assert [(p.first, p.second, p.similarity) for p in leaf1.pairs[:3]] == [
        ("Toyota", "Ford", 8184), ("Ford", "Nissan", 6336), ("Toyota", "Nissan", 2976),
    ]  # fmt: skip
    assert (leaf3.pairs[0].first, leaf3.pairs[0].second) == ("Toyota", "Holden")
    assert len(union.nodes) == 3
    assert ("Toyota", "Nissan") in {(p.first, p.second) for p in union.pairs}
    assert value_pairs(np.array([3.0, 0.0, 2.0]), ("a", "b", "c"))[0].similarity == 6


def test_the_law_of_a_leaf_is_worked_by_hand():
    leaf = int(CAR.leaves[3])  # Toyota 46, Holden 14; siblings' majorities Toyota and Nissan
    f = np.array([46, 0, 14, 0]) / 60
    np.testing.assert_allclose(CAR.law(leaf, 0.2), 0.8 * f + 0.2 * np.array([0.5, 0, 0, 0.5]))
    np.testing.assert_allclose(CAR.law(leaf, 0.2, v=0.1), 0.9 * (0.8 * f + 0.2 * np.array([0.5, 0, 0, 0.5])) + 0.1 / 4)
    lone = int(CAR.leaves[0])
    np.testing.assert_allclose(CAR.law(lone, 0.2), np.array([62, 132, 5, 48]) / 247)  # no siblings: p is 0
    # One level higher than its parent, leaf 1's cousins are the three others: Toyota, Nissan, Toyota.
    np.testing.assert_allclose(
        CAR.law(lone, 0.3, up=2), 0.7 * np.array([62, 132, 5, 48]) / 247 + 0.3 * np.array([2 / 3, 0, 0, 1 / 3])
    )


@pytest.mark.parametrize("draws", ["iid", "shuffle"])
def test_draws_follow_the_law_of_their_leaf(draws):
    method = Detective(p=0.2, v=0.1, draws=draws, attributes="car")
    runs = 300
    seen = np.zeros((len(CAR.leaves), 4))
    source = stream(7)
    place = np.searchsorted(CAR.leaves, CAR.node)
    for _ in range(runs):
        np.add.at(seen, (place, method.new_values(CSD, {"car": CAR}, source)["car"].astype(int)), 1)
    expected = np.array([CAR.law(int(leaf), 0.2, 0.1) for leaf in CAR.leaves]) * seen.sum(axis=1, keepdims=True)
    assert seen[expected == 0].sum() == 0
    chi = ((seen - expected) ** 2 / np.where(expected > 0, expected, 1)).sum()
    assert chi < 45  # 12 degrees of freedom: p < 1e-5


def test_the_new_value_is_independent_of_the_old_one_given_the_leaf():
    leaf1 = np.flatnonzero(CAR.node == CAR.leaves[0])
    old = CSD["car"].values[leaf1].astype(int)
    counts = np.zeros((4, 4))
    source = stream(3)
    for _ in range(200):
        new = Detective(p=0.3, attributes="car").new_values(CSD, {"car": CAR}, source)["car"][leaf1].astype(int)
        np.add.at(counts, (old, new), 1)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 40  # 9 degrees of freedom


def test_shuffling_without_moves_is_an_exact_permutation_in_every_leaf():
    after = Detective(p=0.0).perturb(CSD, stream()).table
    for name in ("country", "car", "profession"):
        own = Segments.of(CSD, name)
        for leaf in own.leaves:
            here = own.node == leaf
            np.testing.assert_array_equal(np.sort(after[name].values[here]), np.sort(CSD[name].values[here]))


def test_dealing_keeps_to_the_whole_numbers_around_each_share():
    shares = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
    group = np.array([0] * 7 + [1] * 3)
    seen = np.array([np.bincount(deal_shares(shares, group, stream(i))[:7], minlength=3) for i in range(200)])
    assert set(seen[:, 0]) <= {3, 4}
    assert set(seen[:, 1]) <= {2, 3}
    assert set(seen[:, 2]) <= {1, 2}
    np.testing.assert_allclose(seen.mean(axis=0), 7 * shares[0], atol=0.15)
    assert (deal_shares(shares, group, stream())[7:] == 1).all()


def test_as_many_values_change_as_expected():
    method = Detective(p=0.1, attributes="car")
    expected = expected_change(CAR, 0.1)
    source = stream(1)
    seen = [method.perturb(CSD, source).changed["car"] for _ in range(30)]
    assert np.mean(seen) == pytest.approx(expected, abs=0.015)
    assert method.perturb(CSD, source).owner["expected_change"]["car"] == expected


def test_the_papers_combination_perturbs_every_attribute_from_the_original_table():
    alone = Detective(p=0.1, attributes="country").perturb(CSD, stream())
    together = Detective(p=0.1, attributes="country,car").perturb(CSD, stream())
    np.testing.assert_array_equal(alone.table["country"].values, together.table["country"].values)
    assert together.table["profession"] is CSD["profession"]


def test_chained_leaves_are_found_from_the_values_released_so_far():
    x = np.repeat([0, 1], 40)
    owned = table([category("a", x, "uv"), category("b", x, "uv")], x, ("n", "y"))
    # a follows the class exactly and so does b; once a is redrawn from anywhere, chained b follows a, not the old class.
    segments = {name: Segments.of(owned, name) for name in ("a", "b")}
    assert segments["b"].tree.nodes[0].test.attribute == "a"
    after = Detective(p=0.0, v=1.0, attributes="a").new_values(owned, {"a": segments["a"]}, stream())["a"]
    chained = Detective(p=0.0, chained=True).new_values(owned, {"b": segments["b"]}, stream(), others={"a": after})
    np.testing.assert_array_equal(chained["b"], after)


def test_missing_values_stay_missing_and_others_are_drawn():
    owned = mixed(4, rows=200, missing=0.2)
    for chained in (False, True):
        done = Detective(p=0.2, chained=chained).perturb(owned, stream())
        for name in ("c0", "c1"):
            np.testing.assert_array_equal(np.isnan(done.table[name].values), np.isnan(owned[name].values))
            assert done.changed[name] > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 1.2}, "p = 1.2 is not a probability"),
        ({"v": -0.1}, "v = -0.1 is not a probability"),
        ({"up": 0}, "up = 0 reaches no sibling"),
        ({"draws": "lots"}, "draws = 'lots' is unknown"),
    ],
)
def test_wrong_parameters_are_refused(change, message):
    with pytest.raises(UsageError, match=message):
        Detective(**change)


def test_numbers_are_refused_by_name_and_a_table_without_categories_as_well():
    owned = mixed(1, categories=0)
    with pytest.raises(UsageError, match="no categorical column"):
        Detective().perturb(owned, stream())
    with pytest.raises(UsageError, match="n0: detective perturbs categories"):
        Detective(attributes="n0").perturb(owned, stream())
