"""Class noise: the law of the number of changes, what each kind keeps, and what an intruder can still tell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.owned_tables import category, mixed, table

from sfumato.errors import UsageError
from sfumato.guided.tree import class_noise as noise
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.randomness import SecretKey, Stream
from sfumato.trees.grow.c45 import c45


def stream(number=0):
    return Stream(SecretKey(bytes([number]) * 32))


# Two classes, one leaf with m = 6 and n = 2: E(N) = 2·6·2/8 = 3.
PAPER = np.array([[6.0, 2.0], [5.0, 0.0]])
COUNTS = np.array([[6.0, 2.0, 0.0], [1.0, 4.0, 5.0], [7.0, 0.0, 0.0]])


def test_expected_changes_and_variances_are_the_papers_for_two_classes():
    assert noise.expected_changes(PAPER) == pytest.approx(3.0)
    assert noise.random_variance(PAPER) == pytest.approx(4 * 36 * 4 / (64 * 7))
    assert noise.probabilistic_variance(PAPER) == pytest.approx(12 / 8)
    assert noise.all_leaves_rate(PAPER) == pytest.approx(3 / 13)
    assert noise.all_leaves_variance(PAPER) == pytest.approx(13 * 3 / 13 * 10 / 13)


@pytest.mark.parametrize("counts", [PAPER, COUNTS], ids=["two classes", "three classes"])
@pytest.mark.parametrize("law", ["random", "probabilistic", "all leaves"])
def test_changes_follow_their_stated_mean_and_variance(law, counts):
    draws, k = 20_000, counts.shape[1]
    size = int(counts.sum())
    leaf = np.repeat(np.arange(len(counts)), counts.sum(axis=1).astype(int))
    classes = np.concatenate([np.repeat(np.arange(k), row.astype(int)) for row in counts])
    many, leaves = np.tile(classes, draws), np.tile(leaf, draws)
    if law == "random":
        new = noise.permute_labels(many, leaves + len(counts) * np.repeat(np.arange(draws), size), stream())
        variance = noise.random_variance(counts)
    elif law == "probabilistic":
        new = noise.redraw_labels(leaves, counts, stream())
        variance = noise.probabilistic_variance(counts)
    else:
        new = noise.flip_labels(many, noise.all_leaves_rate(counts), k, stream())
        variance = noise.all_leaves_variance(counts)
    changes = (new != many).reshape(draws, size).sum(axis=1)
    assert changes.mean() == pytest.approx(noise.expected_changes(counts), abs=4 * np.sqrt(variance / draws))
    assert changes.var() == pytest.approx(variance, rel=0.06)


def test_all_leaves_changes_to_every_other_class_alike():
    new = noise.flip_labels(np.zeros(40_000, np.int64), 0.6, 4, stream())
    counts = np.bincount(new, minlength=4)
    np.testing.assert_allclose(counts, [16_000, 8_000, 8_000, 8_000], atol=5 * np.sqrt(40_000 * 0.24))


def test_random_keeps_the_classes_of_every_leaf():
    owned = mixed(3, rows=200)
    tree = c45(owned)
    before = Leaves.of(tree, owned).counts
    after = noise.ClassRandom().perturb(owned, stream(), tree=tree).table
    np.testing.assert_array_equal(Leaves.of(tree, after).counts, before)
    assert (after.codes != owned.codes).any()


def test_random_and_probabilistic_leave_homogeneous_leaves_alone():
    owned = mixed(3, rows=200, signal=2.0)
    tree = c45(owned)
    leaves = Leaves.of(tree, owned)
    pure = ~leaves.heterogeneous[leaves.number]
    assert pure.any()
    for method in (noise.ClassRandom(), noise.ClassProbabilistic()):
        after = method.perturb(owned, stream(1), tree=tree).table
        np.testing.assert_array_equal(after.codes[pure], owned.codes[pure])


def test_the_released_label_says_nothing_beyond_the_leaf():
    # A leaf of 3 and 1: under Random the label of a record is right with 3/4 or 1/4, whatever it was.
    leaf, classes = np.zeros(40_000, np.int64) + np.repeat(np.arange(10_000), 4), np.tile([0, 0, 0, 1], 10_000)
    new = noise.permute_labels(classes, leaf, stream()).reshape(-1, 4)
    np.testing.assert_allclose(new.mean(axis=0), 0.25, atol=5 * np.sqrt(0.1875 / 10_000))


def test_an_intruder_believes_the_leaf_and_under_all_leaves_bayes():
    leaf = np.array([0, 0, 1])
    np.testing.assert_allclose(noise.leaf_posterior(PAPER, leaf), [[0.75, 0.25], [0.75, 0.25], [1, 0]])
    # Prior 3:1, flip rate 0.2: a released minority label gives .75·.2 : .25·.8 = 3 : 4.
    found = noise.flip_posterior(PAPER, leaf, np.array([1, 0, 0]), 0.2)
    np.testing.assert_allclose(found, [[3 / 7, 4 / 7], [12 / 13, 1 / 13], [1, 0]])


def test_the_report_says_what_was_expected_and_what_happened():
    owned = mixed(1, rows=300)
    done = noise.ClassRandom().perturb(owned, stream())
    assert done.owner["changes"] == (done.table.codes != owned.codes).sum()
    assert done.changed["class"] == pytest.approx(done.owner["changes"] / 300)
    assert done.owner["best_guess_right"] == pytest.approx(done.owner["certainty"].mean())
    assert any("class noise protects minority records only" in w for w in done.warnings)
    assert any("n0" in w and "released as in the original" in w for w in done.warnings)


def test_the_best_of_several_draws_is_released():
    owned = mixed(2, rows=150)
    tree = c45(owned)
    done = noise.ClassRandom(best_of=4).perturb(owned, stream(), tree=tree)
    seen = done.owner["rule_similarity_of_draws"]
    assert len(seen) == 4
    assert done.similarity.rule_similarity == max(seen) > min(seen)


def test_missing_classes_stay_missing_and_one_class_stays_one():
    owned = mixed(2, rows=100)
    owned.target.values[:7] = np.nan
    for method in (noise.ClassRandom(), noise.ClassProbabilistic(), noise.ClassAllLeaves()):
        after = method.perturb(owned, stream()).table.codes
        np.testing.assert_array_equal(after[:7], -1)
        assert (after[7:] >= 0).all()
    single = table([category("c", np.arange(20) % 3, "abc")], np.zeros(20), ("only",))
    assert noise.ClassAllLeaves().perturb(single, stream()).owner["changes"] == 0


def test_a_table_without_a_class_is_refused():
    owned = mixed(0)
    with pytest.raises(UsageError, match="class-random perturbs around a decision tree and needs a class"):
        noise.ClassRandom().perturb(type(owned)(owned.columns), stream())
