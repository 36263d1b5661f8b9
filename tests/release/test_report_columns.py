"""Releases whose large categorical columns are reports: made, stated, read back, and forced either way."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import Projective, Substitution
from sfumato.mining import mine
from sfumato.randomness import SecretKey
from sfumato.releases import Plan, Release, release
from sfumato.releases.describe import describe
from sfumato.views import distributions, plotted

KEY = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    code = np.minimum(rng.geometric(0.02, 6000) - 1, 249)
    code[:250] = np.arange(250)
    label = np.where((code < 25) ^ (rng.random(6000) < 0.05), "near", "far")
    diagnosis = [None if i % 40 == 3 else f"d{c:03}" for i, c in enumerate(code)]
    return pa.table({"diagnosis": diagnosis, "sex": rng.choice(["f", "m"], 6000), "class": label})


def proposed(table, law="substitution", **parameters):
    return Plan.propose(table, target="class", law=law, parameters=parameters, name="reports")


def test_the_planner_chooses_reports_for_many_labels_and_says_so(table):
    plan = proposed(table, epsilon=2.0)
    assert plan.channels["diagnosis"] == Projective(epsilon=2.0)
    assert plan.channels["sex"] == Substitution(epsilon=2.0)
    assert 'law = "substitution"' in plan.notes["diagnosis"]
    text = plan.to_toml()
    assert 'law = "projective", epsilon = 2.0' in text
    assert "estimated better from reports" in text
    assert Plan.from_dict(plan.to_dict()).channels == plan.channels


def test_the_companion_of_laplace_noise_is_chosen_by_the_same_rule(table):
    plan = proposed(table, law="square-wave", epsilon=1.0)
    assert plan.channels["diagnosis"] == Projective(epsilon=1.0)


def test_a_weak_promise_keeps_labels(table):
    assert proposed(table, gamma=200.0).channels["diagnosis"] == Substitution(gamma=200.0)


def test_either_law_can_be_forced(table, tmp_path):
    plan = proposed(table, law="projective", gamma=4.0)
    assert plan.channels["sex"] == Projective(gamma=4.0)
    forced = replace(plan, channels={n: Substitution(gamma=4.0) for n in plan.channels})
    again = Plan.from_dict(forced.to_dict())
    made = release(table, again, tmp_path / "r", key=KEY)
    assert {c.channel.law for c in made.manifest.columns if c.channel} == {"substitution"}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_reports_are_written_as_whole_numbers_and_read_back(table, tmp_path, kind):
    made = release(table, proposed(table, epsilon=2.0), tmp_path / "r", key=KEY, format=kind)
    law = made.manifest["diagnosis"].channel
    column = Release.open(tmp_path / "r").observed()["diagnosis"]
    assert np.isnan(column.values).sum() == 150
    present = column.values[~np.isnan(column.values)]
    assert present.min() >= 0
    assert present.max() < law.reports
    assert np.array_equal(present, np.floor(present))
    if kind == "parquet":
        assert made.to_arrow().schema.field("diagnosis").type == pa.int64()
    stated = json.loads((tmp_path / "r" / "manifest.json").read_text())["attributes"]
    mechanism = next(a["mechanism"] for a in stated if a["name"] == "diagnosis")
    assert set(mechanism) == {"law", "gamma", "size", "order", "dimension"}
    assert "code from 0 to" in (tmp_path / "r" / "README.md").read_text()


def test_describe_states_the_same_guarantees_as_for_substitution(table, tmp_path):
    release(table, proposed(table, epsilon=2.0), tmp_path / "r", key=KEY)
    about = describe(tmp_path / "r")["attributes"]
    reports, labels = about["diagnosis"]["privacy"], about["sex"]["privacy"]
    assert set(labels) <= set(reports)
    assert reports["epsilon"] == pytest.approx(2.0)
    assert reports["rare_value_variance"]["projective"] < reports["rare_value_variance"]["substitution"]


def test_views_and_models_come_from_reports_as_from_labels(table, tmp_path):
    made = release(table, proposed(table, epsilon=3.0), tmp_path / "r", key=KEY)
    seen = distributions(made, ["diagnosis"], by_class=True)
    assert seen["diagnosis"].to_dict()["categories"][0] == "d000"
    assert set(seen["diagnosis"].to_dict()["by_class"]) == {"far", "near"}
    assert plotted(seen)
    assert all(seen["diagnosis"].in_words())
    for strategy in ("byclass", "naive-bayes"):
        assert mine(made, strategy=strategy).evaluate(table)["accuracy"] > 0.8
