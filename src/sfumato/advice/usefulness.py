"""What a column is worth and what it gives away, in bits: which columns cost least to do without."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from sfumato.advice.rehearsal import Rehearsal
from sfumato.counts import FloatArray, IntArray
from sfumato.plans import Plan
from sfumato.table import Column


def order_by_cost(plan: Plan, rehearsal: Rehearsal) -> list[str]:
    """Return the modified columns, the one whose loss costs least first: least information on the class per bit that identifies.

    Of columns that tell nothing of the class, or without a class, those that identify most come first, so that few are lost.
    """
    target, least = rehearsal.truth.target, 0.01  # bits that any column is worth
    useful = dict.fromkeys(plan.channels, 0.0) if target is None else class_bits(plan, rehearsal)
    bits = {n: own_bits(rehearsal.truth[n]) for n in plan.channels}
    return sorted(plan.channels, key=lambda n: (useful[n] + least) / max(bits[n], 1e-9))


def class_bits(plan: Plan, rehearsal: Rehearsal) -> dict[str, float]:
    """Return what each modified column tells of the class: by itself, or beside the other column that it helps most.

    max(I(X; C), max over Y of I(X; C | Y)) in bits, so a column that matters only beside another one counts.
    """
    max_rows = 20_000
    target = rehearsal.truth.required_target
    rows = np.random.default_rng(rehearsal.seed).permutation(rehearsal.truth.rows)[:max_rows]
    classes = target.codes[rows] + 1
    cells = {n: cells_of(rehearsal.truth[n])[rows] for n in plan.channels}
    alone = {n: _shared(c, classes) for n, c in cells.items()}
    out = dict(alone)
    for one, other in combinations(cells, 2):
        both = _shared(cells[one] * (cells[other].max() + 1) + cells[other], classes)
        out[one] = max(out[one], both - alone[other])
        out[other] = max(out[other], both - alone[one])
    return out


def own_bits(column: Column) -> float:
    """H(X) in bits, on at most 20 cells: what the column tells of a person."""
    return _entropy(np.bincount(cells_of(column)))


def shared_bits(column: Column, target: Column) -> float:
    """I(X; class) in bits, less what chance alone shows."""
    return _shared(cells_of(column), target.codes + 1)


def cells_of(column: Column) -> IntArray:
    """Return a cell of each row: its label, or one of 20 quantiles; a missing value is a cell as well."""
    if not column.attribute.kind.numeric:
        return column.codes + 1
    known = column.values[~np.isnan(column.values)]
    cuts = np.unique(np.quantile(known, np.arange(1, 20) / 20)) if len(known) else np.zeros(0)
    return np.where(np.isnan(column.values), 0, np.searchsorted(cuts, column.values, side="left") + 1)


def _shared(cells: IntArray, classes: IntArray) -> float:
    """Return Î(X; C) − (cells − 1)(classes − 1)/2n nats, in bits, at least 0; the second term is what chance alone shows."""
    size = int(classes.max()) + 1
    joint = np.bincount(cells * size + classes, minlength=(int(cells.max()) + 1) * size).reshape(-1, size)
    one, other = joint.sum(axis=1), joint.sum(axis=0)
    chance = ((one > 0).sum() - 1) * ((other > 0).sum() - 1) / (2 * math.log(2) * max(len(cells), 1))
    return max(_entropy(one) + _entropy(other) - _entropy(joint.ravel()) - float(chance), 0.0)


def _entropy(counts: IntArray | FloatArray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
