"""What a plan costs: the columns that cost least to do without, how far off each value is, and what a tree loses."""

from __future__ import annotations

import math

import numpy as np

from sfumato.advice.rehearsal import Rehearsal
from sfumato.channels import Channel
from sfumato.counts import Grid, IntArray
from sfumato.plans import Plan
from sfumato.schema import Attribute, Kind
from sfumato.table import Column
from sfumato.text import format_number, join_names


def order_by_cost(plan: Plan, rehearsal: Rehearsal) -> list[str]:
    """Return the modified columns, the one whose loss costs least first: what a tree loses, per bit that the column identifies.

    Of columns that a tree does without, or without a class, those that identify most come first, so that few are lost.
    """
    least = 0.01  # bits that any column is worth
    losses = rehearsal.tree_losses(plan.channels)
    if losses is None:
        losses = _class_bits(plan, rehearsal)
    bits = {n: own_bits(rehearsal.truth[n]) for n in plan.channels}
    return sorted(plan.channels, key=lambda n: (losses[n] + least) / max(bits[n], 1e-9))


def _class_bits(plan: Plan, rehearsal: Rehearsal) -> dict[str, float]:
    """Return what each modified column tells of the class by itself, where there are too few rows for a tree."""
    target = rehearsal.truth.target
    return {n: 0.0 if target is None else shared_bits(rehearsal.truth[n], target) for n in plan.channels}


def own_bits(column: Column) -> float:
    """H(X) in bits, on at most 20 cells: what the column tells of a person."""
    return _entropy(np.bincount(cells_of(column)))


def shared_bits(column: Column, target: Column) -> float:
    """I(X; class) in bits, less what chance alone shows: (cells − 1)(classes − 1)/2n nats."""
    cells, classes = cells_of(column), target.codes + 1
    joint = np.bincount(cells * (classes.max() + 1) + classes)
    chance = (len(np.unique(cells)) - 1) * (len(np.unique(classes)) - 1) / (2 * math.log(2) * max(len(cells), 1))
    shared = _entropy(np.bincount(cells)) + _entropy(np.bincount(classes)) - _entropy(joint)
    return max(shared - chance, 0.0)


def cells_of(column: Column) -> IntArray:
    """Return a cell of each row: its label, or one of 20 quantiles; a missing value is a cell as well."""
    if not column.attribute.kind.numeric:
        return column.codes + 1
    known = column.values[~np.isnan(column.values)]
    cuts = np.unique(np.quantile(known, np.arange(1, 20) / 20)) if len(known) else np.zeros(0)
    return np.where(np.isnan(column.values), 0, np.searchsorted(cuts, column.values, side="left") + 1)


def _entropy(counts: IntArray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def describe_costs(plan: Plan, rehearsal: Rehearsal) -> str:
    """Return what a reader loses: of each value, and of a tree."""
    laws = plan.bind()
    numbers = [_describe_number(plan.schema[n], law) for n, law in laws.items() if plan.schema[n].kind.numeric]
    labels = [_describe_label(plan.schema[n], law) for n, law in laws.items() if not plan.schema[n].kind.numeric]
    parts = [join_names(some, 3) for some in (numbers, labels) if some]
    accuracy = rehearsal.accuracies(plan)
    if accuracy is not None:
        true, blurred = accuracy
        lost = max(100 * (true - blurred), 0.0)
        right = f"{blurred:.1%} right, {true:.1%} on true values, {rehearsal.commonest:.1%} by the commonest class"
        parts.append(f"a tree loses {lost:.1f} points ({right})")
    return "; ".join(parts)


def _describe_number(attribute: Attribute, law: Channel) -> str:
    """Return ``age ± 18``, or ``cost 40 to 9,000 around 600`` on a scale; a value is never less certain than the domain."""
    width = law.interval_width(0.95)
    if (ruler := attribute.ruler) is not None:
        places = np.clip([0.5 - width / 2, 0.5 + width / 2, 0.5], 0.0, 1.0)
        low, high, middle = (format_number(v, 2) for v in ruler.to_values(places).tolist())
        return f"{attribute.name} {low} to {high} around {middle}"
    unit = " days" if attribute.kind is Kind.DATE else ""
    return f"{attribute.name} ± {format_number(min(width, attribute.interval.range) / 2, 2)}{unit}"


def _describe_label(attribute: Attribute, law: Channel) -> str:
    """Return ``sex is the true one in 61 %``: the chance that the law keeps a label, all alike."""
    size = len(attribute.labels)
    if law.reports is not None:
        return f"{attribute.name} as a report"
    grid = Grid.categories(attribute.labels)
    kept = float(np.mean(np.diag(law.transition(grid, law.observed_grid(grid)))))
    return f"{attribute.name} is the true one in {kept:.0%} (by chance {1 / size:.0%})"
