"""How long does mining take, reconstruction included, against an exact tree on the original values?

    python benchmarks/mine.py [--rows 100000 1000000] [--noise gaussian] [--privacy 1.0] [--function 2]

Strategies take the released values as they lie in memory; scikit-learn's exact DecisionTreeClassifier takes the true ones,
with the same limits of depth and leaf size. Process CPU seconds, one thread, the best of several runs; ratios matter.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # before numpy is imported

import numpy as np  # noqa: E402
from accuracy import LAWS, classes_of, release_of, rows_of  # noqa: E402
from measure import Ratio, ratios, speed, timed, versions  # noqa: E402

from sfumato.channels import transition  # noqa: E402
from sfumato.randomness import SecretKey  # noqa: E402
from sfumato.trees.grow.growth import Limits  # noqa: E402
from sfumato.trees.grow.pruning import KeepAll  # noqa: E402
from sfumato.trees.strategies.base import STRATEGIES  # noqa: E402

DEPTH, LEAF = 12, 50


def afresh(mine: Callable[..., object], *arguments: object) -> None:
    """Mine with no kernel remembered from the run before."""
    transition._compute.cache_clear()  # noqa: SLF001
    mine(*arguments)


def costs(n: int, options: argparse.Namespace) -> dict[str, tuple[float, float, int]]:
    """CPU seconds, accuracy on true records and leaves, by name."""
    from sklearn.tree import DecisionTreeClassifier

    rows, test = rows_of(n, options.function, 1), rows_of(5000, options.function, 1001)
    names = [name for name in rows if name != "class"]
    table = release_of(rows, LAWS[options.noise](privacy=options.privacy), SecretKey(bytes(range(32))))
    true, classes = np.column_stack([rows[name].astype(np.float64) for name in names]), classes_of(rows)
    aside, truth = np.column_stack([test[name].astype(np.float64) for name in names]), classes_of(test)
    peer = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
    out = {}
    seconds = timed(lambda: peer.fit(true, classes), options.repeats)
    out["scikit-learn, original values"] = seconds, float(peer.score(aside, truth)), int(peer.get_n_leaves())
    limits = Limits(max_depth=DEPTH, min_leaf=LEAF)
    for label, strategy, pruner in (
        ("byclass", "byclass", None),
        ("byclass, not pruned", "byclass", KeepAll()),
        ("local", "local", None),
        ("global", "global", None),
    ):
        mine = STRATEGIES[strategy].fit
        seconds = timed(lambda mine=mine, pruner=pruner: afresh(mine, table, limits, pruner), options.repeats)
        tree = mine(table, limits, pruner)
        out[label] = seconds, tree.accuracy(test, truth), tree.leaves
    seconds = timed(lambda: afresh(STRATEGIES["byclass"].fit, table), options.repeats)
    tree = STRATEGIES["byclass"].fit(table)
    out["byclass, its own limits"] = seconds, tree.accuracy(test, truth), tree.leaves
    return out


def main(arguments: list[str] | None = None) -> list[Ratio]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--noise", choices=list(LAWS), default="gaussian")
    parser.add_argument("--privacy", type=float, default=1.0)
    parser.add_argument("--function", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    print(versions("numpy", "scikit-learn"))
    print(f"function {options.function}, {options.noise} noise at {options.privacy:.0%} privacy, 9 attributes; ")
    print(f"depth ≤ {DEPTH}, leaves of ≥ {LEAF} records\n")
    print("| rows | who | cpu s | of scikit-learn | leaves | accuracy |\n|---|---|---|---|---|---|")
    by_rows = {}
    for n in options.rows:
        by_rows[n] = costs(n, options)
        peer = by_rows[n]["scikit-learn, original values"][0]
        for name, (seconds, accuracy, leaves) in by_rows[n].items():
            print(
                f"| {n:,} | {name} | {seconds:.3f} | {seconds / peer:.2f} | {leaves} | {100 * accuracy:.1f} |",
                flush=True,
            )
    for n, found in by_rows.items():
        print(f"\n{n:,} rows: local / byclass = {found['local'][0] / found['byclass'][0]:.2f}", end="")
    if len(options.rows) > 1:
        first, last = options.rows[0], options.rows[-1]
        for name in ("byclass", "local", "scikit-learn, original values"):
            exponent = math.log(by_rows[last][name][0] / by_rows[first][name][0]) / math.log(last / first)
            print(f"\ngrowth exponent of {name}: {exponent:.2f}", end="")
    print()
    peer = "scikit-learn, original values"
    rows = [
        speed(
            f"{name}, {n:,} × 9, with reconstruction: speed against scikit-learn's exact tree",
            found[name][0],
            found[peer][0],
        )
        for n, found in by_rows.items()
        for name in ("byclass", "local")
    ]
    ratios(rows)
    return rows


if __name__ == "__main__":
    main()
