"""One table with its target, and the original as a type of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.owned_tables import mixed

import sfumato as sf
from sfumato.attacks import View
from sfumato.auditing import audit, compare
from sfumato.channels import Gaussian
from sfumato.errors import SfumatoError, UsageError
from sfumato.guided.base import METHODS
from sfumato.plans import Plan
from sfumato.randomness import SecretKey, Stream
from sfumato.releases import Release, read_original
from sfumato.schema import MISSING_LABEL, Attribute, Categories, Interval, Kind, Missing, Role
from sfumato.table import Column, Original, Table, require_original
from sfumato.trees import original

AGE = Column(Attribute("age", Kind.INTEGER, Interval(0, 99)), None, np.array([31.0, 64.0, 50.0]))
CITY = Column(Attribute("city", Kind.ORDINAL, Categories(("Rome", "Siena"))), None, np.array([0.0, np.nan, 1.0]))
PAYS = Column.of_codes("pays", ("no", "yes"), np.array([1, -1, 0]))
TABLE = Original((AGE, CITY), PAYS)
NOISY = AGE.through(Gaussian(privacy=0.5).on(AGE.attribute), SecretKey(bytes(32)))


def test_the_target_travels_with_its_name_and_labels():
    assert TABLE.target is PAYS
    assert (TABLE.labels, TABLE.codes.tolist(), TABLE.codes.dtype) == (("no", "yes"), [1, -1, 0], np.int64)
    assert [c.name for c in TABLE.all_columns] == ["age", "city", "pays"]
    assert TABLE.take(np.array([2, 0])).codes.tolist() == [0, 1]


def test_a_table_without_a_target_says_what_to_do():
    bare = Table((AGE,))
    assert (bare.labels, bare.rows, bare.all_columns) == ((), 3, (AGE,))
    for ask in (lambda: bare.codes, lambda: bare.required_target):
        with pytest.raises(
            UsageError, match=r"no target; name the target column, or choose one with Table\.with_target"
        ):
            ask()


def test_a_target_of_numbers_is_refused():
    with pytest.raises(UsageError, match="age: a target of numbers has no classes; cut it into categories"):
        Table((CITY,), AGE)
    with pytest.raises(UsageError, match="age: a integer column cannot be a class; choose a categorical one"):
        TABLE.with_target("age")


def test_columns_of_different_lengths_make_no_table_the_target_included():
    with pytest.raises(UsageError, match="columns of 2, 3 rows do not make a table"):
        Table((AGE,), PAYS.take(np.arange(2)))


def test_the_target_is_not_an_attribute_until_another_column_takes_its_place():
    with pytest.raises(UsageError, match="there is no column 'pays'; the columns are age, city"):
        TABLE["pays"]
    turned = TABLE.with_target("city")
    assert (turned.target, turned.labels, turned.codes.tolist()) == (CITY, ("Rome", "Siena"), [0, -1, 1])
    assert [c.name for c in turned.columns] == ["age", "pays"]
    np.testing.assert_array_equal(turned["pays"].values, PAYS.values)


def test_a_missing_value_that_takes_part_is_a_class_of_its_own():
    attribute = Attribute("city", Kind.CATEGORICAL, Categories(("Rome", "Siena")), missing=Missing.CATEGORY)
    turned = Table((AGE, Column(attribute, None, np.array([0.0, 2.0, 1.0])))).with_target("city")
    assert (turned.labels, turned.codes.tolist()) == (("Rome", "Siena", MISSING_LABEL), [0, 2, 1])


def test_the_codes_are_read_only_because_everybody_shares_them():
    with pytest.raises(ValueError, match="read-only"):
        TABLE.codes[0] = 0


def test_rows_of_an_original_are_original_and_other_values_are_not():
    assert type(TABLE.take(np.array([0]))) is Original
    assert type(TABLE.with_target("city")) is Original
    changed = TABLE.with_values({"age": np.zeros(3)}, np.array([0, 0, -1]))
    assert type(changed) is Table
    assert (changed["age"].values.tolist(), changed.codes.tolist()) == ([0, 0, 0], [0, 0, -1])
    assert TABLE.codes.tolist() == [1, -1, 0]


def test_what_went_through_a_channel_is_no_original():
    with pytest.raises(UsageError, match="age went through a channel, so this is not an original"):
        Original((NOISY,), PAYS)
    with pytest.raises(UsageError, match="pays went through a channel"):
        Original((AGE,), Column(PAYS.attribute, NOISY.channel, PAYS.values))


@pytest.mark.parametrize("law", sorted(METHODS))
def test_a_guided_method_refuses_a_release(law):
    table = mixed(3)
    with pytest.raises(UsageError, match=f"{law} needs the original, not a release of it; read it with read_original"):
        METHODS[law].plan({}).perturb(Table(table.columns, table.target), Stream(SecretKey(bytes(32))))


def test_the_tree_of_the_original_refuses_a_release():
    with pytest.raises(UsageError, match="the strategy original needs the original"):
        original(Table((NOISY, CITY), PAYS))
    assert require_original(TABLE, "anybody") is TABLE


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Release:
    return sf.release("iris", Plan.propose("iris"), tmp_path_factory.mktemp("table") / "release")


def test_the_original_and_the_release_are_read_as_different_types(made):
    true, seen = read_original("iris", made.manifest), made.read_table()
    assert (type(true), type(seen)) == (Original, Table)
    assert true.target.name == seen.target.name == made.manifest.schema.target.name
    assert all(c.channel is None for c in true.all_columns)
    by_plan = read_original("iris", Plan.propose("iris"))
    for one, other in zip(true.all_columns, by_plan.all_columns, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("door", [compare, audit])
@pytest.mark.parametrize("opened", [True, False])
def test_a_release_in_the_place_of_the_original_is_refused(made, door, opened):
    with pytest.raises(UsageError, match="is a release, not an original; give the table it was made from"):
        door(made if opened else made.folder, made)


@pytest.mark.parametrize("door", [compare, audit])
@pytest.mark.parametrize("opened", [True, False])
def test_original_and_release_are_told_apart_in_either_order(made, door, opened):
    release = made if opened else made.folder
    first, second = (door(*pair).to_dict() | {"seconds": 0} for pair in (("iris", release), (release, "iris")))
    assert first == second


def test_an_original_in_the_place_of_a_release_is_refused(made):
    with pytest.raises(UsageError, match="a view shows a release, and this is an original"):
        View.of(made, read_original("iris", made.manifest))
    with pytest.raises(SfumatoError, match="is not a release"):
        compare("iris", Path(__file__).parent)


def test_a_plan_with_a_target_of_numbers_cannot_be_read_around_its_classes(made):
    plan = Plan.propose("iris")
    names = {"class": Role.ATTRIBUTE, "sepal_length": Role.TARGET}
    from dataclasses import replace

    attributes = tuple(replace(a, role=names.get(a.name, a.role)) for a in plan.schema)
    with pytest.raises(UsageError, match="sepal_length: a target of numbers has no classes"):
        read_original("iris", replace(plan, schema=replace(plan.schema, attributes=attributes)))
