"""Which setting to begin with: the strongest that costs no accuracy, and the weakest at which attacks find few enough people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.advice import Goal, Share
from sfumato.text import join_names
from sfumato.tradeoffs.point import Point
from sfumato.tradeoffs.setting import Axis, Setting, in_words

SURE = 2.0
"""Standard errors within which an accuracy is taken to be as good as the best."""


def within_noise(point: Point, best: Point) -> bool:
    """Whether an accuracy is as good as the best one; by the best one's error alone, or unsteady settings would be forgiven."""
    return point.accuracy >= best.accuracy - SURE * best.standard_error


def recommend(points: Sequence[Point]) -> list[dict[str, Any]]:
    """For each γ the smallest N whose accuracy is within noise (two standard errors) of that γ's best (2006, section 6)."""
    out = []
    for mine in _by_strength(points):
        best = max(mine, key=lambda p: p.accuracy)
        chosen = smallest(mine)
        name, value = next(iter(chosen.setting.items()))
        bins = int(chosen.setting["bins"])
        out.append({name: value, "bins": bins, "accuracy": chosen.accuracy, "best": best.accuracy})
    return out


def smallest(points: Sequence[Point]) -> Point:
    """Of settings that differ in N the smallest within noise of the best."""
    best = max(points, key=lambda p: p.accuracy)
    return min((p for p in points if within_noise(p, best)), key=lambda p: p.setting.get("bins", 0.0))


def _by_strength(points: Sequence[Point]) -> list[list[Point]]:
    """Settings that differ in N alone, together."""
    values = sorted({next(iter(p.setting.values())) for p in points})
    return [[p for p in points if next(iter(p.setting.values())) == v] for v in values]


def ladder_of(points: Sequence[Point], axis: Axis) -> list[Point]:
    """Return one point per strength, from gentle to strong: of those that differ in N the smallest within noise of the best."""
    ladder = [smallest(mine) for mine in _by_strength(points)]
    return ladder if axis.more_is_stronger else ladder[::-1]


def isotonic(accuracies: Sequence[float]) -> list[float]:
    """The nearest curve that never rises, from gentle to strong: runs that rise are replaced by their mean.

    More noise cannot tell more, so a setting that beats a gentler one did so by luck, or the gentler one had none (least
    squares under an order, by pooling adjacent violators: Ayer et al. 1955).
    """
    runs: list[tuple[float, int]] = []
    for accuracy in accuracies:
        runs.append((accuracy, 1))
        while len(runs) > 1 and runs[-2][0] < runs[-1][0]:
            (after, m), (before, n) = runs.pop(), runs.pop()
            runs.append(((before * n + after * m) / (n + m), n + m))
    return [mean for mean, size in runs for _ in range(size)]


