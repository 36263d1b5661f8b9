"""Columns whose noise was drawn together: the model sees through the joint law, and draws have the true dependences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.correlated import shaped_like
from tests.support.made_tables import KEY, two_groups

import sfumato as sf
from sfumato.channels import CorrelatedGaussian
from sfumato.counts import FloatArray
from sfumato.modelling import TableModel
from sfumato.modelling.chance import Chance
from sfumato.modelling.whitening import Block, Whitening
from sfumato.randomness import Rows
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Table

QUICK = sf.FitSettings(components=(1, 8), starts=2, passes=(30, 5))
ROWS = 4000

pytestmark = pytest.mark.filterwarnings("error")


def people(rows: int = ROWS) -> Table:
    """Ages, pays and years of work that go together, a town, and a class."""
    true = two_groups(rows)
    years = np.clip(np.round(true["age"].values * 0.6 - 8 + np.random.default_rng(2).normal(0, 3, rows)), 0, 60)
    work = Column(Attribute("work", Kind.INTEGER, Interval(0, 60)), None, years)
    return Table((true["age"], true["town"], work, true["pay"]), true.target)


def blur(true: Table, ratio: float, gaps: FloatArray | None = None) -> tuple[Table, CorrelatedGaussian]:
    """Release the three columns of numbers through one joint law."""
    numbers = [c for c in true.columns if c.attribute.kind.numeric]
    values = np.stack([c.values for c in numbers], axis=1)
    law = shaped_like(values, [c.attribute for c in numbers], ratio)
    noisy = law.perturb(KEY, Rows(0, len(values)), values)
    if gaps is not None:
        noisy[gaps] = np.nan
    shown = {
        c.name: replace(c, channel=law.marginal(c.attribute), values=y) for c, y in zip(numbers, noisy.T, strict=True)
    }
    return Table(tuple(shown.get(c.name, c) for c in true.columns), true.target), law


def correlations(table: Table) -> FloatArray:
    """Return the correlations of the numbers and the class, over rows that have them all."""
    values = np.stack([table[n].values for n in ("age", "work", "pay")] + [table.codes], axis=1)
    return np.asarray(np.corrcoef(values[~np.isnan(values).any(axis=1)].T))


@pytest.fixture(scope="module")
def usual() -> tuple[Table, Table, TableModel]:
    true = people()
    released, _ = blur(true, ratio=1.0)
    return true, released, TableModel.fit(released, QUICK)


def test_whitened_columns_have_noise_of_their_own() -> None:
    true = people()
    released, law = blur(true, ratio=0.5)
    whitening = Whitening.of(released)
    noise = law.among(("age", "work", "pay"))
    block: Block = whitening.blocks[0]
    assert block.forward @ noise @ block.forward.T == pytest.approx(np.eye(3), abs=1e-9)
    assert block.forward @ block.back == pytest.approx(np.eye(3), abs=1e-9)
    turned = whitening.turn(released, Chance.of_rows(np.arange(ROWS), "any"))
    assert [c.name for c in turned.all_columns] == [c.name for c in released.all_columns]
    values = np.stack([released[n].values for n in ("age", "work", "pay")])
    assert np.stack([turned[n].values for n in ("age", "work", "pay")]) == pytest.approx(
        block.forward @ (values - block.centre[:, None]), abs=1e-9
    )


def test_noise_that_is_independent_already_stays_so() -> None:
    attributes = [Attribute(n, Kind.REAL, Interval(0, 100)) for n in "ab"]
    law = CorrelatedGaussian(("a", "b"), ((25.0, 0.0), (0.0, 4.0)))
    chance = np.random.default_rng(4)
    columns = tuple(Column(a, law.marginal(a), chance.normal(50, 10, 500)) for a in attributes)
    forward = Whitening.of(Table(columns)).blocks[0].forward
    assert forward @ np.diag([25.0, 4.0]) @ forward.T == pytest.approx(np.eye(2), abs=1e-9)


def test_dependences_and_shapes_are_those_of_the_true_rows(usual: tuple[Table, Table, TableModel]) -> None:
    true, released, model = usual
    drawn, fresh = model.draw(released, np.arange(ROWS)), model.sample(4 * ROWS)
    assert model.names == ("age", "town", "work", "pay", "sick")
    seen, hoped = correlations(released), correlations(true)
    assert np.abs(seen - hoped)[:3, 3].max() > 0.15  # the noise drowns what goes with the class
    for table in (drawn, fresh):
        assert correlations(table) == pytest.approx(hoped, abs=0.06)
        for name in ("age", "work", "pay"):
            ours, theirs = table[name].values, true[name].values
            assert ours.mean() == pytest.approx(theirs.mean(), abs=0.05 * theirs.std())
            assert ours.std() == pytest.approx(theirs.std(), rel=0.06)  # that of the release is 1.41 times as much
            ends = table[name].attribute.interval
            assert ends.low <= ours.min() <= ours.max() <= ends.high
        for name in ("age", "work"):
            assert (table[name].values == np.round(table[name].values)).all()


def test_as_noise_goes_to_zero_draws_become_the_rows() -> None:
    true = people(500)
    errors = []
    for ratio in (1e-1, 1e-4, 1e-8):
        released, _ = blur(true, ratio)
        model = TableModel.fit(released, replace(QUICK, components=(4,), starts=1, passes=(10, 0)))
        drawn = model.draw(released, np.arange(500))
        errors.append(float(np.abs(drawn["pay"].values - true["pay"].values).mean() / true["pay"].values.std()))
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert (drawn["age"].values == true["age"].values).all()
    assert (drawn["work"].values == true["work"].values).all()


def test_what_is_missing_stays_so_and_the_rest_of_its_row_is_used() -> None:
    true = people()
    chance = np.random.default_rng(7)
    gaps = chance.random((ROWS, 3)) < np.where(true.codes == 1, 0.3, 0.02)[:, None]
    released, _ = blur(true, 1.0, gaps)
    model = TableModel.fit(released, QUICK)
    drawn, fresh = model.draw(released, np.arange(ROWS)), model.sample(4 * ROWS)
    for place, name in enumerate(("age", "work", "pay")):
        assert (np.isnan(drawn[name].values) == gaps[:, place]).all()
        lacking = np.isnan(fresh[name].values)
        assert lacking.mean() == pytest.approx(gaps[:, place].mean(), abs=0.03)
        assert fresh.codes[lacking].mean() > 0.8  # the sick lack it
    assert correlations(drawn) == pytest.approx(correlations(true), abs=0.1)
    for name in ("age", "pay"):
        kept = ~np.isnan(drawn[name].values)
        error = np.sqrt(np.mean((drawn[name].values - true[name].values)[kept] ** 2))
        assert error < 0.9 * np.sqrt(2) * np.sqrt(np.mean((released[name].values - true[name].values)[kept] ** 2))


def test_a_draw_belongs_to_its_row() -> None:
    true = people(600)
    gaps = np.random.default_rng(9).random((600, 3)) < 0.2
    released, _ = blur(true, 1.0, gaps)
    model = TableModel.fit(released, replace(QUICK, passes=(5, 1)))
    whole = model.draw(released, np.arange(600))
    part = model.draw(released.take(np.arange(200, 331)), np.arange(200, 331))
    for ours, theirs in zip(part.all_columns, whole.all_columns, strict=True):
        np.testing.assert_array_equal(ours.values, theirs.values[200:331])


def test_one_column_of_a_joint_law_by_itself_is_gaussian() -> None:
    released, _ = blur(people(500), 1.0)
    alone = Table((released["pay"],), released.target)
    model = TableModel.fit(alone, QUICK)
    assert model.whitening.blocks == ()
    drawn = model.draw(alone, np.arange(500))["pay"].values
    assert drawn.std() < 0.9 * released["pay"].values.std()
