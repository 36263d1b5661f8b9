"""How far off are counts of rectangles, asked of the joint distribution of two columns?

    python benchmarks/joint_ranges.py                  # 1,000,000 rows × 6 columns × 64 values, all 15 pairs
    python benchmarks/joint_ranges.py --data FOLDER    # and pairs of real columns: 500 rows, 5,000 and all of them

The table is that of the papers on range queries under local privacy: normal columns with correlation 0.8, cut into 64 cells of
equal width over 3, 5 or 9.5 standard deviations to each side, what lies beyond in the end cells. Nobody wrote down the table
for which errors of 0.055 (s = 0.02) and 0.019 (s = 0.001, 3,000 steps) were first reported; of the widths tried, 3, 5, 7, 9, 9.5
and 10, it is 9.5 that gives them back (0.057 and 0.019, one pair, on the 52 cells of that time). Both sides of a rectangle are half
of their domain. The error is the mean absolute difference between the estimated and the true share of the rows.
Beside the default, which chooses its smoothing from the release, stand the released values themselves, the product of the two
columns as `reconstruct` has each, and one smoothing for all: s = 0.02, 300 steps, as it was before there was a choice.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
from measure import Ratio, ratios

import sfumato as sf
from sfumato.channels import Gaussian
from sfumato.counts import FloatArray, Grid
from sfumato.randomness import SecretKey
from sfumato.reconstruction import JointDistribution, fit_separable, reconstruct, reconstruct_joint
from sfumato.reconstruction.joint import OBSERVED_CELLS, JointAxis
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Table

VALUES, COLUMNS, CORRELATION = 64, 6, 0.8
GOALS = {0.5: 0.005, 1.0: 0.019, 2.0: 0.05}
WAYS = ("released", "product", "s = 0.02", "chosen")
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


def release(attributes: list[Attribute], x: FloatArray, privacy: float, seed: int) -> Table:
    """Return the table that a miner holds."""
    columns = []
    for attribute, values in zip(attributes, x.T, strict=True):
        key = SecretKey(hashlib.sha256(f"{attribute.name} {privacy} {seed}".encode()).digest())
        columns.append(Column(attribute, None, values).through(Gaussian(privacy=privacy).on(attribute), key))
    return Table(tuple(columns))


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=15, help="how many of the 15 pairs of columns")
    parser.add_argument("--queries", type=int, default=200, help="in all, or for each pair of real columns")
    parser.add_argument("--privacy", type=float, nargs="+", default=list(GOALS))
    parser.add_argument(
        "--reach", type=float, nargs="*", default=[3.0, 5.0, 9.5], help="standard deviations to each side"
    )
    parser.add_argument("--data", type=Path, help="a folder with adult, bank_marketing and pima_diabetes")
    parser.add_argument("--keys", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the normal table and its noise")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = measure_normal(options) if options.reach else []
    if options.data is not None:
        measure_real(options)
    ratios(lines)


if __name__ == "__main__":
    main()
