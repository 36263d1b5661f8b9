"""What all tests share: the marker of slow ones, chance that is fixed, and the Spark cluster where there is one."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.support.chance import keys, keys_of_file, keys_of_test, state_folder  # noqa: F401 - fixtures
from tests.support.cluster import cluster, session, spark, why_not  # noqa: F401 - fixtures

collect_ignore_glob = ["support/*"]  # imported by tests, never run: a toy law must not reach the registries here

settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("random", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "fixed")
)  # `make test-random` looks for examples nobody wrote


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than a second or two")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        on_spark = "cluster" in getattr(item, "fixturenames", ()) or "[spark-" in item.nodeid
        if on_spark:
            item.add_marker(pytest.mark.slow)
            if reason := why_not():
                item.add_marker(pytest.mark.skip(reason=reason))
