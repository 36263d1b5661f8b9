"""The strategy `joint`: up to four attributes reconstructed together, class by class, and a tree grown on their map.

Reconstruction one attribute at a time cannot see that attributes interact. Noise is independent across attributes, so
their joint distribution can be had at little more cost; the tree then grows on cells of known mass, not on rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.reconstruction import apply_along_axes, fit_separable
from sfumato.table import Column, Table, refuse_correlated_noise
from sfumato.trees.grow import Growth, Limits, Pruner, grow
from sfumato.trees.strategies.base import (
    Axis,
    Draft,
    Fitted,
    Progress,
    class_shares,
    keep_classified_rows,
    quiet,
    strategy,
)
from sfumato.trees.strategies.judge import fit_draft
from sfumato.trees.tree import Node, Tree


@strategy("joint")
def fit_joint(
    table: Table,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
    attributes: Sequence[str] | None = None,
    progress: Progress = quiet,
) -> Fitted:
    """Choose the attributes, reconstruct their joint distribution for each class, grow a tree on it.

    Parameters
    ----------
    table
        The release.
    limits, pruner
        Where the tree ends; a hundred leaves, and what held-out rows bear out, unless said otherwise.
    seed
        Which rows are held out while attributes are chosen.
    attributes
        The attributes, if they are chosen already; at most four.
    progress
        Is told what is being done.
    """
    draft = partial(draft_joint, limits=limits, seed=seed, attributes=attributes, progress=progress)
    return fit_draft(table, [draft], pruner, max_folds=1)


def draft_joint(
    table: Table,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    attributes: Sequence[str] | None = None,
    progress: Progress = quiet,
) -> Draft:
    """Fit the map of the attributes and grow its tree; see `fit_joint`."""
    table = keep_classified_rows(table)
    joint, notes = fit_joint_map(table, seed=seed, attributes=attributes, progress=progress)
    return replace(draft_map(joint, table, limits), notes=notes)


def fit_joint_map(
    table: Table, *, seed: int = 0, attributes: Sequence[str] | None = None, progress: Progress = quiet
) -> tuple[JointMap, dict[str, Any]]:
    """Choose up to four attributes and reconstruct their joint distribution for each class.

    Parameters
    ----------
    table
        The release; every row has a class.
    seed
        Which rows are held out while attributes are chosen.
    attributes
        The attributes, if they are chosen already.
    progress
        Is told what is being done.

    Returns
    -------
    tuple
        The map, and notes on the attributes and why they were chosen.
    """
    # EM steps for maps of one to four attributes: fewer axes can be had sharper before chance shows; a long list of labels
    # gets as few as any, since it has few rows per cell.
    em_steps = (4000, 1000, 400, 200)
    smoothing = 0.005
    refuse_correlated_noise("the strategy joint", table.columns)
    why = "as asked"
    if attributes is None:
        progress("choosing attributes")
        choice = choose_attributes(table, seed=seed)
        attributes, why = choice.chosen, choice.sentence()
    progress(f"reconstructing {', '.join(attributes) or 'nothing'} together")
    axes = map_axes([table[name] for name in attributes])
    steps = em_steps[-1 if any(a.many_labels for a in axes) else min(max(len(axes), 1), len(em_steps)) - 1]
    joint = fit_map(axes, table, iterations=steps, smoothing=smoothing)
    return joint, {"attributes": list(attributes), "cells": [axis.size for axis in axes], "why": why}


def draft_map(joint: JointMap, table: Table, limits: Limits | None = None) -> Draft:
    """Grow the tree that draws the borders of the map: which class leads in which cell.

    It grows on the lead of each cell's first class over its second, since that is what a wrong border costs: Σ lead over the
    cells on the wrong side is exactly the accuracy lost against the map. The leaves then state the full masses.
    """
    masses = joint.weights.reshape(len(joint.shares), -1) * table.rows
    cells = np.unravel_index(np.arange(masses.shape[1]), joint.masses[0].shape) if joint.axes else ()
    limits = limits or Limits(max_leaves=100)
    return draft_weighted(table, joint.axes, cells, leads(masses), "joint", limits, counts=masses)


def leads(masses: FloatArray) -> FloatArray:
    """Return by how much the first class of each entry is ahead of the second; 0 for all other classes."""
    if len(masses) < 2:
        return masses
    first = masses.argmax(axis=0)
    ranked = np.sort(masses, axis=0)
    out = np.zeros_like(masses)
    out[first, np.arange(masses.shape[1])] = ranked[-1] - ranked[-2]
    return out


def draft_weighted(
    table: Table,
    axes: Sequence[Axis],
    cells: Sequence[IntArray],
    weights: FloatArray,
    strategy: str,
    limits: Limits,
    *,
    counts: FloatArray | None = None,
) -> Draft:
    """Grow a tree on entries with true cells and a weight for each class, shape (classes, entries).

    `counts`, of the same shape, is what the nodes are to state instead of the weights.
    """
    attributes = tuple(column.attribute for column in table.columns)
    if not axes:
        whole = (weights if counts is None else counts).sum(axis=1)
        root = Tree(attributes, table.labels, (Node(tuple(float(c) for c in whole)),), strategy)
        return Draft(lambda _: root)
    codes = [axis.cell_codes()[cell] for axis, cell in zip(axes, cells, strict=True)]
    grids = [axis.grid for axis in axes]
    classes, entries = weights.shape

    def grow_with(pruner: Pruner) -> Growth:
        return grow(
            [np.tile(code, classes) for code in codes],
            grids,
            np.repeat(np.arange(classes), entries),
            classes,
            weights.ravel(),
            limits,
            pruner=pruner,
            ordered=[axis.ordered for axis in axes],
        )

    def finish(growth: Growth) -> Tree:
        if counts is not None:
            growth = recount(growth, codes, counts)
        tree = Tree.of(growth, [axis.attribute for axis in axes], grids, table.labels, strategy)
        return replace(tree, attributes=attributes)

    return Draft.of(grow_with, finish)


def recount(growth: Growth, codes: Sequence[IntArray], counts: FloatArray) -> Growth:
    """Return the same tests with other counts: every entry is sent down and counted at all nodes on its way."""
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


@dataclass(frozen=True, eq=False)
class JointMap:
    """P(true cells | class) for every class, and the shares of the classes."""

    axes: tuple[Axis, ...]
    masses: tuple[FloatArray, ...]
    shares: FloatArray

    @property
    def weights(self) -> FloatArray:
        """π_c P(cells | class c), the class on the first axis; they add up to 1."""
        return np.stack([share * mass for share, mass in zip(self.shares, self.masses, strict=True)])

    @property
    def separation(self) -> float:
        """Σ_x max_c π_c P(x | c): how often the map's own best guess of the class would be right."""
        return float(self.weights.max(axis=0).sum())

    def class_log_loss(self, table: Table) -> FloatArray:
        """Return −log P(class | released values) of each row; one that lies off the axes is judged by class shares alone."""
        min_mass = 1e-12  # no class is thought less likely, so that one surprising row cannot decide a comparison
        places = cell_numbers(self.axes, table)
        kernels = [axis.kernel for axis in self.axes]
        pairs = zip(self.shares, self.masses, strict=True)
        seen = np.stack([share * apply_along_axes(kernels, mass).ravel() for share, mass in pairs]) + min_mass
        loss = -np.log(seen[table.codes, places] / seen[:, places].sum(axis=0))
        return np.where(places < 0, -np.log(self.shares)[table.codes], loss)


