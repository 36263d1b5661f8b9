"""sfumato ask: a question in SQL, answered from a release with error bars."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, say, table, warn, write_rows, write_text


@click.command(
    epilog='Example:  sfumato ask release "SELECT region, COUNT(*), AVG(salary) FROM release GROUP BY region"'
)
@options.release
@click.argument("question", metavar='"SELECT …"')
@options.output("Write the answer to this .csv or .parquet file, or draw it into an .svg.")
@options.engine
@options.force
@options.json
def ask(
    release: Path, question: str, output: Path | None, engine: str, master: str | None, force: bool, as_json: bool
) -> None:
    """Answer a question in SQL from the release in DIR, each figure with its 95 % interval."""
    check_extension(output, ".csv", ".parquet", ".svg")
    check_outputs(output, force=force)
    answer = sf.ask(release, question, engine=options.open_engine(engine, master))
    for note in answer.notes:
        warn(note)
    if output is not None and output.suffix.lower() == ".svg":
        write_text(output, answer.to_svg, force=force)
    elif output is not None:
        write_rows(answer.to_arrow(), output, force=force)
    if output:
        say(f"wrote {len(answer)} rows to {output}")
    if as_json:
        give(answer.to_dict())
        return
    table(*answer.to_text())
