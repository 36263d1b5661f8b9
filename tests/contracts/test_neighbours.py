"""The neighbour test: two tables that differ in one cell, under the same key and salt, give releases that differ in that cell alone.

With keyed noise this is an equality, not a sample. What depends on more of the table than its own cell says so in the manifest:
a joint law on its row, a guided method on the table.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.channels import CHANNELS
from sfumato.engines import Engine, Local
from sfumato.guided import METHODS
from sfumato.scales import Log
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema, day_number

ROWS = 120
LABELS = tuple("abcdefghijklmnop")
NUMBERS = ("age", "weight", "cost", "born")
ATTRIBUTES = {
    "age": Attribute("age", Kind.INTEGER, Interval(0, 120)),
    "weight": Attribute("weight", Kind.REAL, Interval(0, 200)),
    "cost": Attribute("cost", Kind.REAL, Interval(0, 300_000), scale=Log(1000.0), clip=True),
    "born": Attribute("born", Kind.DATE, Interval(day_number("1920-01-01"), day_number("2020-01-01"))),
    "town": Attribute("town", Kind.CATEGORICAL, Categories(LABELS)),
    "grade": Attribute("grade", Kind.ORDINAL, Categories(LABELS[:5])),
    "hidden": Attribute("hidden", Kind.CATEGORICAL, None, consent=Consent.WITHHOLD),
    "class": Attribute("class", Kind.CATEGORICAL, Categories(("n", "y")), role=Role.TARGET, consent=Consent.TRUE),
}
OTHER = {
    "age": 77, "weight": 123.25, "cost": 4321.5, "born": np.datetime64("1999-09-09"), "town": "p", "grade": "e", "hidden": "x",
}  # fmt: skip
ENGINES = {"one thread": Local(), "two threads": Local(2), "by counts": Local(gathers=False)}


def table() -> pa.Table:
    rng = np.random.default_rng(8)
    days = np.datetime64("1950-01-01") + rng.integers(0, 20_000, ROWS).astype("timedelta64[D]")
    weight = pa.array(rng.uniform(40, 140, ROWS).round(2), mask=rng.random(ROWS) < 0.1)
    return pa.table(
        {
            "age": rng.integers(0, 70, ROWS),
            "weight": weight,
            "cost": np.append(np.exp(rng.normal(8, 1, ROWS - 1)).round(2), 500_000.0),
            "born": days,
            "town": np.array(LABELS[:15])[rng.integers(0, 15, ROWS)],
            "grade": np.array(LABELS[:4])[rng.integers(0, 4, ROWS)],
            "hidden": [f"h{i}" for i in range(ROWS)],
            "class": np.array(["n", "y"])[rng.integers(0, 2, ROWS)],
            "person": np.arange(ROWS) * 7 + 3,
        }
    )


def neighbour(name: str, row: int) -> pa.Table:
    values = table()[name].to_pylist()
    values[row] = OTHER[name].item() if isinstance(OTHER[name], np.datetime64) else OTHER[name]
    return table().set_column(table().column_names.index(name), name, pa.array(values, table().schema.field(name).type))


def differences(first: sf.Release, second: sf.Release) -> set[tuple[str, int]]:
    one, two = first.to_arrow(), second.to_arrow()
    return {
        (name, row)
        for name in one.column_names
        for row, (a, b) in enumerate(zip(one[name].to_pylist(), two[name].to_pylist(), strict=True))
        if a != b
    }


def plan_of(wish: Any, *, by_entity: bool = False, method: dict[str, Any] | None = None) -> sf.Plan:
    channels, attributes = {}, []
    for name, attribute in ATTRIBUTES.items():
        acts = wish is not None and (wish.numeric if attribute.kind.numeric else wish.categorical)
        if attribute.role is Role.TARGET or attribute.consent is Consent.WITHHOLD:
            attributes.append(attribute)
            continue
        modified = acts or (method is not None and (wish is None or attribute.kind.numeric))
        blurred = replace(attribute, scale=attribute.scale if acts else None)
        attributes.append(blurred if modified else replace(blurred, consent=Consent.TRUE))
        if acts:
            channels[name] = wish
    role = Role.IDENTIFIER if by_entity else Role.ATTRIBUTE
    attributes.append(Attribute("person", Kind.CATEGORICAL, None, role=role, consent=Consent.WITHHOLD))
    return sf.Plan(Schema(tuple(attributes)), channels, name="pair", method=method)


WISHES = [(law, wish) for law, kind in sorted(CHANNELS.items()) for wish in kind.examples()]
CELLS = [
    pytest.param(
        wish,
        engine,
        form,
        by_entity,
        column,
        id=f"{law}{i}-{engine}-{form}-{'entity' if by_entity else 'row'}-{column}",
    )
    for (i, (law, wish)), (engine, form), by_entity in itertools.product(
        enumerate(WISHES), (("one thread", "parquet"), ("two threads", "csv"), ("by counts", "parquet")), (False, True)
    )
    for column in [
        c for c in OTHER if c == "hidden" or (wish.numeric if ATTRIBUTES[c].kind.numeric else wish.categorical)
    ][:5]
]


@pytest.mark.parametrize(("wish", "engine", "form", "by_entity", "column"), CELLS)
def test_one_changed_cell_changes_that_cell_alone(
    tmp_path: Path, wish: Any, engine: str, form: str, by_entity: bool, column: str
) -> None:
    row, key = 41, sf.SecretKey(bytes(range(32)))
    plan = plan_of(wish, by_entity=by_entity)
    first, second = (
        sf.release(t, plan, tmp_path / str(i), key=key, engine=ENGINES[engine], format=form, block_rows=50)
        for i, t in enumerate((table(), neighbour(column, row)))
    )
    assert differences(first, second) <= {(column, row)}
    stated = [m.manifest.to_dict() for m in (first, second)]
    for about in stated:
        about.pop("data")
        for attribute in about["attributes"]:
            attribute.pop("missing_cells")  # a count of visible gaps, declared as such
    assert stated[0] == stated[1]
    assert (tmp_path / "0/README.md").read_text("utf-8").splitlines()[:-1] == (tmp_path / "1/README.md").read_text(
        "utf-8"
    ).splitlines()[:-1]


def test_the_neighbour_test_covers_two_hundred_cells() -> None:
    assert len(CELLS) >= 200
    assert {p.values[0].law for p in CELLS} == set(CHANNELS)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("by_entity", [False, True])
def test_a_declared_joint_law_changes_the_row_of_the_changed_cell_alone(
    tmp_path: Path, engine: Engine, by_entity: bool
) -> None:
    method = {
        "law": "correlated-gaussian",
        "names": list(NUMBERS),
        "covariance": [[100, 20, 0, 0], [20, 400, 0, 0], [0, 0, 0.01, 0], [0, 0, 0, 250_000]],
    }
    plan = plan_of(sf.Substitution(gamma=6.0), by_entity=by_entity, method=method)
    plan = replace(plan, channels={n: c for n, c in plan.channels.items() if n not in NUMBERS})
    first, second = (
        sf.release(t, plan, tmp_path / str(i), key=sf.SecretKey(bytes(range(32))), engine=engine)
        for i, t in enumerate((table(), neighbour("age", 41)))
    )
    assert first.manifest.joint is not None
    assert differences(first, second) <= {(name, 41) for name in NUMBERS}


@pytest.mark.parametrize("law", sorted(METHODS))
def test_a_guided_method_declares_that_its_noise_depends_on_the_whole_table(tmp_path: Path, law: str) -> None:
    made = sf.release(
        "car_evaluation" if law == "detective" else "iris",
        None,
        tmp_path / "r",
        method=law,
        options={"k": 3} if "k" in METHODS[law].parameters() else {},
    )
    assert made.manifest.addressing == "table"
    assert made.manifest.method is not None