def cell_numbers(axes: Sequence[Axis], table: Table) -> IntArray:
    """Return the place of every row in the flat table of released bins; −1 where a value is missing unexpectedly."""
    out = np.zeros(table.rows, np.int64)
    present = np.ones(table.rows, bool)
    for axis in axes:
        codes = axis.codes(table)
        present &= codes >= 0
        out = out * axis.kernel.shape[0] + codes
    return np.where(present, out, -1)


def fit_map(axes: Sequence[Axis], table: Table, *, iterations: int, smoothing: float) -> JointMap:
    """Fit each class by EM(S); the kernel is separable, so a step is one small matrix product per axis.

    A step that moves fewer than `min_moved` rows of the class is the last: further ones would follow chance.
    """
    min_moved = 10.0
    shares = class_shares(table.codes, len(table.labels))
    if not axes:  # there is one cell, and all is in it
        return JointMap((), (np.ones(()),) * len(shares), shares)
    places = cell_numbers(axes, table)
    kernels = [axis.kernel for axis in axes]
    strengths = [axis.smoothing(smoothing) for axis in axes]
    shape = tuple(kernel.shape[0] for kernel in kernels)
    masses = []
    for c in range(len(shares)):
        here = places[(table.codes == c) & (places >= 0)]
        counts = np.bincount(here, minlength=math.prod(shape)).astype(np.float64).reshape(shape)
        tolerance = min_moved / max(len(here), 1)
        masses.append(fit_separable(kernels, counts, strengths, iterations, tolerance=tolerance).mass)
    return JointMap(tuple(axes), tuple(masses), shares)


