"""Columns of a DataFrame by whatever names people give them: dots, backticks, spaces, and capitals alone between two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.channels import Gaussian
from sfumato.errors import DataError
from sfumato.guided.base import make_method
from sfumato.mining.distributions import reconstruct
from sfumato.mining.model import mine
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema

OWNER = SecretKey(bytes(range(32)))
NAMES = ["lab.value", "a`b", "c d", "e``.f", "c0", "`g`", "h(i)", "x,y bigint"]


def odd_frame(spark: Any, folder: Path, rows: int = 60) -> tuple[Any, pa.Table]:
    """A frame made by renaming, as Parquet readers of Spark mind some of the names."""
    table = pa.table(
        {"row.number": list(range(rows)), "the.class": [("yes", "no")[i // (rows // 2)] for i in range(rows)]}
        | {name: [float((7 * i + 3 * j) % rows) for i in range(rows)] for j, name in enumerate(NAMES)}
    )
    plain = table.rename_columns([f"n{i}" for i in range(table.num_columns)])
    pq.write_table(plain, folder / "t.parquet")
    return spark.session.read.parquet(str(folder / "t.parquet")).toDF(*table.column_names), table


def plan_of(rows: int = 60) -> Plan:
    labels = Attribute("the.class", Kind.CATEGORICAL, Categories(("yes", "no")), role=Role.TARGET, consent=Consent.TRUE)
    numbers = tuple(Attribute(n, Kind.REAL, Interval(0, rows)) for n in NAMES)
    return Plan(Schema((labels, *numbers)), {n: Gaussian(sigma=5) for n in NAMES}, name="odd")


def test_columns_of_any_name_are_released_as_on_one_machine(spark: Any, cluster: Any, tmp_path: Path) -> None:
    frame, table = odd_frame(spark, tmp_path)
    engine = replace(spark, numbered="row.number")
    made = release(frame, plan_of(), tmp_path / "there", engine=engine, key=OWNER)
    here = release(table.drop_columns(["row.number"]), plan_of(), tmp_path / "here", key=OWNER)
    assert made.to_arrow().equals(here.to_arrow())
    assert {n: v.overall.mass.tolist() for n, v in reconstruct(made, ["a`b"], engine=spark).items()} == {
        n: v.overall.mass.tolist() for n, v in reconstruct(here, ["a`b"]).items()
    }
    assert mine(made, "byclass", spark).target == "the.class"


@pytest.mark.parametrize("law", ["class-random", "leaf-swap"])
def test_guided_methods_take_columns_of_any_name(spark: Any, cluster: Any, tmp_path: Path, law: str) -> None:
    frame, table = odd_frame(spark, tmp_path)
    method = make_method(law, {"small": "keep"} if law == "leaf-swap" else {})
    plan = replace(plan_of(), channels={}, method=method.to_dict())
    options: dict[str, Any] = {"engine": replace(spark, numbered="row.number"), "key": OWNER}
    made = release(frame, plan, tmp_path / "r", **options)
    assert made.to_arrow().column_names == [n for n in table.column_names if n != "row.number"]
    assert made.manifest.data.rows == table.num_rows


def test_an_id_with_a_dot_ties_the_noise(spark: Any, cluster: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"i": [f"p{i}" for i in range(20)], "x": [42.0] * 20}), tmp_path / "t.parquet")
    frame = spark.session.read.parquet(str(tmp_path / "t.parquet")).toDF("person.id", "x.1")
    attributes = (
        Attribute("person.id", Kind.CATEGORICAL, role=Role.IDENTIFIER, consent=Consent.WITHHOLD),
        Attribute("x.1", Kind.REAL, Interval(0, 100)),
    )
    plan = Plan(Schema(attributes), {"x.1": Gaussian(sigma=5)}, name="p")
    made = release(frame, plan, tmp_path / "r", engine=spark, key=OWNER)
    assert len(set(made.to_arrow()["x.1"].to_pylist())) == 20
    twice = release(frame.unionAll(frame), plan, tmp_path / "r2", engine=spark, key=OWNER)
    assert (twice.manifest.entities.column, twice.manifest.entities.number) == ("person.id", 20)
    assert set(twice.to_arrow()["x.1"].to_pylist()) == set(made.to_arrow()["x.1"].to_pylist())


def test_names_that_differ_in_capitals_are_two_columns(spark: Any, cluster: Any, tmp_path: Path) -> None:
    frame = spark.session.range(9).selectExpr("id", "10.0D as a", "90.0D as b").toDF("id", "X", "x")
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 100)) for n in ("X", "x")))
    plan = Plan(schema, {n: Gaussian(sigma=0.5) for n in ("X", "x")}, name="p")
    made = release(frame, plan, tmp_path / "r", engine=replace(spark, numbered="id"), key=OWNER).to_arrow()
    assert all(abs(v - 10) < 5 for v in made["X"].to_pylist())
    assert all(abs(v - 90) < 5 for v in made["x"].to_pylist())


def test_two_columns_of_one_name_are_refused(spark: Any, cluster: Any) -> None:
    with pytest.raises(DataError, match="the DataFrame: the column name 'x' occurs twice; rename one"):
        spark.open(spark.session.range(3).selectExpr("id as x", "id as y").toDF("x", "x"))
