"""Cells of any type under any declared kind: numbers and back, or an error in words."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError
from sfumato.io.cells import Decoder, Encoder
from sfumato.schema import Attribute, Categories, Interval, Kind, Missing

DOMAINS = {
    Kind.REAL: Interval(-1000, 1000),
    Kind.INTEGER: Interval(-1000, 1000),
    Kind.DATE: Interval(0, 20_000),
    Kind.CATEGORICAL: Categories(("a", "b", "1", "2", "true", "false")),
    Kind.ORDINAL: Categories(("1", "2")),
}
ARRAYS = [
    pa.array([1, 2, None]),
    pa.array([1, 2, None], pa.int8()),
    pa.array([1, 2, None], pa.uint64()),
    pa.array([1, 2**64 - 1], pa.uint64()),
    pa.array([2**63 - 1, -(2**63)]),
    pa.array([1.0, 2.0, None]),
    pa.array([1.5, float("nan"), float("-inf")]),
    pa.array([1.5, 2.0], pa.float32()),
    pa.array(np.array([1.5, 2.0], np.float16)),
    pa.array([True, False, None]),
    pa.array(["1", "2", None]),
    pa.array([" 1 ", "2.0"]),
    pa.array(["a", "", "\x00"]),
    pa.array(["2020-01-01", None]),
    pa.array(["99999-01-01"]),
    pa.array(["a", "b"], pa.large_string()),
    pa.array(["a", "b"], pa.string_view()),
    pa.array(["a", "b", None]).dictionary_encode(),
    pa.array([1, 2, None]).dictionary_encode(),
    pa.array([b"a", b"\xff"]),
    pa.array([b"a", b"b"], pa.large_binary()),
    pa.array([b"a", b"b"], pa.binary_view()),
    pa.array([b"ab"], pa.binary(2)),
    pa.array([dt.date(2020, 1, 1), None]),
    pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32()),
    pa.array([dt.date(2020, 1, 1)], pa.date64()),
    pa.array([1577855167], pa.timestamp("s")),
    pa.array([2**62], pa.timestamp("s")),
    pa.array([-(2**62)], pa.timestamp("ms")),
    pa.array([123456789], pa.timestamp("ns")),
    pa.array([123456789], pa.timestamp("us", tz="Europe/Berlin")),
    pa.array([dt.time(1, 2, 3)]),
    pa.array([123456789], pa.time64("ns")),
    pa.array([dt.timedelta(days=1)]),
    pa.array([Decimal("1.50"), Decimal("2.00"), None]),
    pa.array([Decimal("1e20")], pa.decimal256(60, 2)),
    pa.array([[1], [2]]),
    pa.array([[1], [2]], pa.list_(pa.int8(), 1)),
    pa.array([{"x": 1}, None]),
    pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
    pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    pa.nulls(3),
    pa.array([], pa.int64()),
    pa.array([], pa.list_(pa.int8())),
    pa.array([], pa.string()),
    pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, 2])),
    pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.type}-{len(a)}")
@pytest.mark.parametrize("kind", list(Kind))
def test_a_column_of_any_type_is_read_or_refused_in_words(array: pa.Array, kind: Kind) -> None:
    attribute = Attribute("x", kind, DOMAINS[kind])
    try:
        values = Encoder(attribute)(array, start=10)
    except DataError as error:
        said = str(error)
    else:
        assert values.dtype == np.float64
        assert len(values) == len(array)
        assert np.isnan(values).sum() >= array.null_count
        assert len(Decoder(attribute, whole=kind in (Kind.INTEGER, Kind.DATE))(values)) == len(array)
        return
    assert said.startswith("x")
    assert ";" in said


@pytest.mark.parametrize(
    ("array", "kind", "expected"),
    [
        (["1", " 2.0 ", "", None, "1e2"], Kind.INTEGER, [1, 2, None, None, 100]),
        ([True, False, None], Kind.INTEGER, [1, 0, None]),
        ([Decimal("1.5"), None], Kind.REAL, [1.5, None]),
        (["1970-01-03", " 1970-01-02", ""], Kind.DATE, [2, 1, None]),
        (pa.array([172_800, None], pa.timestamp("s")), Kind.DATE, [2, None]),
        ([1.0, 2.0, None], Kind.ORDINAL, [0, 1, None]),
        ([1, 2, None], Kind.ORDINAL, [0, 1, None]),
        ([True, False], Kind.CATEGORICAL, [4, 5]),
        (["a", "", "b"], Kind.CATEGORICAL, [0, None, 1]),
    ],
)
def test_cells_mean_what_people_mean(array: list[object], kind: Kind, expected: list[float | None]) -> None:
    values = Encoder(Attribute("x", kind, DOMAINS[kind]))(array if isinstance(array, pa.Array) else pa.array(array))
    assert [None if np.isnan(v) else v for v in values] == expected


def test_a_time_of_day_is_not_dropped_silently() -> None:
    instants = pa.array([1577836800, 1577855167], pa.timestamp("s"))
    with pytest.raises(DataError, match=r"x, row 2: .*05:06:07.*day"):
        Encoder(Attribute("x", Kind.DATE, DOMAINS[Kind.DATE]))(instants)


def test_declared_categories_win_over_missing_words() -> None:
    attribute = Attribute("x", Kind.CATEGORICAL, Categories(("NA", "b")))
    assert Encoder(attribute, ("", "NA"))(pa.array(["NA", "b", ""])).tolist()[:2] == [0, 1]


def test_missing_as_a_category_is_the_last_code() -> None:
    attribute = Attribute("x", Kind.CATEGORICAL, Categories(("a", "b")), missing=Missing.CATEGORY)
    codes = Encoder(attribute, ("", "?"))(pa.array(["a", "?", None, "b"]))
    assert codes.tolist() == [0, 2, 2, 1]
    assert Decoder(attribute)(codes).to_pylist() == ["a", None, None, "b"]
