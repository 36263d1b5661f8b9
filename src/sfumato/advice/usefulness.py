"""What a column is worth to a tree and what it tells of a person, in bits: which columns cost least to do without."""

from __future__ import annotations

import math

import numpy as np

from sfumato.advice.rehearsal import Rehearsal
from sfumato.counts import IntArray
from sfumato.plans import Plan
from sfumato.table import Column


def order_by_cost(plan: Plan, rehearsal: Rehearsal) -> list[str]:
    """Return the modified columns, the one whose loss costs least first: what a tree loses, per bit that the column identifies.

    Of columns that a tree does without, or without a class, those that identify most come first, so that few are lost.
    """
    least = 0.01  # bits that any column is worth
    losses = rehearsal.tree_losses(plan.channels)
    if losses is None:
        losses = _class_bits(plan, rehearsal)
    bits = {n: own_bits(rehearsal.truth[n]) for n in plan.channels}
    return sorted(plan.channels, key=lambda n: (losses[n] + least) / max(bits[n], 1e-9))


def _class_bits(plan: Plan, rehearsal: Rehearsal) -> dict[str, float]:
    """Return what each modified column tells of the class by itself, where there are too few rows for a tree."""
    target = rehearsal.truth.target
    return {n: 0.0 if target is None else shared_bits(rehearsal.truth[n], target) for n in plan.channels}


def own_bits(column: Column) -> float:
    """H(X) in bits, on at most 20 cells: what the column tells of a person."""
    return _entropy(np.bincount(cells_of(column)))


def shared_bits(column: Column, target: Column) -> float:
    """I(X; class) in bits, less what chance alone shows: (cells − 1)(classes − 1)/2n nats."""
    cells, classes = cells_of(column), target.codes + 1
    joint = np.bincount(cells * (classes.max() + 1) + classes)
    chance = (len(np.unique(cells)) - 1) * (len(np.unique(classes)) - 1) / (2 * math.log(2) * max(len(cells), 1))
    shared = _entropy(np.bincount(cells)) + _entropy(np.bincount(classes)) - _entropy(joint)
    return max(shared - chance, 0.0)


def cells_of(column: Column) -> IntArray:
    """Return a cell of each row: its label, or one of 20 quantiles; a missing value is a cell as well."""
    if not column.attribute.kind.numeric:
        return column.codes + 1
    known = column.values[~np.isnan(column.values)]
    cuts = np.unique(np.quantile(known, np.arange(1, 20) / 20)) if len(known) else np.zeros(0)
    return np.where(np.isnan(column.values), 0, np.searchsorted(cuts, column.values, side="left") + 1)


def _entropy(counts: IntArray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
