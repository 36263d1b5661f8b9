"""The miner's verbs, by the contract: one JSON document on stdout, words on stderr, exit codes, nothing overwritten."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sfumato.cli.app import VERBS, cli, main
from sfumato.plans import Plan
from sfumato.releases import create_key
from sfumato.releasing import release


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    folder = tmp_path_factory.mktemp("iris")
    release(
        "iris",
        Plan.propose("iris", noise="gaussian", privacy=0.25),
        folder / "release",
        key=create_key(folder / "k.key"),
    )
    return folder / "release"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    seen = capsys.readouterr()
    return stop.value.code, seen.out, seen.err


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help_with_an_example(verb):
    shown = CliRunner().invoke(cli, [verb, "--help"])
    assert shown.exit_code == 0
    assert f"Example:  sfumato {verb}" in shown.output
    assert "--json" in shown.output


def test_reconstruct_gives_edges_masses_and_classes(iris, capsys, tmp_path):
    code, out, err = run(
        capsys, "reconstruct", iris, "--attribute", "petal_length", "--by-class", "--plot", tmp_path / "p.svg", "--json"
    )
    assert code == 0, err
    found = json.loads(out)["attributes"]["petal_length"]
    assert len(found["edges"]) == len(found["mass"]) + 1
    assert sum(found["mass"]) == pytest.approx(1)
    assert set(found["by_class"]) == {"Iris-setosa", "Iris-versicolor", "Iris-virginica"}
    for mass in found["by_class"].values():
        assert sum(mass) == pytest.approx(1)
    assert (tmp_path / "p.svg").read_text().startswith("<svg")


@pytest.fixture(scope="module")
def empty_column(tmp_path_factory):
    """A release one of whose columns holds no value at all, and its original."""
    folder = tmp_path_factory.mktemp("empty")
    rng = np.random.default_rng(2)
    lines = [f",{x:.1f},{'abc'[i % 3]},{'pq'[i % 2]}" for i, x in enumerate(rng.uniform(0, 100, 120))]
    (folder / "t.csv").write_text("gone,x,label,class\n" + "\n".join(lines) + "\n")
    plan = """[[column]]
