"""A release is audited against its own rows: the same table in another order would make every promise look kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.auditing.comparison import compare
from sfumato.channels import Channel, Gaussian, Intervals, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.errors import DataError
from sfumato.randomness import SecretKey
from sfumato.releases.fingerprint import check_same_rows, rows_follow_law
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind
from sfumato.table import Column

AGE = Attribute("age", Kind.INTEGER, Interval(0, 100), consent=Consent.MODIFIED)
WARD = Attribute("ward", Kind.CATEGORICAL, Categories(tuple("abcdef")), consent=Consent.MODIFIED)
LAWS = [
    (AGE, Gaussian(privacy=0.5)),
    (AGE, Gaussian(privacy=2.0)),
    (AGE, Uniform(privacy=1.0)),
    (AGE, Laplace(privacy=1.0)),
    (AGE, Intervals(privacy=0.2)),
    (AGE, SquareWave(epsilon=2.0)),
    (WARD, Substitution(gamma=4.0)),
]
RELEASED = [(a, law, seed) for a, law in LAWS for seed in range(20)]


def drawn(attribute: Attribute, law: Channel, seed: int, rows: int = 2000) -> tuple[Column, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, rows) * 1.0 if attribute is WARD else np.round(100 * rng.beta(2, 4, rows))
    column = Column(attribute, None, truth).through(law.on(attribute), SecretKey(rng.bytes(32)))
    return column, truth


@pytest.mark.parametrize(("attribute", "law", "seed"), RELEASED)
def test_the_right_rows_follow_their_law_and_others_do_not(attribute: Attribute, law: Channel, seed: int) -> None:
    column, truth = drawn(attribute, law, seed)
    assert rows_follow_law(column, truth)
    assert not rows_follow_law(column, np.random.default_rng(seed).permutation(truth))
    assert not rows_follow_law(column, np.roll(truth, 1))


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_too_few_rows_to_tell_are_let_through(rows: int) -> None:
    column, truth = drawn(AGE, Gaussian(privacy=0.5), 1, rows)
    assert rows_follow_law(column, truth)
    assert rows_follow_law(column, truth[::-1])


def test_what_a_law_does_not_tell_is_let_through() -> None:
    reports, truth = drawn(WARD, Projective(epsilon=1.0), 2)
    assert rows_follow_law(reports, np.roll(truth, 1))
    nothing, truth = drawn(AGE, Gaussian(privacy=500.0), 2)
    assert rows_follow_law(nothing, np.roll(truth, 1))


def test_a_few_cells_may_have_been_corrected_since() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 101, 1000) * 1.0
    truth[5] = np.nan
    column = Column(AGE, None, truth.copy())
    column.values[:10] = 7.0
    check_same_rows([column], {"age": truth})
    column.values[:12] = np.nan
    with pytest.raises(DataError, match="age, row 1: the value is released as it is, and differs in 1% of the rows"):
        check_same_rows([column], {"age": truth})
    check_same_rows([column], {"age": truth}, guided={"age"})


def test_cells_left_missing_give_the_order_away() -> None:
    column, truth = drawn(AGE, Gaussian(privacy=500.0), 3)
    gaps = np.random.default_rng(3).random(len(truth)) < 0.1
    column.values[gaps], truth[gaps] = np.nan, np.nan
    check_same_rows([column], {"age": truth})
    with pytest.raises(DataError, match="missing in one of them only"):
        check_same_rows([column], {"age": np.roll(truth, 1)})


def test_audit_and_comparison_refuse_the_table_in_another_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    age = np.round(100 * rng.beta(2, 4, 800))
    table = pa.table({"age": age, "sick": np.where(age + rng.normal(0, 10, 800) > 35, "yes", "no")})
    release = sf.release(table, sf.Plan.propose(table, target="sick"), tmp_path / "r")
    turned = table.take(np.roll(np.arange(800), 1))
    for attempt in (lambda: sf.audit(turned, release, targets=20), lambda: compare(turned, release)):
        with pytest.raises(DataError, match="rows in the same order"):
            attempt()
    compare(table, release)
