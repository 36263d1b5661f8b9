"""What a sceptic does: attack a release with the original at hand."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import cluster, engine_options, opened
from sfumato.cli.output import finite, force_option, give, json_option, progress, refuse_ending, say, table
from sfumato.text import format_number


@click.command(epilog="Example:  sfumato audit adult release -o report.html")
@click.argument("original", metavar="ORIGINAL")
@click.argument("folder", type=Path, metavar="DIR")
@click.option("-o", "--output", type=Path, help="A report to write: a .html page, or the same content as .json.")
@click.option("--public", "public_file", type=Path, help="Also write an edition that says nothing about single people.")
@click.option(
    "--also", "others", multiple=True, type=Path, metavar="DIR", help="Another release of the same rows; may repeat."
)
@click.option(
    "--key", "key_file", type=Path, help="The owner's key: the ledger beside it tells other releases of the same rows."
)
@click.option("--ledger", "ledger_file", type=Path, help="The ledger itself, where the key is not at hand.")
@click.option("--control", metavar="TABLE", help="People who are not in the release, to compare with.")
@click.option(
    "--known", multiple=True, metavar="COLUMN", help="What an intruder knows who links records (default: all)."
)
@click.option("--targets", type=int, default=500, show_default=True, help="People attacked one by one.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")
@engine_options
@click.option("--sample", type=int, default=20_000, show_default=True, help="Rows that attacks see on a cluster.")
@force_option
@json_option
def audit(
    original: str,
    folder: Path,
    output: Path | None,
    public_file: Path | None,
    others: tuple[Path, ...],
    key_file: Path | None,
    ledger_file: Path | None,
    control: str | None,
    known: tuple[str, ...],
    targets: int,
    seed: int,
    encoding: str,
    engine: str,
    master: str | None,
    sample: int,
    force: bool,
    as_json: bool,
) -> None:
    """Attack the release in DIR, made from the table ORIGINAL: privacy promised beside privacy left."""
    import json

    from sfumato.auditing import audit as attack
    from sfumato.errors import UsageError
    from sfumato.io import check_outputs_free, write_file
    from sfumato.releases import Ledger

    if key_file and ledger_file:
        raise UsageError("--key and --ledger name the same thing; give one of them")
    book = Ledger.beside(key_file) if key_file else Ledger(ledger_file) if ledger_file else None
    if book is not None and not book.path.exists():
        raise UsageError(f"there is no ledger {book.path}; give the key that the release was made with")
    files = [(f, edition) for f, edition in ((output, "owner"), (public_file, "public")) if f is not None]
    for file, _ in files:
        refuse_ending(file, ".html", ".json")
    check_outputs_free(output, public_file, force=force)
    spark = cluster(engine, master)
    with progress("auditing") as tick:
        found = attack(
            opened(folder, spark),
            original,
            others=others,
            control=control,
            known=known or None,
            targets=targets,
            ledger=book,
            seed=seed,
            encoding=encoding,
            progress=tick,
            engine=spark,
            sample=sample,
        )
    for file, edition in files:
        about = finite(found.to_dict(edition))
        content = (
            found.html(edition)
            if file.suffix.lower() == ".html"
            else json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        )
        write_file(file, content, force=force)
        say(f"wrote the {edition} edition to {file}")
    colours = {"broken": "red", "people found": "red", "nothing hidden": "red", "narrowed": "yellow"}
    for alarm in found.alarms():
        level = alarm["level"]
        say(click.style(f"{level}: ", fg=colours.get(level), bold=True) + " ".join([alarm["words"], alarm["remedy"]]))
        for item in alarm["items"]:
            say(f"  {item}")
    say(f"{found.verdict} ({found.rows:,} rows, {found.seconds:.0f} s, seed {found.seed})")
    if as_json:
        give(found.to_dict())
        return
    rows = [
        [
            p.attribute,
            p.mechanism,
            "–" if p.promised is None else format_number(p.promised),
            "–" if p.unmeasured else format_number(p.left),
            "–" if p.unmeasured else f"{p.kept_share:.0%}",
            p.verdict,
            p.unmeasured or p.attack,
        ]
        for p in found.promises
    ]
    table(["attribute", "law", "promised", "left", "share", "verdict", "strongest attack"], rows)
