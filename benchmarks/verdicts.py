"""Does the verdict of an audit follow what can be learned? Tables at six strengths of noise, each audited and attacked in full.

    python benchmarks/verdicts.py                             # the bundled tables
    python benchmarks/verdicts.py --data FOLDER               # ten tables of a folder, some ten minutes of a core
    python benchmarks/verdicts.py --data FOLDER -o docs/verdicts.md

Every table is released six times by one plan, from weak noise to strong, each time under a fresh key. What the audit says is held
against the true share of people found: for everybody in the table (of tables above 10,000 rows, for 5,000 people) the likeliest row
of the whole release is looked for by somebody who knows all their true values. That search is written anew here, from the laws
alone and in double precision; no code of the attacks takes part. Exit code 1 where the rank correlation of headline risk and
people found is below .95, or where more noise makes a verdict worse.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import norm, spearmanr

import sfumato as sf
from sfumato import datasets
from sfumato.auditing import Decision
from sfumato.auditing.case import original_of
from sfumato.counts import FloatArray, Grid
from sfumato.randomness import SecretKey
from sfumato.table import Column

STRENGTHS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
MIN_CORRELATION = 0.95
TABLES = (
    "adult",
    "bank_marketing",
    "boston_housing",
    "breast_cancer_wisconsin",
    "credit_approval",
    "mushroom",
    "nursery",
    "pima_diabetes",
    "sdc_tarragona",
    "yeast",
)


@dataclass(frozen=True)
class Cell:
    """One release: what the audit said of it, and how many of all people are found in it."""

    table: str
    rows: int
    privacy: float
    decision: Decision
    risk: float  # the audit's, in percent
    found: float  # of the people looked for, in percent beyond chance
    people: int  # who were looked for
    fact: str


def log_evidence_ratio(column: Column, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log P(y | x)/P(y) as a table with a place for every true and released value, and the places of each row.

    Normal noise is taken as its density, every other law as its matrix; P(y) follows from the true distribution. A missing value is
    released as it is: its place is the last one.
    """
    known, seen = ~np.isnan(truth), ~np.isnan(column.values)
    law = column.channel
    if law is None:
        values = np.unique(truth[known])
        share = np.bincount(np.searchsorted(values, truth[known])) / known.sum()
        table = np.where(np.eye(len(values)) > 0, -np.log(share), -np.inf)
        true_place = np.searchsorted(values, np.where(known, truth, values[0]))
        seen_place = np.searchsorted(values, np.where(seen, column.values, values[0]))
    elif law.law == "gaussian":
        cells = Grid.cells(column.attribute.interval.low, column.attribute.interval.high, 4000)
        share = np.bincount(cells.locate(truth[known]), minlength=4000) / known.sum()
        reach = 6 * law.sigma
        cuts = np.linspace(cells.finite_edges[0] - reach, cells.finite_edges[-1] + reach, 4001)
        seen_place = np.clip(np.searchsorted(cuts, np.where(seen, column.values, 0.0)) - 1, 0, 3999)
        centres = (cuts[:-1] + cuts[1:]) / 2
        filled = np.flatnonzero(share)
        density = norm.logpdf(centres[None, :], cells.centres[filled][:, None], law.sigma)
        evidence = np.log(np.exp(density - density.max(axis=0)).T @ share[filled]) + density.max(axis=0)
        table = density - evidence
        true_place = np.searchsorted(filled, cells.locate(np.where(known, truth, cells.centres[filled[0]])))
    else:
        grid = column.true_grid(100)
        transition = column.transition(grid)
        matrix = transition.matrix.dense()
        share = np.bincount(grid.locate(truth[known]), minlength=grid.size) / known.sum()
        with np.errstate(divide="ignore"):
            table = np.log(matrix.T) - np.log(matrix @ share)
        true_place = grid.locate(np.where(known, truth, grid.centres[0]))
        seen_place = transition.observed.locate(np.where(seen, column.values, transition.observed.centres[0]))
    table = np.pad(table, ((0, 1), (0, 1)), constant_values=-np.inf)
    table[-1, -1] = 0.0
    return table, np.where(known, true_place, len(table) - 1), np.where(seen, seen_place, table.shape[1] - 1)


