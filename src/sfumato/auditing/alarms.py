"""Alarms of an audit in words: what happened, to which columns, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.attacks import Scope
from sfumato.auditing.promises import Promise, shorten
from sfumato.findings import Note
from sfumato.text import join_names


def describe_narrowed(narrowed: Sequence[Promise], of: int) -> str:
    """Say how many are narrowed, and by what: the column's own distribution, or what lies outside the column."""
    causes = [
        (sum(p.scope is Scope.COLUMN for p in narrowed), "by the distribution of their column"),
        (sum(p.scope is Scope.COLUMNS for p in narrowed), "through other columns"),
    ]
    causes.append((len(narrowed) - sum(n for n, _ in causes), "by other attacks"))
    given = [(n, words) for n, words in causes if n]
    if len(given) == 1:
        return f"{len(narrowed)} of {of} are narrowed {given[0][1]}"
    return f"{len(narrowed)} of {of} are narrowed, " + ", ".join(f"{n} {words}" for n, words in given)


def make_alarm(level: str, words: str, remedy: Note, items: Sequence[str] = ()) -> dict[str, Any]:
    """Return one alarm as plain data; its code is that of the remedy."""
    return {"level": level, "words": words, "items": list(items), "remedy": remedy}


def name_rows(rows: Sequence[int]) -> str:
    """Name rows of the original by their numbers, cut short where there are many."""
    if len(rows) == 1:
        return f"row {rows[0]} of the original"
    return f"{len(rows):,} rows of the original: {join_names([str(r) for r in rows], 12)}"


def group_alarms(level: str, kept: Sequence[Promise]) -> list[dict[str, Any]]:
    """Return one alarm for all promises that the same remedy would fix, the worst first."""
    out = []
    for remedy in dict.fromkeys(p.remedy for p in kept):
        group = sorted((p for p in kept if p.remedy == remedy), key=lambda p: p.kept_share)
        by = " and ".join(f"“{title}”" for title in dict.fromkeys(p.title for p in group))
        items = [
            f"{p.attribute}: {shorten(p.left)} of {shorten(p.reference if p.promised is None else p.promised)} left"
            for p in group
        ]
        many = f"{len(group)} promised intervals are" if len(group) > 1 else "One promised interval is"
        out.append(make_alarm(level, f"{many} {level} by {by}.", remedy, items))
    return out


def make_repeats_alarm(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the alarm about several releases of the same rows with fresh noise, with what is left of each interval."""
    items = []
    for name, column in about["columns"].items():
        wide, expected, left = (
            column[k] for k in ("interval_width_95", "expected_after_averaging", "measured_after_averaging")
        )
        noise = f", noise of width {shorten(wide)} averages to {shorten(expected)}" if expected is not None else ""
        measured = f", {shorten(left)} left" if left is not None else ""
        items.append(f"{name}: {column['independent_draws']} draws{noise}{measured}")
    words = f"The ledger knows {about['releases_known_to_the_ledger']} releases of these rows with noise of their own."
    return make_alarm(
        "narrowed",
        words,
        Note("SF406", "Whoever holds them all can average. Release no more, and withdraw what you can."),
        items,
    )
