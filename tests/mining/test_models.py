"""From a release to a model and its accuracy on true values."""

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import Gaussian
from sfumato.errors import DataError, UsageError
from sfumato.mining.model import Model, mine
from sfumato.mining.naive_bayes import NAIVE_BAYES
from sfumato.papers import as2000 as loans
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.trees.strategies.base import STRATEGIES

KEY = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    folder = tmp_path_factory.mktemp("iris") / "release"
    return release("iris", Plan.propose("iris", noise="gaussian", privacy=0.25), folder, key=KEY)


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adult") / "release"
    return release("adult", Plan.propose("adult", noise="gaussian", privacy=0.5), folder, key=KEY)


@pytest.mark.parametrize("strategy", [s.name for s in STRATEGIES.values() if not s.true_values])
def test_every_strategy_mines_three_classes_and_survives_its_file(iris, strategy, tmp_path):
    model = mine(iris, strategy)
    model.save(tmp_path / "model.json")
    again = Model.load(tmp_path / "model.json")
    assert again.predict("iris").equals(model.predict("iris"))
    assert model.evaluate("iris")["accuracy"] > 0.8
    assert model.evaluate("iris")["rows"] == 150


@pytest.mark.parametrize("strategy", ["byclass", NAIVE_BAYES])
def test_a_mixed_table_with_missing_values_is_mined_close_to_the_truth(adult, strategy):
    model = mine(adult, strategy)
    assert model.evaluate("adult_test")["accuracy"] > {"byclass": 0.83, NAIVE_BAYES: 0.81}[strategy]


def test_prediction_asks_for_true_values_only_of_the_columns_it_uses(iris):
    model = mine(iris, "byclass")
    used = {name: [5.0] for name in model.inputs}
    assert model.predict(pa.table(used)).num_rows == 1


def test_a_missing_column_is_named(iris):
    model = mine(iris, "byclass")
    with pytest.raises(DataError, match=model.inputs[0]):
        model.predict(pa.table({"other": [1.0]}))


def test_unknown_labels_and_gaps_at_prediction_are_no_error(adult):
    model = mine(adult, "byclass")
    row = {
        n: ["not a label seen before"] if not a.kind.numeric else [None]
        for n, a in ((a.name, a) for a in model.body.attributes)
    }
    typed = {n: pa.array(v, pa.string() if isinstance(v[0], str) else pa.float64()) for n, v in row.items()}
    assert model.predict(pa.table(typed)).num_rows == 1


def test_evaluation_counts_rows_of_unknown_class_apart(iris):
    table = pa.table({n: [5.0, 5.0] for n in mine(iris, "byclass").inputs} | {"class": ["Iris-setosa", "Iris-nova"]})
    result = mine(iris, "byclass").evaluate(table)
    assert (result["rows"], result["rows_without_known_class"]) == (1, 1)


def test_a_release_without_a_class_cannot_be_mined(tmp_path):
    table = pa.table({"x": np.arange(50.0), "y": np.arange(50.0) % 7})
    made = release(table, Plan.propose(table, noise="gaussian", privacy=0.5), tmp_path / "r", key=KEY)
    with pytest.raises(UsageError, match="target=COLUMN"):
        mine(made)


def test_an_unknown_strategy_names_the_known_ones(iris):
    with pytest.raises(UsageError, match="byclass"):
        mine(iris, "sideways")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps({"format": "something"}))
    with pytest.raises(DataError, match="not a model"):
        Model.load(tmp_path / "m.json")


def test_reconstruction_recovers_most_of_what_noise_destroys():
    # Function 1 depends on age alone: bands that noise at 100 % of the range blurs beyond recognition.
    train, test = loans.draw_applicants(20_000, 1, 1), loans.draw_applicants(4_000, 1, 1001)
    table = loans.perturb(train, Gaussian(privacy=1.0), 1)
    truth = loans.classes(test)
    naive = mine(table, "randomized").body.accuracy(test, truth)
    corrected = mine(table, "byclass").body.accuracy(test, truth)
    assert naive < 0.85
    assert corrected > 0.9


def test_naive_bayes_on_true_values_is_naive_bayes():
    # Against a twin that counts with loops, on a table released as true.
    from sfumato.mining.naive_bayes import NaiveBayes
    from sfumato.schema import Attribute, Categories, Kind
    from sfumato.table import Column, Table

    rng = np.random.default_rng(0)
    n, sizes = 400, (3, 4)
    codes = [rng.integers(0, k, n) for k in sizes]
    classes = (codes[0] + rng.integers(0, 2, n)) % 2
    columns = [
        Column(Attribute(f"a{i}", Kind.CATEGORICAL, Categories(tuple("wxyz"[:k]))), None, c.astype(float))
        for i, (k, c) in enumerate(zip(sizes, codes, strict=True))
    ]
    model = NaiveBayes.fit(Table(tuple(columns), Column.of_codes("class", ("no", "yes"), classes.astype(np.int64))))
    found = model.predict_proba(Table(tuple(columns)))
    for row in range(0, n, 37):
        scores = []
        for label in (0, 1):
            mine_ = classes == label
            score = (mine_.sum() + 0.5) / (n + 1)
            for k, c in zip(sizes, codes, strict=True):
                score *= (np.sum(mine_ & (c == c[row])) + 0.5) / (mine_.sum() + 0.5 * k)
            scores.append(score)
        assert found[row] == pytest.approx(np.array(scores) / sum(scores))


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """Ages of which some are marked as missing by -999, in a table whose class hangs on the age."""
    rng = np.random.default_rng(8)
    age = rng.integers(20, 80, 3000)
    sick = np.where(age > 50, "yes", "no")
    marks = rng.random(3000) < 0.2
    table = pa.table({"age": np.where(marks, -999, age), "dose": rng.integers(0, 9, 3000), "sick": sick})
    text = Plan.propose(table, target="sick").to_toml(table)
    assert "domain = [-1000, " in text
    folder = tmp_path_factory.mktemp("marked")
    lines = [
        'missing_values = ["-999"]\ndomain = [20, 80]' if line.startswith("domain = [-1000") else line
        for line in text.splitlines()
    ]
    (folder / "plan.toml").write_text("\n".join(lines))
    made = release(table, Plan.load(folder / "plan.toml"), folder / "release", key=KEY)
    return made, table, marks


@pytest.mark.parametrize("strategy", ["byclass", NAIVE_BAYES])
@pytest.mark.parametrize("as_text", [False, True])
def test_what_stands_for_missing_in_the_owners_table_travels_with_the_model(marked, strategy, as_text, tmp_path):
    made, table, marks = marked
    assert made.manifest["age"].missing == marks.sum()
    mine(made, strategy).save(tmp_path / "m.json")
    model = Model.load(tmp_path / "m.json")
    gaps = table.set_column(0, "age", pa.array(np.where(marks, np.nan, table["age"].to_numpy())))
    if as_text:
        table = table.set_column(0, "age", table["age"].cast(pa.string()))
    assert model.predict(table).equals(model.predict(gaps))
    assert model.evaluate(table)["accuracy"] > 0.8
