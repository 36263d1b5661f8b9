"""Boosted trees and forests as plain data: scikit-learn's own predictions, a file that cannot be bent, and ONNX."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from tests.support.made_tables import blur_table, two_groups

import sfumato as sf
from sfumato.cli.app import cli
from sfumato.errors import SfumatoError, UsageError
from sfumato.mining import score_model
from sfumato.mining.ensembles import Ensemble, fit_boosting, fit_forest
from sfumato.mining.ensembles.ensemble import Branches
from sfumato.mining.ensembles.scikit_trees import read_boosted, read_forest
from sfumato.mining.model import Model
from sfumato.mining.plausible_tables import label_counts, spread_labels
from sfumato.papers import as2000 as loans
from sfumato.randomness import SecretKey
from sfumato.schema import Missing
from sfumato.table import Column, Table
from sfumato.trees import STRATEGIES

KEY = SecretKey(bytes(range(32)))
WARD = sf.Categories(tuple("abcdefghijk"))
INPUTS = (
    sf.Attribute("x", sf.Kind.REAL, sf.Interval(-9, 9)),
    sf.Attribute("ward", sf.Kind.CATEGORICAL, WARD),
    sf.Attribute("beds", sf.Kind.INTEGER, sf.Interval(0, 45)),
    sf.Attribute("gap", sf.Kind.CATEGORICAL, sf.Categories(("p", "q", "r")), missing=Missing.CATEGORY),
)


def rows(size, classes, seed):
    """Numbers and labels with gaps, labels that no row has, and classes that depend on all of them."""
    rng = np.random.default_rng(seed)
    x, beds = rng.normal(size=size), rng.integers(0, 40, size).astype(float)
    ward, gap = rng.choice([0.0, 2.0, 3.0, 5.0, 9.0], size), rng.integers(0, 4, size).astype(float)
    score = x + 2 * (ward == 3) + beds / 20 - (gap == 3) + rng.normal(size=size)
    codes = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    x[rng.random(size) < 0.1] = np.nan
    ward[rng.random(size) < 0.05] = np.nan
    return np.column_stack([x, ward, beds, gap]).astype(np.float32).astype(np.float64), codes


def fresh_rows(size=400):
    """Rows with gaps and labels that training never saw, as single precision holds them."""
    rng = np.random.default_rng(9)
    matrix = np.column_stack(
        [rng.normal(size=size), rng.integers(0, 11, size), rng.integers(0, 46, size), rng.integers(0, 4, size)]
    )
    matrix = matrix.astype(np.float32).astype(np.float64)
    matrix[:, :3][rng.random((size, 3)) < 0.1] = np.nan
    return matrix


def as_table(matrix, codes=None, labels=()):
    columns = tuple(Column(a, None, matrix[:, i]) for i, a in enumerate(INPUTS))
    return Table(columns, None if codes is None else Column.of_codes("class", labels, codes))


@pytest.mark.parametrize("classes", [2, 3])
def test_boosted_trees_predict_what_scikit_learn_predicts(classes):
    matrix, codes = rows(1500, classes, classes)
    learner = HistGradientBoostingClassifier(max_iter=15, categorical_features=[1, 3], random_state=0).fit(
        matrix, codes
    )
    base, trees, gains = read_boosted(learner, label_counts(INPUTS))
    link = "logistic" if classes == 2 else "softmax"
    names = tuple(map(str, range(classes)))
    ours = Ensemble(INPUTS, names, link, tuple(range(classes)), base[None, :], (trees,), tuple(gains))
    fresh = fresh_rows()
    assert ours.predict_proba(as_table(fresh)) == pytest.approx(learner.predict_proba(fresh), abs=1e-12)
    assert ours.leaves == sum(p.get_n_leaf_nodes() for round_ in learner._predictors for p in round_)
    assert (np.array(gains) > 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_forest_predicts_what_scikit_learn_predicts(classes):
    matrix, codes = rows(1500, classes, classes)
    spread, origin = spread_labels(matrix, label_counts(INPUTS))
    learner = RandomForestClassifier(7, max_leaf_nodes=60, random_state=0).fit(spread, codes)
    trees, gains = read_forest(learner, origin)
    names = tuple(map(str, range(classes)))
    ours = Ensemble(INPUTS, names, "mean", tuple(range(classes)), np.zeros((1, classes)), (trees,), tuple(gains))
    fresh = fresh_rows()
    expected = learner.predict_proba(spread_labels(fresh, label_counts(INPUTS))[0])
    assert ours.predict_proba(as_table(fresh)) == pytest.approx(expected, abs=1e-12)
    assert ours.depth == max(t.get_depth() for t in learner.estimators_)


@pytest.fixture(scope="module")
def noisy():
    train = loans.draw_applicants(4000, 2, 5)
    return loans.perturb(train, sf.Gaussian(privacy=0.5), 5), loans.draw_applicants(3000, 2, 1005)


@pytest.mark.parametrize("fit", [fit_boosting, fit_forest])
def test_draws_teach_more_than_released_values(noisy, fit):
    released, fresh = noisy
    unadjusted = Table(tuple(c.as_true() for c in released.columns), released.target)
    columns = {c.name: fresh[c.name] for c in released.columns}
    truth = np.array([released.labels.index(c) for c in fresh["class"]])
    few = {"draws": 3, "trees": 30 if fit is fit_boosting else 10}
    ours, naive = (score_model(fit(t, **few).tree, columns, truth) for t in (released, unadjusted))
    assert ours.accuracy > naive.accuracy + 0.01
    assert ours.auc > naive.auc
    assert ours.log_loss < naive.log_loss


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A release of three classes, and what is mined from it."""
    matrix, codes = rows(500, 3, 4)
    table = pa.table(
        {
            "x": pa.array(matrix[:, 0], mask=np.isnan(matrix[:, 0])),
            "ward": [None if w != w else WARD.values[int(w)] for w in matrix[:, 1]],
            "beds": matrix[:, 2].astype(int),
            "class": [("low", "middle", "high")[c] for c in codes],
        }
    )
    folder = tmp_path_factory.mktemp("models")
    made = sf.release(
        table, sf.Plan.propose(table, target="class", noise="gaussian", privacy=0.25), folder / "r", key=KEY
    )
    return folder / "r", table, {name: sf.mine(made, name) for name in ("boosting", "forest", "byclass")}


