"""The posterior of a column given another one: the prior is that of the rows with the same label there.

A release with a clear class tells how every column is distributed in each class, and so how to guess better in it. Noisy labels
serve too. They sort the rows less well, and the prior of a released label is reconstructed from the rows that bear it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Remedy, Scope, ValueAttack, View
from sfumato.attacks.posterior._conditional import MAX_CELLS, Conditional, grouped_counts, name_large
from sfumato.attacks.posterior._group_priors import group_priors
from sfumato.counts import FloatArray, IntArray
from sfumato.findings import Note
from sfumato.table import Column, drawn_together


@dataclass(frozen=True)
class ConditionalPosterior(ValueAttack):
    """Guess a column from its released value and from one other released column.

    The attacker reconstructs the column within each group of the other one (each label, or quantile bins of a number) and applies
    Bayes' rule with that group's distribution as the prior. The other column is the one that the released values depend on most.
    """

    name: ClassVar[str] = "given-another"
    title: ClassVar[str] = "Posterior, given another column"
    assumes: ClassVar[str] = (
        "The manifest, and the distribution of the column in each group of another, as reconstructed."
    )
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF413",
            "Another column, named above, says which group a person belongs to, and the group is narrower than the promise. Withhold "
            "that column, blur it (or blur it more), or state the smaller figure.",
        ),
        needs_gain=True,
    )
    min_dependence: float = 6.0  # z-score of the dependence below which the other column is ignored
    min_gain: float = 5.0  # nats that the groups must gain on rows they were not fitted to
    bins: int = 20  # of a number, as far as each has enough rows
    max_groups: int = 100  # more groups would be fitted to their own noise
    min_rows: int = 20  # a label with fewer rows teaches nothing of its own

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column that another one tells something about."""
        groups = {c.name: group_rows(c, self.bins, self.max_groups, self.min_rows) for c in view.columns}
        recoveries, given = [], {}
        together = drawn_together(view.columns)
        for column in view.columns:
            name = column.name
            if column.channel is None:
                continue
            belief = view.beliefs[name]
            if not 1 < belief.grid.size <= MAX_CELLS:
                continue
            others = [n for n in groups if n != name and not (name in together and n in together)]
            source = choose_source(groups[name], {n: groups[n] for n in others}, self.min_dependence)
            if source is None:
                continue
            posterior = _fit_conditional(view, name, groups[source], self.min_gain)
            if posterior is not None:
                recoveries.append(replace(posterior.recovery(), title=f"Posterior, given {source}"))
                given[name] = source
        untried = name_large(view)
        if not recoveries:
            return Claim(skipped="no column tells enough about another", untried=untried)
        return Claim(tuple(recoveries), {"given": given}, untried=untried)


def _fit_conditional(view: View, name: str, groups: IntArray, min_gain: float) -> Conditional | None:
    """Fit the prior of each group; None where the groups do not predict released values better than all rows do."""
    belief = view.beliefs[name]
    size = (int(groups.max()) + 1, belief.observed.size)
    # A seed that nobody makes data with splits the rows in halves.
    half = np.random.default_rng((1763, 2311)).random(len(groups)) < 0.5
    halves = (
        grouped_counts(np.where(half, groups, -1), belief.codes, size),
        grouped_counts(np.where(half, -1, groups), belief.codes, size),
    )
    fitted = group_priors(belief, halves)
    if fitted.gain < min_gain:
        return None
    # Rows whose label is missing or rare keep the distribution of all rows.
    priors = np.vstack([fitted.priors, belief.prior])
    return Conditional(belief, priors, np.where(groups < 0, size[0], groups))


def group_rows(column: Column, bins: int = 20, max_groups: int = 100, min_rows: int = 20) -> IntArray:
    """Return the group of each row by a released column: its label, or its bin among quantile bins; −1 for none."""
    values = column.values
    present = ~np.isnan(values)
    out = np.full(len(values), -1, np.int64)
    if column.attribute.kind.numeric and len(np.unique(values[present])) > bins:
        cuts = max(1, min(bins, int(present.sum()) // min_rows))
        edges = np.unique(np.quantile(values[present], np.arange(1, cuts) / cuts))
        out[present] = np.searchsorted(edges, values[present], side="right")
        return out
    _, codes, sizes = np.unique(values[present], return_inverse=True, return_counts=True)
    kept = np.argsort(-sizes, kind="stable")[:max_groups]
    kept = np.sort(kept[sizes[kept] >= min_rows])
    place = np.full(len(sizes), -1, np.int64)
    place[kept] = np.arange(len(kept))
    out[present] = place[codes]
    return out


def choose_source(own: IntArray, others: dict[str, IntArray], min_dependence: float = 6.0) -> str | None:
    """Return the column whose groups share most information with the released values; None if none surely does."""
    measured = [(*measure_dependence(own, groups), name) for name, groups in others.items()]
    sure = [(information, name) for information, z, name in measured if z > min_dependence]
    return max(sure)[1] if sure else None


def measure_dependence(first: IntArray, second: IntArray) -> tuple[float, float]:
    """Return the mutual information of two groupings in nats, less what chance adds, and its z-score.

    2 n I is nearly χ² of f degrees of freedom where there is no information, of mean f and variance 2 f.
    """
    size = (int(first.max(initial=-1)) + 1, int(second.max(initial=-1)) + 1)
    if min(size) < 2:
        return 0.0, 0.0
    table: FloatArray = grouped_counts(first, second, size)
    n = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if n == 0:
        return 0.0, 0.0
    expected = np.outer(rows, columns) / n
    there = table > 0
    twice = 2 * float((table[there] * np.log(table[there] / expected[there])).sum())
    free = float((np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1))
    if free <= 0:
        return 0.0, 0.0
    return (twice - free) / (2 * float(n)), (twice - free) / float(np.sqrt(2 * free))
