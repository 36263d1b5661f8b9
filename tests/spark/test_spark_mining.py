"""Counts from a cluster are counts: the same masses and the same trees as on one machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sfumato.cli.app import cli
from sfumato.description import describe_manifest
from sfumato.engines import Local
from sfumato.errors import UsageError
from sfumato.mining.distributions import reconstruct
from sfumato.mining.model import mine
from sfumato.plans import Plan
from sfumato.reconstruction.columns import CellCounts
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.table import Table

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(scope="module")
def spread(session: Any, table: Path, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release made by the cluster."""
    from sfumato.engines import Spark

    folder = tmp_path_factory.mktemp("releases")
    return release(table, plan, folder / "spread", key=folder / "key", engine=Spark(session))


@pytest.fixture(scope="module")
def alone(table: Path, plan: Plan, spread: Release) -> Release:
    """The same release in one file, made here."""
    return release(table, plan, spread.folder.parent / "alone", key=spread.folder.parent / "key")


def test_counts_are_the_same(spark: Any, alone: Release, spread: Release) -> None:
    table = alone.read_table()
    names = ("salary", "age")
    count = CellCounts(names, tuple(table[n].observed_grid(table[n].true_grid(50)) for n in names))
    here = alone.count_table(Local()).fold(count)
    for engine, made in ((Local(2), spread), (spark, spread), (spark, alone)):
        for ours, theirs in zip(
            here.arrays.values(), made.count_table(engine).fold(count).arrays.values(), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    whole: Table = spread.read_table()
    assert int(here.arrays[0].sum()) == whole.rows == 12_000


def test_reconstructed_masses_are_the_same(spark: Any, alone: Release, spread: Release) -> None:
    here = reconstruct(alone, by_class=True)
    there = reconstruct(spread, by_class=True, engine=spark)
    assert {n: v.to_dict() for n, v in here.items()} == {n: v.to_dict() for n, v in there.items()}


@pytest.fixture(scope="module")
def fewer(session: Any, table: Path, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Four thousand people, released by the cluster: every level of a tree is a job, and fewer people make fewer."""
    from sfumato.engines import Spark

    folder = tmp_path_factory.mktemp("fewer")
    pq.write_table(pq.read_table(table).slice(0, 4000), folder / "few.parquet", row_group_size=900)
    engine = Spark(session, piece_rows=1500)
    return release(folder / "few.parquet", plan, folder / "r", key=folder / "key", engine=engine)


@pytest.mark.parametrize("strategy", ["byclass", "local", "global", "randomized"])
def test_trees_are_the_same(spark: Any, fewer: Release, strategy: str) -> None:
    here = mine(fewer, strategy).body.to_dict()
    assert mine(fewer, strategy, replace(spark, piece_rows=1500)).body.to_dict() == here
    assert len(here["nodes"]) > 3


def test_strategies_that_need_all_records_are_refused_with_those_that_do_not(spark: Any, spread: Release) -> None:
    for strategy in ("auto", "joint", "mixture", "naive-bayes"):
        with pytest.raises(UsageError, match="by counts there are byclass, global, local, randomized"):
            mine(spread, strategy, spark)


def test_descriptions_speak_of_the_same_laws(alone: Release, spread: Release) -> None:
    here, there = describe_manifest(alone.manifest), describe_manifest(spread.manifest)
    assert here["attributes"] == there["attributes"]
    assert here["record"] == there["record"]


def test_the_command_line_works_on_the_session_of_the_cluster(
    session: Any, cluster: Any, table: Path, alone: Release, spread: Release, tmp_path: Path
) -> None:
    """The session that is running is used again, so the verbs run on the cluster."""
    run = CliRunner().invoke
    options = ["--engine", "spark", "--master", cluster.master, "--json"]

    def told(*arguments: str) -> dict[str, Any]:
        done = run(cli, [*arguments, *options], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    made = told("release", str(table), "-o", str(tmp_path / "r"), "--key", str(tmp_path / "k"), "--target", "class",
                "--noise", "gaussian", "--privacy", "0.5")  # fmt: skip
    assert made["data"]["parts"] == 1  # so few rows are one piece of work
    assert made["rows"] == 12_000
    assert told("describe", str(tmp_path / "r"))["rows"] == 12_000
    masses = told("reconstruct", str(spread.folder), "--attribute", "age")["attributes"]["age"]["mass"]
    assert masses == reconstruct(alone, ["age"])["age"].overall.mass.tolist()
    mined = told("mine", str(spread.folder), "-o", str(tmp_path / "model.json"))
    assert mined["strategy"] == "byclass"
    assert mined["leaves"] == mine(alone, "byclass").summary()["leaves"]
