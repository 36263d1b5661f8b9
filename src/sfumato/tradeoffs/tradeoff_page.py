"""The trade-off as a page: what to choose, charts, every setting."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.report import charts, page, score_tables, svg
from sfumato.text import format_number
from sfumato.tradeoffs.choice import SURE, ladder_of
from sfumato.tradeoffs.point import Point, Tradeoff, explain_infinite
from sfumato.tradeoffs.setting import AXES, in_words

SYMBOLS = {"gamma": "γ", "epsilon": "ε", "privacy": "privacy"}


def report(result: Tradeoff, next_step: str) -> str:
    """Return the whole page."""
    grid = all("bins" in p.setting for p in result.points)
    drawn = _grid_charts(result) if grid else _line_charts(result)
    asked = [
        page.paragraph("The mean of |answer − truth|, over draws of the noise, ± its standard error."),
        page.table(*result.question_table()),
        *([] if grid else [page.cards(_question_charts(result))]),
    ]
    left = (
        "People found: by somebody who knows all true values of a person, beyond chance, with the 95 % interval. Intervals are 95 % "
        "intervals of a value as shares of the domain: what the laws promise, and what quick attacks leave. The error is how far the "
        "reconstructed distributions are from the true ones: W₁ as a share of the range, of labels the total variation."
    )
    legend = (
        "± is the standard error of the accuracy. Balanced is the mean share of each class that is recognised. AUC is the chance "
        "that a row of a class ranks above one of another. Naive is the accuracy where released values are taken for true ones. The "
        "error is the mean total variation of reconstructed to true distributions. The class is released as it is; ε is that of the "
        "blurred columns together."
    )
    foot = [*filter(None, [explain_infinite(result.points)]), legend]
    return page.page(
        f"Privacy left against usefulness: {result.target}",
        f"{result.rows:,} rows, {result.law}, {result.repeats} random splits, strategy {result.strategy}. A tree from the true values "
        f"is right on {result.original:.1%} of test rows, the commonest class on {result.majority:.1%}.",
        page.section("Where to begin", *_advice(result, next_step)),
        page.section(
            "Privacy left", page.cards(_left_charts(result)), page.paragraph(left), page.table(*result.left_table())
        ),
        *([page.section("The questions", *asked)] if result.points[0].answers else []),
        page.section(
            "Usefulness", page.cards(drawn), page.paragraph("“Every setting” has the figures of these charts.")
        ),
        *([_sizes(result)] if grid else []),
        *([_mistakes(result)] if result.begin else []),
        page.section("Every setting", page.table(*result.table()), *(page.paragraph(t) for t in foot)),
        page.section("What was blurred", page.table(["column", "law"], [[n, law] for n, law in result.laws.items()])),
    )


def _advice(result: Tradeoff, next_step: str) -> list[str]:
    parts = [page.paragraph(f"Recommended: {result.advice}") if result.advised else page.warning(result.advice)]
    why = result.why or "No setting is recommended."
    words = f"By accuracy alone: {why}" if result.choice else why
    parts.append(page.paragraph(words) if result.choice else page.warning(words))
    if result.begin:
        parts.append(page.code(next_step))
    return parts + [page.paragraph(note) for note in result.notes]


def _twice(draw: Callable[[int], str]) -> str:
    """Draw a chart for a desk and for a telephone."""
    return page.responsive(draw(520), draw(330))


def _twin(drawn: str, head: list[str], rows: list[list[str]]) -> str:
    """Return a chart with its figures as a table below."""
    return f"{drawn}<details><summary>The figures as a table</summary>{page.table(head, rows)}</details>"


def _left_charts(result: Tradeoff) -> list[str]:
    """Accuracy against people found, and the intervals promised and left; each with its table."""
    return [_found_chart(result), *_interval_chart(result)]


def _found_chart(result: Tradeoff) -> str:
    points = sorted(result.points, key=lambda p: p.found)
    most = 1.08 * max([result.goal, *(p.found_interval[1] for p in points)])
    foot = _floor(result)
    names = [("accent", "settings"), ("second", "goal"), ("fourth", "commonest class")]
    names += [("third", "recommended")] if result.advised else []

    def draw(width: int) -> str:
        frame = svg.Frame(
            (0.0, most),
            (foot, 1.0),
            width,
            290,
            title="Accuracy of a tree",
            x_title="people found beyond chance, with 95 % intervals",
            percent=True,
            x_percent=True,
            margins=(74, 16, 40, 48),
        )
        marks = [
            svg.line(frame, (0.0, most), (result.majority, result.majority), ink="fourth", dashed=True),
            svg.line(frame, (result.goal, result.goal), frame.y, ink="second", dashed=True),
        ]
        for p in points:
            ink = "third" if p.setting == result.advised else "accent"
            tip = in_words(p.setting)
            bar = SURE * p.standard_error
            marks.append(svg.line(frame, p.found_interval, (p.accuracy, p.accuracy), ink=ink))
            marks.append(
                svg.whiskers(frame, [p.found], [max(p.accuracy - bar, foot)], [min(p.accuracy + bar, 1.0)], ink=ink)
            )
            marks.append(svg.dot(frame, p.found, p.accuracy, ink=ink, tip=tip, size=5 if ink == "third" else 3.2))
        return svg.drawing(frame, *marks, svg.wrapped_legend(frame, names), alone=False)

    head = ["setting", "people found", "95 %", "accuracy", "±", "naive", "commonest class"]
    rows = [
        [
            in_words(p.setting),
            f"{p.found:.1%}",
            f"{p.found_interval[0]:.1%} to {p.found_interval[1]:.1%}",
            f"{p.accuracy:.1%}",
            f"{100 * p.standard_error:.1f}",
            f"{p.naive:.1%}",
            f"{result.majority:.1%}",
        ]
        for p in result.points
    ]
    return _twin(_twice(draw), head, rows)


def _interval_chart(result: Tradeoff) -> list[str]:
    points = [p for p in ladder_of(result.points, result.axis) if p.left is not None and p.promised is not None]
    if not points:
        return []
    labels = [f"{p.setting[result.axis.parameter]:g}" for p in points]
    promised, left = ([float(v or 0.0) for v in (p.promised for p in points)], [float(p.left or 0.0) for p in points])
    places = list(map(float, range(len(points))))
    names = [("muted", "promised"), ("accent", "left after attacks")]

    def draw(width: int) -> str:
        frame = svg.Frame(
            (-0.5, len(points) - 0.5),
            (0.0, 1.0),
            width,
            290,
            title="95 % interval of a value, of the domain",
            x_title=f"{result.axis.title}, from weak to strong",
            x_labels=labels,
            percent=True,
            margins=(74, 16, 40, 48),
        )
        marks = [
            svg.bars(frame, [x - 0.19 for x in places], promised, ink="muted", width=0.34, names=labels),
            svg.bars(frame, [x + 0.19 for x in places], left, ink="accent", width=0.34, names=labels),
        ]
        return svg.drawing(frame, *marks, svg.wrapped_legend(frame, names), alone=False)

    rows = [[in_words(p.setting), f"{a:.0%}", f"{b:.0%}"] for p, a, b in zip(points, promised, left, strict=True)]
    return [_twin(_twice(draw), ["setting", "promised", "left"], rows)]


def _question_charts(result: Tradeoff) -> list[str]:
    """One chart per question: the error of the answer at each setting, with two standard errors."""
    points = ladder_of(result.points, result.axis)
    labels = [f"{p.setting[result.axis.parameter]:g}" for p in points]
    return [_question_chart(result, points, labels, i) for i in range(len(points[0].answers))]


def _question_chart(result: Tradeoff, points: list[Point], labels: list[str], number: int) -> str:
    asked = [p.answers[number] for p in points]
    errors, bars = [a["error"] for a in asked], [SURE * a["error_se"] for a in asked]
    highs = [e + b for e, b in zip(errors, bars, strict=True)]
    places = list(map(float, range(len(points))))

    def draw(width: int) -> str:
        frame = svg.Frame(
            (-0.5, len(points) - 0.5),
            (0.0, 1.08 * max(highs) or 1.0),
            width,
            title=f"Error of {asked[0]['question']}",
            x_title=f"{result.axis.title}, from weak to strong",
            x_labels=labels,
        )
        lows = [max(e - b, 0.0) for e, b in zip(errors, bars, strict=True)]
        marks = [
            svg.bars(frame, places, errors, ink="accent", width=0.5, names=labels),
            svg.whiskers(frame, places, lows, highs),
        ]
        return svg.drawing(frame, *marks, alone=False)

    head = ["setting", "error", "± standard error", "standard error that a reader is told", "truth"]
    rows = [
        [in_words(p.setting), *(format_number(a[key], 3) for key in ("error", "error_se", "stated_se", "truth"))]
        for p, a in zip(points, asked, strict=True)
    ]
    return _twin(_twice(draw), head, rows)


def _sizes(result: Tradeoff) -> str:
    name = result.axis.parameter
    symbol = SYMBOLS[name]
    head = [symbol, "smallest N within noise of the best", "accuracy", f"best accuracy at this {symbol}"]
    rows = [[f"{r[name]:g}", str(r["bins"]), f"{r['accuracy']:.1%}", f"{r['best']:.1%}"] for r in result.recommended]
    return page.section(f"Recommended N for each {symbol}", page.table(head, rows))


def _mistakes(result: Tradeoff) -> str:
    """Return the scores at the setting to begin with, which classes are mistaken, and whether probabilities are true."""
    scores = next(p.scores for p in result.points if p.setting == result.begin)
    both = {"true values": result.original_scores, "at this setting": scores}

    def draw(width: int) -> str:
        return score_tables.draw_calibration(scores["calibration"], alone=False, width=width)

    return page.section(
        f"The tree at {in_words(result.begin or {})}",
        page.table(*score_tables.tabulate_scores(both)),
        page.table(*score_tables.tabulate_confusion(scores["confusion"], result.labels)),
        page.paragraph(f"Test rows of all {result.repeats} splits, by true class and by what the tree takes them for."),
        page.cards([_twin(_twice(draw), *score_tables.tabulate_calibration(scores["calibration"]))]),
    )


def _floor(result: Tradeoff) -> float:
    """The foot of an accuracy axis: a step of 5 % below all that is drawn."""
    least = min([result.original, result.majority, *(min(p.naive, p.accuracy) for p in result.points)])
    return max(0.0, math.floor(20 * least - 0.2) / 20)


def _line_charts(result: Tradeoff) -> list[str]:
    """Accuracy, error and, where it is finite, ε over the one parameter."""
    points, title = result.points, result.axis.title
    xs = [p.setting[result.axis.parameter] for p in points]
    across = (0.0, max(xs))
    frame = svg.Frame(
        across,
        (_floor(result), 1.0),
        title="Accuracy of what a recipient mines",
        x_title=title,
        percent=True,
        margins=svg.WITH_LEGEND,
    )
    bars = [SURE * p.standard_error for p in points]
    low = [max(p.accuracy - b, frame.y[0]) for p, b in zip(points, bars, strict=True)]
    high = [min(p.accuracy + b, 1.0) for p, b in zip(points, bars, strict=True)]
    marks = [
        svg.line(frame, across, (result.majority, result.majority), ink="fourth", dashed=True),
        svg.line(frame, across, (result.original, result.original), ink="second", dashed=True),
        svg.line(frame, xs, [p.naive for p in points], ink="muted", dots=True),
        svg.whiskers(frame, xs, low, high, ink="accent"),
        svg.line(frame, xs, [p.accuracy for p in points], ink="accent", dots=True),
    ]
    names = [("second", "true values"), ("accent", "reconstructed"), ("muted", "naive"), ("fourth", "commonest class")]
    if result.begin:
        at = result.begin[result.axis.parameter]
        marks.append(svg.line(frame, (at, at), frame.y, ink="third", dashed=True))
        names.append(("third", "begin here"))
    out = [svg.drawing(frame, *marks, svg.legend(frame, names), alone=False), *_rank_chart(result, across, xs)]
    out.append(_simple("Error of the reconstructed distributions", title, across, xs, [p.error for p in points]))
    finite = [(x, p.epsilon) for x, p in zip(xs, points, strict=True) if p.epsilon is not None]
    if finite:
        out.append(_simple("ε of the blurred columns together", title, across, *map(list, zip(*finite, strict=True))))
    return out


def _rank_chart(result: Tradeoff, across: tuple[float, float], xs: list[float]) -> list[str]:
    """Balanced accuracy and AUC over the one parameter, which a rare class moves as much as a common one."""
    series = [("accent", "balanced accuracy", "balanced_accuracy"), ("third", "AUC", "auc")]
    if any(p.scores.get(key) is None for p in result.points for _, _, key in series):
        return []
    heights = {key: [float(p.scores[key]) for p in result.points] for _, _, key in series}
    levels = {key: result.original_scores[key] for key in heights}
    least = min([*levels.values(), *(h for column in heights.values() for h in column)])
    frame = svg.Frame(
        across,
        (max(0.0, math.floor(20 * least - 0.2) / 20), 1.0),
        title="Balanced accuracy and AUC",
        x_title=f"{result.axis.title}; dashed: true values",
        margins=svg.WITH_LEGEND,
    )
    marks = [svg.line(frame, across, (levels[key],) * 2, ink=ink, dashed=True) for ink, _, key in series]
    marks += [svg.line(frame, xs, heights[key], ink=ink, dots=True) for ink, _, key in series]
    return [svg.drawing(frame, *marks, svg.legend(frame, [(ink, name) for ink, name, _ in series]), alone=False)]


def _simple(title: str, x_title: str, across: tuple[float, float], xs: list[float], ys: list[float]) -> str:
    frame = svg.Frame(across, (0.0, 1.1 * max(ys) or 1.0), title=title, x_title=x_title)
    return svg.drawing(frame, svg.line(frame, xs, ys, ink="accent", dots=True), alone=False)


def _grid_charts(result: Tradeoff) -> list[str]:
    """As the 2006 paper's Figures 2 to 5: accuracy and error over γ for each N, and accuracy against entropy."""
    name, title = result.axis.parameter, AXES[result.axis.parameter].title
    sizes = sorted({p.setting["bins"] for p in result.points})
    inks = [(charts.INKS[i % len(charts.INKS)], f"N={size:g}") for i, size in enumerate(sizes)]
    bits = max(p.entropy or 0.0 for p in result.points)
    values = [p.setting[name] for p in result.points]
    across = (min(values), max(values)) if max(values) > min(values) else (0.0, max(values))
    right = (_floor(result), 1.0)
    wrong = (0.0, 1.1 * max(p.error for p in result.points) or 1.0)

    def frame(title: str, x: tuple[float, float], y: tuple[float, float], below: str) -> svg.Frame:
        width = max(520, 64 + 62 * len(sizes))  # a legend of many sizes needs room
        return svg.Frame(x, y, width, title=title, x_title=below, percent=y is right, margins=svg.WITH_LEGEND)

    by_bits = frame("Accuracy against entropy", (0.0, bits or 1.0), right, "mean entropy of M, bits")
    wanted: list[tuple[svg.Frame, Callable[[Point], float], Callable[[Point], float]]] = [
        (frame("Accuracy", across, right, title), lambda p: p.setting[name], lambda p: p.accuracy),
        (frame("Error of distributions", across, wrong, title), lambda p: p.setting[name], lambda p: p.error),
        (by_bits, lambda p: p.entropy or 0.0, lambda p: p.accuracy),
    ]
    if all(p.scores.get("auc") is not None for p in result.points):
        least = min(p.scores["auc"] for p in result.points)
        area = frame("AUC", across, (max(0.0, math.floor(20 * least - 0.2) / 20), 1.0), title)
        wanted.append((area, lambda p: p.setting[name], lambda p: float(p.scores["auc"])))
    out = []
    for drawn, x, y in wanted:
        marks = []
        for (ink, _), size in zip(inks, sizes, strict=True):
            points = [p for p in result.points if p.setting["bins"] == size]
            marks.append(svg.line(drawn, [x(p) for p in points], [y(p) for p in points], ink=ink, dots=True))
        out.append(svg.drawing(drawn, *marks, svg.legend(drawn, inks), alone=False))
    return out
