"""Scores of models as tables and a picture: from plain data, the same words in a terminal and on every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report import charts, svg

Rows = tuple[list[str], list[list[str]]]
"""Headers, and rows of text."""

TITLES = {
    "accuracy": ("accuracy", "{:.1%}"),
    "balanced_accuracy": ("balanced accuracy", "{:.1%}"),
    "auc": ("AUC", "{:.3f}"),
    "log_loss": ("log loss (lower is better)", "{:.3f}"),
    "brier": ("Brier score (lower is better)", "{:.3f}"),
}
"""What people call each score, and how they write it."""


def format_score(key: str, value: float | None) -> str:
    """Return a score as a person reads it."""
    return "–" if value is None else TITLES[key][1].format(value)


def tabulate_scores(by_name: Mapping[str, Mapping[str, Any]], *, intervals: bool = False) -> Rows:
    """Return a row per score and a column per model, all on the same rows, and last what each score is without a model."""
    first = next(iter(by_name.values()))
    rows = []
    for key, (title, _) in TITLES.items():
        cells = [format_score(key, about[key]) for about in by_name.values()]
        if intervals:
            cells.append(" to ".join(format_score(key, end) for end in first["interval"][key]))
        rows.append([title, *cells, format_score(key, first["without_model"][key])])
    between = ["95 % interval"] if intervals else []
    return ["score", *by_name, *between, "without a model"], rows


def tabulate_calibration(calibration: Mapping[str, Any]) -> Rows:
    """Return bins of predicted probability beside what came true."""
    rows = [
        [
            f"{b['predicted']:.1%}",
            f"{b['observed']:.1%}",
            "{:.1%} to {:.1%}".format(*b["interval"]),
            f"{b['rows']:,}",
        ]
        for b in calibration["bins"]
    ]
    return ["predicted", "came true", "95 % interval", "rows"], rows


def tabulate_confusion(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> Rows:
    """Return rows by true class and predicted class."""
    rows = [[label, *(f"{n:,}" for n in counts)] for label, counts in zip(labels, confusion, strict=True)]
    return ["true class", *(f"taken for {label}" for label in labels)], rows


def calibration_title(calibration: Mapping[str, Any]) -> str:
    """Return whose probabilities were checked: those of one class, or of the predicted one."""
    checked = calibration["class"]
    return f"Calibration of {'the predicted class' if checked is None else f'class {checked}'}"


def calibration_error(calibration: Mapping[str, Any]) -> str:
    """Return how far the probabilities are off."""
    return f"off by {100 * calibration['expected_error']:.1f} points on average"


def draw_calibration(calibration: Mapping[str, Any], *, alone: bool = True, width: int = svg.Frame.width) -> str:
    """Draw predicted probabilities beside what came true, with 95 % intervals."""
    title, below = calibration_title(calibration), f", {calibration_error(calibration)}"
    return charts.calibration(title, calibration["bins"], below=below, alone=alone, width=width)
