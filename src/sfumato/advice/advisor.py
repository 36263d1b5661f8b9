"""The weakest noise at which few enough people are found again; where all columns together would need too much, fewer columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.advice.goal import Goal
from sfumato.advice.rehearsal import Rehearsal
from sfumato.channels import Channel, channel_class
from sfumato.counts import Grid, IntArray
from sfumato.engines import Engine, Local
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.plans import DEFAULT_LAW, Plan, channel_for, noise_for, with_consent
from sfumato.releases import count_original, gather_sample
from sfumato.schema import Attribute, Consent
from sfumato.table import Column, require_original
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
        The same columns with the weakest noise that reaches the goal. Columns that had to be withheld, and what the plan costs,
        stand in its remarks.

    Examples
    --------
    >>> from sfumato.plans import Plan
    >>> plan = advise(Plan.propose("iris"), "iris")
    >>> plan.channels["petal_width"].privacy > 0.5
    True
    """
    goal = goal or Goal()
    rehearsal = read_rehearsal(plan, table, encoding=encoding, seed=seed)
    law = noise or DEFAULT_LAW
    ladder = allowed_times(plan, law)
    order = order_by_cost(plan, rehearsal)
    margin, withheld = _fewest_withheld(plan, law, ladder[-1], order, rehearsal, goal)
    kept = _without(plan, order[:withheld])
    tried = [with_times(kept, law, times) for times in ladder]
    last = len(ladder) - 1
    weakest = min(_first(len(ladder), lambda i: _is_met(goal, rehearsal, tried[i], margin)), last)
    holds = weakest + _first(last - weakest + 1, lambda i: not rehearsal.broken_promises(tried[weakest + i]))
    chosen = tried[holds if holds <= last else weakest]
    usual = rehearsal.share_found(with_times(plan, law, 1.0))
    remarks = _explain(chosen, rehearsal, goal, usual, order[:withheld])
    return replace(chosen, remarks=(*plan.remarks, *remarks))


def _fewest_withheld(
    plan: Plan, law: str, strongest: float, order: Sequence[str], rehearsal: Rehearsal, goal: Goal
) -> tuple[float, int]:
    """Return how many columns must go before the strongest noise reaches the goal, and with which margin it does.

    In a table of few rows a known class alone may find people, and leave room for a smaller margin only.
    """
    for margin in (4.0, 2.0, 0.0):
        withheld = _first(
            len(order),
            lambda n: _is_met(goal, rehearsal, with_times(_without(plan, order[:n]), law, strongest), margin),  # noqa: B023
        )
        if withheld < len(order):
            return margin, withheld
    return 0.0, 0


def read_rehearsal(
    plan: Plan, table: Any, *, encoding: str | None = None, seed: int = 0, max_rows: int = 200_000
) -> Rehearsal:
    """Read rows of the original for a rehearsal: all of a small table, a sample of a large one.

    Among fewer rows more people are found, so a sample errs towards more noise.
    """
    engine: Engine = Local(gathers=False)
    sample = gather_sample(count_original(table, plan, engine, encoding=encoding), max_rows)
    return Rehearsal(require_original(sample.table, "advice"), sample.of, seed)


def with_times(plan: Plan, law: str, times: float) -> Plan:
    """Return the plan with this many times the law's usual strength on every column that is modified.

    γ − 1 is what a substitution tells, so it is divided where an interval is multiplied.
    """
    ((parameter, usual),) = channel_class(law).default.items()
    value = usual * times if parameter == "privacy" else 1 + (usual - 1) / times
    noise, companion = noise_for(law, None, {parameter: round_up(value) if parameter == "privacy" else value})
    return replace(plan, channels={n: channel_for(noise, companion, plan.schema[n])[0] for n in plan.channels})


def round_up(value: float) -> float:
    """Round to two significant digits, upwards."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / step - 1e-9) * step, 12)


def allowed_times(plan: Plan, law: str) -> list[float]:
    """Return the strengths to choose from, as multiples of the usual one: those that the law allows on every column."""
    max_times, steps = 6.0, 24  # beyond, noise drowns a column, and doing without some columns costs less; steps of 8 %
    ladder = [1.0]
    for times in (max_times ** (i / steps) for i in range(1, steps + 1)):
        try:
            with_times(plan, law, times).bind()
        except UsageError:
            break
        ladder.append(times)
    return ladder


def _first(size: int, holds: Callable[[int], bool]) -> int:
    """Return the first of the places 0 … size − 1 from which on a condition holds, by halving; `size` where there is none."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def order_by_cost(plan: Plan, rehearsal: Rehearsal) -> list[str]:
    """Return the modified columns, the one whose loss costs least first: least information on the class per bit that identifies.

    Without a class the columns that identify most come first, so that few are lost.
    """
    target = rehearsal.truth.target
    useful = {n: 1.0 if target is None else shared_bits(rehearsal.truth[n], target) for n in plan.channels}
    bits = {n: own_bits(rehearsal.truth[n]) for n in plan.channels}
    return sorted(plan.channels, key=lambda n: useful[n] / max(bits[n], 1e-9))


