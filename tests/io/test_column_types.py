"""Columns of types that dataframes and Parquet files have: read for what they are, or withheld with the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato.io.cells import decode_dictionary, format_labels
from sfumato.plans import Plan
from sfumato.schema import Kind

ROWS = 60
UNREAD = {
    "duration": pa.array(np.arange(ROWS) % 7, pa.duration("s")),
    "list": pa.array([[i % 3] for i in range(ROWS)]),
    "struct": pa.array([{"a": i % 3} for i in range(ROWS)]),
    "binary": pa.array([bytes([97 + i % 3]) for i in range(ROWS)]),
    "fixed_size_binary": pa.array([bytes([97 + i % 3]) for i in range(ROWS)], pa.binary(1)),
    "map": pa.array([[("k", i % 3)] for i in range(ROWS)], pa.map_(pa.string(), pa.int8())),
}


def viewed(texts: list[str | None], index: pa.DataType) -> pa.DictionaryArray:
    """A categorical as polars gives it."""
    plainly = pa.array(texts).dictionary_encode()
    return pa.DictionaryArray.from_arrays(plainly.indices.cast(index), plainly.dictionary.cast(pa.string_view()))


@pytest.mark.parametrize("name", UNREAD)
def test_values_without_a_plain_form_are_withheld_with_their_type(tmp_path: Path, name: str) -> None:
    table = pa.table({"x": UNREAD[name], "y": ["a", "b", "c"] * (ROWS // 3)})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        plan = Plan.propose(source)
        assert not plan.schema["x"].released
        assert name in plan.notes["x"]
        assert sf.release(source, plan, tmp_path / "r", force=True).to_arrow().column_names == ["y"]


@pytest.mark.parametrize("name", UNREAD)
def test_such_values_cannot_be_the_class(name: str) -> None:
    with pytest.raises(DataError, match=rf"x: values of type {name}.* cannot be the class; convert the column"):
        Plan.propose(pa.table({"x": UNREAD[name], "y": ["a", "b"] * (ROWS // 2)}), target="x")


@pytest.mark.parametrize("index", [pa.uint8(), pa.uint32(), pa.int32()])
def test_a_dictionary_of_views_is_read_as_its_labels(index: pa.DataType) -> None:
    texts = ["lo", None, "hi", "lo"]
    assert decode_dictionary(viewed(texts, index)).equals(pa.array(texts))
    assert format_labels(viewed(texts, index)[1:]).to_pylist() == texts[1:]


def test_a_table_of_views_goes_all_the_way(tmp_path: Path) -> None:
    labels = ["F", "M", "F", None, "M", "F"] * 10
    table = pa.table({
        "sex": viewed(labels, pa.uint32()),
        "who": viewed([f"p{i}" for i in range(ROWS)], pa.uint32()),
        "class": viewed(["a", "b", "b"] * 20, pa.uint8()),
    })  # fmt: skip
    plan = Plan.propose(table, identifier="who")
    assert plan.schema["sex"].categories == ("F", "M")
    made = sf.release(table, plan, tmp_path / "r", key=tmp_path / "k")
    assert made.to_arrow()["sex"].is_null().to_pylist() == [t is None for t in labels]
    model = sf.mine(made)
    assert model.evaluate(table)["rows"] == ROWS
    assert len(model.predict(table)) == ROWS


ORDER = ["low", "medium", "high", "extreme"]
STAGES = pd.Categorical(["low", "high", "medium"] * 20, categories=ORDER, ordered=True)


def test_an_ordered_categorical_keeps_its_order_and_its_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame({"stage": STAGES, "y": ["a", "b"] * 30})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7)
    for source in (frame, tmp_path / "t.parquet"):
        attribute = Plan.propose(source).schema["stage"]
        assert attribute.kind is Kind.ORDINAL
        assert attribute.categories == tuple(ORDER)
    plan = Plan.propose(frame)
    made = sf.release(frame, plan, tmp_path / "r", key=tmp_path / "k")
    assert set(made.to_arrow()["stage"].to_pylist()) <= set(ORDER)


def test_an_ordered_class_keeps_its_order_and_the_labels_that_occur() -> None:
    attribute = Plan.propose(pd.DataFrame({"stage": STAGES, "y": ["a", "b"] * 30}), target="stage").schema["stage"]
    assert attribute.kind is Kind.CATEGORICAL
    assert attribute.categories == ("low", "medium", "high")


def test_a_categorical_without_order_is_listed_by_the_alphabet() -> None:
    frame = pd.DataFrame({"stage": pd.Categorical(["low", "high"] * 30, categories=ORDER)})
    attribute = Plan.propose(frame).schema["stage"]
    assert attribute.kind is Kind.CATEGORICAL
    assert attribute.categories == ("high", "low")
