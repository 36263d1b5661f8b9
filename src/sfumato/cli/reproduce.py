"""sfumato reproduce: the published experiments, each by one command."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, progress, say

PAPERS = ("as2000", "ib2003", "detective2005", "dowd2006", "liu2012")


@click.command(epilog="Example:  sfumato reproduce as2000 -o as2000")
@click.argument("paper", type=click.Choice(PAPERS))
@options.output("The folder to make.", "folder", required=True)
@click.option("--full", is_flag=True, help="The paper's own sizes and repeats (minutes to hours).")
@click.option("--workers", type=int, default=0, help="Processes (default: one per core).")
@options.force
@options.json
def reproduce(paper: str, folder: Path, full: bool, workers: int, force: bool, as_json: bool) -> None:
    """The tables and figures of PAPER: results.json, results.md and drawings. A stopped run goes on where it was."""
    with progress(f"reproducing {paper}") as tick:
        results = sf.reproduce(paper, folder, full=full, workers=workers, force=force, progress=tick)
    say(f"{results.headline}. Open {folder}/results.md")
    if as_json:
        give(results.to_dict() | {"output": str(folder)})
