"""sfumato plan: look at a table, propose what to do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_outputs, give, say, show_lines, warn, write_text


@click.command(epilog="Example:  sfumato plan patients.csv --target diagnosis --id patient -o plan.toml")
@options.table
@options.target
@options.identifier
@options.noise("{}.")
@options.privacy
@options.goal
@options.parameters
@options.output("Where to write the plan (default: to stdout).")
@options.reading(shown=False)
@options.force
@options.json
def plan(table: Any, output: Path | None, force: bool, as_json: bool, **asked: Any) -> None:
    """Look at INPUT (a file, a folder, a database, - or a bundled table's name) and propose a plan."""
    check_outputs(output, force=force)
    proposal = sf.plan(table, **asked)
    text = proposal.to_toml(str(table))
    write_text(output, lambda: text, force=force)
    if output:
        say(f"wrote a plan for {len(proposal.schema)} columns to {output}; read it, then:")
        say(f"  sfumato release {table} --plan {output} -o release")
    elif not as_json:
        show_lines(text)
    for line in proposal.warnings:
        warn(line)
    if as_json:
        about = {"notes": dict(proposal.notes), "remarks": list(proposal.remarks)}
        give({"plan": proposal.to_dict()} | about | {"output": str(output) if output else None})
