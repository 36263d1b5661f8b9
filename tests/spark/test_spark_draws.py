"""Draws of a release on a cluster are those of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import Local
from sfumato.plans import Plan

pytestmark = pytest.mark.usefixtures("cluster")

QUICK = sf.FitSettings(components=(4,), starts=1, passes=(10, 2), sketch=4000)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
# PySpark sends a task above a megabyte through a socket that it leaves to the garbage collector.
def test_draws_are_the_same_to_the_last_value(session: Any, table: Path, plan: Plan, tmp_path: Path) -> None:
    from sfumato.engines import Spark

    release = sf.release(table, plan, tmp_path / "release", key=sf.SecretKey(bytes(32)))
    model = sf.model(release, Local(gathers=False), settings=QUICK)
    here = sf.draws(release, 2, model=model)
    there = sf.draws(release, 2, tmp_path / "drawn", Spark(session), model=model)
    for number in (1, 2):
        drawn = pq.read_table(tmp_path / "drawn" / f"draw-{number}.parquet")
        for name in here[number - 1].column_names:
            assert drawn[name].to_pylist() == here[number - 1][name].to_pylist()
    assert len(there.tables) == 2
