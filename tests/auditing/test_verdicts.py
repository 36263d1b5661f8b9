"""The verdict on a release: whether to publish it, and why."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from sfumato.attacks import View
from sfumato.auditing import Decision, PeopleFound, Promise, decide, find_people, judge_columns
from sfumato.auditing.decision import Condition
from sfumato.channels import Gaussian
from sfumato.cli.audit import audit
from sfumato.errors import UsageError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import read_original
from sfumato.releasing import release
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

STRENGTHS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


def blur(table: str, privacy: float) -> tuple[View, dict[str, np.ndarray]]:
    """Return a release of a bundled table in memory, and the truth."""
    plan = Plan.propose(table, noise="gaussian", privacy=privacy)
    laws = {name: wish.on(plan.schema[name]) for name, wish in plan.channels.items()}
    true = read_original(table, plan).all_columns
    seen = [c.through(laws[c.name], SecretKey(bytes(32)).derive(c.name)) if c.name in laws else c for c in true]
    return View(tuple(seen)), {c.name: c.values for c in true}


def found(share: float, people: int = 500) -> PeopleFound:
    spread = 2 * (share * (1 - share) / people) ** 0.5
    return PeopleFound(share, max(share - spread, 0.0), share + spread, 1e-4, 10_000, people, 5)


@pytest.mark.parametrize("table", ["yeast", "breast_cancer_wisconsin"])
def test_more_noise_never_makes_the_verdict_worse_and_the_risk_falls_with_the_people_found(table):
    verdicts = []
    for privacy in STRENGTHS:
        view, truth = blur(table, privacy)
        verdicts.append(decide(find_people(view, truth, targets=400), judge_columns(view, truth)))
    severities = [v.decision.severity for v in verdicts]
    assert severities == sorted(severities, reverse=True)
    assert (severities[0], severities[-1]) == (2, 0)
    assert [v.risk for v in verdicts[:4]] == sorted((v.risk for v in verdicts[:4]), reverse=True)
    assert verdicts[0].risk > 50 > 2 > verdicts[-1].risk


def test_people_found_decide_by_their_share_and_care_is_taken_while_their_interval_reaches_beyond_the_limit():
    assert decide(found(0.06), ()).decision is Decision.DO_NOT_PUBLISH
    assert decide(found(0.04), ()).decision is Decision.WITH_CARE
    assert decide(found(0.01), ()).decision is Decision.FIT
    assert decide(found(0.06), (), leading=("age",)).worst.remedy.code == "SF281"


def test_a_true_release_finds_everybody_and_is_not_published():
    view, truth = blur("yeast", 0.1)
    clear = View(tuple(Column(c.attribute, None, truth[c.name]) for c in view.columns))
    verdict = decide(find_people(clear, truth, targets=200), judge_columns(clear, truth))
    assert verdict.decision is Decision.DO_NOT_PUBLISH
    assert verdict.risk > 90


def test_a_narrow_distribution_is_not_a_value_given_away():
    age = Attribute("gain", Kind.REAL, Interval(0, 100))
    rng = np.random.default_rng(11)
    mostly_zero = np.where(rng.random(4000) < 0.92, 0.0, rng.uniform(0, 100, 4000))
    column = Column(age, None, mostly_zero).through(Gaussian(privacy=2.0).on(age), SecretKey(bytes(32)))
    (promise,) = judge_columns(View((column,)), {"gain": mostly_zero})
    assert promise.verdict in ("kept", "narrowed")
    assert promise.gain < 0.1
    assert promise.promised == 100.0  # the law alone would leave 200, and the domain is 100 wide


def test_a_stated_promise_is_judged_in_the_place_of_the_laws_own():
    view, truth = blur("yeast", 0.5)
    (left,) = [p.left for p in judge_columns(view, truth) if p.attribute == "mcg"]
    for stated, verdict in ((0.9 * left, "kept"), (1.5 * left, "broken")):
        (mcg,) = [p for p in judge_columns(view, truth, stated={"mcg": stated}) if p.attribute == "mcg"]
        assert mcg.verdict == verdict


def test_what_follows_from_another_column_of_anybody_is_inferred_unless_the_columns_own_law_gave_it_away():
    head = ("a", "substitution", "of 9 labels", 8.0, 6.0, 3.0, (3.0, 3.0))
    by = ("given-another", "Posterior, given b")
    assert Promise(*head, 5.0, *by, source="b", source_left=3.5).verdict == "inferred"
    assert Promise(*head, 5.0, *by, source="b", source_left=5.9).verdict == "broken"
    assert Promise(*head, 3.4, *by, source="b", source_left=3.5).verdict == "broken"
    assert Promise(*head, 3.2, *by, source="b", source_left=3.5, own_gain=0.02).verdict == "narrowed"


@pytest.mark.parametrize("text", ["found", "found=x", "found=120%", "green", "risk=-1"])
def test_a_condition_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match=r"use broken, care"):
        Condition.parse(text)


def test_every_condition_says_in_a_sentence_what_failed(tmp_path):
    from sfumato.auditing import audit as attack

    plan = Plan.propose("iris", noise="gaussian", privacy=0.1)
    made = release("iris", plan, tmp_path / "r", key=SecretKey(bytes(32)))
    every = ("found=5%", "risk=20", "broken", "care", "do-not-publish")
    result = attack("iris", made, targets=60, fail_on=every)
    found = f"{float(f'{100 * result.people.beyond_chance:.3g}'):g}"
    told = {
        "found": f"found: {found} % of people are found beyond chance; at most 5 % may be",
        "risk": f"risk: the risk is {float(f'{result.headline.risk:.3g}'):g}; at most 20 may be",
        "care": "care: the verdict is “Do not publish”; it must be “Fit to publish”",
        "do-not-publish": "do-not-publish: the verdict is “Do not publish”",
    }
    if result.broken:
        told["broken"] = f"broken: {len(result.broken)} promises are broken; none may be"
    assert sorted(result.failures) == sorted(told.values())
    lenient = attack("iris", made, targets=60, fail_on=("found=100%", "risk=100"))
    assert lenient.failures == []


def test_the_command_fails_with_one_line_and_writes_a_summary(tmp_path):
    folder = tmp_path / "r"
    release("iris", Plan.propose("iris", noise="gaussian", privacy=0.1), folder, key=SecretKey(bytes(32)))
    words = ["iris", str(folder), "--targets", "60", "--summary", str(tmp_path / "s.json"), "--json"]
    result = CliRunner().invoke(audit, [*words, "--fail-on", "found=5%"], catch_exceptions=False)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("failed: found: ")
    assert result.stderr.startswith("Do not publish: ")
    about = json.loads(result.stdout)
    assert about["decision"] == "do-not-publish"
    assert about["people_found"].keys() >= {"share", "low", "high", "chance", "rows"}
    assert all(f["code"].startswith("SF") for f in about["findings"])
    assert json.loads((tmp_path / "s.json").read_text())["headline"]["risk"] == about["headline"]["risk"]
