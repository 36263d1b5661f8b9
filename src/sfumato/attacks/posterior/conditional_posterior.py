"""The posterior of a column given what stands beside it: the prior is that of the rows with the same label in another column.

A release with a clear class tells how every column is distributed in each class, and so how to guess better in it. Noisy
labels serve, too: they sort the rows less well, and the prior of a released label is reconstructed from the rows that bear
it. Numbers are cut into classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Remedy, Scope, ValueAttack, View
from sfumato.attacks.posterior._conditional import MOST_CELLS, Conditional, grouped_counts, name_large
from sfumato.attacks.posterior._group_priors import group_priors
from sfumato.counts import FloatArray, IntArray
from sfumato.findings import Note
from sfumato.table import Column, drawn_together

ROWS_A_GROUP = 20
"""Rows of a label below which it teaches nothing of its own."""
MOST_GROUPS = 100
CLASSES = 20
"""Classes into which numbers are cut, as far as each has enough rows."""
SURE = 6.0
"""Standard deviations by which two columns must go together before one is used for the other."""
HALVES = (1763, 2311)
"""A seed that nobody makes data with: rows are split in halves by it."""
NATS = 5.0
"""What the groups must gain on rows they were not fitted to."""


@dataclass(frozen=True)
class GivenAnother(ValueAttack):
    """Bayes' rule with the reconstructed distribution of the rows that share a label (or a class of numbers) in the column
    that tells most about this one, by the release itself.
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

    def run(self, view: View) -> Claim:
        """One recovery for each modified column that another one tells something about."""
        groups = {c.name: groups_of(c) for c in view.columns}
        recoveries, given = [], {}
        together = drawn_together(view.columns)
        for column in view.columns:
            name = column.name
            if column.channel is None:
                continue
            belief = view.beliefs[name]
            if not 1 < belief.grid.size <= MOST_CELLS:
                continue
            others = [n for n in groups if n != name and not (name in together and n in together)]
            source = most_telling(groups[name], {n: groups[n] for n in others})
            if source is None:
                continue
            found = _conditional(view, name, groups[source])
            if found is not None:
                recoveries.append(replace(found.recovery(), title=f"Posterior, given {source}"))
                given[name] = source
        untried = name_large(view)
        if not recoveries:
            return Claim(skipped="no column tells enough about another", untried=untried)
        return Claim(tuple(recoveries), {"given": given}, untried=untried)


def _conditional(view: View, name: str, groups: IntArray) -> Conditional | None:
    belief = view.beliefs[name]
    size = (int(groups.max()) + 1, belief.observed.size)
    half = np.random.default_rng(HALVES).random(len(groups)) < 0.5
    halves = (
        grouped_counts(np.where(half, groups, -1), belief.codes, size),
        grouped_counts(np.where(half, -1, groups), belief.codes, size),
    )
    fitted = group_priors(belief, halves)
    if fitted.gain < NATS:
        return None
    # Rows whose label is missing or rare keep the distribution of all rows.
    priors = np.vstack([fitted.priors, belief.prior])
    return Conditional(belief, priors, np.where(groups < 0, size[0], groups))


def groups_of(column: Column) -> IntArray:
    """The group of each row by a released column: its label, or its class among about `CLASSES` of as many rows; −1 for none."""
    values = column.values
    present = ~np.isnan(values)
    out = np.full(len(values), -1, np.int64)
    if column.attribute.kind.numeric and len(np.unique(values[present])) > CLASSES:
        cuts = max(1, min(CLASSES, int(present.sum()) // ROWS_A_GROUP))
        edges = np.unique(np.quantile(values[present], np.arange(1, cuts) / cuts))
        out[present] = np.searchsorted(edges, values[present], side="right")
        return out
    _, codes, sizes = np.unique(values[present], return_inverse=True, return_counts=True)
    kept = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
    kept = np.sort(kept[sizes[kept] >= ROWS_A_GROUP])
    place = np.full(len(sizes), -1, np.int64)
    place[kept] = np.arange(len(kept))
    out[present] = place[codes]
    return out


def most_telling(own: IntArray, others: dict[str, IntArray]) -> str | None:
    """The column whose groups go with the released values most, by the information they share; None if none surely does."""
    found = [(told[0], name) for name, groups in others.items() if (told := shared(own, groups))[1] > SURE]
    return max(found)[1] if found else None


def shared(first: IntArray, second: IntArray) -> tuple[float, float]:
    """The mutual information of two groupings in nats, less what chance adds, and its distance from chance.

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
