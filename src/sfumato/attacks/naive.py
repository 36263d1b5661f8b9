"""No attack at all: the released value is read as the true one. What every other attack must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Recovery, Remedy, Scope, ValueAttack, View
from sfumato.counts import FloatArray
from sfumato.findings import Note
from sfumato.table import Column


@dataclass(frozen=True)
class NaiveReading(ValueAttack):
    """Guess the released value, clipped to the domain."""

    name: ClassVar[str] = "at-its-word"
    title: ClassVar[str] = "Released value taken at its word"
    assumes: ClassVar[str] = "Nothing: the release is read as if it were the original."
    scope: ClassVar[Scope] = Scope.VALUE
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF422", "The released value itself is closer than promised. Check the law.")
    )

    def run(self, view: View) -> Claim:
        """Return one recovery per column."""
        read = [c.unadjusted() for c in view.columns]
        return Claim(tuple(Recovery(c.name, c.values, clip_to_domain(c, c.values)) for c in read))


def clip_to_domain(column: Column, values: FloatArray) -> FloatArray:
    """Return values clipped to the declared domain."""
    if not column.attribute.kind.numeric:
        return values
    return np.clip(values, column.attribute.interval.low, column.attribute.interval.high)
