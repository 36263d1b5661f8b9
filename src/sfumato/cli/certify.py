"""sfumato certify: the laws of a release, proved."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_outputs, give, say, table


@click.command(epilog="Example:  sfumato certify release")
@options.release
@options.output("The file to write; law.cert.json in DIR by default.")
@options.force
@options.json
def certify(release: Path, output: Path | None, force: bool, as_json: bool) -> None:
    """Write the laws of the release in DIR as tables of whole numbers, with the exact γ and ε counted from them.

    Anyone can check the file against the manifest with check_certificate.py, which needs nothing but Python.
    """
    check_outputs(output, force=force)
    result = sf.certify(release, output, force=force)
    say(f"checked, and written to {result.path}")
    if as_json:
        give({"file": str(result.path), **result.data})
        return
    table(["column", "law", "table", "γ, exact", "ε"], result.rows())
