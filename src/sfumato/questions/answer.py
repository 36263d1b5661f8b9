"""The answer to a question: a row for each group, and in it figures with their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sfumato.findings import Note
from sfumato.questions.estimate import Certainty, Estimate
from sfumato.report import charts


@dataclass(frozen=True, eq=False)
class Answer:
    """What a release answers.

    Attributes
    ----------
    columns : tuple of str
        The columns of the answer: groups and figures, as they were asked for.
    rows : tuple of dict
        One mapping per group: the value of the group, None for NULL, or an `Estimate`.
    rests_on : int
        The rows of the release.
    notes : tuple of Note
        What to bear in mind.
    question : str
        What was asked.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     answer = sf.ask(release, "SELECT class, COUNT(*) AS n FROM release GROUP BY class")
    >>> answer.columns, len(answer), answer.rows[0]["n"].kind
    (('class', 'n'), 3, <Certainty.EXACT: 'exact'>)
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    rests_on: int
    notes: tuple[Note, ...] = ()
    question: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Mapping[str, Any]:
        return self.rows[place]

    def __repr__(self) -> str:
        return f"Answer({len(self.rows)} rows of {', '.join(self.columns)})"

    @property
    def figures(self) -> tuple[str, ...]:
        """The columns that hold figures."""
        kinds = [{type(row[name]) for row in self.rows} for name in self.columns]
        return tuple(name for name, types in zip(self.columns, kinds, strict=True) if Estimate in types)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `columns`, and `rows` with `estimate`, `se`, `low`, `high` and `rests_on` of each figure."""
        rows = [
            {name: value.to_dict() if isinstance(value, Estimate) else value for name, value in row.items()}
            for row in self.rows
        ]
        return {"question": self.question, "columns": list(self.columns), "rests_on": self.rests_on, "rows": rows}

    def to_arrow(self) -> pa.Table:
        """Return a table with one row per group, and four columns for each figure: itself, its error, both ends, and its kind."""
        out: dict[str, list[Any]] = {}
        figures = set(self.figures)
        for name in self.columns:
            values = [row[name] for row in self.rows]
            if name not in figures:
                out[name] = _align_kinds(values)
                continue
            plain = [value.to_dict() for value in values]
            out[name] = [p["estimate"] for p in plain]
            for part in ("se", "low", "high", "kind"):
                out[f"{name} {part}"] = [p[part] for p in plain]
            if any("guaranteed" in p for p in plain):
                for end in ("low", "high"):
                    out[f"{name} guaranteed {end}"] = [p.get("guaranteed", {}).get(end) for p in plain]
        return pa.table(out)

    def to_svg(self) -> str:
        """Draw each figure of all groups, with its interval."""
        figures = self.figures
        drawings = []
        for name in figures:
            known = [row for row in self.rows if row[name].value is not None]
            groups = [
                " ".join("NULL" if row[n] is None else str(row[n]) for n in self.columns if n not in figures)
                for row in known
            ]
            values = [row[name].value for row in known]
            ends = [
                [getattr(row[name], end) if getattr(row[name], end) is not None else row[name].value for row in known]
                for end in ("low", "high")
            ]
            if known:
                drawings.append(charts.intervals(name, groups, values, *ends, alone=False))
            else:
                drawings.append(charts.note(name, "no group of this can be told"))
        return charts.stack(drawings)

    def to_text(self) -> tuple[list[str], list[list[str]]]:
        """Return the headers and the cells of a table for the terminal."""
        figures = set(self.figures)
        rows = [
            [
                format_estimate(row[n]) if n in figures else "NULL" if row[n] is None else str(row[n])
                for n in self.columns
            ]
            for row in self.rows
        ]
        return list(self.columns), rows


def _align_kinds(values: list[Any]) -> list[Any]:
    """Return group values as Arrow can hold them: texts where they are of several kinds."""
    kinds = {type(v) for v in values if v is not None}
    return values if len(kinds) <= 1 else [None if v is None else str(v) for v in values]


def format_estimate(estimate: Estimate) -> str:
    """Return a figure in words for a table on the terminal.

    Examples
    --------
    >>> format_estimate(Estimate(0.25, 0.01, 0.23, 0.27))
    '0.250 (0.230 … 0.270)'
    >>> format_estimate(Estimate.exact(1200.0, 5000))
    '1,200'
    """
    if estimate.kind is Certainty.UNTOLD:
        return "cannot be told"
    if estimate.value is None:
        return "NULL"
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return format_number(estimate.value, estimate.value)
    scale = estimate.high - estimate.low
    value, low, high = (format_number(v, v, scale) for v in (estimate.value, estimate.low, estimate.high))
    words = f"{value} ({low} … {high})"
    if estimate.kind is Certainty.GUARANTEED:
        return f"{words} guaranteed"
    if estimate.guaranteed is not None:
        ends = " … ".join(format_number(v, v, scale) for v in estimate.guaranteed)
        words += f", guaranteed {ends}"
    return words


def format_number(value: float, size: float, scale: float | None = None) -> str:
    """Return a number with as many digits as its interval deserves: two of the interval's width.

    >>> format_number(12345.678, 12345.678, 200.0), format_number(0.5, 0.5)
    ('12,346', '0.5')
    """
    if scale is None or scale <= 0:
        return f"{value:,.0f}" if float(size).is_integer() and abs(size) < 1e15 else f"{value:.6g}"
    digits = max(0, 1 - math.floor(math.log10(scale)))
    return f"{value:,.{min(digits, 12)}f}"
