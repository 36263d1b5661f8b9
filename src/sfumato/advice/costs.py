"""What a plan costs, in words: how far off each value is, and what a tree loses."""

from __future__ import annotations

import numpy as np

from sfumato.advice.rehearsal import Rehearsal
from sfumato.channels import Channel
from sfumato.counts import Grid
from sfumato.plans import Plan
from sfumato.schema import Attribute, Kind
from sfumato.text import format_number, join_names


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
