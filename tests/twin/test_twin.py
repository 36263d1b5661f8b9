"""A synthetic twin: its rows, its file, and a report that tells a good twin from a bad one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.support.made_tables import blur_table, two_groups

import sfumato as sf
from sfumato.errors import OutputError, UsageError
from sfumato.modelling import TableModel
from sfumato.twin import attack_twin, compare_learners, nearest_distances

QUICK = sf.FitSettings(components=(4,), starts=1, passes=(30, 0))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> sf.Release:
    plan = sf.plan("credit_approval", privacy=0.3)
    return sf.release(
        "credit_approval", plan, tmp_path_factory.mktemp("credit") / "release", key=sf.SecretKey(bytes(32))
    )


@pytest.fixture(scope="module")
def model(release: sf.Release) -> TableModel:
    return sf.model(release, settings=sf.FitSettings(components=(8,), starts=1))


def test_a_twin_has_the_columns_and_as_many_rows_as_asked_for(release: sf.Release, model: TableModel) -> None:
    twin = sf.synthesise(release, 1000, model=model)
    table = twin.to_arrow()
    assert table.num_rows == 1000
    assert table.column_names == [c.attribute.name for c in release.manifest.columns]
    assert sf.synthesise(release, 300, model=model).to_arrow().equals(table.slice(0, 300))
    assert not sf.synthesise(release, 300, model=model, seed=1).to_arrow().equals(table.slice(0, 300))
    assert sf.synthesise(release, model=model).rows == release.manifest.data.rows


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_holds_the_same_rows(release: sf.Release, model: TableModel, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"twin{ending}"
    twin = sf.synthesise(release, 200, path, model=model)
    table = pacsv.read_csv(path) if ending == ".csv" else pq.read_table(path)
    assert table["A2"].to_pylist() == pytest.approx(twin.to_arrow()["A2"].to_pylist())
    with pytest.raises(OutputError, match="exists already"):
        sf.synthesise(release, 200, path, model=model)


def test_wrong_wishes_are_refused_in_a_line(release: sf.Release, model: TableModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows=0 cannot be a number of rows"):
        sf.synthesise(release, 0, model=model)
    with pytest.raises(UsageError, match="unsupported extension"):
        sf.synthesise(release, 5, tmp_path / "twin.txt", model=model)
    assert not list(tmp_path.iterdir())


def test_the_report_says_how_close_the_twin_is(release: sf.Release, model: TableModel) -> None:
    twin = sf.synthesise(release, 4000, model=model)
    report = twin.report
    assert set(report["marginals"]) == set(model.names)
    assert np.median(list(report["marginals"].values())) < 0.15
    assert all(-1 <= pair["twin"] <= 1 for pair in report["pairs"])
    learner = report["learner"]
    assert learner["commonest"] < learner["draws"]["accuracy"] <= 1
    assert abs(learner["draws"]["accuracy"] - learner["twin"]["accuracy"]) < 0.2
    assert "50 %" in report["attack"]["in_words"]
    assert len(twin.in_words()) == 4


def test_a_twin_that_lost_the_class_trains_a_worse_learner() -> None:
    true = two_groups(1600)
    drawn = true.take(np.arange(800))
    good, lost = true.take(np.arange(800, 1600)), true.take(np.arange(800, 1600))
    shuffled = np.random.default_rng(3).permutation(lost.codes)
    bad = lost.with_values({}, shuffled)
    fair = compare_learners(good, drawn)["twin"]["accuracy"]
    assert fair > compare_learners(bad, drawn)["twin"]["accuracy"] + 0.1


def test_a_twin_of_a_model_gives_no_one_away_and_one_of_copied_rows_does(monkeypatch: pytest.MonkeyPatch) -> None:
    true = two_groups(1200, spread=20.0)
    released = blur_table(true, 0.5)
    model = TableModel.fit(released, QUICK)
    low, high = attack_twin(model, released, true, 0)["interval"]
    assert low - 0.03 < 0.5 < high + 0.03
    copies = true.take(np.flatnonzero(np.arange(1200) % 2 == 0))
    monkeypatch.setattr(TableModel, "sample_rows", lambda *_: copies)
    assert attack_twin(model, released, true, 0)["success"] > 0.9


def test_distances_are_gowers() -> None:
    true = two_groups(3)
    moved = replace(true.columns[0], values=true.columns[0].values + np.array([10.0, 10.0, 10.0]))
    other = replace(true, columns=(moved, *true.columns[1:]))
    assert nearest_distances(true.take([0]), other.take([0]))[0] == pytest.approx(0.1)  # type: ignore[arg-type]
