"""A plan at other strengths: as multiples of the law's usual one, for all columns or for each by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sfumato.channels import channel_class
from sfumato.errors import UsageError
from sfumato.plans import Plan, channel_for, noise_for


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
