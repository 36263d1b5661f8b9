"""Patterns of a release: its clusters, and whether those of the original survived."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import cluster as cluster_engine
from sfumato.cli.options import engine_options
from sfumato.cli.output import give, json_option, say, table, warn
from sfumato.text import join_names


@click.command(epilog="Example:  sfumato cluster release -k 3")
@click.argument("folder", type=Path, metavar="DIR")
@click.option("-k", type=int, help="How many clusters (default: chosen by the silhouette).")
@json_option
def cluster(folder: Path, k: int | None, as_json: bool) -> None:
    """k-means clusters of the numeric columns of the release in DIR."""
    from sfumato.auditing import cluster as find

    found = find(folder, k)
    if as_json:
        give(found)
        return
    click.echo(f"{found['k']} clusters of {found['rows']:,} rows ({found['chosen_by']})")
    rows = [
        [str(size), *(_value(centre[c]) for c in found["columns"])]
        for size, centre in zip(found["sizes"], found["centres"], strict=True)
    ]
    table(["records", *found["columns"]], rows)
    for reason in dict.fromkeys(found["left_out"].values()):
        warn(f"left out: {join_names(n for n, why in found['left_out'].items() if why == reason)}: {reason}")
    for note in found["notes"]:
        warn(note)


@click.command(epilog="Example:  sfumato compare patients.csv release -k 3")
@click.argument("original", metavar="ORIGINAL")
@click.argument("folder", type=Path, metavar="DIR")
@click.option("-k", type=int, help="How many clusters (default: the method's, else chosen by the silhouette).")
@click.option("--every", is_flag=True, help="Also compare trees for every categorical column, not only the target.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")
@engine_options
@click.option("--sample", type=int, default=100_000, show_default=True, help="Rows that are compared on a cluster.")
@json_option
def compare(
    original: str,
    folder: Path,
    k: int | None,
    every: bool,
    encoding: str,
    engine: str,
    master: str | None,
    sample: int,
    as_json: bool,
) -> None:
    """Trees and clusters of ORIGINAL beside those of its release in DIR, mined as it is."""
    from sfumato.auditing import compare as side_by_side

    spark = cluster_engine(engine, master)
    found = side_by_side(original, folder, k=k, every=every, encoding=encoding, engine=spark, sample=sample)
    if as_json:
        give(found.to_dict())
        return
    if found.trees:
        click.echo("Trees (C4.5): E the same, V very similar, S similar, D different")
        rows = [
            [t["target"], t["verdict"], f"{t['rule_similarity']:.3f}", f"{t['agreement']:.3f}", "yes" if t["same_root"] else "no",
             f"{t['leaves'][0]} / {t['leaves'][1]}"]
            for t in found.trees
        ]  # fmt: skip
        table(["class", "verdict", "rules alike", "predictions alike", "same root", "leaves"], rows)
        sides = [r for t in found.trees[:1] for r in t["rules"]][:8]
        if sides:
            keys = list(sides[0])
            table(keys, [[_text(r[c]) for c in keys] for r in sides])
    if found.clusters:
        c = found.clusters
        p = c["protocols"]
        click.echo(
            f"Clusters (k = {c['k']}): agreement {p['rerun']:.3f} when mined anew, {p['fixed_point']:.3f} from the original centres, "
            f"{p['single_start']:.3f} from one start"
        )
        say(c["verdict"])
    for note in found.notes:
        warn(note)


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.5g}"


def _text(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
