"""sfumato synthesise: a synthetic twin of the table behind a release."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, say, show, warn
from sfumato.findings import Note


@click.command(epilog="Example:  sfumato synthesise release -n 100000 -o twin.parquet")
@options.release
@click.option("-n", "--rows", type=click.IntRange(min=1), help="How many rows (default: as many as the release has).")
@options.output("A .csv, .csv.gz or .parquet file.", "path", required=True)
@options.seed
@options.engine
@options.force
@options.json
def synthesise(
    release: Path, rows: int | None, path: Path, seed: int, engine: str, master: str | None, force: bool, as_json: bool
) -> None:
    """Make new rows from the model of the release in DIR alone, with a report of how close they are."""
    check_extension(path, ".csv", ".gz", ".parquet")
    check_outputs(path, force=force)
    twin = sf.synthesise(
        release,
        rows,
        path,
        options.open_engine(engine, master),
        seed=seed,
        force=force,
        progress=lambda text: say(f"{text} …"),
    )
    report = twin.report
    for caution in report["cautions"]:
        warn(Note(caution["code"], caution["words"]))
    say(f"wrote {twin.rows:,} rows to {path}")
    if as_json:
        give(report | {"output": str(path)})
        return
    for line in twin.in_words():
        show(line)
