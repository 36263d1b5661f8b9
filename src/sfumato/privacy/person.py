"""What the rows of one person tell together, where noise belongs to the person and the value.

Equal values of a person have the same noise, so a value that stands in many rows is told once. Different values have independent
noise: their ε adds up, and the noise in their mean is smaller. Which rows of a person differ is seen, since equal values stay equal;
so the sum of ε holds between people whose values repeat in the same rows.

Noise that is drawn together for several columns belongs to all of their values at once. Where one of them changes, the others are
blurred afresh, though they stay as they are: each row may be another draw.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.channels import Additive, Channel
from sfumato.schema import Attribute


def noise_deviation(channel: Additive) -> float:
    """Return σ of the noise, (∫ t² f(t) dt)^½ over its density."""
    places = np.linspace(-channel.reach, channel.reach, 20_001)
    density = channel.density(places)
    return float(np.sqrt((places**2 * density).sum() / density.sum()))


def averaged_width(channel: Additive, draws: int) -> float:
    """Return the 95 % interval of the mean of this many values with independent noise: 2 z σ/√k by the central limit theorem.

    Of one value it is that of the law.
    """
    z = 1.959963984540054  # Φ(z) = 0.975
    if draws <= 1:
        return channel.interval_width(0.95)
    return 2 * z * noise_deviation(channel) / math.sqrt(draws)


def different_values(attribute: Attribute, rows: int) -> int:
    """Return how many different values a person of this many rows can have."""
    if not attribute.kind.numeric:
        return min(rows, len(attribute.labels))
    return min(rows, round(attribute.interval.range / attribute.step) + 1) if attribute.step else rows


def person_figures(columns: Mapping[str, tuple[Channel, Attribute]], most_rows: int) -> dict[str, Any]:
    """Return for each column the ε of all different values of a person, and the width left for their mean; and ε over all columns.

    `different_values` counts draws of noise: with noise drawn together for several columns, one for each row.
    """
    attributes: dict[str, dict[str, Any]] = {}
    for name, (channel, attribute) in columns.items():
        draws = most_rows if channel.joint is not None else different_values(attribute, most_rows)
        epsilon = channel.guarantee().epsilon
        mean = averaged_width(channel, draws) if isinstance(channel, Additive) else None
        attributes[name] = {
            "different_values": draws,
            "epsilon": draws * epsilon if math.isfinite(epsilon) else None,
            "mean_interval_width_95": mean,
        }
    bounds = [about["epsilon"] for about in attributes.values()]
    total = None if None in bounds or not bounds else math.fsum(bounds)
    return {"attributes": attributes, "epsilon": total}
