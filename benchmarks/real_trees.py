"""Is a mined tree ever worse than always saying the commonest class, or than a boosted model on the released values?

    python benchmarks/real_trees.py --data FOLDER                     # every table in a folder that has a column `class`
    python benchmarks/real_trees.py --tables iris nursery --keys 3    # some of the bundled ones

Seven tenths of the rows are released, the rest stay true and judge; each key has a split and noise of its own. Accuracies are in
percent, the mean over keys; behind ± stands the standard error of the difference to the commonest class, with the chance of the
rows that judge in it. A star marks what is more than two of them below.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import datasets
from sfumato.errors import SfumatoError
from sfumato.mining.scores import score_model
from sfumato.plans import Plan
from sfumato.plans.document import channel_for, noise_for
from sfumato.randomness import SecretKey
from sfumato.releases.reader import read_original
from sfumato.table import Original, Table
from sfumato.trees import STRATEGIES

DEFAULT = ("randomized", "global", "byclass", "local", "auto")
TRAIN_SHARE = 0.7


def sources(data: str, names: list[str]) -> list[str]:
    """The tables to mine: files of a folder, or bundled names; those without a class are passed over later."""
    if not data:
        return names or list(datasets.names())
    files = sorted(p for p in Path(data).iterdir() if p.name.endswith((".csv", ".csv.gz")))
    return [
        str(p) for p in files if not p.name.split(".")[0].endswith("_test") and (not names or title(str(p)) in names)
    ]


def title(source: str) -> str:
    """What a table is called."""
    return Path(source).name.split(".")[0]


def split_rows(whole: Original, seed: int, most: int) -> tuple[Table, Table]:
    """Rows to release, at most so many, and the rest."""
    order = np.random.default_rng([seed, 5]).permutation(np.flatnonzero(whole.codes >= 0))
    train = min(int(TRAIN_SHARE * len(order)), most)
    return whole.take(order[:train]), whole.take(order[train:])


def blur(true: Table, law: str, privacy: float, key: SecretKey) -> Table:
    """What the miner holds: every column through the law, the class as it is."""
    noise = noise_for(law, privacy, {})
    columns = (c.through(channel_for(*noise, c.attribute)[0].on(c.attribute), key.derive(c.name)) for c in true.columns)
    return Table(tuple(columns), true.target)


def boosted(released: Table, fresh: Table) -> dict[str, float]:
    """An ordinary learner that takes released values as true."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    def matrix(table: Table) -> np.ndarray:
        return np.column_stack([c.values for c in table.columns])

    few = [i for i, c in enumerate(released.columns) if not c.attribute.kind.numeric and len(c.attribute.labels) < 255]
    model = HistGradientBoostingClassifier(categorical_features=few or None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(matrix(released), released.codes)
        guesses = model.predict(matrix(fresh))
        area = (
            roc_auc_score(fresh.codes, model.predict_proba(matrix(fresh))[:, 1]) if len(model.classes_) == 2 else np.nan
        )
    return {"accuracy": float(np.mean(guesses == fresh.codes)), "auc": float(area)}


def measure(job: tuple[str, str, float, int, tuple[str, ...], int]) -> dict[str, Any]:
    """Mine one release by every strategy; scores on true rows."""
    source, law, privacy, seed, strategies, most = job
    about: dict[str, Any] = {"table": title(source), "noise": law, "privacy": privacy, "key": seed}
    whole = read_original(source, Plan.propose(source, target="class", noise=law, privacy=privacy))
    train, fresh = split_rows(whole, seed, most)
    key = SecretKey(hashlib.sha256(f"real trees {title(source)} {seed}".encode()).digest())
    released = blur(train, law, privacy, key)
    largest = int(np.bincount(train.codes).argmax())
    scores: dict[str, Any] = {"majority": {"accuracy": float(np.mean(fresh.codes == largest)), "auc": 0.5}}
    for name in strategies:
        try:
            body, notes = STRATEGIES[name].grow(released)
        except SfumatoError as error:
            scores[name] = {"accuracy": np.nan, "auc": np.nan, "refused": str(error)}
            continue
        result = score_model(body, fresh, fresh.codes)
        scores[name] = {"accuracy": result.accuracy, "auc": result.auc}
        if "accuracy" in notes.get("expected", {}):
            scores[name] |= {"stated": notes["expected"]["accuracy"], "chosen": notes["strategy"]}
    return about | {"rows": train.rows, "judges": fresh.rows, "scores": scores | {"boosted": boosted(released, fresh)}}


def with_class(source: str) -> bool:
    """Whether a table has a class of at least two labels."""
    try:
        plan = Plan.propose(source, target="class", noise="gaussian", privacy=0.5)
    except SfumatoError:
        return False
    return len(plan.schema.target.labels) > 1 if plan.schema.target is not None else False


def compare(results: list[dict[str, Any]], name: str, other: str) -> tuple[float, float]:
    """The mean difference of two accuracies over keys, in points, and its standard error."""
    pairs = [(r["scores"][name]["accuracy"], r["scores"][other]["accuracy"], r["judges"]) for r in results]
    gaps = 100 * np.array([a - b for a, b, _ in pairs])
    # Rows on which the two differ are at least |gap|, so one row's share of the difference has a variance of about that much.
    sampling = [abs(g / 100) / n for g, (_, _, n) in zip(gaps, pairs, strict=True)]
    spread = gaps.var(ddof=1) if len(gaps) > 1 else 0.0
    return float(gaps.mean()), float(np.sqrt(max(spread, 1e4 * np.mean(sampling)) / len(gaps)))


def lines(results: list[dict[str, Any]], strategies: tuple[str, ...]) -> Iterator[str]:
    """A row per table and privacy, then what is below the commonest class and how auto does beside the others."""
    yield "| table | rows | privacy | majority | " + " | ".join(strategies) + " | boosted on released |"
    yield "|---" * (len(strategies) + 5) + "|"
    groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault((result["table"], result["privacy"]), []).append(result)
    below = dict.fromkeys(strategies, 0)
    for (table, privacy), group in groups.items():
        cells = []
        for name in strategies:
            gap, error = compare(group, name, "majority")
            low = gap < -2 * error
            below[name] += low
            mean = 100 * np.mean([r["scores"][name]["accuracy"] for r in group])
            cells.append(f"{mean:.1f} ±{error:.1f}{' *' if low else ''}")
        majority, rival = (100 * np.mean([r["scores"][n]["accuracy"] for r in group]) for n in ("majority", "boosted"))
        yield f"| {table} | {group[0]['rows']:,} | {privacy:g} | {majority:.1f} | {' | '.join(cells)} | {rival:.1f} |"
    yield ""
    yield from (f"{name}: surely below the commonest class in {n} of {len(groups)} cells" for name, n in below.items())
    if "auto" in strategies:
        short = [key for key, group in groups.items() if (d := compare(group, "auto", "boosted"))[0] < -2 * d[1]]
        yield f"auto: surely below the boosted model in {len(short)} of {len(groups)} cells"
        stated = [r["scores"]["auto"] for r in results if "stated" in r["scores"]["auto"]]
        held = [s["stated"]["low"] <= s["accuracy"] <= s["stated"]["high"] for s in stated]
        yield f"auto: the stated interval holds the accuracy on true rows in {sum(held)} of {len(held)} releases"


def main(arguments: list[str] | None = None) -> None:
    """Run the cells and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="a folder of tables; by default the bundled ones")
    parser.add_argument("--tables", nargs="+", default=[], help="only these")
    parser.add_argument("--strategies", nargs="+", default=list(DEFAULT))
    parser.add_argument("--noise", default="gaussian")
    parser.add_argument("--privacy", type=float, nargs="+", default=[0.25, 0.5, 1.0, 2.0])
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--max-rows", type=int, default=200_000, help="release at most so many rows of a table")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write every release here")
    options = parser.parse_args(arguments)
    strategies = tuple(options.strategies)
    tables = [s for s in sources(options.data, options.tables) if with_class(s)]
    cells = [(s, options.noise, p, k, strategies, options.max_rows) for s in tables for p in options.privacy for k in range(options.keys)]  # fmt: skip
    with ProcessPoolExecutor(options.workers) as pool:
        results = list(pool.map(measure, cells))
    if options.json:
        options.json.write_text(json.dumps(results))
    print("\n".join(lines(results, strategies)))


if __name__ == "__main__":
    main()
