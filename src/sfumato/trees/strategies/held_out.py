"""How well a tree does on rows that were held out, of which only released values are known.

A tree speaks about true values. Of a released row w only the chances of the leaves are known, so::

    P(c | w)     = Σ_leaf P(leaf | w) θ_leaf,c
    P(right | w) = Σ_leaf P(leaf | w) θ_leaf,(what the leaf says)

where P(leaf | w) comes from a model of the true values (a mixture of products that knows nothing of the class) and the laws of
the channels, and θ are the class shares of the leaves that explain the held-out classes best. That is the same yardstick for
every tree, however it was grown, and no true value is needed.

This judge errs. It takes the class to depend on the leaf alone. Where it changes within a leaf, released values tell more of
the class than the chances of the leaves can, and the shares are driven apart to make up for it: a tree with few impure leaves
is praised. The one row that every leaf is given at the outset pulls the other way: a tree of many small leaves is blamed.
Neither is small (3 to 6 points on a few thousand rows), and both depend on the tree. So `calibrate_verdicts` draws true rows
from a model of each class, sends them through the channels, and judges them; since their truth is known, so is the error.

Two models bracket the truth. The one of the rows that the trees grew on has the same accidents in it as the trees, and
flatters them; the one of the held-out rows has its own, and finds fault with borders that are right.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from sfumato.counts import FloatArray, IntArray, cell_cdf
from sfumato.reconstruction import em_step
from sfumato.schema import MISSING_LABEL
from sfumato.table import Table
from sfumato.trees.strategies.base import Axis, class_shares
from sfumato.trees.strategies.mixture import (
    BINS,
    CELLS,
    ClassMixtures,
    Float32Array,
    Products,
    draw_cells,
    fit_mixtures,
    fit_products,
    normalise,
)
from sfumato.trees.tree import Test, Tree

Name = TypeVar("Name", bound=Hashable)

NEGLIGIBLE = 1e-9
"""Float32Array below this are set to zero: products of several of them would be too small for a float32 to be fast."""
MIN_CHANCE = 1e-6
MODEL_ERROR_WEIGHT = 0.5
"""Of the mean slip in models of the truth: what is taken off; the rest is in doubt.

Models have softer borders than the truth may have, so that a judge who slips in them may be right. Measured on releases of 600
to 20,000 rows: two standard errors then hold 93 % of the differences from the true accuracy (`benchmarks/stated.py`).
"""


@dataclass(frozen=True, eq=False)
class Background:
    """A model of the true values of all rows, with the axes it lives on."""

    axes: tuple[Axis, ...]
    model: Products

    def leaf_chances(self, tree: Tree, table: Table) -> Float32Array:
        """Compute P(leaf | released values), shape (rows, leaves), leaves in node order."""
        return self.chances_of(tree, [axis.codes(table) for axis in self.axes])

    def chances_of(self, tree: Tree, codes: Sequence[IntArray]) -> Float32Array:
        """Compute the same for rows whose bins are known, one array per axis."""
        block = 8192  # rows at a time: their chances by component stay in the cache
        axes = {axis.name: i for i, axis in enumerate(self.axes)}
        used = [axes[name] for name in tree.used]
        ratios = self._ratios(tree, axes)
        column = {leaf: place for place, leaf in enumerate(leaves_of(tree))}
        rows = len(codes[0])
        out = np.empty((rows, len(column)), np.float32)
        for begin in range(0, rows, block):
            part = [code[begin : begin + block] for code in codes]
            shares, _ = normalise(self.model.joint_log(self.axes, part))
            here = {i: np.where(part[i] < 0, self.axes[i].kernel.shape[0], part[i]) for i in used}
            stack = [(0, shares)]
            while stack:
                number, chances = stack.pop()
                node = tree.nodes[number]
                if node.test is None:
                    total = chances.sum(axis=1)
                    out[begin : begin + block, column[number]] = np.where(total < NEGLIGIBLE, 0, total)
                    continue
                code = here[axes[node.test.attribute]]
                stack.extend((child, chances * ratios[child].take(code, axis=0)) for child in node.children)
        return out

    def _ratios(self, tree: Tree, axes: Mapping[str, int]) -> dict[int, Float32Array]:
        """Compute P(x goes there | bin, component, x came to the parent) for every child, shape (bins, components).

        The last row serves values that are missing where none was expected.
        """
        out: dict[int, Float32Array] = {}
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
    """Compute P(bin) of masses over the true cells (one column each), and their sums in a last row."""
    return np.concatenate([axis.kernel @ masses, masses.sum(axis=0, keepdims=True)])


def leaves_of(tree: Tree) -> list[int]:
    """Return the numbers of the nodes that are leaves."""
    return [i for i, node in enumerate(tree.nodes) if node.test is None]


def branch_shares(test: Test, axis: Axis, children: int) -> FloatArray:
    """Return the share of every true cell that goes to each child, shape (children, cells); a cut may run through a cell."""
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


def leaf_shares(chances: Float32Array, classes: IntArray, size: int, given: float = 1.0) -> FloatArray:
    """Return θ, the class shares of every leaf that explain the classes best, by EM, shape (leaves, classes).

    A row of class c belongs to leaf l with chance P_il θ_lc / Σ_l P_il θ_lc, and the shares are those of the rows that
    belong. Each leaf is `given` a row of the shares of all at the outset, which one that others hardly ever belong to keeps.
    """
    em_steps = 100
    overall = class_shares(classes, size)
    shares = np.tile(overall, (chances.shape[1], 1))
    parts = [chances[classes == c] for c in range(size)]
    for _ in range(em_steps):
        belong = np.empty_like(shares)
        for c, part in enumerate(parts):
            theta = shares[:, c].astype(np.float32)
            belong[:, c] = em_step(part, np.ones(1, np.float32), theta, MIN_CHANCE).mass
        belong += given * overall
        shares = belong / belong.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, eq=False)
class Verdict:
    """For each held-out row −log P(c | w), and the chance P(right | w) that the tree says its class.

    `slips` are errors that the same judge makes where the truth is known (see `calibrate_verdicts`), shape (models of the
    truth, trials); without them accuracies stay unadjusted.
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
        """The standard error of `accuracy`; 0 for a judge that was not put to the test."""
        if self.slips is None:
            return 0.0
        return float(np.hypot(noise(self.slips), (1 - MODEL_ERROR_WEIGHT) * self.slips.mean()))

    def doubt(self, other: Verdict) -> float:
        """Return the noise in the difference of two accuracies; both trees were tried on the same rows."""
        return 0.0 if self.slips is None or other.slips is None else noise(self.slips - other.slips)

    @property
    def log_loss(self) -> float:
        """The mean loss, in nats."""
        return float(self.loss.mean())


