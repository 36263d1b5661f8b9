"""Audits of whole releases: the original itself, pure noise, every law, odd tables, both editions."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.runner import audit
from sfumato.channels import CHANNELS, Gaussian, Substitution
from sfumato.errors import DataError, UsageError
from sfumato.plans import Plan
from sfumato.plans.document import with_consent
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Missing, Role, Schema

KEY = SecretKey(bytes(range(32)))
CONTRACT = {"name", "attributes", "success", "baseline", "control", "interval", "unit", "seed"}


def made(table, plan, folder, key=KEY):
    return release(table, plan, folder, key=key)


def all_true(plan):
    for name in list(plan.channels):
        plan = with_consent(plan, name, Consent.TRUE)
    return plan


@pytest.fixture(scope="module")
def people():
    """Two correlated numbers, an integer and a label of 2,000 people; no class."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2000, 2))
    return pa.table(
        {
            "height": np.round(170 + 9 * z[:, 0], 1).clip(120, 220),
            "weight": np.round(70 + 10 * (0.9 * z[:, 0] + 0.44 * z[:, 1]), 1).clip(30, 150),
            "age": rng.integers(18, 90, 2000),
            "town": rng.choice(["north", "south", "east"], 2000, p=[0.5, 0.3, 0.2]),
        }
    )


SCHEMA = Schema(
    (
        Attribute("height", Kind.REAL, Interval(120, 220), resolution=0.1),
        Attribute("weight", Kind.REAL, Interval(30, 150), resolution=0.1),
        Attribute("age", Kind.INTEGER, Interval(18, 90)),
        Attribute("town", Kind.CATEGORICAL, Categories(("north", "south", "east"))),
    )
)


def plan_of(numbers, labels, name="people"):
    return Plan(SCHEMA, {"height": numbers, "weight": numbers, "age": numbers, "town": labels}, name=name)


@pytest.fixture(scope="module")
def noisy(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("noisy") / "release"
    return audit(people, made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), folder), targets=300)


def test_auditing_the_original_as_if_it_were_a_release_says_100_percent(people, tmp_path):
    clear = all_true(plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)))
    found = audit(people, made(people, clear, tmp_path / "r"), targets=200)
    assert found.risk == 1.0
    assert "100 %" in found.verdict
    assert [a["level"] for a in found.alarms()] == ["nothing hidden", "people found"]
    by_name = {f.name: f for f in found.findings}
    assert by_name["posterior"].success == 1.0
    assert by_name["at-its-word"].success == 1.0
    assert by_name["likelihood-linkage"].success > 0.99
    # Two people may share all known values, and then the secret is a guess between theirs.
    assert np.mean([f.success for f in found.findings if f.name == "inference"]) > 0.85
    assert found.html()


def test_auditing_pure_noise_equals_the_baseline(people, tmp_path):
    noise = plan_of(Gaussian(privacy=500.0), Substitution(gamma=1.0 + 1e-9))
    found = audit(people, made(people, noise, tmp_path / "r"), targets=300)
    assert found.risk == 0.0
    assert not [f.name for f in found.findings if f.gains]
    for f in found.findings:
        assert f.success <= f.reference + 0.04
        if f.name == "informed-posterior":
            assert f.success == pytest.approx(f.baseline, abs=0.03)
    assert {p.verdict for p in found.promises} == {"kept"}


def test_a_finding_has_the_contracts_fields_and_lies_in_its_interval(noisy):
    about = json.loads(json.dumps(noisy.to_dict()))
    assert len(about["attacks"]) > 15
    for attack in about["attacks"]:
        assert set(attack) >= CONTRACT
        assert attack["interval"][0] <= attack["success"] <= attack["interval"][1]
        assert 0 <= attack["baseline"] <= 1
    assert set(about["promised"]) == {"height", "weight", "age", "town"}


def test_an_audit_repeats_itself_under_its_seed(noisy, people, tmp_path):
    again = audit(
        people, made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), tmp_path / "r"), targets=300
    )
    first, second = (json.dumps(a.to_dict() | {"seconds": 0}) for a in (noisy, again))
    assert first == second


