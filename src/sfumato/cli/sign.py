"""sfumato sign: say who made a release, and that it is whole."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, say


@click.command(epilog="Example:  sfumato sign release --key signing.key --audit audit.html")
@options.release
@click.option(
    "--key", type=Path, default=Path("signing.key"), show_default=True, help="The signing key; made if there is none."
)
@click.option("--audit", type=Path, help="An audit report whose digest is signed with the release.")
@options.force
@options.json
def sign(release: Path, key: Path, audit: Path | None, force: bool, as_json: bool) -> None:
    """Sign the release in DIR (Ed25519, in-toto statement, DSSE envelope)."""
    made = sf.sign(release, key, audit=audit, force=force)
    say(f"signed {len(made.statement['subject'])} files as {made.key_id}; recipients check with {key}.pub")
    if as_json:
        give({"key_id": made.key_id, "public_key": f"{key}.pub", "statement": dict(made.statement)})
