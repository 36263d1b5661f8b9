"""A table in which people have several rows: noise, attacks and judging rows follow the person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.attacks import RowGroups
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import read_original
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Table
from sfumato.tradeoffs.setting import blur_for
from sfumato.tradeoffs.sweep import _split


def visits(people: int = 150, each: int = 20) -> pa.Table:
    """People whose weight differs a little from visit to visit, so that their visits together tell it."""
    rng = np.random.default_rng(5)
    weight = np.repeat(rng.uniform(40, 140, people), each) + rng.uniform(-3, 3, people * each)
    ids = np.repeat([f"p{n}" for n in range(people)], each)
    order = rng.permutation(people * each)
    kind = np.where(weight > 90, "heavy", "light")
    return pa.table({"patient": ids[order], "weight": weight[order].round(1), "class": kind[order]})


def test_what_visits_tell_together_breaks_a_promise():
    point = {"privacy": (1.0,)}
    alone = sf.tradeoff(visits().drop(["patient"]), target="class", sweep=point, repeats=1).points[0]
    together = sf.tradeoff(visits(), target="class", identifier="patient", sweep=point, repeats=1).points[0]
    assert (alone.measured["broken"], together.measured["broken"]) == ([], ["weight"])


def test_equal_values_of_a_person_have_the_same_noise():
    table = visits(people=40)
    table = table.set_column(1, "weight", pa.array([70.0 + int(p[1:]) for p in table["patient"].to_pylist()]))
    plan = Plan.propose(table, target="class", identifier="patient", privacy=0.5)
    whole = read_original(table, plan)
    people = np.unique(table["patient"].to_pylist(), return_inverse=True)[1]
    seen = blur_for("gaussian", {"privacy": 0.5}, plan, whole).perturb(whole, SecretKey(bytes(32)), people)
    released = seen["weight"].values
    assert all(len(np.unique(released[people == p])) == 1 for p in range(40))
    assert len(np.unique(released)) > 20


def test_a_persons_rows_are_all_learned_from_or_all_judge():
    people = np.repeat(np.arange(50), 4)
    numbers = Column(Attribute("number", Kind.REAL, Interval(0, 50)), None, people.astype(float))
    split = _split(Table((numbers,)), RowGroups(people, True), 0)
    assert not {*split.train["number"].values} & {*split.test["number"].values}
    assert split.people.tolist() == split.train["number"].values.astype(int).tolist()
