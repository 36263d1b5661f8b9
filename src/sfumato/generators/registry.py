"""The generators by name: a table written to a file, and the plan that declares its domains."""

from __future__ import annotations

import difflib
import gzip
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import UsageError
from sfumato.generators.agrawal import agrawal
from sfumato.generators.base import Generator
from sfumato.generators.customers import crd, csd
from sfumato.generators.shapes import as_generator, plateau, plateau200, triangles, triangles200
from sfumato.io import check_outputs_free, open_new_file, write_file
from sfumato.plans import DEFAULT_LAW, Plan, noise_for
from sfumato.schema import Consent, Role, Schema
from sfumato.text import join_names

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        agrawal,
        crd,
        csd,
        as_generator(plateau, "one column, uniform on the middle half of [0, 1] (Agrawal & Srikant 2000, Figure 2)"),
        as_generator(triangles, "one column, two triangles side by side on [0, 1] (Agrawal & Srikant 2000, Figure 2)"),
        as_generator(plateau200, "the plateau over the integers 1 to 200 (Dowd, Xu & Zhang 2006, section 5.1)"),
        as_generator(triangles200, "the triangles over the integers 1 to 200 (Dowd, Xu & Zhang 2006, section 5.1)"),
    )
}


def names() -> tuple[str, ...]:
    """Return the names that `get` knows."""
    return tuple(GENERATORS)


def get(name: str) -> Generator:
    """Return the generator called `name`."""
    if name not in GENERATORS:
        near = difflib.get_close_matches(name, GENERATORS, n=1)
        hint = f"did you mean {near[0]}?" if near else "choose one of them"
        raise UsageError(f"generator: {name!r} is not known; there are {join_names(GENERATORS)}; {hint}")
    return GENERATORS[name]


def generate(
    name: str,
    rows: int,
    output: str | Path,
    *,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    plan: str | Path | None = None,
    force: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> Path:
    """Write a synthetic table, block by block.

    Parameters
    ----------
    name : str
        The table: agrawal, crd, csd, plateau or triangles.
    rows : int
        How many rows.
    output : path
        A .csv, .csv.gz or .parquet file. It appears when it is complete.
    seed : int
        Equal seeds give equal tables.
    options : mapping
        What the table can be asked for, such as `function` and `balanced` of agrawal.
    plan : path, optional
        Also write a plan with the declared domains to this file.
    force : bool
        Replace existing files.
    progress : callable, optional
        Called with the rows done, and the rows in all.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = sf.generate("agrawal", 1000, f"{folder}/people.csv", options={"function": 2})
    ...     len(table.read_text().splitlines())
    1001
    """
    path = Path(output)
    check_outputs_free(path, Path(plan) if plan else None, force=force)
    generator = get(name)
    blocks = generator.blocks(rows, seed=seed, **(options or {}))
    with open_new_file(path, force=force) as hidden, ExitStack() as files:
        done, writer = 0, None
        for block in blocks:
            batch = pa.RecordBatch.from_pydict({k: pa.array(v) for k, v in block.items()})
            writer = writer or _open_writer(path, hidden, batch.schema, files)
            writer.write_batch(batch)
            done += batch.num_rows
            if progress:
                progress(done, rows)
    if plan:
        write_file(Path(plan), plan_for(generator).to_toml(str(path)), force=force)
    return path


def _open_writer(path: Path, hidden: Path, schema: pa.Schema, files: ExitStack) -> Any:
    endings = "".join(path.suffixes).lower()
    if endings.endswith(".parquet"):
        import pyarrow.parquet as pq

        return files.enter_context(pq.ParquetWriter(hidden, schema))
    if endings.endswith((".csv", ".csv.gz")):
        from pyarrow import csv as pacsv

        sink = files.enter_context(
            gzip.GzipFile(hidden, "wb", mtime=0) if endings.endswith(".gz") else hidden.open("wb")
        )
        options = pacsv.WriteOptions(quoting_style="needed")
        return files.enter_context(pacsv.CSVWriter(sink, schema, write_options=options))
    raise UsageError(f"{path}: unsupported extension; use .csv, .csv.gz or .parquet")


def plan_for(generator: Generator, noise: str = DEFAULT_LAW, privacy: float | None = None) -> Plan:
    """Return a plan for a synthetic table, with the domains that its definition declares."""
    law, companion = noise_for(noise, privacy, {})
    channels = {
        a.name: law if a.kind.numeric else companion for a in generator.attributes if a.name != generator.target
    }
    attributes = (
        a if a.name in channels else replace(a, role=Role.TARGET, consent=Consent.TRUE) for a in generator.attributes
    )
    return Plan(Schema(tuple(attributes)), channels)
