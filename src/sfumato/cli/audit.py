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

COLOURS = {"broken": "red", "people found": "red", "nothing hidden": "red", "narrowed": "yellow"}


@click.command(epilog="Example:  sfumato audit adult release -o report.html")
@click.argument("original", metavar="ORIGINAL")
@options.release
@options.output("A report to write: a .html page, or the same content as .json.")
@click.option("--public", type=Path, help="Also write an edition that says nothing about single people.")
@click.option(
    "--also", "others", multiple=True, type=Path, metavar="DIR", help="Another release of the same rows; may repeat."
)
@click.option("--key", type=Path, help="The owner's key: the ledger beside it tells other releases of the same rows.")
@click.option("--ledger", type=Path, help="The ledger itself, where the key is not at hand.")
@click.option("--control", metavar="TABLE", help="People who are not in the release, to compare with.")
@click.option("--known", multiple=True, metavar="COLUMN", help="What an intruder knows who links rows (default: all).")
@click.option("--targets", type=int, default=500, show_default=True, help="People attacked one by one.")
@options.seed
@options.encoding
@options.engine
@click.option("--sample", type=int, default=20_000, show_default=True, help="Rows that attacks see on a cluster.")
@options.force
@options.json
def audit(
    output: Path | None, public: Path | None, engine: str, master: str | None, force: bool, as_json: bool, **asked: Any
) -> None:
    """Attack the release in DIR, made from the table ORIGINAL: privacy promised beside privacy left."""
    for path in (output, public):
        check_extension(path, ".html", ".json")
    check_outputs(output, public, force=force)
    check_private(output)
    where = options.open_engine(engine, master)
    with progress("auditing") as tick:
        result = sf.audit(engine=where, progress=tick, **asked)
    for path, edition in ((output, "owner"), (public, "public")):
        if path:
            write_report(path, lambda e=edition: result.html(e), result.to_dict(edition), force=force)  # type: ignore[misc]
            say(f"wrote the {edition} edition to {path}")
    for alarm in result.alarms():
        words = name_options(" ".join([alarm["words"], alarm["remedy"]]), "audit")
        say(f"{words} [{alarm['remedy'].code}]", mark=f"{alarm['level']}: ", colour=COLOURS.get(alarm["level"]))
        for item in alarm["items"]:
            say(f"  {item}")
    say(f"{result.verdict} ({result.rows:,} rows, {result.seconds:.0f} s, seed {result.seed})")
    if as_json:
        give(result.to_dict())
        return
    head = ["attribute", "law", "promised", "left", "share", "verdict", "strongest attack"]
    table(head, [_row(p) for p in result.promises])


def _row(promise: Any) -> list[str]:
    left = ["–", "–"] if promise.unmeasured else [format_number(promise.left), f"{promise.kept_share:.0%}"]
    return [
        promise.attribute,
        promise.mechanism,
        "–" if promise.promised is None else format_number(promise.promised),
        *left,
        promise.verdict,
        promise.unmeasured or promise.attack,
    ]