def noise(slips: FloatArray) -> float:
    """Return the standard error of a finding less the mean of its slips: chance within a model, and that of the mean over models."""
    return float(np.sqrt(slips.var(axis=1, ddof=1).mean() + slips.mean(axis=1).var(ddof=1) / len(slips)))


def score_tree(background: Background, tree: Tree, held_out: Table) -> Verdict:
    """Judge a tree by rows that it was not grown on."""
    return score_chances(background.leaf_chances(tree, held_out), held_out.codes, len(held_out.labels), tree)


def score_chances(chances: Float32Array, classes: IntArray, size: int, tree: Tree, given: float = 1.0) -> Verdict:
    """Judge a tree by rows that belong to the leaves with these chances: each half settles the shares the other is judged by."""
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
    """Fit a model of the true values of all rows that has not seen their classes, and so cannot flatter any tree.

    The attributes that matter are modelled `together`; others that some tree tests are taken to be independent of them.
    """
    components = 6  # a rough model will do, as all trees are seen through the same
    tested = {name for tree in trees for name in tree.used}
    used = [column.name for column in table.columns if column.name in tested]
    names = list(together) or used[:1] or [table.columns[0].name]
    names += [name for name in used if name not in names]
    axes = tuple(Axis.of(table[name], CELLS, BINS) for name in names)
    codes = [axis.codes(table) for axis in axes]
    joint = len(together) or 1
    rng = np.random.default_rng([seed, 13])
    model = fit_products(axes[:joint], codes[:joint], components if joint > 1 else 1, rng)
    return Background(axes, model.widen(axes[joint:], codes[joint:]))


def split(table: Table, seed: int) -> tuple[Table, Table]:
    """Return two thirds of the rows to learn from, and the rest (as many as are of use) to be judged on."""
    max_judges = 40_000  # more held-out rows than this would judge no better
    held_out = 1 / 3
    held = np.random.default_rng([seed, 11]).random(table.rows) < held_out
    if held.all() or not held.any():
        return table, table
    return table.take(~held), table.take(np.flatnonzero(held)[:max_judges])


