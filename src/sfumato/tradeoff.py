"""Privacy against accuracy on the owner's own table, to choose from before anything is released.

The table is cut in two; the larger part is perturbed in memory at each setting and mined as a recipient would, and the
model is judged on the true values of the rest. Nothing leaves the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.channels import Channel, Substitution
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.observed import ObservedTable
from sfumato.privacy import figures, record_figures, substitution_entropy
from sfumato.randomness import SecretKey
from sfumato.reconstruction import reconstruct
from sfumato.releases import Plan
from sfumato.releases.original import true_table
from sfumato.releases.plan import noise_for
from sfumato.report import charts, page, svg
from sfumato.trees.strategies import STRATEGIES

LEVELS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
GAMMAS = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0)
"""The range the 2006 paper suggests (section 6)."""
SIZES = (5, 10, 20, 40, 60, 100)
TEST_SHARE = 1 / 3
MOST_ROWS = 30_000
"""A larger table is sampled: the choice needs no more, and an owner should not wait."""

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Point:
    """One setting: what it promises and what it costs."""

    setting: dict[str, float]
    accuracy: float
    spread: float
    naive: float
    error: float
    """Mean total variation of the reconstructed distributions to the true ones."""
    interval: float
    """Mean width of the 95 % interval, as a share of the range."""
    epsilon: float | None
    entropy: float | None = None


@dataclass(frozen=True)
class Tradeoff:
    """All settings, the accuracy without noise, and what is recommended."""

    law: str
    target: str
    rows: int
    original: float
    points: tuple[Point, ...]
    recommended: tuple[dict[str, Any], ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "law": self.law,
            "target": self.target,
            "rows": self.rows,
            "original_accuracy": self.original,
            "points": [p.__dict__ for p in self.points],
            "recommended": list(self.recommended),
        }


def tradeoff(
    table: Any,
    *,
    target: str | None = None,
    law: str = "gaussian",
    levels: Sequence[float] = LEVELS,
    gammas: Sequence[float] = GAMMAS,
    sizes: Sequence[int] = SIZES,
    repeats: int = 3,
    strategy: str = "byclass",
    seed: int = 0,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Tradeoff:
    """Sweep privacy levels of a law, or γ and N of substitution, on a table with a class."""
    plan = Plan.propose(table, target=target, encoding=encoding)
    if plan.schema.target is None:
        raise UsageError("a trade-off needs a class to be accurate about; name it with --target COLUMN")
    whole = true_table(plan, table, encoding)
    keep = [c for c in whole.columns if c.name in plan.channels]
    whole = ObservedTable(tuple(keep), whole.classes, whole.labels)
    if whole.rows < 30:
        raise UsageError(f"{whole.rows} rows are too few to judge accuracy on; at least 30 are needed")
    if whole.rows > MOST_ROWS:
        whole = whole.take(np.sort(np.random.default_rng(seed).permutation(whole.rows)[:MOST_ROWS]))
    settings: list[dict[str, float]] = (
        [{"gamma": g, "bins": float(n)} for g in gammas for n in sizes]
        if law == "substitution"
        else [{"privacy": v} for v in levels]
    )
    splits = [_split(whole, seed + i) for i in range(repeats)]
    original = float(np.mean([_accuracy(STRATEGIES["original"](a), b) for a, b in splits]))
    points = []
    for i, setting in enumerate(settings):
        points.append(_point(splits, law, setting, strategy, seed))
        if progress:
            progress(i + 1, len(settings))
    recommended = recommend(points) if law == "substitution" else ()
    return Tradeoff(law, plan.schema.target.name, whole.rows, original, tuple(points), tuple(recommended))


def _split(table: ObservedTable, seed: int) -> tuple[ObservedTable, ObservedTable]:
    test = np.random.default_rng(seed).permutation(table.rows) < TEST_SHARE * table.rows
    return table.take(~test), table.take(test)


def _accuracy(tree: Any, test: ObservedTable) -> float:
    known = test.classes >= 0 if test.classes is not None else np.empty(0, bool)
    part = test.take(known)
    return float(tree.accuracy(part, part.classes))


def _point(
    splits: list[tuple[ObservedTable, ObservedTable]], law: str, setting: dict[str, float], strategy: str, seed: int
) -> Point:
    noise, companion = noise_for(law, None, setting)
    key = SecretKey(np.random.default_rng(seed).bytes(32))  # a rehearsal: this noise protects nobody and is thrown away
    accuracies, naive, errors = [], [], []
    channels: dict[str, Channel] = {}
    for i, (train, test) in enumerate(splits):
        columns = []
        for column in train.columns:
            attribute = column.attribute
            channels[column.name] = (noise if attribute.kind.numeric or noise.categorical else companion).on(attribute)
            columns.append(column.through(channels[column.name], key.derive(i, column.name, setting)))
        seen = ObservedTable(tuple(columns), train.classes, train.labels)
        accuracies.append(_accuracy(STRATEGIES[strategy](seen), test))
        naive.append(_accuracy(STRATEGIES["randomized"](seen), test))
        if i == 0:
            errors = [_distance(seen, train, c.name) for c in columns]
    about = {c.name: figures(channels[c.name], c.attribute) for c in splits[0][0].columns}
    gaps = {c.name for part in splits[0] for c in part.columns if np.isnan(c.values).any()}
    gamma, size = setting.get("gamma"), setting.get("bins")
    return Point(
        setting,
        float(np.mean(accuracies)),
        float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else 0.0,
        float(np.mean(naive)),
        float(np.mean(errors)),
        float(np.mean([a["interval_width_95_share"] for a in about.values()])),
        record_figures(about, gaps)["epsilon"],
        substitution_entropy(gamma, int(size)) if gamma and size else None,
    )


def _distance(seen: ObservedTable, true: ObservedTable, name: str) -> float:
    found = reconstruct(seen[name])
    codes = true[name].located(found.grid)
    mass: FloatArray = np.bincount(codes[codes >= 0], minlength=found.grid.size) / max((codes >= 0).sum(), 1)
    return float(np.abs(mass - found.mass).sum() / 2)


def recommend(points: Sequence[Point]) -> list[dict[str, Any]]:
    """For each γ the smallest N whose accuracy is within noise (two standard errors) of that γ's best (2006, section 6)."""
    out = []
    for gamma in sorted({p.setting["gamma"] for p in points}):
        mine = [p for p in points if p.setting["gamma"] == gamma]
        best = max(mine, key=lambda p: p.accuracy)
        enough = [p for p in mine if p.accuracy >= best.accuracy - 2 * max(best.spread, p.spread) / np.sqrt(3)]
        chosen = min(enough, key=lambda p: p.setting["bins"])
        out.append(
            {"gamma": gamma, "bins": int(chosen.setting["bins"]), "accuracy": chosen.accuracy, "best": best.accuracy}
        )
    return out


