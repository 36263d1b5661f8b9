"""sfumato withdraw: remove a draft that is not to be published."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, say


@click.command(epilog="Example:  sfumato withdraw draft")
@options.release
@options.owner_key("The owner's key, with which the draft was made.")
@options.json
def withdraw(release: Path, key: Path, as_json: bool) -> None:
    """Withdraw the draft in DIR: the folder is removed, and the ledger remembers it."""
    sf.withdraw(release, key)
    say(f"withdrew {release}: the folder is gone, and the ledger remembers that it was not published")
    if as_json:
        give({"withdrawn": str(release)})
