"""How far off are counts of boxes of two and four columns, asked of a release?

    python benchmarks/joint_ranges.py                  # 1,000,000 rows × 6 columns × 64 values
    python benchmarks/joint_ranges.py --data FOLDER    # and real columns: how often intervals hold, and pairs of them

The table is that of the papers on range queries under local privacy: normal columns with correlation 0.8, cut into 64 cells of
equal width over 3, 5 or 9.5 standard deviations to each side, what lies beyond in the end cells. Nobody wrote down the table
for which errors of 0.055 (s = 0.02) and 0.019 (s = 0.001, 3,000 steps) were first reported; of the widths tried, 3, 5, 7, 9, 9.5
and 10, it is 9.5 that gives them back (0.057 and 0.019, one pair, on the 52 cells of that time). Both sides of a rectangle are half
of their domain. The error is the mean absolute difference between the estimated and the true share of the rows.
`ask` answers SELECT COUNT(*) … WHERE a BETWEEN … AND b BETWEEN …, 200 boxes of two columns and 200 of four. `reconstruct_joint` has the
joint distribution of each of the 15 pairs. Beside its default, which chooses its smoothing from the release, stand the released values themselves, the product of the two
columns as `reconstruct` has each, and one smoothing for all: s = 0.02, 300 steps, as it was before there was a choice.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
from measure import Ratio, ratios

import sfumato as sf
from sfumato.channels import Channel, Gaussian, Laplace, SquareWave, Substitution, Uniform
from sfumato.counts import FloatArray, Grid
from sfumato.questions import Memory, parse_question, reply
from sfumato.randomness import SecretKey
from sfumato.reconstruction import JointDistribution, fit_separable, reconstruct, reconstruct_joint
from sfumato.reconstruction.joint import OBSERVED_CELLS, JointAxis
from sfumato.releases import read_original
from sfumato.schema import Attribute, Interval, Kind, Role
from sfumato.table import Column, Table

VALUES, COLUMNS, CORRELATION = 64, 6, 0.8
GOALS = {0.5: 0.005, 1.0: 0.019, 2.0: 0.05}
SPLIT_GOAL = 0.0135
"""Asked of square-wave reports whose ε of 6 is split over the columns."""
WAYS = ("released", "product", "s = 0.02", "chosen")
REAL_COLUMNS = {
    "adult": ("age", "hours_per_week", "education_num", "sex"),
    "boston_housing": ("crim", "nox", "rm", "lstat", "medv"),
    "breast_cancer_wisconsin": ("clump_thickness", "cell_size_uniformity", "bare_nuclei", "class"),
    "german_credit": ("duration_months", "credit_amount", "age", "purpose"),
    "sdc_census": ("afnlwgt", "agi", "fedtax", "ptotval"),
    "bank_marketing": ("age", "balance", "duration", "marital"),
    "credit_approval": ("A2", "A3", "A8", "A6"),
    "glass": ("RI", "Na", "Mg", "Al"),
    "pima_diabetes": ("plasma_glucose", "bmi", "age", "class"),
    "sdc_tarragona": ("fixed_assets", "sales", "labor_costs", "net_profit"),
    "yeast": ("mcg", "gvh", "alm", "class"),
}
"""Columns of real tables. What no correlation tells (`TiedColumns`) was set on the first five, so that figures of the others speak."""
SEEN = 5
REAL_LAWS = {
    "gaussian 25 %": Gaussian(privacy=0.25),
    "gaussian 50 %": Gaussian(privacy=0.5),
    "gaussian 100 %": Gaussian(privacy=1.0),
    "uniform 50 %": Uniform(privacy=0.5),
    "laplace 50 %": Laplace(privacy=0.5),
    "square wave ε 4": SquareWave(epsilon=4.0),
}
REAL_PAIRS = (
    ("adult", "age", "hours_per_week"),
    ("adult", "age", "education_num"),
    ("adult", "capital_gain", "age"),
    ("bank_marketing", "age", "balance"),
    ("bank_marketing", "duration", "campaign"),
    ("pima_diabetes", "bmi", "age"),
)


def normal_rows(rows: int, reach: float, seed: int) -> FloatArray:
    """Return the true rows: numbers from 0 to 63."""
    covariance = np.full((COLUMNS, COLUMNS), CORRELATION) + (1 - CORRELATION) * np.eye(COLUMNS)
    normal = np.random.default_rng(seed).multivariate_normal(np.zeros(COLUMNS), covariance, rows)
    return np.asarray(np.floor((normal / reach + 1) / 2 * VALUES).clip(0, VALUES - 1))


def release(attributes: list[Attribute], x: FloatArray, privacy: float, seed: int, law: Channel | None = None) -> Table:
    """Return the table that a miner holds, under gaussian noise unless a law is given."""
    columns = []
    for attribute, values in zip(attributes, x.T, strict=True):
        key = SecretKey(hashlib.sha256(f"{attribute.name} {privacy} {seed}".encode()).digest())
        columns.append(Column(attribute, None, values).through((law or Gaussian(privacy=privacy)).on(attribute), key))
    return Table(tuple(columns))


Box = tuple[tuple[int, int, int], ...]
"""Columns, each with the first and the last value of a range."""


def random_boxes(queries: int, columns: int, seed: int) -> list[Box]:
    """Return boxes of some columns of the normal table, half of the domain along each."""
    rng = np.random.default_rng([seed, columns])
    out = []
    for _ in range(queries):
        places = np.sort(rng.choice(COLUMNS, columns, replace=False))
        first = rng.integers(0, VALUES // 2 + 1, columns)
        out.append(tuple((int(p), int(a), int(a) + VALUES // 2 - 1) for p, a in zip(places, first, strict=True)))
    return out


def count_inside(x: FloatArray, boxes: list[Box]) -> FloatArray:
    """Return the share of the rows in each box."""
    values = x.astype(np.int8).T.copy()
    return np.array(
        [np.mean(np.logical_and.reduce([(values[p] >= a) & (values[p] <= b) for p, a, b in box])) for box in boxes]
    )


def ask_boxes(table: Table, boxes: list[Box], memory: Memory) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return the estimated share of each box, both ends of its interval, and the seconds of all questions."""
    columns = {c.name: c for c in table.columns}
    rows = np.arange(table.rows)
    begin, found = time.process_time(), []
    for box in boxes:
        inside = " AND ".join(f"c{p} BETWEEN {a} AND {b}" for p, a, b in box)
        text = f"SELECT COUNT(*) AS n FROM release WHERE {inside}"
        answer = reply(parse_question(text, columns), text, lambda count: count(table, rows), columns, memory=memory)
        found.append(answer[0]["n"])
    seconds = time.process_time() - begin
    value, low, high = (
        np.array([getattr(f, end) for f in found], dtype=float) / table.rows for end in ("value", "low", "high")
    )
    return value, low, high, seconds


