"""Linkability (Giomi et al. 2022): can the release tell that two data sets hold the same person?

One holder knows some columns of a person, another holder others. Each looks for the nearest released rows; if they find a
common one, they have joined their knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.attacks.base import Grants, LinkAttack, Targets, View
from sfumato.attacks.linkage._neighbours import Space
from sfumato.counts import FloatArray, IntArray


@dataclass(frozen=True)
class Linkability(LinkAttack):
    """Test whether the `neighbours` nearest rows by the columns of `left` and by those of `right` share one."""

    name: ClassVar[str] = "linkability"
    title: ClassVar[str] = "Two partial records linked through the release"
    assumes: ClassVar[str] = "Two holders with true values of different columns of the same people."
    controlled: ClassVar[bool] = True
    left: tuple[str, ...]
    right: tuple[str, ...]
    neighbours: int = 1
    seed: int = 0

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with every other column for either holder, or say that there are too few."""
        min_rows, many_rows = 3, 10_000  # with fewer rows the halves may meet in one row only, not among ten
        view = grants.view
        if len(view.names) < 2 or view.rows < min_rows:
            return "too few columns or rows to be split between two holders"
        neighbours = 10 if view.rows >= many_rows else 1
        return cls(grants.of_people(view.names), view.names[::2], view.names[1::2], neighbours, grants.seed)

    @property
    def unit(self) -> str:
        """What the success is a share of."""
        return f"share of people whose two halves meet among {self.neighbours} nearest rows"

    def chance(self, rows: int) -> float:
        """Return the rate at which two random sets of neighbours meet."""
        return chance(rows, self.neighbours)

    def credit(self, links: FloatArray, own: IntArray) -> FloatArray:  # noqa: ARG002 - any row will do
        """Return what `run` returned: whichever row they meet in, they have joined what they know."""
        return links

    def details(self, links: FloatArray, own: IntArray) -> dict[str, Any]:  # noqa: ARG002
        """Return who knew what."""
        return {"left": list(self.left), "right": list(self.right), "neighbours": self.neighbours}

    def run(self, view: View) -> FloatArray:
        """Return 1 for each target whose two halves meet in a row, else 0."""
        found = []
        for i, names in enumerate((self.left, self.right)):
            half = Targets({n: self.targets.known[n] for n in names}, self.targets.without)
            found.append(Space.of(view, half.known, names, 2 * self.seed + i).nearest(half, self.neighbours))
        return np.any(found[0][:, :, None] == found[1][:, None, :], axis=(1, 2)).astype(np.float64)


def chance(rows: int, neighbours: int) -> float:
    """Return the rate at which two random sets of `neighbours` out of `rows` meet: 1 − Π (n−k−i)/(n−i)."""
    if 2 * neighbours > rows:
        return 1.0
    i = np.arange(neighbours)
    return float(1 - np.prod((rows - neighbours - i) / (rows - i)))
