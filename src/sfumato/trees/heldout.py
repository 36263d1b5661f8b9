"""How well a tree does on records that were held out, of which only released values are known.

A tree speaks about true values. Of a released record w only the chances of the leaves are known, so::

    P(c | w)     = Σ_leaf P(leaf | w) θ_leaf,c
    P(right | w) = Σ_leaf P(leaf | w) θ_leaf,(what the leaf says)

where P(leaf | w) comes from a model of the true values (a mixture of products that knows nothing of the class) and the laws of
the channels, and θ are the class shares of the leaves that explain the held-out classes best. That is the same yardstick for
every tree, whoever grew it, and no true value is needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.base import cell_cdf
from sfumato.counts import FloatArray, IntArray
from sfumato.observed import MISSING_LABEL, ObservedTable
from sfumato.trees.axes import Axis, class_shares
from sfumato.trees.products import Products, fit_products, marginal, normalised
from sfumato.trees.tree import Test, Tree

Chances = NDArray[np.float32]
Name = TypeVar("Name", bound=Hashable)

HELD_OUT = 1 / 3
MOST_JUDGES = 40_000
"""More held-out records than this would judge no better."""

COMPONENTS, CELLS, BINS = 6, 50, 64
"""Of the class-blind model of true values: a rough one will do, as all trees are seen through the same."""

BLOCK = 8192
"""Records at a time: their chances by component stay in the cache."""

NEGLIGIBLE = 1e-9
"""Chances below this are set to zero: products of several of them would be too small for a float32 to be fast."""

SHARE_STEPS = 100
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Background:
    """A model of the true values of all records, with the axes it lives on."""

    axes: tuple[Axis, ...]
    model: Products

    def widened(self, table: ObservedTable, names: Sequence[str], cells: int, bins: int) -> Background:
        """The same with further attributes, taken to be independent of the rest: their distribution alone is known."""
        have = {axis.name for axis in self.axes}
        more = [Axis.of(table[name], cells, bins) for name in names if name not in have]
        tables = [np.repeat(marginal(axis, axis.codes(table[axis.name])), self.model.size, axis=0) for axis in more]
        return Background((*self.axes, *more), Products(self.model.weights, (*self.model.tables, *tables)))

    def leaf_chances(self, tree: Tree, table: ObservedTable) -> Chances:
        """P(leaf | released values): one row a record, one column a leaf in the order of the tree's nodes."""
        axes = {axis.name: i for i, axis in enumerate(self.axes)}
        used = [axes[name] for name in tree.used]
        codes = [axis.codes(table[axis.name]) for axis in self.axes]
        ratios = self._ratios(tree, axes)
        leaves = [i for i, node in enumerate(tree.nodes) if node.test is None]
        column = {leaf: place for place, leaf in enumerate(leaves)}
        out = np.empty((table.rows, len(leaves)), np.float32)
        for begin in range(0, table.rows, BLOCK):
            part = [code[begin : begin + BLOCK] for code in codes]
            shares, _ = normalised(self.model.joint_log(self.axes, part))
            here = {i: np.where(part[i] < 0, self.axes[i].kernel.shape[0], part[i]) for i in used}
            stack = [(0, shares)]
            while stack:
                number, chances = stack.pop()
                node = tree.nodes[number]
                if node.test is None:
                    total = chances.sum(axis=1)
                    out[begin : begin + BLOCK, column[number]] = np.where(total < NEGLIGIBLE, 0, total)
                    continue
                code = here[axes[node.test.attribute]]
                stack.extend((child, chances * ratios[child].take(code, axis=0)) for child in node.children)
        return out

    def _ratios(self, tree: Tree, axes: Mapping[str, int]) -> dict[int, Chances]:
        """For every child, P(x goes there | bin, component, x came to its parent): one row a bin, one column a component.

        The last row serves values that are missing where none was expected.
        """
        out: dict[int, Chances] = {}
        stack: list[tuple[int, dict[int, FloatArray]]] = [(0, {})]
        while stack:
            number, inside = stack.pop()
            node = tree.nodes[number]
            if node.test is None:
                continue
            a = axes[node.test.attribute]
            axis, table = self.axes[a], self.model.tables[a]
            came = inside.get(a, np.ones(axis.size))
            whole = np.maximum(_seen(axis, (table * came).T), 1e-30)
            for child, share in zip(node.children, branch_shares(node.test, axis, len(node.children)), strict=True):
                goes = came * share
                ratio = _seen(axis, (table * goes).T) / whole
                out[child] = np.where(ratio < NEGLIGIBLE, 0, ratio).astype(np.float32)
                stack.append((child, {**inside, a: goes}))
        return out


def _seen(axis: Axis, masses: FloatArray) -> FloatArray:
    """P(bin) of masses over the true cells (one column each), and their sums in a last row."""
    if axis.many_labels:
        return np.concatenate([axis.kernel @ masses, masses.sum(axis=0, keepdims=True)])
    return np.asarray(np.vstack([axis.kernel, np.ones(axis.size)]) @ masses)


