"""The 2000 paper's strategies on small tables: they recover what noise hid, on any mix of columns."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.channels import Gaussian, Intervals, SquareWave, Substitution, Uniform
from sfumato.errors import DataError, UsageError
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Original, Table
from sfumato.trees.grow.growth import Limits
from sfumato.trees.strategies import published as local_module
from sfumato.trees.strategies.base import STRATEGIES
from sfumato.trees.strategies.published import as_released, byclass, global_, local, original

KEY = SecretKey(bytes(range(32)))
ATTRIBUTES = (
    Attribute("age", Kind.REAL, Interval(20.0, 80.0)),
    Attribute("level", Kind.INTEGER, Interval(0, 4)),
    Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue", "grey"))),
    Attribute("size", Kind.ORDINAL, Categories(("S", "M", "L", "XL"))),
    Attribute("plain", Kind.REAL, Interval(0.0, 1.0)),
)


def truth(n, seed):
    rng = np.random.default_rng(seed)
    return {
        "age": 20 + 60 * rng.random(n),
        "level": rng.integers(0, 5, n).astype(float),
        "colour": rng.integers(0, 4, n).astype(float),
        "size": rng.integers(0, 4, n).astype(float),
        "plain": rng.random(n),
    }


def released(columns, classes, channels, labels=("A", "B")):
    out = []
    for attribute in ATTRIBUTES:
        channel = channels.get(attribute.name)
        law = None if channel is None else channel.on(attribute)
        values = columns[attribute.name]
        noisy = values if law is None else law.perturb(KEY.derive(attribute.name), Rows(0, len(values)), values)
        out.append(Column(attribute, law, np.where(np.isnan(values), np.nan, noisy)))
    return Table(tuple(out), Column.of_codes("class", labels, classes))


def old(columns):
    """Function 1 of the paper: young and old against the middle."""
    return ((columns["age"] >= 40) & (columns["age"] < 60)).astype(np.int64)


def test_correction_beats_no_correction_under_uniform_noise():
    train, test = truth(20_000, 1), truth(4000, 2)
    table = released(train, old(train), {"age": Uniform(privacy=1.0), "level": Uniform(privacy=1.0)})
    clear = released(test, old(test), {})
    accuracy = {
        name: STRATEGIES[name].fit(table).accuracy(clear, old(test))
        for name in ("randomized", "global", "byclass", "local")
    }
    assert accuracy["byclass"] > 0.95
    assert accuracy["local"] > 0.95
    assert accuracy["byclass"] > accuracy["global"] >= accuracy["randomized"]
    assert original(Original(clear.columns, clear.target)).accuracy(clear, old(test)) > 0.995


def test_categories_are_recovered_through_substitution():
    train, test = truth(20_000, 3), truth(4000, 4)

    def warm(columns):
        return np.isin(columns["colour"], [0, 3]).astype(np.int64) * 2 + (columns["size"] >= 2)

    channels = {"colour": Substitution(gamma=9), "size": Substitution(gamma=20), "age": SquareWave(epsilon=1.0)}
    table = released(train, warm(train), channels, ("a", "b", "c", "d"))
    clear = released(test, warm(test), {}, ("a", "b", "c", "d"))
    for strategy in (byclass, local):
        tree = strategy(table)
        assert tree.accuracy(clear, warm(test)) > 0.99
        assert set(tree.used) == {"colour", "size"}


def test_interval_membership_cuts_at_the_intervals_ends():
    train = truth(8000, 5)
    table = released(train, (train["age"] >= 50).astype(np.int64), {"age": Intervals(count=6)})
    tree = byclass(table)
    assert tree.nodes[0].test.threshold == 50
    assert tree.leaves == 2


def test_columns_released_as_true_are_used_as_they_are():
    train = truth(5000, 6)
    classes = (train["plain"] >= 0.37).astype(np.int64)
    tree = byclass(released(train, classes, {"age": Gaussian(privacy=1.0)}))
    assert tree.used == ("plain",)
    assert tree.nodes[0].test.threshold == pytest.approx(0.37, abs=0.003)
    assert tree.accuracy(released(train, classes, {}), classes) > 0.997


def test_missing_values_and_missing_classes_do_no_harm():
    train, test = truth(20_000, 7), truth(3000, 8)
    classes = old(train)
    holes = np.random.default_rng(9).random((2, 20_000)) < 0.2
    train["age"] = np.where(holes[0], np.nan, train["age"])
    train["colour"] = np.where(holes[1], np.nan, train["colour"])
    classes = np.where(np.random.default_rng(10).random(20_000) < 0.1, -1, classes)
    table = released(train, classes, {"age": Gaussian(privacy=0.5), "colour": Substitution(gamma=9)})
    clear = released(test, old(test), {})
    for strategy in (as_released, global_, byclass, local):
        tree = strategy(table)
        assert tree.nodes[0].total == np.count_nonzero(classes >= 0)
        assert tree.accuracy(clear, old(test)) > 0.8


def test_permuting_rows_changes_nothing_beyond_chance():
    train, test = truth(20_000, 11), truth(4000, 12)
    table = released(train, old(train), {"age": Gaussian(privacy=1.0), "level": Gaussian(privacy=1.0)})
    clear = released(test, old(test), {})
    order = np.lexsort((train["plain"], old(train)))
    first, second = (byclass(t).accuracy(clear, old(test)) for t in (table, table.take(order)))
    assert first == pytest.approx(second, abs=0.02)


def test_local_reconstructs_again_below_a_split_and_keeps_what_was_split_on():
    # Within either half of `plain`, age decides the class in opposite ways: at the root nothing about age can be seen.
    train, test = truth(30_000, 13), truth(4000, 14)

    def crossed(columns):
        middle = (columns["age"] >= 40) & (columns["age"] < 60)
        return np.where(columns["plain"] < 0.45, middle, ~middle).astype(np.int64)

    table = released(train, crossed(train), {"age": Uniform(privacy=0.8)})
    clear = released(test, crossed(test), {})
    limits = Limits(min_leaf=50)
    assert local(table, limits).accuracy(clear, crossed(test)) > 0.95
    assert local(table, limits).accuracy(clear, crossed(test)) > byclass(table, limits).accuracy(clear, crossed(test))


def test_local_without_large_nodes_is_byclass(monkeypatch):
    train = truth(6000, 15)
    table = released(train, old(train), {"age": Gaussian(privacy=0.5), "colour": Substitution(gamma=6)})
    monkeypatch.setattr(local_module, "MIN_ROWS", 10**9)
    assert local(table).nodes == byclass(table).nodes


def test_a_table_without_class_columns_or_records_is_refused_in_words():
    train = truth(50, 16)
    table = released(train, old(train), {"age": Gaussian(privacy=0.5)})
    with pytest.raises(UsageError, match="target"):
        byclass(Table(table.columns))
    with pytest.raises(UsageError, match="at least one attribute"):
        byclass(Table((), table.target))
    with pytest.raises(DataError, match="no record has a class"):
        byclass(table.with_values({}, np.full(50, -1)))
    with pytest.raises(UsageError, match="needs the original, not a release"):
        original(table)


def test_one_class_and_few_rows_give_a_leaf():
    train = truth(5, 17)
    for classes in (np.zeros(5, np.int64), np.array([0, 1, 0, 1, 0])):
        table = released(train, classes, {"age": Gaussian(privacy=0.5), "colour": Substitution(gamma=3)})
        for strategy in (as_released, global_, byclass, local):
            assert strategy(table).leaves == 1
