"""What an owner asks of a release: the share of people that somebody who knows all their true values may find again."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.reconstruction import wilson


@dataclass(frozen=True)
class Share:
    """A share of people found, as a rehearsal measures it, and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, chances: FloatArray) -> Share:
        """Return the mean of people's chances to be found."""
        return cls(float(chances.mean()), float(chances.std() / math.sqrt(len(chances))))

    @property
    def high(self) -> float:
        """What the share surely does not exceed: two standard errors above."""
        return self.value + 2 * self.error


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

    def most_found(self, people: int, chance: float, *, surely: bool) -> int:
        """Return how many of `people` an audit may find; −1 where even none is too many.

        As many as the goal says beyond chance, or, if `surely`, as many as let the audit's 95 % interval end below that.
        """
        counts = np.arange(people + 1)
        shares = wilson(counts / people, people, 1.96)[1] if surely else counts / people
        return int((shares <= self.found + chance * (1 - self.found)).sum()) - 1

    def is_met_by(
        self, share: Share, people: int, chance: float, *, surely: bool = True, confidence: float = 0.98
    ) -> bool:
        """Return whether an audit that looks for this many people will find few enough, in this share of releases.

        It finds each with the share that the rehearsal measured, taken at its upper end. See `most_found`.
        """
        from scipy.special import bdtr

        most = self.most_found(people, chance, surely=surely)
        return most >= 0 and bool(bdtr(most, people, min(share.high, 1.0)) >= confidence)
