"""sfumato predict: a model on true values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_new_file, give, say, write_rows


@click.command(epilog="Example:  sfumato predict model.json patients.csv -o predicted.csv")
@options.model
@options.table
@options.output("A .csv or .parquet file.", required=True)
@options.reading(shown=True)
@options.force
@options.json
def predict(model: Path, table: Any, output: Path, force: bool, as_json: bool) -> None:
    """Apply MODEL to the true values in INPUT, where they are held."""
    check_new_file(output, str(table), force=force)
    predicted = sf.predict(model, table)
    write_rows(predicted, output, force=force)
    say(f"predicted {predicted.num_rows:,} rows into {output}")
    if as_json:
        give({"rows": predicted.num_rows, "output": str(output)})
