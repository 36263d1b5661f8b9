"""A question that a reader will put to the release: mean(age), share(region = North). What the answer is, and how far off."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.reconstruction import Distribution, Figure, reconstruct
from sfumato.schema import Attribute, Kind, Schema, day_number
from sfumato.table import Column
from sfumato.text import join_names

ALLOWED = (
    "mean(COLUMN), median(COLUMN), sd(COLUMN), quantile(COLUMN, 0.9), share(COLUMN >= VALUE) with >=, <=, >, < or ="
)
FIGURES = ("mean", "median", "sd", "quantile", "share")


@dataclass(frozen=True)
class Question:
    """A figure of one column.

    Parameters
    ----------
    text : str
        The question as it was asked.
    figure : str
        mean, median, sd, quantile or share.
    column : str
        The column that it is about.
    level : float
        The share of values that a quantile is not to exceed.
    low, high : float
        The values that a share counts, both ends included.
    label : str, optional
        The label that a share counts.

    Examples
    --------
    >>> import sfumato as sf
    >>> schema = sf.plan("iris", privacy=1.0).schema
    >>> Question.parse("share(petal_width >= 1.5)", schema).low
    1.5
    """

    text: str
    figure: str
    column: str
    level: float = 0.5
    low: float = -math.inf
    high: float = math.inf
    label: str | None = None

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Question:
        """Read a question about a released column; a UsageError says what can be asked."""
        call = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text, re.DOTALL)
        if call is None or call[1] not in FIGURES:
            raise UsageError(f"question {text!r} cannot be read; ask {ALLOWED}")
        figure, inside = call[1], call[2]
        if figure == "share":
            return _parse_share(text, inside, schema)
        level = 0.5
        if figure == "quantile":
            inside, _, asked = inside.rpartition(",")
            level = _read_level(text, asked)
        attribute = _find_column(text, inside, schema)
        if not attribute.kind.numeric:
            raise UsageError(f"question {text!r}: {attribute.name} holds labels; ask share({attribute.name} = LABEL)")
        return cls(text.strip(), figure, attribute.name, level)

    def ask(self, column: Column, distribution: Distribution | None = None) -> Figure:
        """Return the figure of a released column: reconstructed, or of its values where these are true."""
        if column.channel is None:
            truth = self.of_values(column.attribute, column.values)
            return Figure(truth, 0.0)
        told = reconstruct(column) if distribution is None else distribution
        if self.label is not None:
            place = column.attribute.labels.index(self.label)
            return Figure(*(float(a[place]) for a in (told.mass, told.standard_error, told.lower, told.upper)))
        if self.figure == "share":
            return told.share(self.low, self.high)
        if self.figure in ("median", "quantile"):
            return told.quantile(self.level)
        return told.mean() if self.figure == "mean" else told.sd()

    def of_values(self, attribute: Attribute, values: FloatArray) -> float:
        """Return the figure of true values; NaN where none is known."""
        known = values[~np.isnan(values)]
        if not len(known):
            return math.nan
        if self.label is not None:
            return float(np.mean(known == attribute.labels.index(self.label)))
        known = known if attribute.ruler is None else np.asarray(attribute.ruler.to_values(known))
        if self.figure == "share":
            rounding = 1e-9 * max([1.0, *(abs(end) for end in (self.low, self.high) if math.isfinite(end))])
            return float(np.mean((known >= self.low - rounding) & (known <= self.high + rounding)))
        if self.figure in ("median", "quantile"):
            return float(np.quantile(known, self.level, method="inverted_cdf"))
        return float(known.mean() if self.figure == "mean" else known.std())


def parse_questions(texts: Sequence[str], schema: Schema) -> tuple[Question, ...]:
    """Read questions, each once."""
    return tuple(Question.parse(text, schema) for text in dict.fromkeys(texts))


def _parse_share(text: str, inside: str, schema: Schema) -> Question:
    parts = re.fullmatch(r'\s*("[^"]*"|[^<>=]*?)\s*(>=|<=|>|<|=)\s*(.*?)\s*', inside, re.DOTALL)
    if parts is None:
        raise UsageError(f"question {text!r}: a share needs a comparison, such as share(age >= 40); ask {ALLOWED}")
    attribute = _find_column(text, parts[1], schema)
    sign, value = parts[2], parts[3].strip('"')
    if not attribute.kind.numeric:
        if sign != "=":
            raise UsageError(f"question {text!r}: {attribute.name} holds labels, which have no order; ask with =")
        if value not in attribute.labels:
            raise UsageError(
                f"question {text!r}: {attribute.name} has no label {value!r}; its labels are {join_names(attribute.labels, 8)}"
            )
        return Question(text.strip(), "share", attribute.name, label=value)
    low, high = _range_of(text, attribute, sign, _read_value(text, attribute, value))
    return Question(text.strip(), "share", attribute.name, low=low, high=high)


def _range_of(text: str, attribute: Attribute, sign: str, place: float) -> tuple[float, float]:
    """Return the least and the greatest value that a comparison counts, both on the lattice of the column where it has one."""
    step = 1.0 if attribute.kind in (Kind.INTEGER, Kind.DATE) else attribute.resolution
    if step is None:
        if sign == "=":
            raise UsageError(
                f"question {text!r}: {attribute.name} is a real number, which hardly ever is one value; ask with >= or <="
            )
        return (place, math.inf) if sign in (">", ">=") else (-math.inf, place)
    steps = place / step
    nearest = round(steps)
    exact = abs(steps - nearest) < 1e-6
    above = nearest + (sign == ">") if exact else math.ceil(steps)
    below = nearest - (sign == "<") if exact else math.floor(steps)
    if sign == "=":
        return place, place
    return (above * step, math.inf) if sign in (">", ">=") else (-math.inf, below * step)


def _find_column(text: str, name: str, schema: Schema) -> Attribute:
    name = name.strip().strip('"')
    released = {a.name: a for a in schema if a.released and a.domain is not None}
    if name not in released:
        raise UsageError(
            f"question {text!r}: no column {name!r} is released; ask about {join_names(released, 20)}, as {ALLOWED}"
        )
    return released[name]


def _read_level(text: str, asked: str) -> float:
    try:
        level = float(asked)
    except ValueError:
        level = math.nan
    if not 0 < level < 1:
        raise UsageError(f"question {text!r}: a quantile needs a share between 0 and 1, as in quantile(age, 0.9)")
    return level


def _read_value(text: str, attribute: Attribute, value: str) -> float:
    try:
        place = day_number(value) if attribute.kind is Kind.DATE else float(value)
    except (ValueError, TypeError, UsageError):
        place = math.nan
    if not math.isfinite(place):
        kind = "a day such as 2020-01-31" if attribute.kind is Kind.DATE else "a number"
        raise UsageError(f"question {text!r}: {value!r} is not {kind}, which {attribute.name} holds")
    return place


@dataclass(frozen=True)
class Answer:
    """How far the answers to a question are from the truth, over some draws of the noise.

    Parameters
    ----------
    question : Question
        What was asked.
    truth : float
        The figure of the true values.
    estimates : tuple of Figure
        The answer in each draw.
    """

    question: Question
    truth: float
    estimates: tuple[Figure, ...]

    @property
    def error(self) -> float:
        """The mean of |estimate − truth|."""
        return float(np.mean([abs(float(e) - self.truth) for e in self.estimates]))

    @property
    def stated_error(self) -> float:
        """The mean of the standard errors that a reader is told."""
        return float(np.mean([e.se for e in self.estimates]))

    @property
    def error_se(self) -> float:
        """The standard error of `error`: the sd of |N(0, σ)| is σ √(1 − 2/π), and few draws may agree by luck."""
        errors = [abs(float(e) - self.truth) for e in self.estimates]
        spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
        return max(spread, self.stated_error * math.sqrt(1 - 2 / math.pi)) / math.sqrt(len(errors))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        about: Mapping[str, float] = self.estimates[0].to_dict()
        return {
            "question": self.question.text,
            "column": self.question.column,
            "truth": self.truth,
            "error": self.error,
            "error_se": self.error_se,
            "stated_se": self.stated_error,
            "answer": dict(about),
        }


def answer_questions(
    questions: Sequence[Question], draws: Sequence[Mapping[str, Column]], truth: Mapping[str, FloatArray]
) -> tuple[Answer, ...]:
    """Return the answers of some draws of a release, each a mapping of its columns by name; nothing where no value is known."""
    told: dict[tuple[int, str], Distribution] = {}

    def ask(question: Question, draw: int) -> Figure:
        column = draws[draw][question.column]
        if column.channel is not None and (draw, column.name) not in told:
            told[draw, column.name] = reconstruct(column)
        return question.ask(column, told.get((draw, column.name)))

    out = []
    for question in questions:
        if question.column not in draws[0]:
            continue
        known = question.of_values(draws[0][question.column].attribute, truth[question.column])
        if not math.isnan(known):
            out.append(Answer(question, known, tuple(ask(question, i) for i in range(len(draws)))))
    return tuple(out)
