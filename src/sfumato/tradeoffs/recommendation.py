"""The setting that attacks recommend: the weakest noise at which few enough people are found and no promise is broken."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.advice import Goal
from sfumato.text import join_names
from sfumato.tradeoffs.point import Point, ladder_of
from sfumato.tradeoffs.setting import Axis, Setting, in_words


def is_safe(point: Point, goal: Goal) -> bool:
    """Return whether surely no more people are found than the goal says, beyond chance, and no promise is broken."""
    return point.found_interval[1] <= goal.found and not point.broken


def recommend_safe(points: Sequence[Point], axis: Axis, goal: Goal) -> tuple[Setting | None, str]:
    """Return the weakest setting that is safe and what speaks for it; None, and the reason, where no setting is.

    Of settings that differ in N the one is looked at that `smallest` takes.
    """
    ladder = ladder_of(points, axis)
    most = f"{100 * goal.found:.3g} %"
    for place, point in enumerate(ladder):
        if is_safe(point, goal):
            where = "The weakest noise swept reaches it: try weaker values." if place == 0 and len(ladder) > 1 else ""
            words = (
                f"{in_words(point.setting)}: the weakest noise swept at which attacks find surely no more than {most} of people "
                f"({describe_found(point)}) and break no promise. A tree from it is right on {point.accuracy:.1%}."
            )
            return point.setting, " ".join(filter(None, [words, where]))
    strongest = ladder[-1]
    reasons = []
    if strongest.found_interval[1] > goal.found:
        reasons.append(
            f"{describe_found(strongest)} of people are found at {in_words(strongest.setting)}, and {most} may be"
        )
    if strongest.broken:
        reasons.append(f"attacks break the promise of {join_names(strongest.broken)} at {in_words(strongest.setting)}")
    if not reasons:
        reasons.append("the strongest noise is safe, and the settings below are not")
    return None, (
        f"No setting swept is safe to publish: {'; '.join(reasons)}. Sweep stronger values, withhold columns, or let a plan choose: it "
        "withholds the columns that cost least, and promises less where others tell a column."
    )


def describe_found(point: Point) -> str:
    """Return ``1.2 % (0.6 to 2.1 %)``: people found beyond chance with the 95 % interval."""
    low, high = point.found_interval
    return f"{100 * point.found:.1f} %, {100 * low:.1f} to {100 * high:.1f} %"
