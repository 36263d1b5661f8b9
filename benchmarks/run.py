"""Run every benchmark, one after another, and keep what they found in `benchmarks/results.md`.

    python benchmarks/run.py [--quick] [--only release noise …] [-o results.md]

Each benchmark runs in a process of its own and prints Markdown; the tables of ratios in it (see `measure.ratios`) are
collected into one, which ends the output. One that fails is reported and does not stop the others; the exit code then is 1.
`--quick` shrinks everything to seconds and builds no environment of a peer: a test of the benchmarks, not a measurement.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measure import HEADER, RULE
from pins import PINS

HERE = Path(__file__).resolve().parent
PACKAGES = ("sfumato", "numpy", "pyarrow", "scipy", "cryptography", "scikit-learn", "pandas", "pyspark")


@dataclass(frozen=True)
class Job:
    """One benchmark: its title, and its arguments for a measurement and for a smoke test (None: left out of that)."""

    name: str
    title: str
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = None


JOBS = (
    Job(
        "release",
        "Release, beside reading and writing",
        quick=("--rows", "20000", "--repeats", "1", "--draws", "50000", "--no-peers"),
    ),
    Job("noise", "Noise in memory, beside NumPy and packages for private data", quick=("--rows", "2000", "--no-peers")),
    Job("growth", "Growth with the rows", quick=("--smallest", "1000", "--largest", "10000", "--repeats", "1")),
    Job("mine", "Mining, beside scikit-learn's tree", quick=("--rows", "2000", "--repeats", "1")),
    Job(
        "private_trees",
        "Trees from private data, beside diffprivlib's",
        quick=("--rows", "2000", "--repeats", "1", "--no-peers"),
    ),
    Job("reconstruct", "Reconstruction", ("3",)),
    Job(
        "smooth_columns",
        "The default on smooth columns, beside our other methods",
        quick=("--rows", "2000", "--keys", "1"),
    ),
    Job(
        "joint_ranges",
        "Range queries of two columns, beside one smoothing for all",
        quick=("--rows", "5000", "--pairs", "1", "--privacy", "1", "--reach", "3"),
    ),
    Job(
        "scales",
        "Mean and median of long tails, on a scale and on the plain range",
        quick=("--keys", "1", "--columns", "cost"),
    ),
    Job(
        "model",
        "A model of the whole table, and rows drawn from it",
        quick=("--smallest", "1000", "--largest", "10000"),
    ),
    Job("ldp", "Substituted categories, beside multi-freq-ldpy"),
    Job("guided", "Tree-guided methods, beside scikit-learn's tree"),
    Job("clusters", "Label-keeping methods, beside k-means", quick=("2000",)),
    Job("audit", "Audit, beside anonymeter"),
    Job("recovery", "What attacks take back"),
    Job("tradeoff_points", "Points of a trade-off, audited", quick=("--tables", "iris", "--keys", "2")),
    Job("recogniser", "Columns that point at people", quick=()),
    Job("scale", "One machine and Spark", ("--rows", "1000000", "--tasks", "release")),
)


@dataclass(frozen=True)
class Outcome:
    """What one benchmark printed, how long it took, and the last words of one that failed."""

    job: Job
    text: str
    seconds: float
    failure: str | None = None


def perform(job: Job, arguments: Iterable[str], folder: Path = HERE) -> Outcome:
    """Run one benchmark in a process of its own; what it prints is shown as it comes."""
    start = time.perf_counter()
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    lines = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        with subprocess.Popen(
            [sys.executable, "-u", str(folder / f"{job.name}.py"), *arguments],
            cwd=folder,
            env=os.environ | one_thread,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                lines.append(line)
        errors.seek(0)
        said = errors.read().strip().splitlines()
    failure = None if process.returncode == 0 else (said[-1] if said else f"exit code {process.returncode}")
    return Outcome(job, "".join(lines), time.perf_counter() - start, failure)


def ratio_lines(text: str) -> Iterator[str]:
    """The lines of all tables of ratios in a text."""
    inside = False
    for line in text.splitlines():
        if line == HEADER:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and line != RULE:
            yield line


def without_ratios(text: str) -> str:
    """The text without its tables of ratios, which stand together elsewhere."""
    taken = {HEADER, RULE, *ratio_lines(text)}
    return "\n".join(line for line in text.splitlines() if line not in taken).strip()


def machine() -> str:
    """What all of it ran on, and with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load, spoilt = os.getloadavg()[0], "above 0.5 the seconds, and wall times most, are spoilt by other work"
    tools = ", ".join(f"{n} {'installed' if shutil.which(n) else 'not installed'}" for n in ("Rscript", "java"))
    lines = [
        f"- machine: {os.cpu_count()} cores, {platform.machine()}, {memory:.0f} GiB; load before the run {load:.1f} ({spoilt})",
        f"- Python {platform.python_version()}, " + ", ".join(f"{n} {_version(n)}" for n in PACKAGES),
        "- peers, each in an environment of its own: " + "; ".join(", ".join(p) for p in PINS.values()),
        f"- {tools}",
    ]
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def document(outcomes: list[Outcome], about: str, *, quick: bool) -> str:
    """The whole of `results.md`."""
    parts = [
        "# Benchmarks",
        "Written by `make bench`. Ratios matter; seconds depend on the machine and its load.",
        about,
    ]
    if quick:
        parts.append("**A smoke test with tiny tables: none of these figures means anything.**")
    parts += ["## Ratios", table_of(outcomes)]
    parts += [
        "Speed is the peer's time over ours (more is better); \"time, ×\" is ours over the peer's (less is better)."
    ]
    for outcome in outcomes:
        parts.append(f"## {outcome.job.title}")
        parts.append(f"`benchmarks/{outcome.job.name}.py`, {outcome.seconds:.0f} s in all.")
        if outcome.failure:
            parts.append(f"**Failed:** `{outcome.failure}`")
        if body := without_ratios(outcome.text):
            parts.append(body if "\n|" in f"\n{body}" else f"```\n{body}\n```")
    return "\n\n".join(parts) + "\n"


