"""Do the intervals of `sfumato ask` hold the figures of the true rows? A ledger of coverage, for docs/ask-coverage.md.

    python benchmarks/ask.py --data DIR -o docs/ask-coverage.md     # DIR holds adult.csv.gz, bank_marketing.csv.gz, …
    python benchmarks/ask.py --data DIR --quick                     # 200 releases of each cell, and not 500

Real columns are released again and again in memory, under one law for numbers and one for labels, and the same question is asked of
every release. For each figure: its mean error in standard errors (bias), how far its errors really spread over what it states
(1 is right), and how often its interval holds. Figures with unbiased weights are to hold in 93 to 97 % of releases with a bias below
a quarter; likely intervals of ranges in 90 to 97 % on average over columns and thresholds; guaranteed ones in 95 % everywhere.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.channels import Channel, Gaussian, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.questions import Answer, parse_question, reply
from sfumato.releases import read_original
from sfumato.schema import Role
from sfumato.table import Column, Table

WANTED = {
    "adult": (("age", "hours_per_week", "capital_gain", "education_num"), ("sex", "education", "race")),
    "bank_marketing": (("age", "balance", "duration", "campaign"), ("job", "marital", "poutcome")),
    "credit_approval": (("A2", "A8", "A15"), ("A6", "A7", "A13")),
    "german_credit": (("duration_months", "credit_amount", "age"), ("purpose", "housing", "foreign_worker")),
    "pima_diabetes": (("pregnancies", "serum_insulin", "bmi"), ("class",)),
}
"""Columns of each table: numbers with spikes, tails and few values; labels, the last with rare ones."""
LAWS: dict[str, tuple[tuple[Channel, Channel], ...]] = {
    "gaussian": tuple(
        (Gaussian(privacy=p), Substitution(gamma=g)) for p, g in ((0.5, 19.0), (1.0, 9.0), (0.25, 50.0), (2.0, 5.0))
    ),
    "uniform": tuple((Uniform(privacy=p), Substitution(gamma=g)) for p, g in ((0.5, 19.0), (1.0, 9.0))),
    "laplace": ((Laplace(privacy=0.5), Projective(gamma=19.0)), (Laplace(privacy=1.0), Projective(gamma=9.0))),
    "square wave": (
        (SquareWave(epsilon=4.0), Projective(gamma=19.0)),
        (SquareWave(epsilon=2.0), Substitution(gamma=9.0)),
    ),
}


@dataclass
class Cell:
    """What came of one figure over all releases."""

    table: str
    law: str
    figure: str
    kind: str
    truth: float
    errors: list[float] = field(default_factory=list)
    ses: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    guaranteed: list[bool] = field(default_factory=list)
    widths: list[tuple[float, float]] = field(default_factory=list)
    untold: int = 0

    def add(self, estimate: sf.Estimate) -> None:
        """Add the figure of one release."""
        if estimate.value is None or estimate.low is None or estimate.high is None:
            self.untold += 1
            return
        slack = 1e-9 * max(abs(self.truth), 1.0)
        self.errors.append(estimate.value - self.truth)
        self.ses.append(estimate.se or 0.0)
        self.held.append(estimate.low - slack <= self.truth <= estimate.high + slack)
        if estimate.guaranteed is not None:
            low, high = estimate.guaranteed
            self.guaranteed.append(low - slack <= self.truth <= high + slack)
            self.widths.append((estimate.high - estimate.low, high - low))

    @property
    def told(self) -> int:
        """Releases in which there was a figure."""
        return len(self.errors)

    @property
    def bias(self) -> float:
        """The mean error, in standard errors as they are stated."""
        return float(np.mean(self.errors)) / max(math.sqrt(float(np.mean(np.square(self.ses)))), 1e-300)

    @property
    def spread(self) -> float:
        """The standard deviation of the errors over the standard error as it is stated."""
        return float(np.std(self.errors)) / max(math.sqrt(float(np.mean(np.square(self.ses)))), 1e-300)

    @property
    def coverage(self) -> float:
        """How often the interval held."""
        return float(np.mean(self.held))


def read_columns(folder: Path, name: str, rows: int) -> Table | None:
    """Return the wanted columns of some rows of a table, by a fixed draw; None where the table is not there."""
    path = next((p for p in (folder / f"{name}.csv.gz", folder / f"{name}.csv") if p.exists()), None)
    if path is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = sf.Plan.propose(str(path))
        original = read_original(str(path), plan)
    return choose_columns(original, name, rows)


def choose_columns(original: Table, name: str, rows: int) -> Table:
    """Return the wanted columns of some rows, numbers in their own unit."""
    numbers, labels = WANTED[name]
    known = {c.name: c for c in original.all_columns}
    chosen = [known[n] for n in (*numbers, *labels) if n in known]
    kept = np.random.default_rng(18).permutation(original.rows)[:rows]
    plain = []
    for column in chosen:  # a proposed scale is left out, so that noise acts on the numbers themselves
        attribute = column.attribute
        values = attribute.to_values(column.values) if attribute.kind.numeric else column.values
        plain.append(replace(column, attribute=replace(attribute, role=Role.ATTRIBUTE, scale=None), values=values))
    return Table(tuple(c.take(np.sort(kept)) for c in plain))


def released(column: Column, law: Channel, rng: np.random.Generator) -> Column:
    """Return a column as a law releases it."""
    channel = law.on(column.attribute)
    present = ~np.isnan(column.values)
    words = rng.integers(0, 2**64, (int(present.sum()), 2), dtype=np.uint64)
    values = np.full(len(column.values), np.nan)
    values[present] = channel.sample(column.values[present], words)
    return Column(column.attribute, channel, values)


def answer(table: Table, question: str) -> Answer:
    """Return the answer of a table in memory."""
    columns = {c.name: c for c in table.columns}
    rows = np.arange(table.rows)
    return reply(parse_question(question, columns), question, lambda count: count(table, rows), columns)


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def unbiased_figures(table: Table) -> list[str]:
    """Return figures of every kind that has unbiased weights."""
    numbers = [c for c in table.columns if c.attribute.kind.numeric]
    labels = [c for c in table.columns if not c.attribute.kind.numeric]
    out = []
    for column in numbers:
        out += [f"AVG({column.name})", f"VARIANCE({column.name})", f"STDDEV({column.name})"]
    out += [f"CORR({a.name}, {b.name})" for a, b in pairwise(numbers)]
    out += [f"COVAR_SAMP({numbers[0].name}, {numbers[1].name})", f"SUM({numbers[0].name})"]
    commonest, rare = {}, {}
    for column in labels:
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.attribute.categories))
        commonest[column.name] = quoted(column.attribute.categories[int(counts.argmax())])
        rare[column.name] = quoted(column.attribute.categories[int(np.where(counts > 0, counts, 10**9).argmin())])
        out += [f"COUNT_IF({column.name} = {commonest[column.name]})", f"SHARE({column.name} = {rare[column.name]})"]
    if len(labels) < 2:
        return out
    one, other = labels[0].name, labels[1].name
    both = f"{one} = {commonest[one]} AND {other} = {commonest[other]}"
    out += [f"COUNT_IF({both})", f"SHARE({one} = {commonest[one]} OR NOT {other} = {rare[other]})"]
    out += [
        f"AVG({numbers[0].name}) FILTER (WHERE {one} = {commonest[one]})",
        f"AVG({numbers[1].name}) FILTER (WHERE {both})",
    ]
    out += [f"VARIANCE({numbers[0].name}) FILTER (WHERE {other} = {commonest[other]})"]
    out += [f"SHARE({one} = {commonest[one]}) FILTER (WHERE {other} = {commonest[other]})"]
    return out


def range_figures(table: Table) -> list[str]:
    """Return shares of ranges of every column of numbers, at quantiles of its true values."""
    out = []
    for column in (c for c in table.columns if c.attribute.kind.numeric):
        present = column.values[~np.isnan(column.values)]
        cuts = np.unique(np.quantile(present, [0.1, 0.3, 0.5, 0.7, 0.9, 0.97], method="lower"))
        out += [f"SHARE({column.name} >= {float(cut)!r})" for cut in cuts if present.min() < cut]
    return out


def measure(
    table: Table, name: str, law: tuple[Channel, Channel], figures: Sequence[str], releases: int, kind: str, seed: int
) -> list[Cell]:
    """Return one cell per figure."""
    question = f"SELECT {', '.join(f'{figure} AS f{i}' for i, figure in enumerate(figures))} FROM release"
    true = answer(table, question).rows[0]
    about = f"{law[0].law} {_strength(law[0])}, {law[1].law} {_strength(law[1])}"
    cells = [Cell(name, about, figure, kind, true[f"f{i}"].value) for i, figure in enumerate(figures)]
    for release in range(releases):
        rng = np.random.default_rng([seed, release])
        columns = tuple(released(c, law[0] if c.attribute.kind.numeric else law[1], rng) for c in table.columns)
        row = answer(Table(columns), question).rows[0]
        for i, cell in enumerate(cells):
            cell.add(row[f"f{i}"])
    return cells


def _strength(law: Channel) -> str:
    about = law.to_dict()
    return next(f"{name} {about[name]:g}" for name in ("privacy", "gamma", "epsilon") if name in about)


def run(folder: Path, rows: int, releases: int, *, ranges: int, strengths: int) -> Iterator[list[Cell]]:
    """Measure every law on every table; a run that is stopped has seen all tables and the first laws."""
    tables = {name: read_columns(folder, name, rows) for name in WANTED}
    for step in range(strengths):
        for number, laws in enumerate(LAWS.values()):
            for place, (name, table) in enumerate(tables.items()):
                if table is None or step >= len(laws):
                    continue
                law = laws[step]
                begin, seed = time.process_time(), 1000 * place + 100 * number + step
                cells = measure(table, name, law, unbiased_figures(table), releases, "weights", seed)
                if ranges:
                    cells += measure(table, name, law, range_figures(table), ranges, "range", seed + 50)
                yield cells
                print(f"{name} {law[0].law} {_strength(law[0])}: {time.process_time() - begin:.0f} s", file=sys.stderr)


def page(cells: Sequence[Cell], releases: int, ranges: int, rows: int, command: str) -> str:
    """Return the ledger, what misses first."""
    weights = [c for c in cells if c.kind == "weights" and c.told >= 0.95 * releases]
    rarely = [c for c in cells if c.kind == "weights" and 0 < c.told < 0.95 * releases]
    fitted = [c for c in cells if c.kind == "range" and c.told]
    out = [
        "# Coverage of answers",
        "",
        "How often the intervals of `sfumato ask` hold the figure of the true rows. Written by",
        "",
        f"    {command}",
        "",
    ]
    out += [
        (
            f"Rows of {len({c.table for c in cells})} real tables ({rows:,} of each, or all there are), released {releases} times for each of {len({(c.table, c.law) for c in cells})} pairs of a table and laws. "
            "*Bias* is the mean error in standard errors, *spread* the true standard deviation of the errors over the stated error. "
            f"By chance alone a coverage of 95 % is measured within {100 * 1.96 * math.sqrt(0.0475 / releases):.1f} points in 95 of 100 cells."
        ),
        "",
    ]
    chance = 3.9 * math.sqrt(0.95 * 0.05 / max(releases, 1))
    missed = [c for c in weights if abs(c.coverage - 0.95) > 0.02 or abs(c.bias) > 0.25]
    surely = [c for c in missed if abs(c.coverage - 0.95) > chance or abs(c.bias) > 0.25 + 3.9 / math.sqrt(releases)]
    out += ["## What misses", ""]
    out += [
        (
            f"- {len(missed)} of {len(weights)} cells with unbiased weights lie outside 93 to 97 % or have a bias above a quarter; chance alone "
            f"would put about {_by_chance(releases):.0%} of them there. {len(surely)} do so by more than chance (once in 10,000): those below."
        )
    ]
    if fitted:
        told = [c for c in fitted if len(c.guaranteed)]
        least = min(told, key=lambda c: float(np.mean(c.guaranteed)))
        out += [
            (
                f"- Likely intervals of {len(fitted)} ranges hold {np.mean([c.coverage for c in fitted]):.1%} on average over columns and thresholds "
                f"({sum(c.coverage < 0.9 for c in fitted)} ranges below 90 %, {sum(c.coverage < 0.5 for c in fitted)} below half); guaranteed ones "
                f"{np.mean([np.mean(c.guaranteed) for c in told]):.1%}, at least {np.mean(least.guaranteed):.0%} ({least.figure} of {least.table}, {least.law}). "
                f"They are {np.median([np.mean([g / max(w, 1e-9) for w, g in c.widths]) for c in told]):.1f} times as wide (median)."
            )
        ]
    if rarely:
        held = np.average([c.coverage for c in rarely], weights=[c.told for c in rarely])
        out += [
            (
                f"- {len(rarely)} cells are told in fewer than 95 % of releases: the noise hides the spread of a column, or a group is "
                "small. They are left out above, since being told goes with large estimates; where they are told, "
                f"{held:.1%} of their intervals hold."
            )
        ]
    clipped = [c for c in weights if abs(c.bias) > 0.25 and abs(c.coverage - 0.95) <= chance]
    out += [
        (
            f"- {len(clipped)} of the {sum(abs(c.bias) > 0.25 for c in weights)} cells with a bias above a quarter have the right coverage: "
            "estimates are cut to what is possible (no negative count, share or variance), which moves their mean where the truth lies "
            "near the end."
        )
    ]
    untold = sum(c.untold for c in cells)
    asked = sum(c.untold + c.told for c in cells)
    out += [f"- {untold:,} of {asked:,} figures were not told (a rare label, a variance below its noise).", ""]
    if surely:
        out += ["| figure | table | law | bias | spread | coverage | told |", "|---|---|---|---:|---:|---:|---:|"]
        out += [_line(c) for c in sorted(surely, key=lambda c: c.coverage)[:40]] + [""]
    out += [
        "## Figures with unbiased weights",
        "",
        "| figure | cells | mean coverage | lowest | highest | mean bias | largest bias | mean spread |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in dict.fromkeys(_family(c) for c in weights):
        same = [c for c in weights if _family(c) == kind]
        covers, biases = [c.coverage for c in same], [c.bias for c in same]
        out.append(
            f"| {kind} | {len(same)} | {np.mean(covers):.1%} | {min(covers):.1%} | {max(covers):.1%} | {np.mean(biases):+.3f} | "
            f"{max(biases, key=abs):+.2f} | {np.mean([c.spread for c in same]):.2f} |"
        )
    out += ["", "By law:", "", "| law | cells | mean coverage | lowest | mean spread |", "|---|---:|---:|---:|---:|"]
    for law in dict.fromkeys(c.law for c in weights):
        same = [c for c in weights if c.law == law]
        out.append(
            f"| {law} | {len(same)} | {np.mean([c.coverage for c in same]):.1%} | {min(c.coverage for c in same):.1%} | {np.mean([c.spread for c in same]):.2f} |"
        )
    if fitted:
        out += [
            "",
            f"## Ranges of blurred numbers ({ranges} releases of each)",
            "",
            "| law | ranges | likely holds | guaranteed holds | likely width | guaranteed width |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        for law in dict.fromkeys(c.law for c in fitted):
            same = [c for c in fitted if c.law == law]
            out.append(
                f"| {law.partition(',')[0]} | {len(same)} | {np.mean([c.coverage for c in same]):.1%} | {np.mean([np.mean(c.guaranteed) for c in same]):.1%} | "
                f"{np.mean([w for c in same for w, _ in c.widths]):.3f} | {np.mean([g for c in same for _, g in c.widths]):.3f} |"
            )
        out += [
            "",
            "The ranges held least often:",
            "",
            "| figure | table | law | true share | mean error | likely holds | guaranteed holds |",
            "|---|---|---|---:|---:|---:|---:|",
        ]
        for c in sorted(fitted, key=lambda c: c.coverage)[:20]:
            out.append(
                f"| {c.figure} | {c.table} | {c.law.partition(',')[0]} | {c.truth:.3f} | {np.mean(c.errors):+.3f} | {c.coverage:.0%} | {np.mean(c.guaranteed):.0%} |"
            )
    return "\n".join(out) + "\n"


def _by_chance(releases: int) -> float:
    """Return how often a cell of exactly 95 % is measured outside 93 to 97 %."""
    from scipy.stats import binom

    return float(
        1
        - binom.cdf(math.floor(0.97 * releases), releases, 0.95)
        + binom.cdf(math.ceil(0.93 * releases) - 1, releases, 0.95)
    )


def _family(cell: Cell) -> str:
    name = cell.figure.partition("(")[0]
    return (
        f"{name} of a group"
        if "FILTER" in cell.figure
        else f"{name} of a conjunction"
        if " AND " in cell.figure or " OR " in cell.figure
        else name
    )


def _line(c: Cell) -> str:
    return f"| {c.figure} | {c.table} | {c.law} | {c.bias:+.2f} | {c.spread:.2f} | {c.coverage:.1%} | {c.told} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print or write its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--quick", action="store_true", help="200 releases of each cell")
    parser.add_argument("--releases", type=int, help="releases of each cell")
    parser.add_argument("--ranges", type=int, default=20, help="releases of each range")
    parser.add_argument("--strengths", type=int, default=4, help="strengths of each law at most")
    parser.add_argument("--rows", type=int, default=2000, help="rows of each table at most")
    parser.add_argument("-o", "--output", type=Path, help="write the page here")
    asked = parser.parse_args(arguments)
    releases = asked.releases or (200 if asked.quick else 500)
    options = [f"--{name} {getattr(asked, name)}" for name in ("ranges", "strengths", "rows")]
    command = f"python benchmarks/ask.py --data DIR --releases {releases} {' '.join(options)}"
    cells: list[Cell] = []
    for more in run(asked.data, asked.rows, releases, ranges=asked.ranges, strengths=asked.strengths):
        cells += more
        if asked.output:  # what is measured so far
            asked.output.write_text(page(cells, releases, asked.ranges, asked.rows, command), encoding="utf-8")
    if not asked.output:
        print(page(cells, releases, asked.ranges, asked.rows, command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
