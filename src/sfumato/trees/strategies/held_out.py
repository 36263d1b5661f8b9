"""How well a tree does on records that were held out, of which only released values are known.

A tree speaks about true values. Of a released record w only the chances of the leaves are known, so::

    P(c | w)     = Σ_leaf P(leaf | w) θ_leaf,c
    P(right | w) = Σ_leaf P(leaf | w) θ_leaf,(what the leaf says)

where P(leaf | w) comes from a model of the true values (a mixture of products that knows nothing of the class) and the laws of
the channels, and θ are the class shares of the leaves that explain the held-out classes best. That is the same yardstick for
every tree, whoever grew it, and no true value is needed. Its own errors are found in `rehearsal`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import cell_cdf
from sfumato.counts import FloatArray, IntArray
from sfumato.reconstruction import em_step
from sfumato.table import MISSING_LABEL, Table
from sfumato.trees.strategies._axes import Axis, class_shares
from sfumato.trees.strategies._products import Products, fit_products, marginal, normalise
from sfumato.trees.strategies.mixture import BINS, CELLS
from sfumato.trees.tree import Test, Tree

Chances = NDArray[np.float32]
Name = TypeVar("Name", bound=Hashable)


BLOCK = 8192
"""Records at a time: their chances by component stay in the cache."""

NEGLIGIBLE = 1e-9
"""Chances below this are set to zero: products of several of them would be too small for a float32 to be fast."""

MIN_CHANCE = 1e-6

MODEL_ERROR_WEIGHT = 0.5
"""Of the mean slip in models of the truth: what is taken off; the rest is in doubt.

Models have softer borders than the truth may have, so that a judge who slips in them may be right. Measured on releases of 600
to 20,000 records: two standard errors then hold 93 % of the differences from the true accuracy (`benchmarks/stated.py`).
"""


@dataclass(frozen=True, eq=False)
class Background:
    """A model of the true values of all records, with the axes it lives on."""

    axes: tuple[Axis, ...]
    model: Products

    def widen(self, table: Table, names: Sequence[str], cells: int, bins: int) -> Background:
        """The same with further attributes, taken to be independent of the rest: their distribution alone is known."""
        have = {axis.name for axis in self.axes}
        more = [Axis.of(table[name], cells, bins) for name in names if name not in have]
        tables = [np.repeat(marginal(axis, axis.codes(table[axis.name])), self.model.size, axis=0) for axis in more]
        return Background((*self.axes, *more), Products(self.model.weights, (*self.model.tables, *tables)))

    def leaf_chances(self, tree: Tree, table: Table) -> Chances:
        """P(leaf | released values): one row a record, one column a leaf in the order of the tree's nodes."""
        return self.chances_of(tree, self.codes(table))

    def codes(self, table: Table) -> list[IntArray]:
        """The bins of released records, one array an axis."""
        return [axis.codes(table[axis.name]) for axis in self.axes]

    def chances_of(self, tree: Tree, codes: Sequence[IntArray]) -> Chances:
        """The same of records whose bins are known."""
        axes = {axis.name: i for i, axis in enumerate(self.axes)}
        used = [axes[name] for name in tree.used]
        ratios = self._ratios(tree, axes)
        leaves = leaves_of(tree)
        column = {leaf: place for place, leaf in enumerate(leaves)}
        rows = len(codes[0])
        out = np.empty((rows, len(leaves)), np.float32)
        for begin in range(0, rows, BLOCK):
            part = [code[begin : begin + BLOCK] for code in codes]
            shares, _ = normalise(self.model.joint_log(self.axes, part))
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
            whole = np.maximum(_observe(axis, (table * came).T), 1e-30)
            for child, share in zip(node.children, branch_shares(node.test, axis, len(node.children)), strict=True):
                goes = came * share
                ratio = _observe(axis, (table * goes).T) / whole
                out[child] = np.where(ratio < NEGLIGIBLE, 0, ratio).astype(np.float32)
                stack.append((child, {**inside, a: goes}))
        return out


def _observe(axis: Axis, masses: FloatArray) -> FloatArray:
    """P(bin) of masses over the true cells (one column each), and their sums in a last row."""
    return np.concatenate([axis.kernel @ masses, masses.sum(axis=0, keepdims=True)])


def leaves_of(tree: Tree) -> list[int]:
    """The numbers of the nodes that are leaves."""
    return [i for i, node in enumerate(tree.nodes) if node.test is None]


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


