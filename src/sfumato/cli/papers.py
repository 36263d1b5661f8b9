"""The published experiments, each by one command."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import click

from sfumato.cli.output import force_option, give, json_option, progress, say

PAPERS = ("as2000", "ib2003", "detective2005", "dowd2006", "liu2012")


@click.command(epilog="Example:  sfumato reproduce as2000 -o as2000")
@click.argument("paper", type=click.Choice(PAPERS))
@click.option("-o", "--output", type=Path, required=True, help="The folder to make.")
@click.option("--full", is_flag=True, help="The paper's own sizes and repeats (minutes to hours).")
@click.option("--workers", type=int, default=0, help="Processes (default: one a core).")
@force_option
@json_option
def reproduce(paper: str, output: Path, full: bool, workers: int, force: bool, as_json: bool) -> None:
    """The tables and figures of PAPER: results.json, results.md and drawings. A stopped run goes on where it was."""
    from sfumato.io import open_new_folder
    from sfumato.papers import Bench

    experiment = importlib.import_module(f"sfumato.papers.{paper}")
    cache = output.parent / f".{output.name}.units"
    with open_new_folder(output, force=force) as hidden, progress(f"reproducing {paper}") as tick:
        bench = Bench(cache, workers or os.cpu_count() or 1, tick)
        results = experiment.run(bench, full=full)
        results.write(hidden)
    counted = ", ".join(f"{n} {v}" for v, n in results.verdicts.items())
    say(f"{results.title}: {counted}. Open {output}/results.md")
    if as_json:
        give(results.to_dict() | {"output": str(output)})
