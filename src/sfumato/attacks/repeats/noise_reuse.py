"""Noise that was used twice: two releases at two scales with the same draw give the original away.

With y₁ = x + σ₁z and y₂ = x + σ₂z the attacker solves x = (σ₂ y₁ − σ₁ y₂)/(σ₂ − σ₁). The releases alone show whether it is so:
the variance of y₁ − y₂ is (σ₁ − σ₂)² then, and σ₁² + σ₂² when the draws are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks.base import Claim, Grants, Knowledge, Recovery, Remedy, ValueAttack, View
from sfumato.channels import Additive
from sfumato.counts import FloatArray
from sfumato.findings import Note
from sfumato.table import Column


def solve_for_original(first: FloatArray, second: FloatArray, scales: tuple[float, float]) -> FloatArray:
    """Return x = (s₂ y₁ − s₁ y₂)/(s₂ − s₁)."""
    s1, s2 = scales
    return (s2 * first - s1 * second) / (s2 - s1)


@dataclass(frozen=True)
class NoiseReuse(ValueAttack):
    """Look for additive columns whose noise in two releases is one draw at two scales."""

    name: ClassVar[str] = "noise-reuse"
    title: ClassVar[str] = "Noise used twice"
    assumes: ClassVar[str] = "Two releases of the same rows in the same order, and both manifests."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.OTHER_RELEASES})
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF416",
            "One draw of noise at two scales cancels. Withdraw one of the releases, and give each law its own noise.",
        )
    )
    others: tuple[View, ...] = ()

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with the other releases, or say that there are none."""
        others = grants.others or ()
        return cls(others) if others else "no other release of the same rows was given"

    def run(self, view: View) -> Claim:
        """Return one recovery per column whose noise was used twice, and notes on those that repeat the same values."""
        recoveries, repeated, fresh = [], [], []
        for column in view.columns:
            for other in (s[column.name] for s in self.others if column.name in s.names):
                if column.channel is None or len(other.values) != len(column.values):
                    continue
                if column.channel == other.channel and np.array_equal(column.values, other.values, equal_nan=True):
                    repeated.append(column.name)
                elif (values := _solve_shared(column, other)) is not None:
                    recoveries.append(Recovery(column.name, values, values))
                else:
                    fresh.append(column.name)
        notes = {"same_values_again": repeated, "independent_noise": fresh}
        if not recoveries:
            return Claim(notes=notes, skipped="no noise was used twice at different scales")
        return Claim(tuple(recoveries), notes)


def _solve_shared(first: Column, second: Column) -> FloatArray | None:
    a, b = first.channel, second.channel
    if not (isinstance(a, Additive) and isinstance(b, Additive) and type(a) is type(b)):
        return None
    s1, s2 = a.scale or math.nan, b.scale or math.nan
    if not abs(s1 - s2) > 1e-9 * max(s1, s2):
        return None
    difference = first.values - second.values
    unit = a.quantile_width(0.5) / 2
    measured = float(np.nanmedian(np.abs(difference))) / unit
    slack = (a.step or 0.0) + (b.step or 0.0)
    one_draw, two_draws = abs(s1 - s2), math.hypot(s1, s2)
    if measured - slack > (one_draw + two_draws) / 2:
        return None
    return solve_for_original(first.values, second.values, (s1, s2))