MAX_AXIS_CELLS = ((100,), (52, 52), (36, 36, 14), (22, 16, 14, 8))
"""Cells of the long axes in the order of choice, for one to four of them: what was chosen first is drawn finest."""
MAX_CELLS = 45_000


def axis_sizes(natural: Sequence[int], fixed: Sequence[bool]) -> list[int]:
    """Return how many cells each axis of a map gets, given the size it would have by itself and whether that is fixed."""
    min_cells = 6
    # Axes with more cells than this can be cut coarser; shorter ones, and categories, keep their natural cells.
    long_axis = 16
    long = [i for i, (size, stays) in enumerate(zip(natural, fixed, strict=True)) if size > long_axis and not stays]
    out = list(natural)
    shape = MAX_AXIS_CELLS[min(len(long), len(MAX_AXIS_CELLS)) - 1]
    for rank, i in enumerate(long):
        out[i] = min(natural[i], shape[min(rank, len(shape) - 1)])
    while math.prod(out) > MAX_CELLS and any(out[i] > min_cells for i in long):
        for i in long:
            out[i] = max(min_cells, int(0.9 * out[i]))
    return out


def map_axes(columns: Sequence[Column]) -> list[Axis]:
    """Return the axes of a map of these columns, bins a little finer than cells."""
    max_bins = (110, 64, 40, 40)  # of an axis, for maps of one to four attributes
    natural = [column.true_grid(MAX_AXIS_CELLS[0][0]) for column in columns]
    sizes = axis_sizes([grid.size for grid in natural], [grid.labels is not None for grid in natural])
    most = max_bins[min(len(columns), len(max_bins)) - 1]
    bins = [max(16, min(most, size + size // 10 + 1)) for size in sizes]
    return [Axis.of(column, size, most) for column, size, most in zip(columns, sizes, bins, strict=True)]


@dataclass(frozen=True)
class Trial:
    """What adding one attribute (or two) did: mean gain in held-out log loss, its standard error, and the separation."""

    added: tuple[str, ...]
    gain: float
    error: float
    separation: float

    @property
    def sure(self) -> float:
        """The gain in standard errors."""
        return self.gain / self.error if self.error > 0 else 0.0


@dataclass(frozen=True)
class Choice:
    """The attributes in the order of choice, all that helped at some point, and the trials of every round."""

    chosen: tuple[str, ...]
    relevant: tuple[str, ...]
    rounds: tuple[tuple[Trial, ...], ...]

    def sentence(self) -> str:
        """Return the choice in words."""
        if not self.chosen:
            return "no attribute tells the classes apart on held-out records"
        parts = []
        for trials, name in zip(self.rounds, self.chosen, strict=False):
            best = next((t for t in trials if t.added[-1] == name), None)
            parts.append(name if best is None else f"{name} ({best.sure:.0f} standard errors)")
        return "chosen on held-out records: " + ", ".join(parts)


def choose_attributes(table: Table, *, most: int = 4, seed: int = 0) -> Choice:
    """Choose up to `most` attributes that say something about the class, one after another, on released values alone.

    A candidate is kept in view only if the class given the *released* values of all chosen ones and it has a held-out log
    loss lower by `min_gain_z` paired standard errors; among those the one whose reconstructed map separates the classes best
    is taken. Where no attribute says anything alone, all pairs are looked at: two may speak only together.
    """
    held_out = 1 / 3
    max_candidates = 16  # with more attributes than this, only those that say most alone take part in later choices
    min_gain_z = 2.0
    min_pair_gain_z = 3.5  # the same for the best of all pairs, of which there are many more
    held = np.random.default_rng(seed).random(table.rows) < held_out
    train, test = table.take(~held), table.take(held)
    if not test.rows or len(np.unique(train.codes)) < 2:
        return Choice((), (), ())
    chosen: tuple[str, ...] = ()
    order = [c.name for c in table.columns]
    pool, relevant = order, set[str]()
    rounds: list[tuple[Trial, ...]] = []
    for size in range(1, most + 1):
        if len(chosen) >= size:
            continue
        trials = _try_attributes(train, test, chosen, [(name,) for name in pool if name not in chosen], size)
        rounds.append(trials)
        good = [t for t in trials if t.sure > min_gain_z]
        relevant |= {t.added[0] for t in good}
        if size == 1:
            ranked = sorted(trials, key=lambda t: -t.sure)[:max_candidates]
            pool = [name for name in pool if any(name in t.added for t in ranked)]
        if not good and size == 1 and most > 1:
            trials = _try_attributes(train, test, (), list(combinations(pool, 2)), 2)
            good = [t for t in trials if t.sure > min_pair_gain_z]
            rounds.append(tuple(good))
            relevant |= {name for t in good for name in t.added}
        if not good:
            break
        chosen = (*chosen, *max(good, key=lambda t: t.separation).added)
    return Choice(chosen, tuple(sorted(relevant | set(chosen), key=order.index)), tuple(rounds))


def _try_attributes(
    train: Table, test: Table, chosen: Sequence[str], candidates: Sequence[tuple[str, ...]], size: int
) -> tuple[Trial, ...]:
    """Compare maps with and without each candidate; coarse maps rank alike and cost little."""
    em_steps = 40  # the likelihood of *released* values settles long before the map does
    resolutions = ((40, 56), (24, 32), (14, 22), (8, 14))  # cells and bins of an axis, for one to four attributes
    max_bins = 100_000  # a map of more is not tried: its categories are too many to combine
    cells, bins = resolutions[min(size, len(resolutions)) - 1]
    axes = {c.name: Axis.of(c, cells, bins) for c in train.columns}

    def score(names: Sequence[str]) -> tuple[FloatArray, float]:
        joint = fit_map([axes[name] for name in names], train, iterations=em_steps, smoothing=0.02)
        return joint.class_log_loss(test), joint.separation

    if chosen:
        before, _ = score(chosen)
    else:
        before = -np.log(class_shares(train.codes, len(train.labels)))[test.codes]
    out = []
    for added in candidates:
        if math.prod(axes[name].kernel.shape[0] for name in (*chosen, *added)) > max_bins:
            continue
        loss, separation = score((*chosen, *added))
        gain = before - loss
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        out.append(Trial(added, float(gain.mean()), error, separation))
    return tuple(out)
