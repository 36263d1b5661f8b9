"""Does the default plan survive its own audit? Every table of a folder, or the bundled ones: plan, release, audit.

    python benchmarks/default_plans.py                 # the bundled tables
    python benchmarks/default_plans.py --data FOLDER   # every .csv and .csv.gz in a folder

For each table: the strength that the plan chose, the columns it withheld, the verdict of the audit, people found beyond chance (goal: at
most 5 %), promises broken (goal: none), and the CPU time of plan and audit. Each release has a fresh key.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import sfumato as sf
from sfumato import datasets


def judge(table: str, name: str, folder: Path) -> list[str]:
    start = time.process_time()
    plan = sf.plan(table)
    planned = time.process_time()
    made = sf.release(table, plan, folder / name, key=folder / f"{name}.key")
    released = time.process_time()
    audit = sf.audit(table, made, key=folder / f"{name}.key").to_dict()
    done = time.process_time()
    strengths = sorted({getattr(c, "privacy", None) or 0.0 for c in plan.channels.values()})
    withheld = sum(not a.released for a in plan.schema)
    people = audit["people_found"]
    broken = [n for n, p in audit["promised"].items() if p["verdict"] == "broken"]
    return [
        name,
        f"{made.manifest.data.rows:,}",
        f"{len(plan.channels)} ({withheld})",
        f"{strengths[-1]:g}",
        audit["decision"],
        f"{100 * people['beyond_chance']:.1f} %",
        f"{len(broken)}" + (f" ({', '.join(broken[:3])})" if broken else ""),
        f"{planned - start:.1f}",
        f"{done - released:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of tables")
    given = parser.parse_args()
    paths = sorted(p for p in given.data.iterdir() if p.name.endswith((".csv", ".csv.gz"))) if given.data else []
    tables = {p.name.partition(".")[0]: str(p) for p in paths} or {name: name for name in datasets.names()}
    head = [
        "table",
        "rows",
        "columns blurred (withheld)",
        "privacy",
        "verdict",
        "people found",
        "promises broken",
        "plan, CPU s",
        "audit, CPU s",
    ]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            if not given.only or name in given.only:
                print("| " + " | ".join(judge(table, name, Path(folder))) + " |", flush=True)


if __name__ == "__main__":
    main()