def estimates(table: Table) -> Iterator[tuple[str, JointDistribution, float]]:
    """Yield the joint distribution of a table's two columns in each way that makes one, with the seconds it took."""
    names = [c.name for c in table.columns]
    begin = time.process_time()
    chosen = reconstruct_joint(table, names)
    assert isinstance(chosen, JointDistribution)
    yield "chosen", chosen, time.process_time() - begin
    begin = time.process_time()
    first, second = (reconstruct(c, grid=g).mass for c, g in zip(table.columns, chosen.grids, strict=True))
    product = JointDistribution(chosen.names, chosen.grids, np.outer(first, second), chosen.n)
    yield "product", product, time.process_time() - begin
    begin = time.process_time()
    axes = [JointAxis.of(c, g, OBSERVED_CELLS[2]) for c, g in zip(table.columns, chosen.grids, strict=True)]
    counts = np.zeros([a.transition.observed.size for a in axes])
    np.add.at(counts, tuple(a.codes for a in axes), 1.0)
    fixed = fit_separable([a.transition.matrix for a in axes], counts, smoothing=0.02, iterations=300)
    yield "s = 0.02", JointDistribution(chosen.names, chosen.grids, fixed.mass, chosen.n), time.process_time() - begin


def overlap(grid: Grid, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return which share of each cell lies in each range, shape (ranges, cells)."""
    edges = grid.finite_edges
    inside = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    return np.asarray(inside.clip(0) / np.diff(edges))


def half_ranges(attribute: Attribute, queries: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return ranges of half the domain; on whole numbers they begin and end between two of them."""
    low, high, step = attribute.interval.low, attribute.interval.high, attribute.step
    if not step:
        begin = rng.uniform(low, (low + high) / 2, queries)
        return begin, begin + (high - low) / 2
    values = round((high - low) / step) + 1
    begin = low + (rng.integers(0, values - values // 2 + 1, queries) - 0.5) * step
    return begin, begin + values // 2 * step


def measure_pair(x: FloatArray, table: Table, queries: int, seed: int) -> dict[str, tuple[float, float, str]]:
    """Return the error of range queries, the seconds and what was chosen, by way."""
    rng = np.random.default_rng(seed)
    (low1, high1), (low2, high2) = (half_ranges(c.attribute, queries, rng) for c in table.columns)
    y = np.column_stack([c.values for c in table.columns])
    true, naive = (
        np.array(
            [np.mean((v[:, 0] > a) & (v[:, 0] < b) & (v[:, 1] > c) & (v[:, 1] < d)) for a, b, c, d in
             zip(low1, high1, low2, high2, strict=True)]
        )
        for v in (x, y)
    )  # fmt: skip
    out = {"released": (float(np.abs(naive - true).mean()), 0.0, "")}
    for way, joint, seconds in estimates(table):
        first, second = overlap(joint.grids[0], low1, high1), overlap(joint.grids[1], low2, high2)
        answers = np.einsum("qi,ij,qj->q", first, joint.mass, second)
        words = "" if not joint.chosen else "independent" if joint.chosen["independent"] else f"{joint.chosen['smoothing']:g}, {joint.chosen['margins']}"  # fmt: skip
        out[way] = (float(np.abs(answers - true).mean()), seconds, words)
    return out


def measure_normal(options: argparse.Namespace) -> list[Ratio]:
    """Print the errors on the table of normal columns."""
    print(f"\n{options.rows:,} rows × {COLUMNS} columns × {VALUES} values, {options.pairs} pairs\n")
    print(
        "| table | noise |"
        + "".join(f" {w} |" for w in WAYS)
        + " chosen | seconds |\n|---|---|"
        + "---:|" * 4
        + "---|---:|"
    )
    attributes = [Attribute(f"c{i}", Kind.INTEGER, Interval(0, VALUES - 1)) for i in range(COLUMNS)]
    pairs = list(itertools.combinations(range(COLUMNS), 2))[: options.pairs]
    lines = []
    for reach, privacy in itertools.product(options.reach, options.privacy):
        x = normal_rows(options.rows, reach, options.seed)
        table = release(attributes, x, privacy, options.seed)
        errors, seconds, words = defaultdict(list), [], set()
        for number, pair in enumerate(pairs):
            part = Table(tuple(table.columns[i] for i in pair))
            outcome = measure_pair(x[:, pair], part, -(-options.queries // len(pairs)), number)
            for way, (error, _, _) in outcome.items():
                errors[way].append(error)
            seconds.append(outcome["chosen"][1])
            words.add(outcome["chosen"][2])
        mean = {way: float(np.mean(values)) for way, values in errors.items()}
        cells = "".join(f" {mean[w]:.4f} |" for w in WAYS)
        print(
            f"| normal, ± {reach:g} | {privacy:.0%} |{cells} {'; '.join(sorted(words))} | {np.mean(seconds):.1f} |",
            flush=True,
        )
        if privacy in GOALS:
            what = f"range error over what was asked, normal ± {reach:g}, gaussian {privacy:.0%}"
            goal = GOALS[privacy]
            lines.append(Ratio(what, f"{mean['chosen']:.4f}", f"{goal:g}", mean["chosen"] / goal, "≤ 1"))
    return lines


def measure_questions(options: argparse.Namespace) -> list[Ratio]:
    """Print the errors of `ask` on the table of normal columns, two and four at a time."""
    print(
        f"\n{options.rows:,} rows × {COLUMNS} columns × {VALUES} values, {options.queries} boxes of two and of four columns, by `ask`\n"
    )
    print(
        "| table | noise | 2 columns | 4 columns | intervals hold | mean half-width | first questions, s | as many more, s |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|"
    )
    attributes = [Attribute(f"c{i}", Kind.INTEGER, Interval(0, VALUES - 1)) for i in range(COLUMNS)]
    laws: list[tuple[str, float, Channel, float]] = [
        (f"gaussian {p:.0%}", p, Gaussian(privacy=p), GOALS.get(p, math.nan)) for p in options.privacy
    ]
    laws += [
        (f"ε {e:g}, split", e, SquareWave(epsilon=e / COLUMNS), SPLIT_GOAL if e == 6 else math.nan)
        for e in options.epsilon
    ]
    lines = []
    for reach, seed in itertools.product(options.reach, range(options.seed, options.seed + options.tables)):
        x = normal_rows(options.rows, reach, seed)
        asked, more = ([b for d in (2, 4) for b in random_boxes(options.queries, d, s)] for s in (seed, seed + 1000))
        truths = count_inside(x, asked)
        for name, strength, law, goal in laws:
            table, memory = release(attributes, x, strength, seed, law), Memory()
            value, low, high, first = ask_boxes(table, asked, memory)
            *_, then = ask_boxes(table, more, memory)
            two, four = np.abs(value - truths).reshape(2, -1).mean(axis=1)
            held = np.mean((low <= truths) & (truths <= high))
            print(
                f"| normal, ± {reach:g}, {seed} | {name} | {two:.4f} | {four:.4f} | {held:.0%} | {np.mean(high - low) / 2:.4f} | {first:.1f} | {then / 2:.2f} |",
                flush=True,
            )
            if math.isfinite(goal):
                for columns, error in ((2, two), (4, four)):
                    what = f"ask, boxes of {columns} columns over what was asked, normal ± {reach:g}, {name}"
                    lines.append(Ratio(what, f"{error:.4f}", f"{goal:g}", error / goal, "≤ 1"))
    return lines


def measure_real(options: argparse.Namespace) -> None:
    """Print the errors on pairs of real columns, as means over the keys, and over what they were with one smoothing for all."""
    print(
        "\n| pair | rows | noise |"
        + "".join(f" {w} |" for w in WAYS)
        + " chosen |\n|---|---:|---:|"
        + "---:|" * 4
        + "---|"
    )
    over = defaultdict(list)
    for name, one, other in REAL_PAIRS:
        path = next(iter(sorted(options.data.glob(f"{name}.csv*"))), None)
        if path is None:
            continue
        known = {a.name: a for a in sf.plan(str(path), privacy=0.5).schema.attributes}
        attributes = [known[one], known[other]]
        data = pacsv.read_csv(path)
        every = np.column_stack([data[a.name].cast("double").to_numpy() for a in attributes])
        every = every[~np.isnan(every).any(axis=1)]
        sizes = [n for n in (500, 5000) if n < len(every)] + [len(every)]
        for rows, privacy in itertools.product(sizes, (0.5, 1.0)):
            errors, words = defaultdict(list), []
            for key in range(options.keys):
                x = every[np.random.default_rng(key).choice(len(every), rows, replace=False)]
                outcome = measure_pair(x, release(attributes, x, privacy, key), options.queries, key)
                for way, (error, _, _) in outcome.items():
                    errors[way].append(error)
                words.append(outcome["chosen"][2])
            mean = {way: float(np.mean(values)) for way, values in errors.items()}
            cells = "".join(f" {mean[w]:.4f} |" for w in WAYS)
            print(f"| {name} {one} × {other} | {rows:,} | {privacy:.0%} |{cells} {'; '.join(words)} |", flush=True)
            size = {500: "500 rows", 5000: "5,000 rows"}.get(rows, "all rows")
            for way in WAYS:
                over[size, way].append(mean[way] / mean["s = 0.02"])
    print("\nGeometric mean over the pairs of the error over that of s = 0.02, and the largest:\n")
    print("| rows |" + "".join(f" {w} |" for w in WAYS) + "\n|---|" + "---:|" * 4)
    for size in dict.fromkeys(size for size, _ in over):
        means = [f" {np.exp(np.mean(np.log(over[size, w]))):.2f} ({max(over[size, w]):.2f}) |" for w in WAYS]
        print(f"| {size} |" + "".join(means))


def real_figures(table: Table, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Return figures that need several columns, each with its kind; ranges begin or end at quantiles of the true values."""
    numbers = [c for c in table.columns if c.attribute.kind.numeric]
    labels = [c for c in table.columns if not c.attribute.kind.numeric]

    def cut(column: Column) -> str:
        present = column.values[~np.isnan(column.values)]
        end = float(np.quantile(present, rng.choice([0.1, 0.25, 0.5, 0.75, 0.9]), method="lower"))
        return f"{column.name} {rng.choice(['>=', '<'])} {end!r}"

    out = []
    for one, other in itertools.combinations(numbers, 2):
        out += [
            ("range of two", f"SHARE({cut(one)} AND {cut(other)})"),
            ("range of two", f"SHARE({cut(one)} OR {cut(other)})"),
        ]
        out += [("share among a range", f"SHARE({cut(one)}) FILTER (WHERE {cut(other)})")]
        for kind, figure in (("mean", "AVG"), ("median", "MEDIAN"), ("deviation", "STDDEV")):
            out += [(f"{kind} in a range", f"{figure}({one.name}) FILTER (WHERE {cut(other)})")]
            out += [(f"{kind} in a range", f"{figure}({other.name}) FILTER (WHERE {cut(one)})")]
    for three in itertools.combinations(numbers, 3):
        out.append(("range of three", f"SHARE({' AND '.join(map(cut, three))})"))
    for label in labels:
        commonest = label.attribute.categories[int(np.bincount(label.codes[label.codes >= 0]).argmax())]
        for one in numbers:
            out.append(("label in a range", f"SHARE({label.name} = '{commonest}') FILTER (WHERE {cut(one)})"))
        for one, other in itertools.combinations(numbers, 2):
            out.append(("range and label", f"SHARE({cut(one)} AND {cut(other)} AND {label.name} = '{commonest}')"))
    return out


def measure_answers(options: argparse.Namespace) -> None:
    """Print how often intervals of figures of several columns hold on real tables."""
    outcomes: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
    for number, (name, wanted) in enumerate(REAL_COLUMNS.items()):
        path = next(iter(sorted(options.data.glob(f"{name}.csv*"))), None)
        if path is None:
            continue
        original = read_original(str(path), sf.Plan.propose(str(path)))
        for size in (500, 2000, 20_000):
            if size > 500 and original.rows <= size / 4:
                continue
            rng = np.random.default_rng([number, size])
            kept = np.sort(rng.permutation(original.rows)[:size])
            known = {c.name: c for c in original.all_columns}
            true = Table(tuple(plain_column(known[c]).take(kept) for c in wanted))
            figures = real_figures(true, rng)
            text = f"SELECT {', '.join(f'{figure} AS f{i}' for i, (_, figure) in enumerate(figures))} FROM release"
            truth = ask_once(true, text)
            for (law, channel), key in itertools.product(REAL_LAWS.items(), range(options.keys)):
                laws = [channel if c.attribute.kind.numeric else Substitution(gamma=19.0) for c in true.columns]
                keys = [
                    SecretKey(hashlib.sha256(f"{name} {size} {law} {key} {c.name}".encode()).digest())
                    for c in true.columns
                ]
                released = Table(
                    tuple(c.through(w.on(c.attribute), k) for c, w, k in zip(true.columns, laws, keys, strict=True))
                )
                row = ask_once(released, text)
                for i, (kind, _) in enumerate(figures):
                    right, told = truth[f"f{i}"].value, row[f"f{i}"]
                    if right is None:
                        continue
                    held = told.value is not None and told.low - 1e-9 <= right <= told.high + 1e-9
                    error = 0.0 if told.value is None else abs(told.value - right) / max(told.se, 1e-12)
                    for about in (kind, law, name, "the five tables" if number < SEEN else "the six others"):
                        outcomes[about].append((told.value is not None, held, error))
    print(f"\nFigures of several columns of real tables, {options.keys} releases of each\n")
    print("| figures | asked | told | intervals hold | median error in standard errors |\n|---|---:|---:|---:|---:|")
    for about, cases in outcomes.items():
        told = [(held, error) for known, held, error in cases if known]
        print(
            f"| {about} | {len(cases):,} | {len(told) / len(cases):.0%} | {np.mean([h for h, _ in told]):.1%} | {np.median([e for _, e in told]):.2f} |"
        )


def plain_column(column: Column) -> Column:
    """Return a column without a proposed scale, so that noise acts on the numbers themselves."""
    attribute = column.attribute
    values = attribute.to_values(column.values) if attribute.kind.numeric else column.values
    return replace(column, attribute=replace(attribute, role=Role.ATTRIBUTE, scale=None), values=values)


def ask_once(table: Table, text: str) -> Mapping[str, Any]:
    """Return the only row of an answer."""
    columns, rows = {c.name: c for c in table.columns}, np.arange(table.rows)
    return reply(parse_question(text, columns), text, lambda count: count(table, rows), columns)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=15, help="how many of the 15 pairs of columns")
    parser.add_argument("--queries", type=int, default=200, help="in all, or for each pair of real columns")
    parser.add_argument("--privacy", type=float, nargs="+", default=list(GOALS))
    parser.add_argument("--epsilon", type=float, nargs="*", default=[6.0], help="of a record, split over its columns")
    parser.add_argument("--tables", type=int, default=1, help="tables of each kind that `ask` is asked of")
    parser.add_argument(
        "--reach", type=float, nargs="*", default=[3.0, 5.0, 9.5], help="standard deviations to each side"
    )
    parser.add_argument("--data", type=Path, help="a folder with adult, bank_marketing and pima_diabetes")
    parser.add_argument("--keys", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the normal table and its noise")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = measure_questions(options) if options.reach else []
    lines += measure_normal(options) if options.reach and options.pairs else []
    if options.data is not None:
        measure_answers(options)
        measure_real(options)
    ratios(lines)


if __name__ == "__main__":
    main()
