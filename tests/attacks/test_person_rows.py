"""All rows of one person: an intruder who puts them together averages the noise away, unless equal values share it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.claims import PATIENTS, claims

import sfumato as sf
from sfumato.attacks import RowGroups
from sfumato.attacks.person_rows import predict_from_others
from sfumato.auditing.per_person import MEANS, TYPICAL, typical_values
from sfumato.errors import UsageError
from sfumato.plans import Plan, without_identifier
from sfumato.schema import Attribute, Categories, Interval, Kind

KEY = sf.SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, sf.Audit]:
    table, plan = claims(), Plan.propose(claims())
    folder = tmp_path_factory.mktemp("releases")
    tied = sf.release(table, plan, folder / "tied", key=KEY)
    loose = sf.release(table, without_identifier(plan), folder / "loose", key=KEY)
    return {
        "tied": sf.audit(tied, table, targets=50),
        "loose": sf.audit(loose, table, targets=50, identifier="patient_id"),
        "unknown": sf.audit(loose, table, targets=50),
    }


def left(audit: sf.Audit, attack: str, name: str) -> float:
    return next(f.left[name][0] for f in audit.findings if f.name == attack and name in f.left)


def test_rows_with_noise_of_their_own_are_averaged(audits: dict[str, sf.Audit]) -> None:
    loose = audits["loose"]
    assert left(loose, "person-rows", "age") < 0.5 * left(loose, "posterior", "age")
    broken = next(p for p in loose.promises if p.attribute == "age")
    assert (broken.attack, broken.verdict) == ("person-rows", "broken")
    found = next(f for f in loose.findings if f.name == "person-rows" and f.attributes == ("age",))
    assert found.success > found.control + 0.2, "groups of strangers say nothing"


def test_one_draw_per_person_leaves_nothing_to_average(audits: dict[str, sf.Audit]) -> None:
    attacked = {f.attributes[0] for f in audits["tied"].findings if f.name == "person-rows"}
    assert "age" not in attacked
    assert "region" not in attacked
    assert "cost" in attacked, "different costs have noise of their own"


def test_what_varies_freely_is_not_given_away(audits: dict[str, sf.Audit]) -> None:
    assert not [f for f in audits["loose"].findings if f.name == "person-rows" and f.attributes == ("weekday",)]


def test_the_figure_per_person_stands_beside_the_figure_per_row(audits: dict[str, sf.Audit]) -> None:
    per_person = {
        f.attributes[0]: f
        for f in audits["loose"].findings
        if f.name == "person-rows" and f.details.get("per") == "person"
    }
    assert per_person["cost"].unit == MEANS
    assert per_person["region"].unit == TYPICAL
    assert per_person["cost"].trials == PATIENTS
    assert per_person["cost"].left == {}, "a mean is not what the promise of a row is about"
    assert per_person["cost"].details["mean_interval_left_95"][0] < left(audits["loose"], "person-rows", "cost")


def test_an_intruder_who_does_not_know_which_rows_belong_together_averages_nothing(audits: dict[str, sf.Audit]) -> None:
    assert not [f for f in audits["unknown"].findings if f.name == "person-rows"]
    assert audits["unknown"].notes["person-rows"] == "nothing says which rows are one person's"


def test_the_prediction_is_the_best_linear_one() -> None:
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(4000), 5)
    level = rng.normal(0, 2, 4000)[person]
    seen = level + rng.normal(0, 4, len(person))
    predicted = predict_from_others(seen, RowGroups(person))
    assert predicted is not None
    # Four others: 4 B/(4 B + W) with B = 4, W = 16 is one half, so the error left is B (1 − 1/2).
    assert np.mean((predicted - level) ** 2) == pytest.approx(2.0, rel=0.08)
    strangers = predict_from_others(seen, RowGroups(rng.permutation(person)))
    assert strangers is None or np.std(strangers) < 0.3


def test_shared_noise_counts_once_and_a_lone_row_has_no_others() -> None:
    groups = RowGroups(np.array([0, 0, 0, 1, 2, 2]), shared=True)
    predicted = predict_from_others(np.array([10.0, 10.0, 12.0, 3.0, 1.0, 2.0]), groups)
    assert predicted is not None
    assert np.isnan(predicted).tolist() == [False, False, False, True, False, False]
    assert predict_from_others(np.array([1.0, 1.0, 5.0]), RowGroups(np.array([0, 0, 1]), shared=True)) is None


def test_a_typical_value_is_a_mean_or_the_commonest_label() -> None:
    groups = RowGroups(np.array([0, 0, 0, 1, 2]))
    number = Attribute("x", Kind.REAL, Interval(0, 9))
    label = Attribute("y", Kind.CATEGORICAL, Categories(("a", "b")))
    values = np.array([1.0, 0.0, 1.0, np.nan, 0.0])
    assert np.nan_to_num(typical_values(values, number, groups), nan=-1).tolist() == [pytest.approx(2 / 3), -1, 0]
    assert np.nan_to_num(typical_values(values, label, groups), nan=-1).tolist() == [1, -1, 0]


def test_an_unknown_id_column_is_named(tmp_path: Path) -> None:
    made = sf.release(claims(), Plan.propose(claims()), tmp_path / "r", key=KEY)
    with pytest.raises(UsageError, match="has no column 'who'"):
        sf.audit(made, claims(), identifier="who")
