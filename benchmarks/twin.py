"""Is a synthetic twin as good as draws? Boosted trees and SDMetrics on twins of blurred tables, beside draws and released values.

    python benchmarks/twin.py                                          # adult at 50 %, three keys
    python benchmarks/twin.py --tables german_credit --privacy 0.25 1
    python benchmarks/twin.py --peers                                  # SDMetrics as well, and a twin by dpmm (brings both)

Every column is blurred, the class stays as it is. scikit-learn's boosted trees with its defaults learn from the true rows (clean),
from the released values as if they were true (naive), from one draw of plausible true rows, and from a twin of as many rows. They
are judged on true test rows. SDMetrics compares each of these tables with the true rows: shapes of columns, trends of pairs. dpmm
makes a twin of the *true* rows under central differential privacy (MST, ε = 1 and 6, δ = 10⁻⁵; ends and labels of columns given to
it): what a curator could do who sees everything.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from learners import read_tables
from peers import python_of
from pins import PINS
from real_trees import blur, title
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from sfumato.modelling import TableModel
from sfumato.randomness import SecretKey
from sfumato.table import Table

QUALITY = """
import json, sys, warnings
import pandas as pd
warnings.filterwarnings("ignore")
from sdmetrics.reports.single_table import QualityReport
folder, about = sys.argv[1], json.loads(sys.argv[2])
true = pd.read_csv(f"{folder}/clean.csv")
out = {}
for name in about["tables"]:
    report = QualityReport()
    report.generate(true, pd.read_csv(f"{folder}/{name}.csv"), {"columns": about["columns"]}, verbose=False)
    shapes, trends = report.get_properties()["Score"]
    out[name] = [shapes, trends]
print(json.dumps(out))
"""

CENTRAL = """
import json, sys, warnings
import pandas as pd
warnings.filterwarnings("ignore")
from dpmm.pipelines import MSTPipeline
folder, epsilon, seed, labels = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
true = pd.read_csv(f"{folder}/clean.csv")
domain = {
    n: {"categories": sorted(set(v))} if n in labels else {"lower": float(v.min()), "upper": float(v.max())}
    for n, v in true.items()
}
maker = MSTPipeline(epsilon=epsilon, delta=1e-5, n_jobs=1)
maker.fit(true.astype({n: "category" for n in labels}), domain=domain, random_state=seed)
maker.generate(len(true)).to_csv(f"{folder}/dpmm {epsilon:g}.csv", index=False)
"""


def read_frame(table: Table) -> pd.DataFrame:
    """Return numbers as numbers and labels as their codes, with missing values filled so that every tool takes them."""
    columns = {}
    for column in table.all_columns:
        values = column.values
        gap = -1.0 if not column.attribute.kind.numeric else float(np.nanmean(values)) if len(values) else 0.0
        filled = np.where(np.isnan(values), gap, values)
        columns[column.name] = filled if column.attribute.kind.numeric else filled.astype(int)
    return pd.DataFrame(columns)


def judge(frame: pd.DataFrame, fresh: pd.DataFrame, labels: list[str], target: str) -> tuple[float, float]:
    """Train boosted trees on a table; accuracy and AUC (of several classes the mean of one against the rest) on true rows."""
    few = [n for n in labels if frame[n].nunique() < 255]
    learner = HistGradientBoostingClassifier(random_state=0)
    inputs = [c for c in fresh.columns if c != target]
    learner.set_params(categorical_features=[c in few for c in inputs])
    shift = 1  # categories are not negative
    x, z = ((f[inputs] + [shift if c in few else 0 for c in inputs]).to_numpy(float) for f in (frame, fresh))
    chances = learner.fit(x, frame[target]).predict_proba(z)
    right = float((learner.classes_[chances.argmax(axis=1)] == fresh[target]).mean())
    if chances.shape[1] == 2:
        return right, float(roc_auc_score(fresh[target] == learner.classes_[1], chances[:, 1]))
    return right, float(roc_auc_score(fresh[target], chances, multi_class="ovr", labels=learner.classes_))


def compare(source: str, law: str, privacy: float, seed: int, peers: bool) -> dict[str, Any]:
    """Make the tables of one release, train on each, and compare each with the truth."""
    train, fresh = read_tables(source, law, privacy, False, seed, 200_000)
    key = SecretKey(hashlib.sha256(f"twin {title(source)} {seed}".encode()).digest())
    released = blur(train, law, privacy, key)
    model = TableModel.fit(released)
    rows = np.arange(train.rows)
    tables = {
        "clean": read_frame(train),
        "naive": read_frame(Table(tuple(c.as_true() for c in released.columns), released.target)),
        "draw": read_frame(model.draw(released, rows, f"twin {seed}")),
        "twin": read_frame(model.sample_rows(rows, seed)),
    }
    target = train.required_target.name
    labels = [c.name for c in train.columns if not c.attribute.kind.numeric]
    quality: dict[str, list[float]] = {}
    if peers:
        with tempfile.TemporaryDirectory() as name:
            quality = ask_peers(Path(name), tables, [*labels, target], seed)
    true = read_frame(fresh)
    scores = {name: judge(frame, true, labels, target) for name, frame in tables.items()}
    return {"table": title(source), "privacy": privacy, "key": seed, "scores": scores, "quality": quality}


def ask_peers(folder: Path, tables: dict[str, pd.DataFrame], labels: list[str], seed: int) -> dict[str, list[float]]:
    """Add dpmm's twins to the tables, and return what SDMetrics says of all."""
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    for epsilon in (1.0, 6.0):
        run_peer("dpmm", CENTRAL, str(folder), str(epsilon), str(seed), json.dumps(labels))
        made = pd.read_csv(folder / f"dpmm {epsilon:g}.csv")[list(tables["clean"].columns)]
        tables[f"dpmm {epsilon:g}"] = made
    about = {
        "columns": {n: {"sdtype": "categorical" if n in labels else "numerical"} for n in tables["clean"].columns},
        "tables": [n for n in tables if n != "clean"],
    }
    return dict(json.loads(run_peer("sdmetrics", QUALITY, str(folder), json.dumps(about)).splitlines()[-1]))


def run_peer(name: str, program: str, *arguments: str) -> str:
    """Run a program in the environment of a peer."""
    python = python_of(name, *PINS[name])
    return subprocess.run([str(python), "-c", program, *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Print a row per table, strength and source of rows; means over keys."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["adult"])
    parser.add_argument("--noise", default="gaussian")
    parser.add_argument("--privacy", type=float, nargs="+", default=[0.5])
    parser.add_argument("--keys", type=int, default=3)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    print("| table | privacy | keys | trained on | accuracy | AUC | shapes of columns | trends of pairs |")
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for source in given.tables:
        for privacy in given.privacy:
            runs = [compare(source, given.noise, privacy, key, given.peers) for key in range(given.keys)]
            for name in runs[0]["scores"]:
                accuracy, auc = np.mean([r["scores"][name] for r in runs], axis=0)
                cells = [np.mean([r["quality"][name] for r in runs], axis=0) if name in r["quality"] else None for r in runs[:1]]  # fmt: skip
                told = ["–", "–"] if cells[0] is None else [f"{value:.3f}" for value in cells[0]]
                print(f"| {title(source)} | {privacy:g} | {given.keys} | {name} | {100 * accuracy:.2f} % | {auc:.4f} | {told[0]} | {told[1]} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
