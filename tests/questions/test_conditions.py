"""Conditions in SQL's logic of three values, and the cells on which they are constant."""

import math
import pickle

import numpy as np
import pytest

import sfumato as sf
from sfumato.questions.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Both,
    BucketKey,
    CaseKey,
    Cells,
    Either,
    InSet,
    IsMissing,
    LabelKey,
    Not,
    NumberKey,
)
from sfumato.questions.functions import NumberSet, Piece
from sfumato.questions.layout import Cut, lay_out_figure, merge_alike
from sfumato.questions.query import Asked, Statistic
from sfumato.questions.reply import Together
from sfumato.questions.sql import parse_question
from sfumato.table import Column

OLD = InSet("age", NumberSet((Piece(low=40.0),)))
AGES = {"age": np.array([39.0, 40.0, math.nan])}


def test_a_missing_value_is_neither_old_nor_not_old():
    assert OLD.truth(AGES).tolist() == [FALSE, TRUE, UNKNOWN]
    assert Not(OLD).truth(AGES).tolist() == [TRUE, FALSE, UNKNOWN]
    assert Either(OLD, IsMissing("age")).truth(AGES).tolist() == [FALSE, TRUE, TRUE]
    assert Both(OLD, Not(IsMissing("age"))).truth(AGES).tolist() == [FALSE, TRUE, FALSE]


@pytest.mark.parametrize(
    ("ends", "cells"), [((), 2), ((40.0,), 4), ((40.0, 50.0), 6), ((40.0, math.nextafter(40.0, 50.0)), 5)]
)
def test_cells_lie_between_the_ends_and_at_them(ends, cells):
    made = Cells.of_numbers(ends)
    assert len(made.values) == cells
    assert len(made.pieces) == cells - 1
    for value, piece in zip(made.values, made.pieces, strict=False):
        assert [p for p in made.pieces if p.holds(np.array(value))] == [piece]


@pytest.mark.parametrize("width", [10.0, 0.1, 7.0, 1 / 3])
def test_buckets_begin_where_a_division_says(width):
    key = BucketKey("x", width, True, -20, 20)
    values = np.concatenate([np.arange(-15, 16) * width, [e for _, ends in key.ends() for e in ends]])
    assert [key.groups()[p] for p in key.places({"x": values})] == [math.floor(v / width) * width for v in values]


def test_a_case_has_one_group_per_value_and_one_for_null():
    key = CaseKey(((OLD, "old"), (Not(OLD), "young")))
    assert [key.groups()[p] for p in key.places(AGES)] == ["young", "old", None]
    assert CaseKey(((OLD, True),), False).groups() == (True, False, None)


def test_numbers_that_are_not_named_are_in_the_last_group():
    assert NumberKey("age", (39.0, 41.0)).places(AGES).tolist() == [0, 2, 2]
    assert LabelKey("age", ("a",)).places({"age": np.array([0.0, math.nan])}).tolist() == [0, 1]


def test_cells_that_no_condition_tells_apart_are_one_class():
    assert merge_alike(np.array([[1, 2], [1, 2], [0, 0]])).tolist() == [1, 1, 0]
    assert merge_alike(np.array([[1], [1], [1]]), apart=True).tolist() == [0, 0, 1]


def test_one_of_fifty_labels_is_asked_of_in_two_classes_and_two_codes():
    many = sf.Attribute("many", sf.Kind.CATEGORICAL, sf.Categories(tuple(map(str, range(50)))))
    column = Column(many, sf.Substitution(gamma=9.0).on(many), np.empty(0))
    question = parse_question("SELECT COUNT_IF(many = '7') AS n FROM release", {"many": column})
    layout = lay_out_figure(question.figures[0], question.where, (), {"many": column})
    assert layout.count.shape == (3,)  # the label, any other, and the missing value, of which there may be none
    assert len(layout.count.axes) == 1


def test_what_is_counted_travels_to_a_worker():
    age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 80))
    column = Column(age, sf.Gaussian(privacy=0.5).on(age), np.empty(0))
    layout = lay_out_figure(Asked("m", Statistic.VARIANCE, ("age",)), IsMissing("age"), (), {"age": column})
    again = pickle.loads(pickle.dumps(Together((layout.count,))))
    assert again.counts[0].monomials == layout.count.monomials


def test_a_cut_has_one_axis_per_column():
    age = Column(sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 80)), None, np.empty(0))
    flag = Column(sf.Attribute("flag", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes"))), None, np.empty(0))
    cut = Cut.of({"age": age, "flag": flag}, [LabelKey("flag", ("no", "yes"))], [OLD], [])
    assert [c.name for c in cut.columns] == ["flag", "age"]
    assert cut.arrays[0].shape == (3, 3)  # old, not old, missing