def test_every_attack_is_run_or_says_why_not(noisy):
    from sfumato.attacks import ATTACKS

    run = {f.name for f in noisy.findings} | set(noisy.notes)
    # No column is guided, and nobody named a secret.
    assert run == {name for name, attack in ATTACKS.items() if attack.in_audit and not attack.guided_only}


def test_the_promise_of_noise_is_what_reading_the_release_leaves(noisy):
    word = next(f for f in noisy.findings if f.name == "at-its-word")
    promised = {p.attribute: p.promised for p in noisy.promises}
    for name in ("height", "weight", "age"):
        assert word.left[name][0] == pytest.approx(promised[name], rel=0.1)


@pytest.fixture(scope="module")
def eight():
    """Eight columns that are nearly one."""
    rng = np.random.default_rng(2)
    factor = rng.normal(size=3000)
    names = [f"a{i}" for i in range(8)]
    table = pa.table({n: np.round(5 * factor + 0.3 * rng.normal(size=3000), 3).clip(-25, 25) for n in names})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(-25, 25), resolution=0.001) for n in names))
    return names, table, schema


def test_a_promise_broken_through_the_other_columns_is_said_first_with_correlated_noise_as_the_remedy(eight, tmp_path):
    names, table, schema = eight
    plan = Plan(schema, dict.fromkeys(names, Gaussian(sigma=3.0)), name="eight")
    found = audit(table, made(table, plan, tmp_path / "r"), targets=50)
    assert {p.verdict for p in found.promises} == {"broken"}
    first = found.alarms()[0]
    assert first["level"] == "broken"
    assert "correlated noise" in first["remedy"]
    assert "the method correlated-gaussian with ratio=" in first["remedy"]
    page = found.html()
    assert page.index("8 promised intervals are broken") < page.index("Promised, and left")
    assert 'class="alarm "' in page


def test_following_that_advice_keeps_the_promise(eight, tmp_path):
    names, table, schema = eight
    method = {"law": "correlated-gaussian", "ratio": 0.36}  # σ = 3 on columns of sd 5, as before
    found = audit(table, made(table, Plan(schema, {}, name="eight", method=method), tmp_path / "r"), targets=50)
    assert all(p.promised == pytest.approx(3.92 * 3, rel=0.05) for p in found.promises)
    assert {p.verdict for p in found.promises} <= {"kept", "narrowed"}
    own = {
        n: next(f.left[n][0] for f in found.findings if f.name == "informed-posterior" and n in f.left) for n in names
    }
    for p in found.promises:
        assert p.left > 0.95 * own[p.attribute]  # no way around the column's own law


def test_small_noise_on_unrelated_columns_keeps_its_promise(tmp_path):
    rng = np.random.default_rng(3)
    table = pa.table({n: np.round(rng.uniform(0, 100, 3000), 2) for n in "pq"})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 100), resolution=0.01) for n in "pq"))
    plan = Plan(schema, dict.fromkeys("pq", Gaussian(privacy=0.05)), name="small")
    found = audit(table, made(table, plan, tmp_path / "r"), targets=50)
    assert {p.verdict for p in found.promises} == {"kept"}


def test_other_releases_of_the_same_rows_are_averaged(people, tmp_path):
    plan = plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0))
    folders = [made(people, replace(plan, name=f"r{i}"), tmp_path / f"r{i}") for i in range(4)]
    found = audit(people, folders[0], others=folders[1:], targets=50)
    averaging = next(f for f in found.findings if f.name == "averaging")
    assert averaging.left["weight"][0] < 0.75 * next(p for p in found.promises if p.attribute == "weight").promised
    assert {p.attack for p in found.promises if p.attribute in ("age", "town")} == {"averaging"}
    assert "noise-reuse" in found.notes


def test_a_control_table_takes_the_place_of_the_struck_rows(people, tmp_path):
    plan = plan_of(Gaussian(privacy=0.05), Substitution(gamma=50.0))
    found = audit(people, made(people, plan, tmp_path / "r"), control=people.slice(0, 120), targets=400)
    inference = next(f for f in found.findings if f.name == "inference")
    assert inference.trials <= 120
    assert inference.control is not None


