"""Trees beside a long list of labels: no worse than without it, the same through products as through arrays."""

import numpy as np
import pytest

from sfumato.channels import Gaussian, Projective, Substitution
from sfumato.channels import transition as transitions
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Original, Table
from sfumato.trees.grow import splits
from sfumato.trees.grow.splits import BinarySplitter, class_bits
from sfumato.trees.strategies.base import STRATEGIES
from sfumato.trees.strategies.best_tree import fit_tree
from sfumato.trees.strategies.published import byclass, local, original

KEY = SecretKey(bytes(range(32)))


def labelled(size: int) -> Attribute:
    return Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"z{i}" for i in range(size))))


def tables(rows: int, size: int, law, seed: int = 4, gaps: bool = False):
    """Age decides the class nine times in ten and the label says nothing; as released, and as it is."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    label = np.minimum(rng.geometric(5 / size, rows) - 1, size - 1).astype(float)
    if gaps:
        label[rng.random(rows) < 0.1] = np.nan
    classes = ((age > 50) ^ (rng.random(rows) < 0.1)).astype(np.int64)
    true = (Column(labelled(size), None, label), Column(Attribute("age", Kind.INTEGER, Interval(18, 90)), None, age))
    blurred = true[0] if law is None else true[0].through(law.on(labelled(size)), KEY.derive("zip"))
    noisy = true[1].through(Gaussian(privacy=0.5).on(true[1].attribute), KEY.derive("age"))
    labels = ("no", "yes")
    target = Column.of_codes("class", labels, classes)
    return Table((blurred, noisy), target), Table(true, target)


LAWS = {"projective": Projective(epsilon=2.0), "substitution": Substitution(gamma=2000.0), "true": None}


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("strategy", ["randomized", "global", "byclass", "local"])
def test_a_tree_is_no_worse_for_a_long_list_that_says_nothing(strategy, law):
    released, _ = tables(4000, 1500, LAWS[law])
    _, judge = tables(4000, 1500, LAWS[law], seed=5)
    less = Table(released.columns[1:], released.target)
    right = [
        float(np.mean(STRATEGIES[strategy].fit(table).predict_codes(judge) == judge.codes))
        for table in (released, less)
    ]
    # One distribution for all classes leaves noise in every label: global tests the list in two releases of eight.
    assert right[0] >= right[1] - (0.04 if strategy == "global" else 0.01)
    assert right[1] > 0.7


def test_a_long_list_that_decides_the_class_is_still_tested():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 400, 20_000)
    classes = (label % 2 == 0).astype(np.int64)
    tree = original(
        Original((Column(labelled(400), None, label.astype(float)),), Column.of_codes("class", ("no", "yes"), classes))
    )
    assert tree.leaves == 2


def test_a_subset_of_a_long_list_must_save_more_bits_than_it_takes(monkeypatch):
    # Two records a label, of the same class: 4 labels of each class. One record of 16 takes one bit, so 16 are saved,
    # and naming one of 2^7 − 1 subsets takes 7. With one record a label 8 are saved, and with classes mixed none.
    monkeypatch.setattr(splits, "MAX_FREE_LABELS", 4)
    splitter = BinarySplitter(categorical=frozenset({0}))
    pure = np.zeros((1, 2, 9))
    pure[0, 0, 1:5] = pure[0, 1, 5:] = 2.0
    assert splitter.best([pure], 1.0).attribute[0] == 0
    assert class_bits(np.array([[8.0, 8.0]]))[0] == pytest.approx(16.0)
    mixed = np.zeros((1, 2, 9))
    mixed[0, 0, 1:] = 5.0
    mixed[0, 1, 1:] = [5.0, 5.0, 5.0, 5.0, 4.0, 6.0, 4.0, 6.0]  # a tenth of a bit or so
    assert splitter.best([mixed], 1.0).attribute[0] == -1
    monkeypatch.setattr(splits, "MAX_FREE_LABELS", 8)
    assert splitter.best([mixed], 1.0).attribute[0] == 0


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("strategy", [byclass, local])
def test_trees_through_products_are_those_through_arrays(strategy, law, monkeypatch):
    released, _ = tables(3000, 90, LAWS[law], gaps=True)
    whole = strategy(released).to_dict()
    monkeypatch.setattr(transitions, "MAX_DENSE_LABELS", 10)
    assert strategy(released).to_dict() == whole


@pytest.mark.slow
@pytest.mark.parametrize("law", ["projective", "substitution"])
def test_auto_chooses_the_same_through_products_as_through_arrays(law, monkeypatch):
    released, _ = tables(1500, 90, LAWS[law], gaps=True)
    whole = fit_tree(released)
    monkeypatch.setattr(transitions, "MAX_DENSE_LABELS", 10)
    found = fit_tree(released)
    assert found.notes["strategy"] == whole.notes["strategy"]
    assert found.notes["scores"]["local"]["log_loss"] == pytest.approx(
        whole.notes["scores"]["local"]["log_loss"], rel=1e-4
    )
    assert found.tree.used == whole.tree.used
