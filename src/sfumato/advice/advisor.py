"""The weakest noise at which few enough people are found again; where all columns together would need too much, fewer columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.advice.costs import describe_costs
from sfumato.advice.goal import Goal, Share
from sfumato.advice.rehearsal import Rehearsal
from sfumato.advice.search import Search, gives_much_away, judge_strictly, round_down, with_times
from sfumato.auditing import BROKEN, Promise, read_groups
from sfumato.engines import Engine, Local
from sfumato.findings import Note
from sfumato.plans import DEFAULT_LAW, Plan
from sfumato.reconstruction import wilson
from sfumato.releases import count_original, gather_sample
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
    remarks = explain(search, promised, withheld)
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

    What they leave is measured in several draws of the noise, more of them where rows are few and draws differ much, and taken at
    the lowest end of its interval, less a twentieth.
    """
    min_draws, max_draws, judged_rows, spare = 2, 10, 10_000, 0.95
    size = max(min_draws, min(-(-judged_rows // max(rehearsal.truth.rows, 1)), max_draws))
    draws = [rehearsal.promises(plan, draw) for draw in range(size)]
    promises = dict(plan.promises)
    for judged in zip(*draws, strict=True):
        left = spare * min(p.left_interval[0] for p in judged)
        if any(judge_strictly(p).verdict == BROKEN for p in judged) and left > 0:
            promises[judged[0].attribute] = round_down(left)
    return replace(plan, promises=promises)


def explain(search: Search, plan: Plan, withheld: Sequence[str]) -> list[Note]:
    """Say what the noise was chosen by, what it costs, what was withheld, and where the goal is out of reach."""
    share = search.rehearsal.people_found(plan)
    usual = search.rehearsal.people_found(with_times(search.plan, search.law, 1.0))
    words = (
        f"the noise was chosen so that at most {100 * search.goal.found:.3g} % of people are found again by somebody who knows all "
        f"their true values: {share.value:.1%} in a rehearsal, {usual.value:.0%} with the usual strength. It costs: "
        f"{describe_costs(plan, search.rehearsal)}"
    )
    out = [Note("SF111", words)]
    if withheld:
        words = (
            f"{join_names(withheld)}: withheld, because all columns together point at people, and these cost least to do "
            'without. Set consent = "modified" with noise to release one, and judge the release by an audit'
        )
        out.append(Note("SF112", words))
    if words := _describe_doubt(search, plan, share):
        out.append(Note("SF113", words))
    return out + list(_describe_promises(search.rehearsal, plan))


def _describe_doubt(search: Search, plan: Plan, share: Share) -> str:
    """Say in words and figures why an audit may not confirm the goal; nothing where it will."""
    if search.is_met(share, surely=True):
        return ""
    clear = [a.name for a in plan.schema if a.released and a.name not in plan.channels]
    alone = (
        f"; {join_names(clear)} alone, released as it is, finds {search.rehearsal.share_of_clear(plan):.1%}"
        if clear
        else ""
    )
    if not search.is_met(share, surely=False, confidence=0.5):
        return f"no strength that this law allows reaches the goal: {share.value:.1%} of people are found in a rehearsal{alone}"
    if not search.is_met(share, surely=False):
        return (
            f"an audit may say “do not publish”: it finds about {share.value:.1%} of {search.people} people, and by chance more than "
            f"the goal in some releases{alone}"
        )
    high, chance = wilson(np.array([share.value]), search.people, 1.96)[1], 1 / search.rehearsal.rows
    beyond = (float(high[0]) - chance) / (1 - chance)
    return (
        f"an audit may say “publish with care”: it finds about {share.value:.1%} of {search.people} people, and among so few it "
        f"cannot rule out {beyond:.1%}{alone}"
    )


def _describe_promises(rehearsal: Rehearsal, plan: Plan) -> list[Note]:
    """Say which columns promise less than their noise does, and which are guessed whatever their noise."""
    out = []
    judged = rehearsal.promises(plan)
    stated = [_describe_promise(p) for p in judged if p.attribute in plan.promises]
    if stated:
        words = (
            f"other columns tell more than the noise promises, so the plan promises less: {join_names(stated)}. "
            "Withhold the columns that tell it to promise more"
        )
        out.append(Note("SF115", words))
    if broken := [p.attribute for p in judged if p.verdict == BROKEN]:
        words = (
            f"{join_names(broken)}: attacks leave less than the noise promises, at any strength tried; read the audit"
        )
        out.append(Note("SF114", words))
    if much := [p for p in judged if gives_much_away(p)]:
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