name = "gone"
kind = "real"
domain = [0, 100]
noise = {law = "gaussian", privacy = 0.4}
[[column]]
name = "x"
kind = "real"
domain = [0, 100]
noise = {law = "gaussian", privacy = 0.4}
[[column]]
name = "label"
kind = "categorical"
categories = ["a", "b", "c"]
noise = {law = "substitution", gamma = 3}
[[column]]
name = "class"
kind = "categorical"
role = "target"
categories = ["p", "q"]
consent = "true"
"""
    (folder / "plan.toml").write_text(plan)
    return folder


def test_a_column_without_values_is_left_out_with_a_note(empty_column, capsys):
    at = empty_column
    arguments = ("release", at / "t.csv", "--plan", at / "plan.toml", "-o", at / "r", "--key", at / "key")
    assert run(capsys, *arguments)[0] == 0
    code, out, err = run(capsys, "reconstruct", at / "r", "--by-class", "--plot", at / "p.svg", "--json")
    assert code == 0, err
    about = json.loads(out)
    assert set(about["attributes"]) == {"x", "label"}
    assert about["skipped"] == {"gone": "no value is present, so there is nothing to reconstruct"}
    assert "gone is left out: no value is present" in err
    assert ">gone</text>" in (at / "p.svg").read_text()
    code, out, err = run(capsys, "reconstruct", at / "r")
    assert (code, "gone" in out, "gone is left out" in err) == (0, False, True)
    code, _, err = run(capsys, "reconstruct", at / "r", "--attribute", "gone")
    assert code == 1
    assert "gone: no value is present" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [
        ("describe", "{}/r"),
        ("mine", "{}/r", "-o", "{}/m.json"),
        ("compare", "{}/t.csv", "{}/r"),
        ("audit", "{}/t.csv", "{}/r", "--public", "{}/p.html"),
        ("cluster", "{}/r", "-k", "2"),
    ],
    ids=lambda v: v[0],
)
def test_every_verb_lives_with_a_column_without_values(empty_column, capsys, verb):
    at = empty_column
    if not (at / "r").exists():
        run(capsys, "release", at / "t.csv", "--plan", at / "plan.toml", "-o", at / "r", "--key", at / "key")
    code, out, err = run(capsys, *(part.format(at) for part in verb))
    assert code == 0, err
    assert "nan" not in (out + err).lower()


def test_describe_gives_every_attribute_its_privacy(iris, capsys):
    code, out, _ = run(capsys, "describe", iris, "--json")
    about = json.loads(out)["attributes"]
    assert code == 0
    assert about["petal_width"]["mechanism"] == "gaussian"
    assert about["petal_width"]["privacy"]["interval_width_95"] == pytest.approx(0.25 * 2.4)
    assert about["petal_width"]["privacy"]["epsilon"] is None
    assert about["petal_width"]["privacy"]["reason"]


def test_mine_says_which_strategy_it_took_where_none_was_named(iris, capsys):
    code, _, err = run(capsys, "mine", iris)
    assert code == 0
    assert "auto: 150 rows in" in err


def test_mine_predict_and_evaluate_hand_the_model_on(iris, capsys, tmp_path):
    model = tmp_path / "model.json"
    code, out, err = run(
        capsys,
        "mine",
        iris,
        "--strategy",
        "byclass",
        "-o",
        model,
        "--draw",
        tmp_path / "t.svg",
        "--export",
        tmp_path / "m.sql",
        "--json",
    )
    about = json.loads(out)
    assert code == 0
    assert (about["strategy"], about["rows"]) == ("byclass", 150)
    assert about["leaves"] >= 2
    assert about["depth"] >= 1
    assert about["seconds"] >= 0
    assert "petal" in err
    assert (tmp_path / "t.svg").read_text().startswith("<svg")
    assert "CASE" in (tmp_path / "m.sql").read_text()

    code, out, _ = run(capsys, "evaluate", model, "iris", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["rows"] == 150
    assert result["accuracy"] > 0.85

    code, out, _ = run(capsys, "predict", model, "iris", "-o", tmp_path / "p.parquet", "--json")
    assert (code, json.loads(out)["rows"]) == (0, 150)
    assert pq.read_table(tmp_path / "p.parquet").column_names == ["class", "probability"]

    code, _, err = run(capsys, "predict", model, "iris", "-o", tmp_path / "p.parquet")
    assert code == 1
    assert "--force" in err


def test_compare_and_cluster_follow_the_contract(iris, capsys):
    code, out, err = run(capsys, "compare", "iris", iris, "-k", "3", "--json")
    found = json.loads(out)
    assert code == 0, err
    assert {"target", "rule_similarity", "agreement", "same_root", "verdict"} <= set(found["trees"][0])
    assert 0 <= found["clusters"]["agreement"] <= 1
    code, out, _ = run(capsys, "cluster", iris, "-k", "3", "--json")
    assert sum(json.loads(out)["sizes"]) == 150


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("mine", "nowhere"), 1, "manifest.json"),
        (("evaluate", "nowhere.json", "iris"), 1, "nowhere.json"),
        (("mine", "{iris}", "--strategy", "best"), 2, "byclass"),
        (("mine", "{iris}", "--export", "m.txt"), 2, ".sql"),
        (("reconstruct", "{iris}", "--attribute", "petal"), 2, "petal_length"),
        (("reconstruct", "{iris}", "--method", "magic"), 2, "ems"),
        (("compare", "glass", "{iris}"), 1, "sepal_length"),
        (("frobnicate",), 2, "No such command"),
    ],
)
def test_mistakes_are_told_in_words_without_a_traceback(iris, capsys, arguments, code, words):
    got, out, err = run(capsys, *(a.format(iris=iris) for a in arguments))
    assert got == code, err
    assert words in err
    assert "Traceback" not in err
    assert out == ""


def test_a_flipped_byte_in_the_data_is_noticed_by_verify(iris, tmp_path):
    import shutil

    from sfumato.errors import DataError
    from sfumato.releases import Release

    copy = tmp_path / "copy"
    shutil.copytree(iris, copy)
    Release.open(copy).verify()
    data = bytearray((copy / "data.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (copy / "data.parquet").write_bytes(bytes(data))
    with pytest.raises(DataError, match="checksum"):
        Release.open(copy).verify()


def test_reconstruct_shows_each_class_and_refuses_classes_there_are_none_of(iris, capsys, tmp_path):
    code, out, _ = run(capsys, "reconstruct", iris, "--attribute", "petal_length", "--by-class")
    assert code == 0
    for label in ("Iris-setosa", "Iris-versicolor", "Iris-virginica"):
        assert label in out
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(str(i % 9) for i in range(60)) + "\n")
    run(capsys, "release", tmp_path / "x.csv", "-o", tmp_path / "r", "--key", tmp_path / "k", "--noise", "gaussian")
    code, _, err = run(capsys, "reconstruct", tmp_path / "r", "--by-class")
    assert code == 2
    assert "no target" in err


def test_evaluate_says_how_many_rows_it_left_out(iris, capsys, tmp_path):
    run(capsys, "mine", iris, "--strategy", "byclass", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text(
        "sepal_length,sepal_width,petal_length,petal_width,class\n5,3,1.5,.2,Iris-setosa\n5,3,1.5,.2,Iris-setosa \n"
    )
    code, out, err = run(capsys, "evaluate", tmp_path / "m.json", tmp_path / "t.csv")
    assert code == 0
    assert "on 1 rows" in out
    assert "1 rows are left out: their class is missing" in err


def test_evaluate_shows_every_score_beside_the_commonest_class_and_draws_the_calibration(iris, capsys, tmp_path):
    run(capsys, "mine", iris, "--strategy", "byclass", "-o", tmp_path / "m.json")
    plot = tmp_path / "c.svg"
    code, out, err = run(capsys, "evaluate", tmp_path / "m.json", "iris", "--plot", plot)
    assert code == 0
    for words in (
        "balanced accuracy",
        "AUC",
        "log loss",
        "Brier score",
        "without a model",
        "Calibration of the predicted",
    ):
        assert words in out
    assert "taken for Iris-virginica" in out
    assert "not above" not in out
    assert plot.read_text().startswith("<svg")
    assert f"drew the calibration into {plot}" in err
    code, _, err = run(capsys, "evaluate", tmp_path / "m.json", "iris", "--plot", plot)
    assert code == 1
    assert "--force" in err


def test_evaluate_says_when_accuracy_is_not_above_the_commonest_class(iris, capsys, tmp_path):
    run(capsys, "mine", iris, "--strategy", "byclass", "-o", tmp_path / "m.json")
    row = "5,3,1.5,.2,Iris-setosa\n"
    (tmp_path / "t.csv").write_text(f"sepal_length,sepal_width,petal_length,petal_width,class\n{20 * row}")
    code, out, _ = run(capsys, "evaluate", tmp_path / "m.json", tmp_path / "t.csv")
    assert code == 0
    assert "Accuracy is not above that of always guessing the commonest class (100.0% against 100.0%)" in out
    code, out, _ = run(capsys, "evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--json")
    assert json.loads(out)["auc"] is None


def test_predictions_never_replace_the_table_they_are_for(iris, capsys, tmp_path):
    run(capsys, "mine", iris, "--strategy", "byclass", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("sepal_length,sepal_width,petal_length,petal_width\n5,3,1.5,.2\n")
    code, _, err = run(capsys, "predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "t.csv", "--force")
    assert code == 1
    assert "name another output" in err
    assert (tmp_path / "t.csv").read_text().startswith("sepal_length")


@pytest.mark.parametrize("verb", [("mine",), ("reconstruct",), ("audit", "iris")])
def test_a_release_that_was_tampered_with_is_refused(verb, capsys, tmp_path):
    made = release("iris", Plan.propose("iris"), tmp_path / "r", key=create_key(tmp_path / "k"), format="csv")
    text = made.data_path.read_text().splitlines()
    made.data_path.write_text("\n".join([text[0], text[2], text[1], *text[3:]]) + "\n")
    code, _, err = run(capsys, verb[0], *verb[1:], tmp_path / "r", *(["-o", tmp_path / "a.html"] if verb[1:] else []))
    assert code == 1
    assert "checksum" in err
