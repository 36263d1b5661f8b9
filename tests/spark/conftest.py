"""The table that the tests of the Spark engine release."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sfumato.generators import generate, get, plan_for
from sfumato.plans import Plan


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve thousand people in four row groups."""
    folder = tmp_path_factory.mktemp("table")
    generate("agrawal", 12_000, folder / "one.parquet", seed=3, options={"function": 2, "balanced": True})
    pq.write_table(pq.read_table(folder / "one.parquet"), folder / "people.parquet", row_group_size=3_500)
    return folder / "people.parquet"


@pytest.fixture(scope="session")
def plan() -> Plan:
    return plan_for(get("agrawal"), "gaussian", 0.5)
