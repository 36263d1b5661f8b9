"""How fast is a release, against the least that reading and writing the same tables must cost?

    python benchmarks/release.py [--rows 10000000]

The floor reads the same Parquet input with pyarrow and writes an equally large table of random doubles with the same
settings. Draws are compared with NumPy's PCG64. All figures come from one run; ratios matter, seconds do not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import apart, report, timed, versions

from sfumato.generators import get
from sfumato.randomness import CHUNK, CellWords, Rows, SecretKey, entity_addresses, normal, uniform
from sfumato.synthesis import generate_table, plan_for

HERE = str(Path(__file__).resolve())
KEY = SecretKey(bytes(range(32)))


def floor(source: Path, folder: Path) -> None:
    """Read the input, write as many random doubles."""
    from sfumato.tables import blocks, open_table, writing

    generator = np.random.default_rng(0)
    names = [c for c in open_table(source).columns if c != "class"]
    schema = pa.schema([(n, pa.float64()) for n in names])
    with writing(folder, "parquet", schema) as (put, _):
        for block in blocks(open_table(source)):
            columns = [pa.array(generator.random(block.rows)) for _ in names]
            put(pa.RecordBatch.from_arrays(columns, schema=schema))


def perturbed(source: Path, folder: Path, workers: int) -> None:
    """The whole job: gaussian noise on nine columns, snapped to a grid."""
    from sfumato.engines import Local
    from sfumato.releases import release

    release(source, plan_for(get("agrawal"), "gaussian", 0.5), folder / "release", key=KEY, engine=Local(workers))


def draws(size: int = 4_000_000) -> None:
    """Secure draws per second beside NumPy's."""
    values = np.random.default_rng(0).random(size)
    peer = np.random.default_rng(1)

    def secure(shape: object) -> None:
        out = np.empty(size)
        words = CellWords(KEY)
        for begin in range(0, size, CHUNK):
            part = values[begin : begin + CHUNK]
            out[begin : begin + CHUNK] = shape(words(Rows(begin, len(part)), part)[:, 0])  # type: ignore[operator]

    pairs = {
        "uniform": (timed(lambda: secure(uniform)), timed(lambda: peer.random(size))),
        "gaussian": (timed(lambda: secure(normal)), timed(lambda: peer.standard_normal(size))),
    }
    print("| draws | secure, M/s | PCG64, M/s | ratio | goal |\n|---|---:|---:|---:|---:|")
    for (name, (ours, theirs)), goal in zip(pairs.items(), (0.9, 0.7), strict=True):
        print(f"| {name} | {size / ours / 1e6:.0f} | {size / theirs / 1e6:.0f} | {theirs / ours:.2f} | ≥ {goal} |")
    integers = pa.array(np.arange(1_000_000))
    texts = pa.array([f"patient-{i:08d}" for i in range(1_000_000)])
    print(f"| address by integer id | {1 / timed(lambda: entity_addresses(KEY, integers)):.1f} | | | |")
    print(f"| address by text id | {1 / timed(lambda: entity_addresses(KEY, texts), 2):.2f} | | | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(versions("numpy", "pyarrow", "cryptography"))
    draws()
    print(
        "\n| release, gaussian, Parquet to Parquet | rows | wall s | cpu s | peak MiB | × floor (wall) | × floor (cpu) |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        peaks = {}
        for rows in (options.rows // 10, options.rows):
            source = generate_table(get("agrawal"), rows, Path(scratch) / f"{rows}.parquet", options={"function": 2})
            best = {}
            for _ in range(options.repeats):
                for what in ("floor", "1", "2"):
                    with tempfile.TemporaryDirectory(dir=scratch) as folder:
                        cost = apart(HERE, what, source, folder)
                    if what not in best or cost.wall < best[what].wall:
                        best[what] = cost
            low = best["floor"]
            for what, title in (
                ("floor", "floor: read, write random doubles"),
                ("1", "release, 1 thread"),
                ("2", "release, 2 threads"),
            ):
                c = best[what]
                print(
                    f"| {title} | {rows:,} | {c.wall:.2f} | {c.cpu:.2f} | {c.peak_mib:.0f} "
                    f"| {c.wall / low.wall:.2f} | {c.cpu / low.cpu:.2f} |"
                )
            peaks[rows] = best["2"].peak_mib
        small, large = peaks.values()
        print(f"\nmemory, tenfold rows: × {large / small:.2f} (goal ≤ 1.3); release against floor: goal ≤ 1.5")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("floor", "1", "2"):
        what, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
        report(lambda: floor(source, folder) if what == "floor" else perturbed(source, folder, int(what)))
    else:
        main()
