"""sfumato draws: tables of plausible true rows behind a release."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_outputs, give, say, show, warn


@click.command(epilog="Example:  sfumato draws release -m 5 -o drawn")
@options.release
@click.option("-m", "m", type=click.IntRange(min=1), default=5, show_default=True, help="How many tables.")
@options.output("The folder to make: draw-1.parquet, draw-2.parquet, …", "folder", required=True)
@options.seed
@options.engine
@options.force
@options.json
def draws(
    release: Path, m: int, folder: Path, seed: int, engine: str, master: str | None, force: bool, as_json: bool
) -> None:
    """Draw tables of plausible true rows, given the released ones in DIR."""
    check_outputs(folder, force=force)
    made = sf.draws(
        release,
        m,
        folder,
        options.open_engine(engine, master),
        seed=seed,
        force=force,
        progress=lambda text: say(f"{text} …"),
    )
    for note in made.cautions:
        warn(note)
    say(f"wrote {m} tables to {folder}; read {folder}/README.md")
    if as_json:
        give(made.to_dict() | {"output": str(folder)})
        return
    show(f"model: {made.chosen['why']}")
    for number in range(1, m + 1):
        show(str(folder / f"draw-{number}.parquet"))
