"""sfumato release: from a table to a folder that may be given away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, progress, say, table, warn


@click.command(epilog="Example:  sfumato release adult -o release --noise gaussian --privacy 0.5")
@options.table
@options.output("The release folder to make.", "folder", required=True)
@click.option("--plan", type=Path, help="A plan; without one, a plan is proposed and followed at once.")
@options.target
@options.identifier
@options.noise("{}, for all columns.")
@options.privacy
@options.goal
@options.parameters
@options.method("Instead of noise column by column: {}, or a guided method such as leaf-swap.")
@click.option("--name", help="The release's name; noise is fixed for a name (default: for the table).")
@click.option(
    "--shuffle/--no-shuffle", default=None, help="Put the rows in a random order (default: as the plan says)."
)
@options.owner_key("The owner's key; made if there is none.")
@click.option("--draft", is_flag=True, help="Make a draft, to audit and then to publish or to withdraw.")
@click.option("--again", is_flag=True, help="Release rows with fresh noise although they were released before.")
@click.option("--format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@options.engine
@click.option(
    "--key-on-workers", "keys_on_workers", is_flag=True, help="Spark workers have the key file; no key is sent to them."
)
@click.option("--workers", type=click.IntRange(min=0), default=0, help="Threads (default: one per core).")
@options.reading(shown=False)
@options.force
@options.json
def release(
    engine: str,
    master: str | None,
    workers: int,
    keys_on_workers: bool,
    folder: Path,
    key: Path,
    draft: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Turn INPUT (a file, a folder, a database, - or a bundled table's name) into a release folder."""
    where = options.open_engine(engine, master, workers=workers, keys_on_workers=keys_on_workers)
    with progress("releasing") as tick:
        made = sf.release(folder=folder, key=key, draft=draft, engine=where, progress=tick, **asked)
    making, data = made.making, made.manifest.data
    for note in making.plan.warnings if making.plan else ():
        warn(note)
    for line in making.notes:
        say(line)
    say(f"{'drafted' if draft else 'released'} {data.rows:,} rows and {len(made.manifest.columns)} columns to {folder}")
    if making.changed:
        table(["column", "cells changed"], [[n, f"{share:.1%}"] for n, share in making.changed.items()], err=True)
    for note in dict.fromkeys((*making.warnings, *making.cautions)):
        warn(note)
    audited = f"sfumato audit {asked['table']} {folder}, then sfumato publish {folder} or sfumato withdraw {folder}"
    say(f"next:  {audited if draft else f'sfumato describe {folder}'}")
    if as_json:
        about = {"output": str(folder), "key": str(key)} | ({"changed": dict(making.changed)} if making.changed else {})
        give(made.manifest.to_dict() | about)
