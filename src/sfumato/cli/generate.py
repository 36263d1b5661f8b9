"""sfumato generate: synthetic tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_outputs, give, progress, say


@click.command(epilog="Example:  sfumato generate agrawal --function 2 --rows 100000 --balanced -o train.csv")
@click.argument("name")
@click.option("--rows", type=int, required=True, help="How many rows.")
@click.option("--function", type=int, help="Which classification function (agrawal).")
@click.option("--balanced", is_flag=True, default=None, help="As many rows of one class as of the other (agrawal).")
@options.seed
@options.output("A .csv, .csv.gz or .parquet file.", required=True)
@click.option("--plan", type=Path, help="Also write a plan with the declared domains to this file.")
@options.force
@options.json
def generate(
    name: str, rows: int, seed: int, output: Path, plan: Path | None, force: bool, as_json: bool, **asked: Any
) -> None:
    """Write the synthetic table NAME: agrawal, plateau, triangles, …"""
    check_outputs(output, plan, force=force)
    chosen = {option: asked[option] for option in ("function", "balanced") if asked[option] is not None}
    with progress(f"generating {name}") as tick:
        sf.generate(name, rows, output, seed=seed, options=chosen, plan=plan, force=force, progress=tick)
    say(f"wrote {rows:,} rows of {name} to {output} (seed {seed})" + (f", and its plan to {plan}" if plan else ""))
    if as_json:
        give({"name": name, "rows": rows, "seed": seed, "options": chosen, "output": str(output)})
