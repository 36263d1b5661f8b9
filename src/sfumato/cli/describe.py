"""sfumato describe: what a release says about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, show, table
from sfumato.text import join_names


@click.command(epilog="Example:  sfumato describe release")
@options.release
@options.engine
@options.json
def describe(release: Path, as_json: bool, **_engine: Any) -> None:
    """What the release in DIR says about itself: laws, privacy in every unit, cautions.

    All of it stands in the manifest, so either engine says the same, and no cluster is asked.
    """
    about = sf.describe(release)
    if as_json:
        give(about)
        return
    show(f"{about['name']}: {about['rows']:,} rows, noise belongs to the {about['noise_belongs_to']}")
    rows = [
        [name, a["kind"], a["what"], a["privacy"].get("in_words", ""), a["privacy"].get("epsilon_in_words", "")]
        for name, a in about["attributes"].items()
    ]
    table(["column", "kind", "what was done", "95 % interval", "ε"], rows)
    if about["withheld"]:
        show(f"Withheld by the owner's plan, and not in the data: {join_names(about['withheld'], 12)}.")
    show(about["record"]["in_words"])
    signed = about["signed"]
    show(f"Signed by {signed['by']}, and whole." if signed else "Not signed.")
    for line in about["findings"]:
        show(f"- {line['words']} [{line['code']}]")
