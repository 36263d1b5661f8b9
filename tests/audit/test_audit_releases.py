"""Audits of whole releases: the original itself, pure noise, every law, odd tables, both editions."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.audit import audit
from sfumato.channels import CHANNELS, Gaussian, Substitution
from sfumato.errors import DataError, UsageError
from sfumato.randomness import SecretKey
from sfumato.releases import Plan, release
from sfumato.releases.plan import with_consent
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
    return audit(made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), folder), people, targets=300)


def test_auditing_the_original_as_if_it_were_a_release_says_100_percent(people, tmp_path):
    clear = all_true(plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)))
    found = audit(made(people, clear, tmp_path / "r"), people, targets=200)
    assert found.risk == 1.0
    assert "100 %" in found.verdict
    assert found.alarms()[0]["level"] == "broken"
    by_name = {f.name: f for f in found.findings}
    assert by_name["posterior"].success == 1.0
    assert by_name["at-its-word"].success == 1.0
    assert by_name["likelihood-linkage"].success > 0.99
    # Two people may share all known values, and then the secret is a guess between theirs.
    assert np.mean([f.success for f in found.findings if f.name == "inference"]) > 0.85
    assert found.html()


def test_auditing_pure_noise_equals_the_baseline(people, tmp_path):
    noise = plan_of(Gaussian(privacy=500.0), Substitution(gamma=1.0 + 1e-9))
    found = audit(made(people, noise, tmp_path / "r"), people, targets=300)
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
        made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), tmp_path / "r"), people, targets=300
    )
    first, second = (json.dumps(a.to_dict() | {"seconds": 0}) for a in (noisy, again))
    assert first == second


def test_every_attack_is_run_or_says_why_not(noisy):
    from sfumato.attacks import ATTACKS

    run = {f.name for f in noisy.findings} | set(noisy.notes)
    assert run | {"nearest-inference"} == set(ATTACKS)


def test_the_promise_of_noise_is_what_reading_the_release_leaves(noisy):
    word = next(f for f in noisy.findings if f.name == "at-its-word")
    promised = {p.attribute: p.promised for p in noisy.promises}
    for name in ("height", "weight", "age"):
        assert word.left[name][0] == pytest.approx(promised[name], rel=0.1)


def test_a_promise_broken_through_the_other_columns_is_said_first_with_correlated_noise_as_the_remedy(tmp_path):
    rng = np.random.default_rng(2)
    factor = rng.normal(size=3000)
    names = [f"a{i}" for i in range(8)]
    table = pa.table({n: np.round(5 * factor + 0.3 * rng.normal(size=3000), 3).clip(-25, 25) for n in names})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(-25, 25), resolution=0.001) for n in names))
    plan = Plan(schema, dict.fromkeys(names, Gaussian(sigma=3.0)), name="eight")
    found = audit(made(table, plan, tmp_path / "r"), table, targets=50)
    assert {p.verdict for p in found.promises} == {"broken"}
    first = found.alarms()[0]
    assert first["level"] == "broken"
    assert "correlated noise" in first["remedy"]
    page = found.html()
    assert page.index("8 promised intervals are broken") < page.index("Promised, and left")
    assert 'class="alarm "' in page


def test_small_noise_on_unrelated_columns_keeps_its_promise(tmp_path):
    rng = np.random.default_rng(3)
    table = pa.table({n: np.round(rng.uniform(0, 100, 3000), 2) for n in "pq"})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 100), resolution=0.01) for n in "pq"))
    plan = Plan(schema, dict.fromkeys("pq", Gaussian(privacy=0.05)), name="small")
    found = audit(made(table, plan, tmp_path / "r"), table, targets=50)
    assert {p.verdict for p in found.promises} == {"kept"}


def test_other_releases_of_the_same_rows_are_averaged(people, tmp_path):
    plan = plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0))
    folders = [made(people, replace(plan, name=f"r{i}"), tmp_path / f"r{i}") for i in range(4)]
    found = audit(folders[0], people, others=folders[1:], targets=50)
    averaging = next(f for f in found.findings if f.name == "averaging")
    assert averaging.left["weight"][0] < 0.75 * next(p for p in found.promises if p.attribute == "weight").promised
    assert {p.attack for p in found.promises if p.attribute in ("age", "town")} == {"averaging"}
    assert "noise-reuse" in found.notes


def test_a_control_table_takes_the_place_of_the_struck_rows(people, tmp_path):
    plan = plan_of(Gaussian(privacy=0.05), Substitution(gamma=50.0))
    found = audit(made(people, plan, tmp_path / "r"), people, control=people.slice(0, 120), targets=400)
    inference = next(f for f in found.findings if f.name == "inference")
    assert inference.trials <= 120
    assert inference.control is not None


@pytest.mark.parametrize("law", sorted(law for law in CHANNELS if CHANNELS[law].numeric))
def test_every_law_of_numbers_is_audited(law, tmp_path):
    plan = Plan.propose("iris", law=law, privacy=0.4, name=law)
    found = audit(made("iris", plan, tmp_path / "r"), "iris", targets=60)
    assert {p.mechanism for p in found.promises} == {law, "none"}
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
    found = audit(made(table, plan, tmp_path / "r"), table, targets=60)
    (promise,) = (p for p in found.promises if p.attribute == "code")
    assert promise.mechanism == law
    assert promise.verdict in {"kept", "narrowed"}
    alone = next(f for f in found.findings if f.name == "posterior" and f.attributes == ("code",))
    assert alone.success > 0.12
    assert "at-its-word" in {f.name for f in found.findings}
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
    found = audit(made(table, Plan(schema, noise, name="odd"), tmp_path / "r"), table, targets=100)
    assert found.html()
    assert 0 <= found.risk <= 1
    assert "leaf-class" in found.notes


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_handful_of_rows_can_be_audited(rows, tmp_path):
    table = pa.table({"x": np.arange(rows) + 0.5, "y": np.arange(rows) * 2.0})
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 20)) for n in "xy"))
    plan = Plan(schema, dict.fromkeys("xy", Gaussian(sigma=2.0)), name="few")
    found = audit(made(table, plan, tmp_path / "r"), table)
    assert found.html()


def test_an_original_of_another_length_is_refused(people, tmp_path):
    folder = made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), tmp_path / "r")
    with pytest.raises(DataError, match="1,999 rows and the release 2,000"):
        audit(folder, people.slice(1))


def test_wrong_wishes_are_refused(noisy, people, tmp_path):
    folder = made(people, plan_of(Gaussian(privacy=0.3), Substitution(gamma=6.0)), tmp_path / "r")
    with pytest.raises(UsageError, match="no column 'nose'"):
        audit(folder, people, known=["nose"])
    with pytest.raises(UsageError, match="targets = 0"):
        audit(folder, people, targets=0)
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
    plan = Plan.propose("iris", law="gaussian", privacy=0.2, name="u")
    about = audit(made("iris", plan, tmp_path / "r"), "iris", targets=30).utility
    assert about["trees"]["accuracy"]["original"] > 0.8
    assert set(about["distributions"]) == {"sepal_length", "sepal_width", "petal_length", "petal_width"}
    assert about["correlations"]["mean_error_corrected"] < about["correlations"]["mean_error_released"] + 0.02
    assert 0 < about["clusters"]["agreement"] <= 1
