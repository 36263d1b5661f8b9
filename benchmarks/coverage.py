"""How often does every interval that the product prints hold what it speaks of? The ledger in docs/coverage.md.

    python benchmarks/coverage.py                      # some five minutes of a core; writes docs/coverage.md
    python benchmarks/coverage.py --keys 40            # more releases per cell

Columns of seven shapes and of labels are released under every law and reconstructed, and their figures, shares and bands are
compared with those of the true rows (`real_columns.figures`, `smooth_columns.release`). Tables are released and mined, and the
scores that `mine` states are compared with those on fresh true rows (`stated.cell`); the scores that `evaluate` and the rates that
an audit state for some rows are compared with those of all rows they come from. Nothing is written but the page. Exit code 1
where an interval holds less often than it claims, by more than the chance of the measurement.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import real_columns
import smooth_columns
import stated
from scipy.stats import binom

import sfumato as sf
from sfumato.auditing import audit_epsilon
from sfumato.auditing.rates import Rate, central_width, central_width_interval, rmse_interval
from sfumato.channels import Channel, Gaussian, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.counts import FloatArray
from sfumato.mining import score_model
from sfumato.mining.auto import fit_auto
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Categories, Kind
from sfumato.table import Column

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
LAWS = (
    Gaussian(privacy=0.5),
    Gaussian(privacy=1.0),
    Uniform(privacy=0.5),
    Laplace(privacy=0.5),
    SquareWave(epsilon=2.0),
    Substitution(epsilon=2.0, bins=16),
)
LABEL_LAWS = (Substitution(epsilon=1.0), Substitution(epsilon=3.0), Projective(epsilon=2.0))


def spike(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw half of the values from one place and half from a broad hump around it."""
    return np.where(rng.random(n) < 0.5, 0.4, rng.normal(0.45, 0.15, n))


