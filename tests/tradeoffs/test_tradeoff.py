"""Privacy against accuracy before anything is released."""

import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError, UsageError
from sfumato.mining import Scores
from sfumato.plans import Plan
from sfumato.plans.document import with_consent
from sfumato.schema import Consent
from sfumato.tradeoffs import Point, recommend, tradeoff
from sfumato.tradeoffs.point import average_scores


def point(gamma, bins, accuracy, spread=0.01):
    return Point({"gamma": gamma, "bins": bins}, accuracy, spread, 0.5, 0.1, 0.9, 1.0, 3.0)


def test_the_smallest_n_within_noise_of_the_best_is_recommended_for_each_gamma():
    points = [point(5.0, 5, 0.70), point(5.0, 10, 0.795), point(5.0, 20, 0.80), point(8.0, 5, 0.9), point(8.0, 10, 0.9)]
    assert [(r["gamma"], r["bins"]) for r in recommend(points)] == [(5.0, 10), (8.0, 5)]


def test_more_noise_costs_accuracy_and_reconstruction_helps():
    found = tradeoff("iris", repeats=2, sweep={"privacy": (0.1, 2.0)})
    gentle, harsh = found.points
    assert gentle.accuracy > harsh.accuracy
    assert gentle.interval < harsh.interval
    assert gentle.error < harsh.error
    assert found.original > 0.85


def test_substitution_is_swept_over_gamma_and_n_and_drawn():
    found = tradeoff(
        "breast_cancer_wisconsin", noise="substitution", repeats=2, sweep={"gamma": (5.0, 12.0), "bins": (5, 10)}
    )
    assert len(found.points) == 4
    assert [r["gamma"] for r in found.recommended] == [5.0, 12.0]
    assert all(p.entropy is not None for p in found.points)
    # Sixteen of its nuclei are missing and stay so in a release: present or missing is seen, whatever γ.
    assert all(p.epsilon is None for p in found.points)
    text = found.html()
    # accuracy, error, entropy, AUC; people found, intervals and the calibration twice, for telephones
    assert text.count("<svg") == 4 + 2 * 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_table_without_a_class_is_refused():
    with pytest.raises(UsageError, match="target=COLUMN"):
        tradeoff(pa.table({"x": list(range(50)), "y": [i % 7 for i in range(50)]}))


