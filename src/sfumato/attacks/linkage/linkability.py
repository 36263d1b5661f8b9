"""Linkability (Giomi et al. 2022): can the release tell that two data sets hold the same person?

One holder knows some columns of a person, another holder others. Each looks for the nearest released rows; if they find a
common one, they have joined their knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Attack, Targets, View
from sfumato.attacks.linkage._neighbours import Space
from sfumato.counts import FloatArray


@dataclass(frozen=True)
class Linkability(Attack):
    """Whether the `neighbours` nearest rows by the columns of `left` and by those of `right` share one."""

    name: ClassVar[str] = "linkability"
    title: ClassVar[str] = "Two partial records linked through the release"
    assumes: ClassVar[str] = "Two holders with true values of different columns of the same people."
    targets: Targets
    left: tuple[str, ...]
    right: tuple[str, ...]
    neighbours: int = 1
    seed: int = 0

    def run(self, view: View) -> FloatArray:
        """1 for each target whose two halves meet in a row, else 0."""
        found = []
        for i, names in enumerate((self.left, self.right)):
            half = Targets({n: self.targets.known[n] for n in names}, self.targets.without)
            found.append(Space.of(view, half.known, names, 2 * self.seed + i).nearest(half, self.neighbours))
        return np.any(found[0][:, :, None] == found[1][:, None, :], axis=(1, 2)).astype(np.float64)


def chance(rows: int, neighbours: int) -> float:
    """The rate at which two random sets of `neighbours` out of `rows` meet: 1 − Π (n−k−i)/(n−i)."""
    if 2 * neighbours > rows:
        return 1.0
    i = np.arange(neighbours)
    return float(1 - np.prod((rows - neighbours - i) / (rows - i)))
