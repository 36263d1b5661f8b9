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
from sfumato.engines import Engine, Local
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.plans import DEFAULT_LAW, Plan, channel_for, noise_for, with_consent
from sfumato.releases import count_original, gather_sample
from sfumato.schema import Attribute, Consent
from sfumato.table import Column, require_original
from sfumato.text import format_number, join_names

MAX_TIMES = 6.0
"""Noise of more than this many times the usual strength drowns a column; a plan rather does without some columns."""


def advise(
    plan: Plan, table: Any, *, noise: str | None = None, goal: Goal = Goal(), encoding: str = "utf-8", seed: int = 0
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
    goal : Goal
        How many people may be found again.
    encoding : str
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
    rehearsal = read_rehearsal(plan, table, encoding=encoding, seed=seed)
    law = noise or DEFAULT_LAW
    usual = rehearsal.share_found(with_times(plan, law, 1.0))
    order = order_by_cost(plan, rehearsal)
    fewest = _first(range(len(order)), lambda n: _reaches(_without(plan, order[:n]), law, MAX_TIMES, rehearsal, goal))
    kept = _without(plan, order[:fewest])
    times = find_times(kept, law, rehearsal, goal)
    chosen = with_times(kept, law, times)
    remarks = _explain(chosen, rehearsal, goal, usual, order[:fewest])
    return replace(chosen, remarks=(*plan.remarks, *remarks))


def read_rehearsal(plan: Plan, table: Any, *, encoding: str = "utf-8", seed: int = 0) -> Rehearsal:
    """Read rows of the original for a rehearsal: all of a small table, a sample of a large one.

    Among fewer rows more people are found, so a sample errs towards more noise.
    """
    max_rows = 200_000
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


def find_times(plan: Plan, law: str, rehearsal: Rehearsal, goal: Goal) -> float:
    """Return the fewest times of the usual strength that reach the goal, by halving their logarithm."""
    steps = 24  # of a twenty-fourth of MAX_TIMES on a logarithmic scale: 8 % each
    ladder = [MAX_TIMES ** (i / steps) for i in range(steps + 1)]
    return ladder[_first(range(steps), lambda i: _reaches(plan, law, ladder[i], rehearsal, goal))]


def _first(places: Sequence[int], holds: Callable[[int], bool]) -> int:
    """Return the first of ascending places where a condition holds that holds from there on; the one after all where none is."""
    low, high = places[0] if places else 0, len(places)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _reaches(plan: Plan, law: str, times: float, rehearsal: Rehearsal, goal: Goal) -> bool:
    try:
        tried = with_times(plan, law, times)
        tried.bind()
    except UsageError:  # too strong for a column's law: what is weaker has been tried
        return True
    people = min(rehearsal.rows, 500)
    return goal.met_by(rehearsal.share_found(tried), people, 1 / rehearsal.rows)


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


def _cells(column: Column) -> Any:
    """Return a cell of each row: its label, or one of 20 quantiles; a missing value is a cell as well."""
    if not column.attribute.kind.numeric:
        return column.codes + 1
    known = column.values[~np.isnan(column.values)]
    cuts = np.unique(np.quantile(known, np.arange(1, 20) / 20)) if len(known) else np.zeros(0)
    return np.where(np.isnan(column.values), 0, np.searchsorted(cuts, column.values, side="left") + 1)


def _entropy(counts: Any) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _without(plan: Plan, names: Sequence[str]) -> Plan:
    for name in names:
        plan = with_consent(plan, name, Consent.WITHHOLD)
    return plan


def _explain(plan: Plan, rehearsal: Rehearsal, goal: Goal, usual: float, withheld: Sequence[str]) -> list[Note]:
    """Say what the noise was chosen by, what it costs, and what was withheld."""
    share = rehearsal.share_found(plan)
    words = (
        f"the noise was chosen so that at most {goal.found:.0%} of people are found again by somebody who knows all their true "
        f"values: {share:.1%} in a rehearsal, {usual:.0%} with the usual strength. It costs: {_costs(plan, rehearsal)}"
    )
    out = [Note("SF321", words)]
    if withheld:
        words = (
            f"{join_names(withheld)}: withheld, because all columns together point at people, and these cost least to do "
            'without. Set consent = "modified" with noise to release one, and judge the release by an audit'
        )
        out.append(Note("SF322", words))
    return out


def _costs(plan: Plan, rehearsal: Rehearsal) -> str:
    """Return what a reader loses, in the units of the columns, and what a tree loses."""
    laws = plan.bind()
    numbers = [f"{n} ± {_half_width(plan.schema[n], law)}" for n, law in laws.items() if plan.schema[n].kind.numeric]
    labels = [n for n in laws if not plan.schema[n].kind.numeric]
    parts = [join_names(numbers, 3)] if numbers else []
    if labels:
        parts.append(f"labels of {join_names(labels, 3)} that are mostly drawn by chance")
    accuracy = rehearsal.accuracies(plan)
    if accuracy is not None:
        true, blurred = accuracy
        parts.append(f"a tree loses {max(100 * (true - blurred), 0):.1f} points ({blurred:.1%} right, {true:.1%} on true values)")
    return "; ".join(parts)


def _half_width(attribute: Attribute, law: Channel) -> str:
    return format_number(law.interval_width(0.95) / 2, 2)
