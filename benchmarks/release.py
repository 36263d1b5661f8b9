"""How fast is a release, against the least that reading and writing the same tables must cost?

    python benchmarks/release.py [--rows 10000000] [--no-peers]

The floor reads the same Parquet input with pyarrow and writes an equally large table of random doubles with the same
settings. Below it lies the physical limit: pyarrow and Polars copy the input as it is (fewer bytes, since true values repeat).
Draws are compared with NumPy's PCG64. All figures come from one run; ratios matter, seconds do not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import Cost, Ratio, apart, ratios, report, speed, timed, versions
from peers import python_of
from pins import PINS

from sfumato.generators import get
from sfumato.generators.base import generate, plan_for
from sfumato.randomness import CELLS_PER_CHUNK, CellWords, Rows, SecretKey, entity_addresses, normal, uniform

HERE = str(Path(__file__).resolve())
COPY = str(Path(__file__).resolve().with_name("copied.py"))
KEY = SecretKey(bytes(range(32)))


def floor(source: Path, folder: Path) -> None:
    """Read the input, write as many random doubles."""
    from sfumato.io import open_table, open_writer, read_blocks

    generator = np.random.default_rng(0)
    names = [c for c in open_table(source).columns if c != "class"]
    schema = pa.schema([(n, pa.float64()) for n in names])
    with open_writer(folder, "parquet", schema) as (put, _):
        for block in read_blocks(open_table(source)):
            columns = [pa.array(generator.random(block.rows)) for _ in names]
            put(pa.RecordBatch.from_arrays(columns, schema=schema))


def perturbed(source: Path, folder: Path, workers: int) -> None:
    """The whole job: gaussian noise on nine columns, snapped to a grid."""
    from sfumato.engines import Local
    from sfumato.releasing import release

    release(source, plan_for(get("agrawal"), "gaussian", 0.5), folder / "release", key=KEY, engine=Local(workers))


def draws(size: int) -> list[Ratio]:
    """Secure draws per second beside NumPy's."""
    values = np.random.default_rng(0).random(size)
    peer = np.random.default_rng(1)

    def secure(shape: object) -> None:
        out = np.empty(size)
        words = CellWords(KEY)
        for begin in range(0, size, CELLS_PER_CHUNK):
            part = values[begin : begin + CELLS_PER_CHUNK]
            out[begin : begin + CELLS_PER_CHUNK] = shape(words(Rows(begin, len(part)), part))  # type: ignore[operator]

    pairs = {
        "uniform": (timed(lambda: secure(lambda words: uniform(words[:, 0]))), timed(lambda: peer.random(size))),
        "gaussian": (timed(lambda: secure(normal)), timed(lambda: peer.standard_normal(size))),
    }
    print("| draws | secure, M/s | PCG64, M/s | ratio | goal |\n|---|---:|---:|---:|---:|")
    for (name, (ours, theirs)), goal in zip(pairs.items(), (0.9, 0.7), strict=True):
        print(f"| {name} | {size / ours / 1e6:.0f} | {size / theirs / 1e6:.0f} | {theirs / ours:.2f} | ≥ {goal} |")
    integers = pa.array(np.arange(1_000_000))
    texts = pa.array([f"patient-{i:08d}" for i in range(1_000_000)])
    print(f"| address by integer id | {1 / timed(lambda: entity_addresses(KEY, integers)):.1f} | | | |")
    print(f"| address by text id | {1 / timed(lambda: entity_addresses(KEY, texts), 2):.2f} | | | |")
    return [
        speed(f"secure {name} draws: speed against NumPy's PCG64", ours, theirs, f"≥ {goal}")
        for (name, (ours, theirs)), goal in zip(pairs.items(), (0.9, 0.7), strict=True)
    ]


def measured(what: str, source: Path, folder: str) -> Cost:
    """One run in a process of its own."""
    if what == "pyarrow":
        return apart(COPY, what, source, folder)
    if what == "polars":
        return apart(COPY, what, source, folder, python=python_of(what, *PINS[what]))
    return apart(HERE, what, source, folder)


def main(arguments: list[str] | None = None) -> list[Ratio]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--draws", type=int, default=4_000_000)
    parser.add_argument("--no-peers", action="store_true", help="no copy by Polars")
    options = parser.parse_args(arguments)
    print(versions("numpy", "pyarrow", "cryptography"))
    rows = draws(options.draws)
    titles = {
        "pyarrow": "copy, pyarrow",
        "polars": "copy, Polars",
        "floor": "floor: read, write random doubles",
        "1": "release, 1 thread",
        "2": "release, 2 threads",
    }
    if options.no_peers:
        del titles["polars"]
    print(
        "\n| release, gaussian, Parquet to Parquet | rows | wall s | cpu s | peak MiB | × floor (wall) | × floor (cpu) |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        peaks = {}
        for size in (options.rows // 10, options.rows):
            source = generate("agrawal", size, Path(scratch) / f"{size}.parquet", options={"function": 2})
            best: dict[str, Cost] = {}
            for _ in range(options.repeats):
                for what in titles:
                    with tempfile.TemporaryDirectory(dir=scratch) as folder:
                        cost = measured(what, source, folder)
                    if what not in best or cost.wall < best[what].wall:
                        best[what] = cost
            low = best["floor"]
            for what, title in titles.items():
                c = best[what]
                print(
                    f"| {title} | {size:,} | {c.wall:.2f} | {c.cpu:.2f} | {c.peak_mib:.0f} "
                    f"| {c.wall / low.wall:.2f} | {c.cpu / low.cpu:.2f} |",
                    flush=True,
                )
            peaks[size] = best["2"].peak_mib
        two, one = best["2"], best["1"]
        work = f"release of {options.rows:,} × 9"
        rows += [
            _cost(f"{work}, 2 threads: wall time, × floor", two.wall, low.wall, "≤ 1.5"),
            _cost(f"{work}, 1 thread: wall time, × floor", one.wall, low.wall),
            _cost(f"{work}, 1 thread: CPU time, × floor", one.cpu, low.cpu),
        ]
        for peer in [p for p in ("pyarrow", "polars") if p in best]:
            rows.append(_cost(f"{work}, 2 threads: wall time, × {titles[peer]}", two.wall, best[peer].wall))
        small, large = peaks.values()
        rows.append(
            Ratio("release: memory at tenfold rows", f"{large:.0f} MiB", f"{small:.0f} MiB", large / small, "≤ 1.3")
        )
    ratios(rows)
    return rows


def _cost(what: str, ours: float, peer: float, goal: str = "") -> Ratio:
    return Ratio(what, f"{ours:.2f} s", f"{peer:.2f} s", ours / peer, goal)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("floor", "1", "2"):
        what, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
        report(lambda: floor(source, folder) if what == "floor" else perturbed(source, folder, int(what)))
    else:
        main()
