"""Beyond the 2000 paper: single trees, boosted trees and auto on its functions, beside the tree of the true values.

    python benchmarks/beyond.py --functions 2 5 --noise gaussian --privacy 1.0 --seeds 3 --strategies original tree auto

100,000 balanced training records are perturbed and mined; 5,000 true records test the model. Accuracies are means over seeds,
in percent; under them the spread (sd), the CPU seconds, what `tree` and `auto` chose, and how far auto is from both.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import generators
from sfumato.channels import Gaussian, Uniform
from sfumato.generators.agrawal import DOMAINS, INTEGERS
from sfumato.mining.scores import score_model
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Original, Table
from sfumato.trees import STRATEGIES

LAWS = {"gaussian": Gaussian, "uniform": Uniform}
ALL = ("original", "randomized", "byclass", "local", "joint", "mixture", "tree", "boosting", "auto")
CHOOSE = ("tree", "auto")

PROTOTYPE = {
    (1.0, "gaussian"): {
        "byclass": (94.0, 79.8, 87.0, 92.7, 90.6),
        "local": (94.0, 82.6, 87.4, 92.6, 91.2),
        "joint": (96.0, 92.8, 92.6, 95.3, 90.1),
        "mixture": (96.2, 91.5, 91.2, 95.8, 93.9),
    },
    (1.0, "uniform"): {
        "byclass": (98.0, 74.6, 84.6, 91.9, 89.9),
        "local": (97.9, 83.8, 86.2, 92.0, 90.7),
        "joint": (99.1, 97.2, 95.2, 95.9, 90.4),
        "mixture": (98.0, 95.6, 94.4, 94.1, 93.7),
    },
    (2.0, "gaussian"): {
        "byclass": (89.0, 76.7, 80.8, 91.8, 86.1),
        "local": (90.1, 75.4, 81.5, 91.8, 87.2),
        "joint": (93.7, 83.9, 82.7, 92.0, 88.6),
        "mixture": (93.8, 83.1, 85.4, 93.6, 91.8),
    },
    (2.0, "uniform"): {
        "byclass": (98.2, 71.4, 81.9, 89.7, 88.8),
        "local": (97.7, 76.1, 82.0, 89.9, 88.0),
        "joint": (97.9, 93.9, 92.3, 95.4, 90.3),
        "mixture": (97.7, 92.0, 91.4, 93.0, 91.4),
    },
}
"""Figures of the independent prototype, functions 1 to 5."""


def draw(rows: int, seed: int, function: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Balanced true records, and their classes."""
    blocks = list(generators.get("agrawal").blocks(rows, seed=seed, function=function, balanced=True))
    columns = {name: np.concatenate([b[name] for b in blocks]).astype(float) for name in DOMAINS}
    return columns, (np.concatenate([b["class"] for b in blocks]) == "B").astype(np.int64)


def release(columns: dict[str, np.ndarray], classes: np.ndarray, law: str | None, privacy: float, seed: int) -> Table:
    """The table as a miner sees it; without a law, as it is."""
    key = SecretKey(hashlib.sha256(f"beyond {seed}".encode()).digest())
    out = []
    for name, values in columns.items():
        attribute = Attribute(name, Kind.INTEGER if name in INTEGERS else Kind.REAL, Interval(*DOMAINS[name]))
        channel = None if law is None else LAWS[law](privacy=privacy).on(attribute)
        if channel is not None:
            values = channel.perturb(key.derive(name, channel.to_dict()), Rows(0, len(values)), values)
        out.append(Column(attribute, channel, values))
    return Table(tuple(out), Column.of_codes("class", ("A", "B"), classes))


def mined(strategy: str, table: Table, seed: int) -> tuple[Any, dict[str, Any]]:
    """The model, and where there was a choice what was chosen and which accuracy was stated."""
    if strategy == "original":
        return STRATEGIES["original"].grow(Original(table.columns, table.target))[0], {}
    seeded = {"seed": seed} if strategy in ("joint", "mixture", "boosting", *CHOOSE) else {}
    body, notes = STRATEGIES[strategy].grow(table, **seeded)
    return body, {"chose": notes["strategy"], "stated": notes["expected"]["accuracy"]} if strategy in CHOOSE else {}


def measure(function: int, law: str, privacy: float, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Mine one release by every strategy."""
    columns, classes = draw(options.rows, seed, function)
    truth, answers = draw(options.test_rows, seed + 1000, function)
    fresh = release(truth, answers, None, privacy, seed)
    noisy = release(columns, classes, law, privacy, seed)
    out: dict[str, Any] = {"function": function, "noise": law, "privacy": privacy, "seed": seed, "rows": options.rows}
    for strategy in options.strategies:
        table = release(columns, classes, None, privacy, seed) if strategy == "original" else noisy
        begin = time.process_time()
        body, about = mined(strategy, table, seed)
        seconds = time.process_time() - begin
        out[strategy] = {
            "accuracy": 100 * score_model(body, fresh, answers).accuracy,
            "seconds": seconds,
            **about,
        }
    return out


def main() -> None:
    """Run the cells and print each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, nargs="+", default=list(range(1, 11)))
    parser.add_argument("--noise", nargs="+", choices=list(LAWS), default=list(LAWS))
    parser.add_argument("--privacy", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--test-rows", type=int, default=5_000)
    parser.add_argument("--strategies", nargs="+", choices=ALL, default=["original", *ALL[2:]])
    parser.add_argument("--json", type=Path, help="write every release here")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    results: list[dict[str, Any]] = []
    for privacy, law, function in itertools.product(options.privacy, options.noise, options.functions):
        for seed in seeds:
            results.append(measure(function, law, privacy, seed, options))
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))
        show(results[-len(seeds) :], options.strategies)


def show(cell: list[dict[str, Any]], strategies: list[str]) -> None:
    """Print one function under one law."""
    about = cell[0]
    function, where = about["function"], (about["privacy"], about["noise"])
    print(f"\nfunction {function}, {about['noise']}, privacy {100 * about['privacy']:.0f} %, {about['rows']:,} rows")
    found = {s: np.array([one[s]["accuracy"] for one in cell]) for s in strategies}
    for strategy in strategies:
        seconds = np.mean([one[strategy]["seconds"] for one in cell])
        line = f"  {strategy:10s} {found[strategy].mean():5.1f} ± {found[strategy].std():.1f}  {seconds:5.1f} s"
        if (known := PROTOTYPE.get(where, {}).get(strategy)) and function <= len(known):
            line += f"   prototype {known[function - 1]:5.1f}"
        if strategy in CHOOSE:
            chosen = Counter(one[strategy]["chose"] for one in cell)
            line += f"   chose {', '.join(f'{name} {times}×' for name, times in chosen.items())}"
            held = [
                o["stated"]["low"] <= o["accuracy"] / 100 <= o["stated"]["high"] for o in (c[strategy] for c in cell)
            ]
            line += f", interval held {sum(held)}×"
        if strategy in (*CHOOSE, "boosting"):
            rivals = [r for r in ("original", "local", "tree") if r in found and r != strategy]
            line += "".join(f"   {(found[strategy] - found[r]).mean():+.1f} on {r}" for r in rivals)
        print(line, flush=True)


if __name__ == "__main__":
    main()
