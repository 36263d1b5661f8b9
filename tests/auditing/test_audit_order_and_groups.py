"""Audits of tables whose order or whose class gives values away: the promise is broken, and the next step is named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.attacks import DISTRIBUTION, ConditionalPosterior, Scope
from sfumato.auditing.promises import Promise
from sfumato.auditing.runner import audit
from sfumato.channels import Gaussian, Substitution
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema

KEY = SecretKey(bytes(range(32)))
PEOPLE = Schema(
    (
        Attribute("income", Kind.INTEGER, Interval(0, 230_000)),
        Attribute("age", Kind.INTEGER, Interval(18, 90)),
        Attribute("town", Kind.CATEGORICAL, Categories(tuple("abcd"))),
    )
)


def people(n=3000):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "income": np.sort(rng.gamma(2, 20_000, n).round().clip(0, 230_000)),
            "age": rng.integers(18, 91, n),
            "town": np.sort(rng.choice(list("abcd"), n)),
        }
    )


def audited(table, folder):
    plan = Plan(
        PEOPLE, {"income": Gaussian(privacy=0.5), "age": Gaussian(privacy=0.5), "town": Substitution(gamma=4.0)}
    )
    return audit(table, release(table, plan, folder, key=KEY), targets=20)


@pytest.mark.slow
def test_a_sorted_table_breaks_its_promises_and_is_to_be_shuffled(tmp_path):
    table = people()
    found = audited(table, tmp_path / "sorted")
    broken = {p.attribute: p for p in found.broken}
    assert set(broken) == {"income", "town"}
    assert all(p.attack == "row-order" for p in broken.values())
    assert broken["income"].left < 0.25 * broken["income"].own_law
    first = found.alarms()[0]
    assert first["level"] == "broken"
    assert "Neighbours in the order of the rows" in first["words"]
    assert "Shuffle the rows" in first["remedy"]
    for finding in (f for f in found.findings if f.name == "row-order"):
        # On shuffled rows the same attack has no more than the column's own posterior.
        alone = next(f for f in found.findings if f.name == "posterior" and f.attributes == finding.attributes)
        assert finding.gains
        assert finding.control == pytest.approx(alone.success, abs=0.02)
        assert finding.success > finding.control + 0.2

    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    kept = audited(shuffled, tmp_path / "shuffled")
    assert "no more alike" in kept.notes["row-order"]
    by_name = {p.attribute: p for p in kept.promises}
    assert by_name["town"].left > 2 * broken["town"].left


@pytest.mark.slow
def test_what_a_clear_class_sorts_people_by_is_inferred_from_it_as_of_anybody_outside_the_release(tmp_path):
    rng = np.random.default_rng(0)
    salary = rng.uniform(0, 100, 4000).round(1)
    grade = np.array([f"g{(7 * i + 3) % 10}" for i in np.minimum(salary // 10, 9).astype(int)])
    table = pa.table({"salary": salary, "age": rng.integers(18, 91, 4000), "grade": grade})
    schema = Schema(
        (
            Attribute("salary", Kind.REAL, Interval(0, 100), resolution=0.1),
            Attribute("age", Kind.INTEGER, Interval(18, 90)),
            Attribute(
                "grade",
                Kind.CATEGORICAL,
                Categories(tuple(f"g{i}" for i in range(10))),
                role=Role.TARGET,
                consent=Consent.TRUE,
            ),
        )
    )
    plan = Plan(schema, {"salary": Gaussian(privacy=0.5), "age": Gaussian(privacy=0.5)})
    found = audit(table, release(table, plan, tmp_path / "r", key=KEY), targets=20)
    assert not found.broken
    (inferred,) = [p for p in found.promises if p.verdict == "inferred"]
    assert (inferred.attribute, inferred.attack, inferred.source) == ("salary", "given-another", "grade")
    assert inferred.left < 13
    assert inferred.source_left == pytest.approx(10, abs=1)  # who knows the grade of somebody outside knows as much
    assert inferred.own_law > 35
    assert inferred.remedy.code == "SF284"
    (alarm,) = [a for a in found.alarms() if a["level"] == "inferred"]
    assert "Posterior, given grade" in alarm["words"]
    assert [f.attributes for f in found.findings if f.name == "given-another"] == [("salary",)]


def test_another_column_is_blamed_only_for_what_it_adds_to_the_columns_own_distribution():
    def promise(left, own):
        head = ("a", "gaussian", "", 10.0, 50.0, left, (left, left), own, "given-another", "…")
        return Promise(*head, own_gain=0.0)

    assert promise(6.0, 8.0).remedy == ConditionalPosterior.remedy.words
    assert promise(6.0, 8.0).scope is Scope.COLUMNS
    assert promise(6.0, 6.2).remedy == DISTRIBUTION.words
    assert promise(6.0, 6.2).scope is Scope.COLUMN
