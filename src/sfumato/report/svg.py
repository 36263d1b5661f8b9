"""Charts as plain SVG text: no plotting library, deterministic, readable in light and dark, with tooltips.

A `Frame` maps data to pixels and draws axes; marks are functions that return SVG elements for a frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from sfumato.scales import Ruler
from sfumato.schema import EPOCH
from sfumato.text import escape

STYLE = """
.sf{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;--ink:#1c2430;--muted:#606b7a;--grid:#e4e8ee;--accent:#c2410c;
--second:#1d6fb8;--third:#2f7d42;--fourth:#8a5cc2;--paper:#ffffff;color:var(--ink)}
@media(prefers-color-scheme:dark){.sf{--ink:#e6e9ee;--muted:#8d97a5;--grid:#2e3641;--accent:#fb923c;--second:#60a5fa;
--third:#6fcf84;--fourth:#b794f4;--paper:#12161c}}
.sf text{fill:var(--ink)}.sf .tick{fill:var(--muted);font-size:11px}.sf .title{font-weight:600;font-size:13px}
.sf .axis{stroke:var(--muted)}.sf .gridline{stroke:var(--grid)}
"""


def format_pixel(value: float) -> str:
    """Return a pixel coordinate as text, short and the same everywhere."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def format_tick(value: float) -> str:
    """Return a tick label: 20K, 1.5M, 0.25.

    >>> format_tick(20_000), format_tick(0.25)
    ('20K', '0.25')
    """
    size = abs(value)
    for limit, mark in ((1e9, "G"), (1e6, "M"), (1e4, "K")):
        if size >= limit:
            return f"{value / (1e3 if mark == 'K' else limit):g}{mark}"
    return f"{value:.6g}"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round places between two ends: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(0, 10)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 24000)
"""Months between two marks of an axis of days."""


def day_ticks(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Return calendar days between two numbers of days since 1970: the first of months or years, or days where these are too few."""
    month = 365.2425 / 12
    months = next((m for m in MONTHS if (high - low) / (m * month) <= about), MONTHS[-1])
    if high - low < 2 * month:
        whole = {math.ceil(t - 1e-9) for t in ticks(low, high, about)}
        return [(float(t), _calendar(t).isoformat()) for t in sorted(whole) if low <= t <= high]
    first = _calendar(math.ceil(low))
    begin = (12 * first.year + first.month - 1) // months * months
    out = []
    for place in range(begin, begin + (about + 3) * months, months):
        if 12 * date.min.year <= place < 12 * (date.max.year + 1):
            day = date(place // 12, place % 12 + 1, 1)
            out.append((float((day - EPOCH).days), day.isoformat()))
    return [(at, text) for at, text in out if low <= at <= high]


def scale_ticks(ruler: Ruler, low: float, high: float, about: int = 6) -> list[tuple[float, str]]:
    """Return round values, at about even distances between two places on a scale.

    >>> from sfumato.scales import Log
    >>> [text for _, text in scale_ticks(Ruler(Log(), 0.0, 100_000.0), 0.0, 1.0)]
    ['0', '6', '50', '300', '2000', '10K', '100K']
    """
    values = ruler.to_values(np.linspace(low, high, about + 1))
    rounded = sorted({float(f"{value:.1g}") for value in values.tolist()})
    places = [(float(ruler.to_places(value)), format_tick(value)) for value in rounded]
    return [(place, text) for place, text in places if low <= place <= high]


def _calendar(day: int) -> date:
    return EPOCH + timedelta(days=day)


WITH_LEGEND = (56, 16, 40, 48)
"""Margins for a legend that would not fit beside the title."""
ONE_LINE = (34, 16, 40, 48)


@dataclass(frozen=True)
class Frame:
    """A rectangle of data space drawn into a rectangle of pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 520
    height: int = 260
    title: str = ""
    x_title: str = ""
    y_title: str = ""
    x_labels: Sequence[str] | None = None
    """Labels at 0, 1, 2, … for a categorical axis."""
    percent: bool = False
    x_percent: bool = False
    days: bool = False
    """Whether x counts days since 1970, to be written as calendar days."""
    ruler: Ruler | None = None
    """The scale that x is a place on, to be written as values."""
    margins: tuple[int, int, int, int] = ONE_LINE

    def px(self, value: float) -> float:
        """Return the pixel column of a data value."""
        _, right, _, left = self.margins
        low, high = self.x
        return left + (value - low) / ((high - low) or 1.0) * (self.width - left - right)

    def py(self, value: float) -> float:
        """Return the pixel row of a data value."""
        top, _, bottom, _ = self.margins
        low, high = self.y
        return self.height - bottom - (value - low) / ((high - low) or 1.0) * (self.height - top - bottom)

    def axes(self) -> str:
        """Draw grid lines, ticks and titles."""
        left, right, bottom = self.px(self.x[0]), self.px(self.x[1]), self.py(self.y[0])
        out = []
        for tick in ticks(*self.y):
            text = f"{100 * tick:g}%" if self.percent else format_tick(tick)
            out.append(_level("gridline", left, right, self.py(tick)))
            out.append(_tick(left - 6, self.py(tick), text, ' dy=".32em" text-anchor="end"'))
        if self.x_labels is None:
            marks = day_ticks(*self.x) if self.days else [(tick, format_tick(tick)) for tick in ticks(*self.x)]
            if self.x_percent:
                marks = [(tick, f"{100 * tick:g}%") for tick in ticks(*self.x)]
            if self.ruler is not None:
                marks = scale_ticks(self.ruler, *self.x)
            out += [_tick(self.px(tick), bottom + 15, text) for tick, text in marks]
        else:
            out += self._category_ticks(bottom)
        out.append(_level("axis", left, right, bottom))
        if self.title:
            out.append(f'<text class="title" x="{format_pixel(left)}" y="18">{escape(self.title)}</text>')
        if self.x_title:
            out.append(_tick((left + right) / 2, self.height - 6, escape(self.x_title)))
        if self.y_title:
            out.append(_tick(left, 30, escape(self.y_title), ""))
        return "".join(out)

    def _category_ticks(self, bottom: float) -> list[str]:
        labels = self.x_labels or ()
        room = max(3, int((self.width - 64) / max(len(labels), 1) / 5.8))
        every = max(1, math.ceil(len(labels) / 40))
        return [
            _tick(self.px(i), bottom + 15, f"{escape(_shorten(text, room))}<title>{escape(text)}</title>")
            for i, text in enumerate(labels)
            if i % every == 0
        ]


def _tick(x: float, y: float, markup: str, more: str = ' text-anchor="middle"') -> str:
    return f'<text class="tick" x="{format_pixel(x)}" y="{format_pixel(y)}"{more}>{markup}</text>'


def _level(kind: str, left: float, right: float, y: float) -> str:
    at = format_pixel(y)
    return f'<line class="{kind}" x1="{format_pixel(left)}" x2="{format_pixel(right)}" y1="{at}" y2="{at}"/>'


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 1, 1)] + "…"


def colour(name: str) -> str:
    """Return a colour that follows the reader's theme."""
    return f"var(--{name})"


def steps(frame: Frame, edges: Sequence[float], heights: Sequence[float], *, ink: str, fill: bool = False) -> str:
    """Draw a histogram outline over cell edges."""
    points = [(edges[0], 0.0)]
    for i, height in enumerate(heights):
        points += [(edges[i], height), (edges[i + 1], height)]
    points.append((edges[-1], 0.0))
    path = "M" + "L".join(f"{format_pixel(frame.px(x))},{format_pixel(frame.py(y))}" for x, y in points)
    paint = f'fill="{colour(ink)}" fill-opacity=".16"' if fill else 'fill="none"'
    return f'<path d="{path}" {paint} stroke="{colour(ink)}" stroke-width="1.6" stroke-linejoin="round"/>'


def band(frame: Frame, edges: Sequence[float], lower: Sequence[float], upper: Sequence[float], *, ink: str) -> str:
    """Draw the uncertainty of a histogram: one rectangle per cell."""
    return "".join(
        f'<rect x="{format_pixel(frame.px(edges[i]))}" width="{format_pixel(frame.px(edges[i + 1]) - frame.px(edges[i]))}" '
        f'y="{format_pixel(frame.py(high))}" height="{format_pixel(max(frame.py(low) - frame.py(high), 0.0))}" fill="{colour(ink)}" '
        f'fill-opacity=".2"><title>{format_tick(edges[i])} to {format_tick(edges[i + 1])}: {low:.4g} to {high:.4g}</title></rect>'
        for i, (low, high) in enumerate(zip(lower, upper, strict=True))
    )


def bars(
    frame: Frame, at: Sequence[float], heights: Sequence[float], *, ink: str, width: float, names: Sequence[str] = ()
) -> str:
    """Draw upright bars centred on places; `width` is in data units."""
    out = []
    for i, (x, height) in enumerate(zip(at, heights, strict=True)):
        left, right = frame.px(x - width / 2), frame.px(x + width / 2)
        tip = f"<title>{escape(names[i])}: {height:.4g}</title>" if names else ""
        out.append(
            f'<rect x="{format_pixel(left)}" width="{format_pixel(right - left)}" y="{format_pixel(frame.py(height))}" '
            f'height="{format_pixel(max(frame.py(0.0) - frame.py(height), 0.0))}" fill="{colour(ink)}" rx="1.5">{tip}</rect>'
        )
    return "".join(out)


def whiskers(
    frame: Frame, at: Sequence[float], lower: Sequence[float], upper: Sequence[float], *, ink: str = "ink"
) -> str:
    """Draw upright uncertainty lines."""
    return "".join(
        f'<path d="M{format_pixel(frame.px(x))},{format_pixel(frame.py(low))}V{format_pixel(frame.py(high))}" stroke="{colour(ink)}" '
        'stroke-width="1.4"/>'
        for x, low, high in zip(at, lower, upper, strict=True)
    )


def line(
    frame: Frame, xs: Sequence[float], ys: Sequence[float], *, ink: str, dots: bool = False, dashed: bool = False
) -> str:
    """Draw a line through points."""
    path = "M" + "L".join(
        f"{format_pixel(frame.px(x))},{format_pixel(frame.py(y))}" for x, y in zip(xs, ys, strict=True)
    )
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    out = f'<path d="{path}" fill="none" stroke="{colour(ink)}" stroke-width="1.8" stroke-linejoin="round"{dash}/>'
    if dots:
        out += "".join(
            f'<circle cx="{format_pixel(frame.px(x))}" cy="{format_pixel(frame.py(y))}" r="2.6" fill="{colour(ink)}">'
            f"<title>{format_tick(x)}: {y:.4g}</title></circle>"
            for x, y in zip(xs, ys, strict=True)
        )
    return out


def dot(frame: Frame, x: float, y: float, *, ink: str, tip: str, size: float = 3.2) -> str:
    """Draw one point; `tip` is what it is called."""
    at = f'cx="{format_pixel(frame.px(x))}" cy="{format_pixel(frame.py(y))}" r="{format_pixel(size)}"'
    return f'<circle {at} fill="{colour(ink)}"><title>{escape(tip)}</title></circle>'


def wrapped_legend(frame: Frame, entries: Sequence[tuple[str, str]]) -> str:
    """Draw the names of the inks from the left below the title, on as many lines as they need."""
    out, left, base = [], float(frame.margins[3]), 36
    x = left
    for ink, text in entries:
        length = 6.4 * len(text) + 26
        if x > left and x + length > frame.width:
            x, base = left, base + 17
        out.append(f'<rect x="{format_pixel(x)}" y="{base - 9}" width="10" height="10" rx="2" fill="{colour(ink)}"/>')
        out.append(_tick(x + 14, base, escape(text), ""))
        x += length
    return "".join(out)


def legend(frame: Frame, entries: Sequence[tuple[str, str]]) -> str:
    """Draw the names of the inks at the top right; on a line of their own where the frame has `WITH_LEGEND` margins."""
    out = []
    right = float(frame.width - frame.margins[1])
    base = frame.margins[0] - 10 if frame.margins[0] >= WITH_LEGEND[0] else 18
    for ink, text in reversed(entries):
        right -= 6.4 * len(text) + 4
        out.append(_tick(right, base, escape(text), ""))
        right -= 14
        out.append(
            f'<rect x="{format_pixel(right)}" y="{base - 9}" width="10" height="10" rx="2" fill="{colour(ink)}"/>'
        )
        right -= 10
    return "".join(out)


def margins_for(title: str, names: Sequence[str], width: int = Frame.width) -> tuple[int, int, int, int]:
    """Return margins with title and legend on one line where they fit, and on two where they do not."""
    beside = sum(6.4 * len(text) + 28 for text in names) + 7.4 * len(title) + WITH_LEGEND[1] + WITH_LEGEND[3]
    return WITH_LEGEND if beside > width else ONE_LINE


def drawing(frame: Frame, *marks: str, alone: bool = True) -> str:
    """Return the whole SVG; `alone` carries its own style, inside a page the page's style serves."""
    style = f"<style>{STYLE}</style>" if alone else ""
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>' if alone else ""
    name = escape(frame.title or "chart")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sf" viewBox="0 0 {frame.width} {frame.height}" '
        f'width="{frame.width}" height="{frame.height}" role="img" aria-label="{name}">{style}{paper}'
        f"{frame.axes()}{''.join(marks)}</svg>"
    )
