"""How often do pooled figures of draws hold what they speak of? The table in docs/draws.md.

    python benchmarks/pooled.py                                  # the made table
    python benchmarks/pooled.py --data FOLDER --releases 100     # and 5,000 rows of adult

Each release has rows and a key of its own, all in memory: rows are drawn, every column but the class is blurred by gaussian noise (labels
by substitution), the model is fitted, five tables are drawn, and means, means of groups, correlations and logistic coefficients are
pooled. Their intervals are compared with the figures of the rows behind the release, and, where a standard error is given, with
those of the population. "Rubin" is the interval of Rubin's rules alone, "one model" that of draws which all come from one
fitted model, "rehearsed" what `draws.pool` gives.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.made_tables import blur_table, two_groups

from sfumato.counts import FloatArray
from sfumato.modelling import TableModel, resample_models
from sfumato.modelling.pooling import Pooled
from sfumato.modelling.rehearsed_draws import rehearse_draws
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import read_original
from sfumato.table import Table

DRAWS = 5


@dataclass(frozen=True)
class Source:
    """Where rows come from, and which columns are looked at."""

    name: str
    rows: Callable[[int], Table]
    population: Callable[[], Table]
    numbers: tuple[str, ...]
    label: str
    units: tuple[float, ...]
    """What the columns of a logistic regression are divided by."""


def made(rows: int = 2000) -> Source:
    """Two groups of people whose ages and pays go together."""
    return Source(
        f"made, {rows:,} rows",
        lambda seed: two_groups(rows, seed=1000 + seed),
        lambda: two_groups(1_000_000, seed=7),
        ("age", "pay"),
        "town",
        (20.0, 1000.0),
    )


def adult(data: str, rows: int = 5000) -> Source:
    """Rows of adult, drawn with replacement, so that the whole table is their population."""
    path = Path(data) / "adult.csv.gz"
    whole = read_original(path, Plan.propose(path, target="class", noise="gaussian", privacy=0.5))

    def some(seed: int) -> Table:
        return whole.take(np.sort(np.random.default_rng(seed).choice(whole.rows, rows)))

    names = ("age", "education_num", "hours_per_week")
    return Source(f"adult, {rows:,} rows", some, lambda: whole, names, "sex", (20.0, 3.0, 12.0))


def statistics(table: Table, source: Source) -> dict[str, tuple[float, float]]:
    """Return every figure with its standard error."""
    out = {}
    values = {name: table[name].values for name in source.numbers}
    label, code = table[source.label].values, table.codes
    for name, x in values.items():
        out[f"mean: {name}"] = _mean(x)
        for group in (0, 1):
            out[f"group mean: {name}, class {group}"] = _mean(x[code == group])
            out[f"group mean: {name}, {source.label} {group}"] = _mean(x[label == group])
    names = list(values)
    for place, one in enumerate(names):
        for other in names[:place]:
            r = float(np.corrcoef(values[one], values[other])[0, 1])
            out[f"correlation: {other}, {one}"] = r, (1 - r * r) / np.sqrt(len(code) - 1)
    x = np.column_stack([values[n] / unit - 1 for n, unit in zip(names, source.units, strict=True)])
    for name, pair in zip(names, zip(*_logistic(x, code == 1), strict=True), strict=True):
        out[f"logistic coefficient: {name}"] = pair
    return out


def _mean(x: FloatArray) -> tuple[float, float]:
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x)))


def _logistic(x: FloatArray, y: FloatArray) -> tuple[list[float], list[float]]:
    x, beta = np.column_stack([np.ones(len(x)), x]), np.zeros(x.shape[1] + 1)
    for _ in range(25):
        p = 1 / (1 + np.exp(-x @ beta))
        information = x.T @ ((p * (1 - p))[:, None] * x)
        beta = beta + np.linalg.solve(information, x.T @ (y - p))
    return beta[1:].tolist(), np.sqrt(np.diag(np.linalg.inv(information)))[1:].tolist()


@dataclass(frozen=True)
class Held:
    """Whether one interval held its figure, and how wide it was."""

    figure: str
    interval: str
    inside: bool
    width: float


def measure(source: Source, privacy: float, seed: int, population: dict[str, tuple[float, float]]) -> Iterator[Held]:
    """Yield what the intervals of one release are worth."""
    true = source.rows(seed)
    key = SecretKey(hashlib.sha256(f"{source.name} {privacy} {seed}".encode()).digest())
    released = blur_table(true, privacy, gamma=gamma_of(privacy), key=key)
    common = TableModel.fit(released)
    labels = [f"draw {j}" for j in range(DRAWS)]
    models = resample_models(common, released, labels)
    numbers = np.arange(released.rows)
    drawn = [statistics(m.draw(released, numbers, n), source) for m, n in zip(models, labels, strict=True)]
    parts = common.mixture.parts(int(common.chosen.get("starts", 1)))
    alike = [replace(common, mixture=parts[j % len(parts)]) for j in range(DRAWS)]
    single = [statistics(m.draw(released, numbers, n), source) for m, n in zip(alike, labels, strict=True)]
    pairs = rehearse_draws(common, models, released, labels, lambda _: None)
    rehearsed = [(statistics(one, source), statistics(other, source)) for one, other in pairs]
    truth = statistics(true, source)
    for name in truth:
        values, errors = (np.array([d[name][part] for d in drawn]) for part in (0, 1))
        leans = np.array([other[name][0] - one[name][0] for one, other in rehearsed])
        one_model = np.array([d[name][0] for d in single])
        intervals = {
            "rows, one model": (Pooled.of_draws(one_model, None), truth),
            "rows, Rubin": (Pooled.of_draws(values, None), truth),
            "rows, rehearsed": (Pooled.of_draws(values, None, leans), truth),
            "population, Rubin": (Pooled.of_draws(values, errors), population),
            "population, rehearsed": (Pooled.of_draws(values, errors, leans), population),
        }
        for interval, (pooled, figures) in intervals.items():
            inside = pooled.low <= figures[name][0] <= pooled.high
            yield Held(name, interval, inside, pooled.high - pooled.low)
        RAW.append(
            (
                source.name,
                privacy,
                seed,
                name,
                truth[name],
                population[name][0],
                values.tolist(),
                errors.tolist(),
                leans.tolist(),
            )
        )


RAW: list[tuple[object, ...]] = []
"""What every interval was made of, for --raw."""


def gamma_of(privacy: float) -> float:
    """Return how well labels are kept beside numbers of this privacy."""
    return 9.0 if privacy < 0.75 else 4.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="a folder with adult.csv.gz")
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--privacy", type=float, nargs="*", default=[0.5, 1.0])
    parser.add_argument("--only", default="", help="made or adult")
    parser.add_argument("--raw", type=Path, help="also write what every interval was made of")
    asked = parser.parse_args()
    sources = [made()] + ([adult(asked.data)] if asked.data else [])
    columns = ("rows, one model", "rows, Rubin", "rows, rehearsed", "population, Rubin", "population, rehearsed")
    print("| table | noise | figures | " + " | ".join(columns) + " | width against Rubin's |")
    print("|---|---|---|" + "---|" * (len(columns) + 1))
    for source in sources:
        if not source.name.startswith(asked.only):
            continue
        population = statistics(source.population(), source)
        for privacy in asked.privacy:
            held: dict[tuple[str, str], list[Held]] = defaultdict(list)
            for seed in range(asked.releases):
                for one in measure(source, privacy, seed, population):
                    held[one.figure.partition(":")[0], one.interval].append(one)
                if asked.raw:
                    asked.raw.write_text(json.dumps(RAW))
            for kind in dict.fromkeys(figure for figure, _ in held):
                shares = [f"{np.mean([h.inside for h in held[kind, c]]):.1%}" for c in columns]
                wide, usual = (np.mean([h.width for h in held[kind, f"rows, {c}"]]) for c in ("rehearsed", "Rubin"))
                print(
                    f"| {source.name} | {privacy:.0%} | {kind} | " + " | ".join(shares) + f" | {wide / usual:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
