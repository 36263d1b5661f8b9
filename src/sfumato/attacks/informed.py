"""The posterior of an intruder who knows how the column is distributed, from a census or a sister table.

The baseline of every finding grants that much, so this is the attack to hold against it: on pure noise the two are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sfumato.attacks.base import Attack, Claim, Sight
from sfumato.attacks.belief import Belief, law_matrix
from sfumato.attacks.posterior import recovered
from sfumato.attacks.prior import refined
from sfumato.counts import FloatArray, Grid


@dataclass(frozen=True)
class InformedPosterior(Attack):
    """Bayes' rule with the distribution of the true values as prior."""

    name: ClassVar[str] = "informed-posterior"
    title: ClassVar[str] = "Posterior, distribution known"
    assumes: ClassVar[str] = "The manifest, and the true distribution of each column, though of no single value."
    population: Mapping[str, tuple[Grid, FloatArray]]

    def run(self, sight: Sight) -> Claim:
        """One recovery for each modified column whose distribution is known."""
        out = []
        for column in sight.columns:
            if column.channel is None or column.name not in self.population:
                continue
            grid, mass = refined(*self.population[column.name], column.channel.interval_width(0.95))
            observed = column.observed_grid(grid)
            kernel = law_matrix(column.channel, grid, observed)
            out.append(recovered(Belief(column, grid, mass, observed, kernel)))
        return Claim(tuple(out)) if out else Claim(notes={"skipped": "no column is modified"})
