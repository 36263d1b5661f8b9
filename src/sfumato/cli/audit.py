"""sfumato audit: attack a release with the original at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import (
    check_extension,
    check_outputs,
    check_private,
    give,
    name_options,
    progress,
    say,
    table,
    write_report,
)
from sfumato.text import format_number


@click.command(epilog="Example:  sfumato audit adult release -o report.html")
@click.argument("original", metavar="ORIGINAL")
@options.release
@options.output("A report to write: a .html page, or the same content as .json.")
@click.option(
    "--public",
    type=Path,
    help="Also write an edition without exact counts and single rows, to publish (see SECURITY.md).",
)
@click.option(
    "--also", "others", multiple=True, type=Path, metavar="DIR", help="Another release of the same rows; may repeat."
)
@click.option(
    "--key",
    type=Path,
    help="The owner's key: the ledger beside it tells other releases of the same rows. Shuffled rows need it; sfumato.key is found.",
)
@click.option("--ledger", type=Path, help="The ledger, where it does not lie beside its key (--key opens it).")
@click.option("--control", metavar="TABLE", help="People who are not in the release, to compare with.")
@click.option("--summary", type=Path, help="Also write the verdict and its figures in short, as .json.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="WHAT",
    help="Exit with 1 on: broken, care, do-not-publish, found=5% or risk=20; may repeat.",
)
@click.option("--known", multiple=True, metavar="COLUMN", help="What an intruder knows who links rows (default: all).")
@click.option("--id", "identifier", help="The column that says whose row it is: a person's rows are attacked together.")
@click.option("--targets", type=int, default=500, show_default=True, help="People attacked one by one.")
@options.seed
@options.reading(shown=True)
@options.engine
@click.option("--sample", type=int, default=20_000, show_default=True, help="Rows that attacks see on a cluster.")
@options.force
@options.json
def audit(
    output: Path | None,
    public: Path | None,
    summary: Path | None,
    engine: str,
    master: str | None,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Attack the release in DIR, made from the table ORIGINAL: a verdict, and privacy promised beside privacy left."""
    red = ("broken", "people found", "nothing hidden", "given away", "do-not-publish")
    yellow = ("narrowed", "inferred", "with-care")
    colours = dict.fromkeys(red, "red") | dict.fromkeys(yellow, "yellow") | {"fit": "green"}
    for path in (output, public):
        check_extension(path, ".html", ".json")
    check_extension(summary, ".json")
    check_outputs(output, public, summary, force=force)
    check_private(output)
    where = options.open_engine(engine, master)
    with progress("auditing") as tick:
        result = sf.audit(engine=where, progress=tick, **asked)
    for path, edition in ((output, "owner"), (public, "public")):
        if path:
            write_report(path, lambda e=edition: result.html(e), result.to_dict(edition), force=force)  # type: ignore[misc]
            say(f"wrote the {edition} edition to {path}")
    if summary:
        write_report(summary, lambda: "", result.summary(), force=force)
    headline = result.headline
    words = name_options(f"{headline.worst.fact} {headline.worst.remedy}", "audit")
    say(
        f"{words} [{headline.worst.remedy.code}]",
        mark=f"{headline.decision.in_words}: ",
        colour=colours[headline.decision],
    )
    for alarm in result.alarms():
        words = name_options(" ".join([alarm["words"], alarm["remedy"]]), "audit")
        say(f"{words} [{alarm['remedy'].code}]", mark=f"{alarm['level']}: ", colour=colours.get(alarm["level"]))
        for item in alarm["items"]:
            say(f"  {item}")
    say(f"{result.verdict} ({result.rows:,} rows, {result.seconds:.0f} s, seed {result.seed})")
    if as_json:
        give(result.to_dict())
    else:
        head = [
            "attribute",
            "law",
            "promised",
            "left",
            "share",
            "guessed right",
            "without",
            "verdict",
            "strongest attack",
        ]
        table(head, [_row(p) for p in result.promises])
    if failures := result.failures:
        say("; ".join(failures), mark="failed: ", colour="red")
        click.get_current_context().exit(1)


def _row(promise: Any) -> list[str]:
    left = ["–", "–"] if promise.unmeasured else [format_number(promise.left), f"{promise.kept_share:.0%}"]
    return [
        promise.attribute,
        promise.mechanism,
        "–"
        if promise.promised is None
        else format_number(promise.promised if promise.stated is None else promise.stated),
        *left,
        *(
            ["–", "–"]
            if promise.guess is None
            else [f"{promise.guess.right:.0%}", f"{promise.guess.without_release:.0%}"]
        ),
        promise.verdict,
        promise.unmeasured or promise.attack,
    ]