def leaf_shares(chances: Chances, classes: IntArray, size: int, given: float = 1.0) -> FloatArray:
    """θ: the class shares of every leaf that explain the classes best, by EM; one row a leaf.

    A record of class c belongs to leaf l with chance P_il θ_lc / Σ_l P_il θ_lc, and the shares are those of the records that
    belong. Each leaf is `given` a record of the shares of all at the outset, which one that others hardly ever belong to keeps.
    """
    share_steps = 100
    overall = class_shares(classes, size)
    shares = np.tile(overall, (chances.shape[1], 1))
    parts = [chances[classes == c] for c in range(size)]
    for _ in range(share_steps):
        belong = np.empty_like(shares)
        for c, part in enumerate(parts):
            theta = shares[:, c].astype(np.float32)
            belong[:, c] = em_step(part, np.ones(1, np.float32), theta, MIN_CHANCE).mass
        belong += given * overall
        shares = belong / belong.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, eq=False)
class Verdict:
    """For each held-out record −log P(c | w), and the chance P(right | w) that the tree says its class.

    `slips` are errors that the same judge makes where the truth is known (see `rehearsal`), a row a model of the truth, a
    column a trial; without them the judge is taken at its word.
    """

    loss: FloatArray
    right: FloatArray
    slips: FloatArray | None = None

    @property
    def accuracy(self) -> float:
        """The expected share of right answers, less what the judge is known to add."""
        bias = 0.0 if self.slips is None else MODEL_ERROR_WEIGHT * float(self.slips.mean())
        return float(np.clip(self.right.mean() - bias, 0.0, 1.0))

    @property
    def error(self) -> float:
        """The standard error of `accuracy`; none is known of a judge that was not put to the test."""
        return (
            0.0
            if self.slips is None
            else float(np.hypot(noise(self.slips), (1 - MODEL_ERROR_WEIGHT) * self.slips.mean()))
        )

    def doubt(self, other: Verdict) -> float:
        """The noise in the difference of two accuracies; both trees were tried on the same records."""
        return 0.0 if self.slips is None or other.slips is None else noise(self.slips - other.slips)

    @property
    def log_loss(self) -> float:
        """The mean loss, in nats."""
        return float(self.loss.mean())


def noise(slips: FloatArray) -> float:
    """The standard error of a finding less the mean of its slips: chance, as within a model, and that of the mean over models."""
    return float(np.sqrt(slips.var(axis=1, ddof=1).mean() + slips.mean(axis=1).var(ddof=1) / len(slips)))


def score_tree(background: Background, tree: Tree, held_out: Table) -> Verdict:
    """Put a tree before records it was not grown on."""
    return score_chances(background.leaf_chances(tree, held_out), held_out.codes, len(held_out.labels), tree)


def score_chances(chances: Chances, classes: IntArray, size: int, tree: Tree, given: float = 1.0) -> Verdict:
    """The verdict on records that belong to the leaves with these chances: each half settles the shares the other is judged by."""
    says = tree.node_classes[leaves_of(tree)]
    odd = np.arange(len(classes)) % 2 == 1
    halves = [(odd, ~odd), (~odd, odd)] if len(classes) > 1 else [(~odd, ~odd)]
    likely, right = np.empty(len(classes)), np.empty(len(classes))
    for settling, judging in halves:
        shares = leaf_shares(chances[settling], classes[settling], size, given)
        likely[judging] = (chances[judging] * shares.T[classes[judging]]).sum(axis=1)
        right[judging] = chances[judging] @ shares[np.arange(len(says)), says]
    return Verdict(-np.log(np.maximum(likely, MIN_CHANCE)), right)


def class_blind(table: Table, trees: Iterable[Tree], together: Sequence[str], seed: int = 0) -> Background:
    """A model of the true values of all records that has not seen their classes, and so cannot flatter any tree.

    The attributes that matter are modelled `together`; others that some tree tests are taken to be independent of them.
    """
    # Of the class-blind model of true values: a rough one will do, as all trees are seen through the same.
    components = 6
    tested = {name for tree in trees for name in tree.used}
    used = [column.name for column in table.columns if column.name in tested]
    names = list(together) or used[:1] or [table.columns[0].name]
    axes = tuple(Axis.of(table[name], CELLS, BINS) for name in names)
    codes = [axis.codes(table[axis.name]) for axis in axes]
    model = fit_products(axes, codes, components if len(axes) > 1 else 1, np.random.default_rng([seed, 13]))
    return Background(axes, model).widen(table, used, CELLS, BINS)


def split(table: Table, seed: int) -> tuple[Table, Table]:
    """Two thirds of the records to learn from, the rest (as many as are of use) to be judged on."""
    max_judges = 40_000  # More held-out records than this would judge no better.
    held_out = 1 / 3
    held = np.random.default_rng([seed, 11]).random(table.rows) < held_out
    if held.all() or not held.any():
        return table, table
    return table.take(~held), table.take(np.flatnonzero(held)[:max_judges])


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
