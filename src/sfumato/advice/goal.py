"""What an owner asks of a release: the share of people that somebody who knows all their true values may find again."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sfumato.errors import UsageError


@dataclass(frozen=True)
class Goal:
    """The most people that may be found beyond chance.

    Parameters
    ----------
    found : float
        Their share of all people in the table.

    Examples
    --------
    >>> Goal.parse("found=2%")
    Goal(found=0.02)
    """

    found: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.found < 1:
            raise UsageError(f"goal: found={self.found:g} must lie between 0 and 1; write found=5% or found=0.05")

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read a goal from words such as ``found=5%``."""
        match = re.fullmatch(r"\s*found\s*=\s*([0-9]*\.?[0-9]+)\s*(%?)\s*", text)
        if match is None:
            raise UsageError(f"goal: {text!r} cannot be read; write found=5% for at most 5 % of people found again")
        return cls(float(match[1]) / (100 if match[2] else 1))

    def is_met_by(self, share: float, people: int, chance: float, margin: float = 4.0) -> bool:
        """Return whether an audit that looks for this many people can be expected to confirm the goal.

        By chance it finds two standard deviations more than expected, and its interval reaches two further: `margin` counts both.
        """
        return share + margin * math.sqrt(share * (1 - share) / people) <= self.found + chance
