"""Linkage without the law: the nearest released row is taken for the target's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.attacks.base import Attack, Sight, Targets
from sfumato.attacks.neighbours import Space
from sfumato.counts import IntArray


@dataclass(frozen=True)
class NearestLinkage(Attack):
    """The nearest row by Gower's distance; ties fall by chance."""

    name: ClassVar[str] = "nearest-linkage"
    title: ClassVar[str] = "Linkage to the nearest row"
    assumes: ClassVar[str] = "True values of the named columns of the targets, and that they are in the release."
    targets: Targets
    seed: int = 0

    def run(self, sight: Sight) -> IntArray:
        """A row for each target."""
        space = Space.of(sight, self.targets.known, list(self.targets.known), self.seed)
        return space.nearest(self.targets, 1)[:, 0]
