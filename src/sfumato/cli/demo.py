"""sfumato demo: the first thing a newcomer runs."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, say

NEXT_STEPS = """\
sfumato plan table.csv --target COLUMN -o plan.toml    # read it, edit it
sfumato release table.csv --plan plan.toml -o release
sfumato describe release
sfumato reconstruct release --plot distributions.svg
sfumato mine release -o model.json
sfumato evaluate model.json true_table.csv"""


@click.command(epilog="Example:  sfumato demo -o demo")
@click.option(
    "-o", "--output", "folder", type=Path, default=Path("demo"), show_default=True, help="The folder to make."
)
@click.option("--key", type=Path, help="A key to draw the noise by, for the same figures again; fresh by default.")
@options.force
@options.json
def demo(folder: Path, key: Path | None, force: bool, as_json: bool) -> None:
    """The main job end to end on bundled data: release, reconstruct, mine, and a report to open."""
    result = sf.demo(folder, key=key, force=force, say=say, next_steps=NEXT_STEPS)
    say()
    say(result.headline)
    say(f"Open  {folder}/report.html   then  {folder}/release/README.md  and  {folder}/tree.svg")
    if as_json:
        give(result.to_dict() | {"output": str(folder)})