def numbers(rows, classes):
    return pa.table(
        {"x": np.random.default_rng(1).random(rows).round(3), "class": [classes[i % len(classes)] for i in range(rows)]}
    )


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        ("iris", {"target": "colour"}, UsageError, "iris has no column 'colour'; its columns are sepal_length"),
        ("adult", {"target": "age"}, UsageError, "age: a target of numbers has no classes"),
        (numbers(400, ["a", "b"]), {"target": "x"}, UsageError, "x: a target of numbers has no classes"),
        (
            numbers(400, [f"text {i}" for i in range(400)]),
            {"target": "class"},
            UsageError,
            "class: too many different values to be classes",
        ),
        (numbers(29, ["a", "b"]), {}, DataError, "class: 29 rows with a class are too few"),
        (numbers(90, ["a", None, None, None]), {}, DataError, "class: 23 rows with a class are too few"),
        (numbers(90, ["a"]), {}, DataError, "class: every row is 'a', so there is nothing to predict"),
        (numbers(90, ["a", "b"]).select(["class"]), {}, UsageError, "no column is to be modified"),
        ("iris", {"repeats": 0}, UsageError, "repeats=0 must lie between 1 and"),
        ("iris", {"rows": 29}, UsageError, "rows=29: that is too few"),
        ("iris", {"seed": -1}, UsageError, "seed=-1 must not be negative"),
        ("iris", {"strategy": "guess"}, UsageError, "there is no strategy 'guess'; choose auto, boosting, byclass"),
        ("iris", {"method": "leaf-swap"}, UsageError, "leaf-swap bends the noise"),
        ("iris", {"noise": "intervals", "sweep": {"privacy": (0.2, 0.6)}}, UsageError, "intervals: privacy 0.6 leaves a single interval"),
        ("iris", {"noise": "substitution", "sweep": {"gamma": (1.0,)}}, UsageError, "gamma = 1 must exceed 1"),
        ("mushroom", {"method": "correlated-gaussian"}, UsageError, "blurs two or more numeric columns together"),
        ("iris", {"method": "correlated-gaussian", "strategy": "local"}, UsageError, "the strategy local takes it to be independent"),
        ("iris", {"noise": "correlated-gaussian"}, UsageError, "correlated-gaussian is noise for several columns together"),
        ("iris", {"method": "gaussian"}, UsageError, "gaussian is noise for each column, not a method"),
        ("iris", {"method": "correlated-gaussian", "noise": "laplace"}, UsageError, "method= takes the place of noise="),
        ("iris", {"sweep": {"levels": (0.5,)}}, UsageError, "sweep['levels']: there is no such parameter; sweep privacy, epsilon"),
        ("iris", {"plan": "none.toml"}, UsageError, "the plan none.toml cannot be read"),
        ("iris", {"plan": Plan.propose("iris"), "target": "class"}, UsageError, "cannot stand beside plan="),
        (
            "iris",
            {"plan": with_consent(Plan.propose("iris"), "class", Consent.WITHHOLD)},
            UsageError,
            "class: the plan withholds the class",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_in_words(table, options, error, message):
    with pytest.raises(error) as raised:
        tradeoff(table, **options)
    assert message in str(raised.value)


def test_a_setting_that_is_refused_is_refused_before_any_is_tried():
    def never(done, total):
        raise AssertionError((done, total))

    with pytest.raises(UsageError, match="out of reach"):
        tradeoff("iris", noise="square-wave", progress=never, sweep={"privacy": (0.5, 1.0)})


def test_a_seed_gives_the_same_sweep_again_and_another_seed_another():
    one, two, other = (tradeoff("iris", repeats=2, seed=s, sweep={"privacy": (0.5, 1.0)}) for s in (0, 0, 1))
    assert one == two
    assert one.points != other.points


def test_a_large_table_is_sampled_to_the_rows_asked_for():
    found = tradeoff("adult", repeats=1, rows=300, sweep={"privacy": (1.0,)})
    assert found.rows == 300
    assert found.points[0].tested == 100


def test_a_class_that_nothing_tells_gets_no_recommendation():
    rng = np.random.default_rng(3)
    table = pa.table({"x": rng.random(300).round(3), "class": np.where(rng.random(300) < 0.5, "a", "b")})
    found = tradeoff(table, repeats=2, sweep={"privacy": (0.5, 1.0)})
    assert (found.choice, found.recommended, found.in_plan) == (None, (), None)
    assert found.majority == pytest.approx(np.unique(table["class"], return_counts=True)[1].max() / 300)
    assert "No setting is recommended" in found.html()


def test_a_recommended_setting_is_one_of_those_swept_and_is_marked():
    found = tradeoff("iris", noise="laplace", repeats=2, sweep={"privacy": (0.1, 0.25, 2.0)})
    assert found.choice in [p.setting for p in found.points]
    assert found.recommended[0]["privacy"] == found.choice["privacy"]
    assert f"noise=&#x27;laplace&#x27;, privacy={found.choice['privacy']:g}" in found.html()
    assert "sfumato release --noise laplace" in found.html("sfumato release --noise laplace")
    assert "begin here" in found.html()


def test_infinite_epsilon_is_told_for_the_settings_that_have_it():
    found = tradeoff("iris", noise="laplace", repeats=1, sweep={"privacy": (0.1, 1.0)})
    assert found.points[0].epsilon is None
    assert "beyond any meaning" in found.points[0].epsilon_reason
    assert found.points[1].epsilon == pytest.approx(4 * 5.99146, rel=1e-3)
    text = found.html()
    assert "ε is infinite at privacy = 0.1: " in text
    # accuracy, balanced accuracy with AUC, error, ε; people found, intervals and the calibration twice, for telephones
    assert text.count("<svg") == 4 + 2 * 3


def test_a_constant_column_of_a_bundled_table_is_withheld():
    found = tradeoff("mushroom", noise="substitution", repeats=1, rows=600, sweep={"gamma": (8.0, 19.0)})
    assert "veil_type" not in found.laws
    assert len(found.laws) == 21


def test_a_table_without_gaps_has_the_epsilon_of_its_columns_together():
    found = tradeoff("iris", noise="substitution", repeats=1, sweep={"gamma": (5.0,), "bins": (5,)})
    assert found.points[0].epsilon == pytest.approx(4 * math.log(5))


def rare(rows=600):
    """Six percent are positive, and x tells little about who."""
    rng = np.random.default_rng(4)
    yes = rng.random(rows) < 0.06
    return pa.table({"x": (rng.random(rows) + 0.3 * yes).round(2), "class": np.where(yes, "yes", "no")})


def test_a_rare_class_shows_in_balanced_accuracy_and_auc_where_accuracy_hides_it():
    found = tradeoff(rare(), target="class", repeats=2, sweep={"privacy": (0.1, 1.0)})
    assert found.majority > 0.9
    for scores in (found.original_scores, *(p.scores for p in found.points)):
        assert scores["balanced_accuracy"] < 0.75
        assert scores["without_model"]["accuracy"] > 0.9
        assert scores["without_model"]["balanced_accuracy"] == 0.5
        assert scores["calibration"]["class"] == "yes"
        assert np.sum(scores["confusion"]) == 2 * found.points[0].tested
        assert scores["standard_error"]["auc"] > 0.01
    assert found.choice is None
    assert "Look at balanced accuracy and AUC" in found.why
    head, rows = found.table()
    assert head[:5] == ["setting", "accuracy", "±", "balanced", "AUC"]
    assert [row[0] for row in rows] == ["(true values)", "(commonest class)", "privacy = 0.1", "privacy = 1"]
    assert rows[1][3:5] == ["50.0%", "0.500"]
    assert "Balanced accuracy and AUC" in found.html()
    assert found.to_dict()["points"][0]["scores"]["brier"] == found.points[0].scores["brier"]


def test_scores_are_means_over_the_splits_and_errors_no_less_than_chance():
    splits = [Scores.of(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(truth)) for truth in ([0, 1], [1, 1])]
    about = average_scores(splits, ("no", "yes"))
    assert about["accuracy"] == 0.75
    assert about["log_loss"] == pytest.approx(np.mean([s.log_loss for s in splits]))
    assert about["auc"] is None  # there is none where a split has one class only
    assert about["confusion"] == [[1, 0], [1, 2]]
    low, high = splits[0].interval("accuracy")
    assert about["standard_error"]["accuracy"] >= (high - low) / 3.92 / math.sqrt(2)


def test_naive_bayes_is_swept_too():
    found = tradeoff("iris", strategy="naive-bayes", repeats=1, sweep={"privacy": (0.25,)})
    assert found.points[0].accuracy > 0.7
