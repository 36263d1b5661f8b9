"""The weakest noise at which few enough people are found again; where all columns together would need too much, fewer columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sfumato.advice.costs import describe_costs
from sfumato.advice.goal import Goal, Share
from sfumato.advice.rehearsal import Rehearsal
from sfumato.advice.strengths import allowed_times, round_down, with_times
from sfumato.advice.usefulness import order_by_cost
from sfumato.auditing import BROKEN, LIMITS, Promise, read_groups
from sfumato.engines import Engine, Local
from sfumato.findings import Note
from sfumato.plans import DEFAULT_LAW, Plan, with_consent
from sfumato.reconstruction import wilson
from sfumato.releases import count_original, gather_sample
from sfumato.schema import Consent
from sfumato.table import require_original
from sfumato.text import format_number, join_names


def advise(
    plan: Plan,
    table: Any,
    *,
    noise: str | None = None,
    goal: Goal | None = None,
    encoding: str | None = None,
    seed: int = 0,
) -> Plan:
    """Choose the strength of a plan's noise by attacks on a rehearsal of it.

    Parameters
    ----------
    plan : Plan
        A proposal: columns, domains, consents.
    table : path, bundled name, dataframe or Arrow table
        The original.
    noise : str, optional
        The law, as in `sfumato.plan`.
    goal : Goal, optional
        How many people may be found again; 5 % by default.
    encoding : str, optional
        Encoding of a CSV file.
    seed : int
        Equal seeds give equal plans.

    Returns
    -------
    Plan
        The same columns with the weakest noise that reaches the goal, shuffled where neighbouring rows are alike. A column that
        others tell more of than its noise promises has a smaller promise. Columns that had to be withheld, and what the plan costs,
        stand in its remarks.

    Examples
    --------
    >>> from sfumato.plans import Plan
    >>> plan = advise(Plan.propose("iris"), "iris")
    >>> plan.channels["petal_width"].privacy > 0.5
    True
    """
    rehearsal = read_rehearsal(plan, table, encoding=encoding, seed=seed)
    search = Search(_with_shuffle(plan, rehearsal), noise or DEFAULT_LAW, goal or Goal(), rehearsal)
    kept, withheld, times = search.choose()
    chosen = search.raise_given_away(kept, times)
    promised = with_promises(chosen, rehearsal)
    remarks = search.explain(promised, withheld)
    return replace(promised, remarks=(*plan.remarks, *remarks))


def read_rehearsal(
    plan: Plan, table: Any, *, encoding: str | None = None, seed: int = 0, max_rows: int = 200_000
) -> Rehearsal:
    """Read rows of the original for a rehearsal: all of a small table, a sample of a large one.

    Among fewer rows more people are found, so a sample errs towards more noise.
    """
    engine: Engine = Local(gathers=False)
    sample = gather_sample(count_original(table, plan, engine, encoding=encoding), max_rows)
    named = plan.schema.identifier
    groups = None if named is None else read_groups(table, named.name, sample.rows, encoding, shared=True)
    return Rehearsal(require_original(sample.table, "advice"), sample.of, seed, groups)


def _with_shuffle(plan: Plan, rehearsal: Rehearsal) -> Plan:
    """Return the plan with its rows shuffled where their order tells something, also of a table whose columns are known."""
    if plan.shuffle or not (alike := rehearsal.columns_in_order(plan)):
        return plan
    return replace(plan, shuffle=True, ordered=tuple(n for n in plan.channels if n in {*alike, *plan.ordered}))


def with_promises(plan: Plan, rehearsal: Rehearsal) -> Plan:
    """Return the plan with a smaller promise for each column of which attacks leave less than its noise promises.

    What they leave is measured in two draws of the noise and taken at the lower end of its interval, less a twentieth.
    """
    draws = [rehearsal.promises(plan, draw) for draw in range(2)]
    spare = 0.95
    promises = dict(plan.promises)
    for judged in zip(*draws, strict=True):
        left = spare * min(p.left_interval[0] for p in judged)
        if any(judge_strictly(p).verdict == BROKEN for p in judged) and left > 0:
            promises[judged[0].attribute] = round_down(left)
    return replace(plan, promises=promises)


def judge_strictly(promise: Promise) -> Promise:
    """Return the promise under narrower limits than those of an audit, so that an audit of another draw agrees."""
    lone = (promise.left, promise.left)
    return replace(promise, left_interval=lone, min_unbroken=0.75, min_own_law=0.95, min_gain=0.07)


def _gives_much_away(promise: Promise) -> bool:
    """Return whether an audit may count the column as half given away, or as given away by its own released value."""
    nearly = 0.9
    if promise.unmeasured:
        return False
    strict = judge_strictly(promise)
    by_itself = strict.own_law < strict.min_unbroken * strict.reference and strict.own_gain >= strict.min_gain
    return promise.gain >= nearly * LIMITS.half_given_away or (by_itself and strict.verdict == BROKEN)


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

        In a table of few rows a class that is released as it is may find so many that an audit cannot confirm the goal. Then it is
        to find no more than the goal, or at least in every second release.
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

        for wanted in (partial(is_met, surely=s, confidence=c) for s, c in ((True, 0.98), (False, 0.98), (False, 0.5))):
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
                p.attribute for p in self.rehearsal.promises(tried, draw) if p.attribute in each and _gives_much_away(p)
            ]
            weak = [n for n in weak if n not in stuck]
            stuck |= {n for n in weak if each[n] >= most}
            each |= {n: times if n in stuck else min(step * each[n], most) for n in weak}
            draw, passed = 1 - draw, 0 if weak else passed + 1
        return tried

    def explain(self, plan: Plan, withheld: Sequence[str]) -> list[Note]:
        """Say what the noise was chosen by, what it costs, what was withheld, and where the goal is out of reach."""
        share = self.rehearsal.people_found(plan)
        usual = self.rehearsal.people_found(with_times(self.plan, self.law, 1.0))
        words = (
            f"the noise was chosen so that at most {100 * self.goal.found:.3g} % of people are found again by somebody who knows all "
            f"their true values: {share.value:.1%} in a rehearsal, {usual.value:.0%} with the usual strength. It costs: "
            f"{describe_costs(plan, self.rehearsal)}"
        )
        out = [Note("SF111", words)]
        if withheld:
            words = (
                f"{join_names(withheld)}: withheld, because all columns together point at people, and these cost least to do "
                'without. Set consent = "modified" with noise to release one, and judge the release by an audit'
            )
            out.append(Note("SF112", words))
        if words := self._describe_doubt(plan, share):
            out.append(Note("SF113", words))
        return out + list(self._describe_promises(plan))

    def _describe_doubt(self, plan: Plan, share: Share) -> str:
        """Say in words and figures why an audit may not confirm the goal; nothing where it will."""
        if self.is_met(share, surely=True):
            return ""
        clear = [a.name for a in plan.schema if a.released and a.name not in plan.channels]
        alone = (
            f"; {join_names(clear)} alone, released as it is, finds {self.rehearsal.share_of_clear(plan):.1%}"
            if clear
            else ""
        )
        if not self.is_met(share, surely=False, confidence=0.5):
            return f"no strength that this law allows reaches the goal: {share.value:.1%} of people are found in a rehearsal{alone}"
        if not self.is_met(share, surely=False):
            return (
                f"an audit may say “do not publish”: it finds about {share.value:.1%} of {self.people} people, and by chance more than "
                f"the goal in some releases{alone}"
            )
        high, chance = wilson(np.array([share.value]), self.people, 1.96)[1], 1 / self.rehearsal.rows
        beyond = (float(high[0]) - chance) / (1 - chance)
        return (
            f"an audit may say “publish with care”: it finds about {share.value:.1%} of {self.people} people, and among so few it "
            f"cannot rule out {beyond:.1%}{alone}"
        )

    def _describe_promises(self, plan: Plan) -> list[Note]:
        """Say which columns promise less than their noise does, and which are guessed whatever their noise."""
        out = []
        judged = self.rehearsal.promises(plan)
        stated = [_describe_promise(p) for p in judged if p.attribute in plan.promises]
        if stated:
            words = (
                f"other columns tell more than the noise promises, so the plan promises less: {join_names(stated)}. "
                "Withhold the columns that tell it to promise more"
            )
            out.append(Note("SF115", words))
        if broken := [p.attribute for p in judged if p.verdict == BROKEN]:
            words = f"{join_names(broken)}: attacks leave less than the noise promises, at any strength tried; read the audit"
            out.append(Note("SF114", words))
        if much := [p for p in judged if _gives_much_away(p)]:
            each = [
                f"{p.attribute} {p.guess.right:.0%}, {p.guess.without_release:.0%} without the release"
                for p in much
                if p.guess
            ]
            words = (
                "an audit may say “publish with care”: other columns tell these whatever their noise, and they are guessed right so "
                f"often: {join_names(each)}. Withhold them, or what tells them"
            )
            out.append(Note("SF116", words))
        return out


def _describe_promise(promise: Promise) -> str:
    """Return ``education 9.1 of 12 labels``: the stated promise, and the law's own."""
    unit = "" if not promise.unit else " labels"
    return f"{promise.attribute} {format_number(promise.stated or 0.0, 3)} of {format_number(promise.promised or 0.0, 3)}{unit}"


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
