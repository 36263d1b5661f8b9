"""What a model of a whole table costs, with five draws from it, and how that grows with the rows.

    python benchmarks/model.py [--largest 1000000] [--tables people.csv:class:10 …]

Every run is a process of its own on a release of gaussian noise at 50 %: imports, reading, `model` and five draws of all rows,
which are not kept. CPU seconds and the most memory that the process held are kept; nothing is subtracted. "By blocks" runs on an
engine that never holds the table: only the rows that cut columns into cells are brought together, and draws are made block by
block. `--tables` names further tables as file:target:seconds, the seconds being those that are asked for.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"  # before numpy is imported

import numpy as np  # noqa: E402
from measure import Cost, Ratio, apart, ratios, report, versions  # noqa: E402

HERE = str(Path(__file__).resolve())
DRAWS = 5
GROWTH, FLAT = "≤ 1.05", "≤ 1.5"


@dataclass(frozen=True)
class Drawing:
    """Draws of a block, which are counted and dropped."""

    model: Any

    def __call__(self, table: Any, rows: Any) -> int:
        """Return how many rows were drawn."""
        return sum(self.model.draw(table, rows, str(i)).rows for i in range(DRAWS))


def perform(release: Path, how: str) -> int:
    """Model a release and draw from the model; returns the rows drawn."""
    import sfumato as sf
    from sfumato.engines import Local

    opened = sf.Release.open(release)
    if how == "held":
        model, table = sf.model(opened), opened.read_table()
        return Drawing(model)(table, np.arange(table.rows))
    engine = Local(gathers=False)
    return opened.count_table(engine).fold(Drawing(sf.model(opened, engine)))


def blur(source: object, target: str, folder: Path) -> Path:
    """Release a table with gaussian noise at 50 %."""
    import sfumato as sf
    from sfumato.randomness import SecretKey

    plan = sf.plan(source, target=target, noise="gaussian", privacy=0.5)
    return sf.release(source, plan, folder, key=SecretKey(bytes(range(32)))).folder


def measure(name: str, rows: int | str, release: Path, how: str, repeats: int) -> Cost:
    """Print the best of several runs."""
    best = min((apart(HERE, "perform", release, how) for _ in range(repeats)), key=lambda cost: cost.cpu)
    words = "held" if how == "held" else "by blocks"
    print(f"| {name}, {words} | {rows} | {best.cpu:.1f} | {best.wall:.1f} | {best.peak_mib:.0f} |", flush=True)
    return best


def main(arguments: list[str] | None = None) -> list[Ratio]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smallest", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=1, help="the best of so many runs counts")
    parser.add_argument("--tables", nargs="*", default=[], metavar="FILE:TARGET:SECONDS")
    options = parser.parse_args(arguments)
    from sfumato.generators.base import generate

    sizes = [options.smallest]
    while sizes[-1] < options.largest:
        sizes.append(10 * sizes[-1])
    print(versions("numpy", "scipy"))
    print("\n| table | rows | CPU s | wall s | peak MiB |\n|---|---:|---:|---:|---:|")
    found = []

    def ask(name: str, cost: Cost, seconds: float) -> None:
        found.append(
            Ratio(f"{name}: model and {DRAWS} draws", f"{cost.cpu:.1f} s", f"{seconds:g} s", cost.cpu / seconds, "≤ 1")
        )

    with tempfile.TemporaryDirectory() as scratch:
        for place, text in enumerate(["adult:class:10", *options.tables]):
            source, target, seconds = text.rsplit(":", 2)
            name = Path(source).name.partition(".")[0]
            release = blur(source, target, Path(scratch) / f"table-{place}")
            ask(name, measure(name, "all", release, "held", options.repeats), float(seconds))
        costs: dict[str, list[Cost]] = {"held": [], "blocks": []}
        for rows in sizes:
            table = generate("agrawal", rows, Path(scratch) / f"{rows}.parquet", options={"function": 2})
            release = blur(table, "class", Path(scratch) / f"made-{rows}")
            for how, kept in costs.items():
                kept.append(measure("agrawal", f"{rows:,}", release, how, options.repeats))
        if sizes[-1] == 1_000_000:
            ask("agrawal, 1,000,000 rows", costs["held"][-1], 120)
    for how, kept in costs.items():
        slope = float(np.polyfit(np.log(sizes), np.log([cost.cpu for cost in kept]), 1)[0])
        last = float(np.log(kept[-1].cpu / kept[-2].cpu) / np.log(sizes[-1] / sizes[-2]))
        span = f"{sizes[0]:,} … {sizes[-1]:,} rows, {how}"
        found.append(Ratio(f"growth exponent, {span}", f"{slope:.2f}", "linear 1", slope, GROWTH))
        found.append(Ratio(f"growth exponent, last decade, {how}", f"{last:.2f}", "linear 1", last, GROWTH))
    grown = costs["blocks"][-1].peak_mib / costs["blocks"][-2].peak_mib
    peaks = [f"{cost.peak_mib:.0f} MiB" for cost in costs["blocks"][-2:]]
    found.append(Ratio("memory by blocks, at tenfold rows", peaks[1], peaks[0], grown, FLAT))
    ratios(found)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "perform":
        report(lambda: perform(Path(sys.argv[2]), sys.argv[3]))
    else:
        main()
