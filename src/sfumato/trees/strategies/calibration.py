"""How far the judge of `heldout` errs, found where the truth is known.

The judge takes the class to depend on the leaf alone. Where it changes within a leaf, released values tell more of the class
than the chances of the leaves can, and the shares are driven apart to make up for it: a tree with few impure leaves is praised.
The one record that every leaf is given at the outset pulls the other way: a tree of many small leaves is blamed. Neither is
small (3 to 6 points on a few thousand records), and both depend on the tree. So true records are drawn from a model of each
class, sent through the channels, and judged; since their truth is known, so is the error.

Two models bracket the truth. The one of the records that the trees grew on has the same accidents in it as the trees, and
flatters them; the one of the held-out records has its own, and finds fault with borders that are right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.table import Table
from sfumato.trees.strategies._axes import Axis
from sfumato.trees.strategies._products import Products, marginal
from sfumato.trees.strategies.held_out import Background, Verdict, leaves_of, score_chances
from sfumato.trees.strategies.mixture import ClassMixtures, fit_mixtures
from sfumato.trees.tree import Tree

Name = TypeVar("Name")


TRIALS, MOST_DRAWN = 3, 3_000
"""Trials with each model, and records in one at most."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Records with their class: released bins, an array an axis of a background."""

    bins: list[IntArray]
    classes: IntArray


def calibrate_verdicts(
    verdicts: Mapping[Name, Verdict],
    trees: Mapping[Name, Tree],
    background: Background,
    models: Sequence[ClassMixtures],
    held_out: Table,
    seed: int,
) -> dict[Name, Verdict]:
    """The verdicts with what the judge errs by on as many records (or `MOST_DRAWN`) of each model, `TRIALS` times."""
    rows = min(held_out.rows, MOST_DRAWN)
    share, size = rows / held_out.rows, len(held_out.labels)
    found = {name: np.empty((len(models), TRIALS)) for name in trees}
    for m, t in np.ndindex(len(models), TRIALS):
        drawn = draw(models[m], background, rows, np.random.default_rng([seed, 17, m, t]))
        for name, tree in trees.items():
            chances = background.chances_of(tree, drawn.bins)
            # The records given at the outset weigh as much beside fewer ones as they did beside all.
            found[name][m, t] = score_chances(chances, drawn.classes, size, tree, given=share).accuracy
    right = {name: np.array([[accuracy(model, tree)] for model in models]) for name, tree in trees.items()}
    return {name: replace(verdicts[name], slips=temper(found[name] - right[name], share)) for name in trees}


def accuracy(models: ClassMixtures, tree: Tree) -> float:
    """Σ_c π_c P(the tree says c | c), where the classes are as modelled."""
    says = tree.node_classes[leaves_of(tree)]
    nothing_seen = [np.array([-1])] * len(models.axes)
    chances = [Background(models.axes, model).chances_of(tree, nothing_seen)[0] for model in models.models]
    return float(
        sum(
            share * chance[says == c].sum()
            for c, (share, chance) in enumerate(zip(models.shares, chances, strict=True))
        )
    )


def temper(slips: FloatArray, share: float) -> FloatArray:
    """Slips on a share of the records as they would be on all: bias stays, chance shrinks."""
    middle = slips.mean(axis=1, keepdims=True)
    return np.asarray(middle + (slips - middle) * np.sqrt(share))


def draw(models: ClassMixtures, background: Background, rows: int, rng: np.random.Generator) -> Drawn:
    """Records of the modelled classes, on the axes of the background."""
    classes = rng.choice(len(models.shares), rows, p=models.shares / models.shares.sum())
    modelled = {axis.name: np.empty(rows, np.int64) for axis in models.axes}
    for c, model in enumerate(models.models):
        here = np.flatnonzero(classes == c)
        for axis, sample in zip(models.axes, model.sample(len(here), rng), strict=True):
            modelled[axis.name][here] = sample
    return Drawn([observe_cells(axis, modelled[axis.name], rng) for axis in background.axes], classes)


def observe_cells(axis: Axis, cells: IntArray, rng: np.random.Generator) -> IntArray:
    """The bins in which records of these true cells are released, drawn by the kernel."""
    bins = axis.kernel.shape[0]
    height = rng.random(len(cells))
    if axis.many_labels:
        drawn = np.empty(len(cells), np.int64)
        for cell in np.unique(cells):
            steps = np.cumsum(axis.kernel @ (np.arange(axis.size) == cell).astype(np.float64))
            here = cells == cell
            drawn[here] = np.searchsorted(steps / steps[-1], height[here], side="right")
        return np.minimum(drawn, bins - 1)
    steps = np.cumsum(axis.kernel.dense(), axis=0)
    steps /= steps[-1]
    # The same ladder as in `Products.sample`: one climb for each cell, laid end to end.
    ladder = (steps + np.arange(axis.size)).T.ravel()
    return np.minimum(np.searchsorted(ladder, cells + height, side="right") - cells * bins, bins - 1)


def held_out_model(held_out: Table, names: Sequence[str], seed: int) -> ClassMixtures:
    """A model of each class from held-out records, rougher than that of the strategy `mixture`."""
    max_modelled_rows = 12_000  # Held-out records that the second model is fitted to.
    return fit_mixtures(held_out.take(np.arange(min(held_out.rows, max_modelled_rows))), names, starts=1, seed=seed)


def widen_mixtures(models: ClassMixtures, table: Table, background: Background) -> ClassMixtures:
    """The same with all axes of the background: what is not modelled is reconstructed by itself, class by class."""
    have = {axis.name for axis in models.axes}
    more = [axis for axis in background.axes if axis.name not in have]
    codes = [axis.codes(table[axis.name]) for axis in more]
    wider = []
    for c, model in enumerate(models.models):
        here = table.codes == c
        alone = [np.repeat(marginal(a, code[here]), model.size, axis=0) for a, code in zip(more, codes, strict=True)]
        wider.append(Products(model.weights, (*model.tables, *alone)))
    return ClassMixtures((*models.axes, *more), tuple(wider), models.shares)
