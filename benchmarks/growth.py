"""How time and memory grow with the rows: a release, the reconstruction of its columns, and a tree mined from it.

    python benchmarks/growth.py [--largest 10000000]

For 10⁴ … 10⁷ rows (nine attributes, gaussian noise) each job runs in a process of its own, Parquet files in and out; the CPU
seconds of the job and the most memory the process held are kept. Nothing is subtracted. The exponent is the slope of a
straight line fitted by least squares to log(CPU seconds) over log(rows): over all sizes, where the fixed cost (imports,
kernels: half a second) hides most of the growth up to 10⁵ rows, and over the last decade, which says how large tables grow.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # before numpy is imported

import numpy as np  # noqa: E402
from measure import Cost, Ratio, apart, ratios, report, versions  # noqa: E402

HERE = str(Path(__file__).resolve())
JOBS = {
    "release": "release, Parquet to Parquet",
    "reconstruct": "reconstruction of nine columns",
    "mine": "byclass tree, reconstruction included",
}
GOAL = "≤ 1.1"
"""Linear, with room for the noise of measuring."""


def perform(job: str, source: Path, folder: Path) -> None:
    """One job on one table; `source` is a table for `release`, and a release for the others."""
    import sfumato as sf
    from sfumato.engines import Local
    from sfumato.generators import get
    from sfumato.generators.base import plan_for
    from sfumato.randomness import SecretKey

    if job == "release":
        plan = plan_for(get("agrawal"), "gaussian", 0.5)
        sf.release(source, plan, folder / "release", key=SecretKey(bytes(range(32))), engine=Local(1))
    elif job == "reconstruct":
        for column in sf.Release.open(source).read_table().columns:
            sf.reconstruct(column)
    else:
        sf.mine(source, strategy="byclass")


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log(seconds) over log(rows)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main(arguments: list[str] | None = None) -> list[Ratio]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smallest", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2, help="the best of so many runs counts")
    options = parser.parse_args(arguments)
    from sfumato.generators.base import generate

    sizes = [options.smallest]
    while sizes[-1] < options.largest:
        sizes.append(10 * sizes[-1])
    print(versions("numpy", "pyarrow", "scipy"))
    print("\n| job | rows | CPU s | wall s | peak MiB | CPU µs a row |\n|---|---:|---:|---:|---:|---:|")
    costs: dict[str, list[Cost]] = {job: [] for job in JOBS}
    with tempfile.TemporaryDirectory() as scratch:
        for rows in sizes:
            table = generate("agrawal", rows, Path(scratch) / f"{rows}.parquet", options={"function": 2})
            made = Path(scratch) / f"made-{rows}"
            made.mkdir()
            perform("release", table, made)
            for job, title in JOBS.items():
                runs = []
                for _ in range(options.repeats):
                    with tempfile.TemporaryDirectory(dir=scratch) as folder:
                        runs.append(apart(HERE, job, table if job == "release" else made / "release", folder))
                best = min(runs, key=lambda cost: cost.cpu)
                costs[job].append(best)
                print(
                    f"| {title} | {rows:,} | {best.cpu:.2f} | {best.wall:.2f} | {best.peak_mib:.0f} "
                    f"| {1e6 * best.cpu / rows:.2f} |",
                    flush=True,
                )
    span = f"{sizes[0]:,} … {sizes[-1]:,}"
    print(f"\n| job | exponent over {span} | over the last decade | memory, × at tenfold rows (last) |")
    print("|---|---:|---:|---:|")
    found = []
    for job, title in JOBS.items():
        seconds = [c.cpu for c in costs[job]]
        whole, last = exponent(sizes, seconds), exponent(sizes[-2:], seconds[-2:])
        grown = costs[job][-1].peak_mib / costs[job][-2].peak_mib
        print(f"| {title} | {whole:.2f} | {last:.2f} | {grown:.2f} |")
        found.append(Ratio(f"growth exponent, last decade: {title}", f"{last:.2f}", "linear 1", last, GOAL))
    ratios(found)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in JOBS:
        job, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
        report(lambda: perform(job, source, folder))
    else:
        main()
