"""Outputs of commands on a cluster, frozen as digests beside those of one machine (`tests/frozen`)."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.frozen import test_frozen_outputs as cases

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(scope="module")
def workshop(cluster: Any, session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return cases.Workshop(tmp_path_factory.mktemp("frozen"), cluster.master)


@pytest.mark.skipif("FROZEN_WRITE" not in os.environ, reason="set FROZEN_WRITE=1 to write the digests anew")
def test_the_digests_are_written_anew(workshop: Any) -> None:
    cases.write({n: v for step in cases.SPARK_STEPS for n, v in workshop.found(step).items()}, spark=True)


@pytest.mark.parametrize("name", cases.frozen(spark=True))
def test_an_output_of_the_cluster_is_what_it_was(name: str, workshop: Any) -> None:
    now, then = workshop.found(cases.step_of(name))[name], cases.frozen(spark=True)[name]
    assert now.agrees(then), f"{now} was {then}"
