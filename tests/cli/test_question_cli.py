"""Regression, association and planning at the command line: JSON, files, and one line for wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.randomness import SecretKey


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("questions") / "iris"
    sf.release("iris", sf.plan("iris", privacy=0.25), folder, key=SecretKey(bytes(32)))
    return str(folder)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(list(words))
    shown = capsys.readouterr()
    return int(done.value.code or 0), shown.out, shown.err


def test_fit_prints_one_json_document(iris: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fit", iris, "petal_width ~ petal_length", "--json")
    terms = json.loads(out)["coefficients"]
    assert code == 0
    assert [t["term"] for t in terms] == ["Intercept", "petal_length"]
    assert {"estimate", "se", "low", "high", "population_se"} <= set(terms[0])


def test_fit_writes_a_table_that_has_the_figures_of_python(
    iris: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fit.parquet"
    code, out, _ = run(capsys, "fit", iris, "petal_width ~ petal_length + C(class)", "-o", str(file))
    assert code == 0
    assert "se (noise)" in out
    figures = sf.fit("petal_width ~ petal_length + C(class)", iris).coefficients
    assert pq.read_table(file)["estimate"].to_pylist() == pytest.approx([float(f) for f in figures.values()])
    assert run(capsys, "fit", iris, "petal_width ~ petal_length", "-o", str(file))[0] == 1  # it exists


def test_associate_draws_correlations(iris: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "map.svg"
    code, out, _ = run(capsys, "associate", iris, "--plot", str(file))
    assert code == 0
    assert "petal_length" in out
    assert file.read_text("utf-8").startswith("<svg")


def test_associate_finds_itemsets(iris: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "associate", iris, "--itemsets", "--min-support", "0.3", "--json")
    assert code == 0
    assert [s["support"]["estimate"] for s in json.loads(out)["itemsets"]] == pytest.approx([1 / 3] * 3)


def test_power_answers_either_way(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("power", "mean", "--noise", "gaussian", "--privacy", "0.5", "--domain", "0,100", "--sd", "15", "--json")
    code, out, _ = run(capsys, *words, "--error", "1")
    assert (code, json.loads(out)["rows"]) == (0, 626)
    code, out, _ = run(capsys, *words, "--rows", "626")
    assert json.loads(out)["error"] == pytest.approx(1.0, abs=0.001)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "IRIS", "petal_width ~ log(petal_length)"), "write petal_length"),
        (("fit", "IRIS", "petal_width ~ height"), "there is no column 'height'"),
        (("fit", "IRIS", "petal_width"), "is not a formula|no formula"),
        (("fit", "IRIS", "petal_width ~ petal_length", "--family", "gamma"), "there is no family 'gamma'"),
        (("fit", "IRIS", "class ~ petal_length"), "--success Iris-virginica"),
        (("associate", "IRIS", "class"), "name two"),
        (("associate", "IRIS", "class", "petal_width"), "is a number without labels"),
        (("power", "mean"), "exactly one of rows and error"),
        (("power", "mean", "--rows", "10", "--domain", "3"), "two ends"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    iris: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *(iris if w == "IRIS" else w for w in words))
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    import re

    assert re.search(message, err), err
