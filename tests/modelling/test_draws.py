"""Tables of plausible true rows: their values, their folder, and what they do not depend on."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.made_tables import blur_table, two_groups

import sfumato as sf
from sfumato.engines import Local
from sfumato.errors import OutputError, UsageError
from sfumato.modelling import TableModel
from sfumato.modelling.bootstrap import rehearse_draws, resample_models
from sfumato.modelling.chance import Chance
from sfumato.modelling.product_mixture import Mixture

ROWS = 400
LABELS = tuple(f"place {i}" for i in range(1500))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> sf.Release:
    """Dates, whole numbers, a stretched number with gaps, a thousand labels, an id that is released, and a withheld name."""
    chance = np.random.default_rng(4)
    pay = chance.lognormal(8, 1, ROWS).round(2)
    table = pa.table(
        {
            "person": [f"p{i}" for i in range(ROWS)],
            "name": [f"name {i}" for i in range(ROWS)],
            "day": [date.fromordinal(737_000 + int(d)) for d in chance.integers(0, 600, ROWS)],
            "age": chance.integers(18, 91, ROWS),
            "pay": pa.array(pay, mask=chance.random(ROWS) < 0.2),
            "place": [LABELS[i] for i in chance.integers(0, 1500, ROWS)],
            "sick": [("no", "yes")[i] for i in chance.integers(0, 2, ROWS)],
        }
    )
    days = sf.Interval(date(2018, 1, 1).toordinal() - 719_163, date(2021, 12, 31).toordinal() - 719_163)
    schema = sf.Schema(
        (
            sf.Attribute("person", sf.Kind.CATEGORICAL, None, role=sf.Role.IDENTIFIER, consent=sf.Consent.TRUE),
            sf.Attribute("name", sf.Kind.CATEGORICAL, None, consent=sf.Consent.WITHHOLD),
            sf.Attribute("day", sf.Kind.DATE, days),
            sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 120)),
            sf.Attribute("pay", sf.Kind.REAL, sf.Interval(0, 1e6), scale=sf.Log(unit=100)),
            sf.Attribute("place", sf.Kind.CATEGORICAL, sf.Categories(LABELS)),
            sf.Attribute(
                "sick",
                sf.Kind.CATEGORICAL,
                sf.Categories(("no", "yes")),
                role=sf.Role.TARGET,
                consent=sf.Consent.TRUE,
            ),
        )
    )
    noise = sf.Gaussian(privacy=0.5)
    laws = {"day": noise, "age": noise, "pay": noise, "place": sf.Projective(epsilon=4.0)}
    folder = tmp_path_factory.mktemp("mixed")
    return sf.release(table, sf.Plan(schema, laws), folder / "release", key=sf.SecretKey(bytes(32)))


@pytest.fixture(scope="module")
def drawn(mixed: sf.Release) -> sf.Draws:
    return sf.draws(mixed, m=3)


def test_a_draw_has_the_columns_own_values_and_types(mixed: sf.Release, drawn: sf.Draws) -> None:
    table = drawn[0]
    assert table.column_names == ["person", "day", "age", "pay", "place", "sick"]
    kinds = {name: str(table.schema.field(name).type) for name in ("person", "day", "age", "pay")}
    assert kinds == {"person": "string", "day": "date32[day]", "age": "int64", "pay": "double"}
    assert 0 <= pc.min(table["age"]).as_py() <= pc.max(table["age"]).as_py() <= 120
    assert date(2018, 1, 1) <= pc.min(table["day"]).as_py() <= pc.max(table["day"]).as_py() <= date(2021, 12, 31)
    assert set(table["place"].to_pylist()) <= set(LABELS)
    assert table["person"].to_pylist() == [f"p{i}" for i in range(ROWS)]
    assert table["sick"].to_pylist() == mixed.to_arrow()["sick"].to_pylist()
    assert table["pay"].is_null().to_pylist() == mixed.to_arrow()["pay"].is_null().to_pylist()


def test_draws_differ_and_the_first_of_many_are_those_of_few(mixed: sf.Release, drawn: sf.Draws) -> None:
    assert not drawn[0]["age"].equals(drawn[1]["age"])
    few = sf.draws(mixed, m=2)
    assert few[0].equals(drawn[0])
    assert few[1].equals(drawn[1])
    assert not sf.draws(mixed, m=1, seed=1)[0]["age"].equals(drawn[0]["age"])


def test_a_folder_holds_the_same_tables_whatever_the_engine(mixed: sf.Release, drawn: sf.Draws, tmp_path: Path) -> None:
    made = sf.draws(mixed, 2, tmp_path / "drawn", Local(workers=2, gathers=False))
    assert {p.name for p in (tmp_path / "drawn").iterdir()} == {
        "draw-1.parquet",
        "draw-2.parquet",
        "draws.json",
        "README.md",
    }
    assert pq.read_table(tmp_path / "drawn" / "draw-2.parquet").equals(drawn[1])
    assert made[0].equals(drawn[0])
    statement = json.loads((tmp_path / "drawn" / "draws.json").read_text("utf-8"))
    assert (statement["release"], statement["m"], statement["seed"]) == (mixed.manifest.name, 2, 0)
    assert statement["cautions"][0]["code"] == "SF601"
    assert "components" in statement["chosen"]
    with pytest.raises(OutputError, match="exists already"):
        sf.draws(mixed, 1, tmp_path / "drawn")
    sf.draws(mixed, 1, tmp_path / "drawn", force=True)
    assert not (tmp_path / "drawn" / "draw-2.parquet").exists()


def test_a_folder_appears_whole_or_not_at_all(
    mixed: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr("sfumato.modelling.plausible_rows.describe_draws", fail)
    with pytest.raises(RuntimeError, match="the power went"):
        sf.draws(mixed, 1, tmp_path / "drawn")
    assert not list(tmp_path.iterdir())


def test_wrong_wishes_are_refused_in_a_line(mixed: sf.Release, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="m=0 cannot be a number of draws"):
        sf.draws(mixed, 0)
    with pytest.raises(UsageError, match="give a folder="):
        sf.draws(mixed, 1, engine=Local(gathers=False))
    other = sf.model(sf.release("iris", None, tmp_path / "iris", privacy=0.5))
    with pytest.raises(UsageError, match="the model is of the columns"):
        sf.draws(mixed, 1, model=other)


def test_guided_columns_are_drawn_as_released_and_a_caution_says_so(tmp_path: Path) -> None:
    release = sf.release("iris", None, tmp_path / "release", method="racc", options={"k": 3})
    drawn = sf.draws(release, 1)
    assert drawn[0]["petal_width"].to_pylist() == release.to_arrow()["petal_width"].to_pylist()
    assert [note.code for note in drawn.cautions] == ["SF601", "SF602"]


def test_dataframes_are_offered_where_their_library_is_there(drawn: sf.Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn.to_pandas()[0].shape == (ROWS, 6)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(UsageError, match="polars is not installed"):
        drawn.to_polars()


def test_how_often_a_row_is_drawn_anew_is_a_poisson_count() -> None:
    times = Chance.of_rows(np.arange(200_000), "any").times("times")
    assert times.mean() == pytest.approx(1.0, abs=0.012)
    assert times.var() == pytest.approx(1.0, abs=0.02)
    assert (times == 0).mean() == pytest.approx(np.exp(-1), abs=0.006)
    part = Chance.of_rows(np.arange(1000, 1100), "any").times("times")
    assert (part == times[1000:1100]).all()


def test_the_parts_of_a_union_are_what_was_joined() -> None:
    chance = np.random.default_rng(2)
    parts = [Mixture(np.full(3, 1 / 3), (chance.dirichlet(np.ones(4), 3),)) for _ in range(2)]
    back = Mixture.union(parts).parts(2)
    for ours, theirs in zip(back, parts, strict=True):
        assert ours.weights == pytest.approx(theirs.weights)
        assert (ours.tables[0] == theirs.tables[0]).all()


def test_models_of_rows_drawn_anew_differ_as_rows_do() -> None:
    """The mean of n true values with noise varies by noise/√n over releases; draws must show that much, and one model does not."""
    rows = 3000
    true = two_groups(rows)
    released = blur_table(true, privacy=1.0)
    settings = sf.FitSettings(components=(4,), starts=1, passes=(30, 0))
    model = TableModel.fit(released, settings)
    names = [f"draw {j}" for j in range(24)]

    def spread(models: list[TableModel]) -> float:
        drawn = [m.draw(released, np.arange(rows), n) for m, n in zip(models, names, strict=True)]
        return float(np.std([t["pay"].values.mean() for t in drawn], ddof=1))

    noise = float(np.std(released["pay"].values - true["pay"].values)) / np.sqrt(rows)
    own = spread(list(resample_models(model, released, names)))
    one = spread([model] * len(names))
    assert 0.5 < own / noise < 1.6
    assert one < 0.6 * own


def test_a_fold_over_blocks_draws_rows_anew_as_one_table_does() -> None:
    released = blur_table(two_groups(800))
    model = TableModel.fit(released, sf.FitSettings(components=(4,), starts=1, passes=(10, 0)))

    class Blocks:
        table = released

        def fold(self, count: object) -> object:
            parts = [np.arange(b, min(b + 170, 800)) for b in range(0, 800, 170)]
            first, *rest = [count(released.take(rows), rows) for rows in parts]  # type: ignore[operator]
            for part in rest:
                first = first + part
            return first

    whole = resample_models(model, released, ["a", "b"], passes=4)
    folded = resample_models(model, Blocks(), ["a", "b"], passes=4)  # type: ignore[arg-type]
    for ours, theirs in zip(folded, whole, strict=True):
        assert all((a == b).all() for a, b in zip(ours.mixture.tables, theirs.mixture.tables, strict=True))


def test_a_rehearsal_finds_that_a_model_of_one_component_knows_no_dependence() -> None:
    released = blur_table(two_groups(1500))
    model = TableModel.fit(released, sf.FitSettings(components=(4,), starts=1, passes=(30, 0)))
    independent = replace(model, chosen={"components": 1})
    pairs = rehearse_draws(independent, [model], released, ["one"], lambda _: None)
    ((truth, again),) = pairs

    def together(table: object) -> float:
        return float(np.corrcoef(table["age"].values, table["pay"].values)[0, 1])  # type: ignore[index]

    assert together(truth) > 0.6
    assert together(again) < together(truth) - 0.15
