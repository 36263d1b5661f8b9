"""The verdict on a release: whether to publish it, with the worst fact and what to do about it.

The rule looks at what attacks learn, whatever was promised, so that more noise can only improve the verdict:

do not publish     more people are found beyond chance than the limit (5 %); or a column that was to be hidden is given away (nine
                   tenths of what was unknown); or rows, or the whole table, are released as they are
publish with care  the interval of people found reaches beyond the limit; or a hidden column is half given away; or a promise is
                   broken; or something was not measured, or was released before with other noise
fit to publish     none of these
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.auditing.people import PeopleFound
from sfumato.auditing.promises import BROKEN, CLEAR, UNMEASURED, Promise
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.text import format_number, join_names


class Decision(StrEnum):
    """Whether to publish."""

    DO_NOT_PUBLISH = "do-not-publish"
    WITH_CARE = "with-care"
    FIT = "fit"

    @property
    def in_words(self) -> str:
        """The decision as a report prints it."""
        return {"do-not-publish": "Do not publish", "with-care": "Publish with care", "fit": "Fit to publish"}[self]

    @property
    def severity(self) -> int:
        """0 for fit, 1 for with care, 2 for do not publish."""
        return [Decision.FIT, Decision.WITH_CARE, Decision.DO_NOT_PUBLISH].index(self)


@dataclass(frozen=True)
class Reason:
    """One fact that speaks against publishing, how much, and what to do about it."""

    decision: Decision
    fact: str
    remedy: Note


@dataclass(frozen=True)
class Limits:
    """How much may be learned of people before a release is not fit to be published."""

    people_found: float = 0.05  # share of people found beyond chance
    given_away: float = 0.9  # share of the unknown in a hidden column from which it counts as given away
    half_given_away: float = 0.5  # the same, from which care is needed


LIMITS = Limits()


@dataclass(frozen=True)
class Verdict:
    """The decision on a release, its risk from 0 to 100, and all reasons, the worst first."""

    people: PeopleFound
    reasons: tuple[Reason, ...] = ()
    decided: Decision | None = None
    """The decision, where the figures here are rounded and can no longer tell."""

    @property
    def decision(self) -> Decision:
        """The gravest that a reason asks for."""
        if self.decided is not None:
            return self.decided
        return max((r.decision for r in self.reasons), key=lambda d: d.severity, default=Decision.FIT)

    @property
    def risk(self) -> float:
        """People in a hundred who are found beyond chance."""
        return round(100 * self.people.beyond_chance, 1)

    @property
    def worst(self) -> Reason:
        """The fact to read first, with its remedy."""
        return self.reasons[0] if self.reasons else Reason(Decision.FIT, self.people.in_words, FIT_REMEDY)

    @property
    def in_words(self) -> str:
        """The first line of a report."""
        return f"{self.decision.in_words}: {self.worst.fact} {self.worst.remedy}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        worst = self.worst
        head = {"verdict": self.decision.in_words, "risk": self.risk, "fact": worst.fact, "remedy": worst.remedy}
        more = [{"decision": str(r.decision), "fact": r.fact, "code": r.remedy.code} for r in self.reasons]
        return head | {"code": worst.remedy.code, "in_words": self.in_words, "reasons": more}


FIT_REMEDY = Note("SF285", "Nothing needs to be done; file the report with the release.")


def decide(
    people: PeopleFound,
    promises: Sequence[Promise],
    *,
    limits: Limits = LIMITS,
    leading: Sequence[str] = (),
    cautions: Iterable[Reason] = (),
) -> Verdict:
    """Decide whether a release may be published.

    Parameters
    ----------
    people : PeopleFound
        How many people are found in it.
    promises : sequence of Promise
        What attacks learn of each column.
    limits : Limits
        How much may be learned.
    leading : sequence of str
        The columns that point at people most, for the remedy.
    cautions : iterable of Reason
        What else speaks against publishing.

    Returns
    -------
    Verdict
        The decision, the risk and the reasons.

    Examples
    --------
    >>> verdict = decide(PeopleFound(0.27, 0.23, 0.31, 0.00003, 32_561, 500, 15), ())
    >>> verdict.decision.in_words, verdict.risk
    ('Do not publish', 27.0)
    """
    reasons = [*_judge_people(people, limits, leading), *cautions]
    hidden = [p for p in promises if p.verdict != CLEAR]
    if promises and not hidden:
        fact = "Every column is released as it is: the risk is 100 %."
        reasons.append(Reason(Decision.DO_NOT_PUBLISH, fact, Note("SF401", "Release it with noise.")))
    for promise in sorted(hidden, key=lambda p: -p.gain):
        reasons += _judge_column(promise, limits)
    if unmeasured := [p.attribute for p in hidden if p.verdict == UNMEASURED]:
        fact = f"{join_names(unmeasured)}: no attack could be measured, so nothing is known of it."
        reasons.append(Reason(Decision.WITH_CARE, fact, Note("SF403", "Do not count it as kept.")))
    return Verdict(people, tuple(sorted(reasons, key=lambda r: -r.decision.severity)))


def _judge_people(people: PeopleFound, limits: Limits, leading: Sequence[str]) -> list[Reason]:
    which = f" ({join_names(leading, 3)} point at people most)" if leading else ""
    remedy = Note("SF281", f"Ask for more privacy, or withhold columns{which}.")
    if people.beyond_chance > limits.people_found:
        return [Reason(Decision.DO_NOT_PUBLISH, people.in_words, remedy)]
    if people.interval[1] > limits.people_found:
        return [Reason(Decision.WITH_CARE, people.in_words, remedy)]
    return []


def _judge_column(promise: Promise, limits: Limits) -> list[Reason]:
    guessed = f"{promise.attribute}:{promise.guess_in_words}"
    remedy = Note("SF282", f"Ask for more privacy for {promise.attribute}, or withhold it.")
    if promise.gain >= limits.given_away:
        return [Reason(Decision.DO_NOT_PUBLISH, guessed, remedy)]
    if promise.verdict == BROKEN:
        return [Reason(Decision.WITH_CARE, promise.in_words, promise.remedy)]
    return [Reason(Decision.WITH_CARE, guessed, remedy)] if promise.gain >= limits.half_given_away else []


@dataclass(frozen=True)
class Condition:
    """What a pipeline must not let pass: more of a figure than a limit.

    Examples
    --------
    >>> Condition.parse("found=5%")
    Condition(figure='found', limit=5.0)
    """

    figure: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition such as ``broken``, ``found=5%``, ``risk=20``, ``care`` or ``do-not-publish``."""
        least = {"broken": 0.0, "care": 0.0, "do-not-publish": 1.0}
        if text in least:
            return cls(text, least[text])
        name, _, number = text.partition("=")
        try:
            limit = float(number.removesuffix("%"))
        except ValueError:
            limit = math.nan
        if name not in ("found", "risk") or not 0 <= limit <= 100:
            raise UsageError(f"{text!r} is no condition; use broken, care, do-not-publish, found=5% or risk=20")
        return cls(name, limit)

    def failure(self, figures: Mapping[str, tuple[float, str]]) -> str:
        """Return a sentence where the figure is above the limit; empty where it is not.

        Each figure comes with its sentence, in which {value} and {limit} are filled in.
        """
        value, words = figures[self.figure]
        if value <= self.limit:
            return ""
        told = words.format(value=format_number(value, 3), limit=format_number(self.limit, 3))
        return f"{self.figure}: {told}"
