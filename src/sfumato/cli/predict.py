"""sfumato predict: a model on true values."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli.options import (
    encoding_option,
    force_option,
    json_option,
    model_argument,
    output_option,
    table_argument,
)
from sfumato.cli.output import check_new_file, give, say, write_rows


@click.command(epilog="Example:  sfumato predict model.json patients.csv -o predicted.csv")
@model_argument
@table_argument
@output_option("A .csv or .parquet file.", required=True)
@encoding_option
@force_option
@json_option
def predict(model: Path, table: str, output: Path, encoding: str, force: bool, as_json: bool) -> None:
    """Apply MODEL to the true values in INPUT, where they are held."""
    check_new_file(output, table, force=force)
    predicted = sf.predict(model, table, encoding)
    write_rows(predicted, output, force=force)
    say(f"predicted {predicted.num_rows:,} rows into {output}")
    if as_json:
        give({"rows": predicted.num_rows, "output": str(output)})
