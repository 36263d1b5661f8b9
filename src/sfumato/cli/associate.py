"""sfumato associate: which columns of a release go together."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, say, show, table, warn, write_rows, write_text
from sfumato.errors import UsageError
from sfumato.findings import Note


@click.command(epilog="Example:  sfumato associate release smoking diagnosis")
@options.release
@click.argument("columns", nargs=-1, metavar="[A B]")
@click.option("--itemsets", is_flag=True, help="Labels that stand together in many rows, and rules between them.")
@click.option("--min-support", type=float, default=0.1, show_default=True, help="Least share of rows of an itemset.")
@click.option("--min-confidence", type=float, default=0.5, show_default=True, help="Least confidence of a rule.")
@click.option("--max-size", type=int, default=3, show_default=True, help="Largest number of items in a set.")
@click.option("--plot", type=Path, help="Draw the correlations as a heat map into this .svg file.")
@options.output("Write the figures into this .csv or .parquet file.")
@options.engine
@options.force
@options.json
def associate(
    release: Path,
    columns: tuple[str, ...],
    itemsets: bool,
    min_support: float,
    min_confidence: float,
    max_size: int,
    plot: Path | None,
    output: Path | None,
    engine: str,
    master: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """The table of two columns A and B with its test, the correlations of all numbers, or itemsets and rules."""
    check_extension(plot, ".svg")
    check_extension(output, ".csv", ".parquet")
    check_outputs(plot, output, force=force)
    result = sf.associate(
        release,
        *columns,
        itemsets=itemsets,
        min_support=min_support,
        min_confidence=min_confidence,
        max_size=max_size,
        engine=options.open_engine(engine, master),
    )
    if isinstance(result, sf.Correlations):
        for name, why in result.skipped.items():
            warn(Note("SF301", f"{name} is left out: {why}"))
        write_text(plot, result.to_svg, force=force)
        if plot:
            say(f"drew {len(result.columns)} columns into {plot}")
    elif plot:
        raise UsageError("--plot draws correlations; name no column, and leave --itemsets out")
    if output is not None:
        write_rows(result.to_arrow(), output, force=force)
        say(f"wrote {output}")
    if as_json:
        give(result.to_dict())
        return
    table(*result.table())
    if isinstance(result, sf.Itemsets) and result.rules:
        table(*result.rule_table())
    if isinstance(result, sf.Crosstab):
        for line in result.facts():
            show(line)
