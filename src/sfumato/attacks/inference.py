"""Inference of values (attribute disclosure): the release tells a person's secret from what is known of them.

Not every success is a breach: what follows from the patterns of the population follows for people outside the release too.
So each attack has a control, the same attack on a release without the person, or a tree grown without the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks._belief import Belief, best_guesses
from sfumato.attacks._likelihood import JointSecret, Likelihood, LogArray, posterior_weights
from sfumato.attacks.base import Claim, Grants, Knowledge, Recovery, SecretAttack, View
from sfumato.attacks.known_rows import LearnsLaw
from sfumato.attacks.linkage import Space
from sfumato.counts import FloatArray, IntArray
from sfumato.table import Column, Table


@dataclass(frozen=True)
class LikelihoodInference(SecretAttack):
    """P(secret | known) = Σ_rows P(row | known) P(secret | released secret of the row), all through the channels.

    Every column of `secrets` is the secret in its turn, with the other columns known.
    """

    name: ClassVar[str] = "inference"
    title: ClassVar[str] = "Secret inferred from the other columns"
    assumes: ClassVar[str] = "True values of all other columns of the targets, and the manifest."
    secrets: tuple[str, ...]

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with every column as a secret in its turn, or say that there are too few."""
        names = grants.view.names
        if len(names) < 2 or grants.view.rows < 3:
            return "too few columns or rows to infer anything from"
        return cls.from_grants(grants, targets=grants.of_people(names), secrets=names)

    def run(self, view: View) -> Claim:
        """Return one recovery per secret, with one guess per target."""
        beliefs = self.beliefs(view)
        likelihood = Likelihood.of(view, self.targets, beliefs)
        shares = {s: _Shares.of(beliefs[s]) for s in self.secrets}
        together_with = {s: _joint_secret(view, likelihood, s) for s in self.secrets}
        guesses: dict[str, list[tuple[FloatArray, FloatArray]]] = {s: [] for s in self.secrets}
        for part in likelihood.parts():
            together = likelihood.logs(part)
            for secret in self.secrets:
                weights = posterior_weights(likelihood.without(secret, together, part))
                mixed = shares[secret].mix(weights)
                joint = together_with[secret]
                posterior = mixed if joint is None else joint.mix(weights, part, mixed)
                grid = beliefs[secret].grid
                pick = best_guesses(grid, posterior, beliefs[secret].tolerance)
                guesses[secret].append((posterior @ grid.centres, pick))
        recoveries = []
        for secret, parts in guesses.items():
            mean, pick = (np.concatenate(kind) for kind in zip(*parts, strict=True))
            recoveries.append(Recovery(secret, mean, pick))
        return Claim(tuple(recoveries))


@dataclass(frozen=True)
class LearnedInference(LikelihoodInference, LearnsLaw):
    """The same where guided columns state no law: the attacker learns it from known rows."""

    name: ClassVar[str] = "learned-inference"
    title: ClassVar[str] = "Secret inferred from the other columns, law learned from known rows"
    assumes: ClassVar[str] = "True values of all other columns of the targets, and true values of some other rows."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE, Knowledge.KNOWN_ROWS})


def _joint_secret(view: View, likelihood: Likelihood, secret: str) -> JointSecret | None:
    joint = likelihood.joint_of(secret)
    return None if joint is None else JointSecret.of(view.beliefs[secret], joint, view[secret].values)


@dataclass(frozen=True, eq=False)
class _Shares:
    """Rows in the order of their released secret, so that weights add up by cell in one sweep."""

    belief: Belief
    order: IntArray
    starts: IntArray
    cells: IntArray

    @classmethod
    def of(cls, belief: Belief) -> _Shares:
        known = np.flatnonzero(belief.codes >= 0)
        order = known[np.argsort(belief.codes[known], kind="stable")]
        cells, starts = np.unique(belief.codes[order], return_index=True)
        return cls(belief, order, starts.astype(np.int64), cells)

    def mix(self, weights: LogArray) -> FloatArray:
        """Σ_rows w(row) P(p | s(row)), normalised over the rows whose secret is there."""
        if not len(self.cells):
            return np.full((len(weights), self.belief.grid.size), 1.0 / self.belief.grid.size)
        by_cell = np.add.reduceat(weights[:, self.order], self.starts, axis=1).astype(np.float64)
        total = by_cell.sum(axis=1, keepdims=True)
        by_cell = np.where(total > 1e-30, by_cell / np.maximum(total, 1e-300), 1.0 / len(self.cells))
        if self.belief.ranked is None:
            return np.asarray(by_cell @ self.belief.posterior[self.cells])
        # P(p | s) = K[s, p] π_p/P(s), so that the sum over s is one product with the law for each target.
        by_law = np.zeros((len(weights), len(self.belief.evidence)))
        by_law[:, self.cells] = by_cell / np.maximum(self.belief.evidence[self.cells], 1e-300)
        return np.asarray((by_law @ self.belief.kernel) * self.belief.prior)


@dataclass(frozen=True)
class NearestInference(SecretAttack):
    """Take the secret of the nearest released row, unadjusted (Giomi et al. 2022)."""

    name: ClassVar[str] = "nearest-inference"
    title: ClassVar[str] = "Secret of the nearest row"
    assumes: ClassVar[str] = "True values of the named columns of the targets; nothing of the noise."
    in_audit: ClassVar[bool] = False
    secret: str
    seed: int = 0

    def run(self, view: View) -> Claim:
        """Return one guess per target."""
        space = Space.of(view, self.targets.known, list(self.targets.known), self.seed)
        guess = view[self.secret].as_true().values[space.nearest(self.targets, 1)[:, 0]]
        return Claim((Recovery(self.secret, guess, guess),))


@dataclass(frozen=True)
class LeafClass(SecretAttack):
    """Guess the majority class of the person's leaf in the tree that a miner would grow.

    Under class noise that permutes labels inside leaves this is all there is to learn: posterior = leaf prior (Islam & Brankovic
    2003). That much holds for people outside the release too.
    """

    name: ClassVar[str] = "leaf-class"
    title: ClassVar[str] = "Class inferred from the leaf"
    assumes: ClassVar[str] = "True values of the other columns of the targets; that the class follows from them."

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with every column but the class known, or say that there is no class."""
        view = grants.view
        if view.classes() is None:
            return "the release has no class of labels"
        return cls(grants.of_people([n for n in view.names if n != view.target]))

    def run(self, view: View) -> Claim:
        """Return one guess per target."""
        from sfumato.trees import byclass

        if self.targets.without is not None:
            kept = np.ones(view.rows, dtype=bool)
            kept[self.targets.without] = False
            view = view.take(kept)
        table = view.classes()
        if table is None or len(np.unique(table.codes[table.codes >= 0])) < 2:
            return Claim(skipped="the release has no class of two or more labels")
        tree = byclass(table)
        people = Table(tuple(Column(c.attribute, None, self.targets.known[c.name]) for c in table.columns))
        guess: FloatArray = tree.predict_codes(people).astype(np.float64)
        return Claim((Recovery(str(view.target), guess, guess),), {"leaves": tree.leaves})
