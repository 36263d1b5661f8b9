"""What the miner does: reconstruct, mine, predict, evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import cluster, engine_options, opened
from sfumato.cli.output import force_option, give, json_option, progress, refuse_ending, say, table, warn

encoding_option = click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")


@click.command(epilog="Example:  sfumato reconstruct release --attribute age --by-class --plot age.svg")
@click.argument("folder", type=Path, metavar="DIR")
@click.option("--attribute", "names", multiple=True, help="Which column (may repeat; default: all).")
@click.option("--by-class", is_flag=True, help="Also for each class by itself.")
@click.option("--method", default="auto", show_default=True, help="auto, em, ems, bayes, inverse, projection or exact.")
@click.option(
    "--kernel",
    type=click.Choice(["exact", "midpoint"]),
    default="exact",
    show_default=True,
    help="midpoint is the 2000 paper's.",
)
@click.option("--bins", type=int, help="Cells of a numeric column (default: rows/100, between 10 and 100).")
@click.option("--plot", type=Path, help="Draw released and reconstructed distributions into this .svg file.")
@engine_options
@force_option
@json_option
def reconstruct(
    folder: Path,
    names: tuple[str, ...],
    by_class: bool,
    method: str,
    kernel: str,
    bins: int | None,
    plot: Path | None,
    engine: str,
    master: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """The distributions of the true values behind the release in DIR, with 95 % bands."""
    from sfumato.io import check_outputs_free, write_file
    from sfumato.mining import distributions, plotted

    refuse_ending(plot, ".svg")
    check_outputs_free(plot, force=force)
    spark = cluster(engine, master)
    found = distributions(
        opened(folder, spark),
        list(names) or None,
        by_class=by_class,
        engine=spark,
        method=method,
        kernel=kernel,
        bins=bins,
    )
    for name, why in found.skipped.items():
        warn(f"{name} is left out: {why}")
    if plot:
        write_file(plot, plotted(found), force=force)
        say(f"drew {len(found)} distributions into {plot}")
    if as_json:
        about = {"attributes": {n: f.to_dict() for n, f in found.items()}, "method": method, "kernel": kernel}
        give(about | {"skipped": found.skipped})
        return
    rows = []
    for name, f in found.items():
        rows.append([name, f.overall.method, str(f.overall.grid.size), *f.in_words()])
        rows += [[f"  {label}", d.method, str(d.grid.size), f.gist(d), ""] for label, d in (f.classes or {}).items()]
    table(["column", "method", "cells", "mean ± sd, or the commonest labels", "in the release itself"], rows)


@click.command(epilog="Example:  sfumato mine release -o model.json")
@click.argument("folder", type=Path, metavar="DIR")
@click.option(
    "--strategy",
    default=None,
    show_default="auto; byclass on Spark",
    help="auto, byclass, local, global, randomized, joint, mixture or naive-bayes.",
)
@click.option("-o", "--output", type=Path, help="Where to write the model.")
@click.option("--draw", type=Path, help="Draw the tree into this .svg file.")
@click.option("--export", "exported", type=Path, help="Also write the tree as code: a .py, .js or .sql file.")
@engine_options
@force_option
@json_option
def mine(
    folder: Path,
    strategy: str | None,
    output: Path | None,
    draw: Path | None,
    exported: Path | None,
    engine: str,
    master: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Grow a decision tree from the release in DIR; the tree and its rules go to stderr."""
    from sfumato.io import check_outputs_free, write_file
    from sfumato.mining import mine as grow
    from sfumato.trees import Tree

    refuse_ending(exported, ".py", ".js", ".sql")
    refuse_ending(draw, ".svg")
    check_outputs_free(output, draw, exported, force=force)
    spark = cluster(engine, master)
    with progress("mining"):
        model = grow(opened(folder, spark), strategy or ("auto" if spark is None else "byclass"), spark)
    if output:
        model.save(output, force=force)
    if isinstance(model.body, Tree):
        from sfumato.trees import rules_text, svg, text, to_javascript, to_python, to_sql

        if draw:
            write_file(draw, svg(model.body), force=force)
        if exported:
            maker = {".py": to_python, ".js": to_javascript, ".sql": to_sql}[exported.suffix.lower()]
            write_file(exported, maker(model.body), force=force)
        say(text(model.body))
        say()
        say(rules_text(model.body, most=12))
    about = model.summary()
    if model.notes.get("why"):
        say(str(model.notes["why"]))
    leaves = f", {about['leaves']} leaves, depth {about['depth']}" if "leaves" in about else ""
    say(
        f"{model.strategy}: {about['rows']:,} rows in {about['seconds']:.1f} s{leaves}"
        + (f"; model in {output}" if output else "")
    )
    if as_json:
        give(about | {"output": str(output) if output else None})


@click.command(epilog="Example:  sfumato predict model.json patients.csv -o predicted.csv")
@click.argument("model_file", type=Path, metavar="MODEL")
@click.argument("table_", metavar="INPUT")
@click.option("-o", "--output", type=Path, required=True, help="A .csv or .parquet file.")
@encoding_option
@force_option
@json_option
def predict(model_file: Path, table_: str, output: Path, encoding: str, force: bool, as_json: bool) -> None:
    """Apply MODEL to the true values in INPUT, on the side of whoever holds them."""
    from sfumato.errors import OutputError
    from sfumato.io import check_outputs_free, write_table
    from sfumato.mining import Model

    check_outputs_free(output, force=force)
    if output.exists() and Path(table_).exists() and output.samefile(table_):
        raise OutputError(f"{output} is the table to predict for; name another output")
    predicted = Model.load(model_file).predict(table_, encoding)
    write_table(predicted, output, force=force)
    say(f"predicted {predicted.num_rows:,} rows into {output}")
    if as_json:
        give({"rows": predicted.num_rows, "output": str(output)})


@click.command(epilog="Example:  sfumato evaluate model.json adult_test")
@click.argument("model_file", type=Path, metavar="MODEL")
@click.argument("table_", metavar="INPUT")
@encoding_option
@json_option
def evaluate(model_file: Path, table_: str, encoding: str, as_json: bool) -> None:
    """The accuracy of MODEL on the true values in INPUT."""
    from sfumato.mining import Model

    result: dict[str, Any] = Model.load(model_file).evaluate(table_, encoding)
    if as_json:
        give(result)
        return
    if others := result["rows_without_known_class"]:
        warn(f"{others:,} rows are left out: their {result['target']} is missing, or no class that the model knows")
    click.echo(
        f"accuracy {result['accuracy']:.2%} on {result['rows']:,} rows (always the commonest class: {result['majority']:.2%})"
    )
    table(
        ["class", "rows", "recognised"],
        [[n, f"{c['rows']:,}", f"{100 * c['recall']:.1f} %"] for n, c in result["classes"].items()],
    )
