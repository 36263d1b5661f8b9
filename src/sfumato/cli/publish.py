"""sfumato publish: make a draft final."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, say


@click.command(epilog="Example:  sfumato publish draft")
@options.release
@options.owner_key("The owner's key, with which the draft was made.")
@click.option("--again", is_flag=True, help="Publish rows with fresh noise although they were published before.")
@options.json
def publish(release: Path, key: Path, again: bool, as_json: bool) -> None:
    """Publish the draft in DIR: its data stays as it is, and from now on it is final."""
    made = sf.publish(release, key, again=again)
    say(f"published {release}: {made.manifest.data.rows:,} rows; it is final, and may be passed on")
    if as_json:
        give(made.manifest.to_dict() | {"output": str(release)})
