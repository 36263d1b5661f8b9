"""DataFrames whose row numbers are none, whose columns are called as ours were, and sessions that others opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.channels import Gaussian
from sfumato.engines import Spark
from sfumato.engines.spark import ENCRYPTION, _check_session
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import make_method
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema

OWNER = SecretKey(bytes(range(32)))
X = Attribute("x", Kind.REAL, Interval(0, 100))
PLAN = Plan(Schema((X,)), {"x": Gaussian(sigma=10)}, name="p")


def frame_of(spark: Any, path: Path, data: dict[str, Any]) -> Any:
    pq.write_table(pa.table(data), path)
    return spark.session.read.parquet(str(path))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0, 1, 2, 1, 1], "at: the row number 1 occurs in 3 rows of the DataFrame"),
        ([0, None, 2, 3, 4], "at: a row has no number"),
        ([0, 1, -7, 3, 4], "at: the row number -7 is negative"),
    ],
)
@pytest.mark.parametrize("guided", [False, True])
def test_rows_that_would_share_their_noise_are_refused(
    spark: Any, cluster: Any, tmp_path: Path, numbers: list[int | None], words: str, guided: bool
) -> None:
    n = len(numbers)
    data = {"at": pa.array(numbers, pa.int32()), "x": [42.0] * n, "y": [*"ababab"][:n]}
    frame = frame_of(spark, tmp_path / "t.parquet", data)
    options: dict[str, Any] = {"engine": replace(spark, numbered="at"), "key": OWNER}
    if guided:
        method = make_method("class-random", {})
        schema = Schema((X, Attribute("y", Kind.CATEGORICAL, Categories(("a", "b")), role=Role.TARGET)))
        plan = Plan(schema, {}, name="p", method=method.to_dict())
        with pytest.raises(DataError, match=words):
            release(frame, plan, tmp_path / "r", **options)
    else:
        with pytest.raises(DataError, match=words):
            release(frame.drop("y"), PLAN, tmp_path / "r", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("kind", ["double", "string", "decimal(9,2)"])
def test_row_numbers_are_whole_numbers(spark: Any, cluster: Any, kind: str) -> None:
    frame = spark.session.range(5).selectExpr(f"cast(id / 10 as {kind}) as at", "42.0D as x")
    with pytest.raises(
        UsageError, match=rf"'at' of row numbers has the type {kind[:6]}.*name a column of whole numbers"
    ):
        replace(spark, numbered="at").open(frame)


@pytest.mark.parametrize("name", ["part", "number"])
def test_a_column_may_have_the_name_of_what_the_engine_adds(
    spark: Any, cluster: Any, tmp_path: Path, name: str
) -> None:
    frame = frame_of(spark, tmp_path / "t.parquet", {"a.t": [*range(9)], name: [70] * 9, "x": [42.0] * 9})
    column = Attribute(name, Kind.INTEGER, Interval(0, 100), consent=Consent.TRUE)
    plan = Plan(Schema((column, X)), {"x": Gaussian(sigma=10)}, name="p")
    made = release(frame, plan, tmp_path / "r", engine=replace(spark, numbered="a.t"), key=OWNER).to_arrow()
    assert made[name].to_pylist() == [70] * 9
    assert len(set(made["x"].to_pylist())) == 9


def test_a_column_with_the_engines_own_name_is_refused(spark: Any, cluster: Any) -> None:
    frame = spark.session.range(5).withColumnRenamed("id", "__Sfumato_Part")
    with pytest.raises(UsageError, match="__Sfumato_Part, a name kept for this engine; rename it"):
        spark.open(frame)


def test_a_session_on_another_master_is_not_taken_for_the_one_asked_for(spark: Any, cluster: Any) -> None:
    with pytest.raises(UsageError, match=r"on spark://.* and not on local\[3\]; stop it"):
        Spark.connect("local[3]")


def test_a_session_without_encryption_is_not_taken_for_an_encrypted_one(spark: Any, cluster: Any) -> None:
    _check_session(spark.session, cluster.master, "true")
    open_one = SimpleNamespace(sparkContext=SimpleNamespace(getConf=dict, master="local[1]"))
    with pytest.raises(UsageError, match=rf"with {ENCRYPTION} = false; stop it .* or pass it as Spark\(session\)"):
        _check_session(open_one, "local[1]", "true")
