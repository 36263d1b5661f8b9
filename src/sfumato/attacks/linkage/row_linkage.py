"""Record linkage: which released row is this person's? By likelihood through the channel, and one-to-one on a sample.

The intruder's posterior over rows Y for a target X is ∝ Π_a P(y_a | x_a) over the attributes known (Islam & Brankovic's
intruder, with the law of the release in the place of theirs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Attack, Targets, View
from sfumato.attacks.linkage._likelihood import Likelihood
from sfumato.attacks.linkage._logs import floored
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
class LikelihoodLinkage(Attack):
    """The posterior over all rows of the release, for targets of whom some attributes are known."""

    name: ClassVar[str] = "likelihood-linkage"
    title: ClassVar[str] = "Linkage by likelihood"
    assumes: ClassVar[str] = (
        "True values of the named columns of the targets, that they are in the release, and the manifest."
    )
    targets: Targets

    def run(self, view: View) -> Links:
        """The posterior in short."""
        likelihood = Likelihood.of(view, self.targets)
        size = self.targets.size
        best, logsum, effective = np.empty(size), np.empty(size), np.empty(size)
        ties = np.empty(size, np.int64)
        for part in likelihood.parts():
            logs = likelihood.logs(part)
            top = logs.max(axis=1)
            best[part], ties[part] = top, (logs >= top[:, None] - NEAR).sum(axis=1)
            shifted = floored(logs - top[:, None])
            weights = np.exp(shifted)
            total = weights.sum(axis=1, dtype=np.float64)
            logsum[part] = top + np.log(total)
            # H = log Σw − Σ w·log w / Σw, with w = exp(shifted); struck rows weigh e⁻⁶⁰
            spread = np.einsum("ij,ij->i", weights, shifted, dtype=np.float64)
            effective[part] = np.exp(np.log(total) - spread / total)
        return Links(likelihood, best, ties, logsum, effective)


@dataclass(frozen=True)
class Assignment(Attack):
    """All targets of a sample at once: the one-to-one assignment of the greatest total likelihood."""

    name: ClassVar[str] = "assignment"
    title: ClassVar[str] = "One-to-one linkage of a sample"
    assumes: ClassVar[str] = "True values of the targets, and that exactly these people make up the rows at hand."
    targets: Targets
    seed: int = 0

    def run(self, view: View) -> IntArray:
        """For each target a row of `view`, which holds as many rows as there are targets.

        Rows are shuffled first: among equal assignments the solver keeps to the order it finds, which may be the true one.
        """
        from scipy.optimize import linear_sum_assignment

        likelihood = Likelihood.of(view, self.targets)
        cost = np.concatenate([-likelihood.logs(part) for part in likelihood.parts()])
        order = np.random.default_rng(self.seed).permutation(cost.shape[1])
        return order[np.asarray(linear_sum_assignment(cost[:, order])[1], dtype=np.int64)]


@dataclass(frozen=True)
class NearestLinkage(Attack):
    """The nearest row by Gower's distance; ties fall by chance."""

    name: ClassVar[str] = "nearest-linkage"
    title: ClassVar[str] = "Linkage to the nearest row"
    assumes: ClassVar[str] = "True values of the named columns of the targets, and that they are in the release."
    targets: Targets
    seed: int = 0

    def run(self, view: View) -> IntArray:
        """A row for each target."""
        space = Space.of(view, self.targets.known, list(self.targets.known), self.seed)
        return space.nearest(self.targets, 1)[:, 0]
