"""Ask a release a question: parse it, fold what it needs over the rows, and reply with figures and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.counts import BoolArray, IntArray
from sfumato.engines import Engine, Local
from sfumato.errors import NoWeightError, UsageError
from sfumato.findings import Note
from sfumato.questions.answer import Answer
from sfumato.questions.conditions import BucketKey, Condition, IsMissing, Key, NumberKey, merge_ends
from sfumato.questions.estimate import Certainty, Estimate
from sfumato.questions.layout import Layout, days_of, lay_out_figure, needs_fit
from sfumato.questions.memory import Memory, identify
from sfumato.questions.query import Asked, Question, Statistic
from sfumato.questions.ranges import RangeLayout, SeveralLayout, lay_out_range, lay_out_several
from sfumato.questions.sql import MAX_GROUPS, parse_question
from sfumato.questions.statistics import estimate
from sfumato.questions.sums import Folded
from sfumato.questions.value_counts import ValueCounts, counter, quantile
from sfumato.releases import Manifest, Release, as_release
from sfumato.table import Column, Table
from sfumato.text import join_names


def ask(release: Release | str | Path, question: str, *, engine: Engine = Local()) -> Answer:
    """Answer a question in SQL from a release, each figure with its standard error and a 95 % interval.

    Parameters
    ----------
    release : Release or path
        A release, or its folder. An opened release keeps what was counted and fitted, so that later questions take less.
    question : str
        One SELECT: group columns, and figures among COUNT, SHARE, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, COVAR_SAMP
        and CORR; WHERE; GROUP BY up to three columns, CASE or FLOOR(x/w)*w; ORDER BY and LIMIT.
    engine : Engine
        Where the rows are folded.

    Returns
    -------
    Answer
        A row for each group. An interval speaks of the true rows behind the release: it holds the figure that their owner
        would compute.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     answer = sf.ask(release, "SELECT class, AVG(petal_width) AS width FROM release GROUP BY class")
    >>> [row["width"].low < row["width"].value < row["width"].high for row in answer.rows]
    [True, True, True]
    """
    opened = as_release(release)
    columns = {c.name: c for c in opened.count_table(engine).table.all_columns}
    parsed = parse_question(question, columns)
    counted = opened.count_table(engine, parsed.names)
    return reply(parsed, question, counted.fold, columns, opened.manifest, Memory.of(opened))


@dataclass(frozen=True, eq=False)
class Parts:
    """Several counts of the same rows, added up one by one."""

    parts: tuple[Any, ...]

    def __add__(self, other: Parts) -> Parts:
        return Parts(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True)
class Together:
    """Several counts in one pass."""

    counts: tuple[Any, ...]

    def __call__(self, table: Table, rows: IntArray) -> Parts:
        """Count some rows; the target is a column like any other."""
        table = Table(table.all_columns)
        return Parts(tuple(count(table, rows) for count in self.counts))


@dataclass(eq=False)
class Pass:
    """One pass over the rows, for whatever has asked for a count; the same count is made once."""

    fold: Callable[[Any], Any]
    memory: Memory = field(default_factory=Memory)
    counts: dict[bytes, Any] = field(default_factory=dict)
    results: tuple[Any, ...] = ()

    def add(self, count: Any) -> int:
        """Ask for a count; return where its result will be."""
        key = identify(count)
        self.counts.setdefault(key, count)
        return list(self.counts).index(key)

    def run(self) -> None:
        """Make all counts that were asked for, and were not made for an earlier question."""
        wanted = {key: count for key, count in self.counts.items() if key not in self.memory.counts}
        made = self.fold(Together(tuple(wanted.values()))).parts if wanted else ()
        new = dict(zip(wanted, made, strict=True))
        self.results = tuple(new[key] if key in new else self.memory.counts[key] for key in self.counts)
        for key, result in new.items():
            self.memory.remember(key, result)


def reply(
    question: Question,
    text: str,
    fold: Callable[[Any], Any],
    columns: Mapping[str, Column],
    manifest: Manifest | None = None,
    memory: Memory | None = None,
) -> Answer:
    """Answer a parsed question from a fold over the rows.

    Parameters
    ----------
    question
        What is asked.
    text
        The same as it was written.
    fold
        Adds up what a count makes of all rows (see `releases.CountedTable.fold`).
    columns
        The columns of the release by name, with their laws; their values are not used.
    manifest
        What else the release states: guided methods, and people with several rows.
    memory
        What earlier questions about the same rows have counted and fitted.
    """
    question = _name_groups(question, fold, columns)
    keys = question.groups
    visit = Pass(fold, memory or Memory())
    base = _Base.of(question, columns, visit)
    workers = [_worker(asked, question, columns, visit) for asked in question.figures]
    visit.run()
    present = base.groups(visit)
    shared = _shared_rows(manifest)
    sizes = [len(key.groups()) for key in keys]
    values = [key.groups() for key in keys]
    guided = _guided_columns(manifest)
    rows = []
    for group, combination in enumerate(product(*values)):
        if not present[group]:
            continue
        by_key = dict(zip(keys, combination, strict=True))
        row: dict[str, Any] = {}
        figures = iter(zip(question.figures, workers, strict=True))
        for name, part in question.columns:
            if isinstance(part, Key):
                row[name] = _group_value(part, by_key[part], columns)
                continue
            asked, worker = next(figures)
            answer = worker.estimate(group, visit, shared)
            row[name] = (
                _as_released(answer) if guided & _columns_of(asked, question) else _in_days(answer, asked, columns)
            )
        rows.append(row)
    assert math.prod(sizes) == len(present)
    rows = _sort(rows, question)
    names = tuple(name for name, _ in question.columns)
    total = int(visit.results[base.place].arrays["rows"])
    return Answer(names, tuple(rows), total, tuple(_notes(question, rows, columns, manifest, guided)), text)


def _columns_of(asked: Asked, question: Question) -> set[str]:
    parts: list[Condition | Key] = [question.where, *question.groups, asked.rows, asked.among or asked.rows]
    return {*merge_ends(parts), *asked.columns}


def _guided_columns(manifest: Manifest | None) -> set[str]:
    return set() if manifest is None else {c.attribute.name for c in manifest.columns if c.guided is not None}


def _shared_rows(manifest: Manifest | None) -> float:
    """Return how many rows may share one draw of noise: all those of one person, where some have several."""
    return 1.0 if manifest is None or manifest.entities is None else float(manifest.entities.most_rows)


def _name_groups(question: Question, fold: Callable[[Any], Any], columns: Mapping[str, Column]) -> Question:
    """Return the question with the numbers that columns released as true are grouped by."""
    open_keys = [key for key in question.groups if isinstance(key, NumberKey) and columns[key.column].channel is None]
    if not open_keys:
        return question
    visit = Pass(fold)
    places = [visit.add(counter(key.column)) for key in open_keys]
    visit.run()
    known: dict[Key, Key] = {}
    for key, place in zip(open_keys, places, strict=True):
        values = visit.results[place].values
        if len(values) > MAX_GROUPS:
            raise UsageError(
                f"GROUP BY {key.column}: it has {len(values):,} different numbers, and at most {MAX_GROUPS:,} groups are answered; "
                f"group by buckets, such as FLOOR({key.column}/10)*10"
            )
        known[key] = replace(key, numbers=tuple(values.tolist()))
    groups = tuple(known.get(key, key) for key in question.groups)
    if (size := math.prod(len(key.groups()) for key in groups)) > MAX_GROUPS:
        raise UsageError(
            f"GROUP BY makes {size:,} groups, and at most {MAX_GROUPS:,} are answered; use wider buckets, or fewer columns"
        )
    shown = tuple((name, known.get(part, part) if isinstance(part, Key) else part) for name, part in question.columns)
    return replace(question, groups=groups, columns=shown)


@dataclass(frozen=True, eq=False)
class _Base:
    """Which groups there are."""

    layout: Layout | None
    """Rows by group: under WHERE where that has no noise, of all rows elsewhere; None where groups themselves are noisy."""
    place: int
    missing: tuple[tuple[int, int, Layout], ...]
    """For each key, of its one column: how many rows miss it, where that is visible."""
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, question: Question, columns: Mapping[str, Column], visit: Pass) -> _Base:
        rows = Asked("", Statistic.COUNT)
        layout = next(
            (
                made
                for where in (question.where, rows.rows)
                if (made := _lay_out_or_none(rows, replace(question, where=where), columns)) is not None and made.exact
            ),
            None,
        )
        missing = []
        for number, key in enumerate(question.groups):
            names = {name for name, _ in key.ends()}
            if layout is None and len(names) == 1:
                asked = Asked("", Statistic.COUNT, rows=IsMissing(names.pop()))
                made = _lay_out_or_none(asked, replace(question, groups=()), columns, plain=True)
                if made is not None and made.exact:
                    missing.append((number, visit.add(made.count), made))
        everything = lay_out_figure(rows, rows.rows, (), columns)
        place = visit.add((layout or everything).count)
        return cls(layout, place, tuple(missing), question.groups)

    def groups(self, visit: Pass) -> BoolArray:
        """Return whether each group is shown."""
        sizes = [len(key.groups()) for key in self.keys]
        size = math.prod(sizes)
        if not self.keys:
            return np.ones(1, dtype=bool)
        if self.layout is not None:
            counts = visit.results[self.place].arrays["sums"][0]  # every code is a class
            mask = self.layout.masks.arrays[self.layout.plan.totals[0].mask].reshape(-1)
            places = np.broadcast_to(self.layout.groups, self.layout.count.shape).reshape(-1)
            return np.bincount(places[mask], counts[mask], minlength=size) > 0.5
        shown = np.ones(sizes, dtype=bool)
        for number, place, layout in self.missing:
            if _fold_of(layout, visit.results[place]).values(0, layout.plan.totals)[0] < 0.5:
                shown[(slice(None),) * number + (-1,)] = False  # NULL is the last group of a key
        return shown.reshape(-1)


def _lay_out_or_none(
    asked: Asked, question: Question, columns: Mapping[str, Column], *, plain: bool = False
) -> Layout | None:
    where = asked.rows if plain else question.where
    if needs_fit(asked, where, question.groups, columns):
        return None
    try:
        return lay_out_figure(asked, where, question.groups, columns)
    except NoWeightError:
        return None


def _fold_of(layout: Layout, sums: Any) -> Folded:
    return Folded(layout.count, sums.arrays["sums"], layout.groups, layout.masks)


@dataclass(frozen=True, eq=False)
class _ByWeights:
    """A figure from unbiased weights."""

    layout: Layout
    place: int
    columns: Mapping[str, Column]

    def estimate(self, group: int, visit: Pass, shared: float) -> Estimate:
        """Return the figure of one group."""
        sums, exact = visit.results[self.place], self.layout.exact
        folded = _fold_of(self.layout, sums)
        return estimate(
            self.layout.plan, folded, group, self.columns, float(sums.arrays["rows"]), exact=exact, shared=shared
        )


@dataclass(frozen=True, eq=False)
class _ExactQuantile:
    """A quantile of a column that is released as true, with groups and conditions without noise."""

    asked: Asked
    layout: Layout
    place: int

    def estimate(self, group: int, visit: Pass, shared: float) -> Estimate:  # noqa: ARG002 - there is no noise
        """Return the quantile of one group."""
        counts: ValueCounts = visit.results[self.place]
        mask = self.layout.masks.arrays[self.layout.plan.totals[0].mask] & (self.layout.groups == group)
        chosen = mask.reshape(-1)[counts.codes]
        merged = ValueCounts.of(np.zeros(int(chosen.sum()), dtype=np.int64), counts.values[chosen], counts.rows[chosen])
        if not len(merged.values):
            return Estimate.exact(None, 0.0)
        value = quantile(merged.values, merged.rows, self.asked.level, interpolated=self.asked.interpolated)
        return Estimate.exact(value, float(merged.rows.sum()))


@dataclass(frozen=True, eq=False)
class _ByFit:
    """A figure that asks for a range, or a quantile, of one blurred column."""

    layout: RangeLayout
    place: int

    def estimate(self, group: int, visit: Pass, shared: float) -> Estimate:
        """Return the figure of one group."""
        arrays = visit.results[self.place].arrays
        return self.layout.estimate(group, arrays["sums"][0], float(arrays["rows"]), shared)


@dataclass(frozen=True, eq=False)
class _BySeveralFits:
    """A figure that needs several columns of numbers through their noise."""

    layout: SeveralLayout
    places: tuple[int, ...]

    def estimate(self, group: int, visit: Pass, shared: float) -> Estimate:
        """Return the figure of one group."""
        results = [visit.results[place].arrays["sums"] for place in self.places]
        rows = float(visit.results[self.places[0]].arrays["rows"])
        return self.layout.estimate(group, results, rows, shared, visit.memory)


@dataclass(frozen=True)
class _Untold:
    """A figure that no estimator here can give."""

    why: str

    def estimate(self, group: int, visit: Pass, shared: float) -> Estimate:  # noqa: ARG002 - the same of every group
        """Return that it cannot be told."""
        return Estimate.untold(self.why)


def _worker(asked: Asked, question: Question, columns: Mapping[str, Column], visit: Pass) -> Any:
    """Return what estimates a figure: exact counts, weights, or a fit."""
    if asked.statistic is Statistic.QUANTILE and not needs_fit(asked, question.where, question.groups, columns):
        rows = replace(asked, statistic=Statistic.COUNT, columns=())
        layout = lay_out_figure(rows, question.where, question.groups, columns)
        return _ExactQuantile(asked, layout, visit.add(counter(asked.columns[0], layout.count)))
    if (layout_or_none := _lay_out_or_none(asked, question, columns)) is not None:
        return _ByWeights(layout_or_none, visit.add(layout_or_none.count), columns)
    made = lay_out_range(asked, question.where, question.groups, columns)
    if isinstance(made, RangeLayout):
        return _ByFit(made, visit.add(made.count))
    several = made or lay_out_several(asked, question.where, question.groups, columns)
    if isinstance(several, str):
        return _Untold(several)
    return _BySeveralFits(several, tuple(visit.add(count) for count in (*several.counts, several.cross)))


def _group_value(key: Key, value: Any, columns: Mapping[str, Column]) -> Any:
    if value is None or not isinstance(key, NumberKey | BucketKey):
        return value
    attribute = columns[key.column].attribute
    shown = attribute.format_value(value) if days_of(columns[key.column]) else value
    return int(shown) if isinstance(shown, float) and shown.is_integer() and attribute.step >= 1 else shown


def _in_days(answer: Estimate, asked: Asked, columns: Mapping[str, Column]) -> Estimate:  # noqa: ARG001
    return answer


def _as_released(answer: Estimate) -> Estimate:
    """Return a figure of values that a method changed without a law: what the released table has, without an error."""
    if answer.value is None:
        return answer
    return replace(answer, se=None, low=None, high=None, kind=Certainty.AS_RELEASED, by="as released")


def _sort(rows: list[dict[str, Any]], question: Question) -> list[dict[str, Any]]:
    """Return the rows in the order asked for, cut to those asked for."""
    for order in reversed(question.order):
        name = question.columns[order.place][0]
        values = [_plain(row[name]) for row in rows]
        known = [i for i, v in enumerate(values) if v is not None]
        known.sort(key=lambda i: _sort_key(values[i]), reverse=order.descending)
        if order.descending:  # equal rows keep their order
            known = _stable(known, values)
        nulls = [i for i, v in enumerate(values) if v is None]
        places = nulls + known if order.nulls_first else known + nulls
        rows = [rows[i] for i in places]
    last = None if question.limit is None else question.offset + question.limit
    return rows[question.offset : last]


def _stable(places: list[int], values: Sequence[Any]) -> list[int]:
    out: list[int] = []
    run: list[int] = []
    for place in places:
        if run and values[run[-1]] != values[place]:
            out, run = out + sorted(run), []
        run.append(place)
    return out + sorted(run)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Estimate) else value


def _sort_key(value: Any) -> tuple[int, Any]:
    return (1, value) if isinstance(value, str) else (0, value)


def _notes(
    question: Question,
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Column],
    manifest: Manifest | None,
    guided: set[str],
) -> list[Note]:
    """Return what to bear in mind with an answer."""
    out: list[Note] = []
    names = set(question.names)
    if changed := sorted(names & guided):
        law = None if manifest is None or manifest.method is None else manifest.method.get("law")
        out.append(
            Note(
                "SF501",
                f"{join_names(changed)}: changed by {law}, which states no law; figures are those of the released table",
            )
        )
    noisy = [name for name in names if columns[name].channel is not None]
    if manifest is not None and manifest.entities is not None and noisy:
        out.append(
            Note(
                "SF502",
                f"a {manifest.entities.column} may have {manifest.entities.most_rows} rows, and equal values of one share their noise; "
                "errors are bounded as if all did",
            )
        )
    figures = [value for row in rows for value in row.values() if isinstance(value, Estimate)]
    if untold := sum(f.kind is Certainty.UNTOLD for f in figures):
        out.append(
            Note("SF503", f"{untold} of {len(figures)} figures cannot be told through the noise; ask for larger groups")
        )
    if any(f.guaranteed is not None and f.kind is Certainty.LIKELY for f in figures):
        out.append(
            Note(
                "SF505",
                "a range of blurred numbers has a likely interval, from a fit, and a guaranteed one, whatever the column looks like",
            )
        )
    if any(f.guaranteed is not None and f.kind is Certainty.GUARANTEED for f in figures):
        out.append(
            Note(
                "SF504",
                "a law of bins does not release where in its bin a value lies; guaranteed intervals hold whatever it is",
            )
        )
    return out
