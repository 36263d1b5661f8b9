"""Questions of the owner: a small language, strict in words, and answers that are as far off as they say."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import UsageError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column
from sfumato.tradeoffs.reader_question import Answer, Question, answer_questions, parse_questions

TABLE = pa.table(
    {
        "age": [20, 30, 40, 41, 90] * 40,
        "height in cm": [1.55, 1.6, 1.65, 1.7, 1.8] * 40,
        "region": ["North", "South", "South", "Far East", "North"] * 40,
        "born": ["1950-01-01", "1960-06-30", "1970-01-01", "1980-12-31", "1990-01-01"] * 40,
        "x": [i / 200 + 1e-9 for i in range(200)],
    }
)
SCHEMA = Plan.propose(TABLE).schema


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("mean(age)", 44.2),
        ("median(age)", 40),
        ("quantile(age, 0.8)", 41),
        (" sd( age ) ", np.std([20, 30, 40, 41, 90])),
        ("share(age >= 40)", 0.6),
        ("share(age > 40)", 0.4),
        ("share(age < 40)", 0.4),
        ("share(age <= 40)", 0.6),
        ("share(age = 40)", 0.2),
        ("share(age >= 40.5)", 0.4),
        ("share(region = North)", 0.4),
        ("share(region = Far East)", 0.2),
        ('share("region" = "North")', 0.4),
        ("share(height in cm > 1.65)", 0.4),
        ("share(born >= 1970-01-01)", 0.6),
        ("median(born)", 0.0),
    ],
)
def test_a_question_means_this_figure_of_true_values(text: str, truth: float) -> None:
    question = Question.parse(text, SCHEMA)
    attribute = SCHEMA[question.column]
    cells = TABLE[question.column].to_pylist()
    if not attribute.kind.numeric:
        values = np.array([attribute.labels.index(c) for c in cells], dtype=float)
    elif attribute.kind is Kind.DATE:
        values = np.array([(np.datetime64(c) - np.datetime64("1970-01-01")).astype(int) for c in cells], dtype=float)
    else:
        values = np.array(cells, dtype=float)
    assert question.of_values(attribute, values) == pytest.approx(truth)
    assert math.isnan(question.of_values(attribute, np.full(3, np.nan)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "cannot be read; ask mean(COLUMN), median(COLUMN)"),
        ("max(age)", "cannot be read; ask mean(COLUMN)"),
        ("mean(wage)", "no column 'wage' is released; ask about age, height in cm"),
        ("mean(region)", "region holds labels; ask share(region = LABEL)"),
        ("share(region >= North)", "region holds labels, which have no order; ask with ="),
        ("share(region = West)", "region has no label 'West'; its labels are Far East, North, South"),
        ("share(age)", "a share needs a comparison, such as share(age >= 40)"),
        ("share(age >= old)", "'old' is not a number, which age holds"),
        ("share(born >= 40)", "'40' is not a day such as 2020-01-31, which born holds"),
        ("quantile(age)", "a quantile needs a share between 0 and 1"),
        ("quantile(age, 1.5)", "a quantile needs a share between 0 and 1"),
        ("share(x = 0.5)", "x is a real number, which hardly ever is one value; ask with >= or <="),
    ],
)
def test_a_question_that_cannot_be_read_says_what_can_be_asked(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        Question.parse(text, SCHEMA)
    assert message in str(raised.value)


def test_a_question_is_asked_once() -> None:
    assert [q.text for q in parse_questions(["mean(age)", "sd(age)", "mean(age)"], SCHEMA)] == ["mean(age)", "sd(age)"]


def test_answers_are_as_far_off_as_readers_are_told() -> None:
    import sfumato as sf

    rng = np.random.default_rng(2)
    age = Attribute("age", Kind.INTEGER, Interval(0, 100))
    sex = Attribute("sex", Kind.CATEGORICAL, Categories(("f", "m")))
    truth = {"age": np.clip(rng.normal(45, 15, 2000).round(), 0, 100), "sex": (rng.random(2000) < 0.4).astype(float)}
    laws = {"age": sf.Gaussian(privacy=0.5).on(age), "sex": sf.Substitution(gamma=4).on(sex)}
    draws = []
    for number in range(12):
        key = SecretKey(np.random.default_rng(number).bytes(32))
        draws.append(
            {a.name: Column(a, None, truth[a.name]).through(laws[a.name], key.derive(a.name)) for a in (age, sex)}
        )
    asked = [
        Question("mean(age)", "mean", "age"),
        Question("share(age >= 60)", "share", "age", low=60.0),
        Question("share(sex = m)", "share", "sex", label="m"),
    ]
    for answer in answer_questions(asked, draws, truth):
        # |N(0, σ)| is .8 σ on average; of twelve draws the mean is within four standard errors of that
        assert (
            abs(answer.error - 0.798 * answer.stated_error)
            < 4 * 0.603 * answer.stated_error / math.sqrt(12) + 0.3 * answer.stated_error
        )
        assert answer.error_se >= 0.6 * answer.stated_error / math.sqrt(12)
        assert answer.to_dict()["question"] == answer.question.text


def test_a_column_released_as_it_is_answers_exactly() -> None:
    age = Attribute("age", Kind.INTEGER, Interval(0, 100))
    values = np.arange(50.0)
    (answer,) = answer_questions(
        [Question("mean(age)", "mean", "age")], [{"age": Column(age, None, values)}], {"age": values}
    )
    assert isinstance(answer, Answer)
    assert (answer.truth, answer.error, answer.error_se, answer.stated_error) == (24.5, 0.0, 0.0, 0.0)
