"""sfumato compare: did the patterns of the original survive?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, say, show, table, warn


@click.command(epilog="Example:  sfumato compare patients.csv release -k 3")
@click.argument("original", metavar="ORIGINAL")
@options.release
@click.option("-k", type=int, help="How many clusters (default: the method's, else chosen by the silhouette).")
@click.option("--every", is_flag=True, help="Also compare trees for every categorical column, not only the target.")
@click.option("--key", type=Path, help="The owner's key, which undoes a shuffle of the rows; sfumato.key is found.")
@options.reading(shown=True)
@options.engine
@click.option("--sample", type=int, default=100_000, show_default=True, help="Rows that are compared on a cluster.")
@options.json
def compare(engine: str, master: str | None, as_json: bool, **asked: Any) -> None:
    """Trees and clusters of ORIGINAL beside those of its release in DIR, mined as it is."""
    result = sf.compare(engine=options.open_engine(engine, master), **asked)
    for note in result.notes:
        warn(note)
    if as_json:
        give(result.to_dict())
        return
    if result.trees:
        show("Trees (C4.5): E the same, V very similar, S similar, D different")
        rows = [
            [t["target"], t["verdict"], f"{t['rule_similarity']:.3f}", f"{t['agreement']:.3f}", "yes" if t["same_root"] else "no",
             f"{t['leaves'][0]} / {t['leaves'][1]}"]
            for t in result.trees
        ]  # fmt: skip
        table(["class", "verdict", "rules alike", "predictions alike", "same root", "leaves"], rows)
        show(f"Scores for {result.trees[0]['target']} on the original's rows, from which the original's tree was grown")
        table(*result.score_table())
        if rules := result.trees[0]["rules"][:8]:
            table(list(rules[0]), [[_cell(value) for value in rule.values()] for rule in rules])
    if result.clusters:
        p = result.clusters["protocols"]
        show(
            f"Clusters (k = {result.clusters['k']}): agreement {p['rerun']:.3f} when mined anew, {p['fixed_point']:.3f} from the "
            f"original centres, {p['single_start']:.3f} from one start"
        )
        say(result.clusters["verdict"])


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
