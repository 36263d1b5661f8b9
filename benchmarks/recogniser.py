"""Are columns that point at people recognised, and harmless ones left alone?

    python benchmarks/recogniser.py [FOLDER …]

Recall and false alarms on the made corpus of the tests, and false alarms on every table of the folders given (the bundled tables
where none is). A bundled table is planned as a file, so that nothing is known of it beforehand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
from measure import Ratio, ratios

from sfumato import datasets
from sfumato.plans import Plan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.columns_of_people import corpus


def people_columns(table: object) -> tuple[list[str], int]:
    """Return the columns that are taken for people, and how many columns there are."""
    plan = Plan.propose(table)
    return [name for name, note in plan.notes.items() if "points at people" in note], len(plan.schema)


def main(folders: list[str]) -> None:
    """Print what was missed, what was wrongly withheld, and the two ratios."""
    shares = {}
    for direct, title in ((True, "point at people"), (False, "are harmless")):
        columns = [c for c in corpus() if c.direct is direct]
        flags = ["yes", "no"]
        taken = [
            c.name
            for c in columns
            if people_columns(pa.table({c.name: c.values, "x": flags * (len(c.values) // 2)}))[0]
        ]
        odd = sorted({c.name for c in columns} - set(taken)) if direct else taken
        shares[direct] = len(taken) / len(columns)
        print(f"- {len(columns)} made columns {title}: {len(taken)} withheld; wrong: {', '.join(odd) or 'none'}")
    files = [f for folder in folders for f in sorted(Path(folder).glob("*.csv*"))] or [
        datasets.path(n) for n in datasets.names()
    ]
    alarms, total = [], 0
    for file in files:
        names, count = people_columns(file)
        alarms += [f"{file.name}: {name}" for name in names]
        total += count
    print(f"- {total} columns of {len(files)} real tables: {len(alarms)} withheld; {', '.join(alarms) or 'none'}\n")
    made = "made columns"
    ratios(
        [
            Ratio(f"recall, {made}", f"{shares[True]:.3f}", "1", shares[True], "≥ 0.98"),
            Ratio(f"false alarms, {made}", f"{shares[False]:.3f}", "1", shares[False], "≤ 0.02"),
            Ratio("false alarms, real tables", str(len(alarms)), str(total), len(alarms) / total, "≤ 0.02"),
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
