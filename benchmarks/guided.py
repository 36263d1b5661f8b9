"""Tree-guided perturbation: the C4.5-like builder beside scikit-learn's exact tree, and releases of whole tables.

python benchmarks/guided.py [rows]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from measure import Ratio, ratios, speed, timed, versions

from sfumato.generators import get
from sfumato.guided.tree.class_noise import ClassRandom
from sfumato.guided.tree.detective import Detective
from sfumato.guided.tree.framework import Framework
from sfumato.guided.tree.leaf_swap import LeafSwap
from sfumato.guided.tree.value_noise import Innocent
from sfumato.papers.parties import bundled_table
from sfumato.randomness import SecretKey, Stream
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Table
from sfumato.trees.grow.c45 import c45

CATEGORICAL = ("elevel", "car", "zipcode")
FLIPPED = 0.05


def applicants(rows: int, seed: int = 1) -> Table:
    """Loan applicants, function 2: six continuous columns, three categories, 5 % of the labels flipped."""
    blocks = list(get("agrawal").blocks(rows, seed=seed, function=2))
    table = {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}
    flip = np.random.default_rng(seed).random(rows) < FLIPPED
    classes = ((table.pop("class") == "B") ^ flip).astype(np.int64)
    columns = []
    for name, values in table.items():
        values = values.astype(np.float64)
        if name in CATEGORICAL:
            values -= values.min()
            labels = tuple(str(i) for i in range(int(values.max()) + 1))
            columns.append(Column(Attribute(name, Kind.CATEGORICAL, Categories(labels)), None, values))
        else:
            columns.append(Column(Attribute(name, Kind.REAL, Interval(values.min(), values.max())), None, values))
    return Table(tuple(columns), Column.of_codes("class", ("A", "B"), classes))


def builder(rows: int) -> list[Ratio]:
    from sklearn.tree import DecisionTreeClassifier

    table = applicants(rows)
    numbers = np.column_stack([c.values for c in table.columns])
    ours, tree = timed(lambda: c45(table), 3), c45(table)
    print(f"\n{rows:,} × 9 mixed columns (6 continuous, 3 categorical)\n")
    print("| builder | cpu s | ratio | leaves |\n|---|---|---|---|")
    print(f"| C4.5, grown and pruned | {ours:.2f} | 1.0 | {tree.leaves} |")
    whole = c45(table, prune=False)
    print(f"| C4.5, grown only | {timed(lambda: c45(table, prune=False), 3):.2f} | | {whole.leaves} |")
    found = []
    for criterion in ("entropy", "gini"):
        model = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=2, random_state=0)
        theirs = timed(lambda model=model: model.fit(numbers, table.codes), 3)
        print(f"| scikit-learn, exact, {criterion} | {theirs:.2f} | {theirs / ours:.1f} | {model.get_n_leaves()} |")
        found.append(speed(f"C4.5 builder, {rows:,} × 9 mixed: speed against scikit-learn, {criterion}", ours, theirs))
    return found


def releases() -> None:
    methods = (ClassRandom(), Innocent(), Detective(), LeafSwap(), Framework(), Framework(numbers="swap", chained=True))
    print("\n| table | rows × columns | method | cpu s | cells changed | in clear |\n|---|---|---|---|---|---|")
    for name in ("german_credit", "mushroom", "adult"):
        table = bundled_table(name, complete=False)
        for method in methods:
            if isinstance(method, Innocent) and not any(c.attribute.kind.numeric for c in table.columns):
                continue
            start = time.process_time()
            done = method.perturb(table, Stream(SecretKey.generate()))
            took = time.process_time() - start
            clear = sum(share == 0 for share in done.changed.values())
            changed = 100 * float(np.mean(list(done.changed.values())))
            size = f"{table.rows:,} × {len(table.columns)}"
            label = method.law + (" (swap)" if getattr(method, "numbers", "") == "swap" else "")
            print(f"| {name} | {size} | {label} | {took:.2f} | {changed:.0f} % | {clear} |")


def main(arguments: list[str] | None = None) -> list[Ratio]:
    given = sys.argv[1:] if arguments is None else arguments
    print(versions("numpy", "scikit-learn"))
    rows = builder(int(given[0]) if given else 100_000)
    releases()
    ratios(rows)
    return rows


if __name__ == "__main__":
    main()
