"""Draws of every law against its exact probabilities, and what they show of ε from both sides: `make audit-laws`.

    python benchmarks/law_audit.py [--draws 1e9]

The draws are those of a release: keyed words, true values, released values. Half of them are of one true value, half of
another, the pair whose released values differ most. Both are counted in cells and compared with the probabilities that
the law states (chi-square; cells that expect fewer than ten draws are pooled). Then the event that tells most about the pair
is counted, and Clopper and Pearson's bounds of its two probabilities give bounds of their ratio's logarithm. Memory is bounded
by the block. Exit code 1 if a law is refuted.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sfumato.auditing.epsilon import clopper_pearson
from sfumato.channels import Channel, Gaussian, Intervals, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.counts import Grid
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind

KEY = SecretKey(bytes(range(32)))
BLOCK = 2**20
CONFIDENCE = 0.999
AGE = Attribute("age", Kind.INTEGER, Interval(0, 100))
PRICE = Attribute("price", Kind.INTEGER, Interval(0, 2_000_000))
SHARE = Attribute("share", Kind.REAL, Interval(0, 1))
TOWN = Attribute("town", Kind.CATEGORICAL, Categories(tuple("abcdefgh")))
CODE = Attribute("code", Kind.CATEGORICAL, Categories(tuple(f"{i:03}" for i in range(200))))
MATRIX = ((0.7, 0.1, 0.05), (0.2, 0.8, 0.25), (0.1, 0.1, 0.7))
CASES: list[tuple[Channel, Attribute]] = [
    (Gaussian(privacy=0.5), SHARE),
    (Gaussian(privacy=0.5), AGE),
    (Gaussian(privacy=1.0), PRICE),
    (Uniform(privacy=0.5), SHARE),
    (Uniform(privacy=0.5), AGE),
    (Laplace(b=1.0), SHARE),
    (Laplace(b=50.0), AGE),
    (Laplace(b=25.0), AGE),
    (Laplace(b=1e6), PRICE),
    (SquareWave(epsilon=1.0), SHARE),
    (SquareWave(epsilon=2.0), AGE),
    (SquareWave(epsilon=4.0), AGE),
    (Substitution(epsilon=1.0), TOWN),
    (Substitution(epsilon=4.0), TOWN),
    (Substitution(epsilon=2.0), SHARE),
    (Substitution(matrix=MATRIX, bins=3), AGE),
    (Projective(epsilon=1.0), CODE),
    (Projective(epsilon=3.0), CODE),
    (Intervals(count=5), AGE),
]


@dataclass(frozen=True)
class Result:
    """What the draws of one law show."""

    law: Channel
    attribute: Attribute
    draws: int
    cells: int
    p_value: float
    lower: float
    upper: float

    @property
    def right(self) -> bool:
        """Whether neither the counts nor ε refute the law."""
        return self.p_value > 1e-6 and self.lower <= self.law.guarantee().epsilon


def count(law: Channel, grid: Grid, value: float, key: SecretKey, draws: int) -> np.ndarray:
    """Return how many of the released values fall into each cell."""
    out = np.zeros(grid.size, np.int64)
    edges = grid.edges
    for begin in range(0, draws, BLOCK):
        size = min(BLOCK, draws - begin)
        released = law.perturb(key, Rows(begin, size), np.full(size, value))
        if edges is None:
            cells = grid.locate(released)
        else:  # inner edges lie halfway between released values, at equal distances
            released -= edges[1]
            released /= (edges[-2] - edges[1]) / max(len(edges) - 3, 1)
            cells = np.clip(np.floor(released, out=released) + 1, 0, grid.size - 1).astype(np.int64)
        out += np.bincount(cells, minlength=grid.size)
    return out


def chi_square(observed: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Return the statistic and its degrees of freedom; a draw that the law calls impossible refutes it."""
    if observed[expected == 0].sum():
        return math.inf, 1
    order = np.argsort(-expected, kind="stable")
    many = int((expected >= 10).sum())
    o, e = observed[order].astype(float), expected[order]
    if many < len(e):
        o, e = np.append(o[:many], o[many:].sum()), np.append(e[:many], e[many:].sum())
    some = e > 0
    return float((((o - e) ** 2)[some] / e[some]).sum()), int(some.sum()) - 1


def audit(wish: Channel, attribute: Attribute, draws: int) -> Result:
    law = wish.on(attribute)
    true, other, _ = (law.exact_table() or {})["worst"]
    grid = law.observed_grid(Grid.over(attribute, 200))
    half = draws // 2
    stated = (
        law.transition(Grid(atoms=np.array([true])), grid)[:, 0],
        law.transition(Grid(atoms=np.array([other])), grid)[:, 0],
    )
    seen = [count(law, grid, v, KEY.derive(str(law), attribute.name, i), half) for i, v in enumerate((true, other))]
    parts = [chi_square(o, p * half) for o, p in zip(seen, stated, strict=True)]
    p_value = float(stats.chi2.sf(sum(s for s, _ in parts), max(sum(d for _, d in parts), 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(stated[0] > 0, stated[0] / stated[1], 0.0)
    event = ratio >= 0.999 * ratio.max()
    hits = np.array([[float(o[event].sum())] for o in seen])
    miss = (1 - CONFIDENCE) / 2
    (low, high), (low2, high2) = (clopper_pearson(h, half, miss) for h in hits)
    lower = max(math.log(low[0] / high2[0]), 0.0) if low[0] > 0 else 0.0
    upper = math.log(high[0] / low2[0]) if low2[0] > 0 else math.inf
    return Result(law, attribute, 2 * half, grid.size, p_value, lower, upper)


def words(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.5f}"


def main(arguments: list[str] | None = None) -> list[Result]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=float, default=1e9, help="in all, over all laws")
    options = parser.parse_args(arguments)
    each = int(options.draws) // len(CASES)
    began = time.time()
    print("| law | column | draws | cells | p of chi-square | ε stated | ε at least | ε at most |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    results = []
    for wish, attribute in CASES:
        r = audit(wish, attribute, each)
        asked = ", ".join(
            f"{k} = {v:g}" for k, v in wish.to_dict().items() if isinstance(v, float | int) and k != "bins"
        )
        stated = words(r.law.guarantee().epsilon)
        print(
            f"| {wish.law} {asked or 'by a matrix'} | {attribute.name} | {r.draws:,} | {r.cells} | {r.p_value:.3f} | {stated} "
            f"| {words(r.lower)} | {words(r.upper)} |",
            flush=True,
        )
        results.append(r)
    wrong = [r for r in results if not r.right]
    print(
        f"\n{sum(r.draws for r in results):,} draws in {time.time() - began:.0f} s; {len(wrong)} of {len(results)} laws refuted"
    )
    return results


if __name__ == "__main__":
    sys.exit(any(not r.right for r in main()))
