"""sfumato cluster: the clusters of a release."""

from __future__ import annotations

from pathlib import Path

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, show, table, warn
from sfumato.findings import Note
from sfumato.text import join_names


@click.command(epilog="Example:  sfumato cluster release -k 3")
@options.release
@click.option("-k", type=int, help="How many clusters (default: chosen by the silhouette).")
@options.json
def cluster(release: Path, k: int | None, as_json: bool) -> None:
    """k-means clusters of the numeric columns of the release in DIR."""
    result = sf.cluster(release, k)
    for reason in dict.fromkeys(result["left_out"].values()):
        names = join_names(n for n, why in result["left_out"].items() if why == reason)
        warn(Note("SF304", f"left out: {names}: {reason}"))
    for note in result["notes"]:
        warn(note)
    if as_json:
        give(result)
        return
    show(f"{result['k']} clusters of {result['rows']:,} rows ({result['chosen_by']})")
    rows = [
        [str(size), *(v if isinstance(v, str) else f"{v:.5g}" for v in centre.values())]
        for size, centre in zip(result["sizes"], result["centres"], strict=True)
    ]
    table(["rows", *result["columns"]], rows)
