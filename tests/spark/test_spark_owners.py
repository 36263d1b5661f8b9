"""What only the owner does, on a cluster: compare, audit, guided releases."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sfumato.auditing.comparison import compare
from sfumato.auditing.runner import audit
from sfumato.auditing.utility import count_distances
from sfumato.cli.app import cli
from sfumato.engines import Local
from sfumato.errors import DataError, EngineError
from sfumato.guided.base import make_method
from sfumato.io import open_table, read_blocks
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release

OWNER = SecretKey(bytes(range(32)))

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(scope="module")
def few(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("few") / "few.parquet"
    pq.write_table(pq.read_table(table).slice(0, 1500), path, row_group_size=400)
    return path


@pytest.fixture(scope="module")
def made(few: Path, plan: Plan) -> Release:
    return release(few, plan, few.parent / "r", key=OWNER)


def test_comparisons_are_the_same(spark: Any, few: Path, made: Release) -> None:
    for sample in (500, 100_000):
        here = compare(few, made, k=2, engine=Local(gathers=False), sample=sample).to_dict()
        assert compare(few, made, k=2, engine=replace(spark, piece_rows=600), sample=sample).to_dict() == here
    assert here == compare(few, made, k=2).to_dict()


def test_audits_are_the_same(spark: Any, few: Path, made: Release) -> None:
    told = []
    for engine in (Local(gathers=False), replace(spark, piece_rows=600)):
        found = audit(few, made, targets=20, engine=engine, sample=300).to_dict()
        found.pop("seconds")
        told.append(found)
    assert told[0] == told[1]
    assert told[0]["utility"]["all_rows"]["age"]["rows"] == 1500


def test_distances_over_all_rows_are_the_same(spark: Any, few: Path, made: Release) -> None:
    here, there = (
        count_distances(made, few, Local(gathers=False)),
        count_distances(made, few, replace(spark, piece_rows=600)),
    )
    assert here == there
    assert here


@pytest.mark.parametrize("law", ["class-random", "detective", "leaf-swap"])
def test_guided_releases_by_counts_are_the_same(spark: Any, few: Path, plan: Plan, tmp_path: Path, law: str) -> None:
    method = make_method(law, {"small": "keep"} if law == "leaf-swap" else {})
    if law == "detective":  # which needs labels to perturb
        few = tmp_path / "cars.parquet"
        cars = pa.Table.from_batches([b.batch for b in read_blocks(open_table("car_evaluation"))])
        pq.write_table(cars, few, row_group_size=500)
        plan = Plan.propose(few, target="class")
    plan = replace(plan, method=method.to_dict(), channels={}, shuffle=False)
    engines = {"here": Local(gathers=False), "there": replace(spark, piece_rows=600)}
    both = {name: release(few, plan, tmp_path / name, engine=e, key=OWNER, sample=900) for name, e in engines.items()}
    assert both["here"].to_arrow().equals(both["there"].to_arrow())
    assert both["here"].making.changed == both["there"].making.changed
    assert any(both["here"].making.changed.values())


def test_owners_verbs_work_from_the_command_line(
    spark: Any, cluster: Any, few: Path, made: Release, tmp_path: Path
) -> None:
    options = ["--engine", "spark", "--master", cluster.master, "--json"]

    def told(*arguments: str) -> dict[str, Any]:
        done = CliRunner().invoke(cli, [*arguments, *options], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    assert told("compare", str(few), str(made.folder), "-k", "2")["trees"][0]["target"] == "class"
    assert told("audit", str(few), str(made.folder), "--targets", "10", "--sample", "200")["rows"] == 200
    guided = told("release", str(few), "-o", str(tmp_path / "g"), "--target", "class", "--method", "class-probabilistic",
                  "--key", str(tmp_path / "key"))  # fmt: skip
    assert guided["extra"]["public"]["by_counts"] is True
    refused = ["release", str(few), "-o", str(tmp_path / "s"), "--target", "class", "--method", "leaf-swap",
               "--key", str(tmp_path / "key")]  # fmt: skip
    done = CliRunner().invoke(cli, [*refused, *options])
    assert done.exit_code == 2
    assert "run it with --engine local, or choose small=suppress" in done.stderr
    assert not (tmp_path / "s").exists()


def test_what_goes_wrong_on_the_cluster_is_said_in_words(spark: Any, few: Path) -> None:
    with pytest.raises(EngineError, match=r"the cluster could not do the work.*no attribute 'nothing'"):
        spark.fold(methodcaller("nothing"), spark.open(few), ["age"])


def test_a_file_that_workers_do_not_see_is_named(spark: Any, few: Path, tmp_path: Path) -> None:
    copy = tmp_path / "gone.parquet"
    copy.write_bytes(few.read_bytes())
    source = spark.open(copy)
    copy.unlink()
    with pytest.raises(DataError, match=r"gone\.parquet cannot be found by a worker"):
        spark.fold(methodcaller("nothing"), source, ["age"])
