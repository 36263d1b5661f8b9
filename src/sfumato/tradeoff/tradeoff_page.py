"""The trade-off as a page: what to choose, charts, every setting."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence

from sfumato.report import charts, page, svg
from sfumato.text import join_names
from sfumato.tradeoff.point import Point, Tradeoff
from sfumato.tradeoff.recommendation import SURE
from sfumato.tradeoff.setting import AXES, in_words

SYMBOLS = {"gamma": "γ", "epsilon": "ε", "privacy": "privacy"}
HEAD = ["setting", "accuracy", "±", "naive", "error of distributions", "mean 95 % interval", "ε of blurred columns"]


def cells(point: Point) -> list[str]:
    """One setting as a row of text."""
    return [
        in_words(point.setting),
        f"{point.accuracy:.1%}",
        f"{100 * point.standard_error:.1f}",
        f"{point.naive:.1%}",
        f"{point.error:.3f}",
        f"{point.interval:.0%}",
        "∞" if point.epsilon is None else f"{point.epsilon:.1f}",
    ]


def infinite(points: Sequence[Point]) -> str | None:
    """Why ε is infinite, where it is."""
    without = [p for p in points if p.epsilon is None]
    if not without:
        return None
    where = (
        "at every setting" if len(without) == len(points) else f"at {join_names(in_words(p.setting) for p in without)}"
    )
    return f"ε is infinite {where}: {without[0].epsilon_reason or 'no bound is stated'}."


def report(found: Tradeoff) -> str:
    """The whole page."""
    grid = all("bins" in p.setting for p in found.points)
    drawn = _grid_charts(found) if grid else _line_charts(found)
    legend = (
        "± is the standard error of the accuracy. Naive takes released values for true ones. The error is the mean total variation "
        "of reconstructed to true distributions. The class is released as it is; ε is that of the blurred columns together."
    )
    foot = [*filter(None, [infinite(found.points)]), legend]
    return page.page(
        f"Privacy against accuracy: {found.target}",
        f"{found.rows:,} rows, {found.law}, {found.repeats} random splits, strategy {found.strategy}. A tree from the true values "
        f"is right on {found.original:.1%} of test records, the commonest class on {found.majority:.1%}.",
        page.section("Where to begin", *_advice(found)),
        page.section("To choose from", page.cards(drawn)),
        *([_sizes(found)] if grid else []),
        page.section(
            "Every setting", page.table(HEAD, [cells(p) for p in found.points]), *(page.paragraph(t) for t in foot)
        ),
        page.section("What was blurred", page.table(["column", "law"], [[n, law] for n, law in found.laws.items()])),
    )


def _advice(found: Tradeoff) -> list[str]:
    parts = [page.paragraph(found.why) if found.choice else page.warning(found.why or "No setting is recommended.")]
    if found.choice:
        parts.append(page.code(release_command(found)))
    return parts + [page.paragraph(note) for note in found.notes]


def release_command(found: Tradeoff, table: str = "INPUT", folder: str = "DIR", identifier: str | None = None) -> str:
    """The command that releases a table with the choice."""
    named = ["--target", found.target, *(["--id", identifier] if identifier else [])]
    return f"sfumato release {shlex.join([table, '-o', folder, *named])} {found.release_options}"


def _sizes(found: Tradeoff) -> str:
    name = found.axis.parameter
    symbol = SYMBOLS[name]
    head = [symbol, "smallest N within noise of the best", "accuracy", f"best accuracy at this {symbol}"]
    rows = [[f"{r[name]:g}", str(r["bins"]), f"{r['accuracy']:.1%}", f"{r['best']:.1%}"] for r in found.recommended]
    return page.section(f"Recommended N for each {symbol}", page.table(head, rows))


def _floor(found: Tradeoff) -> float:
    """The foot of an accuracy axis: a step of 5 % below all that is drawn."""
    least = min([found.original, found.majority, *(min(p.naive, p.accuracy) for p in found.points)])
    return max(0.0, math.floor(20 * least - 0.2) / 20)


def _line_charts(found: Tradeoff) -> list[str]:
    """Accuracy, error and, where it is finite, ε over the one parameter."""
    points, title = found.points, found.axis.title
    xs = [p.setting[found.axis.parameter] for p in points]
    across = (0.0, max(xs))
    frame = svg.Frame(
        across,
        (_floor(found), 1.0),
        title="Accuracy of what a recipient mines",
        x_title=title,
        percent=True,
        margins=svg.WITH_LEGEND,
    )
    bars = [SURE * p.standard_error for p in points]
    low = [max(p.accuracy - b, frame.y[0]) for p, b in zip(points, bars, strict=True)]
    high = [min(p.accuracy + b, 1.0) for p, b in zip(points, bars, strict=True)]
    marks = [
        svg.line(frame, across, (found.majority, found.majority), ink="fourth", dashed=True),
        svg.line(frame, across, (found.original, found.original), ink="second", dashed=True),
        svg.line(frame, xs, [p.naive for p in points], ink="muted", dots=True),
        svg.whiskers(frame, xs, low, high, ink="accent"),
        svg.line(frame, xs, [p.accuracy for p in points], ink="accent", dots=True),
    ]
    names = [("second", "true values"), ("accent", "reconstructed"), ("muted", "naive"), ("fourth", "commonest class")]
    if found.choice:
        at = found.choice[found.axis.parameter]
        marks.append(svg.line(frame, (at, at), frame.y, ink="third", dashed=True))
        names.append(("third", "begin here"))
    out = [svg.drawing(frame, *marks, svg.legend(frame, names), alone=False)]
    out.append(_simple("Error of the reconstructed distributions", title, across, xs, [p.error for p in points]))
    finite = [(x, p.epsilon) for x, p in zip(xs, points, strict=True) if p.epsilon is not None]
    if finite:
        out.append(_simple("ε of the blurred columns together", title, across, *map(list, zip(*finite, strict=True))))
    return out


def _simple(title: str, x_title: str, across: tuple[float, float], xs: list[float], ys: list[float]) -> str:
    frame = svg.Frame(across, (0.0, 1.1 * max(ys) or 1.0), title=title, x_title=x_title)
    return svg.drawing(frame, svg.line(frame, xs, ys, ink="accent", dots=True), alone=False)


def _grid_charts(found: Tradeoff) -> list[str]:
    """As the 2006 paper's Figures 2 to 5: accuracy and error over γ for each N, and accuracy against entropy."""
    name, title = found.axis.parameter, AXES[found.axis.parameter].title
    sizes = sorted({p.setting["bins"] for p in found.points})
    inks = [(charts.INKS[i % len(charts.INKS)], f"N={size:g}") for i, size in enumerate(sizes)]
    bits = max(p.entropy or 0.0 for p in found.points)
    values = [p.setting[name] for p in found.points]
    across = (min(values), max(values)) if max(values) > min(values) else (0.0, max(values))
    right = (_floor(found), 1.0)
    wrong = (0.0, 1.1 * max(p.error for p in found.points) or 1.0)

    def frame(title: str, x: tuple[float, float], y: tuple[float, float], below: str) -> svg.Frame:
        width = max(520, 64 + 62 * len(sizes))  # a legend of many sizes needs room
        return svg.Frame(x, y, width, title=title, x_title=below, percent=y is right, margins=svg.WITH_LEGEND)

    def own(point: Point) -> float:
        return point.setting[name]

    def entropy(point: Point) -> float:
        return point.entropy or 0.0

    wanted: list[tuple[svg.Frame, Callable[[Point], float], Callable[[Point], float]]] = [
        (frame("Accuracy", across, right, title), own, lambda p: p.accuracy),
        (frame("Error of distributions", across, wrong, title), own, lambda p: p.error),
        (
            frame("Accuracy against entropy", (0.0, bits or 1.0), right, "mean entropy of M, bits"),
            entropy,
            lambda p: p.accuracy,
        ),
    ]
    out = []
    for drawn, x, y in wanted:
        marks = []
        for (ink, _), size in zip(inks, sizes, strict=True):
            points = [p for p in found.points if p.setting["bins"] == size]
            marks.append(svg.line(drawn, [x(p) for p in points], [y(p) for p in points], ink=ink, dots=True))
        out.append(svg.drawing(drawn, *marks, svg.legend(drawn, inks), alone=False))
    return out