def test_a_missing_value_and_an_unknown_label_follow_the_branch_for_missing_values(models):
    _, table, mined = models
    for name in ("boosting", "forest"):
        model = mined[name]
        base = {"x": [0.1, 0.1], "beds": [10, 10]}
        shares = model.body.predict_proba({**base, "ward": [None, "nowhere"]})
        assert np.array_equal(shares[0], shares[1])
        assert shares.sum(axis=1) == pytest.approx(1)
        assert model.predict(table.slice(0, 5)).num_rows == 5


def test_a_model_file_says_the_same_and_is_applied_without_scikit_learn(models, tmp_path):
    _, table, mined = models
    for name in ("boosting", "forest"):
        mined[name].save(tmp_path / f"{name}.json")
        again = Model.load(tmp_path / f"{name}.json")
        assert again.predict(table).equals(mined[name].predict(table))
        assert again.to_text() == mined[name].to_text()
    code = (
        "import sys, sfumato as sf; m = sf.Model.load(sys.argv[1]); m.body.predict_proba({n: [None] for n in m.inputs}); "
        "assert not any(n.startswith('sklearn') for n in sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "boosting.json")], check=True)


def test_what_is_said_of_an_ensemble(models):
    _, _, mined = models
    model = mined["boosting"]
    summary = model.summary()
    assert summary["trees"] == 15 * 100 * 3
    assert summary["leaves"] == sum(len(t.leaves) for t in model.body.trees)
    assert "4,500 trees" in model.headline
    words = model.to_text()
    assert words.startswith("what the trees look at")
    assert "a small tree that predicts the same class for" in words
    assert 0.6 < model.body.agreement <= 1
    assert "draws of plausible true rows" in model.notes["why"]
    with pytest.raises(UsageError, match="write it as ONNX"):
        model.to_code("py")


def small():
    """Two trees by hand: one of numbers, one of labels."""
    number = Branches(np.array([0, -1, -1]), np.array([2]), (0.5,), np.array([True]), np.array([[-1.0], [1.0]]))
    label = Branches(np.array([1, -1, -1]), np.array([2]), ((0, 3),), np.array([False]), np.array([[-0.5], [0.5]]))
    return Ensemble(
        INPUTS, ("no", "yes"), "logistic", (0, 1), np.array([[0.0]]), ((number, label),), (0.5, 0.5, 0.0, 0.0)
    )


def test_an_ensemble_by_hand():
    ours = small()
    assert ours.used == ("x", "ward")
    shares = ours.predict_proba({"x": [0.5, 0.6, None], "ward": ["a", "b", None]})
    assert shares[:, 1] == pytest.approx(1 / (1 + np.exp([1.5, -1.5, 0.5])))


BENT = {
    "a loop": lambda t: t["right"].__setitem__(0, 0),
    "a child beyond the end": lambda t: t["right"].__setitem__(0, 9),
    "a child that is the left one": lambda t: t["right"].__setitem__(0, 1),
    "a node nothing leads to": lambda t: (t["column"].append(-1), t["leaf"].append(0.0)),
    "a test without children": lambda t: t["column"].__setitem__(2, 0),
    "no nodes": lambda t: t.update(column=[], right=[], cut=[], missing_left=[], leaf=[]),
    "a column that is not there": lambda t: t["column"].__setitem__(0, 4),
    "a leaf too many": lambda t: t["leaf"].append(0.0),
    "a leaf that is not a number": lambda t: t["leaf"].__setitem__(0, float("nan")),
    "a cut without end": lambda t: t["cut"].__setitem__(0, float("inf")),
    "labels for a number": lambda t: t["cut"].__setitem__(0, [0, 1]),
    "a truth that is a text": lambda t: t["missing_left"].__setitem__(0, "1"),
    "a sum that is not there": lambda t: t.update(output=1),
    "leaves that are lists": lambda t: t.update(leaf=[[1.0, 2.0], [3.0, 4.0]]),
}


@pytest.mark.parametrize("what", BENT)
def test_a_bent_tree_is_refused_in_one_line(what):
    data = json.loads(json.dumps(small().to_dict()))
    BENT[what](data["members"][0]["trees"][0])
    with pytest.raises(SfumatoError, match="the model is damaged") as refusal:
        Ensemble.from_dict(data)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "change",
    [
        {"classes": [0, 0]},
        {"classes": []},
        {"classes": [0, 2]},
        {"link": "probit"},
        {"gains": [1.0]},
        {"members": []},
        {"agreement": "x"},
    ],
    ids=str,
)
def test_a_bent_ensemble_is_refused_in_one_line(change):
    data = json.loads(json.dumps(small().to_dict())) | change
    with pytest.raises(SfumatoError, match="the model is damaged"):
        Ensemble.from_dict(data)


