"""sfumato verify: is this release whole, and who signed it."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, say


@click.command(epilog="Example:  sfumato verify release --key signing.key.pub")
@options.release
@click.option("--key", type=Path, help="The public key that must have signed.")
@options.json
def verify(release: Path, key: Path | None, as_json: bool) -> None:
    """Check the release in DIR against its signature: every file, and the key."""
    signature = sf.verify(release, key)
    say(f"{release} is whole, and signed by {signature.key_id}")
    if key is None:
        say("that may be anyone: give the owner's public key to be sure")
    if as_json:
        give({"key_id": signature.key_id, "whole": True, "statement": dict(signature.statement)})
