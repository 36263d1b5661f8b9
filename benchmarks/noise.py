"""Noise on a table in memory: ours, keyed and secure, beside NumPy's plain generator and the packages for private data.

    python benchmarks/noise.py [--rows 1000000] [--columns 9] [--no-peers]

The same work for all: gaussian or Laplace noise on every cell of real columns, k-ary randomised response (k = 20) on every
cell of categorical ones. CPU seconds of one thread. Packages without an array interface, or too slow for the whole table,
are timed on fewer cells and scaled; the table says on how many. What they do for their time differs: NumPy draws from a
generator that is not secure; ours are a keyed function of row and value, rounded to a grid; OpenDP and diffprivlib sample
in exact or hardened arithmetic.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from collections.abc import Callable

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_threads] = "1"  # before numpy is imported

import numpy as np  # noqa: E402
from measure import Ratio, ask, ratios, speed, timed, versions  # noqa: E402
from peers import python_of  # noqa: E402
from pins import PINS  # noqa: E402

from sfumato.channels import Gaussian, Laplace, Substitution  # noqa: E402
from sfumato.randomness import Rows, SecretKey  # noqa: E402
from sfumato.schema import Attribute, Categories, Interval, Kind  # noqa: E402

KEY = SecretKey(bytes(range(32)))
SCALE, K, EPSILON = 0.25, 20, 2.0
LAWS = ("gaussian", "laplace", "k-ary response")
FEW = 20_000
"""Cells a slow peer is timed on."""

SCALED = """
import json, sys, time
import numpy as np
about = json.loads(sys.argv[1])
few, k = about["few"], about["k"]
values, codes = np.random.default_rng(0).random(few), np.random.default_rng(0).integers(0, k, few)
def seconds(work):
    start = time.process_time(); work(); return time.process_time() - start
"""

DIFFPRIVLIB = (
    SCALED
    + """
from diffprivlib.mechanisms import ExponentialCategorical, Gaussian, Laplace
gaussian = Gaussian(epsilon=1.0, delta=1e-5, sensitivity=1.0)
laplace = Laplace(epsilon=1 / about["scale"], delta=0.0, sensitivity=1.0)
names = [str(i) for i in range(k)]
other = [[a, b, 1.0] for i, a in enumerate(names) for b in names[:i]]
response = ExponentialCategorical(epsilon=about["epsilon"], utility_list=other)
print(json.dumps({
    "gaussian": seconds(lambda: [gaussian.randomise(float(v)) for v in values]),
    "laplace": seconds(lambda: [laplace.randomise(float(v)) for v in values]),
    "k-ary response": seconds(lambda: [response.randomise(names[c]) for c in codes]),
}))
"""
)

OPENDP = (
    SCALED
    + """
import opendp.prelude as dp
dp.enable_features("contrib")
cells = dp.vector_domain(dp.atom_domain(T=float, nan=False))
gaussian = dp.m.make_gaussian(cells, dp.l2_distance(T=float), scale=about["scale"])
laplace = dp.m.make_laplace(cells, dp.l1_distance(T=float), scale=about["scale"])
keep = float(np.exp(about["epsilon"]) / (np.exp(about["epsilon"]) + k - 1))
response = dp.m.make_randomized_response(list(range(k)), prob=keep)
print(json.dumps({
    "gaussian": seconds(lambda: gaussian(values)),
    "laplace": seconds(lambda: laplace(values)),
    "k-ary response": seconds(lambda: [response(int(c)) for c in codes]),
}))
"""
)

LDPY = (
    SCALED
    + """
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
GRR_Client(0, k, about["epsilon"])  # compiles
print(json.dumps({"k-ary response": seconds(lambda: [GRR_Client(c, k, about["epsilon"]) for c in codes])}))
"""
)

SDCMICRO = """
if (!requireNamespace("sdcMicro", quietly = TRUE)) quit(status = 3)
suppressMessages(library(sdcMicro))
a <- as.integer(commandArgs(trailingOnly = TRUE)); n <- a[1]; k <- a[2]
x <- as.data.frame(matrix(runif(n * 9), n)); f <- factor(sample.int(k, n, replace = TRUE))
g <- system.time(addNoise(x, noise = 150))[["user.self"]]
p <- system.time(pram(f))[["user.self"]]
cat(sprintf('{"gaussian": %f, "k-ary response": %f}', g, p))
"""

PEERS = {"diffprivlib": DIFFPRIVLIB, "opendp": OPENDP, "multi-freq-ldpy": LDPY}


def ours(rows: int, columns: int) -> dict[str, Callable[[], object]]:
    """One column at a time, as a release works them."""
    values = np.random.default_rng(0).random(rows)
    codes = np.random.default_rng(0).integers(0, K, rows).astype(np.float64)
    real = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
    category = Attribute("c", Kind.CATEGORICAL, Categories(tuple(str(i) for i in range(K))))
    laws = {
        "gaussian": (Gaussian(sigma=SCALE).on(real), values),
        "laplace": (Laplace(b=SCALE).on(real), values),
        "k-ary response": (Substitution(epsilon=EPSILON).on(category), codes),
    }

    def work(name: str) -> None:
        law, cells = laws[name]
        for i in range(columns):
            law.perturb(KEY.derive(i), Rows(0, rows), cells)

    return {name: lambda name=name: work(name) for name in LAWS}  # type: ignore[misc]


def plain(rows: int, columns: int) -> dict[str, Callable[[], object]]:
    """The same by NumPy's PCG64."""
    rng = np.random.default_rng(1)
    values, codes = rng.random(rows), rng.integers(0, K, rows)
    keep = (np.exp(EPSILON) - 1) / (np.exp(EPSILON) + K - 1)
    one = {
        "gaussian": lambda: values + rng.normal(0.0, SCALE, rows),
        "laplace": lambda: values + rng.laplace(0.0, SCALE, rows),
        "k-ary response": lambda: np.where(rng.random(rows) < keep, codes, rng.integers(0, K, rows)),
    }
    return {name: lambda work=work: [work() for _ in range(columns)] for name, work in one.items()}  # type: ignore[misc]


