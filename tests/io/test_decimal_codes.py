"""Digits with a point: codes where a reading as numbers would lose what they say, measurements everywhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.io import open_table, read_blocks
from sfumato.plans import Plan
from sfumato.plans.profile import profile
from sfumato.plans.proposal import propose_column
from sfumato.releasing import release
from sfumato.schema import Kind

ICD = ["250.01", "250.1", "250.10", "401.9", "414.01", "250.00", "486", "427.31"]
PADDED = ["008.45", "038.9", "486", "250.01", "001.1"]


def kind_of(texts: list[str], name: str = "x") -> Kind:
    seen = profile(read_blocks(open_table(pa.table({name: texts}))))
    return propose_column(seen[name]).attribute.kind


def often(texts: list[str], times: int = 30) -> list[str]:
    return [texts[i % len(texts)] for i in range(times * len(texts))]


RNG = np.random.default_rng(3)
MANY = RNG.uniform(100, 999, 400)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("x", often(ICD)),
        ("x", often(PADDED)),
        ("x", often(["813.54", "813.5", "813.50", "821.008"])),
        ("icd9", often(["250.01", "401.91", "414.01"])),
        ("diagnosis", often(["250.1", "401.9", "8.45"])),
        ("dx_1", often(["25.1", "401.9", "8.45"])),
        ("x", [*often(ICD), "", "NA", "?"]),
    ],
)
def test_codes_with_a_point_are_categories(name: str, texts: list[str]) -> None:
    assert kind_of(texts, name) is Kind.CATEGORICAL


@pytest.mark.parametrize(
    "texts",
    [
        [f"{v:.2f}" for v in MANY],  # constant decimals, zeros at the end among them
        often([f"{v:.1f}" for v in MANY[:40]]),
        often([f"{v:.2f}" for v in MANY[:40]]),
        [f"{float(f'{v:.2f}')}" for v in MANY],  # the shortest text of a number
        often([f"{v:#.4g}" for v in MANY[:40] / 3]),  # significant digits
        often([f"{v:06.2f}" for v in MANY[:40] / 30]),  # padded to one width
        often(["36.5", "36.50", "37.25", "38.1", "36.70"]),  # two hands wrote the same temperatures
        often(["9.99", "19.90", "19.9", "120.5", "5"]),  # prices
        often(["-250.10", "401.9", "250.01"]),
        often(["250.10", "401.9", "2.5e2"]),
        [f"{v:.3f}" if i % 2 else f"{v:.1f}" for i, v in enumerate(MANY)],  # hardly any repeats
        often(["170.0", "165.5", "181.0", "166.5"]),
        often(["170", "165.5", "181", "166.5"]),
    ],
)
def test_measurements_stay_real(texts: list[str]) -> None:
    assert kind_of(texts) is Kind.REAL


def test_numbers_of_a_float_column_stay_real() -> None:
    seen = profile(read_blocks(open_table(pa.table({"x": [250.1, 401.9, 250.01] * 20}))))
    assert propose_column(seen["x"]).attribute.kind is Kind.REAL


def test_codes_keep_their_zeros_through_plan_and_release(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("main,age\n" + "".join(f"{code},{20 + i % 40}\n" for i, code in enumerate(often(ICD))))
    plan = Plan.propose(table, noise="substitution", options={"gamma": "20"})
    assert set(plan.schema["main"].categories) == set(ICD)
    assert "digits that are codes" in plan.notes["main"]
    made = release(table, plan, tmp_path / "r")
    assert set(made.to_arrow()["main"].to_pylist()) <= set(ICD)
