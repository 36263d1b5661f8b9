"""sfumato fit: a regression on the true values behind a release."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, say, show, table, warn, write_rows


@click.command(epilog="Example:  sfumato fit release 'wage ~ age + C(region)'")
@options.release
@click.argument("formula", metavar="FORMULA")
@click.option(
    "--family",
    type=click.Choice(["gaussian", "binomial", "poisson"]),
    default="gaussian",
    show_default=True,
    help="Least squares, logistic regression, or counts with a log link.",
)
@click.option(
    "--success", metavar="LABEL", help="The label of the response that counts as 1 (default: the second of two)."
)
@click.option("--ridge", type=float, default=0.0, show_default=True, help="Penalty of least squares; 0 is none.")
@options.output("Write the coefficients into this .csv or .parquet file.")
@options.engine
@options.force
@options.json
def fit(
    release: Path,
    formula: str,
    family: str,
    success: str | None,
    ridge: float,
    output: Path | None,
    engine: str,
    master: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fit a regression on the true values behind the release in DIR, with errors that count the noise."""
    check_extension(output, ".csv", ".parquet")
    check_outputs(output, force=force)
    result = sf.fit(
        formula, release, family=family, success=success, ridge=ridge, engine=options.open_engine(engine, master)
    )
    for note in result.cautions:
        warn(note)
    if output is not None:
        write_rows(result.to_arrow(), output, force=force)
        say(f"wrote {len(result.coefficients)} coefficients to {output}")
    if as_json:
        give(result.to_dict())
        return
    for line in result.facts():
        show(line)
    table(*result.table())
