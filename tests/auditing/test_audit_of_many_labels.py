"""Audits of columns with many labels: the same figures with arrays of posteriors and without, and memory that is bounded."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from sfumato.attacks import ColumnPosterior, View
from sfumato.auditing.runner import audit
from sfumato.channels import Gaussian, Projective, Substitution
from sfumato.channels import transition as operators
from sfumato.channels import transition as transitions
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
ROWS, LABELS = 900, 80


def labelled(name: str, size: int, consent: Consent = Consent.MODIFIED) -> Attribute:
    return Attribute(name, Kind.CATEGORICAL, Categories(tuple(f"{name}{i}" for i in range(size))), consent=consent)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Two long lists of labels that go with an age, some of them missing, one more released as it is; and a class."""
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, ROWS)
    zips = np.minimum(rng.geometric(0.06, ROWS) - 1 + age // 30, LABELS - 1)
    sick = np.minimum(rng.geometric(0.08, ROWS) - 1, LABELS - 1)
    return pa.table(
        {
            "zip": pa.array([None if i % 40 == 0 else f"zip{z}" for i, z in enumerate(zips)]),
            "sick": [f"sick{s}" for s in sick],
            "town": [f"town{z % 70}" for z in zips],
            "age": age,
            "buys": np.where(age + 3 * rng.normal(size=ROWS) > 50, "yes", "no"),
        }
    )


def plan() -> Plan:
    schema = Schema(
        (
            labelled("zip", LABELS),
            labelled("sick", LABELS),
            labelled("town", 70, Consent.TRUE),
            Attribute("age", Kind.INTEGER, Interval(18, 90)),
            Attribute("buys", Kind.CATEGORICAL, Categories(("no", "yes")), role=Role.TARGET, consent=Consent.TRUE),
        )
    )
    laws = {"zip": Projective(epsilon=2.2), "sick": Substitution(gamma=31.7), "age": Gaussian(privacy=0.4)}
    return Plan(schema, laws, name="people")


def compare(first, second, path: str = "") -> None:
    """Equal text and lists, numbers equal up to rounding."""
    if isinstance(first, dict):
        assert first.keys() == second.keys(), path
        for key in first:
            if key != "seconds":
                compare(first[key], second[key], f"{path}/{key}")
    elif isinstance(first, list):
        assert len(first) == len(second), path
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            compare(a, b, f"{path}/{i}")
    elif isinstance(first, float):
        assert second == pytest.approx(first, rel=2e-6, abs=1e-9), path
    else:
        assert first == second, path


@pytest.mark.slow
def test_an_audit_without_arrays_of_posteriors_says_the_same(people, tmp_path, monkeypatch):
    made = release(people, plan(), tmp_path / "release", key=KEY)
    again = release(people, Plan(plan().schema, plan().channels, name="again"), tmp_path / "again", key=KEY, again=True)
    whole = audit(people, made, targets=60, others=[again]).to_dict()
    monkeypatch.setattr(transitions, "MAX_DENSE_LABELS", 10)
    monkeypatch.setattr(operators, "MAX_CELLS_AT_ONCE", 37 * LABELS)
    parts = audit(people, made, targets=60, others=[again]).to_dict()
    compare(json.loads(json.dumps(whole)), json.loads(json.dumps(parts)))


@pytest.mark.parametrize(
    "law", [Projective(epsilon=2.0), Substitution(gamma=2000.0)], ids=["projective", "substitution"]
)
def test_the_posterior_of_five_thousand_labels_fits_into_little_memory(law):
    attribute = labelled("zip", 5000)
    rng = np.random.default_rng(1)
    truth = np.minimum(rng.geometric(0.002, 1500) - 1, 4999).astype(float)
    column = Column(attribute, None, truth).through(law.on(attribute), KEY)
    tracemalloc.start()
    claim = ColumnPosterior().run(View((column,)))
    covered = claim.recoveries[0].sets.covers(truth)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 120e6  # the array of posteriors alone has 5,000 × 5,000 × 8 bytes or more
    assert not np.isnan(covered).any()
    assert (claim.recoveries[0].width > 1).all()
