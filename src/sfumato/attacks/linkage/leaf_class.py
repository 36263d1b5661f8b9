"""Class inference from the leaf: a tree grown from the release sorts a known person into a leaf, whose class is the guess.

Under class noise that permutes labels inside leaves this is all there is to learn: posterior = leaf prior (Islam & Brankovic
2003). That much holds for people outside the release too, so the control is a tree grown without the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks.base import Claim, Grants, Recovery, SecretAttack, View
from sfumato.counts import FloatArray
from sfumato.table import Column, Table


@dataclass(frozen=True)
class LeafClass(SecretAttack):
    """Guess the majority class of the person's leaf in the tree that a miner would grow."""

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