def share_found(columns: Sequence[Column], truth: dict[str, FloatArray], people: np.ndarray) -> float:
    """Return the share of people of whom the likeliest row of the release is their own; 1/t among t equals."""
    parts = [log_evidence_ratio(c, truth[c.name]) for c in columns]
    credit = []
    for some in np.array_split(people, max(1, len(people) * len(columns[0].values) // 4_000_000)):
        total = np.zeros((len(some), len(columns[0].values)))
        for table, mine, theirs in parts:
            total += table[mine[some]].take(theirs, axis=1)
        own = total[np.arange(len(some)), some]
        ties = (total >= own[:, None] - 1e-9).sum(axis=1)
        best = own >= total.max(axis=1) - 1e-9
        credit.append(np.where(best, 1.0 / ties, 0.0))
    return float(np.concatenate(credit).mean())


def measure(
    name: str,
    table: str,
    strengths: Sequence[float] = STRENGTHS,
    keys: Sequence[SecretKey] | None = None,
    most_people: int = 5_000,
) -> Iterator[Cell]:
    """Release a table at each strength, by default under a fresh key, audit it, and look for its people."""
    with tempfile.TemporaryDirectory() as folder:
        for i, privacy in enumerate(strengths):
            key = Path(folder) / f"{privacy}.key" if keys is None else keys[i]
            made = sf.release(
                table, sf.plan(table, noise="gaussian", privacy=privacy), Path(folder) / f"{privacy}", key=key
            )
            audit = sf.audit(table, made, key=key)
            headline = audit.headline
            original, _ = original_of(made, table, key=key)
            truth = {c.name: c.values for c in original.all_columns}
            rows = made.manifest.data.rows
            everybody = np.arange(rows)
            few = rows > 2 * most_people
            people = np.random.default_rng(0).choice(rows, most_people, replace=False) if few else everybody
            share = share_found(made.read_table().all_columns, truth, people)
            found = 100 * (share - 1 / rows)
            yield Cell(name, rows, privacy, headline.decision, headline.risk, found, len(people), headline.worst.fact)


def correlation(cells: Sequence[Cell]) -> float:
    """Return Spearman's rank correlation of headline risk and people found; risk is printed to a tenth, and so compared."""
    return float(spearmanr([c.risk for c in cells], [max(round(c.found, 1), 0.0) for c in cells]).statistic)


def inversions(cells: Sequence[Cell]) -> list[str]:
    """Return where more noise made the verdict worse."""
    out = []
    for name in dict.fromkeys(c.table for c in cells):
        ladder = sorted((c for c in cells if c.table == name), key=lambda c: c.privacy)
        for weak, strong in pairwise(ladder):
            if strong.decision.severity > weak.decision.severity:
                out.append(f"{name}: {weak.decision} at {weak.privacy:.0%}, {strong.decision} at {strong.privacy:.0%}")
    return out


def render(cells: Sequence[Cell]) -> str:
    """Return the page: one row per table, in each cell the verdict, the headline risk and the true share."""
    short = {Decision.DO_NOT_PUBLISH: "do not publish", Decision.WITH_CARE: "with care", Decision.FIT: "fit"}
    strengths = sorted({c.privacy for c in cells})
    lines = [
        "| table | rows | people | " + " | ".join(f"{s:.0%}" for s in strengths) + " | ρ |",
        "|---|---:|---:|" + "---|" * len(strengths) + "---:|",
    ]
    for name in dict.fromkeys(c.table for c in cells):
        ladder = sorted((c for c in cells if c.table == name), key=lambda c: c.privacy)
        entries = [f"{short[c.decision]}: {c.risk:g} ({c.found:.1f})" for c in ladder]
        head = [name, f"{ladder[0].rows:,}", f"{ladder[0].people:,}"]
        lines.append("| " + " | ".join([*head, *entries, f"{correlation(ladder):.2f}"]) + " |")
    wrong = inversions(cells)
    close = np.abs([c.risk - c.found for c in cells])
    lines += [
        "",
        (
            f"Rank correlation of headline risk and people found over all {len(cells)} releases: {correlation(cells):.3f} (at least "
            f"{MIN_CORRELATION}). The two differ by {close.mean():.1f} points in the mean and {close.max():.1f} at most."
        ),
        "",
        f"Inversions of the verdict: {'; '.join(wrong) if wrong else 'none'}.",
    ]
    return "\n".join(lines) + "\n"


HEAD = """# Verdicts

Does the verdict of an audit follow what can be learned of people? Each table is released six times by one plan, from weak noise to strong, each
time under a fresh key, and audited. Written by

    python benchmarks/verdicts.py --data FOLDER -o docs/verdicts.md

A cell holds the verdict, the headline risk that the audit states (people in a hundred who are found beyond chance, of 500 who were
looked for), and in brackets the true figure: for every one of the *people* the likeliest row of the whole release is looked for by somebody
who knows all their true values. That search is a program of its own, in the benchmark; it shares no code with the attacks. The strength is
the width of the 95 % interval as a share of each column's range; labels have the substitution of the same strength. ρ is the rank
correlation along a table's six strengths.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--output", "-o", type=Path, help="a page to write")
    given = parser.parse_args()
    paths = sorted(p for p in given.data.iterdir() if p.name.endswith((".csv", ".csv.gz"))) if given.data else []
    tables = {p.name.partition(".")[0]: str(p) for p in paths} or {name: name for name in datasets.names()}
    chosen = given.only or [name for name in TABLES if name in tables] or list(tables)
    cells: list[Cell] = []
    for name in chosen:
        start = time.process_time()
        for cell in measure(name, tables[name]):
            cells.append(cell)
            print(
                f"{name} {cell.privacy:.0%}: {cell.decision}, {cell.risk:g} ({cell.found:.2f}); {cell.fact}",
                file=sys.stderr,
            )
        print(f"{name}: {time.process_time() - start:.0f} CPU s", file=sys.stderr, flush=True)
    page = render(cells)
    if given.output:
        given.output.write_text(HEAD + page, "utf-8")
    print(page)
    sys.exit(0 if correlation(cells) >= MIN_CORRELATION and not inversions(cells) else 1)


if __name__ == "__main__":
    main()