def sdcmicro(rows: int) -> dict[str, tuple[float, int]] | None:
    """Seconds and cells by law, or None where R or the package is not installed."""
    import json

    if shutil.which("Rscript") is None:
        return None
    few = min(rows, 100_000)
    run = subprocess.run(
        ["Rscript", "-e", SDCMICRO, str(few), str(K)],
        check=False,
        capture_output=True,
        text=True,
    )
    if run.returncode == 3:
        return None
    run.check_returncode()
    found = json.loads(run.stdout.splitlines()[-1])
    return {"gaussian": (found["gaussian"], 9 * few), "k-ary response": (found["k-ary response"], few)}


def main(arguments: list[str] | None = None) -> list[Ratio]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="only NumPy beside ours")
    options = parser.parse_args(arguments)
    cells = options.rows * options.columns
    print(versions("numpy", "cryptography") + f"; {options.rows:,} × {options.columns} cells\n")
    print("| law | who | CPU s | timed on | × ours |\n|---|---|---:|---|---:|")
    rows = []
    us, numpy = ours(options.rows, options.columns), plain(options.rows, options.columns)
    seconds = {}
    for law in LAWS:
        seconds[law] = timed(us[law], options.repeats)
        beside = timed(numpy[law], options.repeats)
        print(f"| {law} | sfumato | {seconds[law]:.3f} | all | |")
        print(f"| {law} | NumPy, plain | {beside:.3f} | all | {beside / seconds[law]:.2f} |", flush=True)
        rows.append(speed(f"{law} on {options.rows:,} × {options.columns}: speed against NumPy", seconds[law], beside))
    if not options.no_peers:
        few = min(FEW, cells)
        for peer, code in PEERS.items():
            python = python_of(peer, *PINS[peer])
            found = ask(python, code, few=few, k=K, scale=SCALE, epsilon=EPSILON)
            rows += [_beside(peer, law, seconds[law], took, few, cells) for law, took in found.items()]
        R = sdcmicro(options.rows)
        if R is None:
            print("| | sdcMicro | not installed | | |")
            rows.append(Ratio("noise: speed against sdcMicro", "", "not installed", None))
        else:
            rows += [_beside("sdcMicro", law, seconds[law], took, few, cells) for law, (took, few) in R.items()]
    ratios(rows)
    return rows


def _beside(peer: str, law: str, ours: float, took: float, few: int, cells: int) -> Ratio:
    scaled = took * cells / few
    name = " ".join(p for p in PINS.get(peer, (peer,))[0].split("=="))
    print(f"| {law} | {name} | {scaled:.1f} | {few:,} cells, scaled | {scaled / ours:,.0f} |", flush=True)
    return speed(f"{law}: speed against {name} (scaled from {few:,} cells)", ours, scaled)


if __name__ == "__main__":
    main()