@pytest.mark.parametrize("law", sorted(law for law in CHANNELS if CHANNELS[law].numeric))
def test_every_law_of_numbers_is_audited(law, tmp_path):
    plan = Plan.propose("iris", noise=law, privacy=0.4, name=law)
    found = audit("iris", made("iris", plan, tmp_path / "r"), targets=60)
    assert {p.mechanism for p in found.promises} == {law, "none"}
    assert len(found.promises) == 5
    assert found.html()
    assert found.html("public")


@pytest.mark.parametrize("law", sorted(law for law in CHANNELS if CHANNELS[law].categorical))
def test_every_law_of_labels_is_audited(law, tmp_path):
    rng = np.random.default_rng(3)
    code = np.minimum(rng.geometric(0.05, 1500) - 1, 39)
    other = np.where(rng.random(1500) < 0.8, code % 3, rng.integers(0, 3, 1500))
    labels = [None if i % 50 == 7 else f"c{c:02}" for i, c in enumerate(code)]
    table = pa.table({"code": labels, "class": [f"k{c}" for c in other]})
    plan = Plan.propose(table, target="class", name=law)
    plan = replace(plan, channels={"code": CHANNELS[law](gamma=9.0)})
    found = audit(table, made(table, plan, tmp_path / "r"), targets=60)
    (promise,) = (p for p in found.promises if p.attribute == "code")
    assert promise.mechanism == law
    assert {p.attribute for p in found.promises} == {"code", "class"}
    assert promise.verdict in {"kept", "narrowed"}
    alone = next(f for f in found.findings if f.name == "posterior" and f.attributes == ("code",))
    word = next(f for f in found.findings if f.name == "at-its-word")
    assert alone.success >= word.details["by_attribute"]["code"]["success"] - 0.05
    assert found.html()
    assert found.html("public")


def test_missing_values_a_constant_column_and_a_single_class_are_no_obstacle(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(50, 10, 300).clip(0, 100)
    x[::7] = np.nan
    table = pa.table(
        {
            "x": pa.array(x, from_pandas=True),
            "c": pa.array(["a", "b", None] * 100),
            "m": pa.array([None, "b", "a"] * 100),
            "k": pa.array([5.0] * 300),
            "e": pa.array([None] * 300, pa.float64()),
            "class": pa.array(["only"] * 300),
        }
    )
    labels = Categories(("a", "b"))
    schema = Schema(
        (
            Attribute("x", Kind.REAL, Interval(0, 100)),
            Attribute("c", Kind.CATEGORICAL, labels),
            Attribute("m", Kind.CATEGORICAL, labels, missing=Missing.CATEGORY),
            Attribute("k", Kind.REAL, Interval(0, 10)),
            Attribute("e", Kind.REAL, Interval(0, 10)),
            Attribute("class", Kind.CATEGORICAL, Categories(("only",)), role=Role.TARGET, consent=Consent.TRUE),
        )
    )
    noise = {"x": Gaussian(sigma=5.0), "c": Substitution(gamma=5.0), "m": Substitution(gamma=5.0)}
    noise |= {"k": Gaussian(sigma=1.0), "e": Gaussian(sigma=1.0)}
    found = audit(table, made(table, Plan(schema, noise, name="odd"), tmp_path / "r"), targets=100)
    assert found.html()
    assert 0 <= found.risk <= 1
    assert "leaf-class" in found.notes
    promised = found.to_dict()["promised"]
    assert list(promised) == ["x", "c", "m", "k", "e", "class"]
    assert promised["e"]["verdict"] == "not measured"
    assert promised["e"]["left"] is None
    assert "no row has both" in promised["e"]["not_measured_because"]
    assert "no row has both" in found.html("public")
    assert json.dumps(promised, allow_nan=False)
    assert "of 5 " not in found.verdict
    assert "All 5 " not in found.verdict


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_handful_of_rows_can_be_audited(rows, tmp_path):
    table = pa.table({"x": np.arange(rows) + 0.5, "y": np.arange(rows) * 2.0})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 20)) for n in "xy"))
    plan = Plan(schema, dict.fromkeys("xy", Gaussian(sigma=2.0)), name="few")
    found = audit(table, made(table, plan, tmp_path / "r"))
    assert found.html()


