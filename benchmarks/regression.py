"""How often do intervals of regression coefficients hold what the owner would fit? The table in docs/regression.md.

    python benchmarks/regression.py                          # adult and a made table, 500 releases per cell
    python benchmarks/regression.py --data ../shared/data    # and bank_marketing, from a folder of tables
    python benchmarks/regression.py --quick                  # 200 releases per cell
    python benchmarks/regression.py --family binomial --law uniform --rows 4000

One fixed table, many releases of it in memory under different keys. The truth is the fit on the table itself. For every cell: the
releases in which the rows could tell the coefficients, the share of 95 % intervals that hold (the worst coefficient and the mean of
all), the bias over the standard error (the worst), the stated error over the spread of the estimates (the median), and the worst
naive coefficient: its distance from the truth in standard errors of ours.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import Ratio, ratios

import sfumato as sf
from sfumato.channels import Channel, Gaussian, Substitution, Uniform
from sfumato.counts import FloatArray
from sfumato.errors import SfumatoError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import read_original
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Table

FAMILIES = ("gaussian", "binomial", "poisson")
LAWS = {"gaussian": Gaussian, "uniform": Uniform}
STRENGTHS = (0.5, 1.0, 2.0)
FORMULAS = {
    "adult": {
        "gaussian": "hours_per_week ~ age + education_num + C(sex)",
        "binomial": "class ~ age + education_num + C(sex)",
        "poisson": "education_num ~ age + C(sex)",
    },
    "bank_marketing": {
        "gaussian": "age ~ day + C(marital) + C(housing)",
        "binomial": "class ~ age + C(housing) + C(marital)",
        "poisson": "campaign ~ age + C(housing)",
    },
    "made": {
        "gaussian": "y ~ x + z + C(group)",
        "binomial": "yes ~ x + z + C(group)",
        "poisson": "count ~ x + z + C(group)",
    },
}


def made(rows: int) -> Table:
    """Make a table with a known truth: skewed and even predictors, a response of every family, and unequal variances."""
    rng = np.random.default_rng(18)
    x = np.round(rng.gamma(4, 8, rows).clip(0, 100))
    z = (rng.normal(0, 1, rows) + 0.02 * x).clip(-4, 6)
    group = rng.choice(3, rows, p=[0.5, 0.3, 0.2]).astype(np.float64)
    along = 0.02 * x - 0.4 * z + 0.5 * (group == 1)
    values = {
        "x": (Kind.INTEGER, Interval(0, 100), x),
        "z": (Kind.REAL, Interval(-4, 6), z),
        "y": (Kind.REAL, Interval(-20, 30), (5 * along + rng.normal(0, 1 + 0.02 * x)).clip(-20, 30)),
        "count": (Kind.INTEGER, Interval(0, 40), rng.poisson(np.exp(along)).clip(0, 40).astype(np.float64)),
    }
    yes = (rng.random(rows) < 1 / (1 + np.exp(-along))).astype(np.float64)
    labels = {"group": (("a", "b", "c"), group), "yes": (("no", "yes"), yes)}
    numbers = [Column(Attribute(n, kind, domain), None, v) for n, (kind, domain, v) in values.items()]
    texts = [Column(Attribute(n, Kind.CATEGORICAL, Categories(w)), None, v) for n, (w, v) in labels.items()]
    return Table((*numbers, *texts))


def open_truth(name: str, rows: int, data: Path | None) -> Table:
    """Return the true columns of some rows of a table."""
    if name == "made":
        return made(rows)
    source = str(data / f"{name}.csv.gz") if data is not None else name
    whole = read_original(source, Plan.propose(source))
    chosen = np.random.default_rng(18).choice(whole.rows, min(rows, whole.rows), replace=False)
    return Table(tuple(c.take(np.sort(chosen)) for c in whole.all_columns))


def key_of(*words: object) -> SecretKey:
    """Return a key that stands for the words."""
    return SecretKey(hashlib.sha256(" ".join(map(str, words)).encode()).digest())


@dataclass(frozen=True)
class Cell:
    """What one table, law, strength and family gave over many releases."""

    table: str
    family: str
    law: str
    strength: float
    releases: int
    told: int
    covered: FloatArray
    bias: FloatArray
    stated: float
    naive: float
    terms: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether every coefficient is held as often as a 95 % interval should be, up to the chance of this many releases."""
        chance = 2 * np.sqrt(0.05 * 0.95 / max(self.told, 1))
        return bool(
            np.all(np.abs(self.covered - 0.95) <= 0.02 + chance)
            and np.all(np.abs(self.bias) <= 0.25 + 2 / np.sqrt(max(self.told, 1)))
        )

    def line(self) -> str:
        """Return the cell as a line of Markdown."""
        start = f"| {self.table} | {self.family} | {self.law} {self.strength:.0%} | {self.told} of {self.releases} |"
        if self.told < 20:
            return f"{start} | | | | |  cannot be told |"
        worst = int(np.argmax(np.abs(self.covered - 0.95)))
        return (
            f"{start} {self.covered.mean():.1%} | {self.covered[worst]:.1%} ({self.terms[worst]}) | {np.abs(self.bias).max():.2f} | "
            f"{self.stated:.2f} | {self.naive:.1f} | {'yes' if self.met else '**no**'} |"
        )


