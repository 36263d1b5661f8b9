"""The first thing a newcomer runs."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.output import force_option, give, json_option, say


@click.command(epilog="Example:  sfumato demo -o demo")
@click.option("-o", "--output", type=Path, default=Path("demo"), show_default=True, help="The folder to make.")
@click.option(
    "--key", "key_file", type=Path, help="A key to draw the noise by, for the same figures again; fresh by default."
)
@force_option
@json_option
def demo(output: Path, key_file: Path | None, force: bool, as_json: bool) -> None:
    """The main job end to end on bundled data: release, reconstruct, mine, and a report to open."""
    from sfumato.demonstration import run_demo

    result = run_demo(output, key_file=key_file, force=force, say=say)
    a = result.accuracy
    say()
    say(
        f"Blurred {result.rows:,} people's records, then mined the release alone: a decision tree from it is right on "
        f"{a['release, reconstructed']:.1%} of true test records; one from the true values on {a['true values']:.1%}, one that "
        f"takes the noisy values at their word on {a['release, naive']:.1%}."
    )
    say(f"Open  {output}/report.html   then  {output}/release/README.md  and  {output}/tree.svg")
    if as_json:
        give({"output": str(output), "rows": result.rows, "accuracy": a, "distance": result.distance})
