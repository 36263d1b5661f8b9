"""Synthetic tables as files, and the plans that declare their domains."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import OutputError, UsageError
from sfumato.generators.base import Generator
from sfumato.generators.registry import get
from sfumato.io import check_outputs_free, discard, partial_path, write_file
from sfumato.plans import DEFAULT_LAW, Plan, noise_for
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema

NO_OPTIONS: Mapping[str, Any] = {}


def generate(
    name: str,
    rows: int,
    output: str | Path,
    *,
    seed: int = 0,
    options: Mapping[str, Any] = NO_OPTIONS,
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
    blocks = generator.blocks(rows, seed=seed, **options)
    hidden = partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        done, writer, sink = 0, None, None
        try:
            for block in blocks:
                batch = pa.RecordBatch.from_pydict({k: pa.array(v) for k, v in block.items()})
                if writer is None:
                    writer, sink = _writer(path, hidden, batch.schema)
                writer.write_batch(batch)
                done += batch.num_rows
                if progress:
                    progress(done, rows)
        finally:
            if writer is not None:
                writer.close()
            if sink is not None:
                sink.close()
        hidden.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}; name another output") from None
    finally:
        discard(hidden)
    if plan:
        write_file(Path(plan), plan_for(generator).to_toml(str(path)), force=force)
    return path


def _writer(path: Path, hidden: Path, schema: pa.Schema) -> tuple[Any, Any]:
    endings = "".join(path.suffixes).lower()
    if endings.endswith(".parquet"):
        import pyarrow.parquet as pq

        return pq.ParquetWriter(hidden, schema), None
    if endings.endswith((".csv", ".csv.gz")):
        from pyarrow import csv as pacsv

        sink = gzip.GzipFile(hidden, "wb", mtime=0) if endings.endswith(".gz") else hidden.open("wb")
        return pacsv.CSVWriter(sink, schema, write_options=pacsv.WriteOptions(quoting_style="needed")), sink
    raise UsageError(f"{path}: unsupported extension; use .csv, .csv.gz or .parquet")


def plan_for(generator: Generator, law: str = DEFAULT_LAW, privacy: float | None = None) -> Plan:
    """Return a plan for a synthetic table, with the domains that its definition declares."""
    noise, companion = noise_for(law, privacy, {})
    attributes = []
    for column in generator.attributes:
        kind = Kind(column.kind)
        domain = Interval(*map(float, column.domain)) if kind.numeric else Categories(tuple(map(str, column.domain)))
        is_target = column.name == generator.target
        attributes.append(
            Attribute(
                column.name,
                kind,
                domain,
                role=Role.TARGET if is_target else Role.ATTRIBUTE,
                consent=Consent.TRUE if is_target else Consent.MODIFIED,
            )
        )
    channels = {a.name: noise if a.kind.numeric else companion for a in attributes if a.consent is Consent.MODIFIED}
    return Plan(Schema(tuple(attributes)), channels)