def choose(
    points: Sequence[Point], axis: Axis, original: tuple[float, float], majority: float
) -> tuple[dict[str, float] | None, str]:
    """The setting to begin with and what speaks for it; None, and the reason, where accuracy decides nothing.

    The strongest setting whose accuracy, evened out, is surely above guessing and within two standard errors of the best one, or
    of the true values where the best one had the luck to beat them. `original` is their accuracy with its standard error.
    """
    truth, error = original
    if truth - SURE * error <= majority:
        return None, (
            f"No setting is recommended: even a tree from the true values ({truth:.1%}) is not surely better than always guessing "
            f"the commonest class ({majority:.1%}), so accuracy cannot tell settings apart. Look at balanced accuracy and AUC, "
            "choose by privacy alone, or name another target."
        )
    ladder = ladder_of(points, axis)
    even = isotonic([p.accuracy for p in ladder])
    sure = [a - SURE * p.standard_error > majority for a, p in zip(even, ladder, strict=True)]
    if not any(sure):
        top = max(ladder, key=lambda p: p.accuracy)
        return None, (
            f"No setting is recommended: at none of them is the tree surely better than always guessing the commonest class "
            f"({majority:.1%}); the best is {top.accuracy:.1%} at {in_words(top.setting)}. Sweep gentler values of "
            f"{axis.parameter}, or give more rows."
        )
    if len(ladder) == 1:
        return None, (
            f"No setting is recommended: {in_words(ladder[0].setting)} alone has nothing to be compared with. It gives "
            f"{ladder[0].accuracy:.1%}, the true values {truth:.1%}."
        )
    first = [p for p, a in zip(ladder, even, strict=True) if a == even[0]]
    margin = SURE * sum(p.standard_error for p in first) / len(first)
    best = min(even[0], truth)
    place = max(i for i, a in enumerate(even) if a >= best - margin and (sure[i] or i == 0))
    chosen = ladder[place]
    words = f"{in_words(chosen.setting)}: it gives {chosen.accuracy:.1%}"
    if even[place] != chosen.accuracy:
        words += f" ({even[place]:.1%} evened out among its neighbours)"
    if best > even[place]:
        words += f", within two standard errors ({100 * margin:.1f} points) of the best, {best:.1%}"
    if place == len(ladder) - 1:
        way = "above" if axis.more_is_stronger else "below"
        beyond = f"It is the strongest setting swept: try values {way} it."
    elif even[place + 1] >= best - margin:
        beyond = "Stronger settings cannot be told from guessing the commonest class."
    else:
        beyond = "Stronger settings cost more than chance explains."
    return chosen.setting, f"{words}. The true values give {truth:.1%}. {beyond}"


def is_safe(point: Point, goal: Goal, confidence: float = 0.98) -> bool:
    """Return whether audits will find no more people than the goal says, in this share of releases, and break no promise."""
    about = point.measured["people_found"]
    share = Share(float(about["share"]), (float(about["high"]) - float(about["low"])) / 4)
    max_people = 500  # that an audit looks for
    people = min(int(about["rows"]), max_people)
    few = goal.is_met_by(share, people, float(about["chance"]), surely=False, confidence=confidence)
    return few and not point.broken and not point.nearly_broken


def recommend_safe(
    points: Sequence[Point], axis: Axis, goal: Goal, majority: float = 0.0
) -> tuple[Setting | None, str]:
    """Return the weakest setting that is safe and what speaks for it; None, and the reason, where no setting is.

    Safe in 98 of 100 releases, or in most where none swept is safer: in a table of few rows one audit says little. Of settings that
    differ in N the one is looked at that `smallest` takes. `majority` is how often the commonest class is right.
    """
    ladder = ladder_of(points, axis)
    most = f"{100 * goal.found:.3g} %"
    for confidence, how_often in ((0.98, ""), (0.5, " in most releases, and more in some")):
        point = next((p for p in ladder if is_safe(p, goal, confidence)), None)
        if point is None:
            continue
        few = f"no more than {most} of people{how_often} ({describe_found(point)})"
        words = [
            f"{in_words(point.setting)}: the weakest noise swept at which an audit will find {few} and break no promise.",
            f"A tree from it is right on {point.accuracy:.1%}.",
        ]
        if point.accuracy - SURE * point.standard_error <= majority:
            words.append("That is not surely better than naming the commonest class.")
        if point is ladder[0] and len(ladder) > 1:
            words.append("It is the weakest noise swept: try weaker values.")
        return point.setting, " ".join(words)
    strongest = ladder[-1]
    where = in_words(strongest.setting)
    if names := (*strongest.broken, *strongest.nearly_broken):
        reason = f"attacks break the promise of {join_names(names)}, or nearly do, at {where}"
    else:
        reason = f"{describe_found(strongest)} of people are found at {where}, and {most} may be"
    return None, (
        f"No setting swept is safe to publish: {reason}. Sweep stronger values, withhold columns, or let a plan choose: it withholds "
        "the columns that cost least, and promises less where others tell a column."
    )


def describe_found(point: Point) -> str:
    """Return ``1.2 %, 0.6 to 2.1 %``: people found beyond chance with the 95 % interval."""
    low, high = point.found_interval
    return f"{100 * point.found:.1f} %, {100 * low:.1f} to {100 * high:.1f} %"
