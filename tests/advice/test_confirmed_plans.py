"""An audit of other noise agrees with the plan: people, promises, and the order of rows; where it cannot, the plan says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.support.owner_files import MAKERS

import sfumato as sf
from sfumato.advice import Goal
from sfumato.advice.advisor import read_rehearsal, with_promises
from sfumato.advice.costs import order_by_cost
from sfumato.advice.goal import Share
from sfumato.advice.search import judge_strictly, with_times
from sfumato.attacks import LikelihoodLinkage, Targets
from sfumato.plans import Plan

TWINS = ("x1", "x2", "x3", "x4", "x5")
DOUBTS = {"SF113", "SF114", "SF116"}


def audit_of(table, plan, folder):
    """Release a table as its plan says, and audit it with the key."""
    made = sf.release(table, plan, folder / "release", key=folder / "owner.key")
    return sf.audit(table, made, key=folder / "owner.key")


@pytest.fixture(scope="module")
def twins():
    """Columns that say nearly the same, over which noise averages out, and one that is by itself."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 100, 3000)
    alike = {n: (x + rng.normal(0, 1, 3000)).clip(0, 100).round(1) for n in TWINS}
    return pa.table(alike | {"other": rng.uniform(0, 100, 3000).round(1)})


@pytest.mark.parametrize(
    "name", ["iris", "glass", "breast_cancer_wisconsin", "car_evaluation", "credit_approval", "german_credit", "yeast"]
)
def test_the_default_plan_of_a_table_is_fit_or_says_why_it_cannot_be(name, tmp_path):
    plan = sf.plan(name)
    audit = audit_of(name, plan, tmp_path)
    doubts = [n for n in plan.warnings if n.code in DOUBTS]
    assert audit.headline.decision == "fit" or doubts
    assert audit.headline.decision != "do-not-publish"
    assert not audit.broken or any(n.code == "SF114" for n in doubts)


@pytest.mark.parametrize("make", MAKERS[:6], ids=lambda m: m.__name__)
def test_the_default_plan_of_an_owners_file_is_fit_or_says_why_it_cannot_be(make, tmp_path):
    made = make(tmp_path)
    plan = sf.plan(made.table, target=made.target)
    audit = audit_of(made.table, plan, tmp_path)
    assert audit.headline.decision == "fit" or any(n.code in DOUBTS for n in plan.warnings)
    assert not audit.broken


@pytest.mark.parametrize(
    ("people", "chance", "most"), [(500, 0.0, 15), (150, 1 / 150, 2), (60, 0.0, -1), (100, 0.0, 0)]
)
def test_how_many_an_audit_may_find_by_hand(people, chance, most):
    """Wilson's upper end of 15 of 500 is 4.90 %, of 16 is 5.13 %; of 2 of 150 4.73 %, of 0 of 60 6.0 %."""
    assert Goal(0.05).most_found(people, chance, surely=True) == most


def test_a_goal_counts_as_met_where_an_audit_will_confirm_it_in_98_of_100_releases():
    goal, rng = Goal(0.05), np.random.default_rng(1)
    shares = np.linspace(0.005, 0.03, 26)
    met = max(s for s in shares if goal.is_met_by(Share(s, 0.0), 500, 0.0))
    confirmed = (rng.binomial(500, met, 20_000) <= goal.most_found(500, 0.0, surely=True)).mean()
    assert 0.98 <= confirmed + 0.003 <= 1.003
    assert not goal.is_met_by(Share(met, 0.01), 500, 0.0)  # a rehearsal that is not sure needs more room


def test_a_rehearsal_finds_as_many_people_as_linkage_in_releases_of_its_plan():
    plan = with_times(Plan.propose("german_credit"), "gaussian", 4.0)
    rehearsal = read_rehearsal(plan, "german_credit")
    truth = {c.name: c.values for c in rehearsal.truth.all_columns}
    linked = []
    for draw in range(100, 110):
        view = rehearsal.view(plan, draw)
        targets = Targets({n: truth[n] for n in view.names})
        linked.append(LikelihoodLinkage(targets).run(view).credit(np.arange(view.rows)).mean())
    share = rehearsal.people_found(plan)
    spread = np.hypot(share.error, np.std(linked) / np.sqrt(len(linked)))
    assert abs(share.value - np.mean(linked)) < 4 * spread
    assert share.error < 0.7 * np.sqrt(share.value * (1 - share.value) / 1000)  # of one draw each


@pytest.mark.parametrize("name", ["iris", "car_evaluation", "nursery"])
def test_rows_of_a_bundled_table_that_are_like_their_neighbours_are_shuffled(name):
    plan = sf.plan(name)
    assert plan.shuffle
    assert any(n.code == "SF102" and "shuffle = true" in n for n in plan.warnings)