HEAD = (
    "| table | family | law | told | held, mean | held, worst coefficient | bias/SE, worst | SE/spread | naive, worst, in SE | met |\n"
    "|---|---|---|---:|---:|---:|---:|---:|---:|---|"
)


def measure(name: str, truth: Table, family: str, law: str, strength: float, releases: int) -> Cell:
    """Release a table many times and fit it each time."""
    formula = FORMULAS[name][family]
    used = tuple(
        c for c in truth.columns if c.name in formula.replace("~", " ").replace("(", " ").replace(")", " ").split()
    )
    known = sf.fit(formula, Table(used), family=family).coefficients
    wishes: dict[str, Channel] = {
        c.name: LAWS[law](privacy=strength) if c.attribute.kind.numeric else Substitution(gamma=19) for c in used
    }
    laws = {c.name: wishes[c.name].on(c.attribute) for c in used}
    estimates, held, errors, naive = [], [], [], []
    for number in range(releases):
        key = key_of("regression", name, family, law, strength, number)
        noisy = tuple(c.through(laws[c.name], key.derive(c.name)) for c in used)
        try:
            fitted = sf.fit(formula, Table(noisy), family=family)
        except SfumatoError:
            continue
        figures = fitted.coefficients
        estimates.append([float(f) for f in figures.values()])
        errors.append([f.se for f in figures.values()])
        held.append([f.low <= known[t] <= f.high for t, f in figures.items()])
        if number < 20:
            plain = Table(tuple(Column(c.attribute, None, _inside(c)) for c in noisy))
            try:
                naive.append([float(f) for f in sf.fit(formula, plain, family=family).coefficients.values()])
            except SfumatoError:
                continue
    told = len(estimates)
    if told < 20:
        return Cell(name, family, law, strength, releases, told, np.zeros(1), np.zeros(1), 0.0, 0.0, tuple(known))
    spread = np.std(estimates, axis=0)
    true = np.array([float(f) for f in known.values()])
    away = np.abs(np.mean(naive, axis=0) - true) / spread if naive else np.zeros(1)
    return Cell(
        name,
        family,
        law,
        strength,
        releases,
        told,
        np.mean(held, axis=0),
        (np.mean(estimates, axis=0) - true) / spread,
        float(np.median(np.median(errors, axis=0) / spread)),
        float(away.max()),
        tuple(known),
    )


def _inside(column: Column) -> FloatArray:
    """Return released values as somebody reads them who knows nothing of noise."""
    return column.values


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells that were asked for."""
    names = ["made", "adult", *(["bank_marketing"] if options.data else [])]
    for name in names:
        truth = open_truth(name, options.rows, options.data)
        for family in options.family or FAMILIES:
            for law in options.law or LAWS:
                for strength in options.strength or STRENGTHS:
                    yield measure(name, truth, family, law, strength, options.releases)


def main() -> None:
    """Print the table, the misses first, and the ratio of cells that are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with bank_marketing.csv.gz and adult.csv.gz")
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="200 releases per cell")
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--law", action="append", choices=list(LAWS))
    parser.add_argument("--strength", action="append", type=float)
    options = parser.parse_args()
    if options.quick:
        options.releases = 200
    done = []
    for cell in cells(options):
        done.append(cell)
        print(cell.line(), flush=True)
    done.sort(key=lambda c: (c.met, FAMILIES.index(c.family), c.table, c.law, c.strength))
    print("\n" + "\n".join([HEAD, *(c.line() for c in done)]))
    met = sum(c.met for c in done)
    ratios(
        [Ratio("cells of regression that hold 93 to 97 %", str(met), str(len(done)), met / max(len(done), 1), "≥ 1.0")]
    )


if __name__ == "__main__":
    main()