def tail(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw many zeros and a long tail."""
    return np.where(rng.random(n) < 0.4, 0.0, rng.exponential(0.12, n))


SHAPES = smooth_columns.SHAPES | {"spike": (smooth_columns.INTEGER, spike), "tail": (smooth_columns.INTEGER, tail)}
LABEL_SHAPES: dict[str, Callable[[int], FloatArray]] = {
    "even": lambda k: np.full(k, 1.0 / k),
    "steep": lambda k: (w := 1.0 / np.arange(1, k + 1)) / w.sum(),
}


@dataclass(frozen=True)
class Held:
    """Whether one interval held what it speaks of; of several in one release, the share that did."""

    kind: str
    law: str
    shape: str
    rows: int
    share: float


@dataclass(frozen=True)
class Claim:
    """What an interval says of itself, and the share of releases in which it must then be right."""

    words: str
    share: float = 0.95
    caveat: str = ""


FIGURE = "holds the {} of the rows behind the release in 95 % of releases"
SCORE = "holds the {} on fresh true rows in 95 % of releases"
SOME = "computed from some rows, holds the {} of all rows in 95 % of draws"
SCORES = ("accuracy", "balanced accuracy", "auc", "log loss", "brier")
RARE = {
    "balanced accuracy": "It is the mean over the classes among the rows at hand. Nursery has a class of two rows in 13,000, which "
    "these rows lack and all rows have."
}
BINS = (
    "A law of bins does not say where in its bin a value lies, and the interval does not allow for that. Of few rows, a valley "
    "between two humps is smoothed away, and a median in it with it."
)
CLAIMS = {
    **{name: Claim(FIGURE.format(name)) for name in ("mean", "variance", "sd")},
    "median": Claim(FIGURE.format("median"), caveat=BINS),
    "quantiles": Claim("each of five quantiles is held in 95 % of releases", caveat=BINS),
    "share of a range": Claim(FIGURE.format("share of a range")),
    "bands of numbers": Claim(
        "holds the shares of cells where 95 % of the people are",
        caveat="Noise cannot tell a spike in a broad hump from a narrow hump, and the band of the cell that holds it may miss.",
    ),
    "bands of labels": Claim("holds the shares of 95 % of the labels"),
    **{f"mine: {name}": Claim(SCORE.format(name), caveat=RARE.get(name, "")) for name in SCORES},
    **{f"evaluate: {name}": Claim(SOME.format(name), caveat=RARE.get(name, "")) for name in SCORES},
    "audit: success of an attack": Claim(SOME.format("rate")),
    "audit: rmse": Claim(SOME.format("root mean squared error")),
    "audit: interval left": Claim(SOME.format("width of the interval that holds 95 % of the errors")),
    "audit: lower bound of ε": Claim("lies above the stated ε in no more than one draw of 100,000", 0.99999),
}


def digest(*words: object) -> bytes:
    """Return 32 bytes that stand for a seed and a key."""
    return hashlib.sha256(" ".join(map(str, words)).encode()).digest()


def seed_of(*words: object) -> int:
    """Return a seed."""
    return int.from_bytes(digest(*words)[:4], "big")


def name_law(wish: Channel) -> str:
    """Return the law with its strength in one word."""
    parameter, value = next((k, v) for k, v in wish.to_dict().items() if k in ("privacy", "epsilon") and v is not None)
    return f"{wish.law} {value:.0%}" if parameter == "privacy" else f"{wish.law} ε {value:g}"


def measure_columns(
    keys: Iterable[int],
    rows: Iterable[int],
    laws: Iterable[Channel] = LAWS,
    shapes: Iterable[str] = tuple(SHAPES),
) -> Iterator[Held]:
    """Yield the figures and bands of numeric columns."""
    names = {"share": "share of a range", "people": "bands of numbers"}
    for n, wish, shape, key in product(rows, laws, shapes, keys):
        law = name_law(wish)
        true, column = smooth_columns.release(SHAPES[shape], n, wish, f"coverage {shape} {n} {law} {key}")
        held = real_columns.figures(true, sf.reconstruct(column))
        for name in ("mean", "variance", "sd", "median", "quantiles", "share", "people"):
            yield Held(names.get(name, name), law, shape, n, float(held[f"{name} held"]))


def measure_labels(keys: Iterable[int], rows: Iterable[int]) -> Iterator[Held]:
    """Yield the bands of columns of labels: five labels, or a hundred where the law is meant for many."""
    for n, wish, shape, key in product(rows, LABEL_LAWS, LABEL_SHAPES, keys):
        size = 100 if isinstance(wish, Projective) else 5
        attribute = Attribute("label", Kind.CATEGORICAL, Categories(tuple(f"{i:02}" for i in range(size))))
        words = ("coverage", wish.to_dict(), shape, n, key)
        codes = np.random.default_rng(seed_of(*words)).choice(size, n, p=LABEL_SHAPES[shape](size)).astype(np.float64)
        bands = sf.reconstruct(
            Column(attribute, None, codes).through(wish.on(attribute), SecretKey(digest(*words)))
        ).bands
        share = np.bincount(codes.astype(np.int64), minlength=size) / n
        inside = (share >= bands.lower - 1e-9) & (share <= bands.upper + 1e-9)
        yield Held("bands of labels", name_law(wish), shape, n, float(inside.mean()))


def measure_scores(
    keys: Iterable[int],
    rows: Iterable[int],
    tables: Iterable[str],
    laws: Iterable[str] = ("gaussian", "uniform", "laplace"),
) -> Iterator[Held]:
    """Yield the scores that `mine` states without the truth, and those that `evaluate` states from 300 true rows."""
    for n, law, table, key in product(rows, laws, tables, keys):
        noisy, fresh = stated.cell(table, n, law, 0.5, seed_of("coverage", law, table, n, key))
        fitted = fit_auto(noisy, seed=key)
        whole = score_model(fitted.tree, fresh, fresh.codes).to_dict(fitted.tree.labels)
        some = np.random.default_rng(key).choice(fresh.rows, 300, replace=False)
        part = fresh.take(some)
        about = score_model(fitted.tree, part, part.codes).to_dict(fitted.tree.labels)["interval"]
        for name in SCORES:
            field = name.replace(" ", "_")
            ends = {"mine": [fitted.notes["expected"][field][end] for end in ("low", "high")], "evaluate": about[field]}
            for verb, (low, high) in ends.items():
                yield Held(f"{verb}: {name}", f"{law} 50%", table, n, float(low <= whole[field] <= high))


def measure_audits(draws: Iterable[int], rows: Iterable[int]) -> Iterator[Held]:
    """Yield the rates and widths of an audit from some rows, and the bound of ε from few draws."""
    attribute, pool = smooth_columns.REAL, 200_000
    for wish, shape in product(LAWS[:5], ("plateau", "triangles")):
        law = name_law(wish)
        true, column = smooth_columns.release(SHAPES[shape], pool, wish, f"coverage audit {shape} {law}")
        errors = column.values - true
        hits = (np.abs(errors) <= 0.05).astype(np.float64)
        for n, draw in product(rows, draws):
            chosen = np.random.default_rng(seed_of(law, shape, n, draw)).choice(pool, n, replace=False)
            some = errors[chosen]
            for kind, truth, (low, high) in (
                ("success of an attack", hits.mean(), Rate.of(hits[chosen]).interval),
                ("rmse", np.sqrt(np.mean(errors**2)), rmse_interval(some, seed=draw)),
                ("interval left", central_width(errors), central_width_interval(some, seed=draw)),
            ):
                yield Held(f"audit: {kind}", law, shape, n, float(low <= truth <= high))
    for wish, draw in product((Laplace(privacy=1.0), SquareWave(epsilon=2.0)), draws):
        result = audit_epsilon(wish.on(attribute), attribute, draws=2000, key=SecretKey(digest("epsilon", draw)))
        yield Held("audit: lower bound of ε", name_law(wish), "ends of the domain", 2000, float(result.holds))


def falls_short(shares: list[float], claim: float) -> bool:
    """Whether fewer than `claim` are held by more than chance: one in 100,000 for an interval that is right as often as it says.

    Shares between 0 and 1 vary less than yes and no with the same mean, so that the binomial law is the widest.
    """
    return bool(binom.cdf(np.floor(sum(shares) + 1e-9), len(shares), claim) < 1e-5)


@dataclass(frozen=True)
class Ledger:
    """Every interval that was measured, by kind."""

    kinds: dict[str, list[Held]]

    @classmethod
    def of(cls, every: Iterable[Held]) -> Ledger:
        """Sort measurements by kind."""
        kinds: dict[str, list[Held]] = defaultdict(list)
        for held in every:
            kinds[held.kind].append(held)
        return cls(dict(kinds))

    def cells(self, kind: str) -> dict[tuple[str, int, str], list[float]]:
        """Return the shares of a kind by law, rows and shape."""
        out: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        for held in self.kinds[kind]:
            out[held.law, held.rows, held.shape].append(held.share)
        return dict(out)

    def short(self, kind: str) -> list[str]:
        """Return where a kind falls short: as a whole, for a law, for a shape, for a number of rows, or in one cell."""
        groups: dict[str, list[float]] = defaultdict(list)
        for held in self.kinds[kind]:
            cell = f"{held.law}, {held.shape}, {held.rows:,} rows"
            for name in ("all", held.law, held.shape, f"{held.rows:,} rows", cell):
                groups[name].append(held.share)
        return [name for name, shares in groups.items() if falls_short(shares, CLAIMS[kind].share)]

    def page(self) -> str:
        """Return the ledger as Markdown."""
        rows, tables = [], []
        for kind in self.kinds:
            cells, claim = self.cells(kind), CLAIMS[kind]
            worst = min(cells, key=lambda cell: (float(np.mean(cells[cell])), -len(cells[cell])))
            every = [share for shares in cells.values() for share in shares]
            verdict = "**short**" if self.short(kind) else "yes"
            rows.append(
                f"| {kind} | {claim.words} | {np.mean(every):.1%} | {len(every):,} | {np.mean(cells[worst]):.0%} of "
                f"{len(cells[worst])} ({worst[0]}, {worst[2]}, {worst[1]:,} rows) | {verdict} |"
            )
            tables.append(
                f"## {kind[0].upper()}{kind[1:]}\n\nIt claims: {claim.words}.\n\n{tabulate(cells, claim.share)}"
            )
            if where := self.short(kind):
                tables.append(f"Below its claim: {'; '.join(where)}. {claim.caveat}".rstrip())
        head = "| interval | claims | measured | releases | worst cell | holds |\n|---|---|---:|---:|---|---|"
        return "\n\n".join([INTRODUCTION, "\n".join([head, *rows]), *tables]) + "\n"


def tabulate(cells: dict[tuple[str, int, str], list[float]], claim: float) -> str:
    """Return a line per law and number of rows, a column per shape."""
    shapes = list(dict.fromkeys(shape for _, _, shape in cells))
    lines = [f"| law | rows | {' | '.join(shapes)} |", "|---|---:|" + "---:|" * len(shapes)]
    for law, n in dict.fromkeys((law, n) for law, n, _ in cells):
        row = []
        for shape in shapes:
            shares = cells.get((law, n, shape), [])
            text = f"{np.mean(shares):.0%}" if shares else ""
            row.append(f"**{text}**" if shares and falls_short(shares, claim) else text)
        lines.append(f"| {law} | {n:,} | {' | '.join(row)} |")
    return "\n".join(lines)


INTRODUCTION = """# Coverage of every interval

How often each interval that sfumato prints holds what it speaks of, by law, shape of the column (or table) and number of rows. Written by

    python benchmarks/coverage.py

A measured share is the mean over all cells of a kind. Bold is what lies below its claim by more than chance: an interval that is right as often
as it says would fall so low once in 100,000 measurements. Cells have few releases each, so a cell that is not bold may still be a little
short. [Estimates on real columns](estimates.md) measures the same figures on 146 real columns.

Shapes of numbers: normal, two normals, uniform, spike (half of the values in one place) and tail (40 % zeros and a long tail) are integers
from 0 to 63; plateau and triangles lie between 0 and 1. Labels are even or steep (the k-th has a share ∝ 1/k). Tables are functions of the agrawal
generator and bundled ones."""


def measure(key: int, rows: tuple[int, ...]) -> Iterator[Held]:
    """Yield one release per cell of columns, and as many draws of what is cheap as time allows."""
    many = range(10 * key, 10 * key + 10)
    yield from measure_columns([key], rows)
    yield from measure_labels(many, rows)
    yield from measure_scores([key], rows[:1], ("f2", "f7", "adult", "nursery"))
    if key % 3 == 0:
        yield from measure_scores([key], (2000,), ("f2", "f7", "adult"))
    yield from measure_audits(many, (100, 1000))


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the page, and say what falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=14, help="releases per law, shape and number of rows")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    every: list[Held] = []
    for key in range(options.keys):  # the page is right after every key, so that a long run may be stopped
        every += measure(key, tuple(options.rows))
        ledger = Ledger.of(every)
        options.output.write_text(ledger.page(), "utf-8")
    short = {kind: where for kind in ledger.kinds if (where := ledger.short(kind))}
    for kind, where in short.items():
        print(f"{kind}: below its claim: {'; '.join(where)}")
    print(
        f"{sum(map(len, ledger.kinds.values())):,} intervals of {len(ledger.kinds)} kinds; {len(short)} kinds fall short"
    )
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
