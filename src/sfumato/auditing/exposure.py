"""Who is exposed: for each row of the original the bits by which its released row points at it.

i(x; y) = Σ_a log₂ P(y_a | x_a)/P(y_a): how much likelier this released row is for this person than for anybody. To single one out
of n rows takes log₂ n bits; a person whose row carries more stands out for those who know them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks import Belief, LearnedLinkage, Pairs, Targets, View, learn_beliefs
from sfumato.channels import CorrelatedGaussian
from sfumato.counts import FloatArray, IntArray
from sfumato.table import group_by_joint_law


@dataclass(frozen=True, eq=False)
class Exposure:
    """Bits per row, the worst rows, and what gives them away."""

    bits: FloatArray
    needed: float
    worst: IntArray
    worst_bits: FloatArray
    worst_linked: FloatArray
    worst_effective: FloatArray
    worst_column: tuple[str, ...]
    leading: tuple[str, ...] = ()
    """The columns that point at people most: at most three that carry half of the bits."""

    @property
    def over(self) -> float:
        """The share of rows that carry more bits than it takes to single one out."""
        return float(np.mean(self.bits > self.needed)) if len(self.bits) else 0.0

    def of_all(self) -> dict[str, Any]:
        """Return what can be said of all rows together, as plain data."""
        quantiles = np.quantile(self.bits, [0.5, 0.95, 0.99]) if len(self.bits) else np.zeros(3)
        return {
            "bits_needed_to_single_out": round(self.needed, 2),
            "bits_median": round(float(quantiles[0]), 1),
            "bits_95": round(float(quantiles[1]), 1),
            "bits_99": round(float(quantiles[2]), 1),
            "share_over": self.over,
            "point_at_people_most": list(self.leading),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the worst rows included."""
        edges, counts = self.histogram()
        worst = {
            "row": (self.worst + 1).tolist(),
            "bits": self.worst_bits.tolist(),
            "found_with_probability": self.worst_linked.tolist(),
            "hidden_among": self.worst_effective.tolist(),
            "given_away_by": self.worst_column,
        }
        return self.of_all() | {
            "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
            "worst": [dict(zip(worst, person, strict=True)) for person in zip(*worst.values(), strict=True)],
        }

    def histogram(self, cells: int = 40) -> tuple[FloatArray, IntArray]:
        """Return the counts of rows by bits."""
        low, high = float(self.bits.min()), float(self.bits.max())
        edges = np.linspace(low, max(high, low + 1e-9), cells + 1)
        return edges, np.histogram(self.bits, edges)[0].astype(np.int64)


def column_bits(belief: Belief, truth: FloatArray) -> FloatArray:
    """log₂ P(y | x)/P(y) for each row of one column; a cell missing in both says what share is missing."""
    column = belief.column
    out = np.zeros(len(truth))
    missing = np.isnan(column.values)
    if missing.any() and not missing.all():
        share = float(missing.mean())
        out[missing] -= math.log2(share)
        out[~missing] -= math.log2(1 - share)
    if belief.clear:
        _, places, counts = np.unique(column.values[~missing], return_inverse=True, return_counts=True)
        out[~missing] -= np.log2(counts[places] / counts.sum()) if len(counts) else 0.0
        return out
    least = 1e-12  # no row carries more bits than a probability of this says
    seen = (belief.codes >= 0) & ~np.isnan(truth)
    given = belief.kernel.at(belief.codes[seen], belief.grid.locate(truth[seen]))
    out[seen] += np.log2(np.maximum(given, least)) - np.log2(np.maximum(belief.evidence[belief.codes[seen]], least))
    return out


def joint_bits(view: View, law: CorrelatedGaussian, names: list[str], truth: Mapping[str, FloatArray]) -> FloatArray:
    """log₂ f(y | x)/f(y) over columns whose noise was drawn together, y taken as normal; NaN where a value is missing."""
    x, y = (np.column_stack([table[n] for n in names]) for table in (truth, {n: view[n].values for n in names}))
    complete = ~np.isnan(x).any(axis=1) & ~np.isnan(y).any(axis=1)
    out = np.full(len(x), np.nan)
    if complete.sum() <= len(names):
        return out
    spread = np.atleast_2d(np.cov(y[complete], rowvar=False))
    given = _log_normal(y[complete] - x[complete], law.among(names))
    out[complete] = (given - _log_normal(y[complete] - y[complete].mean(axis=0), spread)) / math.log(2)
    return out


