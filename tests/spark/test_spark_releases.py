"""The same bytes from one machine and from a cluster, whatever the rows come in."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from sfumato.engines import Local
from sfumato.errors import DataError, UsageError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.schema import Attribute, Consent, Kind, Role, Schema

OWNER = SecretKey(bytes(range(32)))

pytestmark = pytest.mark.usefixtures("cluster")


def same_release(a: Release, b: Release) -> None:
    left, right = a.to_arrow(), b.to_arrow()
    assert left.schema.equals(right.schema)
    assert left.equals(right)
    ours, theirs = a.manifest.to_dict(), b.manifest.to_dict()
    assert ours.pop("data") != theirs.pop("data")  # a file here, a folder there
    assert ours == theirs


def test_a_parquet_file_gives_the_same_release(spark: Any, table: Path, plan: Plan, tmp_path: Path) -> None:
    alone = release(table, plan, tmp_path / "alone", key=tmp_path / "key")
    spread = release(table, plan, tmp_path / "spread", key=tmp_path / "key", engine=spark)  # the ledger knows it again
    same_release(alone, spread)
    data = spread.manifest.data
    assert (spread.data_path / min(p.name for p in spread.data_path.iterdir())).suffix == ".parquet"
    assert data.parts == len(list(spread.data_path.iterdir())) == 4
    assert "is a folder of 4 files" in (spread.folder / "README.md").read_text()
    Release.open(spread.folder).verify()


def test_csv_files_and_folders_of_files_give_the_same_release(
    spark: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    whole = pq.read_table(table)
    pacsv.write_csv(whole, tmp_path / "people.csv")
    for form, ends in (("parquet", [0, 1, 5000, 12_000]), ("csv", [0, 3000, 12_000])):
        folder = tmp_path / f"{form}s"
        folder.mkdir()
        for number, (begin, end) in enumerate(pairwise(ends)):
            part = whole.slice(begin, end - begin)
            if form == "csv":
                pacsv.write_csv(part, folder / f"{number}.csv")
            else:
                pq.write_table(part, folder / f"{number}.parquet")
    alone = release(table, plan, tmp_path / "alone", key=OWNER).to_arrow()
    for name in ("people.csv", "parquets", "csvs"):
        assert release(tmp_path / name, plan, tmp_path / f"from-{name}", key=OWNER, engine=spark).to_arrow() == alone
        here = release(tmp_path / name, plan, tmp_path / f"here-{name}", key=OWNER, format="csv")
        there = release(tmp_path / name, plan, tmp_path / f"there-{name}", key=OWNER, format="csv", engine=spark)
        assert there.to_arrow() == here.to_arrow()


@pytest.mark.parametrize("keys_on_workers", [False, True])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_shuffled_rows_stand_in_the_order_of_one_machine(
    spark: Any, table: Path, plan: Plan, tmp_path: Path, form: str, keys_on_workers: bool
) -> None:
    asked = {"key": tmp_path / "key", "shuffle": True, "format": form}
    alone = release(table, plan, tmp_path / "alone", **asked)
    spread = release(table, plan, tmp_path / "spread", engine=replace(spark, keys_on_workers=keys_on_workers), **asked)
    same_release(alone, spread)
    assert spread.manifest.shuffled
    Release.open(spread.folder).verify()


def test_a_dataframe_without_row_numbers_has_no_order_to_shuffle(
    spark: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    whole, with_id = by_id(table, plan)
    pq.write_table(whole, tmp_path / "people.parquet")
    frame = spark.session.read.parquet(str(tmp_path / "people.parquet"))
    with pytest.raises(UsageError, match="no numbers by which they could be shuffled"):
        release(frame, with_id, tmp_path / "a", key=OWNER, engine=spark, shuffle=True)


def by_id(table: Path, plan: Plan) -> tuple[pa.Table, Plan]:
    whole = pq.read_table(table)
    whole = whole.append_column("person", pa.array([f"p{i * 7919 % 12_000}" for i in range(whole.num_rows)]))
    person = Attribute("person", Kind.CATEGORICAL, None, role=Role.IDENTIFIER, consent=Consent.TRUE)
    return whole, replace(plan, schema=Schema((*plan.schema, person)))


def test_noise_of_entities_does_not_depend_on_the_order_of_a_dataframe(
    spark: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    whole, plan = by_id(table, plan)
    pq.write_table(whole, tmp_path / "people.parquet")
    alone = release(whole, plan, tmp_path / "alone", key=OWNER)
    spread = release(tmp_path / "people.parquet", plan, tmp_path / "spread", key=OWNER, engine=spark)
    same_release(alone, spread)
    frame = spark.session.read.parquet(str(tmp_path / "people.parquet")).repartition(5)
    shuffled = release(frame, plan, tmp_path / "frame", key=OWNER, engine=spark)
    ours, theirs = (r.to_arrow().sort_by("person") for r in (alone, shuffled))
    assert ours.equals(theirs)
    assert alone.to_arrow()["person"] != shuffled.to_arrow()["person"]
    assert shuffled.manifest.addressing == "entity"


def test_a_dataframe_without_id_needs_row_numbers_and_then_gives_the_same_rows(
    spark: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    whole = pq.read_table(table)
    pq.write_table(whole.append_column("at", pa.array(np.arange(12_000))), tmp_path / "numbered.parquet")
    frame = spark.session.read.parquet(str(tmp_path / "numbered.parquet")).repartition(3)
    with pytest.raises(UsageError, match="name an id column in the plan, or a column of row numbers"):
        release(frame.drop("at"), plan, tmp_path / "r", key=OWNER, engine=spark)
    made = release(frame, plan, tmp_path / "frame", key=OWNER, engine=replace(spark, numbered="at"))
    same_release(release(table, plan, tmp_path / "alone", key=OWNER), made)


def test_a_table_in_memory_is_refused_with_the_next_step(spark: Any, table: Path, plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"write it to a \.parquet file on shared storage"):
        release(pq.read_table(table), plan, tmp_path / "r", key=OWNER, engine=spark)


def test_rows_of_a_person_are_counted_by_the_cluster(spark: Any, table: Path, plan: Plan, tmp_path: Path) -> None:
    whole, plan = by_id(table, plan)
    ids = whole["person"].to_pylist()
    ids[11_000], ids[7_000] = ids[20], ids[10]
    twice = whole.set_column(whole.column_names.index("person"), "person", pa.array(ids))
    pq.write_table(twice, tmp_path / "twice.parquet")
    local, cluster = (
        release(tmp_path / "twice.parquet", plan, tmp_path / name, key=OWNER, engine=engine)
        for name, engine in (("local", Local()), ("cluster", spark))
    )
    assert local.manifest.entities == cluster.manifest.entities
    assert local.manifest.entities is not None
    assert (local.manifest.entities.number, local.manifest.entities.most_rows) == (len(ids) - 2, 2)


def test_the_first_wrong_value_is_named_as_the_local_engine_names_it(
    spark: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    ages = pq.read_table(table)["age"].to_pylist()
    ages[11_500], ages[6_200] = 5e5, 3e5
    whole = pq.read_table(table)
    pq.write_table(whole.set_column(whole.column_names.index("age"), "age", pa.array(ages)), tmp_path / "t.parquet")
    said = []
    for engine in (Local(), spark):
        with pytest.raises(DataError, match=r"age, row 6201: 300000\.0 is outside") as error:
            release(tmp_path / "t.parquet", plan, tmp_path / "r", key=OWNER, engine=engine)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert list(tmp_path.glob(".r*")) == []


def test_an_empty_table_is_no_release(spark: Any, table: Path, plan: Plan, tmp_path: Path) -> None:
    pq.write_table(pq.read_table(table).slice(0, 0), tmp_path / "none.parquet")
    with pytest.raises(DataError, match="has a header but no rows"):
        release(tmp_path / "none.parquet", plan, tmp_path / "r", key=OWNER, engine=spark)


def test_a_data_folder_that_was_changed_is_noticed(spark: Any, table: Path, plan: Plan, tmp_path: Path) -> None:
    made = release(table, plan, tmp_path / "r", key=OWNER, engine=spark)
    first, *_, last = sorted(made.data_path.iterdir())
    last.rename(last.with_name("part-99999-moved.parquet"))
    with pytest.raises(DataError, match="checksum"):
        made.verify()
    assert pc.sum(pq.read_table(first)["age"]).as_py() is not None
