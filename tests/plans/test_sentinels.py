"""Numbers that stand for a missing value: pointed out, never taken so by themselves, and missing once they are listed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.io.cells import Encoder
from sfumato.plans import Plan
from sfumato.plans.profile import Ends, sentinels
from sfumato.schema import Attribute, Interval, Kind, Schema

AGES = [18 + i % 78 for i in range(780)]


def found(values: list[float]) -> dict[float, int]:
    array = np.asarray(values, dtype=float)
    return dict(sentinels(Ends.of(array), len(array), len(set(values))))


@pytest.mark.parametrize("mark", [-999, -9999, 999, 9999, -99, 99999, -1, -9, 888])
def test_a_lone_repeated_value_far_from_the_rest_is_a_mark(mark: float) -> None:
    values = [*AGES, *[mark] * 20] if mark != -9 else [*[i % 6 for i in range(780)], *[mark] * 20]
    assert found(values) == {mark: 20}


def test_marks_at_both_ends_and_side_by_side_are_found() -> None:
    assert found([*AGES, *[-999] * 20, *[9999] * 30]) == {-999: 20, 9999: 30}
    assert found([*AGES, *[998] * 20, *[999] * 30]) == {999: 30, 998: 20}
    assert found([*AGES, *[-9999] * 20, *[-999] * 30]) == {-9999: 20, -999: 30}


@pytest.mark.parametrize(
    "values",
    [
        AGES,
        [*AGES, -999],  # once is a slip of the pen, and below one in a hundred
        [*AGES, *[99] * 20],  # 99 years are an age
        [*AGES, *[0] * 20],
        [-1, 0, 1] * 100,  # against, neither, for
        [-1, 1] * 100,
        [*range(-1, 31)] * 10,  # degrees
        [0, 1, 2, 10] * 50,
        [5.0] * 100,
        [],
    ],
)
def test_ordinary_values_are_no_marks(values: list[float]) -> None:
    assert found(values) == {}


def test_ends_of_blocks_add_up_to_those_of_the_table() -> None:
    numbers = np.random.default_rng(3)
    values = numbers.integers(0, 12, 500).astype(float)
    counts = Counter(values.tolist())
    for cuts in (1, 7, 100):
        total = Ends()
        for part in np.array_split(values, cuts):
            total += Ends.of(part)
        assert total.lows == tuple((v, counts[v]) for v in sorted(counts)[:3])
        assert total.highs == tuple((v, counts[v]) for v in sorted(counts, reverse=True)[:3])


@pytest.mark.parametrize("typed", [True, False])
def test_a_mark_is_pointed_out_and_missing_once_it_is_listed(tmp_path: Path, typed: bool) -> None:
    ages = [*AGES, *[-999] * 20]
    table = pa.table({"age": ages if typed else [f"{a}.0" for a in ages], "y": ["a", "b"] * 400})
    plan = Plan.propose(table)
    assert plan.schema["age"].interval.low <= -999, "the domain is left as it is"
    assert "age" not in plan.absent
    told = "-999 in 20 rows looks like a mark for missing: list it under missing_values"
    assert told in plan.notes["age"]
    assert any(line.startswith(f"age: {told}") for line in plan.remarks)
    mended = Schema((replace(plan.schema["age"], domain=Interval(0, 120)), plan.schema["y"]))
    listed = replace(plan, schema=mended, absent={"age": ("", "-999")})
    out = sf.release(table, listed, tmp_path / "r", key=tmp_path / "k", shuffle=False).to_arrow()
    assert out["age"].is_null().to_pylist() == [a == -999 for a in ages]


def test_a_listed_number_is_missing_in_every_spelling() -> None:
    encoder = Encoder(Attribute("x", Kind.REAL, Interval(0, 10)), ("", "-999"))
    expected = [1.0, None, None, 2.0]
    for array in (
        pa.array(["1", "-999", "-999.0", " 2"]),
        pa.array([1, -999, None, 2]),
        pa.array([1.0, -999.0, None, 2.0]),
    ):
        assert [None if np.isnan(v) else v for v in encoder(array)] == expected