def admissible(verdicts: Mapping[Name, Verdict], spare: float) -> list[Name]:
    """Return those whose log loss is not surely above the lowest: within two paired standard errors, or within `spare`."""
    lowest = min(verdicts.values(), key=lambda verdict: verdict.log_loss)
    out = []
    for name, verdict in verdicts.items():
        excess = verdict.loss - lowest.loss
        error = float(excess.std() / np.sqrt(len(excess)))
        if float(excess.mean()) <= max(2 * error, spare):
            out.append(name)
    return out


def calibrate_verdicts(
    verdicts: Mapping[Name, Verdict],
    trees: Mapping[Name, Tree],
    background: Background,
    models: Sequence[ClassMixtures],
    held_out: Table,
    seed: int,
) -> dict[Name, Verdict]:
    """Return the verdicts with what the judge errs by on as many rows (or `max_drawn`) of each model, a few times."""
    trials, max_drawn = 3, 3_000
    rows = min(held_out.rows, max_drawn)
    share, size = rows / held_out.rows, len(held_out.labels)
    judged = {name: np.empty((len(models), trials)) for name in trees}
    for m, t in np.ndindex(len(models), trials):
        bins, classes = draw(models[m], background, rows, np.random.default_rng([seed, 17, m, t]))
        for name, tree in trees.items():
            chances = background.chances_of(tree, bins)
            # The rows given at the outset weigh as much beside fewer ones as they did beside all.
            judged[name][m, t] = score_chances(chances, classes, size, tree, given=share).accuracy
    right = {name: np.array([[accuracy(model, tree)] for model in models]) for name, tree in trees.items()}
    return {name: replace(verdicts[name], slips=temper(judged[name] - right[name], share)) for name in trees}


def accuracy(models: ClassMixtures, tree: Tree) -> float:
    """Compute Σ_c π_c P(the tree says c | c), where the classes are as modelled."""
    says = tree.node_classes[leaves_of(tree)]
    nothing_seen = [np.array([-1])] * len(models.axes)
    chances = [Background(models.axes, model).chances_of(tree, nothing_seen)[0] for model in models.models]
    pairs = zip(models.shares, chances, strict=True)
    return float(sum(share * chance[says == c].sum() for c, (share, chance) in enumerate(pairs)))


def temper(slips: FloatArray, share: float) -> FloatArray:
    """Return slips on a share of the rows as they would be on all: bias stays, chance shrinks."""
    middle = slips.mean(axis=1, keepdims=True)
    return np.asarray(middle + (slips - middle) * np.sqrt(share))


def draw(
    models: ClassMixtures, background: Background, rows: int, rng: np.random.Generator
) -> tuple[list[IntArray], IntArray]:
    """Draw rows of the modelled classes; return their released bins, an array per axis of the background, and their classes."""
    classes = rng.choice(len(models.shares), rows, p=models.shares / models.shares.sum())
    modelled = {axis.name: np.empty(rows, np.int64) for axis in models.axes}
    for c, model in enumerate(models.models):
        here = np.flatnonzero(classes == c)
        for axis, sample in zip(models.axes, model.sample(len(here), rng), strict=True):
            modelled[axis.name][here] = sample
    return [observe_cells(axis, modelled[axis.name], rng) for axis in background.axes], classes


def observe_cells(axis: Axis, cells: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw by the kernel the bins in which rows of these true cells are released."""
    heights = rng.random(len(cells))
    if not axis.many_labels:
        return draw_cells(axis.kernel.T.dense(), cells, heights)
    out = np.empty(len(cells), np.int64)
    for cell in np.unique(cells):
        chances = axis.kernel @ (np.arange(axis.size) == cell).astype(np.float64)
        here = np.flatnonzero(cells == cell)
        out[here] = draw_cells(chances[None], np.zeros(len(here), np.int64), heights[here])
    return out


def held_out_model(held_out: Table, names: Sequence[str], seed: int) -> ClassMixtures:
    """Fit a model of each class to held-out rows, rougher than that of the strategy `mixture`."""
    max_modelled_rows = 12_000
    return fit_mixtures(held_out.take(np.arange(min(held_out.rows, max_modelled_rows))), names, starts=1, seed=seed)


def widen_mixtures(models: ClassMixtures, table: Table, background: Background) -> ClassMixtures:
    """Return models with all axes of the background: what is not modelled is reconstructed by itself, class by class."""
    have = {axis.name for axis in models.axes}
    more = [axis for axis in background.axes if axis.name not in have]
    codes = [axis.codes(table) for axis in more]
    wider = [model.widen(more, [code[table.codes == c] for code in codes]) for c, model in enumerate(models.models)]
    return ClassMixtures((*models.axes, *more), tuple(wider), models.shares)
