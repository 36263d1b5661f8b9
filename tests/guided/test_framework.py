"""The framework, and what all tree-guided methods promise: walked by name, and counted."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.owned_tables import mixed

from sfumato.errors import DataError, UsageError
from sfumato.guided.base import METHODS, make_method
from sfumato.guided.tree.base import TreeMethod
from sfumato.guided.tree.framework import Framework
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.papers.parties import synthetic_table
from sfumato.randomness import SecretKey, Stream
from sfumato.trees.grow.c45 import c45

LAWS = ("class-random", "class-probabilistic", "class-all-leaves", "innocent", "detective", "framework", "leaf-swap")


def stream(key=0):
    return Stream(SecretKey(bytes([key]) * 32))


def test_the_registry_holds_every_tree_method():
    assert {law for law, method in METHODS.items() if issubclass(method, TreeMethod)} == set(LAWS)
    with pytest.raises(UsageError, match="there is no method 'swap'"):
        make_method("swap", {})


@pytest.mark.parametrize("law", LAWS)
def test_a_method_states_its_parameters_and_comes_back_from_them(law):
    method = METHODS[law]()
    stated = method.to_dict()
    assert stated["law"] == law
    assert type(method).from_dict(stated) == method
    assert type(method).from_dict({k: str(v) for k, v in stated.items() if k != "law"}) == method
    assert all(about for about in type(method).parameters().values())
    with pytest.raises(UsageError, match=f"{law} has no parameter colour"):
        type(method).from_dict({"colour": "red"})
    with pytest.raises(UsageError, match=r"best_of = '2\.5' is not of type int"):
        type(method).from_dict({"best_of": "2.5"})


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("law", LAWS)
def test_a_release_has_the_same_rows_within_the_domains_and_repeats_with_its_key(law, missing):
    owned = mixed(8, rows=160, missing=missing)
    before = [c.values.copy() for c in owned.columns]
    method = METHODS[law]()
    done, again, other = (method.perturb(owned, stream(k)) for k in (0, 0, 1))
    assert done.table.rows == owned.rows
    assert done.table.labels == owned.labels
    different = False
    for c, old in zip(done.table.columns, before, strict=True):
        np.testing.assert_array_equal(owned[c.name].values, old)  # the original is as it was
        np.testing.assert_array_equal(c.values, again.table[c.name].values)
        np.testing.assert_array_equal(np.isnan(c.values).sum(), np.isnan(old).sum())
        known = c.values[~np.isnan(c.values)]
        if c.attribute.kind.numeric:
            assert ((known >= c.attribute.interval.low) & (known <= c.attribute.interval.high)).all()
        else:
            assert set(known.tolist()) <= set(range(len(c.attribute.categories)))
        different |= not np.array_equal(c.values, other.table[c.name].values, equal_nan=True)
    different |= not np.array_equal(done.table.codes, other.table.codes)
    assert different
    assert set(done.changed) == {*(c.name for c in owned.columns), "class"}


@pytest.mark.parametrize("law", LAWS)
def test_the_public_statement_holds_no_value_of_a_record(law):
    owned = mixed(8, rows=160)
    done = METHODS[law]().perturb(owned, stream())
    stated = {**METHODS[law]().to_dict(), **done.public}
    assert not any(isinstance(v, np.ndarray) for v in stated.values())


@pytest.mark.parametrize("law", LAWS)
def test_no_rows_and_no_columns_are_refused(law):
    owned = mixed(1)
    with pytest.raises(DataError, match="has no rows"):
        METHODS[law]().perturb(owned.take(np.zeros(0, np.int64)), stream())
    with pytest.raises(UsageError, match="no column beside the class"):
        METHODS[law]().perturb(type(owned)((), owned.target), stream())


@pytest.mark.parametrize("numbers", ["noise", "swap"])
def test_the_framework_perturbs_every_attribute(numbers):
    owned = synthetic_table("crd", 3)
    done = Framework(numbers=numbers).perturb(owned, stream())
    assert all(share > 0 for share in done.changed.values())
    assert done.warnings == ()
    assert done.owner["expected_changes"] > 0


def test_noise_on_numbers_alone_moves_no_record_to_another_leaf():
    owned = mixed(8, rows=200, numbers=4, categories=0)
    tree = c45(owned)
    for numbers in ("noise", "swap"):
        done = Framework(numbers=numbers).perturb(owned, stream(), tree=tree)
        np.testing.assert_array_equal(tree.apply(done.table), tree.apply(owned))
        np.testing.assert_array_equal(Leaves.of(tree, done.table).counts, Leaves.of(tree, owned).counts)


def test_swapped_numbers_keep_every_table_by_released_class_at_the_root():
    owned = mixed(8, rows=200, numbers=4, categories=0)
    done = Framework(numbers="swap").perturb(owned, stream())
    assert done.changed["class"] > 0
    for column in owned.columns:
        for c in range(len(owned.labels)):
            np.testing.assert_array_equal(
                np.sort(column.values[owned.codes == c]),
                np.sort(done.table[column.name].values[done.table.codes == c]),
            )


def test_a_column_that_stays_in_clear_is_named():
    owned = mixed(8, rows=120)
    constant = type(owned.columns[0])(owned.columns[0].attribute, None, np.zeros(120))
    done = Framework().perturb(type(owned)((constant, *owned.columns[1:]), owned.target), stream())
    assert any(w.startswith("n0: released as in the original") for w in done.warnings)
