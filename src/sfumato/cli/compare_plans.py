"""sfumato compare-plans: two plans or drafts side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, progress, show, table


@click.command("compare-plans", epilog="Example:  sfumato compare-plans weak.toml strong.toml --table patients.csv")
@click.argument("first", type=Path, metavar="A")
@click.argument("second", type=Path, metavar="B")
@click.option("--table", required=True, metavar="INPUT", help="The table that the plans are for.")
@click.option("--key", type=Path, help="The owner's key, which undoes a shuffle of the rows of drafts.")
@click.option("--sample", type=int, default=5000, show_default=True, help="Rows on which plans are tried.")
@click.option("--targets", type=int, default=300, show_default=True, help="People that are looked for.")
@options.questions
@options.seed
@options.reading(shown=True)
@options.json
def compare_plans(as_json: bool, **asked: Any) -> None:
    """Privacy left, people found and utility of the plans A and B (.toml), or of the drafts A and B (folders)."""
    with progress("comparing") as tick:
        result = sf.compare_plans(progress=tick, **asked)
    if as_json:
        give(result.to_dict())
        return
    show(f"{result.rows:,} rows, judged by the same audit")
    table(*result.column_table())
    table(*result.figure_table())
