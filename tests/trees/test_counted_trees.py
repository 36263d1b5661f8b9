"""Trees from counts of blocks are the trees of the records, node for node and count for count."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from sfumato.channels import Gaussian, Intervals, Laplace, SquareWave, Substitution, Uniform
from sfumato.errors import DataError, UsageError
from sfumato.hashing import choose_rows
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind, Missing
from sfumato.table import Column, Original, Table
from sfumato.trees.distributed import counted_growth as counted_module
from sfumato.trees.distributed import order_statistics as selection
from sfumato.trees.distributed.counted_growth import grow_counted_tree
from sfumato.trees.grow import KeepHopeful
from sfumato.trees.strategies import published as local_module
from sfumato.trees.strategies.association import quantile_grid
from sfumato.trees.strategies.base import STRATEGIES

KEY = SecretKey(bytes(range(32)))


@dataclass
class InBlocks:
    """A table that only shows itself in blocks of uneven size, in any order, through pickled kernels."""

    whole: Table
    cuts: tuple[int, ...] = (0, 700, 701, 2300)
    folds: int = 0

    @property
    def table(self):
        return self.whole.take(np.zeros(0, np.int64))

    def fold(self, count):
        self.folds += 1
        count = pickle.loads(pickle.dumps(count))
        bounds = [*self.cuts, self.whole.rows]
        parts = []
        for begin, end in pairwise(bounds):
            rows = np.arange(begin, end)
            parts.append(count(self.whole.take(rows), rows))
        total = parts[-1]
        for part in parts[:-1]:
            total = part + total
        return total

    def sample(self, size):
        return self.whole.take(np.sort(choose_rows(np.arange(self.whole.rows), size)))


def people(n, seed, channels, *, gaps=0.0, classless=0.0, labels=("A", "B")):
    rng = np.random.default_rng(seed)
    attributes = (
        Attribute("age", Kind.REAL, Interval(20.0, 80.0)),
        Attribute("pay", Kind.INTEGER, Interval(0, 5000)),
        Attribute("level", Kind.INTEGER, Interval(0, 4)),
        Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue", "grey"))),
        Attribute("size", Kind.ORDINAL, Categories(("S", "M", "L")), missing=Missing.CATEGORY),
        Attribute("plain", Kind.REAL, Interval(0.0, 1.0)),
        Attribute("few", Kind.INTEGER, Interval(0, 30)),
    )
    values = [
        20 + 60 * rng.random(n),
        rng.integers(0, 5001, n).astype(float),
        rng.integers(0, 5, n).astype(float),
        rng.integers(0, 4, n).astype(float),
        rng.integers(0, 4, n).astype(float),
        np.round(rng.random(n) ** 3, 3),
        rng.integers(0, 31, n).astype(float),
    ]
    score = (values[0] > 45) * 1.0 + (values[1] > 2500) + (values[3] == 2) + (values[5] > 0.3) + (values[6] > 20)
    classes = np.digitize(
        score + rng.normal(0, 0.4, n), np.linspace(1.2, 3.2, len(labels) - 1) if len(labels) > 2 else [2.2]
    )
    columns = []
    for attribute, column in zip(attributes, values, strict=True):
        law = channels.get(attribute.name)
        law = None if law is None else law.on(attribute)
        out = column if law is None else law.perturb(KEY.derive(attribute.name), Rows(0, n), column)
        if attribute.name in ("age", "pay", "level", "plain"):
            out = np.where(rng.random(n) < gaps, np.nan, out)
        columns.append(Column(attribute, law, out))
    return Table(tuple(columns), Column.of_codes("class", labels, np.where(rng.random(n) < classless, -1, classes)))


MIXES = {
    "noise": {"age": Gaussian(privacy=0.5), "pay": Uniform(privacy=0.5), "level": Laplace(privacy=0.5)},
    "outputs": {"age": Intervals(count=8), "level": Substitution(gamma=6), "colour": Substitution(gamma=5),
                "size": Substitution(gamma=5), "pay": SquareWave(epsilon=2.0)},
    "both": {"age": Gaussian(privacy=0.5), "pay": Gaussian(privacy=0.25), "colour": Substitution(gamma=8),
             "size": Substitution(gamma=8), "few": Intervals(count=5)},
    "none": {},
}  # fmt: skip


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("strategy", ["byclass", "local", "global", "randomized"])
def test_counts_of_blocks_grow_the_tree_of_the_rows(mix, strategy, monkeypatch):
    monkeypatch.setattr(selection, "MAX_GATHERED", 300)  # so that ranks are looked for in several rounds
    monkeypatch.setattr(counted_module, "MIN_ROWS", 300)
    monkeypatch.setattr(local_module, "MIN_ROWS", 300)
    monkeypatch.setattr(counted_module, "MAX_LEVEL_CELLS", 30_000)  # so that wide levels come in parts
    table = people(3500, 5, MIXES[mix], gaps=0.03, classless=0.02)
    expected = STRATEGIES[strategy].fit(table)
    blocks = InBlocks(table)
    found = grow_counted_tree(blocks, strategy)
    assert found.to_dict() == expected.to_dict()
    assert expected.leaves > 3


def test_three_classes_and_complete_records(monkeypatch):
    monkeypatch.setattr(counted_module, "MIN_ROWS", 500)
    monkeypatch.setattr(local_module, "MIN_ROWS", 500)
    table = people(5000, 9, MIXES["both"], labels=("low", "middle", "high"))
    for strategy in ("byclass", "local", "global"):
        assert grow_counted_tree(InBlocks(table), strategy).to_dict() == STRATEGIES[strategy].fit(table).to_dict()
    clear = people(5000, 9, {})
    clear = Original(clear.columns, clear.target)
    assert grow_counted_tree(InBlocks(clear), "original").to_dict() == STRATEGIES["original"].fit(clear).to_dict()


def test_by_class_folds_once_a_level_after_its_associations():
    table = people(6000, 5, {"age": Gaussian(privacy=0.5)}, gaps=0.0)
    blocks = InBlocks(table)
    tree = grow_counted_tree(blocks, "byclass")
    grown = STRATEGIES["byclass"].fit(table, pruner=KeepHopeful())
    # Class counts; quantiles of the true columns and their neighbours; reconstruction and thresholds; one a level; the leaves.
    deepest = grown.depth
    assert blocks.folds == 6 + deepest
    assert tree.depth > 2


def test_equal_released_values_are_told_apart_by_their_rows():
    """On a lattice the hash of the row draws them apart; equal floats without a lattice stand in row order."""
    rng = np.random.default_rng(2)
    attribute = Attribute("x", Kind.REAL, Interval(0.0, 10.0))
    values = np.round(rng.normal(5, 3, 4000))
    classes = (values + rng.normal(0, 2, 4000) > 5).astype(np.int64)
    for step in (1.0, 0.0):
        law = replace(Gaussian(sigma=2.0).on(attribute), step=step)
        table = Table((Column(attribute, law, values),), Column.of_codes("class", ("n", "y"), classes))
        for strategy in ("byclass", "local", "global"):
            assert grow_counted_tree(InBlocks(table), strategy).to_dict() == STRATEGIES[strategy].fit(table).to_dict()


def test_too_many_equal_values_are_an_error_with_the_next_step(monkeypatch):
    monkeypatch.setattr(selection, "MAX_GATHERED", 50)
    monkeypatch.setattr(selection, "MAX_EQUAL_GATHERED", 50)
    attribute = Attribute("x", Kind.REAL, Interval(0.0, 10.0))
    values = np.repeat([3.0, 7.0], 2000)
    law = replace(Gaussian(sigma=2.0).on(attribute), step=0.0)
    table = Table((Column(attribute, law, values),), Column.of_codes("class", ("n", "y"), np.tile([0, 1], 2000)))
    with pytest.raises(DataError, match="have the same released value where a cut is to be made"):
        grow_counted_tree(InBlocks(table), "byclass")


def test_what_cannot_be_done_by_counts_is_named():
    table = people(500, 1, MIXES["noise"])
    with pytest.raises(UsageError, match="by counts there are byclass, global, local, randomized"):
        grow_counted_tree(InBlocks(table, (0,)), "mixture")
    with pytest.raises(UsageError, match="age, pay, level was perturbed"):
        grow_counted_tree(InBlocks(table, (0,)), "original")
    with pytest.raises(UsageError, match="needs a class"):
        grow_counted_tree(InBlocks(Table(table.columns), (0,)), "byclass")
    nobody = table.with_values({}, np.full(500, -1))
    with pytest.raises(DataError, match="no record has a class"):
        grow_counted_tree(InBlocks(nobody, (0,)), "byclass")


def test_floats_and_their_numbers_are_in_the_same_order():
    values = np.array([-np.inf, -2.5, -1e-300, -0.0, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2), np.inf])
    words = selection.order_words(values)
    assert (np.diff(words.astype(object)) >= 0).all()
    assert words[3] == words[4]
    np.testing.assert_array_equal(selection.unorder_words(words), values)


@pytest.mark.parametrize("gathered", [1, 40, 10**6])
def test_ranks_are_found_exactly(gathered, monkeypatch):
    monkeypatch.setattr(selection, "MAX_GATHERED", gathered)
    rng = np.random.default_rng(3)
    values, lists = rng.normal(0, 1e3, 5000), rng.integers(-1, 4, 5000)
    words, rows = selection.order_words(values), np.arange(5000)
    sizes = np.bincount(lists[lists >= 0], minlength=4)
    which = np.repeat(np.arange(3), 7)  # of the last list nothing is asked
    ranks = np.concatenate([np.linspace(0, sizes[i] - 1, 7).astype(int) for i in range(3)])
    asked = selection.WantedRanks(which, ranks, sizes, np.full(4, words.min()), np.full(4, words.max()))
    found = selection.select(
        {0: asked},
        lambda slots: {0: slots[0].counts(lists, words)},
        lambda slots: {0: selection.Gathered(*(lambda r, s: (s, words[r], rows[r]))(*slots[0].locate(lists, words)))},
    )[0]
    expected = [np.sort(values[lists == i])[r] for i, r in zip(which, ranks, strict=True)]
    np.testing.assert_array_equal(selection.unorder_words(found.words), expected)
    np.testing.assert_array_equal(values[found.rows], expected)


def test_the_grid_of_true_values_is_cut_between_the_same_values():
    for n, step in ((3000, 0.001), (700, 0.01), (1, 1.0), (2500, 1e-9)):
        values = np.round(np.random.default_rng(n).random(n) / step) * step
        attribute = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
        table = Table(
            (Column(attribute, None, values),), Column.of_codes("class", ("n", "y"), (values > 0.5).astype(int))
        )
        blocks = InBlocks(table, (0,))
        seen = blocks.fold(counted_module.TrueValues((0,)))
        grid = counted_module._true_grids(blocks, table.columns, seen)[0]
        np.testing.assert_array_equal(grid.points, quantile_grid(values, 0.0, 1.0).points)
