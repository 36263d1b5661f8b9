"""Substitution and its reconstruction against multi-freq-ldpy, and both laws for labels against each other.

Run it as `python benchmarks/ldp.py [rows]`. The peer has a function for one value and none for a column, so its client is timed
on `SAMPLE` values after a warm-up and the time is scaled to all rows; its estimators are timed on all the reports.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import Ratio, ratios, speed, timed, versions
from peers import python_of
from pins import PINS

from sfumato.channels import Projective, Substitution
from sfumato.channels.projective import reports_win
from sfumato.counts import FloatArray
from sfumato.randomness import Rows, SecretKey
from sfumato.reconstruction import reconstruct
from sfumato.schema import Attribute, Categories, Kind
from sfumato.table import Column

PEER = PINS["multi-freq-ldpy"]
SAMPLE = 200_000
HASHED = 4_000
"""The peer's local hashing takes rows × values hashes to estimate."""

THEIRS = """
import json, sys, time
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client, GRR_Aggregator_IBU, GRR_Aggregator_MI
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client, LH_Aggregator_MI

def spent(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start

task = json.load(open(sys.argv[1]))
k, epsilon = task["k"], task["epsilon"]
out = {}
if "reports" in task:
    values = np.load(task["values"])
    [GRR_Client(int(v), k, epsilon) for v in values[:100]]
    own, out["client"] = spent(lambda: [GRR_Client(v, k, epsilon) for v in values.tolist()])
    GRR_Aggregator_IBU(own[:100], k, epsilon)
    found = [spent(lambda: GRR_Aggregator_IBU(own, k, epsilon))[0], GRR_Aggregator_MI(own, k, epsilon)]
    out["ibu_of_own"], out["inverse_of_own"] = [f.tolist() for f in found]
    reports = np.load(task["reports"]).tolist()
    found, out["ibu"] = spent(lambda: GRR_Aggregator_IBU(reports, k, epsilon))
    out["ibu_of_ours"] = found.tolist()
else:
    values = np.load(task["values"])
    LH_Client(int(values[0]), k, epsilon)
    own, out["client"] = spent(lambda: [LH_Client(v, k, epsilon) for v in values.tolist()])
    found, out["estimate"] = spent(lambda: LH_Aggregator_MI(own, k, epsilon))
    out["found"] = found.tolist()
json.dump(out, open(sys.argv[2], "w"))
"""


def attribute(size: int) -> Attribute:
    return Attribute("x", Kind.CATEGORICAL, Categories(tuple(map(str, range(size)))))


def skewed(size: int, n: int, seed: int = 0) -> FloatArray:
    shares = 1 / np.arange(1, size + 1)
    return np.random.default_rng(seed).choice(size, n, p=shares / shares.sum()).astype(np.float64)


def theirs(**task: object) -> dict[str, object]:
    python = python_of("multi-freq-ldpy", *PEER)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.json", Path(folder) / "found.json"
        plain = {}
        for name, value in task.items():
            if isinstance(value, np.ndarray):
                plain[name] = f"{folder}/{name}.npy"
                np.save(plain[name], value.astype(np.int64))
            else:
                plain[name] = value
        given.write_text(json.dumps(plain))
        subprocess.run([python, "-c", THEIRS, given, found], check=True)
        return dict(json.loads(found.read_text()))


def error(found: object, values: FloatArray, size: int) -> float:
    """E of the 2006 paper: Σ |estimated share − true share|."""
    return float(np.abs(np.asarray(found) - np.bincount(values.astype(int), minlength=size) / len(values)).sum())


