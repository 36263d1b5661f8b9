"""The Agrawal generator against Tables 2 and 3 of the 2000 paper, read a second time and row by row."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import UsageError
from sfumato.generators import agrawal
from sfumato.generators.base import ROWS_PER_BLOCK, Block

TABLE_3 = (1, 2, 3, 4, 5)
ALL = tuple(range(1, 11))


def table(rows: int, **options: Any) -> Block:
    parts = list(agrawal.make_blocks(rows, **options))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def twin(f: int, salary: float, commission: float, age: float, elevel: int, hvalue: float, hyears: float, loan: float):
    """Table 3 (functions 1 to 5) and the older family (6 to 10), one applicant at a time, in thousands."""
    pay, total, debt = salary / 1000, (salary + commission) / 1000, loan / 1000
    if f == 1:
        return "B" if 40 <= age < 60 else "A"
    if f in (2, 6):
        x = pay if f == 2 else total
        low, high = (50, 100) if age < 40 else (75, 125) if age < 60 else (25, 75)
        return "A" if low <= x <= high else "B"
    if f == 3:
        bands = {
            "young": {0: (25, 75), 1: (25, 75), 2: (50, 100), 3: (50, 100)},
            "middle": {1: (50, 100), 2: (50, 100), 3: (50, 100), 4: (75, 125)},
            "old": {1: (25, 75), 2: (50, 100), 3: (50, 100), 4: (50, 100)},
        }["young" if age < 40 else "middle" if age < 60 else "old"]
        if elevel not in bands:
            return "B"
        low, high = bands[elevel]
        return "A" if low <= pay <= high else "B"
    equity = hvalue / 1000 * (hyears - 20) / 10 if hyears > 20 else 0.0
    disposable = {
        4: 0.67 * total - debt / 5 - 10,
        5: 0.67 * total - debt / 5 + equity / 5 - 10,
        7: 0.67 * total - debt / 5 - 20,
        8: 0.67 * total - 5 * elevel - 20,
        9: 0.67 * total - 5 * elevel - debt / 5 - 10,
        10: 0.67 * total - 5 * elevel + equity / 5 - 10,
    }[f]
    return "A" if disposable > 0 else "B"


def twin_labels(f: int, t: Block) -> list[str]:
    names = ("salary", "commission", "age", "elevel", "hvalue", "hyears", "loan")
    return [twin(f, *row) for row in zip(*(t[name].tolist() for name in names), strict=True)]


@pytest.mark.parametrize("function", ALL)
def test_the_class_is_that_of_the_scalar_twin_on_drawn_rows(function):
    t = table(4_000, function=function, seed=11)
    assert t["class"].tolist() == twin_labels(function, t)
    assert set(t["class"].tolist()) == {"A", "B"}


@pytest.mark.parametrize("function", ALL)
def test_the_class_is_that_of_the_scalar_twin_on_and_beside_every_boundary(function):
    ages = (20.0, np.nextafter(40, 0), 40.0, np.nextafter(60, 0), 60.0, 80.0)
    salaries = [s for edge in (25e3, 50e3, 75e3, 100e3, 125e3) for s in (np.nextafter(edge, 0), edge, edge + 1e-9)]
    grid = list(itertools.product(salaries, (0.0, 25e3), ages, range(5), (50e3, 1_350e3), (20.0, 30.0), (0.0, 4e5)))
    names = ("salary", "commission", "age", "elevel", "hvalue", "hyears", "loan")
    t = {name: np.array(values) for name, values in zip(names, zip(*grid, strict=True), strict=True)}
    labels = np.where(agrawal.group_a(t, function), "A", "B").tolist()
    assert labels == twin_labels(function, t)


@pytest.mark.parametrize(
    ("function", "row", "expected"),
    [
        # 0.67 (60K + 20K) - 0.2 x 200K - 10K = 3.6K
        (4, {"salary": 60e3, "commission": 20e3, "loan": 200e3}, True),
        # 0.67 x 100K - 0.2 x 300K - 10K = -3K, and a house of 200K held for 21 years adds 0.2 x 20K = 4K
        (4, {"salary": 100e3, "commission": 0.0, "loan": 300e3}, False),
        (5, {"salary": 100e3, "commission": 0.0, "loan": 300e3, "hvalue": 200e3, "hyears": 21.0}, True),
        (5, {"salary": 100e3, "commission": 0.0, "loan": 300e3, "hvalue": 200e3, "hyears": 19.0}, False),
        (2, {"age": 50.0, "salary": 130e3}, False),
        (2, {"age": 50.0, "salary": 100e3}, True),
        (3, {"age": 65.0, "elevel": 0, "salary": 60e3}, False),
        (3, {"age": 30.0, "elevel": 4, "salary": 60e3}, False),
    ],
)
def test_hand_worked_applicants_are_in_the_right_group(function, row, expected):
    assert agrawal.group_a({name: np.array([value]) for name, value in row.items()}, function).tolist() == [expected]


def test_columns_come_in_the_order_of_table_2_with_their_types():
    t = table(10)
    assert list(t) == ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan", "class"]
    for name in agrawal.DOMAINS:
        assert t[name].dtype == (np.int64 if name in {"elevel", "car", "zipcode"} else np.float64), name


@pytest.mark.parametrize("name", ["salary", "age", "hyears", "loan"])
def test_a_distributed_attribute_is_uniform_on_its_domain(name):
    low, high = agrawal.DOMAINS[name]
    assert stats.kstest(table(ROWS_PER_BLOCK + 3_000, seed=3)[name], stats.uniform(low, high - low).cdf).pvalue > 0.001


@pytest.mark.parametrize(("name", "values"), [("elevel", range(5)), ("car", range(1, 21)), ("zipcode", range(1, 10))])
def test_a_chosen_attribute_is_equally_often_each_of_its_values(name, values):
    found, counts = np.unique(table(50_000, seed=4)[name], return_counts=True)
    assert found.tolist() == list(values)
    assert stats.chisquare(counts).pvalue > 0.001


def test_commission_is_zero_from_75k_of_salary_up_and_uniform_below():
    t = table(60_000, seed=5)
    rich = t["salary"] >= 75e3
    assert 0 < rich.sum() < rich.size
    assert not t["commission"][rich].any()
    assert stats.kstest(t["commission"][~rich], stats.uniform(10e3, 65e3).cdf).pvalue > 0.001


def test_house_value_is_uniform_around_the_hundred_thousands_of_its_zipcode():
    t = table(60_000, seed=6)
    for k in range(1, 10):
        values = t["hvalue"][t["zipcode"] == k]
        assert stats.kstest(values, stats.uniform(k * 50e3, k * 100e3).cdf).pvalue > 0.001


def test_attributes_that_table_2_does_not_tie_together_are_uncorrelated():
    t = table(60_000, seed=7)
    names = [name for name in agrawal.DOMAINS if name not in {"commission", "hvalue"}]
    off_diagonal = np.corrcoef([t[name] for name in names]) - np.eye(len(names))
    assert np.abs(off_diagonal).max() < 4.5 / np.sqrt(60_000)


@pytest.mark.parametrize("balanced", [False, True])
def test_every_value_lies_in_its_declared_domain(balanced):
    t = table(20_000, function=5, seed=8, balanced=balanced)
    for name, (low, high) in agrawal.DOMAINS.items():
        assert low <= t[name].min() <= t[name].max() <= high, name


@pytest.mark.parametrize("function", TABLE_3)
@pytest.mark.parametrize("rows", [2, 1_001, ROWS_PER_BLOCK + 4_321])
def test_a_balanced_table_is_split_to_within_one(function, rows):
    labels = table(rows, function=function, seed=9, balanced=True)["class"]
    assert labels.size == rows
    assert abs(2 * int((labels == "A").sum()) - rows) == rows % 2


def test_a_balanced_table_keeps_the_labels_of_its_function():
    t = table(3_000, function=10, seed=2, balanced=True)
    assert t["class"].tolist() == twin_labels(10, t)


@pytest.mark.parametrize("name", ["salary", "age", "loan", "hvalue"])
def test_balancing_changes_the_share_of_a_class_but_not_its_law(name):
    as_drawn, balanced = table(40_000, function=4, seed=1), table(40_000, function=4, seed=2, balanced=True)
    for label in "AB":
        samples = (t[name][t["class"] == label] for t in (as_drawn, balanced))
        assert stats.ks_2samp(*samples).pvalue > 0.001


def test_the_order_within_balanced_pairs_is_a_fair_coin():
    first = table(40_000, function=3, seed=5, balanced=True)["class"][::2]
    assert stats.binomtest(int((first == "A").sum()), first.size).pvalue > 0.001


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("rows", [1, 777, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 5])
def test_the_first_rows_do_not_depend_on_how_many_follow(balanced, rows):
    short = table(rows, function=2, seed=3, balanced=balanced)
    long = table(2 * ROWS_PER_BLOCK + 10, function=2, seed=3, balanced=balanced)
    for name in long:
        assert np.array_equal(short[name], long[name][:rows]), name


def test_blocks_have_the_fixed_size_and_the_last_holds_the_rest():
    assert [len(block["age"]) for block in agrawal.make_blocks(2 * ROWS_PER_BLOCK + 17)] == [
        ROWS_PER_BLOCK,
        ROWS_PER_BLOCK,
        17,
    ]


def test_seeds_and_blocks_give_different_rows():
    one, other = table(2 * ROWS_PER_BLOCK, seed=0), table(ROWS_PER_BLOCK, seed=1)
    assert not np.array_equal(one["age"][:ROWS_PER_BLOCK], other["age"])
    assert not np.array_equal(one["age"][:ROWS_PER_BLOCK], one["age"][ROWS_PER_BLOCK:])


def test_the_function_changes_the_class_and_nothing_else():
    one, other = table(500, function=1), table(500, function=2)
    assert all(np.array_equal(one[name], other[name]) for name in agrawal.DOMAINS)
    assert one["class"].tolist() != other["class"].tolist()


def test_a_seed_gives_the_same_table_for_ever():
    t = table(1, seed=2000)
    assert [float(t[name][0]) for name in ("salary", "age", "loan")] == pytest.approx(
        [33840.36714550908, 26.111572614520174, 495571.28982892237], rel=1e-12
    )
    assert [int(t[name][0]) for name in ("elevel", "car", "zipcode")] == [0, 20, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": 11}, "function: 11 is not known; choose a whole number from 1 to 10"),
        ({"function": 0}, "function: 0 is not known"),
        ({"rows": 0}, "rows: 0 is too small"),
        ({"rows": 2.5}, "rows: 2.5 is not a whole number"),
        ({"seed": -1}, "seed: -1 is too small"),
    ],
)
def test_wrong_use_is_refused_before_the_first_block(options, message):
    with pytest.raises(UsageError, match=message):
        agrawal.make_blocks(**{"rows": 10, **options})