def test_rows_in_an_order_of_chance_are_not_shuffled(twins):
    assert not sf.plan(twins).shuffle


def test_a_plan_promises_less_where_another_column_tells_more_and_an_audit_keeps_it(twins, tmp_path):
    plan = sf.plan(twins, goal="found=90%")
    assert set(plan.promises) == set(TWINS)
    assert all(0 < plan.promises[n] < plan.bind()[n].interval_width(0.95) for n in plan.promises)
    assert any(n.code == "SF115" and "x1 " in n and "x5 " in n for n in plan.warnings)
    audit = audit_of(twins, plan, tmp_path)
    assert not audit.broken
    told = audit.to_dict()["promised"]
    assert told["x1"]["stated"] == plan.promises["x1"]
    assert told["x1"]["interval_width_95"] > plan.promises["x1"]
    assert told["other"]["stated"] is None


def test_without_the_smaller_promise_the_same_plan_is_broken(twins, tmp_path):
    plan = sf.plan(twins, goal="found=90%")
    told = {p.attribute: p.verdict for p in audit_of(twins, sf.Plan.from_dict(_unstated(plan)), tmp_path).promises}
    # Inferred: whoever knows the true values of the others needs no release.
    assert {told[n] for n in TWINS} in ({"broken"}, {"broken", "inferred"})


def _unstated(plan):
    text = plan.to_dict()
    for column in text["column"]:
        column.pop("promise", None)
    return text


def test_promises_hold_in_other_draws_of_the_noise(twins):
    plan = sf.plan(twins, goal="found=90%")
    rehearsal = read_rehearsal(plan, twins)
    for draw in range(2, 12):
        assert not [p.attribute for p in rehearsal.promises(plan, draw) if p.verdict == "broken"]


def test_a_column_that_is_guessed_too_often_gets_more_noise_than_the_others():
    rng = np.random.default_rng(7)
    table = pa.table({"flag": rng.choice(["a", "b"], 4000), "x": rng.uniform(0, 100, 4000).round(1)})
    plan = sf.plan(table, noise="substitution")
    usual = Plan.propose(table, noise="substitution").channels["flag"].gamma
    assert plan.channels["flag"].gamma < 0.7 * usual
    judged = {p.attribute: p for p in read_rehearsal(plan, table).promises(plan)}
    assert judged["flag"].gain < 0.5


def test_a_strict_judge_breaks_what_an_ordinary_one_breaks(twins):
    plan = Plan.propose(twins)
    for promise in read_rehearsal(plan, twins).promises(plan):
        assert promise.verdict != "broken" or judge_strictly(promise).verdict == "broken"


def test_a_table_of_few_rows_says_what_an_audit_cannot_rule_out():
    doubt = next(n for n in sf.plan("iris").warnings if n.code == "SF113")
    assert "publish with care" in doubt
    assert "of 150 people" in doubt
    assert "class alone, released as it is, finds 2.0%" in doubt


def test_a_column_that_matters_only_beside_another_one_is_kept(tmp_path: Path):
    """In function 2 a person's group follows from age and salary together, and age alone tells nothing."""
    rng = np.random.default_rng(2)
    age, salary = rng.integers(20, 81, 3000), rng.integers(20, 151, 3000)
    inside = np.where(age < 40, (salary >= 50) & (salary <= 100), np.where(age < 60, (salary >= 75) & (salary <= 125),
                      (salary >= 25) & (salary <= 75)))  # fmt: skip
    idle = {f"idle{i}": rng.integers(0, 100, 3000) for i in range(3)}
    table = pa.table({"age": age, "salary": salary, **idle, "class": np.where(inside, "a", "b")})
    plan = Plan.propose(table)
    assert set(order_by_cost(plan, read_rehearsal(plan, table))[-2:]) == {"age", "salary"}


def test_people_with_several_rows_are_rehearsed_with_noise_that_belongs_to_them(tmp_path):
    made = next(m for m in MAKERS if m.__name__ == "swiss_bank")(tmp_path)
    plan = Plan.propose(made.table, target=made.target)
    rehearsal = read_rehearsal(plan, made.table)
    assert rehearsal.groups is not None
    released, truth = rehearsal.view(plan)["land"].values, rehearsal.truth["land"].values
    drawn = {}
    for person, true, seen in zip(rehearsal.groups.person, truth, released, strict=True):
        assert drawn.setdefault((person, true), seen) == seen


def test_promises_are_written_beside_those_that_stand(twins):
    plan = Plan.propose(twins)
    assert with_promises(plan, read_rehearsal(plan, twins)).promises.keys() == set(TWINS)
