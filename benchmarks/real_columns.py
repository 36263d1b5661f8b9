"""Are the default's distributions and figures right on real columns: spikes, tails, integers, few rows?

    python benchmarks/real_columns.py                      # the bundled tables, a random fifth of the cells
    python benchmarks/real_columns.py --data FOLDER --full # every numeric column of every .csv and .csv.gz in a folder

A cell is a column × a law and strength (gaussian, uniform, laplace at 25, 50, 100 and 200 %, square wave at ε 1, 2, 4) × 500
rows, 5,000 or all × a key. The column is released and reconstructed, and compared with the true values of the same rows by
the Wasserstein distance W1 (as a share of the domain) and the total variation over at most 40 cells. Beside the default stand
our other methods, the released values themselves, and an oracle: the smoothing that fits the truth best. Figures are compared
with those of the true rows: bias in standard errors, and how often the 95 % intervals and bands hold them.
`--before FILE` compares W1 with an earlier run's, cell by cell (`--save FILE` keeps one).
`--limit N` asks what a choice of method could reach at all: N random columns × laws × rows, each with ten keys on the same rows.
Beside the default stands whoever knows the true column, though not the noise, and takes the method that is best for it on
average; and the same among all fits that the default averages as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
from measure import Ratio, ratios

import sfumato as sf
from sfumato import datasets
from sfumato.channels import CHANNELS
from sfumato.counts import FloatArray
from sfumato.errors import SfumatoError
from sfumato.randomness import SecretKey
from sfumato.reconstruction.em import em_step
from sfumato.report import svg
from sfumato.schema import Attribute, Kind
from sfumato.table import Column

LAWS = [(law, "privacy", p) for law in ("gaussian", "uniform", "laplace") for p in (0.25, 0.5, 1.0, 2.0)]
LAWS += [("square-wave", "epsilon", e) for e in (1.0, 2.0, 4.0)]
METHODS = ("auto", "em", "ems", "bayes", "inverse")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@cache
def columns(folder: str) -> list[tuple[str, Attribute, FloatArray]]:
    """Every numeric column of every table: the table's name, the attribute as `plan` proposes it, the true values."""
    paths = sorted(p for p in Path(folder).iterdir() if p.name.endswith((".csv", ".csv.gz"))) if folder else []
    out = []
    for path in paths or [datasets.path(name) for name in datasets.names()]:
        table = pacsv.read_csv(path)
        for attribute in sf.plan(str(path), privacy=0.5).schema.attributes:
            if attribute.kind.numeric and attribute.domain is not None and attribute.interval.range > 0:
                values = table[attribute.name].cast("double").to_numpy()
                values = values[~np.isnan(values)]
                out.append((path.name.partition(".")[0], _on_plain_range(attribute, values), values))
    return out


def _on_plain_range(attribute: Attribute, values: FloatArray) -> Attribute:
    """The attribute without the scale that a plan proposes: here the estimates have to cope with the tail."""
    if attribute.scale is None:
        return attribute
    whole = bool(np.all(values == np.rint(values)))
    return replace(attribute, scale=None, kind=Kind.INTEGER if whole else attribute.kind)


def cells(folder: str, keys: int) -> Iterator[tuple[int, int | None, int, int]]:
    """Column, rows, law and key by their numbers."""
    for i, (_, _, values) in enumerate(columns(folder)):
        for rows in (500, 5000, None):
            if rows is None or rows < len(values):
                yield from ((i, rows, law, key) for law in range(len(LAWS)) for key in range(keys))


def made(folder: str, cell: tuple[int, int | None, int, int]) -> tuple[str, FloatArray, Column]:
    """The cell's name, the true rows, and the released column."""
    i, rows, law, key = cell
    table, attribute, values = columns(folder)[i]
    name, parameter, strength = LAWS[law]
    label = f"{table} {attribute.name} {rows or 'all'} {name} {strength:g} {key}"
    digest = hashlib.sha256(label.encode()).digest()
    if rows is not None:
        values = np.random.default_rng(int.from_bytes(digest[:4], "big")).choice(values, rows, replace=False)
    channel = CHANNELS[name](**{parameter: strength}).on(attribute)
    return label, values, Column(attribute, None, values).through(channel, SecretKey(digest))


def cumulate(values: FloatArray, points: FloatArray) -> FloatArray:
    """Return the share of values up to each point."""
    return np.searchsorted(np.sort(values), points, side="right") / len(values)


