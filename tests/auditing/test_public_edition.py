"""No count of people can be read off the public edition, however small the table."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.public_edition import (
    MIN_PEOPLE,
    coarsen,
    coarsen_scores,
    least_unit,
    round_by_size,
    round_to_unit,
    share_unit,
)
from sfumato.auditing.runner import audit
from sfumato.channels import Gaussian, Substitution
from sfumato.plans import Plan
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Interval, Kind, Schema


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    rng = np.random.default_rng(8)
    hiv = np.array(["neg"] * 296 + ["pos"] * 4)
    rng.shuffle(hiv)
    table = pa.table({"hiv": hiv, "age": rng.integers(18, 91, 300), "weight": rng.integers(40, 141, 300)})
    schema = Schema(
        (
            Attribute("hiv", Kind.CATEGORICAL, Categories(("neg", "pos"))),
            Attribute("age", Kind.INTEGER, Interval(0, 120)),
            Attribute("weight", Kind.INTEGER, Interval(0, 200)),
        )
    )
    plan = Plan(schema, {"hiv": Substitution(gamma=3.0), "age": Gaussian(privacy=0.5), "weight": Gaussian(privacy=0.5)})
    return audit(table, release(table, plan, tmp_path_factory.mktemp("clinic") / "r"), targets=100)


@pytest.mark.parametrize("rows", [12, 150, 300, 999, 2000, 20_000, 123_456])
def test_every_rounded_share_stands_for_many_counts(rows):
    shares = [round_to_unit(k / rows, share_unit(rows)) for k in range(rows + 1)]
    _, counts = np.unique(shares, return_counts=True)
    assert counts.min() >= MIN_PEOPLE // 2  # at 0 and at 1, where half of the unit lies outside
    assert counts[1:-1].min(initial=MIN_PEOPLE) >= MIN_PEOPLE - 1
    assert share_unit(rows) <= 2.5 * MIN_PEOPLE / rows


def test_units_are_one_two_or_five_times_a_power_of_ten():
    assert [least_unit(s) for s in (0.0333, 0.05, 0.051, 0.11, 3.0, 12.0)] == [0.05, 0.05, 0.1, 0.2, 5.0, 20.0]
    assert share_unit(3) == 1.0
    assert round_by_size(963.0, 300) == 950.0
    assert round_by_size(0.0, 300) == 0.0


def test_differences_of_distributions_are_rounded_by_what_one_person_moves():
    about = coarsen(
        {"total_variation": 0.0123, "wasserstein": 1.23, "rmse": 12.3, "rows": 300, "same": True}, 300, 100.0
    )
    assert about == {"total_variation": 0.0, "wasserstein": 0.0, "rmse": 12.5, "rows": 300, "same": True}


def test_scores_are_rounded_by_the_rarest_class_and_come_without_counts(tmp_path):
    made = release("iris", Plan.propose("iris", privacy=0.2), tmp_path / "r")
    result = audit("iris", made, targets=30)
    trees = result.to_dict("public")["utility"]["trees"]
    rarest = min(map(sum, result.utility["trees"]["scores"]["original"]["confusion"]))
    for scores in trees["scores"].values():
        assert set(scores) == {"accuracy", "balanced_accuracy", "auc", "log_loss", "brier", "without_model"}
        chance = scores.pop("without_model")
        three_classes = pytest.approx((1 / 3, 0.5), abs=0.001)
        assert (chance.pop("balanced_accuracy"), chance.pop("auc")) == three_classes
        for name, score in (*scores.items(), *chance.items()):
            step = share_unit(trees["test_rows"] if name == "accuracy" else rarest)
            assert score is None or round_to_unit(score, step) == score
    page = result.html("public")
    assert "balanced accuracy" in page
    assert "taken for" not in page
    assert "Calibration" not in page


def test_a_score_that_a_handful_of_people_decide_is_not_told():
    scores = {
        "accuracy": 0.97,
        "auc": 0.8,
        "confusion": [[95, 1], [2, 2]],
        "without_model": {"accuracy": 0.96, "auc": 0.5},
    }
    assert coarsen_scores(scores) == {"accuracy": 1.0, "auc": None, "without_model": {"accuracy": 1.0, "auc": 0.5}}
    scores["confusion"] = [[950, 10], [20, 80]]
    assert coarsen_scores(scores) == {"accuracy": 0.97, "auc": 0.8, "without_model": {"accuracy": 0.96, "auc": 0.5}}


def test_a_small_table_does_not_tell_how_many_have_the_rare_label(clinic):
    owner = next(f for f in clinic.findings if f.attributes == ("hiv",))
    assert owner.baseline == pytest.approx(296 / 300)  # what the owner sees, and nobody else should
    public = clinic.to_dict("public")
    about = next(f for f in public["attacks"] if f["attributes"] == ["hiv"])
    assert about["baseline"] == 1.0
    assert public["promised"]["hiv"]["without_release"] == 0.95  # and not .95/(296/300) = 0.963
    text = json.dumps({k: v for k, v in public.items() if k not in ("privacy", "records", "seconds")})
    page = clinic.html("public")
    for exact in ("0.987", "98.7", "0.963", "0.0133", "1.3%", "1.33"):
        assert exact not in text
        assert exact not in page


def test_all_figures_of_the_truth_are_multiples_of_their_unit(clinic):
    public = clinic.to_dict("public")
    for attack in public["attacks"]:
        step = share_unit(attack["trials"])
        shares = [
            attack["success"],
            *attack["interval"],
            *([attack["control"]] if attack["control"] is not None else []),
        ]
        shares += [v for v in (attack["details"].get("coverage_95"),) if v is not None]
        for share in shares:
            assert share / step == pytest.approx(round(share / step), abs=1e-6)
    for about in public["utility"]["distributions"].values():
        for name in ("total_variation", "total_variation_released"):
            assert about[name] / share_unit(300) == pytest.approx(round(about[name] / share_unit(300)), abs=1e-6)
    clusters = public["utility"]["clusters"]
    assert clusters["agreement"] / share_unit(clusters["rows"]) == pytest.approx(
        round(clusters["agreement"] / share_unit(clusters["rows"])), abs=1e-6
    )


def test_verdicts_and_gains_are_those_of_the_figures_themselves(clinic):
    owner, public = clinic.to_dict("owner"), clinic.to_dict("public")
    assert {n: p["verdict"] for n, p in owner["promised"].items()} == {
        n: p["verdict"] for n, p in public["promised"].items()
    }
    assert [f["gains"] for f in owner["attacks"]] == [f["gains"] for f in public["attacks"]]
    assert owner["promises"] == public["promises"]
    assert owner["privacy"]["attributes"]["hiv"]["gamma"] == public["privacy"]["attributes"]["hiv"]["gamma"] == 3.0


def test_what_the_laws_say_is_rounded_to_three_digits_only(clinic):
    promised = clinic.to_dict("public")["promised"]["age"]["interval_width_95"]
    assert promised == pytest.approx(60.0)
    assert math.isfinite(promised)
