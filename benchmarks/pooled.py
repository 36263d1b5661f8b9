"""How often do pooled figures of draws hold what they speak of? The table in docs/draws.md.

    python benchmarks/pooled.py                                  # the made table
    python benchmarks/pooled.py --data FOLDER                    # and 5,000 rows of adult; an hour of a core

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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.made_tables import blur_table, two_groups

from sfumato.counts import FloatArray
from sfumato.modelling import TableModel
from sfumato.modelling.bootstrap import rehearse_draws, resample_models
from sfumato.modelling.pooling import Pooled
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
class Trial:
    """One figure of one release: the truth, and what the draws made of it."""

    table: str
    privacy: float
    seed: int
    figure: str
    rows: float
    """The figure of the rows behind the release."""
    population: float
    estimates: list[float]
    errors: list[float]
    leans: list[float]
    one_model: list[float]

    def intervals(self) -> dict[str, tuple[Pooled, float]]:
        """Return every interval with the figure that it speaks of."""
        values, errors, leans, alike = (np.array(v) for v in (self.estimates, self.errors, self.leans, self.one_model))
        return {
            "rows, one model": (Pooled.of_draws(alike, None), self.rows),
            "rows, Rubin": (Pooled.of_draws(values, None), self.rows),
            "rows, rehearsed": (Pooled.of_draws(values, None, leans), self.rows),
            "population, Rubin": (Pooled.of_draws(values, errors), self.population),
            "population, rehearsed": (Pooled.of_draws(values, errors, leans), self.population),
        }


def measure(source: Source, privacy: float, seed: int, population: dict[str, tuple[float, float]]) -> Iterator[Trial]:
    """Yield every figure of one release."""
    true = source.rows(seed)
    key = SecretKey(hashlib.sha256(f"{source.name} {privacy} {seed}".encode()).digest())
    released = blur_table(true, privacy, gamma=gamma_of(privacy), key=key)
    common = TableModel.fit(released)
    labels = [f"draw {j}" for j in range(DRAWS)]
    models = resample_models(common, released, labels)
    numbers = np.arange(released.rows)
    drawn = [statistics(m.draw(released, numbers, n), source) for m, n in zip(models, labels, strict=True)]
    parts = common.mixture.parts(common.mixture.size // int(common.chosen["components"]))
    alike = [replace(common, mixture=parts[j % len(parts)]) for j in range(DRAWS)]
    single = [statistics(m.draw(released, numbers, n), source) for m, n in zip(alike, labels, strict=True)]
    pairs = rehearse_draws(common, models, released, labels, lambda _: None)
    rehearsed = [(statistics(one, source), statistics(other, source)) for one, other in pairs]
    for name, (figure, _) in statistics(true, source).items():
        yield Trial(
            source.name,
            privacy,
            seed,
            name,
            figure,
            population[name][0],
            [d[name][0] for d in drawn],
            [d[name][1] for d in drawn],
            [other[name][0] - one[name][0] for one, other in rehearsed],
            [d[name][0] for d in single],
        )


def gamma_of(privacy: float) -> float:
    """Return how well labels are kept beside numbers of this privacy."""
    return 9.0 if privacy < 0.75 else 4.0


def tabulate(trials: list[Trial]) -> str:
    """Return the table: how often each kind of interval held, and how wide the rehearsed one is."""
    columns = ("rows, one model", "rows, Rubin", "rows, rehearsed", "population, Rubin", "population, rehearsed")
    out = ["| table | noise | figures | releases | " + " | ".join(columns) + " | width against Rubin's |"]
    out.append("|---|---|---|" + "---|" * (len(columns) + 2))
    groups: dict[tuple[str, float, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.table, trial.privacy, trial.figure.partition(":")[0]].append(trial)
    for (table, privacy, kind), own in groups.items():
        held, width = defaultdict(list), defaultdict(list)
        for trial in own:
            for name, (pooled, figure) in trial.intervals().items():
                held[name].append(pooled.low <= figure <= pooled.high)
                width[name].append(pooled.high - pooled.low)
        shares = " | ".join(f"{np.mean(held[c]):.1%}" for c in columns)
        wider = np.mean(width["rows, rehearsed"]) / np.mean(width["rows, Rubin"])
        releases = len({trial.seed for trial in own})
        out.append(f"| {table} | {privacy:.0%} | {kind}s | {releases} | {shares} | {wider:.2f} |")
    return "\n".join(out)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="a folder with adult.csv.gz")
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--privacy", type=float, nargs="*", default=[0.5, 1.0])
    parser.add_argument("--only", default="", help="made or adult")
    parser.add_argument("--keep", type=Path, help="keep what was measured in this file, and go on from it")
    asked = parser.parse_args()
    sources = [made()] + ([adult(asked.data)] if asked.data else [])
    trials = []
    if asked.keep and asked.keep.exists():
        trials = [Trial(**entry) for entry in json.loads(asked.keep.read_text("utf-8"))]
    done = {(t.table, t.privacy, t.seed) for t in trials}
    for source in sources:
        if not source.name.startswith(asked.only):
            continue
        population = statistics(source.population(), source)
        for seed in range(asked.releases):
            for privacy in asked.privacy:
                if (source.name, privacy, seed) in done:
                    continue
                trials += measure(source, privacy, seed, population)
                if asked.keep:
                    asked.keep.write_text(json.dumps([asdict(t) for t in trials]))
    print(tabulate(trials))


if __name__ == "__main__":
    main()
