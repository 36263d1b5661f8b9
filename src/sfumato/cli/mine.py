"""sfumato mine: a decision tree from a release."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, progress, say, warn, write_text
from sfumato.findings import Note


@click.command(epilog="Example:  sfumato mine release -o model.json")
@options.release
@click.option(
    "--strategy",
    default=None,
    show_default="auto; byclass on Spark",
    help="auto, tree, byclass, local, global, randomized, joint, mixture, naive-bayes, boosting or forest.",
)
@click.option(
    "--score",
    default=None,
    show_default="accuracy",
    help="Take the best tree by this: accuracy, balanced_accuracy, auc, log_loss or brier.",
)
@options.output("Where to write the model.")
@click.option(
    "--draw", type=Path, help="Draw the tree into this .svg file; of many trees, a small one that says nearly the same."
)
@click.option("--export", type=Path, help="Also write the model as code: a .py, .js or .sql file, or an .onnx graph.")
@options.engine
@options.force
@options.json
def mine(
    release: Path,
    strategy: str | None,
    score: str | None,
    output: Path | None,
    draw: Path | None,
    export: Path | None,
    engine: str,
    master: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Grow a decision tree, or many, from the release in DIR; the tree and its rules go to stderr."""
    check_extension(export, ".py", ".js", ".sql", ".onnx")
    check_extension(draw, ".svg")
    check_outputs(output, draw, export, force=force)
    where = options.open_engine(engine, master)
    with progress("mining"):
        model = sf.mine(release, strategy, where, score=score)
    write_text(output, model.to_json, force=force)
    write_text(draw, model.to_svg, force=force)
    if export:
        language = export.suffix.lower().lstrip(".")
        write_text(export, model.to_onnx if language == "onnx" else lambda: model.to_code(language), force=force)
    if words := model.to_text():
        for line in words.split("\n"):
            say(line)
    if "why" in model.notes:
        warn(Note("SF302", str(model.notes["why"])))
    say(model.headline + (f"; model in {output}" if output else ""))
    if as_json:
        give(model.summary() | {"output": str(output) if output else None})
