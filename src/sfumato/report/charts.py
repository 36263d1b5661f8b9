"""The pictures people look at first: a distribution as released, as reconstructed, and, where it is known, as it was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, Grid
from sfumato.report import svg
from sfumato.scales import Ruler
from sfumato.text import escape

MAX_LABELS, SHOWN_LABELS = 60, 30
"""Of more labels than `MAX_LABELS` only the commonest are drawn, and the title says how much all others have together."""

INKS = ("accent", "second", "third", "fourth", "ink", "muted")
TRUE_FIRST = ("second", "accent", "muted", "fourth")
"""The colours of distributions, for bars of the truth, what was reconstructed, and the release as it is."""


def _density(mass: FloatArray, edges: FloatArray) -> FloatArray:
    return mass / np.diff(edges)


def distribution(
    title: str,
    grid: Grid,
    mass: FloatArray,
    *,
    lower: FloatArray | None = None,
    upper: FloatArray | None = None,
    released: tuple[Grid, FloatArray] | None = None,
    original: FloatArray | None = None,
    alone: bool = True,
    days: bool = False,
    ruler: Ruler | None = None,
) -> str:
    """Draw released values in grey, the reconstruction with its band, and the original where it is known.

    With `days` the numbers are days since 1970, and the axis shows calendar days. With a `ruler` they are places on its scale, and
    the axis shows values.
    """
    if grid.labels is not None:
        return _labels(title, grid.labels, mass, lower, upper, released, original, alone=alone)
    edges = grid.finite_edges
    tall = [_density(mass, edges).max()]
    low, high = float(edges[0]), float(edges[-1])
    names = [("accent", "reconstructed")]
    if released is not None:
        wide = released[0].finite_edges
        released_density = _density(released[1] / max(released[1].sum(), 1.0), wide)
        kept = released_density > released_density.max() / 500
        low, high = min(low, float(wide[:-1][kept].min())), max(high, float(wide[1:][kept].max()))
        tall.append(released_density.max())
        names = [("muted", "released"), *names]
    if original is not None:
        tall.append(_density(original, edges).max())
        names = [*names, ("second", "original")]
    if upper is not None:
        tall.append(np.minimum(_density(upper, edges), 2 * max(tall)).max())
    frame = svg.Frame(
        (low, high),
        (0.0, 1.06 * float(max(tall))),
        title=title,
        x_title="" if ruler is None else ruler.scale.in_words(),
        y_title="density a day" if days else "density",
        days=days,
        ruler=ruler,
        margins=svg.margins_for(title, [name for _, name in names]),
    )
    marks = []
    if released is not None:
        marks.append(svg.steps(frame, wide.clip(low, high).tolist(), released_density.tolist(), ink="muted", fill=True))
    if lower is not None and upper is not None:
        bottom, top = _density(lower, edges), np.minimum(_density(upper, edges), frame.y[1])
        marks.append(svg.band(frame, edges.tolist(), bottom.tolist(), top.tolist(), ink="accent"))
    if original is not None:
        marks.append(svg.steps(frame, edges.tolist(), _density(original, edges).tolist(), ink="second"))
    marks.append(svg.steps(frame, edges.tolist(), _density(mass, edges).tolist(), ink="accent"))
    return svg.drawing(frame, *marks, svg.legend(frame, names), alone=alone)


def _labels(
    title: str,
    labels: tuple[str, ...],
    mass: FloatArray,
    lower: FloatArray | None,
    upper: FloatArray | None,
    released: tuple[Grid, FloatArray] | None,
    original: FloatArray | None,
    *,
    alone: bool,
) -> str:
    series = [("accent", "reconstructed", mass)]
    if released is not None and len(released[1]) == len(mass):
        series = [("muted", "released", released[1] / max(released[1].sum(), 1.0)), *series]
    if original is not None:
        series = [*series, ("second", "original", original)]
    if len(labels) > MAX_LABELS:
        largest = np.argsort(-mass, kind="stable")[:SHOWN_LABELS]
        others = 100 * max(1 - float(mass[largest].sum()), 0.0)
        title = f"{title}: the {SHOWN_LABELS} commonest of {len(labels):,} labels, all others {others:.1f} %"
        labels = tuple(labels[i] for i in largest)
        series = [(ink, name, heights[largest]) for ink, name, heights in series]
        lower, upper = (None if end is None else end[largest] for end in (lower, upper))
    top = max(float(np.max(s)) for _, _, s in series)
    if upper is not None:
        top = max(top, float(np.max(upper)))
    frame = svg.Frame(
        (-0.6, len(labels) - 0.4),
        (0.0, 1.06 * top),
        title=title,
        x_labels=labels,
        percent=True,
        margins=svg.margins_for(title, [name for _, name, _ in series]),
    )
    width = 0.8 / len(series)
    marks = []
    for i, (ink, _, heights) in enumerate(series):
        shift = (i - (len(series) - 1) / 2) * width
        at = [j + shift for j in range(len(labels))]
        marks.append(svg.bars(frame, at, heights.tolist(), ink=ink, width=0.92 * width, names=labels))
        if ink == "accent" and lower is not None and upper is not None:
            marks.append(svg.whiskers(frame, at, lower.tolist(), upper.tolist()))
    return svg.drawing(frame, *marks, svg.legend(frame, [(ink, name) for ink, name, _ in series]), alone=alone)


def comparison(
    title: str,
    values: Mapping[str, float],
    *,
    inks: Sequence[str] = INKS,
    alone: bool = True,
    percent: bool = True,
    width: int = svg.Frame.width,
) -> str:
    """Draw one bar per name, such as the accuracy of several ways to mine."""
    names: Sequence[str] = tuple(values)
    frame = svg.Frame(
        (-0.6, len(names) - 0.4),
        (0.0, 1.05 if percent else 1.1 * max(values.values())),
        width=width,
        title=title,
        x_labels=names,
        percent=percent,
    )
    parts = [
        svg.bars(frame, [i], [v], ink=inks[i % len(inks)], width=0.62, names=[n]) + _value(frame, i, v, percent=percent)
        for i, (n, v) in enumerate(values.items())
    ]
    return svg.drawing(frame, *parts, alone=alone)


def intervals(
    title: str,
    names: Sequence[str],
    values: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    *,
    alone: bool = True,
) -> str:
    """Draw one point per name with its interval; beyond `MAX_LABELS` names, the first ones."""
    shown = len(names) if len(names) <= MAX_LABELS else SHOWN_LABELS
    title = title if shown == len(names) else f"{title}: the first {shown} of {len(names):,} groups"
    names, values, lower, upper = names[:shown], values[:shown], lower[:shown], upper[:shown]
    low, high = min([0.0, *lower, *values]), max([0.0, *upper, *values])
    frame = svg.Frame(
        (-0.6, max(shown, 1) - 0.4), (low, high + 0.06 * ((high - low) or 1.0)), title=title, x_labels=names
    )
    at = [float(i) for i in range(shown)]
    points = [svg.line(frame, [x], [y], ink="accent", dots=True) for x, y in zip(at, values, strict=True)]
    return svg.drawing(frame, svg.whiskers(frame, at, lower, upper), *points, alone=alone)


def _value(frame: svg.Frame, at: float, value: float, *, percent: bool) -> str:
    text = f"{100 * value:.1f}%" if percent else svg.format_tick(value)
    return f'<text x="{svg.format_pixel(frame.px(at))}" y="{svg.format_pixel(frame.py(value) - 5)}" text-anchor="middle">{text}</text>'


def calibration(
    title: str,
    bins: Sequence[Mapping[str, Any]],
    *,
    below: str = "",
    alone: bool = True,
    width: int = svg.Frame.width,
) -> str:
    """Draw the share that came true over the probability that was predicted, with 95 % intervals; both axes reach equally far.

    `below` is added to the title of the lower axis. Each of the `bins` has `predicted`, `observed`, `rows` and the ends of its `interval`. Probabilities that are true lie on
    the dashed line. The larger a dot, the more rows it stands for.
    """
    step = 0.1  # the axes of a rare class end at the next tenth, not at 1
    highest = max(max(b["predicted"], b["interval"][1]) for b in bins)
    top = min(1.0, step * math.ceil(highest / step - 1e-9))
    names = [("accent", "predictions, 95 % interval"), ("second", "as predicted")]
    frame = svg.Frame(
        (0.0, top),
        (0.0, top),
        width=width,
        title=title,
        x_title=f"predicted probability{below}",
        y_title="share that came true",
        height=360,
        margins=svg.WITH_LEGEND,
    )
    xs = [b["predicted"] for b in bins]
    low, high = zip(*(b["interval"] for b in bins), strict=True)
    total = sum(b["rows"] for b in bins)
    dots = [
        f'<circle cx="{svg.format_pixel(frame.px(b["predicted"]))}" cy="{svg.format_pixel(frame.py(b["observed"]))}" '
        f'r="{svg.format_pixel(2 + 3 * math.sqrt(b["rows"] / total))}" fill="{svg.colour("accent")}"><title>'
        f"{b['predicted']:.1%} predicted, {b['observed']:.1%} came true, {b['rows']:,} rows</title></circle>"
        for b in bins
    ]
    return svg.drawing(
        frame,
        svg.line(frame, (0.0, top), (0.0, top), ink="second", dashed=True),
        svg.whiskers(frame, xs, low, high, ink="accent"),
        *dots,
        svg.legend(frame, names),
        alone=alone,
    )


def heat_map(title: str, names: Sequence[str], values: FloatArray, words: Sequence[Sequence[str]]) -> str:
    """Draw a square table of numbers from −1 to 1: one ink above 0, another below, the stronger the farther from it.

    Parameters
    ----------
    title
        What it shows.
    names
        Of the rows and columns.
    values
        The numbers, NaN where there is none.
    words
        What to say of each cell.
    """
    cell, top, each = 44, 40, 6.4
    left = round(16 + each * min(max(map(len, names), default=1), 28))
    width, height = left + cell * len(names) + 16, top + cell * len(names) + left
    parts = [f'<text class="title" x="16" y="22">{escape(title)}</text>']
    for i, name in enumerate(names):
        short = escape(name if len(name) <= 28 else name[:27] + "…")
        middle = top + cell * i + cell / 2
        parts.append(f'<text class="tick" x="{left - 8}" y="{middle}" dy=".32em" text-anchor="end">{short}</text>')
        x, y = left + cell * i + cell / 2, top + cell * len(names) + 12
        turn = f'transform="rotate(-60 {x} {y})"'
        parts.append(f'<text class="tick" x="{x}" y="{y}" text-anchor="end" {turn}>{short}</text>')
        for j in range(len(names)):
            value = float(values[i, j])
            at = f'x="{left + cell * j}" y="{top + cell * i}" width="{cell - 2}" height="{cell - 2}" rx="3"'
            if math.isnan(value):
                parts.append(f'<rect {at} fill="none" stroke="{svg.colour("grid")}"/>')
                continue
            ink, strength = ("accent" if value > 0 else "second"), round(0.08 + 0.8 * min(abs(value), 1.0), 3)
            parts.append(
                f'<rect {at} fill="{svg.colour(ink)}" fill-opacity="{strength}"><title>{escape(words[i][j])}</title></rect>'
            )
            text_x, text_y = left + cell * j + cell / 2 - 1, top + cell * i + cell / 2
            parts.append(f'<text x="{text_x}" y="{text_y}" dy=".32em" text-anchor="middle">{value:.2f}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sf" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}"><style>{svg.STYLE}</style><rect width="100%" height="100%" '
        f'fill="var(--paper)"/>{"".join(parts)}</svg>'
    )


def note(title: str, words: str) -> str:
    """Draw a title and a line of words where there is nothing to draw; for a sheet of several drawings."""
    return f'<text class="title" x="44" y="18">{escape(title)}</text><text class="tick" x="44" y="40">{escape(words)}</text>'


def stack(drawings: Sequence[str], columns: int = 2, width: int = 520, height: int = 260) -> str:
    """Draw several drawings on one sheet."""
    rows = -(-len(drawings) // columns)
    columns = min(columns, len(drawings))
    parts: list[Any] = [
        f'<g transform="translate({(i % columns) * width},{(i // columns) * height})">{d}</g>'
        for i, d in enumerate(drawings)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sf" viewBox="0 0 {columns * width} {rows * height}" '
        f'width="{columns * width}" height="{rows * height}"><style>{svg.STYLE}</style>'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>{"".join(parts)}</svg>'
    )
