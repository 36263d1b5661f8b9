"""Does the point that a trade-off recommends stand an audit, and does a point say how many people are found?

    python benchmarks/tradeoff_points.py [--tables iris,german_credit,yeast] [--keys 10] [--rows 3000]

Every point of a sweep is released as a plan under several keys and audited as an owner would. A recommended point stands if no promise
is broken and the share of people found beyond chance is at most the goal. The share that the trade-off states is compared with the
mean over the audits, and its interval should hold it. CPU seconds are those of the trade-off alone, with two questions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Ratio, ratios

import sfumato as sf
from sfumato.datasets import path
from sfumato.io import open_table, read_blocks

QUESTIONS = {
    "iris": ["mean(petal_width)", "share(petal_width >= 1)"],
    "adult": ["mean(age)", "share(sex = Male)"],
}


def main(words: list[str] | None = None) -> None:
    """Print a line per point, and the shares that stand."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="iris,german_credit,yeast,breast_cancer_wisconsin")
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--rows", type=int, default=3000)
    asked = parser.parse_args(words)
    stand = recommended = held = points = 0
    print(
        "| table | point | found, stated | in audits | goal met | no promise broken | stands |\n|---|---|---|---:|---:|---:|---:|"
    )
    for name in asked.tables.split(","):
        table = sample(name, asked.rows)
        target = sf.plan(name, privacy=1.0).schema.target
        before = time.process_time()
        swept = sf.tradeoff(
            table,
            target=target.name if target else None,
            repeats=2,
            sweep={"privacy": [0.5, 1.0, 2.0, 3.0]},
            questions=QUESTIONS.get(name, []),
        )
        seconds = time.process_time() - before
        for point in swept.points:
            judged = [audit(swept.plan(point), table, key) for key in range(asked.keys)]
            found = np.array([a.people.beyond_chance for a in judged])
            met = found <= swept.goal
            kept = np.array([not any(p.verdict == "broken" for p in a.promises) for a in judged])
            low, high = point.found_interval
            spread = 2 * float(found.std()) / np.sqrt(len(found))
            holds = low - spread <= found.mean() <= high + spread
            held, points = held + holds, points + 1
            mark = " (recommended)" if point.setting == swept.advised else ""
            if mark:
                stand, recommended = stand + int((met & kept).sum()), recommended + len(judged)
            print(
                f"| {name} | {point.in_words}{mark} | {point.found:.1%} ({low:.1%} to {high:.1%}) | {found.mean():.1%} | {met.mean():.0%} "
                f"| {kept.mean():.0%} | {(met & kept).mean():.0%} |",
                flush=True,
            )
        print(f"| {name} | {table.num_rows:,} rows, 4 settings | {seconds:.1f} CPU s | | | | |", flush=True)
    print()
    ratios(
        [
            Ratio(
                "releases of recommended points that stand",
                str(stand),
                str(recommended),
                stand / max(recommended, 1),
                "≥ 0.9",
            ),
            Ratio("points whose stated share is right", str(held), str(points), held / points, "≥ 0.9"),
        ]
    )


def sample(name: str, rows: int) -> object:
    """Return the rows of a bundled table, or a random sample of them."""
    import pyarrow as pa

    whole = pa.Table.from_batches([block.batch for block in read_blocks(open_table(path(name)))])
    if whole.num_rows <= rows:
        return whole
    return whole.take(np.sort(np.random.default_rng(0).choice(whole.num_rows, rows, replace=False)))


def audit(plan: sf.Plan, table: object, key: int) -> sf.Audit:
    """Release the table under a plan and a key of its own, and audit it."""
    with tempfile.TemporaryDirectory() as folder:
        secret = sf.SecretKey(np.random.default_rng((7, key)).bytes(32))
        made = sf.release(table, plan, Path(folder) / "r", name=f"try {key}", key=secret)
        return sf.audit(table, made, key=secret, seed=key)


if __name__ == "__main__":
    main()
