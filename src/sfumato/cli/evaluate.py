"""sfumato evaluate: what a model is worth on true values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, say, show, warn, write_text
from sfumato.cli.output import table as show_table
from sfumato.findings import Note


@click.command(epilog="Example:  sfumato evaluate model.json adult_test --plot calibration.svg")
@options.model
@options.table
@click.option("--plot", type=Path, help="Draw predicted probabilities beside what came true into this .svg file.")
@options.reading(shown=True)
@options.force
@options.json
def evaluate(model: Path, table: Any, plot: Path | None, force: bool, as_json: bool) -> None:
    """The scores of MODEL on the true values in INPUT, beside those of always guessing the commonest class."""
    check_extension(plot, ".svg")
    check_outputs(plot, force=force)
    result = sf.evaluate(model, table)
    if others := result["rows_without_known_class"]:
        words = (
            f"{others:,} rows are left out: their {result['target']} is missing, or not a class that the model knows"
        )
        warn(Note("SF303", words))
    write_text(plot, result.to_svg, force=force)
    if plot:
        say(f"drew the calibration into {plot}")
    if as_json:
        give(result)
        return
    show(result.headline)
    show_table(*result.score_table())
    if result.caution:
        show(result.caution)
    show_table(*result.class_table())
    show(result.calibration_line)
    show_table(*result.calibration_table())
