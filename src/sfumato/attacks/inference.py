"""Inference of values (attribute disclosure): the release tells a person's secret from what is known of them.

Not every success is a breach: what follows from the patterns of the population follows for people outside the release too.
So each attack has a control, the same attack on a release without the person, or a tree grown without the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from sfumato.attacks._belief import Belief, best_guesses
from sfumato.attacks._likelihood import JointSecret, Likelihood, LogArray, posterior_weights
from sfumato.attacks.base import Claim, Grants, Knowledge, Recovery, SecretAttack, View
from sfumato.attacks.known_rows import LearnsLaw
from sfumato.attacks.linkage import Space
from sfumato.counts import FloatArray, IntArray
from sfumato.table import Column, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
        secrets = [_Secret.of(view, beliefs[name], likelihood) for name in self.secrets]
        guesses: dict[str, list[tuple[FloatArray, FloatArray]]] = {s: [] for s in self.secrets}
        for part in likelihood.parts():
            together = likelihood.logs(part)
            by_row = np.ascontiguousarray(posterior_weights(together).T, dtype=np.float64)
            for secret in secrets:
                posterior = secret.posterior(part, together, by_row)
                pick = best_guesses(secret.belief.grid, posterior, secret.belief.tolerance)
                guesses[secret.name].append((posterior @ secret.belief.grid.centres, pick))
        recoveries = []
        for name, parts in guesses.items():
            mean, pick = (np.concatenate(kind) for kind in zip(*parts, strict=True))
            recoveries.append(Recovery(name, mean, pick))
        return Claim(tuple(recoveries))


@dataclass(frozen=True)
class LearnedInference(LikelihoodInference, LearnsLaw):
    """The same where guided columns state no law: the attacker learns it from known rows."""

    name: ClassVar[str] = "learned-inference"
    title: ClassVar[str] = "Secret inferred from the other columns, law learned from known rows"
    assumes: ClassVar[str] = "True values of all other columns of the targets, and true values of some other rows."
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE, Knowledge.KNOWN_ROWS})


@dataclass(frozen=True, eq=False)
class _Secret:
    """A column that is the secret, and the rows by their released cell of it."""

    belief: Belief
    likelihood: Likelihood
    joint: JointSecret | None
    cells: IntArray
    sums: csr_array

    @classmethod
    def of(cls, view: View, belief: Belief, likelihood: Likelihood) -> _Secret:
        from scipy.sparse import csr_array

        known = np.flatnonzero(belief.codes >= 0)
        cells, place = np.unique(belief.codes[known], return_inverse=True)
        sums = csr_array((np.ones(len(known)), (place, known)), shape=(len(cells), len(belief.codes)))
        name = belief.column.name
        together = likelihood.joint_of(name)
        joint = None if together is None else JointSecret.of(view.beliefs[name], together, view[name].values)
        return cls(belief, likelihood, joint, cells.astype(np.int64), sums)

    @property
    def name(self) -> str:
        return self.belief.column.name

    def posterior(self, part: slice, together: LogArray, by_row: FloatArray) -> FloatArray:
        """Return P(secret | all other columns) for some targets; `by_row` are the weights of rows with the secret known.

        Rows of one released cell c have the factor P(c | x) of the secret in common. So their weights without it are Σ w / P(c | x),
        and no row is looked at again, unless a factor is so small that rows which count without it are lost in the sum with it.
        """
        min_factor = -30.0  # logarithm; rows e⁻²⁵ as likely as the likeliest one still count then
        factor = self.likelihood.factor(self.name, part, self.cells)
        lost = np.ones(len(together), dtype=bool) if factor is None else (factor < min_factor).any(axis=1)
        by_cell = np.zeros((len(together), len(self.cells)))
        if factor is not None and not lost.all():
            by_cell = (self.sums @ by_row).T * np.exp(min_factor - np.maximum(factor, min_factor), dtype=np.float64)
        weights = np.zeros((0, 0), np.float32)
        if lost.any():
            targets = np.arange(part.start, part.stop)[lost]
            weights = posterior_weights(self.likelihood.without(self.name, together[lost], targets))
            by_cell[lost] = (self.sums @ weights.T).T
        plain = self._mix(by_cell)
        return plain if self.joint is None else self.joint.mix(weights, part, plain)  # joint laws have no factors

    def _mix(self, by_cell: FloatArray) -> FloatArray:
        """Return Σ_cells w(cell) P(p | cell), normalised over the rows whose secret is there."""
        if not len(self.cells):
            return np.full((len(by_cell), self.belief.grid.size), 1.0 / self.belief.grid.size)
        total = by_cell.sum(axis=1, keepdims=True)
        by_cell = np.where(total > 1e-30, by_cell / np.maximum(total, 1e-300), 1.0 / len(self.cells))
        if self.belief.ranked is None:
            return np.asarray(by_cell @ self.belief.posterior[self.cells])
        # P(p | s) = K[s, p] π_p/P(s), so that the sum over s is one product with the law for each target.
        by_law = np.zeros((len(by_cell), len(self.belief.evidence)))
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
        from sfumato.trees import draft_published

        kept = np.ones(view.rows, dtype=bool)
        if self.targets.without is not None:
            kept[self.targets.without] = False
        table = view.classes()
        if table is None or len(np.unique(table.codes[kept & (table.codes >= 0)])) < 2:
            return Claim(skipped="the release has no class of two or more labels")
        common_start, pruner = view.tree_growth
        table = table.take(kept)
        tree = draft_published(table, "byclass", common_start=common_start).cut(pruner)
        people = Table(tuple(Column(c.attribute, None, self.targets.known[c.name]) for c in table.columns))
        guess: FloatArray = tree.predict_codes(people).astype(np.float64)
        return Claim((Recovery(str(view.target), guess, guess),), {"leaves": tree.leaves})