def _log_normal(r: FloatArray, covariance: FloatArray) -> FloatArray:
    """Log of the normal density, less the constant that both sides of a ratio share."""
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, r.T)
    return np.asarray(-0.5 * (white**2).sum(axis=0) - np.log(np.diag(root)).sum())


def record_information(view: View, bits: Mapping[str, float]) -> dict[str, Any]:
    """What a whole record tells at most: Σ I(X_a; Z_a), since noise drawn cell by cell adds no more than that.

    Of columns whose noise was drawn together it is h(Z) − h(R) ≤ ½ log₂ |Σ_z|/|Σ_r|, as a normal Z is the most uncertain.
    """
    if any(view[n].channel is None for n in view.names if n != view.target):
        return {"bits_at_most": None, "privacy_loss_at_most": None}
    groups = group_by_joint_law(view.columns)
    together = [n for names in groups.values() for n in names]
    total = sum(b for n, b in bits.items() if n not in together)
    for law, names in groups.items():
        y = np.column_stack([view[n].values for n in names])
        y = y[~np.isnan(y).any(axis=1)]
        if len(y) <= len(names):
            return {"bits_at_most": None, "privacy_loss_at_most": None}
        spread = np.atleast_2d(np.cov(y, rowvar=False))
        determinants = [np.linalg.slogdet(m)[1] for m in (spread, law.among(names))]
        total += max(0.5 * float(determinants[0] - determinants[1]) / math.log(2), 0.0)
    words = f"A whole row tells at most {total:.1f} bits over all modified columns (privacy loss {1 - 2**-total:.1%})."
    return {"bits_at_most": total, "privacy_loss_at_most": 1 - 2**-total, "information_in_words": words}


def measure_exposure(view: View, truth: Mapping[str, FloatArray], pairs: Pairs, worst: int = 20) -> Exposure:
    """Return the bits of all rows; for the worst, the chance that an attacker who knows them picks their row.

    The law of a guided column, which no release states, is learned from the `pairs`.
    """
    beliefs = {**view.beliefs, **learn_beliefs(view, pairs)}
    by_column = np.stack([column_bits(beliefs[n], truth[n]) for n in view.names])
    for law, names in group_by_joint_law(view.columns).items():
        places = [view.names.index(n) for n in names]
        together = joint_bits(view, law, names, truth)
        # What the joint law says of all of them takes the place of their sum, which keeps its proportions.
        missing = np.nan_to_num((together - by_column[places].sum(axis=0)) / len(places))
        by_column[places] += missing
    bits = by_column.sum(axis=0)
    rows = np.argsort(-bits, kind="stable")[: min(worst, len(bits))].astype(np.int64)
    links = LearnedLinkage(pairs, Targets({n: truth[n][rows] for n in view.names})).run(view)
    leading = tuple(view.names[int(i)] for i in by_column[:, rows].argmax(axis=0))
    needed = math.log2(max(view.rows, 1))
    worst_linked, effective = links.probability(rows), links.effective
    most = name_leading(dict(zip(view.names, by_column.mean(axis=1).tolist(), strict=True)))
    return Exposure(bits, needed, rows, bits[rows], worst_linked, effective, leading, most)


def name_leading(bits: Mapping[str, float], most: int = 3) -> tuple[str, ...]:
    """Return the columns that carry most bits about whose row it is, no more than it takes to carry half of them all."""
    ranked = sorted(bits, key=lambda name: -bits[name])
    carried = np.cumsum([max(bits[name], 0.0) for name in ranked])
    needed = int(np.searchsorted(carried, carried[-1] / 2)) + 1
    return tuple(ranked[: min(needed, most)])
