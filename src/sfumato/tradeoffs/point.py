"""What a sweep found: one point per setting, with what attacks leave and what it costs, and the plan of any."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sfumato.channels import JOINT_LAWS
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.mining import Z95, Scores
from sfumato.plans import Plan
from sfumato.report import score_tables
from sfumato.text import format_number, join_names
from sfumato.tradeoffs.setting import AXES, Axis, in_words, plan_for, plan_words

REPEATS = 3


def standard_error(accuracy: float, spread: float, repeats: int, tested: int) -> float:
    """Of a mean accuracy over random splits: sd/√repeats, the sd no less than chance among the n test rows of a split.

    A few splits can agree by luck, and one split has no sd at all; their test rows still are a sample, of sd √(a(1−a)/n).
    There a = (hits + 1)/(n + 2), by the rule of succession: no hit missed does not mean that none ever will be.
    """
    share = (accuracy * tested + 1) / (tested + 2)
    chance = math.sqrt(share * (1 - share) / tested) if tested else 0.0
    return max(spread, chance) / math.sqrt(repeats)


def average_scores(splits: Sequence[Scores], labels: Sequence[str]) -> dict[str, Any]:
    """Return the mean of every score over random splits, with its standard error; counts and calibration are of all splits.

    As with accuracy, the sd over the splits is taken to be no less than chance among the rows of one split, by its 95 %
    interval. A row may be tested in several splits, so the intervals of the calibration are somewhat short.
    """
    pooled = sum(splits[1:], splits[0]).to_dict(labels)
    each = [s.to_dict(labels) for s in splits]
    out: dict[str, Any] = {"standard_error": {}}
    for key in pooled["without_model"]:
        values = [about[key] for about in each]
        if None in values:
            out[key] = out["standard_error"][key] = None
            continue
        chance = [(about["interval"][key][1] - about["interval"][key][0]) / (2 * Z95) for about in each]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        out[key] = float(np.mean(values))
        out["standard_error"][key] = max(spread, float(np.mean(chance))) / math.sqrt(len(values))
    return out | {name: pooled[name] for name in ("without_model", "confusion", "calibration")}


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
    scores: Mapping[str, Any] = field(default_factory=dict)
    """Every score of the tree as a mean over the splits; confusion counts and calibration of all splits together."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """What attacks leave, and how far distributions and answers are off, as `Measures` says it."""

    @property
    def in_words(self) -> str:
        """The setting, as ``gamma = 8, bins = 20``."""
        return in_words(self.setting)

    @property
    def found(self) -> float:
        """The share of people found, beyond chance."""
        return float(self.measured["people_found"]["beyond_chance"])

    @property
    def found_interval(self) -> tuple[float, float]:
        """The 95 % interval of `found`."""
        low, high = self.measured["people_found"]["beyond_chance_interval"]
        return float(low), float(high)

    @property
    def broken(self) -> tuple[str, ...]:
        """Columns of which attacks break the promise."""
        return tuple(self.measured["broken"])

    @property
    def nearly_broken(self) -> tuple[str, ...]:
        """Columns of which attacks may break the promise in another draw of the noise."""
        return tuple(self.measured["nearly_broken"])

    @property
    def promised(self) -> float | None:
        """The mean 95 % interval that the laws promise, as a share of the domain and no wider than that."""
        return None if self.measured["promised"] is None else float(self.measured["promised"])

    @property
    def left(self) -> float | None:
        """The mean 95 % interval that attacks leave, as a share of the domain."""
        return None if self.measured["left"] is None else float(self.measured["left"])

    @property
    def answers(self) -> tuple[Mapping[str, Any], ...]:
        """The questions with the error of their answers."""
        return tuple(self.measured["questions"])

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
            *rank_cells(self.scores),
            f"{self.naive:.1%}",
            f"{self.error:.3f}",
            f"{self.interval:.0%}",
            "∞" if self.epsilon is None else f"{self.epsilon:.1f}",
        ]


def rank_cells(scores: Mapping[str, Any]) -> list[str]:
    """Return balanced accuracy and AUC as text: what accuracy does not say of a rare class."""
    return [score_tables.format_score(key, scores.get(key)) for key in ("balanced_accuracy", "auc")]


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
    original_scores : mapping
        Balanced accuracy, AUC and the other scores of the tree from the true values.
    points : tuple of Point
        One per setting.
    recommended, choice, why
        Settings to consider, the strongest that costs no accuracy which can be told from chance, and what speaks for it (or why there
        is none).
    advised, advice, goal
        The weakest setting at which attacks find no more people than the goal and break no promise, what speaks for it (or why there
        is none), and the goal.
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
    original_scores: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    """The classes."""
    advised: dict[str, float] | None = None
    """The weakest setting that keeps the goal, by attacks on a release in memory."""
    advice: str = ""
    """What speaks for it, or why there is none."""
    goal: float = 0.05
    """The share of people that may be found, beyond chance."""
    base: Plan | None = field(default=None, repr=False, compare=False)
    """The plan whose noise was swept."""

    @property
    def joint(self) -> bool:
        """Whether the law blurs several columns together, and so is asked for as a method."""
        return self.law in JOINT_LAWS

    def plan(self, point: Point | Mapping[str, float] | None = None) -> Plan:
        """Return the plan of a point: the columns that were tried, with its noise.

        Parameters
        ----------
        point : Point or mapping, optional
            A point, or its setting such as ``{"privacy": 0.5}``; by default the one that attacks recommend.

        Returns
        -------
        Plan
            What `sfumato.release` takes.

        Examples
        --------
        >>> import sfumato as sf
        >>> result = sf.tradeoff("iris", sweep={"privacy": [0.1, 1.5]}, repeats=1)
        >>> result.plan({"privacy": 1.5}).channels["petal_width"].privacy
        1.5
        """
        setting = self.advised if point is None else point.setting if isinstance(point, Point) else dict(point)
        if setting is None:
            raise UsageError(f"no point is recommended; name one of {self._settings()}")
        if self.base is None or setting not in [p.setting for p in self.points]:
            raise UsageError(f"there is no point {in_words(setting)}; the points are {self._settings()}")
        return plan_for(self.law, setting, self.base)

    def find(self, words: str) -> Point:
        """Return the point that ``recommended`` or the values swept name, such as ``0.5`` or ``8,20``.

        Examples
        --------
        >>> import sfumato as sf
        >>> result = sf.tradeoff("iris", sweep={"privacy": [0.1, 1.5]}, repeats=1)
        >>> result.find("1.5").setting
        {'privacy': 1.5}
        """
        if words == "recommended":
            if self.advised is None:
                raise UsageError(f"no point is recommended; name one by its values. {self.advice}")
            return next(p for p in self.points if p.setting == self.advised)
        named = {",".join(f"{v:g}" for v in p.setting.values()): p for p in self.points}
        try:
            point = named.get(",".join(f"{float(part):g}" for part in words.split(",")))
        except ValueError:
            point = None
        if point is None:
            raise UsageError(f"there is no point {words}; give recommended, or one of {' '.join(named)}")
        return point

    def _settings(self) -> str:
        return "; ".join(in_words(p.setting) for p in self.points)

    @property
    def in_plan(self) -> str | None:
        """What to write into a plan for the choice."""
        return None if self.choice is None else plan_words(self.law, self.choice)

    @property
    def begin_in_plan(self) -> str | None:
        """What to write into a plan for the setting to begin with."""
        return None if self.begin is None else plan_words(self.law, self.begin)

    @property
    def begin(self) -> dict[str, float] | None:
        """The setting to begin with: what attacks recommend, or what accuracy does where they recommend none."""
        return self.choice if self.advised is None else self.advised

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
        return [
            *filter(None, [explain_infinite(self.points)]),
            *bins,
            f"By accuracy alone: {self.why}",
            f"By attacks: {self.advice}",
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers, and one row of text per setting, below those of the true values and of the commonest class."""
        scores = ["accuracy", "±", "balanced", "AUC", "naive"]
        head = ["setting", *scores, "error of distributions", "mean 95 % interval", "ε of blurred columns"]
        error = f"{100 * self.original_error:.1f}"
        blank = [""] * 4
        truth = ["(true values)", f"{self.original:.1%}", error, *rank_cells(self.original_scores), *blank]
        guess = ["(commonest class)", f"{self.majority:.1%}", "", *rank_cells(self._without_model), *blank]
        return head, [truth, guess, *(p.cells() for p in self.points)]

    def left_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and one row of text per setting: what attacks leave, and how far distributions are off."""
        head = [
            "setting",
            "people found",
            "95 %",
            "interval promised",
            "interval left",
            "promises broken",
            "error, W₁ or TV",
        ]
        rows = []
        for p in self.points:
            low, high = p.found_interval
            wrong = p.measured["distribution_error"]
            rows.append(
                [
                    in_words(p.setting) + (" (recommended)" if p.setting == self.advised else ""),
                    f"{p.found:.1%}",
                    f"{low:.1%} to {high:.1%}",
                    "–" if p.promised is None else f"{p.promised:.0%}",
                    "–" if p.left is None else f"{p.left:.0%}",
                    f"{len(p.broken)} of {len(p.measured['columns'])}" if p.broken else "none",
                    "–" if wrong is None else f"{wrong:.3f}",
                ]
            )
        return head, rows

    def question_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headers and one row of text per setting: the error of the answer to each question, with its standard error."""
        asked = self.points[0].answers
        head = ["setting", *(answer["question"] for answer in asked)]
        truth = ["(true values)", *(format_number(answer["truth"], 4) for answer in asked)]
        rows = [
            [
                in_words(p.setting),
                *(f"{format_number(a['error'], 2)} ± {format_number(a['error_se'], 2)}" for a in p.answers),
            ]
            for p in self.points
        ]
        return head, [truth, *rows]

    @property
    def _without_model(self) -> Mapping[str, Any]:
        return dict(self.original_scores.get("without_model", {}))

    def html(self, next_step: str | None = None) -> str:
        """Return the report as one self-contained page.

        `next_step` is what its reader runs to release with the choice; by default a line of Python.
        """
        from sfumato.tradeoffs.tradeoff_page import report

        return report(self, next_step or self._release_call())

    def _release_call(self) -> str:
        options = dict(self.begin or {})
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
        head = ("law", "target", "rows", "strategy", "repeats", "seed", "swept")
        return {name: getattr(self, name) for name in head} | {
            "laws": dict(self.laws),
            "original_accuracy": self.original,
            "original_standard_error": self.original_error,
            "original_scores": dict(self.original_scores),
            "majority": self.majority,
            "labels": list(self.labels),
            "points": [p.to_dict() for p in self.points],
            "recommended": list(self.recommended),
            "choice": self.choice,
            "why": self.why,
            "notes": list(self.notes),
            "goal": {"found": self.goal},
            "advised": self.advised,
            "advice": self.advice,
        }


def _way(axis: Axis) -> str | None:
    if axis.parameter == "bins":
        return None
    return "higher" if axis.more_is_stronger else "lower"
