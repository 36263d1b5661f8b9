"""Does the default plan survive its own audit? The bundled tables, every table of a folder, or the owner files: plan, release, audit.

    python benchmarks/default_plans.py                           # the bundled tables
    python benchmarks/default_plans.py --data FOLDER --owners    # every .csv and .csv.gz in a folder, and the twelve owner files

For each table: how strong the noise is, how many columns were withheld, whether rows are shuffled, how many columns promise less than
their noise, the verdict of the audit, people found beyond chance (goal: at most 5 %), promises broken (goal: none), what the plan said of
an audit beforehand, what a tree loses, and the CPU time of plan and audit. Each release has a fresh key; `--keys 5` makes five of each plan,
which shows a promise that only some draws of the noise break.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sfumato as sf
from sfumato import datasets

HEAD = (
    "table", "rows", "columns blurred (withheld)", "privacy", "shuffled", "promises stated", "verdict", "people found",
    "promises broken", "the plan said", "a tree loses", "plan, CPU s", "audit, CPU s",
)  # fmt: skip
DOUBTS = ("SF113", "SF114", "SF116")
"""Notes by which a plan says why an audit may not find it fit."""


@dataclass(frozen=True)
class Case:
    """A table, and its class where the name of the column does not tell."""

    name: str
    table: str
    target: str | None = None


def judge(case: Case, folder: Path, keys: int) -> tuple[list[str], Counter[str]]:
    """Plan one table, release and audit it under several keys; return a row of the report, and what it adds to the totals."""
    start = time.process_time()
    plan = sf.plan(case.table, target=case.target)
    planned = time.process_time()
    audits, seconds, made = [], [], None
    for number in range(keys):
        key = folder / f"{case.name} {number}.key"
        made = sf.release(case.table, plan, folder / f"{case.name} {number}.release", key=key)
        released = time.process_time()
        audits.append(sf.audit(case.table, made, key=key).to_dict())
        seconds.append(time.process_time() - released)
    strengths = sorted({c.privacy for c in plan.channels.values() if getattr(c, "privacy", None)})
    broken = Counter(n for audit in audits for n, p in audit["promised"].items() if p["verdict"] == "broken")
    verdicts = Counter(audit["decision"] for audit in audits)
    people = [100 * audit["people_found"]["beyond_chance"] for audit in audits]
    cost = next((m for n in plan.warnings if (m := re.search(r"a tree loses ([0-9.]+) points", n))), None)
    doubts = [n.code for n in plan.warnings if n.code in DOUBTS]
    row = [
        case.name,
        f"{made.manifest.data.rows:,}" if made else "",
        f"{len(plan.channels)} ({sum(not a.released for a in plan.schema)})",
        " to ".join(f"{s:g}" for s in dict.fromkeys((strengths or [0])[i] for i in (0, -1)))
        if strengths
        else "labels only",
        "yes" if plan.shuffle else "no",
        str(len(plan.promises)),
        ", ".join(f"{times} {verdict}" for verdict, times in verdicts.most_common())
        if keys > 1
        else next(iter(verdicts)),
        f"{sum(people) / keys:.1f} %" + (f" (at most {max(people):.1f})" if keys > 1 else ""),
        f"{sum(broken.values())}" + (f" ({', '.join(list(broken)[:3])})" if broken else ""),
        ", ".join(doubts) or "–",
        "–" if cost is None else cost[1],
        f"{planned - start:.1f}",
        f"{sum(seconds) / keys:.1f}",
    ]
    promises = sum(p["verdict"] != "in the clear" for audit in audits for p in audit["promised"].values())
    unfit = keys - verdicts["fit"]
    totals = {"releases": keys, "fit": keys - unfit, "said": unfit if doubts else 0}
    return row, Counter(totals | {"promises": promises, "broken": sum(broken.values())})


def owner_files(folder: Path) -> Iterator[Case]:
    """Write the owner files of the tests, and yield them with the class that their owner would name."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.support.owner_files import MAKERS

    for make in MAKERS:
        place = folder / make.__name__
        place.mkdir()
        made = make(place)
        yield Case(made.name, made.table, made.target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of tables; the bundled ones by default")
    parser.add_argument("--owners", action="store_true", help="the twelve owner files as well")
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--keys", type=int, default=1, help="releases of each plan, each under a key of its own")
    given = parser.parse_args()
    paths = sorted(p for p in given.data.iterdir() if p.name.endswith((".csv", ".csv.gz"))) if given.data else []
    cases = [Case(p.name.partition(".")[0], str(p)) for p in paths]
    if not given.data:
        cases = [Case(name, name) for name in datasets.names()]
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in (*cases, *(owner_files(folder) if given.owners else ())):
            if given.only and case.name not in given.only:
                continue
            row, counts = judge(case, folder, given.keys)
            totals += counts
            print("| " + " | ".join(row) + " |", flush=True)
    print(
        f"\n{totals['fit']} of {totals['releases']} releases are fit to publish; of the others the plan said so of {totals['said']}. "
        f"Of {totals['promises']:,} promises {totals['broken']} are broken."
    )


if __name__ == "__main__":
    main()
