"""An attack in one file: whoever imports it adds it to every audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks import Claim, KnowsRows, Recovery, Remedy, ValueAttack, View
from sfumato.findings import Note


@dataclass(frozen=True)
class ToyMean(KnowsRows, ValueAttack):
    """Guess the mean of the known rows for everybody."""

    name: ClassVar[str] = "toy-mean"
    title: ClassVar[str] = "Mean of the known rows"
    assumes: ClassVar[str] = "True values of some rows of the release."
    remedy: ClassVar[Remedy] = Remedy(Note("SF400", "Do nothing: a toy breaks nothing."))

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        means = {c.name: np.full(view.rows, self.pairs.values[c.name].mean()) for c in view.numeric}
        return Claim(tuple(Recovery(name, mean, mean) for name, mean in means.items()))
