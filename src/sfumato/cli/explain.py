"""sfumato explain: what a code such as SF102 means."""

from __future__ import annotations

from dataclasses import asdict

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, table
from sfumato.findings import FINDINGS


@click.command(epilog="Example:  sfumato explain SF102")
@click.argument("code", required=False)
@options.json
def explain(code: str | None, as_json: bool) -> None:
    """Print what CODE means and what to do about it; without a code, list all of them."""
    entries = [sf.explain(code)] if code else list(FINDINGS.values())
    if as_json:
        give({"findings": [asdict(entry) for entry in entries]})
    elif code is None:
        table(["code", "title"], [[entry.code, entry.title] for entry in entries])
    else:
        click.echo(str(entries[0]))