def report(found: Tradeoff) -> str:
    """The trade-off as a page: charts first, the table after."""
    drawn = _substitution_charts(found) if found.law == "substitution" else _noise_charts(found)
    head = ["setting", "accuracy", "±", "naive", "error of distributions", "95 % interval", "ε of a record"]
    rows = [
        [
            ", ".join(f"{k} = {v:g}" for k, v in p.setting.items()),
            f"{p.accuracy:.1%}",
            f"{100 * p.spread:.1f}",
            f"{p.naive:.1%}",
            f"{p.error:.3f}",
            f"{p.interval:.0%}",
            "∞" if p.epsilon is None else f"{p.epsilon:.1f}",
        ]
        for p in found.points
    ]
    advice = [
        page.table(
            ["γ", "smallest N within noise of the best", "accuracy", "best accuracy at this γ"],
            [
                [f"{r['gamma']:g}", str(r["bins"]), f"{r['accuracy']:.1%}", f"{r['best']:.1%}"]
                for r in found.recommended
            ],
        )
    ]
    return page.page(
        f"Privacy against accuracy: {found.target}",
        f"{found.rows:,} rows, {found.law}. A tree from the true values is right on {found.original:.1%} of test records.",
        page.section("To choose from", page.cards(drawn)),
        *([page.section("Recommended N for each γ", *advice)] if found.recommended else []),
        page.section("Every setting", page.table(head, rows)),
    )


def _noise_charts(found: Tradeoff) -> list[str]:
    xs = [p.setting["privacy"] for p in found.points]
    low = min(0.9 * min(p.naive for p in found.points), 0.5)
    frame = svg.Frame(
        (0, max(xs)),
        (low, 1.0),
        title="Accuracy of what a recipient mines",
        x_title="privacy: 95 % interval / range",
        percent=True,
    )
    accuracy = svg.drawing(
        frame,
        svg.line(frame, (0, max(xs)), (found.original, found.original), ink="second", dashed=True),
        svg.line(frame, xs, [p.naive for p in found.points], ink="muted", dots=True),
        svg.line(frame, xs, [p.accuracy for p in found.points], ink="accent", dots=True),
        svg.legend(frame, [("second", "true values"), ("accent", "reconstructed"), ("muted", "naive")]),
        alone=False,
    )
    top = 1.1 * max(p.error for p in found.points) or 1.0
    second = svg.Frame(
        (0, max(xs)),
        (0, top),
        title="Error of the reconstructed distributions",
        x_title="privacy: 95 % interval / range",
    )
    error = svg.drawing(
        second, svg.line(second, xs, [p.error for p in found.points], ink="accent", dots=True), alone=False
    )
    return [accuracy, error]


def _substitution_charts(found: Tradeoff) -> list[str]:
    """As the 2006 paper's Figures 2 to 5: accuracy and error over γ for each N, and accuracy against entropy."""
    sizes = sorted({p.setting["bins"] for p in found.points})
    gammas = sorted({p.setting["gamma"] for p in found.points})
    by = {(p.setting["gamma"], p.setting["bins"]): p for p in found.points}
    names = [(charts.INKS[i % len(charts.INKS)], f"N={size:g}") for i, size in enumerate(sizes)]
    low = 0.95 * min(p.accuracy for p in found.points)
    top = 1.1 * max(p.error for p in found.points) or 1.0
    bits = max(p.entropy or 0 for p in found.points)
    frames = [
        (
            svg.Frame((min(gammas), max(gammas)), (low, 1.0), title="Accuracy", x_title="γ", percent=True),
            "accuracy",
            "gamma",
        ),
        (
            svg.Frame((min(gammas), max(gammas)), (0, top), title="Error of distributions", x_title="γ"),
            "error",
            "gamma",
        ),
        (
            svg.Frame((0, bits), (low, 1.0), title="Accuracy against entropy of M", x_title="bits", percent=True),
            "accuracy",
            "entropy",
        ),
    ]
    out = []
    for frame, value, across in frames:
        marks = []
        for (ink, _), size in zip(names, sizes, strict=True):
            points = [by[g, size] for g in gammas]
            xs = [p.setting["gamma"] if across == "gamma" else (p.entropy or 0.0) for p in points]
            marks.append(svg.line(frame, xs, [getattr(p, value) for p in points], ink=ink, dots=True))
        out.append(svg.drawing(frame, *marks, svg.legend(frame, names), alone=False))
    return out


__all__ = ["Point", "Substitution", "Tradeoff", "recommend", "report", "tradeoff"]
