"""The short form of benchmarks/coverage.py: the intervals that the product prints hold what they speak of."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Grid
from sfumato.mining import SCORES
from sfumato.reconstruction import Distribution

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("coverage")


@pytest.fixture(scope="module")
def ledger(bench: ModuleType) -> Any:
    return bench.Ledger.of(
        [
            *bench.measure_columns(range(2), (500,), [sf.Laplace(privacy=0.5)], ("normal", "spike", "tail")),
            *bench.measure_labels(range(10), (500,)),
            *bench.measure_scores([0], (500,), ["f2"], ["gaussian"]),
            *bench.measure_audits(range(10), (1000,)),
        ]
    )


def test_every_interval_holds_as_often_as_it_claims(bench: ModuleType, ledger: Any) -> None:
    assert set(ledger.kinds) == set(bench.CLAIMS)
    assert {kind: ledger.short(kind) for kind in ledger.kinds} == {kind: [] for kind in ledger.kinds}


def test_an_interval_that_holds_too_rarely_is_found_where_it_does(bench: ModuleType) -> None:
    good = [bench.Held("mean", "uniform", "normal", 500, 1.0)] * 95 + [
        bench.Held("mean", "uniform", "normal", 500, 0.0)
    ] * 5
    bad = [bench.Held("mean", "laplace", "spike", 500, float(i % 10 < 7)) for i in range(100)]
    assert bench.Ledger.of(good).short("mean") == []
    found = bench.Ledger.of(good + bad)
    assert set(found.short("mean")) == {"all", "500 rows", "laplace", "spike", "laplace, spike, 500 rows"}
    assert "| laplace | 500 |  | **70%** |" in found.page()
    assert "| mean | holds the mean of the rows behind the release in 95 % of releases | 82.5% | 200 |" in found.page()


def test_the_ledger_knows_every_interval_of_a_distribution_and_of_scores(bench: ModuleType) -> None:
    about = Distribution("age", Grid.cells(0, 100, 4), np.array([0.1, 0.4, 0.4, 0.1]), 1000, "counts").to_dict()
    figures = {name for name, value in about.items() if isinstance(value, dict) and "low" in value}
    scores = {f"{verb}: {name.replace('-', ' ')}" for verb in ("mine", "evaluate") for name in SCORES}
    assert figures | scores <= set(bench.CLAIMS)


def test_the_page_of_the_ledger_lists_every_kind(bench: ModuleType) -> None:
    page = (ROOT / "docs" / "coverage.md").read_text("utf-8")
    assert [kind for kind in bench.CLAIMS if f"| {kind} | {bench.CLAIMS[kind].words} |" not in page] == []