def test_an_original_of_another_length_is_refused(people, tmp_path):
    folder = made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), tmp_path / "r")
    with pytest.raises(DataError, match="1,999 rows and the release 2,000"):
        audit(people.slice(1), folder)


def test_wrong_wishes_are_refused(noisy, people, tmp_path):
    folder = made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), tmp_path / "r")
    with pytest.raises(UsageError, match="no column 'nose'"):
        audit(people, folder, known=["nose"])
    with pytest.raises(UsageError, match="targets = 0"):
        audit(people, folder, targets=0)
    with pytest.raises(UsageError, match="no edition"):
        noisy.to_dict("secret")


def test_the_public_edition_names_no_record_and_rounds(noisy):
    public = noisy.to_dict("public")
    assert "worst" not in public["records"]
    assert "histogram" not in public["records"]
    page = noisy.html("public")
    assert "Who is exposed" not in page
    assert "Who is exposed" in noisy.html("owner")
    for attack in public["attacks"]:
        assert attack["success"] == float(f"{attack['success']:.3g}")


def test_the_worst_records_are_those_whose_rows_point_at_them(noisy, people):
    about = noisy.to_dict()["records"]
    bits = [w["bits"] for w in about["worst"]]
    assert bits == sorted(bits, reverse=True)
    assert bits[0] == pytest.approx(noisy.exposure.bits.max())
    assert sum(about["histogram"]["counts"]) == people.num_rows
    # Whoever is exposed most is found far more often than the average person.
    average = next(f for f in noisy.findings if f.name == "likelihood-linkage").details["probability_of_own_row"]
    assert np.mean([w["found_with_probability"] for w in about["worst"]]) > 3 * average


def test_the_mean_of_the_bits_is_the_information_that_the_columns_tell(noisy):
    # E[i(x; y)] = I(X; Y), summed over columns.
    told = sum(v["bits"] for v in noisy.privacy["information"].values())
    assert noisy.exposure.bits.mean() == pytest.approx(told, rel=0.1)


def test_utility_stands_beside_the_attacks(tmp_path):
    plan = Plan.propose("iris", noise="gaussian", privacy=0.2, name="u")
    result = audit("iris", made("iris", plan, tmp_path / "r"), targets=30)
    about = result.utility
    assert about["trees"]["accuracy"]["original"] > 0.8
    scores = about["trees"]["scores"]["reconstructed"]
    assert scores["accuracy"] == about["trees"]["accuracy"]["reconstructed"]
    assert np.sum(scores["confusion"]) == about["trees"]["test_rows"]
    assert scores["auc"] > scores["without_model"]["auc"]
    page = result.html()
    for words in ("balanced accuracy", "Brier score", "Calibration of the predicted class", "taken for Iris-virginica"):
        assert words in page
    assert set(about["distributions"]) == {"sepal_length", "sepal_width", "petal_length", "petal_width"}
    assert about["correlations"]["mean_error_corrected"] < about["correlations"]["mean_error_released"] + 0.02
    assert 0 < about["clusters"]["agreement"] <= 1


def test_the_page_is_made_from_the_json_alone(noisy):
    from sfumato.report.audit_page import audit_page

    for edition in ("owner", "public"):
        assert audit_page(json.loads(json.dumps(noisy.to_dict(edition)))) == noisy.html(edition)


def test_every_finding_states_its_interval_seed_and_what_it_assumes(noisy):
    for finding in noisy.to_dict()["attacks"]:
        assert finding["assumes"]
        assert finding["seed"] == 0
        assert finding["trials"] > 0
        low, high = finding["interval"]
        assert 0 <= low < high <= 1 or finding["success"] in (0.0, 1.0)
    people = {"linkability", "inference"}
    assert all(f["control"] is not None for f in noisy.to_dict()["attacks"] if f["name"] in people)


