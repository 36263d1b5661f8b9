"""What a sweep found: one point a setting, and all of them with what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sfumato.tradeoff.setting import AXES, Axis, release_options

REPEATS = 3


def standard_error(accuracy: float, spread: float, repeats: int, tested: int) -> float:
    """Of a mean accuracy over random splits: sd/√repeats, the sd no less than chance among the n test records of a split.

    A few splits can agree by luck, and one split has no sd at all; their test records still are a sample, of sd √(a(1−a)/n).
    There a = (hits + 1)/(n + 2), by the rule of succession: no hit missed does not mean that none ever will be.
    """
    share = (accuracy * tested + 1) / (tested + 2)
    chance = math.sqrt(share * (1 - share) / tested) if tested else 0.0
    return max(spread, chance) / math.sqrt(repeats)


@dataclass(frozen=True)
class Point:
    """One setting: what it promises and what it costs."""

    setting: dict[str, float]
    accuracy: float
    spread: float
    """Standard deviation of the accuracy over the splits."""
    naive: float
    error: float
    """Mean total variation of the reconstructed distributions to the true ones."""
    interval: float
    """Mean width of the 95 % interval, as a share of the range."""
    epsilon: float | None
    """Over all blurred columns; None where it is infinite."""
    entropy: float | None = None
    """Mean entropy of the substitution matrices, in bits."""
    repeats: int = REPEATS
    tested: int = 0
    """Test records a split."""
    epsilon_reason: str | None = None
    """Why ε is infinite."""

    @property
    def standard_error(self) -> float:
        """Of the accuracy."""
        return standard_error(self.accuracy, self.spread, self.repeats, self.tested)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"standard_error": self.standard_error}


@dataclass(frozen=True)
class Tradeoff:
    """All settings, the accuracy without noise, and what is recommended."""

    law: str
    target: str
    rows: int
    original: float
    points: tuple[Point, ...]
    recommended: tuple[dict[str, Any], ...] = ()
    choice: dict[str, float] | None = None
    """The one setting to begin with."""
    why: str = ""
    """What speaks for the choice, or why there is none."""
    original_error: float = 0.0
    majority: float = 0.0
    """The accuracy of always guessing the commonest class."""
    axis: Axis = AXES["privacy"]
    laws: Mapping[str, str] = field(default_factory=dict)
    """The law of each blurred column; labels take a companion where the law is for numbers."""
    notes: tuple[str, ...] = ()
    strategy: str = "byclass"
    repeats: int = REPEATS
    seed: int = 0

    @property
    def release_options(self) -> str | None:
        """What to give `sfumato release` for the choice."""
        return None if self.choice is None else release_options(self.law, self.choice)

    @property
    def swept(self) -> list[dict[str, Any]]:
        """The parameters swept, with what charts call them and which way privacy lies."""
        names = dict.fromkeys(n for p in self.points for n in p.setting)
        return [{"parameter": n, "title": AXES[n].title, "stronger": _way(AXES[n])} for n in names]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "law": self.law,
            "target": self.target,
            "rows": self.rows,
            "strategy": self.strategy,
            "repeats": self.repeats,
            "seed": self.seed,
            "swept": self.swept,
            "laws": dict(self.laws),
            "original_accuracy": self.original,
            "original_standard_error": self.original_error,
            "majority": self.majority,
            "points": [p.to_dict() for p in self.points],
            "recommended": list(self.recommended),
            "choice": self.choice,
            "why": self.why,
            "release_options": self.release_options,
            "notes": list(self.notes),
        }


def _way(axis: Axis) -> str | None:
    if axis.parameter == "bins":
        return None
    return "higher" if axis.more_is_stronger else "lower"
