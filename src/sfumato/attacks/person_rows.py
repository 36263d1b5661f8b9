"""One person's rows together: visits of a patient, purchases of a customer.

Somebody who knows which rows are one person's, by their order, by a column that gives them away or because they are the person's bank,
averages them: the person's values are alike, and their noise is not. Where noise belongs to the person and the value, equal values
share it, so each different released value counts once. What the other rows say is a prior for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Claim, Grants, Knowledge, Recovery, Remedy, RowGroups, ValueAttack, View
from sfumato.attacks.column_posterior import recover_column
from sfumato.attacks.conditional_posterior import MAX_CELLS, Conditional, grouped_counts, name_large
from sfumato.attacks.row_order import MIN_GAIN, Smoothed, fit_neighbours
from sfumato.counts import FloatArray, scatter
from sfumato.findings import Note


@dataclass(frozen=True)
class PersonRows(ValueAttack):
    """Apply Bayes' rule with a prior for every row from the same person's other rows.

    ``regardless`` names columns for which the column's posterior is returned where the other rows say nothing, so that the attack can
    be compared with itself on groups of rows that chance has made.
    """

    name: ClassVar[str] = "person-rows"
    title: ClassVar[str] = "All rows of one person"
    assumes: ClassVar[str] = "The manifest, and which rows are one person's, though not whose."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.ROWS_OF_PEOPLE})
    together: ClassVar[bool] = False
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF277",
            "The rows of one person together give it away: they are alike, and their noise averages out. Tie the noise to people "
            "(identifier=), so that equal values share it.",
        ),
        Note(
            "SF277",
            "The rows of one person together give it away, though equal values share their noise: release fewer rows of each person, "
            "or one row with their mean, or ask for more privacy.",
        ),
        lambda manifest: manifest.addressing == "entity",
    )
    groups: RowGroups
    regardless: tuple[str, ...] = ()

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack, or say that nothing tells which rows go together."""
        if grants.groups is None:
            return "nothing says which rows are one person's"
        return cls(grants.groups)

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column in which a person's rows are alike."""
        recoveries = []
        for column in view.columns:
            belief = view.beliefs[column.name]
            if column.channel is None or not 1 < belief.grid.size <= MAX_CELLS:
                continue
            recovery = self._recover(belief)
            if recovery is not None:
                recoveries.append(recovery)
            elif column.name in self.regardless:
                recoveries.append(recover_column(belief))
        untried = name_large(view)
        if not recoveries:
            return Claim(skipped="rows of one person are no more alike than any others", untried=untried)
        return Claim(tuple(recoveries), untried=untried)

    def without_order(self, claim: Claim) -> PersonRows:
        """Return the attack on the same columns; on shuffled rows its groups are groups of strangers."""
        return PersonRows(self.groups, tuple(r.attribute for r in claim.recoveries))

    def people(self) -> RowGroups:
        """Return whose rows are averaged."""
        return self.groups

    def _recover(self, belief: Belief) -> Recovery | None:
        if not belief.column.attribute.kind.numeric:
            return recover_labels(belief, self.groups)
        around = predict_from_others(belief.column.values, self.groups)
        if around is None:
            return None
        posterior = fit_neighbours(belief, Smoothed(around, 0, sloped=False))
        return None if posterior is None else posterior.recovery()


def predict_from_others(values: FloatArray, groups: RowGroups) -> FloatArray | None:
    """Return the best linear prediction of each row from the same person's m others: μ + m B/(m B + W) (their mean − μ).

    B is the covariance of two rows of a person and B + W the variance of all, both as released. NaN where a person has no
    other row; None where rows of a person do not go together.
    """
    known = ~np.isnan(values)
    person, seen = groups.person[known], values[known]
    centred = seen - seen.mean() if len(seen) else seen
    first = np.ones(len(seen), dtype=bool)
    if groups.shared:
        # A value that stands in several rows of a person was drawn once.
        order = np.lexsort((seen, person))
        again = (np.diff(person[order]) == 0) & (np.diff(seen[order]) == 0)
        first[order[1:][again]] = False
    size = int(groups.person.max(initial=-1)) + 1
    draws = np.bincount(person[first], minlength=size)
    sums = np.bincount(person[first], centred[first], minlength=size)
    squares = np.bincount(person[first], centred[first] ** 2, minlength=size)
    pairs = float((draws * (draws - 1)).sum())
    if not pairs:
        return None
    between = float((sums**2 - squares).sum()) / pairs
    within = float(squares.sum()) / draws.sum() - between
    if between <= 0:
        return None
    others = draws[person] - 1
    with np.errstate(divide="ignore", invalid="ignore"):  # a lone row has no others
        predicted = between * (sums[person] - centred) / (others * between + max(within, 0.0))
    return scatter(len(values), known, np.where(others > 0, predicted + seen.mean(), np.nan))


def recover_labels(belief: Belief, groups: RowGroups) -> Recovery | None:
    """Return posteriors with the prior π(p) Π_j (ρ K[s_j, p] + (1 − ρ) P(s_j)) over the person's other rows j.

    ρ, the share of a person's rows with the same label, is the one by which released labels are predicted best; None where none
    predicts them better than the whole table does.
    """
    likeness = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.995)
    max_numbers = 30_000_000  # rows × labels whose priors are held
    rows = np.flatnonzero(belief.codes >= 0)
    size = int(groups.person.max(initial=-1)) + 1
    if not len(rows) or max(len(rows), size) * belief.grid.size > max_numbers:
        return None
    counts = grouped_counts(groups.person, belief.codes, (size, belief.observed.size))
    if groups.shared:
        counts = np.minimum(counts, 1.0)
    own, person = belief.codes[rows], groups.person[rows]

    def priors(alike: float) -> FloatArray:
        said = np.log(np.maximum(alike * belief.kernel.dense() + (1 - alike) * belief.evidence[:, None], 1e-300))
        logs = (counts @ said)[person] - said[own] + np.log(np.maximum(belief.prior, 1e-300))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def gain(alike: float) -> float:
        predicted = (belief.kernel.rows(own) * priors(alike)).sum(axis=1)
        return float(np.log(np.maximum(predicted, 1e-300) / np.maximum(belief.evidence[own], 1e-300)).sum())

    best = max(likeness, key=gain)
    if gain(best) < MIN_GAIN:
        return None
    return Conditional(belief, priors(best), scatter(len(belief.codes), rows, np.arange(len(rows)), -1)).recovery()
