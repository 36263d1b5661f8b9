"""Linkage: which released row is this person's? By likelihood through the channel, and one-to-one on a sample.

The attacker's posterior over rows Y for a target X is ∝ Π_a P(y_a | x_a) over the known attributes (Islam & Brankovic's intruder,
with the law of the release in the place of theirs).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.attacks.base import Grants, Knowledge, LinkAttack, View
from sfumato.attacks.known_rows.learned_law import LearnsLaw
from sfumato.attacks.linkage._likelihood import Likelihood
from sfumato.attacks.linkage._logs import floor_logs
from sfumato.attacks.linkage._neighbours import Space
from sfumato.counts import FloatArray, IntArray

NEAR = 1e-4
"""Log-likelihoods closer than this are taken as equal: they are sums of float32."""


@dataclass(frozen=True, eq=False)
class Links:
    """For each target: the best log-likelihood, how many rows share it, log of the sum over rows, and 2^entropy."""

    likelihood: Likelihood
    best: FloatArray
    ties: IntArray
    logsum: FloatArray
    effective: FloatArray

    def credit(self, rows: IntArray) -> FloatArray:
        """The chance that the likeliest pick is the given row: 1/ties where it is among the likeliest."""
        own = self.likelihood.pairs(np.arange(len(rows)), rows)
        return np.where(own >= self.best - NEAR, 1.0 / self.ties, 0.0)

    def probability(self, rows: IntArray) -> FloatArray:
        """The posterior probability that the given row is the target's."""
        own = self.likelihood.pairs(np.arange(len(rows)), rows)
        return np.exp(np.minimum(own - self.logsum, 0.0))


@dataclass(frozen=True)
class LikelihoodLinkage(LinkAttack):
    """Compute the posterior over all rows of the release for each target."""

    name: ClassVar[str] = "likelihood-linkage"
    title: ClassVar[str] = "Linkage by likelihood"
    assumes: ClassVar[str] = (
        "True values of the named columns of the targets, that they are in the release, and the manifest."
    )

    def run(self, view: View) -> Links:
        """Return the posterior in short."""
        likelihood = Likelihood.of(view, self.targets, self.beliefs(view))
        size = self.targets.size
        best, logsum, effective = np.empty(size), np.empty(size), np.empty(size)
        ties = np.empty(size, np.int64)
        for part in likelihood.parts():
            logs = likelihood.logs(part)
            top = logs.max(axis=1)
            best[part], ties[part] = top, (logs >= top[:, None] - NEAR).sum(axis=1)
            shifted = floor_logs(logs - top[:, None])
            weights = np.exp(shifted)
            total = weights.sum(axis=1, dtype=np.float64)
            logsum[part] = top + np.log(total)
            # H = log Σw − Σ w·log w / Σw, with w = exp(shifted); struck rows weigh e⁻⁶⁰
            spread = np.einsum("ij,ij->i", weights, shifted, dtype=np.float64)
            effective[part] = np.exp(np.log(total) - spread / total)
        return Links(likelihood, best, ties, logsum, effective)

    def credit(self, links: Links, own: IntArray) -> FloatArray:
        """Return the chance that the likeliest pick is the target's own row."""
        return links.credit(own)

    def details(self, links: Links, own: IntArray) -> dict[str, Any]:
        """Return how sure the attacker is, and among how many rows a target is hidden."""
        return {
            "probability_of_own_row": float(links.probability(own).mean()),
            "hidden_among_median": float(np.median(links.effective)),
        }


@dataclass(frozen=True)
class LearnedLinkage(LikelihoodLinkage, LearnsLaw):
    """The same where guided columns state no law: the attacker learns it from known rows."""

    name: ClassVar[str] = "learned-linkage"
    title: ClassVar[str] = "Linkage by likelihood, law learned from known rows"
    assumes: ClassVar[str] = (
        "True values of the named columns of the targets, that they are in the release, and true values of some other rows."
    )
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE, Knowledge.KNOWN_ROWS})


@dataclass(frozen=True)
class NearestLinkage(LinkAttack):
    """Take the nearest row by Gower's distance; ties fall by chance."""

    name: ClassVar[str] = "nearest-linkage"
    title: ClassVar[str] = "Linkage to the nearest row"
    assumes: ClassVar[str] = "True values of the named columns of the targets, and that they are in the release."
    seed: int = 0

    def run(self, view: View) -> IntArray:
        """Return a row for each target."""
        space = Space.of(view, self.targets.known, list(self.targets.known), self.seed)
        return space.nearest(self.targets, 1)[:, 0]


@dataclass(frozen=True)
class Assignment(LinkAttack):
    """Assign rows to all targets of a sample at once, one to one, by the greatest total likelihood."""

    name: ClassVar[str] = "assignment"
    title: ClassVar[str] = "One-to-one linkage of a sample"
    assumes: ClassVar[str] = "True values of the targets, and that exactly these people make up the rows at hand."
    seed: int = 0
    among: IntArray | None = None

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack on the first people only: the assignment costs their number cubed."""
        max_people = 400
        few = {n: values[:max_people] for n, values in (grants.people or {}).items()}
        among = None if grants.among is None else grants.among[:max_people]
        return super().prepare(replace(grants, people=few, among=among))

    def run(self, view: View) -> IntArray:
        """Return for each target one of the rows `among` which the targets are; all rows by default, as many as targets.

        Rows are shuffled first: among equal assignments the solver keeps to the order it finds, which may be the true one.
        """
        from scipy.optimize import linear_sum_assignment

        rows = np.arange(view.rows) if self.among is None else self.among
        part = view.take(rows)
        beliefs = {n: replace(b, column=part[n]) for n, b in self.beliefs(view).items()}
        likelihood = Likelihood.of(part, self.targets, beliefs)
        cost = np.concatenate([-likelihood.logs(part) for part in likelihood.parts()])
        order = np.random.default_rng(self.seed).permutation(cost.shape[1])
        return rows[order[np.asarray(linear_sum_assignment(cost[:, order])[1], dtype=np.int64)]]

    def chance(self, rows: int) -> float:
        """Return the success of a random pick among the rows at hand."""
        return 1 / (rows if self.among is None else len(self.among))


@dataclass(frozen=True)
class LearnedAssignment(Assignment, LearnsLaw):
    """The same where guided columns state no law: the attacker learns it from known rows."""

    name: ClassVar[str] = "learned-assignment"
    title: ClassVar[str] = "One-to-one linkage of a sample, law learned from known rows"
    assumes: ClassVar[str] = (
        "True values of the targets, that exactly these people make up the rows at hand, and true values of some other rows."
    )
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE, Knowledge.KNOWN_ROWS})
