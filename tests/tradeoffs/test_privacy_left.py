"""What attacks leave of each setting, which setting they recommend, and the plan of any."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.advice import Goal
from sfumato.errors import UsageError
from sfumato.plans import Plan
from sfumato.tradeoffs import Point, Tradeoff
from sfumato.tradeoffs.choice import recommend_safe
from sfumato.tradeoffs.setting import AXES


@pytest.fixture(scope="module")
def swept() -> Tradeoff:
    return sf.tradeoff("iris", sweep={"privacy": [0.1, 1.0, 6.0]}, repeats=2, questions=["mean(petal_width)"])


def test_more_noise_finds_fewer_people_and_leaves_more(swept: Tradeoff) -> None:
    found = [p.found for p in swept.points]
    left = [p.left for p in swept.points]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.5
    assert found[-1] < 0.05
    assert left == sorted(left)
    for p in swept.points:
        assert p.found_interval[0] <= p.found <= p.found_interval[1]
        assert p.left <= p.promised + 0.02 or p.left <= 1.0
        assert 0 < p.measured["distribution_error"] < 0.3
        assert set(p.measured["columns"]) == {*swept.laws, "class"}


def test_the_point_of_a_setting_is_the_plan_that_release_takes(swept: Tradeoff, tmp_path) -> None:
    for point in swept.points:
        plan = swept.plan(point)
        assert {c.privacy for c in plan.channels.values()} == {point.setting["privacy"]}
        assert Plan.from_dict(plan.to_dict()).channels == plan.channels
    assert swept.plan({"privacy": 1.0}) == swept.plan(swept.points[1])
    assert swept.plan() == swept.plan({"privacy": 6.0}) == swept.plan(swept.advised)
    release = sf.release("iris", swept.plan(), tmp_path / "r", key=tmp_path / "k")
    width = (
        release.manifest["petal_width"].channel.interval_width(0.95)
        / release.manifest.schema["petal_width"].interval.range
    )
    assert width == pytest.approx(swept.advised["privacy"], rel=1e-3)
    assert swept.find("recommended").setting == swept.advised
    with pytest.raises(
        UsageError, match=r"there is no point privacy = 7; the points are privacy = 0.1; privacy = 1; privacy = 6"
    ):
        swept.plan({"privacy": 7.0})
    with pytest.raises(UsageError, match=r"no point is recommended; name one of privacy = 0.1"):
        replace(swept, advised=None).plan()


def test_all_of_it_is_plain_data_beside_what_was_there(swept: Tradeoff) -> None:
    data = json.loads(json.dumps(swept.to_dict()))
    assert {"choice", "recommended", "why", "advised", "advice", "goal"} <= data.keys()
    point = data["points"][0]
    assert {"accuracy", "naive", "error", "interval", "epsilon", "measured"} <= point.keys()
    assert {"people_found", "broken", "promised", "left", "columns", "distribution_error", "questions"} <= point[
        "measured"
    ].keys()
    assert point["measured"]["questions"][0]["error"] > 0


def test_the_page_marks_the_recommended_point_and_has_a_table_for_each_new_chart(swept: Tradeoff) -> None:
    text = swept.html()
    assert text.count("The figures as a table") == 4  # people found, intervals, one question, calibration
    assert "privacy = 6 (recommended)" in text
    assert "Error of mean(petal_width)" in text
    assert text.count('class="narrow"') == 4


def point(privacy: float, found: float, broken: tuple[str, ...] = (), nearly: tuple[str, ...] = ()) -> Point:
    about = {"share": found, "low": 0.8 * found, "high": 1.2 * found, "chance": 1e-4, "rows": 10_000}
    about |= {"beyond_chance": found, "beyond_chance_interval": [0.8 * found, 1.2 * found]}
    measured = {"people_found": about, "broken": list(broken), "nearly_broken": list(nearly)}
    return Point({"privacy": privacy}, 0.8, 0.01, 0.7, 0.1, privacy, None, tested=100, measured=measured)


def test_the_weakest_noise_that_is_safe_is_recommended() -> None:
    points = [
        point(0.5, 0.3, ("x",)),
        point(1.0, 0.03, ("x",)),
        point(1.5, 0.02, (), ("x",)),
        point(2.0, 0.02),
        point(3.0, 0.01),
    ]
    setting, why = recommend_safe(points, AXES["privacy"], Goal())
    assert setting == {"privacy": 2.0}
    assert "an audit will find no more than 5 % of people (2.0 %, 1.6 to 2.4 %) and break no promise" in why
    assert "not surely better" not in why
    assert "not surely better" in recommend_safe(points, AXES["privacy"], Goal(), 0.8)[1]
    assert recommend_safe(points, AXES["privacy"], Goal(0.025))[0] == {"privacy": 3.0}


def test_a_share_that_one_audit_in_ten_would_find_too_large_is_not_safe() -> None:
    assert recommend_safe([point(1.0, 0.045), point(2.0, 0.025)], AXES["privacy"], Goal())[0] == {"privacy": 2.0}
    setting, why = recommend_safe([point(1.0, 0.3), point(2.0, 0.04)], AXES["privacy"], Goal())
    assert setting == {"privacy": 2.0}
    assert "in most releases, and more in some" in why


def test_a_goal_that_no_setting_reaches_is_told_with_the_reason() -> None:
    setting, why = recommend_safe([point(1.0, 0.3), point(2.0, 0.065)], AXES["privacy"], Goal())
    assert setting is None
    assert "6.5 %, 5.2 to 7.8 % of people are found at privacy = 2, and 5 % may be" in why
    _, why = recommend_safe([point(1.0, 0.3), point(2.0, 0.01, ("x",), ("y",))], AXES["privacy"], Goal())
    assert "attacks break the promise of x, y, or nearly do, at privacy = 2" in why
