"""How far does a learner on draws of plausible true rows come from the naive one, on released values, towards the one on true values?

    python benchmarks/learners.py --data FOLDER --tables adult german_credit --privacy 0.25 0.5 1 --keys 5
    python benchmarks/learners.py --tables iris --learners forest --plain

Every column goes through the law, the class stays as it is. A table with a file of test rows beside it (`adult_test`) is judged by
that one; of the others seven tenths of the rows are released and the rest judges. Each key has noise of its own, and a split of its
own where there is one. `--plain` puts noise on the plain range of every column; without it on the scales that `plan` proposes.

The same learner is fitted three times: to the true rows (clean), to the released ones as if they were true (naive), and to draws (ours).
scikit-learn's own boosting with its defaults, on the released values, stands beside them (default). Figures are means over keys; behind ±
stands the standard error of the difference between ours and naive. What falls short of naive comes first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from real_trees import blur, boosted, sources, split_rows, title, with_class

from sfumato import datasets
from sfumato.mining import score_model
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases.reader import read_original
from sfumato.schema import Schema
from sfumato.table import Original, Table
from sfumato.trees import STRATEGIES

METRICS = ("accuracy", "auc", "balanced_accuracy", "log_loss")
SIGN = {"log_loss": -1.0}
"""Of log loss less is better."""


def read_tables(source: str, law: str, privacy: float, plain: bool, seed: int, most: int) -> tuple[Table, Table]:
    """Rows to release, and rows that judge."""
    plan = Plan.propose(source, target="class", noise=law, privacy=privacy)
    if plain:
        plan = replace(plan, schema=Schema(tuple(replace(a, scale=None) for a in plan.schema)))
    whole = read_original(source, plan)
    if (test := test_file(source)) is None:
        return split_rows(whole, seed, most)
    fresh = read_test(test, plan)
    return whole.take(np.flatnonzero(whole.codes >= 0)[:most]), fresh.take(np.flatnonzero(fresh.codes >= 0))


def read_test(test: str, plan: Plan) -> Original:
    """Read rows that judge; a number beyond the range of the rows to release is moved to its end."""
    clipped = tuple(replace(a, clip=True) if a.kind.numeric else a for a in plan.schema)
    return read_original(test, replace(plan, schema=Schema(clipped)))


def test_file(source: str) -> str | None:
    """Where the test rows of a table are."""
    path = Path(source)
    beside = path.with_name(path.name.replace(".", "_test.", 1))
    if beside != path and beside.is_file():
        return str(beside)
    return f"{source}_test" if f"{source}_test" in datasets.names() else None


def score(body: Any, fresh: Table) -> dict[str, float]:
    """What a model is worth on true rows."""
    result = score_model(body, fresh, fresh.codes)
    return {metric: float(getattr(result, metric)) for metric in METRICS}


def measure(job: tuple[str, str, float, bool, int, tuple[str, ...], int]) -> dict[str, Any]:
    """Fit every learner to one release; scores on true rows."""
    source, law, privacy, plain, seed, learners, most = job
    train, fresh = read_tables(source, law, privacy, plain, seed, most)
    key = SecretKey(hashlib.sha256(f"learners {title(source)} {seed}".encode()).digest())
    released = blur(train, law, privacy, key)
    unadjusted = Table(tuple(c.as_true() for c in released.columns), released.target)
    shares = np.bincount(train.codes, minlength=len(train.labels)) / train.rows
    of_fresh = np.bincount(fresh.codes, minlength=len(shares)) / fresh.rows
    majority = {
        "accuracy": float(of_fresh[shares.argmax()]),
        "auc": 0.5,
        "balanced_accuracy": 1 / len(shares),
        "log_loss": float(-np.log(np.maximum(shares, 1e-6)) @ of_fresh),
    }
    scores = {
        name: {
            who: score(STRATEGIES[name].grow(table)[0], fresh)
            for who, table in (("clean", train), ("naive", unadjusted), ("ours", released))
        }
        | {"default": boosted(released, fresh), "majority": majority}
        for name in learners
    }
    return {"table": title(source), "noise": law, "privacy": privacy, "key": seed, "rows": train.rows, "judges": fresh.rows, "scores": scores}  # fmt: skip


def mean_of(group: list[dict[str, Any]], learner: str, who: str, metric: str) -> float:
    """The mean of one figure over keys."""
    return float(np.mean([r["scores"][learner][who].get(metric, np.nan) for r in group]))


def gap(group: list[dict[str, Any]], learner: str, metric: str, rival: str = "naive") -> tuple[float, float]:
    """The mean by which ours is better than a rival, and its standard error over keys."""
    pairs = [(r["scores"][learner]["ours"][metric], r["scores"][learner][rival][metric]) for r in group]
    gaps = SIGN.get(metric, 1.0) * np.array([a - b for a, b in pairs])
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    return float(gaps.mean()), float(error)


def show(metric: str, value: float) -> str:
    """A figure as people read it: shares in percent."""
    return f"{100 * value:.2f}" if "accuracy" in metric else f"{value:.4f}"


def lines(results: list[dict[str, Any]], learners: tuple[str, ...]) -> Iterator[str]:
    """What falls short of naive, then a row per table, privacy and learner."""
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault((result["table"], result["noise"], result["privacy"]), []).append(result)
    yield "## Below the naive learner\n"
    misses = []
    for (table, law, privacy), group in groups.items():
        for learner in learners:
            for metric, rival in [(m, "naive") for m in METRICS] + [("accuracy", "default"), ("auc", "default")]:
                by, error = gap(group, learner, metric, rival)
                if by < 0:
                    sure = ", surely" if by < -2 * error else ""
                    misses.append(f"- {learner} on {table}, {law} {privacy:g}: {metric} {show(metric, -by)} worse than {rival} (± {show(metric, error)}{sure})")  # fmt: skip
    yield from misses or ["nothing"]
    yield f"\n{len(misses)} of {len(groups) * len(learners) * (len(METRICS) + 2)} comparisons.\n"
    yield "## All figures\n"
    head = ["table", "rows", "noise", "privacy", "learner", "keys"]
    for metric in METRICS:
        head += [f"{metric}: majority", "clean", "naive", "ours ±"]
    head += ["default accuracy", "default AUC", "AUC closes"]
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for (table, law, privacy), group in groups.items():
        for learner in learners:
            cells = [table, f"{group[0]['rows']:,}", law, f"{privacy:g}", learner, str(len(group))]
            for metric in METRICS:
                means = [show(metric, mean_of(group, learner, who, metric)) for who in ("majority", "clean", "naive", "ours")]  # fmt: skip
                cells += [*means[:3], f"{means[3]} ±{show(metric, gap(group, learner, metric)[1])}"]
            cells += [show(m, mean_of(group, learner, "default", m)) for m in ("accuracy", "auc")]
            clean, naive, ours = (mean_of(group, learner, who, "auc") for who in ("clean", "naive", "ours"))
            cells.append(f"{(ours - naive) / (clean - naive):.2f}" if clean > naive else "–")
            yield "| " + " | ".join(cells) + " |"


def main(arguments: list[str] | None = None) -> None:
    """Run the cells and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="a folder of tables; by default the bundled ones")
    parser.add_argument("--tables", nargs="+", default=[], help="only these")
    parser.add_argument("--learners", nargs="+", default=["boosting"], choices=["boosting", "forest"])
    parser.add_argument("--noise", nargs="+", default=["gaussian"])
    parser.add_argument("--privacy", type=float, nargs="+", default=[0.25, 0.5, 1.0])
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--first-key", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="noise on the plain range, without the scales of `plan`")
    parser.add_argument("--max-rows", type=int, default=200_000, help="release at most so many rows of a table")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write every release here")
    options = parser.parse_args(arguments)
    learners = tuple(options.learners)
    tables = [s for s in sources(options.data, options.tables) if not s.endswith("_test") and with_class(s)]
    cells = [
        (source, law, privacy, options.plain, key, learners, options.max_rows)
        for source in tables
        for law in options.noise
        for privacy in options.privacy
        for key in range(options.first_key, options.first_key + options.keys)
    ]
    results: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers) as pool:
        for result in pool.map(measure, cells):
            results.append(result)
            if options.json:
                options.json.write_text(json.dumps(results))
    print("\n".join(lines(results, learners)))


if __name__ == "__main__":
    main()
