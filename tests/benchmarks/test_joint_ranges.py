"""The short form of benchmarks/joint_ranges.py: boxes of several columns are counted through the noise."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import Channel
from sfumato.questions import Memory
from sfumato.schema import Attribute, Interval, Kind

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("joint_ranges")


@pytest.mark.parametrize(
    ("law", "bounds"),
    [(sf.Gaussian(privacy=0.5), (0.015, 0.02)), (sf.SquareWave(epsilon=1.0), (0.06, 0.08))],
    ids=["gaussian", "split"],
)
def test_boxes_of_two_and_four_columns_are_counted_through_the_noise(
    bench: ModuleType, law: Channel, bounds: tuple[float, float]
) -> None:
    """Of 40 boxes each, with 30,000 rows; the bounds are twice the error that was measured, and far below that of the released values."""
    x = bench.normal_rows(30_000, 5.0, 1)
    attributes = [Attribute(f"c{i}", Kind.INTEGER, Interval(0, bench.VALUES - 1)) for i in range(bench.COLUMNS)]
    table, memory = bench.release(attributes, x, 0.0, 1, law), Memory()
    for columns, bound in zip((2, 4), bounds, strict=True):
        boxes = bench.random_boxes(40, columns, 1)
        truth = bench.count_inside(x, boxes)
        value, low, high, _ = bench.ask_boxes(table, boxes, memory)
        as_released = bench.count_inside(np.column_stack([c.values.clip(-1, 64) for c in table.columns]), boxes)
        error = np.abs(value - truth).mean()
        assert error < bound
        assert error < np.abs(as_released - truth).mean() / 4
        assert np.mean((low <= truth) & (truth <= high)) >= 0.85


def test_boxes_without_noise_are_counted_as_they_are(bench: ModuleType) -> None:
    x = np.array([[0.0, 5.0, 9.0], [40.0, 5.0, 9.0]])
    assert bench.count_inside(x, [((0, 0, 31), (1, 5, 36)), ((0, 0, 63),)]).tolist() == [0.5, 1.0]


def test_figures_of_real_tables_need_several_columns(bench: ModuleType) -> None:
    x = bench.normal_rows(400, 5.0, 2)[:, :3]
    attributes = [Attribute(f"c{i}", Kind.INTEGER, Interval(0, 63)) for i in range(3)]
    table = bench.release(attributes, x, 0.3, 1)
    figures = bench.real_figures(table, np.random.default_rng(0))
    row = bench.ask_once(table, f"SELECT {', '.join(f'{f} AS f{i}' for i, (_, f) in enumerate(figures))} FROM release")
    assert len(figures) == 28
    assert all("fits of the columns" in row[f"f{i}"].by or row[f"f{i}"].why for i in range(len(figures)))
