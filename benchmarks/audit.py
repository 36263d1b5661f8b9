"""Linkability and inference beside anonymeter's, on adult: the same columns, release, control table and number of attacks.

``python benchmarks/audit.py [ATTACKS]``. Anonymeter is installed into an environment of its own (see peers.py). Both sides
attack random people, so rates are compared by whether their 95 % intervals meet; seconds are CPU seconds of one thread,
compilation and reading left out. Exits with 1 where a rate differs or the gain in speed is below 5.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import ratios, speed, versions
from peers import python_of
from pins import PINS

from sfumato.attacks import Linkability, NearestInference, Targets, View
from sfumato.auditing.case import attributes_of, truth_of
from sfumato.auditing.rates import Rate
from sfumato.auditing.runner import audit
from sfumato.auditing.score import hits
from sfumato.datasets import path
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release, read_original
from sfumato.releasing import release

LEFT = ("age", "education_num", "hours_per_week", "sex", "marital_status")
RIGHT = ("fnlwgt", "capital_gain", "capital_loss", "race", "relationship")
KNOWN = ("age", "education_num", "hours_per_week", "fnlwgt", "marital_status", "sex", "race")
SECRETS = ("relationship", "education")
NEIGHBOURS = (1, 10)
PRIVACY = 0.05
FASTER = 5

PEER = """
import json, sys, time, warnings
import pandas as pd
warnings.simplefilter("ignore")
from anonymeter.evaluators import LinkabilityEvaluator, InferenceEvaluator
about = json.loads(sys.argv[1])
ori, syn, control = (pd.read_csv(about[k]) for k in ("original", "release", "control"))
def rate(r):
    return [r.value, r.error]
def run(make, attacks):
    evaluator = make(attacks)
    start = time.process_time()
    evaluator.evaluate(n_jobs=1)
    return evaluator, time.process_time() - start
out = {}
for k in about["neighbours"]:
    cols = about["left"] + about["right"]
    make = lambda n: LinkabilityEvaluator(ori=ori[cols], syn=syn[cols], control=control[cols], n_attacks=n, n_neighbors=k,
                                          aux_cols=(about["left"], about["right"]))
    run(make, 5)
    e, seconds = run(make, about["attacks"])
    r = e._evaluate_results() if hasattr(e, "_evaluate_results") else e.results()
    out[f"linkability, {k} neighbours"] = [rate(r.attack_rate), rate(r.control_rate), seconds]
for secret in about["secrets"]:
    cols = about["known"] + [secret]
    make = lambda n: InferenceEvaluator(ori=ori[cols], syn=syn[cols], control=control[cols], n_attacks=n,
                                        aux_cols=about["known"], secret=secret)
    run(make, 5)
    e, seconds = run(make, about["attacks"])
    r = e.results()
    out[f"inference of {secret}"] = [rate(r.attack_rate), rate(r.control_rate), seconds]
print(json.dumps(out))
"""


def write_csv(made: Release, file: Path) -> None:
    from pyarrow import csv

    table = made.to_arrow()
    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    csv.write_csv(pa.table(dict(zip(table.column_names, plain, strict=True))), file)


def ours(made: Release, attacks: int) -> dict[str, tuple[Rate, Rate, float]]:
    view, attributes = View.of(made), attributes_of(made.manifest)
    rng = np.random.default_rng(1)
    people = {}
    for name, table in (("inside", "adult"), ("outside", "adult_test")):
        truth = truth_of(made.manifest, read_original(table, made.manifest))
        rows = rng.choice(len(truth["age"]), attacks, replace=False)
        people[name] = {n: v[rows] for n, v in truth.items()}
    out = {}
    for k in NEIGHBOURS:
        start, rates = time.process_time(), []
        for who in people.values():
            targets = Targets({n: who[n] for n in LEFT + RIGHT})
            rates.append(Rate.of(Linkability(targets, LEFT, RIGHT, k, 1).run(view)))
        out[f"linkability, {k} neighbours"] = (*rates, time.process_time() - start)
    for secret in SECRETS:
        start, rates = time.process_time(), []
        for who in people.values():
            claim = NearestInference(Targets({n: who[n] for n in KNOWN}), secret, 1).run(view)
            rates.append(Rate.of(hits(attributes[secret], claim.recoveries[0].pick, who[secret])))
        out[f"inference of {secret}"] = (*rates, time.process_time() - start)
    return out


def meets(rate: Rate, value: float, error: float) -> bool:
    low, high = rate.interval
    return low <= value + error and value - error <= high


def main() -> None:
    attacks = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(versions("numpy", "pyarrow"))
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        plan = Plan.propose("adult", noise="gaussian", privacy=PRIVACY, name="benchmark")
        made = release("adult", plan, folder / "release", key=SecretKey(bytes(32)))
        write_csv(made, folder / "release.csv")
        about = {
            "original": str(path("adult")), "release": str(folder / "release.csv"), "control": str(path("adult_test")),
            "left": LEFT, "right": RIGHT, "known": KNOWN, "secrets": SECRETS, "neighbours": NEIGHBOURS, "attacks": attacks,
        }  # fmt: skip
        run = subprocess.run(
            [python_of("anonymeter", *PINS["anonymeter"]), "-c", PEER, json.dumps(about)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        peer = json.loads(run.stdout.splitlines()[-1])
        print(f"adult, gaussian noise at {PRIVACY:.0%} privacy, {attacks} attacks and as many on adult_test")
        short, rows = [], []
        for name, (attack, control, seconds) in ours(made, attacks).items():
            (theirs, error), (their_control, control_error), their_seconds = peer[name]
            agree = meets(attack, theirs, error) and meets(control, their_control, control_error)
            if not agree or their_seconds < FASTER * seconds:
                short.append(name)
            rows.append(speed(f"{name}: speed against anonymeter's", seconds, their_seconds, f"≥ {FASTER}"))
            print(
                f"{name:30} attack {attack.value:.3f} / {theirs:.3f} ±{error:.3f}   control {control.value:.3f} / "
                f"{their_control:.3f} ±{control_error:.3f}   {'agree' if agree else 'DIFFER'}   "
                f"{seconds:.2f} s / {their_seconds:.2f} s = {their_seconds / seconds:.1f} × faster"
            )
        cpu, wall = time.process_time(), time.perf_counter()
        audit("adult", made)
        print(f"whole audit of adult: {time.perf_counter() - wall:.1f} s wall, {time.process_time() - cpu:.1f} s CPU")
    ratios(rows)
    if short:
        sys.exit(f"not as good as it should be: {', '.join(short)}")


if __name__ == "__main__":
    main()