def distances(attribute: Attribute, true: FloatArray, cdf: Any) -> tuple[float, float]:
    """Return W1, as a share of the domain, and the total variation over at most 40 cells."""
    low, high, step = attribute.interval.low, attribute.interval.high, attribute.step
    if step and (high - low) / step <= 4000:
        points = low + (np.arange(round((high - low) / step) + 1) + 0.5) * step
    else:
        points = np.linspace(low, high, 4001)
    gap = np.abs(cumulate(true, points) - cdf(points))
    w1 = float(np.sum((gap[1:] + gap[:-1]) / 2 * np.diff(points))) / (high - low)
    if step:
        values = round((high - low) / step) + 1
        each = -(-values // 40)
        edges = low + (np.arange(0, values + each, each) - 0.5) * step
    else:
        edges = np.linspace(low, high, 41)
    ours, theirs = np.asarray(cdf(edges), dtype=np.float64).copy(), cumulate(true, edges)
    ours[0] = theirs[0] = 0.0
    ours[-1] = theirs[-1] = 1.0
    return w1, 0.5 * float(np.abs(np.diff(ours) - np.diff(theirs)).sum())


def figures(true: FloatArray, d: Any) -> dict[str, Any]:
    """Return how far the figures are off, in standard errors, and whether their intervals hold the truth."""
    mean, variance = d.mean(), d.variance()
    edges = d.grid.finite_edges
    upto = np.searchsorted(np.sort(true), edges - 1e-9 * (edges[-1] - edges[0])) / len(true)
    upto[0], upto[-1] = 0.0, 1.0
    share = np.diff(upto)
    held = (share >= d.lower - 1e-9) & (share <= d.upper + 1e-9)
    quantiles = [d.quantile(q) for q in QUANTILES]
    truths = np.quantile(true, QUANTILES, method="inverted_cdf")
    slack = 1e-9 * (edges[-1] - edges[0])
    low, high = edges[0] + np.array([0.2, 0.5]) * (edges[-1] - edges[0])
    part, sd = d.share(low, high), d.sd()
    return {
        "mean": (float(mean) - true.mean()) / (mean.se or np.inf),
        "mean held": mean.low - slack <= true.mean() <= mean.high + slack,
        "variance": (float(variance) - true.var(ddof=1)) / (variance.se or np.inf),
        "variance held": variance.low - slack <= true.var(ddof=1) <= variance.high + slack,
        "sd held": sd.low - slack <= true.std(ddof=1) <= sd.high + slack,
        "share held": part.low - 1e-9 <= np.mean((true >= low) & (true <= high)) <= part.high + 1e-9,
        "quantiles held": float(
            np.mean([q.low - slack <= t <= q.high + slack for q, t in zip(quantiles, truths, strict=True)])
        ),
        "median held": bool(quantiles[2].low - slack <= truths[2] <= quantiles[2].high + slack),
        "people held": float(share @ held),
        "cells held": float(held.mean()),
        "cells": len(share),
    }


def measure_cell(job: tuple[str, tuple[int, int | None, int, int], bool]) -> dict[str, Any]:
    """Return everything about one cell."""
    warnings.simplefilter("ignore")
    folder, cell, only_default = job
    label, true, column = made(folder, cell)
    attribute = column.attribute
    words = label.split()
    law, rows = " ".join(words[3:5]), "few" if len(true) <= 1000 else "some" if len(true) <= 6000 else "many"
    out: dict[str, Any] = {"cell": label, "column": " ".join(words[:2]), "law": law, "rows": rows}
    begin = time.process_time()
    default = sf.reconstruct(column)
    if hasattr(default, "variance"):
        out |= figures(true, default)
    out["seconds"] = time.process_time() - begin
    out["auto"] = distances(attribute, true, default.cdf)
    out["raw"] = distances(attribute, true, lambda p: cumulate(column.values, p))
    if only_default:
        return out
    for method in METHODS[1:]:
        try:
            out[method] = distances(attribute, true, sf.reconstruct(column, method=method).cdf)
        except SfumatoError:
            continue
    smooth = [sf.reconstruct(column, method="ems", smoothing=s).cdf for s in (0.001, 0.005, 0.05, 0.2, 0.6)]
    every = [distances(attribute, true, cdf) for cdf in smooth]
    out["oracle"] = (min(w for w, _ in every), min(t for _, t in every))
    return out


def single_fits(d: Any) -> dict[str, Any]:
    """Return the distribution that each fit behind a default would give alone, after the default's own last steps."""
    fit, problem = d.source.fit, d.source.problem
    out = {}
    for candidate in fit.candidates:
        mass = candidate.mass / candidate.mass.sum()
        for _ in range(2):
            mass = em_step(problem.kernel, problem.share, mass).mass
        name = f"{candidate.name} in {candidate.basis.name} cells"
        out[name] = replace(d, source=replace(d.source, fit=replace(fit, mass=mass / mass.sum())))
    return out


def measure_limit(job: tuple[str, tuple[int, int | None, int], int]) -> FloatArray:
    """Return how the default, the best method and the best fit on average do: shape (3, 2 distances, 3 requirements)."""
    warnings.simplefilter("ignore")
    folder, (i, rows, law), keys = job
    _, true, _ = made(folder, (i, rows, law, 0))
    attribute = columns(folder)[i][1]
    name, parameter, strength = LAWS[law]
    channel = CHANNELS[name](**{parameter: strength}).on(attribute)
    runs = []
    for key in range(keys):
        secret = SecretKey(hashlib.sha256(f"limit {i} {rows} {law} {key}".encode()).digest())
        column = Column(attribute, None, true).through(channel, secret)
        run = {"raw": distances(attribute, true, partial(cumulate, column.values))}
        for method in METHODS:
            try:
                d = sf.reconstruct(column, method=method)
            except SfumatoError:
                continue
            fits = {method: d} | (single_fits(d) if method == "auto" else {})
            run |= {fit: distances(attribute, true, f.cdf) for fit, f in fits.items()}
        runs.append(run)
    shared = set.intersection(*(set(run) for run in runs)) - {"raw"}
    error = {name: np.array([run[name] for run in runs]) for name in (*shared, "raw")}
    ours = [m for m in METHODS if m in shared]
    out = np.empty((3, 2, 3))
    for k in range(2):
        best = [min(names, key=lambda name: error[name][:, k].mean()) for names in (["auto"], ours, sorted(shared))]
        for who, name in enumerate(best):
            mine = error[name][:, k]
            ratio = mine / np.maximum(np.min([mine, *(error[m][:, k] for m in ours)], axis=0), 1e-12)
            worse, near = mine > 1.05 * error["raw"][:, k] + 1e-9, (ratio <= 1.15) | (mine < 1e-4)
            out[who, k] = worse.mean(), near.mean(), np.mean(ratio > 2)
    return out


def print_limit(figures: FloatArray) -> None:
    """Print the means of `measure_limit` over columns, laws and rows."""
    print(
        "| who chooses | of | 5 % above the released | within 1.15 × of our best | beyond 2 × |\n|---|---|---:|---:|---:|"
    )
    for who, each in zip(("default", "best method", "best method or fit"), figures.mean(axis=0), strict=True):
        for what, row in zip(("W1", "TV"), each, strict=True):
            print(f"| {who} | {what} | " + " | ".join(f"{v:.1%}" for v in row) + " |")


def summarise(results: list[dict[str, Any]], before: dict[str, list[float]]) -> None:
    """Print what was asked and what was found."""
    default, raw = (np.array([r[name] for r in results]) for name in ("auto", "raw"))
    rows = [
        Ratio(
            "W1 beyond 1.05 × the released values'",
            f"{np.mean(default[:, 0] > 1.05 * raw[:, 0]):.1%} of cells",
            "",
            None,
        ),
        Ratio(
            "TV beyond 1.05 × the released values'",
            f"{np.mean(default[:, 1] > 1.05 * raw[:, 1]):.1%} of cells",
            "",
            None,
        ),
    ]
    if "em" in results[0]:
        own = np.nanmin(np.array([[r.get(m, (np.nan, np.nan)) for m in METHODS] for r in results]), axis=1)
        oracle = np.array([r["oracle"] for r in results])
        for i, what in enumerate(("W1", "TV")):
            ratio = default[:, i] / np.maximum(own[:, i], 1e-12)
            near = float(np.mean((ratio <= 1.15) | (default[:, i] < 1e-4)))
            rows.append(Ratio(f"{what} within 1.15 × of our best method", f"{near:.1%} of cells", "", near, "≥ 0.9"))
            rows.append(Ratio(f"{what} beyond 2 × of our best method", f"{np.mean(ratio > 2):.1%} of cells", "", None))
            rows.append(
                Ratio(f"{what} over the oracle's, median", "", "", float(np.median(default[:, i] / oracle[:, i])))
            )
    shared = [(r["auto"], before[r["cell"]]) for r in results if r["cell"] in before]
    if shared:
        now, then = (np.array(x) for x in zip(*shared, strict=True))
        for i, what in enumerate(("W1", "TV")):
            change = now[:, i] / np.maximum(then[:, i], 1e-12)
            rows.append(
                Ratio(
                    f"{what} over the earlier default's, median",
                    "",
                    "",
                    float(np.median(change)),
                    "≤ 0.7" if not i else "",
                )
            )
            rows.append(
                Ratio(
                    f"{what} over the earlier default's, geometric mean",
                    "",
                    "",
                    float(np.exp(np.mean(np.log(np.maximum(change, 1e-3))))),
                )
            )
    biases = {name: abs(float(np.mean([r[name] for r in results]))) for name in ("mean", "variance")}
    rows += [Ratio(f"bias of the {name} in standard errors", "", "", bias, "≤ 0.25") for name, bias in biases.items()]
    for name, low, high in (
        ("mean held", 0.93, 0.97), ("variance held", 0.93, 0.97), ("median held", 0.9, 0.97), ("quantiles held", 0.9, 0.97),
        ("people held", 0.9, 0.97), ("cells held", 0.0, 1.0),
    ):  # fmt: skip
        by_column = defaultdict(list)
        for r in results:
            by_column[r["column"]].append(r[name])
        shares = [float(np.mean(v)) for v in by_column.values()]
        share = float(np.mean(shares))
        worst = min(by_column, key=lambda c: float(np.mean(by_column[c])))
        print(
            f"{name}: {share:.3f} on average over columns (asked {low} … {high}); the worst, {worst}, {min(shares):.2f}"
        )
        rows.append(Ratio(f"{name}, mean over columns", "", "", share, f"≥ {low}"))
    for group in ("law", "rows"):
        print(
            f"\n| {group} | cells | W1 | of the released | people held | quantiles held |\n|---|---:|---:|---:|---:|---:|"
        )
        for name in sorted({r[group] for r in results}):
            some = [r for r in results if r[group] == name]
            ours, theirs = (float(np.mean([r[k][0] for r in some])) for k in ("auto", "raw"))
            held = (float(np.mean([r[k] for r in some])) for k in ("people held", "quantiles held"))
            print(
                f"| {name} | {len(some)} | {ours:.4f} | {theirs:.4f} | " + " | ".join(f"{h:.3f}" for h in held) + " |"
            )
    seconds = [r["seconds"] for r in results]
    print(f"{len(results)} cells; {np.median(seconds):.2f} CPU s each in the median, {max(seconds):.1f} at most")
    ratios(rows)


def draw(results: list[dict[str, Any]], before: dict[str, list[float]]) -> str:
    """Draw W1 of the default over that of the released values, and of the earlier default, cells in order of their ratio."""
    curves = {"accent": [r["auto"][0] / r["raw"][0] for r in results if r["raw"][0] > 0]}
    names = [("accent", "over the released values'")]
    if before:
        curves["second"] = [r["auto"][0] / before[r["cell"]][0] for r in results if before.get(r["cell"], [0])[0] > 0]
        names.append(("second", "over the earlier default's"))
    title = "W1 of the default, cell by cell"
    frame = svg.Frame(
        (0.0, 100.0), (0.0, 2.0), title=title, x_title="% of cells", y_title="ratio",
        margins=svg.margins_for(title, [name for _, name in names]),
    )  # fmt: skip
    marks = []
    for ink, ratio in curves.items():
        edges = np.linspace(0, 100, len(ratio) + 1)
        marks.append(svg.steps(frame, edges.tolist(), np.minimum(np.sort(ratio), 2.0).tolist(), ink=ink))
    return svg.drawing(frame, *marks, svg.legend(frame, names), alone=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the cells and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="a folder of tables; by default the bundled ones")
    parser.add_argument("--full", action="store_true", help="every cell")
    parser.add_argument("--share", type=float, default=0.2, help="the share of cells, drawn at random")
    parser.add_argument("--keys", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--default-only", action="store_true", help="leave our other methods out")
    parser.add_argument(
        "--limit", type=int, help="on this many columns × laws × rows, what a choice of method could reach"
    )
    parser.add_argument("--save", type=Path, help="keep W1 and TV of the default, and all else, by cell")
    parser.add_argument("--before", type=Path, help="what an earlier run saved")
    parser.add_argument("--plot", type=Path, help="draw the ratios into this .svg file")
    options = parser.parse_args(arguments)
    if options.limit:
        sets = [cell[:3] for cell in cells(options.data, 1)]
        random.Random(options.seed).shuffle(sets)
        with ProcessPoolExecutor(options.workers) as pool:
            print_limit(np.array(list(pool.map(measure_limit, [(options.data, s, 10) for s in sets[: options.limit]]))))
        return
    every = list(cells(options.data, options.keys))
    if not options.full:
        random.Random(options.seed).shuffle(every)
        every = every[: max(1, round(options.share * len(every)))]
    jobs = [(options.data, cell, options.default_only) for cell in every]
    with ProcessPoolExecutor(options.workers) as pool:
        results = list(pool.map(measure_cell, jobs, chunksize=4))
    if options.save:
        kept = {r["cell"]: r | {"auto": [float(f"{x:.4g}") for x in r["auto"]]} for r in results}
        options.save.write_text(json.dumps(kept, default=float))
    before = {}
    if options.before:
        before = {c: r["auto"] if isinstance(r, dict) else r for c, r in json.loads(options.before.read_text()).items()}
    if "people held" in results[0]:
        summarise(results, before)
    if options.plot:
        options.plot.write_text(draw(results, before), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
