"""Read a Parquet table and write it again, doing nothing: the physical limit. Runs in any peer's Python.

python benchmarks/copied.py pyarrow|polars SOURCE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from measure import report


def by_pyarrow(source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    with (
        pq.ParquetFile(source) as file,
        pq.ParquetWriter(target, file.schema_arrow, compression="snappy", use_dictionary=False) as writer,
    ):
        for batch in file.iter_batches(batch_size=131_072):
            writer.write_batch(batch)


def by_polars(source: Path, target: Path) -> None:
    import polars as pl

    pl.scan_parquet(source).sink_parquet(target, compression="snappy", row_group_size=131_072)


if __name__ == "__main__":
    who, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    report(lambda: {"pyarrow": by_pyarrow, "polars": by_polars}[who](source, folder / "copy.parquet"))