def response(rows: int, size: int, epsilon: float) -> list[Ratio]:
    about, key = attribute(size), SecretKey(bytes(32))
    law, values = Substitution(epsilon=epsilon).on(about), skewed(size, rows)
    ours = timed(lambda: law.perturb(key, Rows(0, rows), values), 3)
    column = Column(about, law, law.perturb(key, Rows(0, rows), values))
    again = timed(lambda: reconstruct(column), 3)
    peer = theirs(k=size, epsilon=epsilon, values=values[:SAMPLE], reports=column.values)
    client = float(peer["client"]) * rows / SAMPLE
    small = Column(about, law, law.perturb(key, Rows(0, SAMPLE), values[:SAMPLE]))
    print(f"\nk-ary response, {size} labels, ε = {epsilon:g}, {rows:,} values, CPU seconds")
    print(
        f"  substitution     ours {ours:8.2f}   GRR_Client {client:8.2f} (scaled from {SAMPLE:,})   ratio {client / ours:6.1f}"
    )
    print(
        f"  reconstruction   ours {again:8.3f}   IBU        {peer['ibu']:8.3f}   ratio {float(peer['ibu']) / again:6.1f}"
    )
    same = float(np.abs(np.asarray(peer["ibu_of_ours"]) - reconstruct(column).mass).sum())
    print(
        f"  error E of the same {rows:,} reports: ours {error(reconstruct(column).mass, values, size):.5f}, IBU "
        f"{error(peer['ibu_of_ours'], values, size):.5f}; they differ by {same:.1e}"
    )
    print(
        f"  error E of {SAMPLE:,} values, each through its own client: ours {error(reconstruct(small).mass, values[:SAMPLE], size):.4f}, "
        f"IBU {error(peer['ibu_of_own'], values[:SAMPLE], size):.4f}, its inversion {error(peer['inverse_of_own'], values[:SAMPLE], size):.4f}"
    )
    what = f"{rows:,} values of {size} labels: speed against multi-freq-ldpy's"
    return [
        speed(f"{what} GRR client (scaled)", ours, client, "≥ 10"),
        speed(f"{what} IBU", again, float(peer["ibu"]), "≥ 10"),
    ]


def reports(size: int, epsilon: float) -> list[Ratio]:
    about, key = attribute(size), SecretKey(bytes(32))
    law, values = Projective(epsilon=epsilon).on(about), skewed(size, HASHED)
    many = skewed(size, 10**6)
    law.perturb(key, Rows(0, 10), values[:10])
    ours = timed(lambda: law.perturb(key, Rows(0, 10**6), many), 3) / 10**6
    column = Column(about, law, law.perturb(key, Rows(0, HASHED), values))
    again = timed(lambda: reconstruct(column), 3)
    peer = theirs(k=size, epsilon=epsilon, values=values)
    client = float(peer["client"]) / HASHED
    print(f"\n{size} labels, ε = {epsilon:g}: projective reports against local hashing (OLH), {HASHED:,} values")
    print(f"  µs a value       ours {1e6 * ours:8.2f}   LH_Client  {1e6 * client:8.2f}   ratio {client / ours:6.1f}")
    print(
        f"  reconstruction   ours {again:8.4f}   aggregator {peer['estimate']:8.3f}   ratio {float(peer['estimate']) / again:6.0f}"
    )
    print(
        f"  error E          ours {error(reconstruct(column).mass, values, size):8.4f}   OLH        {error(peer['found'], values, size):8.4f}"
    )
    what = f"{size} labels: speed of reports against multi-freq-ldpy's OLH"
    return [
        speed(f"{what}, a value", 1e6 * ours, 1e6 * client, about="µs"),
        speed(f"{what}, estimate", again, float(peer["estimate"])),
    ]


def both_laws(n: int = 100_000, runs: int = 3) -> None:
    print(f"\nMean squared error a label × 10⁶, {n:,} values, mean of {runs}; * is the choice of the rule")
    print(f"{'labels':>7} {'ε':>5} {'substitution':>14} {'projective':>14} {'ratio':>8}")
    for size in (10, 100, 1000, 5000):
        about = attribute(size)
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            errors = []
            for wish in (Substitution(epsilon=epsilon), Projective(epsilon=epsilon)):
                law, found = wish.on(about), []
                for run in range(runs):
                    values = skewed(size, n, run)
                    true = np.bincount(values.astype(int), minlength=size) / n
                    column = Column(about, None, values).through(law, SecretKey(bytes(31) + bytes([run])))
                    found.append(float(np.mean((reconstruct(column).mass - true) ** 2)))
                errors.append(1e6 * float(np.mean(found)))
            stars = ("", "*") if reports_win(math.exp(epsilon), size) else ("*", "")
            cells = "".join(f"{e:>13.4g}{s or ' '}" for e, s in zip(errors, stars, strict=True))
            print(f"{size:>7} {epsilon:>5g} {cells} {errors[0] / errors[1]:>8.2f}")


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(versions("sfumato", "numpy"), "against", PEER[0])
    found = [ratio for labels in (20, 100) for ratio in response(rows, labels, 2.0)]
    found += reports(1000, 2.0)
    both_laws()
    ratios(found)
