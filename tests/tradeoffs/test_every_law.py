"""Every law on a table of numbers, dates and labels with missing values: as a release would blur it, and told right."""

import datetime as dt
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import CHANNELS, JOINT_LAWS, Laplace
from sfumato.errors import UsageError
from sfumato.io import open_table
from sfumato.plans import Plan
from sfumato.plans.document import with_consent
from sfumato.randomness import SecretKey
from sfumato.releases.reader import read_original
from sfumato.releasing.joint_noise import joint_law, with_joint_noise
from sfumato.releasing.row_by_row import bind_laws
from sfumato.schema import Attribute, Consent, Interval, Kind, Missing, Schema
from sfumato.table import Column, Table
from sfumato.tradeoffs import tradeoff
from sfumato.tradeoffs.setting import AXES, blur_for, law_of
from sfumato.tradeoffs.sweep import _split

INFINITE = {"gaussian", "uniform", "intervals", "correlated-gaussian"}
LAWS = {**CHANNELS, **JOINT_LAWS}
TWO = {"privacy": (0.25, 1.0), "count": (3, 10), "epsilon": (1, 4), "gamma": (5, 19), "ratio": (0.2, 1.0)}


def mixed(rows=260, seed=7, missing=0.1):
    """Three classes told apart by a number, a date and a label; one cell in ten missing, and some classes too."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    gone = rng.random((rows, 5)) < missing

    def cells(column, values):
        return [None if lost else v for v, lost in zip(values, gone[:, column], strict=True)]

    first = dt.date(1950, 1, 1)
    return pa.table(
        {
            "weight": pa.array(cells(0, (60 + 15 * kind + rng.normal(0, 5, rows)).round(1).tolist())),
            "visits": pa.array(cells(1, rng.integers(0, 12, rows).tolist())),
            "born": pa.array(
                cells(2, [first + dt.timedelta(days=int(d)) for d in 4000 * kind + rng.integers(0, 9000, rows)])
            ),
            "city": pa.array(
                cells(3, np.array(["oslo", "bern", "rome", "lima"])[(kind + rng.integers(0, 2, rows)) % 4].tolist())
            ),
            "empty": pa.array([None] * rows, pa.float64()),
            "class": pa.array(cells(4, np.array(["a", "b", "c"])[kind].tolist())),
        }
    )


def named(law):
    return {"method" if law in JOINT_LAWS else "noise": law}


def sweep(law):
    way = next(iter(LAWS[law].sweep))
    return {way: TWO[way]} | ({"bins": (8,)} if law == "substitution" else {})


def proposed():
    table = mixed()
    plan = Plan.propose(table, target="class")
    truth = read_original(table, plan)
    return table, plan, truth


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("law", list(LAWS))
def test_every_law_is_swept_and_told_on_a_mixed_table(law, missing):
    """Cells that are left missing are seen for certain, so that no law bounds a record that may have some."""
    table, infinite = mixed(missing=missing), law in INFINITE or missing > 0
    found = tradeoff(table, **named(law), repeats=1, sweep=sweep(law))
    way = next(iter(LAWS[law].sweep))
    assert found.law == law
    assert [p.setting[way] for p in found.points] == sorted(float(v) for v in TWO[way])
    assert found.rows == sum(c is not None for c in table["class"].to_pylist())
    assert set(found.laws) == {"weight", "visits", "born", "city"}
    assert found.why
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["swept"][0] == {
        "parameter": way,
        "title": AXES[way].title,
        "stronger": "higher" if way in ("privacy", "ratio") else "lower",
    }
    for shown in data["points"]:
        assert (shown["epsilon"] is None) == infinite
        assert bool(shown["epsilon_reason"]) == infinite
        assert ("missing" in (shown["epsilon_reason"] or "")) == (missing > 0)
        assert 0 <= shown["error"] <= 1
        assert 0 < shown["standard_error"] < 0.2
    text = found.html()
    assert AXES[way].title in text
    assert ("ε is infinite at every setting: " in text) == infinite
    for drawing in text.split("<svg")[1:]:
        ET.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")


@pytest.mark.parametrize("law", [law for law in LAWS if law != "correlated-gaussian"])
def test_the_laws_tried_are_those_that_a_release_with_the_same_options_has(law):
    table, plan, truth = proposed()
    setting = {next(iter(LAWS[law].sweep)): float(TWO[next(iter(LAWS[law].sweep))][1])}
    if law == "substitution":
        setting["bins"] = 8.0
    made = Plan.propose(table, target="class", noise=law, options={n: f"{v:g}" for n, v in setting.items()})
    assert dict(blur_for(law, setting, plan, truth).channels) == made.bind()


@pytest.mark.parametrize("setting", [{"ratio": 0.5}, {"privacy": 0.5}])
def test_the_joint_law_tried_is_the_one_that_a_release_has(setting):
    table, plan, truth = proposed()
    joined = with_joint_noise(plan, setting)
    law = joint_law(joined, open_table(table, "utf-8"), SecretKey(bytes(32)))
    tried = blur_for("correlated-gaussian", setting, plan, truth)
    assert tried.joint.names == law.names
    scale = np.sqrt(np.diag(law.covariance))
    apart = (np.array(tried.joint.covariance) - np.array(law.covariance)) / np.outer(scale, scale)
    assert np.abs(apart).max() < 0.2  # a release blurs what it learns by one row's weight; a trade-off shows none of it
    assert set(tried.channels) == set(bind_laws(joined, law))
    assert tried.channels["city"] == bind_laws(joined, law)["city"]


def test_joint_noise_has_the_covariance_of_its_law_and_leaves_missing_values_missing():
    table = mixed(4000)
    plan = Plan.propose(table, target="class")
    truth = read_original(table, plan)
    blur = blur_for("correlated-gaussian", {"ratio": 1.0}, plan, truth)
    seen = blur.perturb(truth, SecretKey(bytes(32)))
    noise = np.column_stack([seen[n].values - truth[n].values for n in blur.joint.names])
    assert np.array_equal(np.isnan(noise), np.column_stack([np.isnan(truth[n].values) for n in blur.joint.names]))
    whole = noise[~np.isnan(noise).any(axis=1)]
    law = np.array(blur.joint.covariance)
    scale = np.sqrt(np.diag(law))
    # A correlation over n rows has sd of at most 1/√n, and a variance √(2/n) of itself; six of them.
    assert (np.abs(np.cov(whole, rowvar=False) - law) / np.outer(scale, scale)).max() < 6 * np.sqrt(2 / len(whole))


def test_noise_is_drawn_anew_for_each_split_and_setting_and_the_same_for_a_seed():
    _, plan, truth = proposed()
    one, two = (blur_for("gaussian", {"privacy": v}, plan, truth) for v in (0.5, 1.0))
    key = SecretKey(bytes(32))
    first = one.perturb(truth, key)["weight"].values - truth["weight"].values
    assert np.array_equal(first, one.perturb(truth, key)["weight"].values - truth["weight"].values, equal_nan=True)
    other = one.perturb(truth, key.derive(1))["weight"].values - truth["weight"].values
    scaled = (two.perturb(truth, key)["weight"].values - truth["weight"].values) / 2
    there = ~np.isnan(first)
    assert abs(np.corrcoef(first[there], other[there])[0, 1]) < 0.3
    assert abs(np.corrcoef(first[there], scaled[there])[0, 1]) < 0.3


def test_a_plan_keeps_its_true_columns_and_its_own_noise_beside_a_joint_law():
    table, plan, truth = proposed()
    open_ = with_consent(plan, "visits", Consent.TRUE)
    found = tradeoff(table, plan=open_, repeats=1, sweep={"privacy": (0.5, 1.0)})
    assert set(found.laws) == {"weight", "born", "city"}
    seen = blur_for("gaussian", {"privacy": 0.5}, open_, truth).perturb(truth, SecretKey(bytes(32)))
    assert seen["visits"].channel is None
    joined = with_joint_noise(plan, {"ratio": 1.0})
    own = replace(joined, channels={**joined.channels, "visits": Laplace(privacy=0.5)})
    assert law_of(own) == "correlated-gaussian"
    blur = blur_for("correlated-gaussian", {"ratio": 2.0}, own, truth)
    assert blur.joint.names == ("weight", "born")
    assert blur.channels["visits"].law == "laplace"


def test_an_identifier_that_is_released_takes_no_part():
    table = mixed(200).append_column("id", pa.array([f"p{i}" for i in range(200)]))
    plan = with_consent(Plan.propose(table, target="class", identifier="id"), "id", Consent.TRUE)
    found = tradeoff(table, plan=plan, repeats=1, sweep={"privacy": (0.5, 1.0)})
    assert "id" not in found.laws


def test_the_law_is_the_one_that_the_plan_names():
    table, plan, _ = proposed()
    assert law_of(plan) == "gaussian"
    assert law_of(Plan.propose(table, target="class", noise="square-wave", options={"epsilon": 1})) == "square-wave"
    assert tradeoff(
        table, plan=Plan.propose(table, target="class", noise="laplace"), repeats=1, sweep={"privacy": (0.5, 1)}
    ).law == "laplace"  # fmt: skip


def test_missing_labels_may_take_part():
    table, plan, _ = proposed()
    attributes = tuple(replace(a, missing=Missing.CATEGORY) if a.name == "city" else a for a in plan.schema)
    part = replace(plan, schema=Schema(attributes))
    found = tradeoff(table, plan=part, noise="projective", repeats=1, sweep={"gamma": (5, 40)})
    assert found.points[1].accuracy > 0.5


def test_a_column_whose_values_all_fall_into_the_test_part_does_no_harm():
    table = mixed(120)
    classes = np.array([c is not None for c in table["class"].to_pylist()])
    known = np.flatnonzero(classes)
    numbers = Column(Attribute("number", Kind.REAL, Interval(0, len(known))), None, np.arange(len(known), dtype=float))
    test = _split(Table((numbers,)), None, 0).test
    cells = np.full(120, None, object)
    cells[known[test["number"].values[:9].astype(int)]] = [1.5, 2.5, 3.5] * 3
    found = tradeoff(
        table.append_column("rare", pa.array(cells, pa.float64())), sweep={"privacy": (0.5, 1.0)}, repeats=1
    )
    assert "rare" in found.laws
    assert found.points[0].accuracy > 0.4


def test_labels_of_many_values_are_told_to_be_reports():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, 600)
    table = pa.table({"code": [f"c{c:02d}" for c in codes], "class": np.where(codes < 30, "a", "b")})
    found = tradeoff(table, noise="square-wave", repeats=1, sweep={"epsilon": (1, 2)})
    assert found.laws == {"code": "projective"}
    assert [set(p.setting) for p in found.points] == [{"epsilon"}, {"epsilon"}]
    # accuracy, scores, error, ε; people found, intervals and the calibration at the recommended setting twice, for telephones
    assert found.html().count("<svg") == 8 + 2 * (found.begin is not None)
    assert any("No column takes square-wave itself" in note for note in found.notes)


def test_usual_values_that_a_table_does_not_allow_are_left_out_and_chosen_ones_refused():
    """Days over 800 years: gaussian noise of half that range would lead out of the calendar."""
    years = [1000 + 4 * i for i in range(200)] * 2
    table = pa.table(
        {
            "day": [dt.date(year, 1, 2) for year in years],
            "x": np.linspace(0, 1, 400).round(3),
            "class": ["a" if year < 1400 else "b" for year in years],
        }
    )
    found = tradeoff(table, repeats=1)
    assert [p.setting["privacy"] for p in found.points] == [0.1, 0.25]
    assert len(found.notes) == 5
    assert all("was left out: day: noise that reaches" in note for note in found.notes)
    with pytest.raises(UsageError, match="day: noise that reaches"):
        tradeoff(table, repeats=1, sweep={"privacy": (0.1, 2.0)})