def table_of(outcomes: list[Outcome]) -> str:
    """All ratios in one table, with a line for each benchmark that failed."""
    lines = [HEADER, RULE]
    for outcome in outcomes:
        lines += ratio_lines(outcome.text)
        if outcome.failure:
            lines.append(f"| {outcome.job.title} (`{outcome.job.name}.py`) | failed | | | | **no** |")
    return "\n".join(lines)


def write(text: str, path: Path) -> None:
    """All of it or nothing."""
    hidden = path.with_name(f".{path.name}.partial")
    hidden.write_text(text, "utf-8")
    hidden.replace(path)


def run(jobs: Iterable[Job], output: Path, *, quick: bool = False, folder: Path = HERE) -> int:
    """Run the jobs whose scripts are there, write the results, and end with the table of ratios."""
    about, outcomes = machine(), []
    for job in jobs:
        arguments = job.quick if quick else job.full
        if arguments is None or not (folder / f"{job.name}.py").exists():
            continue
        print(f"\n## {job.title}\n", flush=True)
        outcomes.append(perform(job, arguments, folder))
        if outcomes[-1].failure:
            print(f"FAILED: {outcomes[-1].failure}", flush=True)
    write(document(outcomes, about, quick=quick), output)
    print(f"\n## Ratios\n\n{table_of(outcomes)}\n\nwritten to {output}")
    failed = [o.job.name for o in outcomes if o.failure]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke test: tiny tables, no peers")
    parser.add_argument("--only", nargs="+", choices=[j.name for j in JOBS], help="these benchmarks alone")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results.md")
    options = parser.parse_args(arguments)
    jobs = [j for j in JOBS if not options.only or j.name in options.only]
    return run(jobs, options.output.resolve(), quick=options.quick)


if __name__ == "__main__":
    raise SystemExit(main())
