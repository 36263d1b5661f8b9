"""Is the accuracy that `auto` states the accuracy it has, and is its choice better than the simpler strategies?

    python benchmarks/stated.py --tables f2 f7 adult nursery --rows 2000 6000 --seeds 10

A table is f1 to f10 (the functions of the agrawal generator, balanced) or the name of a bundled one, of which a sample of the
rows is released and the rest (of adult: its test part) stays true. What was stated is compared with the share of fresh true
records that the mined tree is right about, in points. Without --noise or --privacy, seeds take laws and levels in turn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from sfumato.generators import get
from sfumato.mining.auto import fit_auto
from sfumato.mining.scores import score_model
from sfumato.plans import Plan
from sfumato.plans.document import channel_for, noise_for
from sfumato.randomness import SecretKey
from sfumato.releases.reader import read_original
from sfumato.table import Column, Table
from sfumato.trees.strategies.base import STRATEGIES
from sfumato.trees.strategies.joint_map import fit_joint

FRESH = 20_000


def agrawal(rows: int, seed: int, function: int) -> Table:
    """Balanced true records."""
    generator = get("agrawal")
    blocks = list(generator.blocks(rows, seed=seed, function=function, balanced=True))
    columns = []
    for attribute in generator.attributes:
        if attribute.name != generator.target:
            values = np.concatenate([b[attribute.name] for b in blocks]).astype(np.float64)
            columns.append(Column(attribute, None, values))
    classes = np.concatenate([b[generator.target] for b in blocks]) == "B"
    return Table(tuple(columns), Column.of_codes("class", ("A", "B"), classes.astype(np.int64)))


@cache
def bundled(name: str) -> tuple[Table, Table | None]:
    """A table of this package, and the part that was set apart for tests."""
    plan = Plan.propose(name, target="class", noise="gaussian", privacy=0.5)
    return read_original(name, plan), read_original("adult_test", plan) if name == "adult" else None


def cell(name: str, rows: int, law: str, privacy: float, seed: int) -> tuple[Table, Table]:
    """What the miner holds, and fresh true records."""
    if name[1:].isdigit():
        true, fresh = agrawal(rows, seed, int(name[1:])), agrawal(FRESH, seed + 1_000_000, int(name[1:]))
    else:
        whole, apart = bundled(name)
        order = np.random.default_rng(seed).permutation(whole.rows)
        true, fresh = whole.take(order[:rows]), whole.take(order[rows:]) if apart is None else apart
    key = SecretKey(hashlib.sha256(f"stated {seed}".encode()).digest())
    noise = noise_for(law, privacy, {})
    columns = (c.through(channel_for(*noise, c.attribute)[0].on(c.attribute), key.derive(c.name)) for c in true.columns)
    return Table(tuple(columns), true.target), fresh


def measured(name: str, rows: int, law: str, privacy: float, seed: int, others: list[str]) -> dict:
    """One release mined by auto and by others."""
    noisy, fresh = cell(name, rows, law, privacy, seed)
    begin = time.process_time()
    fitted = fit_auto(noisy, seed=seed)
    seconds = time.process_time() - begin
    chosen = fitted.notes["strategy"]
    stated = fitted.notes["expected"]["accuracy"]
    trees = {"auto": fitted.tree}
    for other in others:
        trees[other] = fit_joint(noisy, seed=seed).tree if other == "joint" else STRATEGIES[other].fit(noisy)
    about = {"table": name, "rows": rows, "noise": law, "privacy": privacy, "seed": seed}
    found = {"chosen": chosen, "stated": {end: 100 * stated[end] for end in ("estimate", "low", "high")}}
    found["fresh"] = fresh.rows
    return (
        about
        | found
        | {"true": {n: 100 * score_model(t, fresh, fresh.codes).accuracy for n, t in trees.items()}, "seconds": seconds}
    )


def holds(about: dict) -> bool:
    """Whether the interval holds the true accuracy, which fresh rows tell with an error of their own."""
    true, stated = about["true"]["auto"], about["stated"]
    chance = 1.96 * 100 * np.sqrt(max(true / 100 * (1 - true / 100), 0.01) / about["fresh"])
    low, high = (np.hypot(stated["estimate"] - stated[end], chance) for end in ("low", "high"))
    return bool(stated["estimate"] - low <= true <= stated["estimate"] + high)


def show(title: str, cells: list[dict], others: list[str]) -> None:
    off = np.array([c["stated"]["estimate"] - c["true"]["auto"] for c in cells])
    width = np.array([c["stated"]["high"] - c["stated"]["low"] for c in cells])
    print(
        f"{title}: {len(cells)} releases, {np.mean([c['seconds'] for c in cells]):.1f} s each; stated - true "
        f"{off.mean():+.1f} in the mean, {np.sqrt((off**2).mean()):.1f} rms; the 95 % interval is {width.mean():.1f} wide, "
        f"holds {np.mean([holds(c) for c in cells]):.0%}"
    )
    for other in others:
        gain = np.array([c["true"]["auto"] - c["true"][other] for c in cells])
        print(
            f"    auto - {other}: {gain.mean():+.2f} in the mean, {gain.min():+.1f} at worst, "
            f"more than a point worse in {np.mean(gain < -1):.0%}, better in {np.mean(gain > 1):.0%}"
        )
    regret = [max(c["true"].values()) - c["true"]["auto"] for c in cells]
    print(f"    regret against the best of all: {np.mean(regret):.2f} points in the mean")
    print(f"    chose {dict(Counter(c['chosen'] for c in cells))}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=[*(f"f{i}" for i in range(1, 11)), "adult", "nursery"])
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 6000])
    parser.add_argument("--noise", nargs="+", default=["gaussian", "uniform"])
    parser.add_argument("--privacy", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--others", nargs="*", default=["byclass", "local", "joint"])
    parser.add_argument("--json", type=Path, help="write every release here")
    options = parser.parse_args()
    settings = [(law, privacy) for privacy in options.privacy for law in options.noise]
    cells: list[dict] = []
    for rows in options.rows:
        for place, name in enumerate(options.tables):
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                law, privacy = settings[(seed + place) % len(settings)]
                cells.append(measured(name, rows, law, privacy, seed, options.others))
            show(f"{name}, {rows:,} rows", cells[-options.seeds :], options.others)
            if options.json:
                options.json.write_text(json.dumps(cells, indent=1))
        if len(options.tables) > 1:
            show(f"all, {rows:,} rows", [c for c in cells if c["rows"] == rows], options.others)


if __name__ == "__main__":
    main()
