"""A plan without a named strength survives its own audit, at the least noise that does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.advice import Goal, advise
from sfumato.advice.advisor import read_rehearsal
from sfumato.advice.costs import order_by_cost, shared_bits
from sfumato.advice.search import round_down, round_up
from sfumato.attacks import View
from sfumato.auditing import find_people
from sfumato.errors import UsageError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import read_original
from sfumato.table import Column


def people_found(table, plan, key):
    """Look for people in a release of the plan under a key of its own."""
    truth = read_original(table, plan)
    laws = plan.bind()
    columns = tuple(
        c.through(laws[c.name], key.derive(c.name)) if c.name in laws else c
        for c in truth.all_columns
        if plan.schema[c.name].released
    )
    return find_people(View(columns), {c.name: c.values for c in truth.all_columns}, targets=1000)


def broken_promises(rehearsal, plan):
    """Name the columns of which quick attacks leave less than is promised."""
    return [p.attribute for p in rehearsal.promises(plan) if p.verdict == "broken"]


@pytest.fixture(scope="module")
def wide():
    """Four hundred people with sixteen columns: any release of all of them would need noise that drowns them."""
    rng = np.random.default_rng(3)
    columns = {f"x{i:02}": rng.normal(50, 15, 400).round(1) for i in range(16)}
    columns["class"] = np.where(columns["x07"] + rng.normal(0, 5, 400) > 50, "yes", "no")
    return pa.table(columns)


@pytest.mark.parametrize("table", ["iris", "breast_cancer_wisconsin", "car_evaluation"])
def test_a_plan_without_a_strength_lets_few_people_be_found_whatever_the_key(table):
    plan = sf.plan(table)
    for seed in range(3):
        people = people_found(table, plan, SecretKey(np.random.default_rng(seed).bytes(32)))
        assert people.beyond_chance <= 0.05


def test_the_usual_strength_would_not_have_done():
    fixed = sf.plan("iris", privacy=0.5)
    assert people_found("iris", fixed, SecretKey(bytes(32))).beyond_chance > 0.05


def test_a_harder_goal_costs_more_columns_or_more_noise(wide):
    easy, hard = (sf.plan(wide, goal=g) for g in ("found=60%", "found=4%"))
    assert len(easy.channels) > len(hard.channels)


def test_an_easy_goal_keeps_the_usual_strength_and_no_less():
    lone = pa.table({"x": np.random.default_rng(2).uniform(0, 100, 2000).round(2)})
    assert sf.plan(lone, goal="found=90%").channels["x"].privacy == 0.5


def test_noise_is_raised_until_promises_hold():
    """On iris at the usual strength other columns tell petals better than their noise promises."""
    plan = Plan.propose("iris")
    rehearsal = read_rehearsal(plan, "iris")
    assert broken_promises(rehearsal, plan)
    assert not broken_promises(rehearsal, sf.plan("iris", goal="found=90%"))


def test_a_named_strength_is_followed_and_a_goal_beside_it_is_refused():
    assert sf.plan("iris", noise="laplace", privacy=0.3).channels["petal_width"].privacy == 0.3
    for named in ({"privacy": 0.5}, {"method": "leaf-swap"}, {"options": {"sigma": 1.0}}):
        with pytest.raises(UsageError, match="goal= chooses the strength"):
            sf.plan("iris", goal="found=5%", **named)


def test_the_plan_says_what_it_was_chosen_by_and_what_it_costs():
    note = next(n for n in sf.plan("iris").warnings if n.code == "SF111")
    for words in ("at most 5 % of people", "in a rehearsal", "petal_length ±", "a tree loses"):
        assert words in note


def test_columns_that_cost_least_are_withheld_where_all_would_need_too_much_noise(wide):
    plan = sf.plan(wide)
    withheld = [a.name for a in plan.schema if not a.released]
    assert withheld
    assert "x07" not in withheld  # the one that tells the class
    assert any(n.code == "SF112" and withheld[0] in n for n in plan.warnings)
    assert people_found(wide, plan, SecretKey(bytes(range(32)))).beyond_chance <= 0.05


def test_the_column_that_tells_the_class_is_the_last_to_be_withheld(wide):
    plan = Plan.propose(wide)
    assert order_by_cost(plan, read_rehearsal(plan, wide))[-1] == "x07"


@pytest.mark.parametrize("noise", ["uniform", "laplace", "square-wave", "substitution", "intervals", "projective"])
def test_every_law_takes_a_strength_or_says_that_the_goal_is_out_of_reach(noise):
    table = "car_evaluation" if noise == "projective" else "iris"
    plan = sf.plan(table, noise=noise)
    plan.bind()
    people = people_found(table, plan, SecretKey(bytes(32)))
    assert people.beyond_chance <= 0.05 or any(n.code == "SF113" for n in plan.warnings)


def test_equal_seeds_give_equal_plans():
    proposal = Plan.propose("iris")
    assert advise(proposal, "iris", seed=4) == advise(proposal, "iris", seed=4)


def test_a_large_table_is_rehearsed_on_a_sample_and_counted_whole():
    rehearsal = read_rehearsal(Plan.propose("iris"), "iris", max_rows=60)
    assert (rehearsal.truth.rows, rehearsal.rows) == (60, 150)


def test_shared_bits_by_hand():
    labels = ("a", "b", "c", "d")
    codes = np.tile(np.arange(4), 5000)
    column = Column.of_codes("x", labels, codes)
    assert shared_bits(column, column) == pytest.approx(2.0, abs=0.001)
    shuffled = Column.of_codes("y", labels, np.random.default_rng(1).permutation(codes))
    assert shared_bits(column, shuffled) == pytest.approx(0.0, abs=0.002)


@pytest.mark.parametrize(("text", "found"), [("found=5%", 0.05), ("found = 0.5%", 0.005), ("found=0.1", 0.1)])
def test_goals_are_read_from_words(text, found):
    assert Goal.parse(text).found == pytest.approx(found)


@pytest.mark.parametrize("text", ["5%", "found=", "found=x", "lost=5%", "found=0%", "found=100%", "found=-1"])
def test_other_words_are_refused_with_the_next_step(text):
    with pytest.raises(UsageError, match=r"goal: .*write found=5%"):
        Goal.parse(text)


@pytest.mark.parametrize(("value", "rounded"), [(0.5, 0.5), (0.501, 0.51), (2.388, 2.4), (12.1, 13.0)])
def test_strengths_are_rounded_up_to_two_digits(value, rounded):
    assert round_up(value) == pytest.approx(rounded)


@pytest.mark.parametrize(("value", "rounded"), [(0.5, 0.5), (0.509, 0.5), (2.388, 2.3), (12_950, 12_000)])
def test_promises_are_rounded_down_to_two_digits(value, rounded):
    assert round_down(value) == pytest.approx(rounded)
