"""The owner's own promise of a column: written in a plan, published with the release, never more than the noise hides."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.errors import DataError, UsageError
from sfumato.plans import Plan, with_consent
from sfumato.schema import Consent


@pytest.fixture
def plan():
    return replace(Plan.propose("iris"), promises={"petal_width": 0.5})


def test_a_promise_is_written_and_read_again(plan, tmp_path):
    text = plan.to_toml()
    assert "promise = 0.5" in text
    (tmp_path / "plan.toml").write_text(text)
    assert Plan.load(tmp_path / "plan.toml") == plan


def test_a_plan_without_promises_is_written_as_before():
    assert all("promise" not in column for column in Plan.propose("iris").to_dict()["column"])


def test_the_manifest_publishes_it_beside_the_law(plan, tmp_path):
    made = sf.release("iris", plan, tmp_path / "release", key=tmp_path / "key")
    stated = {a["name"]: a for a in json.loads((tmp_path / "release" / "manifest.json").read_text())["attributes"]}
    assert stated["petal_width"]["promise"] == 0.5
    assert "promise" not in stated["petal_length"]
    about = sf.describe(made)["attributes"]["petal_width"]["privacy"]
    assert about["promise"] == 0.5
    assert about["interval_width_95"] > 0.5
    assert "0.5 promised" in about["in_words"]


@pytest.mark.parametrize("promise", [0, -1, True, "wide", float("inf"), float("nan")])
def test_what_is_no_width_is_refused(promise, plan):
    data = plan.to_dict()
    next(c for c in data["column"] if c["name"] == "petal_width")["promise"] = promise
    with pytest.raises(UsageError, match=r"petal_width: promise = .* must be a number above 0"):
        Plan.from_dict(data)


def test_a_promise_of_more_than_the_noise_hides_is_refused(plan):
    with pytest.raises(UsageError, match=r"petal_width: promise = 3 is more than its noise hides, an interval of 1\.2"):
        replace(plan, promises={"petal_width": 3.0}).bind()


def test_a_promise_for_a_column_without_noise_is_refused(plan):
    with pytest.raises(UsageError, match="class: promise is for a column with noise"):
        replace(plan, promises={"class": 1.0})


def test_a_column_that_is_withheld_promises_nothing(plan):
    assert with_consent(plan, "petal_width", Consent.WITHHOLD).promises == {}


def test_a_manifest_that_promises_more_than_its_law_is_refused(plan, tmp_path):
    sf.release("iris", plan, tmp_path / "release", key=tmp_path / "key")
    path = tmp_path / "release" / "manifest.json"
    data = json.loads(path.read_text())
    next(a for a in data["attributes"] if a["name"] == "petal_width")["promise"] = 9.0
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match="petal_width: it promises an interval of 9"):
        sf.Manifest.load(tmp_path / "release")
