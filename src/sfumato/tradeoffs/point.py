"""What a sweep found: one point a setting, and all of them with what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sfumato.channels import JOINT_LAWS
from sfumato.findings import Note
from sfumato.text import join_names
from sfumato.tradeoffs.setting import AXES, Axis, in_words, plan_words

REPEATS = 3


def standard_error(accuracy: float, spread: float, repeats: int, tested: int) -> float:
    """Of a mean accuracy over random splits: sd/√repeats, the sd no less than chance among the n test rows of a split.

    A few splits can agree by luck, and one split has no sd at all; their test rows still are a sample, of sd √(a(1−a)/n).
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
    """Test rows per split."""
    epsilon_reason: str | None = None
    """Why ε is infinite."""

    @property
    def standard_error(self) -> float:
        """Of the accuracy."""
        return standard_error(self.accuracy, self.spread, self.repeats, self.tested)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"standard_error": self.standard_error}

    def cells(self) -> list[str]:
        """Return the point as a row of text."""
        return [
            in_words(self.setting),
            f"{self.accuracy:.1%}",
            f"{100 * self.standard_error:.1f}",
            f"{self.naive:.1%}",
            f"{self.error:.3f}",
            f"{self.interval:.0%}",
            "∞" if self.epsilon is None else f"{self.epsilon:.1f}",
        ]


def explain_infinite(points: Sequence[Point]) -> str | None:
    """Return why ε is infinite, where it is."""
    without = [p for p in points if p.epsilon is None]
    if not without:
        return None
    every = len(without) == len(points)
    where = "at every setting" if every else f"at {join_names(in_words(p.setting) for p in without)}"
    return f"ε is infinite {where}: {without[0].epsilon_reason or 'no bound is stated'}."


@dataclass(frozen=True)
class Tradeoff:
    """All settings, the accuracy without noise, and what is recommended.

    Attributes
    ----------
    law, target, rows
        What was swept, which class was predicted, and from how many rows.
    original, original_error, majority
        The accuracy of a tree from the true values with its standard error, and that of guessing the commonest class.
    points : tuple of Point
        One per setting.
    recommended, choice, why
        Settings to consider, the one to begin with, and what speaks for it (or why there is none).
    axis, laws, notes, strategy, repeats, seed
        The parameter that was swept, the law of each blurred column, and how the settings were judged.

    Examples
    --------
    >>> import sfumato as sf
    >>> result = sf.tradeoff("iris", sweep={"privacy": [0.1, 1.5]}, repeats=1)
    >>> result.law, len(result.points)
    ('gaussian', 2)
    """

    law: str
    target: str
    rows: int
    original: float
    points: tuple[Point, ...]
    recommended: tuple[dict[str, Any], ...] = ()
    choice: dict[str, float] | None = None
    why: str = ""
    original_error: float = 0.0
    majority: float = 0.0
    axis: Axis = AXES["privacy"]
    laws: Mapping[str, str] = field(default_factory=dict)
    """The law of each blurred column; labels take a companion where the law is for numbers."""
    notes: tuple[Note, ...] = ()
    strategy: str = "byclass"
    repeats: int = REPEATS
    seed: int = 0

    @property
    def joint(self) -> bool:
        """Whether the law blurs several columns together, and so is asked for as a method."""
        return self.law in JOINT_LAWS

    @property
    def in_plan(self) -> str | None:
        """What to write into a plan for the choice."""
        return None if self.choice is None else plan_words(self.law, self.choice)

    @property
    def headline(self) -> str:
        """The accuracy without noise, and that of guessing."""
        return (
            f"{self.target}: a tree from the true values is right on {self.original:.1%}, the commonest class on "
            f"{self.majority:.1%} ({self.rows:,} rows)"
        )

    @property
    def remarks(self) -> list[str]:
        """What to know beside the points: where ε is infinite, the bins that are enough, and why a setting was chosen."""
        name = self.axis.parameter
        bins = [
            f"{name} = {r[name]:g}: N = {r['bins']} is enough ({r['accuracy']:.1%}, best {r['best']:.1%})"
            for r in self.recommended
            if "bins" in r
        ]
        return [*filter(None, [explain_infinite(self.points)]), *bins, self.why]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers, and one row of text per setting."""
        head = [
            "setting",
            "accuracy",
            "±",
            "naive",
            "error of distributions",
            "mean 95 % interval",
            "ε of blurred columns",
        ]
        return head, [p.cells() for p in self.points]

    def html(self, next_step: str | None = None) -> str:
        """Return the report as one self-contained page.

        `next_step` is what its reader runs to release with the choice; by default a line of Python.
        """
        from sfumato.tradeoffs.tradeoff_page import report

        return report(self, next_step or self._release_call())

    def _release_call(self) -> str:
        options = dict(self.choice or {})
        words = [f"target={self.target!r}", f"{'method' if self.joint else 'noise'}={self.law!r}"]
        if not self.joint and "privacy" in options:
            words.append(f"privacy={options.pop('privacy'):g}")
        if options:
            words.append(f"options={options}")
        return f'sf.release(table, None, "release", {", ".join(words)})'

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
            "notes": list(self.notes),
        }


def _way(axis: Axis) -> str | None:
    if axis.parameter == "bins":
        return None
    return "higher" if axis.more_is_stronger else "lower"
