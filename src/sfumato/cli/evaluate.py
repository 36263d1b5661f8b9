"""sfumato evaluate: the accuracy of a model."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, warn
from sfumato.cli.output import table as show_table
from sfumato.findings import Note


@click.command(epilog="Example:  sfumato evaluate model.json adult_test")
@options.model
@options.table
@options.encoding
@options.json
def evaluate(model: Path, table: str, encoding: str, as_json: bool) -> None:
    """The accuracy of MODEL on the true values in INPUT."""
    result = sf.evaluate(model, table, encoding)
    if others := result["rows_without_known_class"]:
        words = (
            f"{others:,} rows are left out: their {result['target']} is missing, or not a class that the model knows"
        )
        warn(Note("SF303", words))
    if as_json:
        give(result)
        return
    click.echo(
        f"accuracy {result['accuracy']:.2%} on {result['rows']:,} rows (always the commonest class: {result['majority']:.2%})"
    )
    show_table(
        ["class", "rows", "recognised"],
        [[n, f"{c['rows']:,}", f"{c['recall']:.1%}"] for n, c in result["classes"].items()],
    )
