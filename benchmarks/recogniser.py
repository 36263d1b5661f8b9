"""Are columns that point at people recognised, and harmless ones left alone?

    python benchmarks/recogniser.py [FOLDER …] [--held-out]

Recall and false alarms on two made corpora, and false alarms on every table of the folders given (the bundled tables where none is).
The first corpus has rare names and 60 kinds of columns. The second has columns as owners write them, read from files: one half of it
served to improve the rules, and the other half is measured only with `--held-out`, so that nobody tunes to it by accident. A bundled
table is planned as a file, so that nothing is known of it beforehand.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from measure import Ratio, ratios

from sfumato import datasets
from sfumato.plans import Plan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.columns_of_people import corpus
from tests.support.owners_columns import births, is_released, owners_corpus, owners_plan


def people_columns(table: object) -> tuple[list[str], int]:
    """Return the columns that are taken for people, or for whose row it is, and how many columns there are."""
    plan = Plan.propose(table)
    signs = ("points at people", "says whose row it is")
    return [name for name, note in plan.notes.items() if any(sign in note for sign in signs)], len(plan.schema)


def score(title: str, columns: Iterable[tuple[bool, str, bool]]) -> list[Ratio]:
    """Print what is wrong in a corpus of (direct, name, withheld), and return recall and false alarms."""
    rows = []
    listed = list(columns)
    for direct, what in ((True, "point at people"), (False, "are harmless")):
        part = [(name, withheld) for is_direct, name, withheld in listed if is_direct is direct]
        wrong = sorted(name for name, withheld in part if withheld is not direct)
        count = sum(withheld for _, withheld in part)
        print(f"- {title}: {len(part)} columns {what}, {count} withheld; wrong: {', '.join(wrong) or 'none'}")
        measure, goal = ("recall", "≥ 0.98") if direct else ("false alarms", "≤ 0.02")
        rows.append(Ratio(f"{measure}, {title}", str(count), str(len(part)), count / len(part), goal))
    return rows


def main(words: list[str]) -> None:
    """Print what was missed, what was wrongly withheld, and the ratios."""
    flags = ["yes", "no"]
    rows = score(
        "rare names",
        (
            (c.direct, c.name, bool(people_columns(pa.table({c.name: c.values, "x": flags * (len(c.values) // 2)}))[0]))
            for c in corpus()
        ),
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for held_out in (False, True) if "--held-out" in words else (False,):
            half = [c for c in owners_corpus() if c.held_out is held_out]
            title = "owners' columns, held out" if held_out else "owners' columns, seen"
            rows += score(title, ((c.direct, c.name, not is_released(c, folder)) for c in half))
        noted = [c.name for c in births() if any(r.code == "SF272" for r in owners_plan(c, folder).remarks)]
        print(f"- {len(noted)} of {len(list(births()))} columns of dates of birth are released with a note")
    folders = [w for w in words if not w.startswith("--")]
    files = [f for word in folders for f in sorted(Path(word).glob("*.csv*"))] or [
        datasets.path(n) for n in datasets.names()
    ]
    alarms, total = [], 0
    for file in files:
        names, count = people_columns(file)
        alarms += [f"{file.name}: {name}" for name in names]
        total += count
    print(f"- {total} columns of {len(files)} real tables: {len(alarms)} withheld; {', '.join(alarms) or 'none'}\n")
    ratios([*rows, Ratio("false alarms, real tables", str(len(alarms)), str(total), len(alarms) / total, "≤ 0.02")])


if __name__ == "__main__":
    main(sys.argv[1:])