def own_bits(column: Column) -> float:
    """H(X) in bits, on at most 20 cells: what the column tells of a person."""
    return _entropy(np.bincount(_cells(column)))


def shared_bits(column: Column, target: Column) -> float:
    """I(X; class) in bits, less what chance alone shows: (cells − 1)(classes − 1)/2n nats."""
    cells, classes = _cells(column), target.codes + 1
    joint = np.bincount(cells * (classes.max() + 1) + classes)
    chance = (len(np.unique(cells)) - 1) * (len(np.unique(classes)) - 1) / (2 * math.log(2) * max(len(cells), 1))
    shared = _entropy(np.bincount(cells)) + _entropy(np.bincount(classes)) - _entropy(joint)
    return max(shared - chance, 0.0)


def _cells(column: Column) -> IntArray:
    """Return a cell of each row: its label, or one of 20 quantiles; a missing value is a cell as well."""
    if not column.attribute.kind.numeric:
        return column.codes + 1
    known = column.values[~np.isnan(column.values)]
    cuts = np.unique(np.quantile(known, np.arange(1, 20) / 20)) if len(known) else np.zeros(0)
    return np.where(np.isnan(column.values), 0, np.searchsorted(cuts, column.values, side="left") + 1)


def _entropy(counts: IntArray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _without(plan: Plan, names: Sequence[str]) -> Plan:
    for name in names:
        plan = with_consent(plan, name, Consent.WITHHOLD)
    return plan


def _is_met(goal: Goal, rehearsal: Rehearsal, plan: Plan, margin: float) -> bool:
    max_people = 500  # that an audit looks for
    people = min(rehearsal.rows, max_people)
    return goal.is_met_by(rehearsal.share_found(plan), people, 1 / rehearsal.rows, margin)


def _explain(plan: Plan, rehearsal: Rehearsal, goal: Goal, usual: float, withheld: Sequence[str]) -> list[Note]:
    """Say what the noise was chosen by, what it costs, what was withheld, and where the goal is out of reach."""
    share = rehearsal.share_found(plan)
    words = (
        f"the noise was chosen so that at most {100 * goal.found:.3g} % of people are found again by somebody who knows all their "
        f"true values: {share:.1%} in a rehearsal, {usual:.0%} with the usual strength. It costs: {_costs(plan, rehearsal)}"
    )
    out = [Note("SF111", words)]
    if withheld:
        words = (
            f"{join_names(withheld)}: withheld, because all columns together point at people, and these cost least to do "
            'without. Set consent = "modified" with noise to release one, and judge the release by an audit'
        )
        out.append(Note("SF112", words))
    if broken := rehearsal.broken_promises(plan):
        words = f"{join_names(broken)}: other columns tell more of it than its noise promises, at any strength tried; read the audit"
        out.append(Note("SF114", words))
    if share > goal.found + 1 / rehearsal.rows:
        words = f"no strength that this law allows reaches the goal: {share:.1%} of people are found in a rehearsal"
        out.append(Note("SF113", words))
    return out


def _costs(plan: Plan, rehearsal: Rehearsal) -> str:
    """Return what a reader loses: of each value, and of a tree."""
    laws = plan.bind()
    numbers = [_describe_number(plan.schema[n], law) for n, law in laws.items() if plan.schema[n].kind.numeric]
    labels = [_describe_label(plan.schema[n], law) for n, law in laws.items() if not plan.schema[n].kind.numeric]
    parts = [join_names(some, 3) for some in (numbers, labels) if some]
    accuracy = rehearsal.accuracies(plan)
    if accuracy is not None:
        true, blurred = accuracy
        lost = max(100 * (true - blurred), 0.0)
        parts.append(f"a tree loses {lost:.1f} points ({blurred:.1%} right, {true:.1%} on true values)")
    return "; ".join(parts)


def _describe_number(attribute: Attribute, law: Channel) -> str:
    """Return ``age ± 18``; a person's value is never less certain than the domain."""
    half = min(law.interval_width(0.95), attribute.interval.range) / 2
    return f"{attribute.name} ± {format_number(half, 2)}"


def _describe_label(attribute: Attribute, law: Channel) -> str:
    """Return ``sex is the true one in 61 %``: the chance that the law keeps a label, all alike."""
    size = len(attribute.labels)
    if law.reports is not None:
        return f"{attribute.name} as a report"
    grid = Grid.categories(attribute.labels)
    kept = float(np.mean(np.diag(law.transition(grid, law.observed_grid(grid)))))
    return f"{attribute.name} is the true one in {kept:.0%} (by chance {1 / size:.0%})"