def test_the_public_edition_holds_nothing_that_belongs_to_one_row(people, tmp_path):
    """An unusual person is planted: their values, their row and their bits must not be in the public edition."""
    rows = {n: people[n].to_pylist() for n in people.column_names}
    rows["height"][1234], rows["weight"][1234] = 219.7, 31.3
    table = pa.table(rows)
    plan = plan_of(Gaussian(privacy=0.1), Substitution(gamma=6.0))
    found = audit(table, made(table, plan, tmp_path / "r"), targets=50)
    assert 1235 in [w["row"] for w in found.to_dict("owner")["records"]["worst"]]
    public = found.to_dict("public")
    text = json.dumps(public) + found.html("public")
    for secret in ("219.7", "31.3", "1235", "1234", str(round(float(found.exposure.bits.max()), 1))):
        assert not re.search(rf"(?<![\d.]){re.escape(secret)}(?!\d)", text), secret

    def lists(value):
        if isinstance(value, dict):
            for k, v in value.items():
                assert k not in ("row", "rows_of", "worst", "histogram")
                yield from lists(v)
        elif isinstance(value, list | tuple):
            yield len(value)
            for v in value:
                yield from lists(v)

    assert max(lists({k: v for k, v in public.items() if k not in ("attacks", "filing")})) <= 8


def test_the_report_states_every_measure_of_the_laws(noisy):
    page = noisy.html("public")
    for words in ("50 %", "95 %", "99.9 %", "5% → ", "bits told", "privacy loss", "Π", "ε is infinite for height"):
        assert words in page
    record = noisy.privacy["record"]
    told = sum(v["bits"] for v in noisy.privacy["information"].values())
    assert record["bits_at_most"] == pytest.approx(told)
    assert record["privacy_loss_at_most"] == pytest.approx(1 - 2**-told)


def test_the_report_marks_information_that_is_only_a_bound(noisy):
    from sfumato.report.audit_page import audit_page

    about = json.loads(json.dumps(noisy.to_dict()))
    assert all(v["exact"] and v["reason"] is None for v in about["privacy"]["information"].values())
    assert "≥" not in audit_page(about).partition("What the laws say of themselves")[2]
    height = about["privacy"]["information"]["height"] | {"exact": False, "reason": "cells are wide"}
    about["privacy"]["information"]["height"] = height
    page = audit_page(about)
    for words in (f"≥ {height['bits']:.2f}", "≤ ", "height: cells are wide."):
        assert words in page


def test_correlated_noise_is_measured_by_its_joint_law(tmp_path):
    rng = np.random.default_rng(12)
    x = 10 * rng.normal(size=(4000, 3)) @ np.array([[1, 0, 0], [0.8, 0.6, 0], [0.7, 0.4, 0.6]]).T
    table = pa.table({n: x[:, i].round(2).clip(-80, 80) for i, n in enumerate("abc")})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(-80, 80), resolution=0.01) for n in "abc"))
    plan = Plan(schema, {}, name="joint", method={"law": "correlated-gaussian", "ratio": 0.5})
    found = audit(table, made(table, plan, tmp_path / "r"), targets=100)
    # Σ_y = 3 Σ_r: ½ log₂ 3³ = 1.5 log₂ 3 = 2.377 bits a record, whatever the correlations
    assert found.privacy["record"]["bits_at_most"] == pytest.approx(2.377, abs=0.05)
    assert found.exposure.bits.mean() == pytest.approx(2.377, abs=0.08)
    assert {p.mechanism for p in found.promises} == {"correlated-gaussian"}
    best = {n: min(f.left[n][0] for f in found.findings if n in f.left) for n in "abc"}
    for i, n in enumerate("abc"):
        # √(c/(1+c)) sd is what a scalar shrink leaves, 3.92 of it an interval; no attack got below.
        shrink = 3.92 * np.sqrt(0.5 / 1.5) * x[:, i].std()
        assert best[n] > 0.95 * shrink