def branch_shares(test: Test, axis: Axis, children: int) -> FloatArray:
    """The share of every true cell that goes to each child, one row a child; a cut may run through a cell."""
    out = np.zeros((children, axis.size))
    size = axis.grid.size
    child = {label: c for c, group in enumerate(test.groups) for label in group}
    if test.threshold is not None:
        # Up to a whole number is below the middle between it and the next.
        cut = test.threshold + (axis.attribute.step / 2 if test.closed else 0.0)
        out[0, :size] = cell_cdf(axis.grid, np.array([cut]))[0]
        out[1, :size] = 1 - out[0, :size]
    else:
        for place, label in enumerate(axis.grid.labels or axis.attribute.categories):
            out[child.get(label, test.missing), place] = 1.0
    if axis.gaps:
        out[child.get(MISSING_LABEL, test.missing), -1] = 1.0
    return out


def leaf_shares(chances: Chances, classes: IntArray, size: int) -> FloatArray:
    """θ: the class shares of every leaf that explain the classes best, by EM; one row a leaf.

    A record of class c belongs to leaf l with chance P_il θ_lc / Σ_l P_il θ_lc, and the shares are those of the records that
    belong. A leaf that records hardly ever belong to keeps the shares of all.
    """
    overall = class_shares(classes, size)
    shares = np.tile(overall, (chances.shape[1], 1))
    parts = [chances[classes == c] for c in range(size)]
    for _ in range(SHARE_STEPS):
        belong = np.empty_like(shares)
        for c, part in enumerate(parts):
            theta = shares[:, c].astype(np.float32)
            belong[:, c] = theta * (part.T @ (1 / np.maximum(part @ theta, LEAST)))
        belong += overall
        shares = belong / belong.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, eq=False)
class Verdict:
    """For each held-out record −log P(c | w), and the chance P(right | w) that the tree says its class."""

    loss: FloatArray
    right: FloatArray

    @property
    def accuracy(self) -> float:
        """The expected share of right answers."""
        return float(self.right.mean())

    @property
    def log_loss(self) -> float:
        """The mean loss, in nats."""
        return float(self.loss.mean())


def judged(background: Background, tree: Tree, held_out: ObservedTable) -> Verdict:
    """Put a tree before records it was not grown on: one half of them settles the shares of its leaves, the other judges."""
    assert held_out.classes is not None
    odd = np.arange(held_out.rows) % 2 == 1
    settling, judging = (held_out, held_out) if held_out.rows < 2 else (held_out.take(odd), held_out.take(~odd))
    assert settling.classes is not None
    assert judging.classes is not None
    shares = leaf_shares(background.leaf_chances(tree, settling), settling.classes, len(held_out.labels))
    chances = background.leaf_chances(tree, judging)
    says = tree.node_classes[[i for i, node in enumerate(tree.nodes) if node.test is None]]
    likely = (chances * shares.T[judging.classes]).sum(axis=1)
    right = chances @ shares[np.arange(len(says)), says]
    return Verdict(-np.log(np.maximum(likely, LEAST)), np.asarray(right, dtype=np.float64))


def class_blind(table: ObservedTable, trees: Iterable[Tree], together: Sequence[str], seed: int = 0) -> Background:
    """A model of the true values of all records that has not seen their classes, and so cannot flatter any tree.

    The attributes that matter are modelled `together`; others that some tree tests are taken to be independent of them.
    """
    tested = {name for tree in trees for name in tree.used}
    used = [column.name for column in table.columns if column.name in tested]
    names = list(together) or used[:1] or [table.columns[0].name]
    axes = tuple(Axis.of(table[name], CELLS, BINS) for name in names)
    codes = [axis.codes(table[axis.name]) for axis in axes]
    model = fit_products(axes, codes, COMPONENTS if len(axes) > 1 else 1, np.random.default_rng([seed, 13]))
    return Background(axes, model).widened(table, used, CELLS, BINS)


def split(table: ObservedTable, seed: int) -> tuple[ObservedTable, ObservedTable]:
    """Two thirds of the records to learn from, the rest (as many as are of use) to be judged on."""
    held = np.random.default_rng([seed, 11]).random(table.rows) < HELD_OUT
    if held.all() or not held.any():
        return table, table
    return table.take(~held), table.take(np.flatnonzero(held)[:MOST_JUDGES])


def admissible(verdicts: Mapping[Name, Verdict], spare: float) -> list[Name]:
    """Those whose log loss is not surely above the lowest: within two paired standard errors, or within `spare`."""
    lowest = min(verdicts.values(), key=lambda verdict: verdict.log_loss)
    out = []
    for name, verdict in verdicts.items():
        excess = verdict.loss - lowest.loss
        error = float(excess.std() / np.sqrt(len(excess)))
        if float(excess.mean()) <= max(2 * error, spare):
            out.append(name)
    return out
