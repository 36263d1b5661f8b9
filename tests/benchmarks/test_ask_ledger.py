"""The short form of benchmarks/ask.py: answers hold the figures of the true rows."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sfumato as sf
from sfumato.releases import read_original
from sfumato.table import Table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("ask")


@pytest.fixture(scope="module")
def adult(bench: ModuleType) -> Table:
    table: Table = bench.choose_columns(read_original("adult", sf.Plan.propose("adult")), "adult", 800)
    return table


@pytest.mark.parametrize("law", ["gaussian", "square wave"])
def test_intervals_with_unbiased_weights_hold_95_of_100_figures(bench: ModuleType, adult: Table, law: str) -> None:
    """Of 40 releases fewer than 30 hold a figure in one of 100,000 tests of 35 figures."""
    cells = bench.measure(adult, "adult", bench.LAWS[law][0], bench.unbiased_figures(adult), 40, "weights", 1)
    told = [c for c in cells if c.told >= 30]
    assert len(told) >= 20
    assert min(c.coverage for c in told) >= 0.75, [(c.figure, c.coverage) for c in told if c.coverage < 0.75]
    assert 0.92 <= np.mean([c.coverage for c in told]) <= 0.98


def test_guaranteed_intervals_of_ranges_hold(bench: ModuleType, adult: Table) -> None:
    cells = bench.measure(adult, "adult", bench.LAWS["uniform"][0], bench.range_figures(adult), 2, "range", 2)
    assert len(cells) >= 12
    assert np.mean([held for c in cells for held in c.guaranteed]) >= 0.9
    assert np.mean([c.coverage for c in cells]) >= 0.7


def test_the_page_says_what_misses_first(bench: ModuleType) -> None:
    good = bench.Cell("adult", "gaussian", "AVG(age)", "weights", 1.0)
    bad = bench.Cell("adult", "gaussian", "SUM(age)", "weights", 1.0)
    for i in range(200):
        good.add(sf.Estimate(1.0, 0.1, 0.8 if i % 20 else 1.1, 1.2))
        bad.add(sf.Estimate(1.3, 0.1, 1.1, 1.5))
    page = bench.page([good, bad], 200, 0, 100, "python benchmarks/ask.py")
    misses = page.partition("## What misses")[2].partition("## Figures")[0]
    assert "| SUM(age) | adult |" in misses
    assert "AVG(age)" not in misses
