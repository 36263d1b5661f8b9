"""The attack that works on every channel: Bayes' rule, one column at a time, with the reconstructed distribution as prior.

It is calibrated: its 95 % sets hold the truth in 95 % of the rows. They are what the law leaves, so other attacks are measured by
what they gain over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief, refine_grid
from sfumato.attacks.base import (
    Claim,
    Knowledge,
    RankedSets,
    Recovery,
    Remedy,
    Scope,
    Sets,
    ValueAttack,
    View,
)
from sfumato.counts import FloatArray, Grid
from sfumato.findings import Note

DISTRIBUTION = Remedy(
    Note(
        "SF411",
        "The distribution of the column, which the release is meant to tell, narrows it. Ask for more privacy, or state the smaller "
        "figure.",
    )
)
"""What to do where a column's own law and distribution narrow its promise."""


@dataclass(frozen=True)
class ColumnPosterior(ValueAttack):
    """Compute E[x | y] for the least squared error, the likeliest value for the most hits, and the smallest 95 % set."""

    name: ClassVar[str] = "posterior"
    title: ClassVar[str] = "Posterior of each column"
    assumes: ClassVar[str] = "The manifest, and the distribution of the column as reconstructed from the release."
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMN
    remedy: ClassVar[Remedy] = DISTRIBUTION

    def run(self, view: View) -> Claim:
        """Return one recovery per column; a guided column states no law, so it has no posterior."""
        stated = [belief for name, belief in view.beliefs.items() if name not in view.guided]
        if not stated:
            return Claim(skipped="no column states a law of single values")
        return Claim(tuple(recover_column(belief) for belief in stated))


def recover_column(belief: Belief) -> Recovery:
    """Return what the belief says about each row; a value released as true is itself."""
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
class InformedPosterior(ValueAttack):
    """Apply Bayes' rule with the distribution of the true values as prior."""

    name: ClassVar[str] = "informed-posterior"
    title: ClassVar[str] = "Posterior, distribution known"
    assumes: ClassVar[str] = "The manifest, and the true distribution of each column, though of no single value."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.DISTRIBUTIONS})
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMN
    remedy: ClassVar[Remedy] = DISTRIBUTION
    population: Mapping[str, tuple[Grid, FloatArray]]

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column whose distribution is known."""
        out = []
        for column in view.columns:
            if column.channel is None or column.name not in self.population:
                continue
            grid, mass = refine_grid(*self.population[column.name], column.channel.interval_width(0.95))
            out.append(recover_column(Belief(column, column.transition(grid), mass)))
        return Claim(tuple(out)) if out else Claim(skipped="no column is modified")
