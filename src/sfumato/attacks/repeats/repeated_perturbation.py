"""Repeated perturbation (Dowd, Xu & Zhang 2006, section 4): blur the release again and again, hoping to come back to x.

It works where f(f(x)) = x, as for a reflection. For a channel it cannot: the attacker's copy depends on the release and on chance
alone, so it knows no more than the release does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Recovery, Remedy, ValueAttack, View
from sfumato.attacks.naive import clip_to_domain
from sfumato.findings import Note


@dataclass(frozen=True)
class RepeatedPerturbation(ValueAttack):
    """Send the released values through the public law `times` more times, with the attacker's own chance."""

    name: ClassVar[str] = "repeated-perturbation"
    title: ClassVar[str] = "Perturbing the release again"
    assumes: ClassVar[str] = "The manifest; that doing the same again may undo it."
    remedy: ClassVar[Remedy] = Remedy(Note("SF421", "The law undoes itself. Use another law."))
    times: int = 1
    seed: int = 0

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column."""
        rng = np.random.default_rng(self.seed)
        out = []
        for column in view.columns:
            if column.channel is None:
                continue
            values = column.values.copy()
            known = ~np.isnan(values)
            for _ in range(self.times):
                words = rng.integers(0, 2**64, (int(known.sum()), 2), dtype=np.uint64)
                values[known] = column.channel.sample(clip_to_domain(column, values[known]), words)
            out.append(Recovery(column.name, values, clip_to_domain(column, values)))
        return Claim(tuple(out), {"times": self.times})
