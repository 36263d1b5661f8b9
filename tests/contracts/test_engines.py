"""What every engine owes: the answers of one thread on one machine, whatever holds the rows and however they are split.

One table of cases runs on every engine. The Spark column needs the cluster: `make test-spark`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.auditing import compare
from sfumato.engines import Engine, Local
from sfumato.errors import SfumatoError
from sfumato.generators import generate, get, plan_for
from sfumato.mining import mine, reconstruct
from sfumato.modelling import FitSettings, model
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release, with_method
from sfumato.schema import Attribute, Consent, Kind, Role, Schema

ROWS = 1500
OWNER = SecretKey(bytes(range(32)))
ENGINES = ("threads", "processes", "counts", "spark")
SEED = 3


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People in several row groups, with an id each."""
    folder = tmp_path_factory.mktemp("people")
    generate("agrawal", ROWS, folder / "one.parquet", seed=SEED, options={"function": 2, "balanced": True})
    table = pq.read_table(folder / "one.parquet")
    table = table.append_column("person", pa.array([f"p{i * 7919 % ROWS}" for i in range(ROWS)]))
    pq.write_table(table, folder / "people.parquet", row_group_size=400)
    return folder / "people.parquet"


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """The engine that a case names; asking for Spark starts the cluster."""
    local = {"threads": Local(3), "processes": Local(2, processes=True), "counts": Local(2, gathers=False)}
    return local.get(request.param) or replace(request.getfixturevalue("spark"), piece_rows=600)


def made(engine: Engine, people: Path, folder: Path, method: str | None = None) -> Release:
    """Release the people, with noise that belongs to the person; its numbers together, where a method says so."""
    plan = plan_for(get("agrawal"), "gaussian", 0.5)
    if method is not None:
        plan = with_method(plan, method, {})
    person = Attribute("person", Kind.CATEGORICAL, None, role=Role.IDENTIFIER, consent=Consent.TRUE)
    plan = replace(plan, schema=Schema((*plan.schema, person)))
    return release(people, plan, folder / "release", key=OWNER, name="people", engine=engine)


def released_rows(engine: Engine, people: Path, folder: Path) -> Any:
    """Release by person: the rows, and all that the manifest says but where the data lies."""
    result = made(engine, people, folder)
    manifest = result.manifest.to_dict()
    manifest.pop("data")
    return result.to_arrow().to_pydict(), manifest


def reconstructed_masses(engine: Engine, people: Path, folder: Path) -> Any:
    """A real column with a spike at 0, a real one without, and a whole one with few values."""
    names = ("commission", "loan", "elevel")
    return reconstruct(made(engine, people, folder), names, by_class=True, engine=engine).to_dict()


def mined_tree(strategy: str) -> Callable[..., Any]:
    def case(engine: Engine, people: Path, folder: Path) -> Any:
        return mine(made(engine, people, folder), strategy, engine=engine).body.to_dict()

    return case


def modelled_table(rows: int, method: str | None = None) -> Callable[..., Any]:
    """The model of all columns, from `rows` rows brought together and a fold over all, and rows drawn from it."""
    settings = FitSettings(components=(1, 6), starts=2, sketch=500, passes=(5, 2), rows=rows)

    def case(engine: Engine, people: Path, folder: Path) -> Any:
        made_here = made(engine if method is None else Local(), people, folder, method)  # one learns a covariance
        model_here = model(made_here, engine, settings=settings)
        tables = [model_here.mixture.weights, *model_here.mixture.tables]
        drawn = model_here.draw(made_here.read_table(), np.arange(ROWS), "1")
        values = [column.values.tolist() for column in drawn.all_columns]
        return model_here.rows, model_here.chosen, [table.tolist() for table in tables], values

    return case


def compared_patterns(engine: Engine, people: Path, folder: Path) -> Any:
    return compare(people, made(engine, people, folder), k=2, engine=engine, sample=ROWS).to_dict()


def refusal_of_a_wrong_value(engine: Engine, people: Path, folder: Path) -> Any:
    """The first wrong value in row order is named, with column, row and next step, and nothing is written."""
    table = pq.read_table(people)
    ages = table["age"].to_pylist()
    ages[1400], ages[620] = 5e5, 3e5
    wrong = folder / "wrong.parquet"
    pq.write_table(table.set_column(table.column_names.index("age"), "age", pa.array(ages)), wrong, row_group_size=400)
    return refusal(engine, wrong, folder)


def released_rows_of_repeated_ids(engine: Engine, people: Path, folder: Path) -> Any:
    """Two people have two rows, far apart: the rows, and the counts of people in the manifest."""
    table = pq.read_table(people)
    ids = table["person"].to_pylist()
    ids[1100], ids[700] = ids[20], ids[10]
    twice = folder / "twice.parquet"
    pq.write_table(
        table.set_column(table.column_names.index("person"), "person", pa.array(ids)), twice, row_group_size=400
    )
    return released_rows(engine, twice, folder)


def refusal(engine: Engine, table: Path, folder: Path) -> str:
    with pytest.raises(SfumatoError) as error:
        made(engine, table, folder)
    assert not (folder / "release").exists()
    return str(error.value).replace(str(folder), "")


CASES = {
    "released rows": released_rows,
    "released rows of repeated ids": released_rows_of_repeated_ids,
    "reconstructed masses": reconstructed_masses,
    **{f"tree by {s}": mined_tree(s) for s in ("byclass", "local", "global", "randomized")},
    "model of the table": modelled_table(rows=ROWS + 1),
    "model of the table, by a fold": modelled_table(rows=900),
    "model of the table, noise correlated": modelled_table(900, "correlated-gaussian"),
    "compared patterns": compared_patterns,
    "refusal of a wrong value": refusal_of_a_wrong_value,
}


ONE_PASS = ("released rows", "released rows of repeated ids", "refusal of a wrong value")
"""Cases that read the table once or twice. Starting processes costs a second, so only these are tried on them."""
PAIRS = [(engine, case) for engine in ENGINES for case in CASES if engine != "processes" or case in ONE_PASS]


@pytest.fixture(scope="session")
def answer_of_one_thread(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """The answer of one thread to a case, worked out once."""
    return cache(lambda case: CASES[case](Local(), people, tmp_path_factory.mktemp("one")))


@pytest.mark.parametrize(("engine", "case"), PAIRS, indirect=["engine"])
def test_an_engine_gives_the_answer_of_one_thread(
    case: str, engine: Engine, people: Path, tmp_path: Path, answer_of_one_thread: Callable[[str], Any]
) -> None:
    assert CASES[case](engine, people, tmp_path) == answer_of_one_thread(case)
