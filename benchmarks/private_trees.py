"""Trees from private data: ours from perturbed records, diffprivlib's from true ones, scikit-learn's without any privacy.

    python benchmarks/private_trees.py [--rows 100000] [--no-peers]

They answer different needs, so accuracies stand beside each other and are not a contest. diffprivlib's tree is centrally
differentially private: a trusted curator holds the true records, and ε is the loss of the whole tree. Ours never sees a true
record: each value was perturbed before it left its owner. Under gaussian noise that is interval privacy, without an ε; under
the square wave each attribute is ε-locally private, which is far stronger than a central ε of the same size.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # before numpy is imported

import numpy as np  # noqa: E402
from accuracy import ATTRIBUTES, classes_of, release_of, rows_of  # noqa: E402
from measure import Ratio, ask, ratios, speed, timed, versions  # noqa: E402
from peers import python_of  # noqa: E402
from pins import PINS  # noqa: E402

from sfumato.channels import Gaussian, SquareWave  # noqa: E402
from sfumato.randomness import SecretKey  # noqa: E402
from sfumato.trees import STRATEGIES  # noqa: E402

EPSILONS = (1.0, 10.0)
DEPTH, LEAF, TEST = 12, 50, 5000
THEIR_DEPTHS = (5, 8, 12, 15)
"""5 is diffprivlib's own limit. Its time is compared at the depth of ours, its accuracy where it is best on the test records."""
THEIRS = " ".join(PINS["diffprivlib"][0].split("=="))
OURS = {
    "gaussian, privacy 50 %": Gaussian(privacy=0.5),
    "gaussian, privacy 100 %": Gaussian(privacy=1.0),
    "square wave, ε = 1 an attribute": SquareWave(epsilon=1.0),
}

PEER = """
import json, sys, time
import numpy as np
from diffprivlib.models import DecisionTreeClassifier
about = json.loads(sys.argv[1])
with np.load(about["data"]) as data:
    x, y, aside, truth = (data[n] for n in ("x", "y", "aside", "truth"))
bounds = (np.array(about["low"]), np.array(about["high"]))
out = {}
for epsilon in about["epsilons"]:
    by_depth = {}
    for depth in about["depths"]:
        took, right = [], []
        for seed in range(about["seeds"]):
            tree = DecisionTreeClassifier(epsilon=epsilon, bounds=bounds, classes=[0, 1], max_depth=depth, random_state=seed)
            start = time.process_time()
            tree.fit(x, y)
            took.append(time.process_time() - start)
            right.append(float(tree.score(aside, truth)))
        by_depth[depth] = [min(took), 100 * float(np.mean(right)), 100 * float(np.std(right))]
    out[epsilon] = by_depth
print(json.dumps(out))
"""


def main(arguments: list[str] | None = None) -> list[Ratio]:
    from sklearn.tree import DecisionTreeClassifier

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--function", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="no diffprivlib")
    options = parser.parse_args(arguments)
    train, test = rows_of(options.rows, options.function, 1), rows_of(TEST, options.function, 1001)
    names = [a.name for a in ATTRIBUTES]
    x, y = np.column_stack([train[n].astype(float) for n in names]), classes_of(train)
    aside, truth = np.column_stack([test[n].astype(float) for n in names]), classes_of(test)
    print(versions("numpy", "scikit-learn") + f"; {options.rows:,} × 9, function {options.function}\n")
    print("| tree | who sees true records | CPU s | accuracy |\n|---|---|---:|---:|")
    exact = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
    plain = timed(lambda: exact.fit(x, y), options.repeats)
    print(
        f"| scikit-learn {_version()}, no privacy | everybody | {plain:.3f} | {100 * exact.score(aside, truth):.1f} |"
    )
    seconds, found = {}, {}
    for title, law in OURS.items():
        table = release_of(train, law, SecretKey(bytes(range(32))))
        seconds[title] = timed(lambda table=table: STRATEGIES["byclass"].fit(table), options.repeats)
        found[title] = 100 * STRATEGIES["byclass"].fit(table).accuracy(test, truth)
        print(f"| sfumato byclass, {title} | nobody | {seconds[title]:.3f} | {found[title]:.1f} |", flush=True)
    title = "gaussian, privacy 100 %"
    rows = [speed(f"byclass at 100 % privacy, {options.rows:,} × 9: speed against scikit-learn", seconds[title], plain)]
    if not options.no_peers:
        with tempfile.TemporaryDirectory() as scratch:
            data = Path(scratch) / "data.npz"
            np.savez(data, x=x, y=y, aside=aside, truth=truth)
            ends = {"low": [a.interval.low for a in ATTRIBUTES], "high": [a.interval.high for a in ATTRIBUTES]}
            python = python_of("diffprivlib", *PINS["diffprivlib"])
            peer = ask(python, PEER, data=str(data), epsilons=EPSILONS, seeds=5, depths=THEIR_DEPTHS, **ends)
        for epsilon, by_depth in peer.items():
            name = f"ε = {float(epsilon):g}"
            for depth, (took, right, spread) in by_depth.items():
                cells = f"{took:.3f} | {right:.1f} ± {spread:.1f}"
                print(f"| {THEIRS}, central {name}, depth ≤ {depth} | its curator | {cells} |")
            took = by_depth[str(DEPTH)][0]
            best = max(right for _, right, _ in by_depth.values())
            rows.append(
                speed(f"byclass at 100 % privacy: speed against diffprivlib's tree, {name}", seconds[title], took)
            )
            what = f"its accuracy (local noise) beside diffprivlib's best (trusted curator, {name})"
            rows.append(Ratio(what, f"{found[title]:.1f} %", f"{best:.1f} %", found[title] / best))
    ratios(rows)
    return rows


def _version() -> str:
    from importlib.metadata import version

    return version("scikit-learn")


if __name__ == "__main__":
    main()
