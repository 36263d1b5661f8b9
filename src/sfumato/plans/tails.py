"""Columns that a few large values stretch, and the scale on which noise does not drown all others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts import FloatArray
from sfumato.scales import Asinh, Cbrt, Log, Ruler, Scale, Sqrt
from sfumato.schema import Attribute, Consent, Interval, Kind, Role

PER_OCTAVE = 8
"""Values are told apart by their sign and by their size to an eighth of an octave: 9 %, which is enough to choose a scale."""


@dataclass(frozen=True)
class Sizes:
    """How many numbers are of which size; a sum of the parts' sizes is that of the whole."""

    counts: tuple[tuple[int, int, int], ...] = ()
    """Sign, octave and count; 0 has sign 0."""

    @classmethod
    def of(cls, values: FloatArray) -> Sizes:
        """Return the sizes of finite numbers."""
        signs, sizes = np.sign(values), np.abs(values)
        octaves = np.floor(PER_OCTAVE * np.log2(np.where(sizes > 0, sizes, 1.0)))
        places, counts = np.unique(np.column_stack([signs, octaves]), axis=0, return_counts=True)
        return cls(tuple((int(s), int(o), int(n)) for (s, o), n in zip(places.tolist(), counts.tolist(), strict=True)))

    def __add__(self, other: Sizes) -> Sizes:
        counts = {(s, o): n for s, o, n in self.counts}
        for s, o, n in other.counts:
            counts[s, o] = counts.get((s, o), 0) + n
        return Sizes(tuple((s, o, n) for (s, o), n in sorted(counts.items())))

    @property
    def values(self) -> FloatArray:
        """One value of each size."""
        return np.array([s * 2.0 ** ((o + 0.5) / PER_OCTAVE) for s, o, _ in self.counts])

    @property
    def shares(self) -> FloatArray:
        """The share of the numbers that are of each size."""
        counts = np.array([n for *_, n in self.counts], dtype=np.float64)
        return counts / counts.sum()


def noise_of_mean(ruler: Ruler, sizes: Sizes) -> float:
    """Return the standard deviation of one row's unbiased weight for the mean, over that on the plain range.

    With x = h(u) and noise of standard deviation σ on the scale, it is about (h′σ)² + (h″σ²)²/2 in a row; on the plain range
    it is (range σ)². Noise of half the range is taken: σ = 0.5/3.92.
    """
    sigma, step = 0.5 / 3.92, 1e-3
    places = np.clip(ruler.to_places(np.clip(sizes.values, ruler.low, ruler.high)), step, 1 - step)
    below, at, above = (ruler.to_values(places + k * step) for k in (-1, 0, 1))
    slope, bend = (above - below) / (2 * step), (above - 2 * at + below) / step**2
    variance = (slope * sigma) ** 2 + (bend * sigma**2) ** 2 / 2
    return math.sqrt(float(variance @ sizes.shares)) / ((ruler.high - ruler.low) * sigma)


def propose_scale(interval: Interval, sizes: Sizes) -> Scale | None:
    """Return the scale on which noise costs the mean least, where that is far less than on the plain range; None elsewhere."""
    max_cost, min_values = 0.4, 20
    largest = max(abs(interval.low), abs(interval.high))
    # All scales bend at 0, so they can do nothing for a domain far from it; and far from 1, powers of it leave float64.
    if not (1e-100 < largest < 1e100 and interval.range > 0.01 * largest):
        return None
    if sum(n for *_, n in sizes.counts) < min_values:
        return None
    top = math.floor(math.log10(largest))
    units = [digit * 10.0**power for power in range(top - 4, top + 1) for digit in (1, 2, 5)]
    candidates: list[Scale] = [Cbrt()]
    if interval.low >= 0:
        candidates += [Sqrt(), *(kind(unit) for unit in units for kind in (Log, Cbrt))]
    else:
        candidates += [Asinh(unit) for unit in units]
    costs = [noise_of_mean(Ruler(scale, interval.low, interval.high), sizes) for scale in candidates]
    best = int(np.argmin(costs))
    return candidates[best] if costs[best] <= max_cost else None


def with_scale(attribute: Attribute, sizes: Sizes) -> Attribute:
    """Return the attribute on the scale that suits it, or as it is."""
    if attribute.role is not Role.ATTRIBUTE or attribute.consent is not Consent.MODIFIED:
        return attribute
    if attribute.kind not in (Kind.INTEGER, Kind.REAL) or not isinstance(attribute.domain, Interval):
        return attribute
    scale = propose_scale(attribute.domain, sizes)
    return attribute if scale is None else replace(attribute, kind=Kind.REAL, resolution=None, scale=scale)
