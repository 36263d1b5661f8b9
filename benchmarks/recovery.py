"""How much of a release each attack takes back: RMSE on twenty attributes of rank three, as a table for docs/guide/audit.md.

``python benchmarks/recovery.py [ROWS]``. Every release is made and attacked as a whole, under the seeds printed. Beside the
recovery of values stands the share of people whom likelihood linkage finds, all of their values known. Exits with 1 where a claim that the guide makes no longer holds.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import versions

from sfumato.attacks import (
    PCA,
    BayesEstimate,
    ColumnPosterior,
    LikelihoodLinkage,
    NaiveReading,
    Spectral,
    Targets,
    View,
)
from sfumato.channels import Gaussian, Substitution
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Interval, Kind, Schema

SEEDS = (1, 2, 3, 4, 5)
COLUMNS, RANK, SPREAD, REACH = 20, 3, 2.0, 12.0
PEOPLE = 300
VALUES = (NaiveReading(), ColumnPosterior(), Spectral(), PCA(), BayesEstimate())
HEADS = ("as released", "posterior", "spectral", "PCA-DR", "BE-DR", "scalar shrink", "found")
NAMES = tuple(f"a{i:02d}" for i in range(COLUMNS))
SCHEMA = Schema(tuple(Attribute(n, Kind.REAL, Interval(-REACH, REACH)) for n in NAMES))


def correlated(ratio: float) -> Plan:
    return Plan(SCHEMA, {}, name="correlated", method={"law": "correlated-gaussian", "ratio": ratio})


def alone(law: Gaussian | Substitution) -> Plan:
    return Plan(SCHEMA, dict.fromkeys(NAMES, law), name="alone")


PLANS = {
    "independent gaussian, σ = 1": (alone(Gaussian(sigma=1.0)), 1 / SPREAD**2),
    "correlated, same size (c = ¼)": (correlated(0.25), 0.25),
    "correlated, c = 1": (correlated(1.0), 1.0),
} | {f"substitution, γ = {g:g}, N = 20": (alone(Substitution(gamma=g)), None) for g in (4.0, 19.0, 40.0, 100.0, 400.0)}


def table_of(rows: int, seed: int) -> np.ndarray:
    """X = Z W with unit columns of W, times the spread: every column has standard deviation 2, all of them rank 3."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(RANK, COLUMNS))
    return SPREAD * rng.normal(size=(rows, RANK)) @ (loadings / np.sqrt((loadings**2).sum(axis=0)))


def rmse(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def attacked(plan: Plan, ratio: float | None, x: np.ndarray, seed: int, folder: Path) -> list[float]:
    key = SecretKey(np.random.default_rng([seed, 99]).bytes(32))
    view = View.of(release(pa.table(dict(zip(NAMES, x.T, strict=True))), plan, folder, key=key))
    out = []
    for attack in VALUES:
        claim = attack.run(view)
        out.append(rmse(np.column_stack([r.mean for r in claim.recoveries]) - x))
    y = np.column_stack([c.values for c in view.columns])
    out.append(np.nan if ratio is None else rmse(y.mean(axis=0) + (y - y.mean(axis=0)) / (1 + ratio) - x))
    rows = np.arange(min(PEOPLE, len(x)))
    targets = Targets({n: x[rows, i] for i, n in enumerate(NAMES)})
    out.append(float(LikelihoodLinkage(targets).run(view).credit(rows).mean()))
    return out


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print(versions("numpy", "scipy"))
    print(
        f"{COLUMNS} attributes of rank {RANK}, sd {SPREAD:g}, {rows} rows, seeds {', '.join(map(str, SEEDS))}: RMSE, mean (sd)"
    )
    print("| release | " + " | ".join(HEADS) + " |\n|" + "---|" * (len(HEADS) + 1))
    means = {}
    for name, (plan, ratio) in PLANS.items():
        with tempfile.TemporaryDirectory() as where:
            found = np.array([attacked(plan, ratio, table_of(rows, s), s, Path(where) / str(s)) for s in SEEDS])
        means[name] = dict(zip(HEADS, found.mean(axis=0), strict=True))
        cells = [
            "" if np.isnan(m) else f"{m:.1%} ({s:.1%})" if head == "found" else f"{m:.3f} ({s:.3f})"
            for head, m, s in zip(HEADS, found.mean(axis=0), found.std(axis=0, ddof=1), strict=True)
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if short := broken_claims(means):
        sys.exit("no longer true: " + "; ".join(short))


def broken_claims(means: dict[str, dict[str, float]]) -> list[str]:
    """What the guide says, held against the numbers."""
    first, *_ = means.values()
    filters = ("spectral", "PCA-DR", "BE-DR")
    out = []
    if not (first["spectral"] <= 0.45 and first["BE-DR"] <= 0.42):
        out.append("filters cut independent noise of 1.00 to 0.45 and 0.42")
    for name, row in means.items():
        if (
            name.startswith("correlated")
            and min(row[f] for f in (*filters, "posterior")) < 0.995 * row["scalar shrink"]
        ):
            out.append(f"{name}: no attack goes below the scalar shrink")
        gains = min(row[f] for f in filters) < row["posterior"]
        if name.startswith("substitution") and gains != (float(name.split()[3].rstrip(",")) >= 100):
            out.append(f"{name}: filters gain over the channel's own posterior from γ = 100 on, and not below")
    return out


if __name__ == "__main__":
    main()
