"""What a scale gains for columns with long tails: mean and median at 50 % on the scale that `plan` proposes, and on the plain range.

    python benchmarks/scales.py --keys 200 --columns cost capital_gain capital_loss

`cost` is lognormal with one value of 290,000; the others are of adult. Every key makes one release of the column in memory. The
error is the root mean square of estimate − truth, the stated one is the mean of the figure's standard errors, and `covers` is how
often the 95 % interval holds the truth. A goal of ¼ is that of issue 17.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from measure import Ratio, ratios

import sfumato as sf
from sfumato.counts import FloatArray
from sfumato.io import open_table, read_blocks
from sfumato.plans.tails import Sizes, with_scale
from sfumato.randomness import SecretKey
from sfumato.reconstruction import reconstruct
from sfumato.scales import Log, Scale
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column


def read_column(name: str) -> tuple[FloatArray, float]:
    """Return true values, and the upper end of the domain."""
    if name == "cost":
        chance = np.random.default_rng(1)
        return np.append(np.exp(chance.normal(np.log(3000), 1.0, 9999)).round(2).clip(0, 290_000), 290_000.0), 290_000.0
    blocks = read_blocks(open_table("adult"), [name])
    values = np.concatenate([b.batch.column(name).to_numpy(zero_copy_only=False) for b in blocks]).astype(np.float64)
    return values, float(values.max())


@dataclass(frozen=True)
class Score:
    """What the figures of several releases are worth."""

    estimates: FloatArray
    errors: FloatArray
    covered: FloatArray

    def error(self, truth: float) -> float:
        """The root mean square of estimate − truth."""
        return float(np.sqrt(np.mean((self.estimates - truth) ** 2)))


def score(attribute: Attribute, values: FloatArray, privacy: float, keys: int) -> dict[str, Score]:
    """Release the column under each key, and read mean and median off the reconstruction."""
    law = sf.Gaussian(privacy=privacy).on(attribute)
    truth = {"mean": float(values.mean()), "median": float(np.median(values))}
    column = Column(attribute, None, attribute.to_places(values))
    figures: dict[str, list[tuple[float, float, bool]]] = {name: [] for name in truth}
    for key in range(keys):
        released = reconstruct(column.through(law, SecretKey(key.to_bytes(32, "big"))))
        for name, figure in (("mean", released.mean()), ("median", released.quantile(0.5))):
            covered = figure.low - 1e-9 <= truth[name] <= figure.high + 1e-9
            figures[name].append((float(figure), figure.se, covered))
    return {name: Score(*np.array(rows, dtype=np.float64).T) for name, rows in figures.items()}


def compare(name: str, privacy: float, keys: int, scales: Sequence[Scale]) -> list[Ratio]:
    """Print a line for each scale and figure, and return the ratios of the proposed scale."""
    values, high = read_column(name)
    plain = Attribute(name, Kind.REAL, Interval(0, high))
    proposed = with_scale(plain, Sizes.of(values))
    assert proposed.scale is not None, f"{name}: no scale is proposed"
    truth = {"mean": float(values.mean()), "median": float(np.median(values))}
    out, before = [], None
    for attribute in (plain, proposed, *(replace(plain, scale=scale) for scale in scales)):
        scored = score(attribute, values, privacy, keys)
        words = "plain range" if attribute.scale is None else attribute.scale.in_words()
        for figure, s in scored.items():
            cells = f"{truth[figure]:,.0f} | {s.error(truth[figure]):,.1f} | {s.errors.mean():,.1f} | {s.covered.mean():.1%}"
            print(f"| {name} | {words} | {figure} | {cells} |", flush=True)
            if attribute is proposed and before is not None:
                ours, peer = s.errors.mean(), before[figure].errors.mean()
                out.append(
                    Ratio(
                        f"{name}: stated error of the {figure}", f"{ours:,.1f}", f"{peer:,.1f}", ours / peer, "≤ 0.25"
                    )
                )
        before = before or scored
    return out


def main() -> None:
    """Print a table of all columns and scales."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--privacy", type=float, default=0.5)
    parser.add_argument("--columns", nargs="+", default=["cost", "capital_gain", "capital_loss"])
    parser.add_argument("--units", nargs="*", type=float, default=[], help="log scales of these units as well")
    options = parser.parse_args()
    print(
        "| column | scale | figure | truth | error | stated | covers |\n|---|---|---|---:|---:|---:|---:|", flush=True
    )
    rows = []
    for name in options.columns:
        rows += compare(name, options.privacy, options.keys, [Log(unit) for unit in options.units])
    ratios(rows)


if __name__ == "__main__":
    main()
