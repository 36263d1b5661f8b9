"""The strategy `joint`: up to four attributes reconstructed together, class by class, and a tree grown on their map.

Reconstruction one attribute at a time cannot see that attributes interact. Noise is independent across attributes, so
their joint distribution can be had at little more cost; the tree then grows on cells of known mass, not on records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.table import Table, refuse_correlated_noise
from sfumato.trees.grow import Growth, Limits, Pruner, grow
from sfumato.trees.strategies._axes import Axis, keep_classified_rows
from sfumato.trees.strategies._maps import JointMap, fit_map, map_axes
from sfumato.trees.strategies.attributes import choose_attributes
from sfumato.trees.strategies.base import Fitted, Progress, quiet, strategy
from sfumato.trees.tree import Node, Tree

STEPS = (4000, 1000, 400, 200)
"""EM steps for maps of one to four attributes: fewer axes can be had sharper before chance shows; a long list of labels as few
as any, since it has few records a cell."""


@strategy("joint")
def fit_joint(
    table: Table,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
    attributes: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Choose the attributes, reconstruct their joint distribution for each class, grow a tree on it.

    Parameters
    ----------
    table
        The release.
    limits, pruner
        Where the tree ends; a hundred leaves and MDL unless said otherwise.
    seed
        Which records are held out while attributes are chosen.
    attributes
        The attributes, if they are chosen already; at most four.
    progress
        Told what is being done.
    """
    smoothing = 0.005
    refuse_correlated_noise("the strategy joint", table.columns)
    table, _ = keep_classified_rows(table)
    tell = progress or quiet
    why = "as asked"
    if attributes is None:
        tell("choosing attributes")
        choice = choose_attributes(table, seed=seed)
        attributes, why = choice.chosen, choice.sentence()
    tell(f"reconstructing {', '.join(attributes) or 'nothing'} together")
    axes = map_axes([table[name] for name in attributes])
    steps = STEPS[-1 if any(a.many_labels for a in axes) else min(max(len(axes), 1), len(STEPS)) - 1]
    found = fit_map(axes, table, iterations=steps, smoothing=smoothing)
    tree = map_tree(found, table, limits=limits, pruner=pruner)
    notes = {"attributes": list(attributes), "cells": [axis.size for axis in axes], "why": why}
    return Fitted(tree, found.class_log_loss, notes)


def map_tree(found: JointMap, table: Table, *, limits: Limits | None = None, pruner: Pruner | None = None) -> Tree:
    """The tree that draws the borders of the map: which class leads in which cell.

    It grows on the lead of each cell's first class over its second, since that is what a wrong border costs: Σ lead over the
    cells on the wrong side is exactly the accuracy lost against the map. The leaves then state the full masses.
    """
    max_leaves = 100
    masses = found.weights.reshape(len(found.shares), -1) * table.rows
    cells = np.unravel_index(np.arange(masses.shape[1]), found.masses[0].shape) if found.axes else ()
    codes = [axis.cell_codes()[cell] for axis, cell in zip(found.axes, cells, strict=True)]
    limits = limits or Limits(max_leaves=max_leaves)
    return weighted_tree(table, found.axes, codes, leads(masses), "joint", limits, pruner, counts=masses)


def leads(masses: FloatArray) -> FloatArray:
    """By how much the first class of each entry is ahead of the second; nothing for all other classes."""
    if len(masses) < 2:
        return masses
    first = masses.argmax(axis=0)
    ranked = np.sort(masses, axis=0)
    out = np.zeros_like(masses)
    out[first, np.arange(masses.shape[1])] = ranked[-1] - ranked[-2]
    return out


def weighted_tree(
    table: Table,
    axes: Sequence[Axis],
    codes: Sequence[IntArray],
    weights: FloatArray,
    strategy: str,
    limits: Limits,
    pruner: Pruner | None = None,
    *,
    counts: FloatArray | None = None,
) -> Tree:
    """A tree on entries with a weight for each class (one row a class); `counts` is what the nodes are to state instead."""
    attributes = tuple(column.attribute for column in table.columns)
    if not axes:
        whole = (weights if counts is None else counts).sum(axis=1)
        return Tree(attributes, table.labels, (_leaf(whole),), strategy)
    grids: list[Grid] = [axis.grid for axis in axes]
    classes, entries = weights.shape
    growth = grow(
        [np.tile(code, classes) for code in codes],
        grids,
        np.repeat(np.arange(classes), entries),
        classes,
        weights.ravel(),
        limits,
        pruner=pruner,
        ordered=[axis.ordered for axis in axes],
    )
    if counts is not None:
        growth = recount(growth, codes, counts)
    tree = Tree.of(growth, [axis.attribute for axis in axes], grids, table.labels, strategy)
    return replace(tree, attributes=attributes)


def recount(growth: Growth, codes: Sequence[IntArray], counts: FloatArray) -> Growth:
    """The same tests with other counts: every entry is sent down and counted at all nodes on its way."""
    cells = np.stack(codes) + 1
    here = np.zeros(cells.shape[1], np.int64)
    out = np.zeros_like(growth.counts)
    moving = np.arange(cells.shape[1])
    while len(moving):
        for c, row in enumerate(counts):
            out[:, c] += np.bincount(here[moving], row[moving], minlength=growth.size)
        moving = moving[growth.attribute[here[moving]] >= 0]
        node = here[moving]
        here[moving] = growth.first_child[node] + growth.branch[node, cells[growth.attribute[node], moving]]
    return replace(growth, counts=out)


def _leaf(counts: FloatArray) -> Node:
    return Node(tuple(float(c) for c in counts))
