"""Every way in which the product can make a release is audited here; a new one changes the count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.attacks import (
    PEOPLE,
    ColumnPosterior,
    Knowledge,
    LearnedPosterior,
    NaiveReading,
    Pairs,
    View,
    learn_beliefs,
)
from sfumato.auditing.runner import audit
from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.guided.base import METHODS
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Manifest
from sfumato.releasing import release, with_method
from sfumato.releasing.joint_noise import with_joint_noise
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
NEEDS_LABELS = {"detective"}


def audited(method, table, folder, **settings):
    made = release(table, with_method(Plan.propose(table), method, settings), folder, key=KEY)
    return audit(table, made, targets=60)


def every_column_has_a_row(found, manifest):
    names = [c.attribute.name for c in manifest.columns]
    assert sorted(p.attribute for p in found.promises) == sorted(names)
    assert sorted(found.to_dict()["promised"]) == sorted(names)
    assert all(p.left >= 0 for p in found.promises)


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_whose_learned_sets_miss_the_truth_have_a_row_too(seed, tmp_path):
    made = release(
        "german_credit", with_method(Plan.propose("german_credit"), "leaf-swap", {}), tmp_path / "r", key=KEY
    )
    found = audit("german_credit", made, targets=40, seed=seed)
    missed = [f for f in found.findings if f.name == "learned-posterior" and f.details.get("coverage_95", 1.0) < 0.93]
    assert missed
    assert all(f.left for f in missed)
    every_column_has_a_row(found, made.manifest)


def test_seven_laws_twelve_guided_methods_and_one_joint_law_are_audited():
    # The laws are walked in test_audit_releases.py.
    assert len(CHANNELS) == 7
    assert len(METHODS) == 12
    assert len(JOINT_LAWS) == 1


@pytest.mark.parametrize("method", JOINT_LAWS)
def test_every_joint_law_is_audited(method, tmp_path):
    plan = with_joint_noise(Plan.propose("iris"), {"ratio": 1.0})
    assert plan.method["law"] == method
    found = audit("iris", release("iris", plan, tmp_path / "r", key=KEY), targets=60)
    blurred = [p for p in found.promises if p.mechanism == method]
    assert len(blurred) == 4
    assert all(p.promised == pytest.approx(plan_width(p.attribute, tmp_path / "r")) for p in blurred)
    assert {"likelihood-linkage", "bayes", "spectral", "inference"} <= {f.name for f in found.findings}
    every_column_has_a_row(found, Manifest.load(tmp_path / "r"))
    assert found.html()
    assert found.html("public")


def plan_width(name, folder):
    manifest = Manifest.load(folder)
    return min(manifest.joint.interval_width(name), manifest[name].attribute.interval.range)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_guided_method_is_audited(method, tmp_path):
    found = audited(method, "german_credit" if method in NEEDS_LABELS else "iris", tmp_path / "r")
    guided = [p for p in found.promises if p.mechanism == method]
    assert guided
    assert all(p.promised is None for p in guided)
    assert {p.verdict for p in guided} <= {"no promise", "broken"}
    assert all(p.to_dict()["interval_width_95"] is None for p in guided)
    assert "promises no interval" in found.verdict
    assert {"likelihood-linkage", "known-input", "cluster-linear"} <= {f.name for f in found.findings}
    every_column_has_a_row(found, Manifest.load(tmp_path / "r"))
    assert found.html()
    assert found.html("public")


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(m, 1.0, (150, 3)) for m in (0.0, 8.0, 16.0)])
    return pa.table({n: x[:, i].round(3) for i, n in enumerate("abc")})


def test_a_rotation_without_noise_is_undone_and_said_to_be(clouds, tmp_path):
    found = audited("geometric", clouds, tmp_path / "r", sigma=0.0)
    assert {p.verdict for p in found.promises} == {"broken"}
    assert {p.attack for p in found.promises} <= {"known-input", "cluster-linear"}
    assert found.risk > 0.95
    assert found.alarms()[0]["level"] == "broken"


def test_swapped_clusters_tell_nothing_but_the_cluster(clouds, tmp_path):
    found = audited("swap-v", clouds, tmp_path / "r", k=3)
    links = next(f for f in found.findings if f.name == "likelihood-linkage")
    assert links.success < 0.1
    assert {p.verdict for p in found.promises} == {"no promise"}


def test_a_law_learned_from_known_records_is_near_the_true_one():
    rng = np.random.default_rng(6)
    x = rng.normal(50, 12, 6000).clip(0, 100)
    c = rng.integers(0, 3, 6000).astype(float)
    released = {"x": x + rng.normal(0, 5, 6000), "c": np.where(rng.random(6000) < 0.7, c, rng.integers(0, 3, 6000))}
    attributes = (
        Attribute("x", Kind.REAL, Interval(0, 100)),
        Attribute("c", Kind.CATEGORICAL, Categories(("p", "q", "r"))),
    )
    rows = np.arange(400)
    pairs = Pairs(rows, {"x": x[rows], "c": c[rows]})
    columns = tuple(Column(a, None, released[a.name]) for a in attributes)
    view = View(columns, guided={"x": "some", "c": "some"})
    matrix = learn_beliefs(view, pairs)["c"].kernel
    assert np.diag(matrix.dense()) == pytest.approx(0.8, abs=0.08)
    found = {r.attribute: r for r in LearnedPosterior(pairs).run(view).recoveries}
    assert 0.92 < found["x"].sets.covers(x).mean() < 0.99
    assert np.sqrt(np.mean((found["x"].mean - x) ** 2)) < 5.1


def test_without_known_rows_a_guided_column_is_taken_at_its_word():
    values = np.linspace(0, 100, 50)
    view = View((Column(Attribute("x", Kind.REAL, Interval(0, 100)), None, values),), guided={"x": "some"})
    (recovery,) = NaiveReading().run(view).recoveries
    assert np.array_equal(recovery.mean, values)
    assert recovery.width is None
    assert ColumnPosterior().run(view).skipped
    few = Pairs(np.arange(3), {"x": values[:3]})
    assert LearnedPosterior(few).run(view).skipped


def test_rows_that_an_attack_knew_are_not_scored(tmp_path):
    found = audited("racc", "iris", tmp_path / "r")
    for finding in found.findings:
        if Knowledge.KNOWN_ROWS in finding.attack.knowledge and finding.unit != PEOPLE and finding.control is None:
            assert finding.trials == 150 - 30
    learned = ("posterior", "bayes", "linkage", "assignment", "inference")
    assert {f"learned-{kind}" for kind in learned} <= {f.name for f in found.findings}


def test_laws_are_learned_only_where_none_is_stated(tmp_path):
    found = audit("iris", release("iris", Plan.propose("iris"), tmp_path / "r", key=KEY), targets=20)
    assert not [f.name for f in found.findings if f.name.startswith("learned")]
    assert not [name for name in found.notes if name.startswith("learned")]
