"""Which setting to begin with: as much privacy as costs no accuracy that can be told from chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.tradeoffs.point import Point
from sfumato.tradeoffs.setting import Axis, in_words

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
            f"the commonest class ({majority:.1%}), so accuracy cannot tell settings apart. Choose by privacy alone, or name "
            "another target."
        )
    ladder = [smallest(mine) for mine in _by_strength(points)]
    if not axis.more_is_stronger:
        ladder.reverse()
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