@pytest.mark.parametrize("name", ["boosting", "forest", "byclass"])
def test_onnx_predicts_the_same(models, name):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    _, _, mined = models
    model = mined[name]
    fresh = fresh_rows()
    texts = np.array([*WARD.values, ""], dtype=object)
    inputs = {
        "x": fresh[:, 0],
        "beds": fresh[:, 2],
        "ward": texts[np.where(np.isnan(fresh[:, 1]), -1, fresh[:, 1]).astype(int)],
    }
    session = runtime.InferenceSession(model.to_onnx())
    labels, shares = session.run(None, {n: inputs[n][:, None] for n in model.inputs})
    expected = model.body.predict_proba(inputs)
    assert shares == pytest.approx(expected, abs=1e-12)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-9
    assert (labels == np.array(model.labels)[expected.argmax(axis=1)])[clear].all()


def test_without_onnx_one_is_told_what_to_install(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UsageError, match=r"pip install 'sfumato\[onnx\]'"):
        models[2]["byclass"].to_onnx()


def test_the_command_line_mines_and_exports(models, tmp_path):
    pytest.importorskip("onnx")
    folder, table, _ = models
    csv.write_csv(table.slice(0, 40), tmp_path / "t.csv")
    run = CliRunner().invoke(cli, ["mine", str(folder), "--strategy", "forest", "-o", str(tmp_path / "m.json"), "--export", str(tmp_path / "m.onnx"), "--json"])  # fmt: skip
    assert run.exit_code == 0, run.output
    assert (tmp_path / "m.onnx").stat().st_size > 1000
    run = CliRunner().invoke(cli, ["evaluate", str(tmp_path / "m.json"), str(tmp_path / "t.csv")])
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(cli, ["mine", str(folder), "--strategy", "forest", "--export", str(tmp_path / "m.py")])
    assert run.exit_code != 0
    assert "write it as ONNX" in run.output


def test_one_class_is_no_trouble():
    matrix, _ = rows(200, 2, 1)
    fitted = fit_boosting(as_table(matrix, np.zeros(200, np.int64), ("only", "never"))).tree
    assert fitted.predict_proba(as_table(matrix[:3])).tolist() == [[1.0, 0.0]] * 3
    assert Ensemble.from_dict(json.loads(json.dumps(fitted.to_dict()))).predict_proba(as_table(matrix[:3]))[0, 0] == 1.0


@pytest.mark.parametrize("strategy", ["boosting", "forest"])
def test_a_column_without_values_is_learned_from_like_no_column(strategy):
    true = two_groups(300)
    released = blur_table(true)
    gone = replace(released.columns[0], values=np.full(300, np.nan))
    fitted = STRATEGIES[strategy].fit(Table((gone, *released.columns[1:]), released.target), draws=2)
    assert fitted.tree.gains[0] == 0
    ours = score_model(fitted.tree, true, true.codes).accuracy
    assert ours > np.bincount(true.codes).max() / 300
