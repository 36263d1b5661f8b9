"""The pictures of an audit: promises beside what is left, attacks beside their baselines, records by how exposed they are.

Every chart can be drawn narrow, for a telephone: names then stand above their bars instead of beside them, and no text shrinks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.report import svg
from sfumato.report.svg import colour, format_pixel
from sfumato.text import escape

STYLE = """
.sf{--bad:#b91c1c;--amber:#955608;--good:#216a3c;--track:#dfe4eb;--promise:#8191a6}
@media(prefers-color-scheme:dark){.sf{--bad:#f87171;--amber:#fbbf24;--good:#6fcf84;--track:#2b3440;--promise:#64748b}}
.sf .name{font-size:12.5px}.sf .value{font-size:11.5px;font-variant-numeric:tabular-nums}
.sf .soft{fill:var(--muted);font-size:11.5px}
"""
INK = {
    "broken": "bad",
    "narrowed": "amber",
    "inferred": "amber",
    "kept": "good",
    "no promise": "second",
    "in the clear": "muted",
}
WIDE, NARROW = 920, 330
BOTTOM = 26
QUARTERS = {share: f"{share:.0%}" for share in (0.0, 0.25, 0.5, 0.75, 1.0)}


@dataclass(frozen=True)
class Layout:
    """Where the rows of a chart stand: names left of the bars and values right of them, or both above where there is no room."""

    left: int
    right: int
    row: int
    rows: int
    legend: Sequence[tuple[str, str, str]]
    narrow: bool

    @property
    def width(self) -> int:
        """Return the width of the chart."""
        return NARROW if self.narrow else WIDE

    @property
    def bars(self) -> tuple[float, float]:
        """Where the bars begin, and how long the longest may be."""
        left, right = (6, 10) if self.narrow else (self.left, self.right)
        return left, self.width - left - right

    @property
    def top(self) -> int:
        """Return where the rows begin, below title and legend."""
        return 36 + 18 * len(self._legend_lines())

    @property
    def step(self) -> int:
        """Pixels from row to row."""
        return self.row + (18 if self.narrow else 0)

    @property
    def height(self) -> int:
        """Return the height of the chart."""
        return self.top + self.step * self.rows + BOTTOM

    def middle(self, i: int) -> float:
        """Return the height of the bar of a row."""
        return self.top + self.step * i + self.row / 2 + (18 if self.narrow else 0)

    def words(self, i: int, name: str, value: str = "", ink: str | None = None) -> str:
        """Draw the name of a row, and its value."""
        if self.narrow:
            y = self.top + self.step * i + 9
            return _text(0, y, _short(name, 47 - len(value)), kind="name") + _text(
                self.width, y, value, kind="value", anchor="end", ink=ink
            )
        name = _short(name, int(self.left / 6.9))
        return _text(self.left - 12, self.middle(i), name, anchor="end") + _text(
            self.width - self.right + 14, self.middle(i), value, kind="value", ink=ink
        )

    def scale(self, ticks: Mapping[float, str] = QUARTERS, span: float | None = None) -> str:
        """Draw upright lines at the ticks, which are numbers of spans, with a text below each."""
        left, whole = self.bars
        out = ""
        for tick, words in ticks.items():
            at = left + tick * (whole if span is None else span)
            x, end = format_pixel(at), self.height - BOTTOM + 2
            anchor = "middle" if 14 < at < self.width - 14 else "start" if at <= 14 else "end"
            out += f'<line class="gridline" x1="{x}" x2="{x}" y1="{self.top}" y2="{end}"/>'
            out += f'<text class="tick" x="{x}" y="{self.height - 8}" text-anchor="{anchor}">{words}</text>'
        return out

    def _legend_lines(self) -> list[list[tuple[float, tuple[str, str, str]]]]:
        lines: list[list[tuple[float, tuple[str, str, str]]]] = []
        x = float(self.width)
        for entry in self.legend:
            length = 38 + 6.4 * len(entry[1])
            if x + length > self.width:
                lines.append([])
                x = 0.0
            lines[-1].append((x, entry))
            x += length
        return lines

    def draw(self, title: str, body: str) -> str:
        """Return the whole chart with its title and legend."""
        legend = ""
        for line, entries in enumerate(self._legend_lines()):
            y = 35 + 18 * line
            for x, (ink, words, shape) in entries:
                if shape == "bar":
                    legend += _bar(x, y, 14, 10, ink)
                elif shape == "mark":
                    legend += _mark(x + 7, y, 7, ink)
                else:
                    legend += (_ring if shape == "ring" else _dot)(x + 7, y, ink)
                legend += _text(x + 20, y, words, kind="soft")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sf" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" aria-label="{escape(title)}">'
            f'<text class="title" x="0" y="15">{escape(title)}</text>{legend}{body}</svg>'
        )


def _text(x: float, y: float, words: str, *, kind: str = "name", anchor: str = "start", ink: str | None = None) -> str:
    paint = f' style="fill:{colour(ink)}"' if ink else ""
    place = f'x="{format_pixel(x)}" y="{format_pixel(y)}" dy=".34em" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}{paint}>{escape(words)}</text>'


def _bar(x: float, y: float, length: float, thick: float, ink: str) -> str:
    place = f'x="{format_pixel(x)}" y="{format_pixel(y - thick / 2)}" width="{format_pixel(length)}" height="{format_pixel(thick)}"'
    return f'<rect {place} rx="2.5" fill="{colour(ink)}"/>'


def _mark(x: float, y: float, reach: float, ink: str) -> str:
    return f'<path d="M{format_pixel(x)},{format_pixel(y - reach)}V{format_pixel(y + reach)}" stroke="{colour(ink)}" stroke-width="2"/>'


def _stroke(low: float, high: float, y: float, ink: str, thick: float) -> str:
    path = f"M{format_pixel(low)},{format_pixel(y)}H{format_pixel(high)}"
    return f'<path d="{path}" stroke="{colour(ink)}" stroke-width="{thick}" stroke-linecap="round"/>'


def _dot(x: float, y: float, ink: str) -> str:
    return f'<circle cx="{format_pixel(x)}" cy="{format_pixel(y)}" r="4.5" fill="{colour(ink)}"/>'


def _ring(x: float, y: float, ink: str) -> str:
    place = f'cx="{format_pixel(x)}" cy="{format_pixel(y)}" r="4"'
    return f'<circle {place} fill="var(--paper)" stroke="{colour(ink)}" stroke-width="1.8"/>'


def _short(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _brief(value: float) -> str:
    return svg.format_tick(float(f"{value:.3g}"))


def choose_ink(promise: Mapping[str, Any]) -> str:
    """Return the colour of a promise. A small one is easily kept: nothing is green of which the value is guessed right all the same.

    Amber where half of what was unknown is given away, grey where nine in ten could be guessed anyway.
    """
    many_right, half_given_away = 0.9, 0.5
    ink, guess = INK.get(promise["verdict"], "muted"), promise["guessed_right"] or {"share": 0.0, "gain": 0.0}
    if ink == "good" and guess["gain"] >= half_given_away:
        return "amber"
    return "muted" if ink == "good" and guess["share"] >= many_right else ink


def promise_chart(
    promised: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, float], *, narrow: bool = False
) -> str:
    """Draw one row per attribute: the promised interval behind, what is left in front, both as shares of the domain."""
    order = {"broken": 0, "narrowed": 1, "inferred": 1, "kept": 2, "no promise": 3}
    shown = [p for p in promised.values() if p["verdict"] in order and sizes.get(p["attribute"], 0) > 0]
    shown = sorted(shown, key=lambda p: (order[p["verdict"]], p["share_left"]))
    legend = [
        ("promise", "promised", "bar"),
        ("bad", "left: broken", "bar"),
        ("amber", "left: narrowed or inferred", "bar"),
        ("good", "left: kept", "bar"),
        ("ink", "known without any release", "mark"),
    ]
    layout = Layout(170, 170, 28, len(shown), legend, narrow)
    left, span = layout.bars
    body = layout.scale()
    for i, p in enumerate(shown):
        y, size, ink = layout.middle(i), sizes[p["attribute"]], choose_ink(p)
        stated = float(p["interval_width_95"] or 0.0)
        promise, rest, free = (min(w / size, 1.0) * span for w in (stated, p["left"], p["without_release"]))
        words = f"{_brief(p['left'])} of {_brief(stated or p['without_release'])} left"
        body += (
            f"<g><title>{escape(p['in_words'])} {escape(p['remedy'])}</title>"
            + layout.words(i, p["attribute"], words, ink)
            + _bar(left, y, promise, 18, "promise")
            + _bar(left, y, max(rest, 1.5), 10, ink)
            + _mark(left + free, y, 11, "ink")
            + "</g>"
        )
    return layout.draw("95 % intervals, as shares of the domain", body)


def attack_chart(attacks: Sequence[Mapping[str, Any]], most: int = 28, *, narrow: bool = False) -> str:
    """Draw one row per finding: success with its interval, beside the baseline and the control."""
    ranked = sorted(attacks, key=lambda f: (not f["gains"], -f["advantage"], -f["success"]))
    # Of an attribute's two posteriors the stronger is enough for the eye; the table has both.
    seen: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for f in ranked:
        seen.setdefault((f["name"].removeprefix("informed-"), *f["attributes"]), f)
    shown = list(seen.values())[:most]
    legend = [
        ("bad", "success beyond chance", "dot"),
        ("ink", "success, nothing gained", "dot"),
        ("muted", "best guess without the release", "ring"),
        ("second", "control: without the person", "ring"),
    ]
    layout = Layout(390, 70, 24, len(shown), legend, narrow)
    left, span = layout.bars
    body = layout.scale()
    for i, f in enumerate(shown):
        y, ink = layout.middle(i), "bad" if f["gains"] else "ink"
        names = _short(f["attributes"][0], 20) if len(f["attributes"]) == 1 else f"{len(f['attributes'])} columns"
        title = _short(f["title"], 40)
        points = [f["success"], f["baseline"], *([] if f["control"] is None else [f["control"]])]
        body += (
            f"<g><title>{escape(_tip(f))}</title>"
            + layout.words(i, f"{names} · {title}" if narrow else f"{title} · {names}", f"{f['success']:.1%}", ink)
            + _stroke(left + span * min(points), left + span * max(points), y, "track", 6)
            + _stroke(left + span * f["interval"][0], left + span * f["interval"][1], y, ink, 2.4)
            + _ring(left + span * f["baseline"], y, "muted")
            + ("" if f["control"] is None else _ring(left + span * f["control"], y, "second"))
            + _dot(left + span * f["success"], y, ink)
            + "</g>"
        )
    return layout.draw("Success of each attack", body)


def _tip(f: Mapping[str, Any]) -> str:
    control = "" if f["control"] is None else f", control {f['control']:.1%}"
    low, high = f["interval"]
    return (
        f"{f['title']} on {', '.join(f['attributes'])}: {f['success']:.1%} ({f['unit']}; 95 % interval {low:.1%} to "
        f"{high:.1%}), baseline {f['baseline']:.1%}{control}. Assumes: {f['assumes']}"
    )


def exposure_chart(records: Mapping[str, Any], *, narrow: bool = False) -> str:
    """How many records carry how many bits, and how many it takes to single one out."""
    edges, counts = records["histogram"]["edges"], records["histogram"]["counts"]
    needed = records["bits_needed_to_single_out"]
    frame = svg.Frame(
        (min(edges[0], 0.0), max(edges[-1], needed) * 1.02),
        (0.0, 1.15 * max(*counts, 1)),
        width=NARROW if narrow else WIDE,
        title="Bits that a row tells of its person",
        x_title="bits",
        y_title="records",
    )
    x, top = frame.px(needed), frame.py(frame.y[1])
    path = f"M{format_pixel(x)},{format_pixel(top)}V{format_pixel(frame.py(0.0))}"
    line = f'<path d="{path}" stroke="{colour("bad")}" stroke-width="1.6" stroke-dasharray="5 4"/>'
    aside = x > frame.width / 2
    words = _text(
        x + (-6 if aside else 6), top + 6, "enough to single one out", kind="tick", anchor="end" if aside else "start"
    )
    return svg.drawing(frame, svg.steps(frame, edges, counts, ink="accent", fill=True), line, words, alone=False)


def pair_chart(
    title: str,
    names: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[float]]],
    *,
    percent: bool,
    narrow: bool = False,
) -> str:
    """Two bars a name, one below the other: names stay readable however many there are."""
    layout = Layout(170, 70, 30, len(names), [(ink, words, "bar") for words, ink, _ in series], narrow)
    left, span = layout.bars
    span -= 50 if narrow else 0  # for the figure at the end of a bar
    top = max((v for _, _, values in series for v in values), default=0.0)
    ticks = [t for t in svg.ticks(0.0, max(top, 1e-9)) if t <= 1.05 * max(top, 1e-9)]
    scale = span / max(top, ticks[-1], 1e-9)
    form = "{:.1%}" if percent else "{:.3f}"
    body = layout.scale({t: f"{t:.0%}" if percent else f"{t:g}" for t in ticks}, scale)
    for i, name in enumerate(names):
        y = layout.middle(i)
        body += layout.words(i, name)
        for (_, ink, values), at in zip(series, (y - 6, y + 6), strict=True):
            body += _bar(left, at, max(values[i] * scale, 1.5), 10, ink)
            body += _text(left + max(values[i] * scale, 1.5) + 6, at, form.format(values[i]), kind="soft")
    return layout.draw(title, body)


def distance_chart(distances: Mapping[str, Mapping[str, Any]], *, narrow: bool = False) -> str:
    """Released and reconstructed distributions: how far from the truth."""
    series = (("released", "muted", "total_variation_released"), ("reconstructed", "accent", "total_variation"))
    drawn = [(words, ink, [d[key] for d in distances.values()]) for words, ink, key in series]
    title = "Distance of each distribution from the truth" + ("" if narrow else " (total variation)")
    return pair_chart(title, list(distances), drawn, percent=False, narrow=narrow)


def width_chart(promised: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, float], *, narrow: bool = False) -> str:
    """The posterior width of a record on average, and of the one in a hundred that is pinned down most."""
    shown = [p for p in promised.values() if p["narrowest_1_percent"] is not None and sizes.get(p["attribute"], 0) > 0]
    if not shown:
        return ""
    series = (("on average", "muted", "posterior_mean_width"), ("narrowest 1 %", "bad", "narrowest_1_percent"))
    drawn = [(words, ink, [p[key] / sizes[p["attribute"]] for p in shown]) for words, ink, key in series]
    title = "Interval of a record, share of the domain"
    return pair_chart(title, [p["attribute"] for p in shown], drawn, percent=True, narrow=narrow)
