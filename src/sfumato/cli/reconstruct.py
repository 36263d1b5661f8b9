"""sfumato reconstruct: the true distributions behind a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, say, table, warn, write_text
from sfumato.findings import Note


@click.command(epilog="Example:  sfumato reconstruct release --attribute age --by-class --plot age.svg")
@options.release
@click.option("--attribute", "attributes", multiple=True, help="Which column (may repeat; default: all).")
@click.option("--by-class", is_flag=True, help="Also for each class by itself.")
@click.option("--method", default="auto", show_default=True, help="auto, em, ems, bayes, inverse, projection or exact.")
@click.option(
    "--kernel",
    type=click.Choice(["exact", "midpoint"]),
    default="exact",
    show_default=True,
    help="midpoint is the 2000 paper's.",
)
@click.option(
    "--bins", type=int, help="Cells of a numeric column (default: what rows and noise allow, at most rows/100)."
)
@click.option("--plot", type=Path, help="Draw released and reconstructed distributions into this .svg file.")
@options.engine
@options.force
@options.json
def reconstruct(
    release: Path, plot: Path | None, engine: str, master: str | None, force: bool, as_json: bool, **asked: Any
) -> None:
    """The distributions of the true values behind the release in DIR, with 95 % bands."""
    check_extension(plot, ".svg")
    check_outputs(plot, force=force)
    result = sf.reconstruct(release, engine=options.open_engine(engine, master), **asked)
    for name, why in result.skipped.items():
        warn(Note("SF301", f"{name} is left out: {why}"))
    write_text(plot, result.to_svg, force=force)
    if plot:
        say(f"drew {len(result)} distributions into {plot}")
    if as_json:
        give(result.to_dict() | {"method": asked["method"], "kernel": asked["kernel"]})
        return
    rows = []
    for name, one in result.items():
        rows.append([name, one.overall.method, str(one.overall.grid.size), one.shape, *one.in_words()])
        rows += [[f"  {c}", d.method, str(d.grid.size), "", one.gist(d), ""] for c, d in (one.classes or {}).items()]
    summary = "mean and median (95 % intervals), or commonest labels"
    table(["column", "method", "cells", "shape", summary, "in the release"], rows)
