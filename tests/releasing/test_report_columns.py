"""Releases whose large categorical columns are reports: made, stated, read back, and forced either way."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from sfumato.channels import Projective, Substitution
from sfumato.description import describe
from sfumato.io import open_table, read_blocks
from sfumato.mining.distributions import reconstruct
from sfumato.mining.model import mine
from sfumato.plans import Plan
from sfumato.plans.profile import profile
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.schema import Kind

KEY = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    code = np.minimum(rng.geometric(0.02, 6000) - 1, 249)
    code[:250] = np.arange(250)
    label = np.where((code < 25) ^ (rng.random(6000) < 0.05), "near", "far")
    diagnosis = [None if i % 40 == 3 else f"d{c:03}" for i, c in enumerate(code)]
    return pa.table({"diagnosis": diagnosis, "sex": rng.choice(["f", "m"], 6000), "class": label})


def proposed(table, law="square-wave", **parameters):
    return Plan.propose(table, target="class", noise=law, options=parameters, name="reports")


def test_the_planner_chooses_reports_for_many_labels_and_says_so(table):
    plan = proposed(table, epsilon=2.0)
    assert plan.channels["diagnosis"] == Projective(epsilon=2.0)
    assert plan.channels["sex"] == Substitution(epsilon=2.0)
    assert 'law = "substitution"' in plan.notes["diagnosis"]
    text = plan.to_toml()
    assert 'law = "projective", epsilon = 2.0' in text
    assert "estimated better from reports" in text
    assert Plan.from_dict(plan.to_dict()).channels == plan.channels


def test_substitution_that_is_asked_for_is_done_and_reports_are_suggested(table):
    plan = proposed(table, law="substitution", epsilon=2.0)
    assert plan.channels["diagnosis"] == plan.channels["sex"] == Substitution(epsilon=2.0)
    assert 'better from reports than from substituted labels: law = "projective"' in plan.notes["diagnosis"]
    suggestions = [line for line in plan.remarks if line.code == "SF274"]
    assert suggestions == [
        'diagnosis: substitution, as asked; at this γ this many labels are estimated better by law = "projective"'
    ]
    assert not [line for line in proposed(table, epsilon=2.0).remarks if line.code == "SF274"]


def many(labels, rows=12_000):
    rng = np.random.default_rng(7)
    return rng.permutation(np.r_[np.arange(labels), rng.integers(0, labels, rows - labels)])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_thousands_of_codes_become_reports_by_themselves(tmp_path, kind):
    zips = many(2_000)
    columns = {
        "zip": [f"{17 * z:05}" for z in zips],
        "area": [f"{z:04}" for z in zips],
        "site": [f"Z{c:04}" for c in many(3_000)],
        "post_code": 10_000 + 17 * zips,
        "class": np.where(zips < 900, "near", "far"),
    }
    file = tmp_path / f"in.{kind}"
    pacsv.write_csv(pa.table(columns), file) if kind == "csv" else pq.write_table(pa.table(columns), file)
    plan = proposed(str(file), epsilon=2.0)
    for name, labels in {"zip": 2_000, "area": 2_000, "site": 3_000, "post_code": 2_000}.items():
        assert len(plan.schema[name].categories) == labels
        assert plan.channels[name] == Projective(epsilon=2.0)
    assert plan.schema["zip"].categories[:2] == ("00000", "00017")


def test_a_large_domain_is_neither_free_text_nor_persons_nor_a_quantity():
    codes = many(3_000)
    table = pa.table(
        {
            "patient_id": [f"P{c:05}" for c in codes],
            "mrn": [f"{c:07}" for c in codes],
            "notes": [f"came on {c}" for c in many(5_000)],
            "order_code": [f"{c:06}" for c in many(9_000)],
            "income": codes,
            "length": codes + 0.5,
        }
    )
    schema = proposed(table.append_column("class", [["a", "b"] * 6_000]), epsilon=2.0).schema
    assert [a.name for a in schema if not a.released] == ["patient_id", "mrn", "notes", "order_code"]
    assert (schema["income"].kind, schema["length"].kind) == (Kind.INTEGER, Kind.REAL)


def test_the_labels_that_are_kept_do_not_depend_on_the_blocks_they_come_in():
    texts = pa.table({name: [f"Z{c}" for c in many(n, 30_000)] for name, n in (("site", 3_000), ("word", 25_000))})
    whole, parts = (profile(read_blocks(open_table(texts), None, rows)) for rows in (30_000, 500))
    assert {n: p.distinct for n, p in whole.items()} == {n: p.distinct for n, p in parts.items()}
    assert len(whole["site"].distinct) == 3_000
    assert whole["word"].distinct is None


def test_the_companion_of_laplace_noise_is_chosen_by_the_same_rule(table):
    plan = proposed(table, law="laplace", b=3.0)
    assert plan.channels["diagnosis"] == Projective(rho1=0.05, rho2=0.5)


def test_a_weak_promise_keeps_labels(table):
    assert proposed(table, epsilon=5.3).channels["diagnosis"] == Substitution(epsilon=5.3)


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
    column = Release.open(tmp_path / "r").read_table()["diagnosis"]
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
    seen = reconstruct(made, ["diagnosis"], by_class=True)
    assert seen["diagnosis"].to_dict()["categories"][0] == "d000"
    assert set(seen["diagnosis"].to_dict()["by_class"]) == {"far", "near"}
    assert seen.to_svg()
    assert all(seen["diagnosis"].in_words())
    for strategy in ("byclass", "naive-bayes"):
        assert mine(made, strategy=strategy).evaluate(table)["accuracy"] > 0.65  # the larger class has 59 %
