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
    metavar="NAME",
    help="gaussian: least squares (default); binomial: logistic regression; poisson: counts, log link.",
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
    family: str | None,
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
    chosen = {} if family is None else {"family": family}
    result = sf.fit(
        formula, release, success=success, ridge=ridge, engine=options.open_engine(engine, master), **chosen
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
