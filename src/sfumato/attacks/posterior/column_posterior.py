"""The attack that works on every channel: Bayes' rule, one column at a time, with the reconstructed distribution as prior.

It is calibrated: its 95 % sets hold the truth in 95 % of the rows (they are what the law leaves, no more and no less), so
other attacks are measured by what they gain over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief, refined
from sfumato.attacks.base import Attack, Claim, RankedSets, Recovery, Sets, View
from sfumato.counts import FloatArray, Grid


@dataclass(frozen=True)
class ColumnPosterior(Attack):
    """E[x | y] for the least squared error, the likeliest value for the most hits, the smallest 95 % set for its width."""

    name: ClassVar[str] = "posterior"
    title: ClassVar[str] = "Posterior of each column"
    assumes: ClassVar[str] = "The manifest, and the distribution of the column as reconstructed from the release."

    def run(self, view: View) -> Claim:
        """One recovery a column."""
        return Claim(tuple(recovered(belief) for belief in view.beliefs.values()))


def recovered(belief: Belief) -> Recovery:
    """What the belief says of each row; a value released as true is itself, with nothing left to guess."""
    column = belief.column
    if belief.clear:
        nothing = np.where(np.isnan(column.values), np.nan, 0.0)
        return Recovery(column.name, column.values, column.values, nothing)
    return Recovery(
        column.name,
        belief.of_rows(belief.means),
        belief.of_rows(belief.picks),
        belief.of_rows(belief.set_widths),
        Sets(belief.grid, belief.credible, belief.codes, belief.posterior)
        if belief.ranked is None
        else RankedSets(belief.grid, belief.ranked, belief.codes),
    )


@dataclass(frozen=True)
class InformedPosterior(Attack):
    """Bayes' rule with the distribution of the true values as prior."""

    name: ClassVar[str] = "informed-posterior"
    title: ClassVar[str] = "Posterior, distribution known"
    assumes: ClassVar[str] = "The manifest, and the true distribution of each column, though of no single value."
    population: Mapping[str, tuple[Grid, FloatArray]]

    def run(self, view: View) -> Claim:
        """One recovery for each modified column whose distribution is known."""
        out = []
        for column in view.columns:
            if column.channel is None or column.name not in self.population:
                continue
            grid, mass = refined(*self.population[column.name], column.channel.interval_width(0.95))
            out.append(recovered(Belief(column, column.transition(grid), mass)))
        return Claim(tuple(out)) if out else Claim(notes={"skipped": "no column is modified"})
