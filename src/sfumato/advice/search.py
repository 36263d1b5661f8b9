"""The search for a plan that reaches a goal: how many columns, how much noise on all of them, and more on some."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sfumato.advice.costs import order_by_cost
from sfumato.advice.goal import Goal, Share
from sfumato.advice.rehearsal import Rehearsal
from sfumato.auditing import BROKEN, LIMITS, Promise
from sfumato.channels import channel_class
from sfumato.errors import UsageError
from sfumato.plans import Plan, channel_for, noise_for, with_consent
from sfumato.schema import Consent


@dataclass(frozen=True, eq=False)
class Search:
    """The search for a plan that reaches a goal, under one law.

    Parameters
    ----------
    plan : Plan
        The proposal at the usual strength.
    law : str
        The law of its noise.
    goal : Goal
        How many people may be found.
    rehearsal : Rehearsal
        Where plans are tried.
    """

    plan: Plan
    law: str
    goal: Goal
    rehearsal: Rehearsal

    @property
    def people(self) -> int:
        """How many people an audit looks for."""
        max_people = 500
        return min(self.rehearsal.rows, max_people)

    def is_met(self, share: Share, *, surely: bool, confidence: float = 0.98) -> bool:
        """Return whether an audit will find few enough people, or `surely` so that it confirms the goal."""
        chance = 1 / self.rehearsal.rows
        return self.goal.is_met_by(share, self.people, chance, surely=surely, confidence=confidence)

    def choose(self) -> tuple[Plan, list[str], float]:
        """Return the plan with the fewest columns withheld at which some strength reaches the goal, those columns, and the strength.

        In a table of few rows a class that is released as it is may find too many for an audit to confirm the goal. Then it is
        to find no more than the goal, at least in nine of ten releases, or in every second.
        """
        # Beyond six times the usual noise a column drowns, and doing without some columns costs less.
        ladder = allowed_times(self.plan, self.law, step=1.08, most=6.0)
        order = order_by_cost(self.plan, self.rehearsal)

        tried: dict[tuple[int, float], Share] = {}

        def is_met(withheld: int, times: float, *, surely: bool, confidence: float) -> bool:
            if (withheld, times) not in tried:
                plan = with_times(_without(self.plan, order[:withheld]), self.law, times)
                tried[withheld, times] = self.rehearsal.people_found(plan)
            return self.is_met(tried[withheld, times], surely=surely, confidence=confidence)

        for wanted in (
            partial(is_met, surely=s, confidence=c)
            for s, c in ((True, 0.98), (False, 0.98), (False, 0.9), (False, 0.5))
        ):
            withheld = 0 if wanted(0, ladder[-1]) else _first(len(order), lambda n: wanted(n, ladder[-1]))  # noqa: B023
            if withheld < len(order):
                rung = _first(len(ladder), lambda i: wanted(withheld, ladder[i]))  # noqa: B023
                return _without(self.plan, order[:withheld]), order[:withheld], ladder[min(rung, len(ladder) - 1)]
        return self.plan, [], ladder[-1]

    def raise_given_away(self, plan: Plan, times: float) -> Plan:
        """Return the plan with more noise on columns that are guessed right far too often at the strength of the others.

        A column that no noise hides, because another one tells it, keeps the strength of the others.
        """
        step, max_times = 1.5, 30.0  # a label among two needs far more than others
        most = allowed_times(plan, self.law, step=step, most=max_times)[-1]
        each = dict.fromkeys(plan.channels, times)
        stuck: set[str] = set()
        tried, draw, passed = plan, 0, 0
        while passed < 2:  # draws of the noise in which no column is given away
            tried = with_times(plan, self.law, each)
            weak = [
                p.attribute for p in self.rehearsal.promises(tried, draw) if p.attribute in each and gives_much_away(p)
            ]
            weak = [n for n in weak if n not in stuck]
            stuck |= {n for n in weak if each[n] >= most}
            each |= {n: times if n in stuck else min(step * each[n], most) for n in weak}
            draw, passed = 1 - draw, 0 if weak else passed + 1
        return tried


def judge_strictly(promise: Promise) -> Promise:
    """Return the promise under narrower limits than those of an audit, so that an audit of another draw agrees."""
    lone = (promise.left, promise.left)
    return replace(promise, left_interval=lone, min_unbroken=0.75, min_own_law=0.97, min_gain=0.07)


def gives_much_away(promise: Promise) -> bool:
    """Return whether an audit may count the column as half given away, or as given away by its own released value."""
    nearly = 0.9
    if promise.unmeasured:
        return False
    strict = judge_strictly(promise)
    by_itself = strict.own_law < strict.min_unbroken * strict.reference and strict.own_gain >= strict.min_gain
    return promise.gain >= nearly * LIMITS.half_given_away or (by_itself and strict.verdict == BROKEN)


def with_times(plan: Plan, law: str, times: float | Mapping[str, float]) -> Plan:
    """Return the plan with this many times the law's usual strength on every column that is modified, or on each its own.

    γ − 1 is what a substitution tells, so it is divided where an interval is multiplied.
    """
    ((parameter, usual),) = channel_class(law).default.items()
    each = times if isinstance(times, Mapping) else dict.fromkeys(plan.channels, times)
    channels = {}
    for name in plan.channels:
        value = usual * each[name] if parameter == "privacy" else 1 + (usual - 1) / each[name]
        noise, companion = noise_for(law, None, {parameter: round_up(value) if parameter == "privacy" else value})
        channels[name] = channel_for(noise, companion, plan.schema[name])[0]
    return replace(plan, channels=channels)


def round_up(value: float) -> float:
    """Round to two significant digits, upwards."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / step - 1e-9) * step, 12)


def round_down(value: float) -> float:
    """Round to two significant digits, downwards."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.floor(value / step + 1e-9) * step, 12)


def allowed_times(plan: Plan, law: str, *, step: float, most: float) -> list[float]:
    """Return the strengths to choose from, as multiples of the usual one: those up to `most` that the law allows on every column."""
    steps = round(math.log(most) / math.log(step))
    ladder = [1.0]
    for times in (most ** (i / steps) for i in range(1, steps + 1)):
        try:
            with_times(plan, law, times).bind()
        except UsageError:
            break
        ladder.append(times)
    return ladder


def _without(plan: Plan, names: Sequence[str]) -> Plan:
    for name in names:
        plan = with_consent(plan, name, Consent.WITHHOLD)
    return plan


def _first(size: int, holds: Callable[[int], bool]) -> int:
    """Return the first of the places 0 … size − 1 from which on a condition holds, by halving; `size` where there is none."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
