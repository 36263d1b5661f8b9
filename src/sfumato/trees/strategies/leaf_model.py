"""A tree as a model of released rows: what held-out rows say of its leaves, though their true values are hidden.

A leaf is a box of true values. Inside the box attributes are taken to be independent, each with its own distribution cut to the
box, so the density of a released row in leaf l is a product of one-attribute densities::

    h_l(y) = Π_a Σ_{x in box} K_a[y_a, x] f_a(x) / Σ_{x in box} f_a(x)

and the rows are a mixture of leaves. EM tells the shares of the leaves, overall and within each class; the second is a table of
leaves by classes, from which every score of the tree follows. No row needs to be placed in a leaf for it. A mixture of products
for each class (`products`), which knows nothing of leaves, tells the same table in another way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.counts import FloatArray, IntArray, cell_cdf
from sfumato.hashing import choose_rows
from sfumato.reconstruction import em_step
from sfumato.schema import MISSING_LABEL
from sfumato.table import Table
from sfumato.trees.strategies.association import true_value_grid
from sfumato.trees.strategies.base import Axis, marginal
from sfumato.trees.strategies.products import ClassMixtures
from sfumato.trees.tree import Test, Tree

TINY = 1e-12


class SeenColumns:
    """The columns of a release on fine axes, and the distribution of each, made when they are asked for."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._axes: dict[str, Axis] = {}
        self._codes: dict[str, IntArray] = {}
        self._shares: dict[str, FloatArray] = {}

    def axis(self, name: str) -> Axis:
        """Return cells of the true values that are finer than the noise, and bins of the released ones."""
        if name not in self._axes:
            column = self.table[name]
            numeric = column.attribute.kind.numeric
            if column.channel is None and numeric:
                grid = true_value_grid(column)
                gaps = bool(np.isnan(column.values).any())
                self._axes[name] = Axis(column.attribute, column.transition(grid), gaps)
            else:
                cells_per_interval, min_cells, max_cells = 8, 32, 256  # of the 95 % interval, and of the domain
                cells = min_cells
                if column.channel is not None and numeric:
                    share = column.channel.interval_width(0.95) / (column.attribute.interval.range or 1.0)
                    cells = int(np.clip(cells_per_interval / max(share, TINY), min_cells, max_cells))
                self._axes[name] = Axis.of(column, cells, 2 * cells)
        return self._axes[name]

    def codes(self, name: str) -> IntArray:
        """Return the bin of every row."""
        if name not in self._codes:
            self._codes[name] = self.axis(name).codes(self.table)
        return self._codes[name]

    def shares(self, name: str) -> FloatArray:
        """Return the distribution of the true cells among all rows."""
        if name not in self._shares:
            self._shares[name] = marginal(self.axis(name), self.codes(name), strength=0.005)[0]
        return self._shares[name]


def branch_shares(test: Test, axis: Axis, children: int) -> FloatArray:
    """Return the share of every true cell that goes to each child, shape (children, cells); a cut may run through a cell."""
    out = np.zeros((children, axis.size))
    size = axis.grid.size
    child = {label: c for c, group in enumerate(test.groups) for label in group}
    if test.threshold is not None:
        # Up to a whole number is below the middle between it and the next.
        cut = test.threshold + (axis.attribute.step / 2 if test.closed else 0.0)
        out[0, :size] = cell_cdf(axis.grid, axis.attribute.to_places(np.array([cut])))[0]
        out[1, :size] = 1 - out[0, :size]
    else:
        for place, label in enumerate(axis.grid.labels or axis.attribute.categories):
            out[child.get(label, test.missing), place] = 1.0
    if axis.gaps:
        out[child.get(MISSING_LABEL, test.missing), -1] = 1.0
    return out


def leaf_boxes(tree: Tree, axes: Mapping[str, Axis]) -> dict[str, FloatArray]:
    """Return for every tested attribute the share of each true cell that lies in each leaf, shape (leaves, cells)."""
    places = {number: place for place, number in enumerate(leaf_numbers(tree))}
    out = {name: np.ones((len(places), axes[name].size)) for name in tree.used}
    stack: list[tuple[int, dict[str, FloatArray]]] = [(0, {})]
    while stack:
        number, inside = stack.pop()
        node = tree.nodes[number]
        if node.test is None:
            for name, box in inside.items():
                out[name][places[number]] = box
            continue
        name = node.test.attribute
        shares = branch_shares(node.test, axes[name], len(node.children))
        for child, share in zip(node.children, shares, strict=True):
            stack.append((child, {**inside, name: inside.get(name, 1.0) * share}))
    return out


def leaf_numbers(tree: Tree) -> list[int]:
    """Return the numbers of the nodes that are leaves."""
    return [i for i, node in enumerate(tree.nodes) if node.test is None]


def smooth_shares(tree: Tree, discount: float = 1.0) -> FloatArray:
    """Return P(class) at every node, shape (nodes, labels): p_c = (n_c + p_c of the parent) / (n + 1), n in rows ÷ discount.

    Above the root all classes have the same share; at the root every row counts. A leaf that never saw a class then still gives
    it a little, and an empty leaf has the shares of its parent (m-branch smoothing with m = 1: Ferri, Flach & Hernández-Orallo
    2003).
    """
    out = np.array([node.counts for node in tree.nodes], np.float64)
    out[1:] /= discount
    totals = out.sum(axis=1)
    out[0] = (out[0] + 1 / len(tree.labels)) / (totals[0] + 1)
    for number, node in enumerate(tree.nodes):  # children come after their parents, so the parent's row is final
        for child in node.children:
            out[child] = (out[child] + out[number]) / (totals[child] + 1)
    return out


def mixture_weights(densities: FloatArray, start: FloatArray, steps: int, prior: float = 1.0) -> FloatArray:
    """Return the weights that explain rows as a mixture, by `steps` of EM; `prior` rows are spread as `start` beside them."""
    kernel, weights = densities.astype(np.float32), start
    for _ in range(steps):
        weights = em_step(kernel, np.ones(1, np.float32), weights.astype(np.float32), TINY).mass + prior * start
        weights = weights / weights.sum()
    return np.asarray(weights, np.float64)


def weight_covariance(densities: FloatArray, weights: FloatArray, start: FloatArray, prior: float = 1.0) -> FloatArray:
    """Return the covariance of mixture weights: the inverse of their information on the simplex (Cramér–Rao).

    I = Σ_i g_i g_iᵀ with g_il = h_l(y_i)/Σ_l w_l h_l(y_i), and of the prior rows diag(prior · start/w²).
    """
    size = len(weights)
    if size < 2:
        return np.zeros((size, size))
    mixed = np.maximum(densities @ weights, TINY)
    scores = densities.T / mixed
    information = scores @ scores.T + np.diag(prior * start / np.maximum(weights, 1e-6) ** 2)
    along = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, 1:]]))[0][
        :, 1:
    ]  # directions that keep the sum
    return np.asarray(along @ np.linalg.pinv(along.T @ information @ along, hermitian=True) @ along.T)


@dataclass(frozen=True)
class Estimate:
    """A figure by several readings of the rows, and the standard error of chance."""

    readings: tuple[float, ...]
    chance: float

    @property
    def value(self) -> float:
        """The mean of the readings."""
        return sum(self.readings) / len(self.readings)

    @property
    def error(self) -> float:
        """The standard error: of chance, and what the readings differ by, which is never less than a hundredth."""
        min_spread = 0.01  # readings may agree by accident
        spread = max(float(np.std(self.readings, ddof=1)), min_spread) if len(self.readings) > 1 else 0.0
        return math.hypot(self.chance, spread)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval: 1.96 standard errors on each side."""
        z95 = 1.959963984540054
        return self.value - z95 * self.error, self.value + z95 * self.error

    @classmethod
    def pool(cls, parts: Sequence[Estimate]) -> Estimate:
        """Return the mean over folds, reading by reading; of chance in one fold and in another, no part is the same."""
        readings = tuple(sum(same) / len(parts) for same in zip(*(p.readings for p in parts), strict=True))
        return cls(readings, math.sqrt(sum(p.chance**2 for p in parts)) / len(parts))

    def beside(self, other: Estimate) -> Estimate:
        """Return the readings of both; the rows are the same, so chance is that of the other, which saw them all at once."""
        return Estimate(self.readings + other.readings, other.chance)


@dataclass(frozen=True, eq=False)
class LeafTable:
    """The share of every leaf within every class, shape (leaves, classes), by several readings; and the rows of the classes.

    The first reading takes true values inside a leaf to be distributed as over all rows. Where the class changes inside a leaf,
    it praises the tree, since leaves are driven apart to explain it. The second is a mixture of products for each class, and
    blames trees whose borders are sharper than it can draw. The truth is mostly between them (decision 16).
    """

    readings: tuple[FloatArray, ...]
    covariances: tuple[FloatArray, ...]
    """Of the first reading, for each class."""
    classes: FloatArray
    """Rows of each class."""

    def mean(self, values: FloatArray) -> Estimate:
        """Estimate Σ_c π_c Σ_l m_lc v_lc: the mean of a quantity that depends on leaf and class, shape (leaves, classes)."""
        shares = self.classes / self.classes.sum()
        by_class = (self.readings[0] * values).sum(axis=0)
        chance_of_shares = float(shares @ (by_class - shares @ by_class) ** 2) / self.classes.sum()
        return self._weigh([values] * len(self.readings), shares, chance_of_shares)

    def mean_of_classes(self, values: FloatArray) -> Estimate:
        """Estimate the same with equal weight for every class that has rows."""
        present = self.classes > 0
        return self._weigh([values] * len(self.readings), present / present.sum())

    def auc(self, stated: FloatArray) -> Estimate | None:
        """Estimate the area under the ROC curve when leaves are ranked by the class shares that a tree states.

        Of each class against the rest, weighted by class share; None where all rows are of one class. P(a leaf of the class
        ranks above one of the rest) is m_cᵀ W_c r_c, with r_c the leaves of the rest and W = 1 for above, ½ for ties. It is linear
        in m_c for given r_c, and the other way round, so its error is that of two means.
        """
        shares = self.classes / self.classes.sum()
        present = np.flatnonzero((self.classes > 0) & (self.classes < self.classes.sum()))
        if not len(present):
            return None
        values = [np.zeros_like(stated) for _ in self.readings]
        gradient = np.zeros_like(stated)
        for c in present:
            p = stated[:, c]
            above = (p[:, None] > p) + 0.5 * (p[:, None] == p)
            others = np.where(np.arange(len(shares)) == c, 0.0, shares) / (1 - shares[c])
            for value, reading in zip(values, self.readings, strict=True):
                value[:, c] = above @ (reading @ others)
            gradient += shares[c] * np.outer(above.T @ self.readings[0][:, c], others)
        out = self._weigh(values, shares)
        total = values[0] * shares + gradient
        variance = sum(float(total[:, c] @ v @ total[:, c]) for c, v in enumerate(self.covariances))
        return Estimate(out.readings, math.sqrt(max(variance, 0.0)))

    def _weigh(self, values: Sequence[FloatArray], weights: FloatArray, more_variance: float = 0.0) -> Estimate:
        means = tuple(float(weights @ (r * v).sum(axis=0)) for r, v in zip(self.readings, values, strict=True))
        spread = (values[0][:, c] @ v @ values[0][:, c] for c, v in enumerate(self.covariances))
        variance = sum(float(w**2 * s) for w, s in zip(weights, spread, strict=True)) + more_variance
        # Where no row went wrong, the next one still may: no error is less than one row's share.
        least = 1 / (self.classes.sum() + 2)
        return Estimate(means, max(math.sqrt(max(variance, 0.0)), least))


class LeafModel:
    """The leaves of a tree as densities of released rows, with the shares they have among the rows that the tree grew from."""

    def __init__(self, tree: Tree, seen: SeenColumns, rows: IntArray) -> None:
        self.tree, self.seen = tree, seen
        self._boxes = leaf_boxes(tree, {name: seen.axis(name) for name in tree.used})
        self.leaves = leaf_numbers(tree)
        counted = np.array([tree.nodes[number].total for number in self.leaves]) + 0.5
        max_rows, steps = 8_000, 60  # the tree's own counts are nearly right, and more rows would change them little
        self.masses = mixture_weights(self.densities(rows[choose_rows(rows, max_rows)]), counted / counted.sum(), steps)

    def densities(self, rows: IntArray) -> FloatArray:
        """Return h_l(y) of some rows up to a factor per row, shape (rows, leaves)."""
        logs = np.zeros((len(rows), len(self.leaves)))
        for name, table in self._log_tables.items():
            logs += table[self.seen.codes(name)[rows]]
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))

    @cached_property
    def _log_tables(self) -> dict[str, FloatArray]:
        """Return ln P(bin | leaf) of every tested attribute, shape (bins + 1, leaves); an unexpected gap (−1) tells nothing."""
        out = {}
        for name, box in self._boxes.items():
            weights = box * self.seen.shares(name)
            total = weights.sum(axis=1, keepdims=True)
            # Where no mass is known inside a box, nothing is known of its values but the box.
            weights = np.where(total > 1e-7, weights, box + TINY)
            weights /= weights.sum(axis=1, keepdims=True)
            told = np.maximum(self.seen.axis(name).kernel @ weights.T, TINY)
            out[name] = np.log(np.concatenate([told, np.ones((1, len(box)))]))
        return out

    def log_loss(self, rows: IntArray, discount: float) -> FloatArray:
        """Return −ln P(class | released values) of each row, by the class shares that the tree itself states.

        P(c | y) = Σ_l P(l | y) p_lc: exact if the class depends on the leaf alone.
        """
        chances = self._held_densities(rows) * self.masses
        stated = chances @ smooth_shares(self.tree, discount)[self.leaves]
        stated /= np.maximum(stated.sum(axis=1, keepdims=True), TINY)
        return np.asarray(-np.log(np.maximum(stated[np.arange(len(rows)), self.seen.table.codes[rows]], 1e-6)))

    def _held_densities(self, rows: IntArray) -> FloatArray:
        """Return `densities` of rows, kept for the last ones asked for: a tree is scored under several discounts."""
        if getattr(self, "_held_rows", None) is not rows:
            self._held_rows, self._held = rows, self.densities(rows)
        return self._held

    @cached_property
    def predicted(self) -> IntArray:
        """The class that each leaf predicts."""
        return self.tree.node_classes[self.leaves]

    @property
    def is_right(self) -> FloatArray:
        """1 where the class is the one that the leaf predicts, shape (leaves, classes)."""
        return np.eye(len(self.tree.labels))[self.predicted]

    def leaf_table(self, rows: IntArray, models: ClassMixtures, max_rows: int = 24_000) -> LeafTable:
        """Return how the rows of each class are spread over the leaves, by at most `max_rows` of them and by `models`."""
        steps = 200
        few = rows[choose_rows(rows, max_rows)]
        classes, k = self.seen.table.codes[few], len(self.tree.labels)
        start = (self.masses + 1 / len(self.leaves)) / 2
        reading, covariances = np.zeros((len(self.leaves), k)), []
        for c in range(k):
            densities = self.densities(few[classes == c])
            reading[:, c] = mixture_weights(densities, start, steps)
            # All rows would tell more than these few.
            covariances.append(weight_covariance(densities, reading[:, c], start) * len(few) / len(rows))
        counts = np.bincount(self.seen.table.codes[rows], minlength=k).astype(np.float64)
        return LeafTable((reading, self.read_mixtures(models)), tuple(covariances), counts)

    def read_mixtures(self, models: ClassMixtures) -> FloatArray:
        """Return P(leaf | class) = Σ_k π_k Π_a p_ka(box) under a mixture of products for each class, shape (leaves, classes)."""
        boxes = leaf_boxes(self.tree, {axis.name: axis for axis in models.axes})
        out = []
        for model in models.models:
            chances = np.ones((model.size, len(self.leaves)))
            for axis, table in zip(models.axes, model.tables, strict=True):
                if axis.name in boxes:
                    chances *= table @ boxes[axis.name].T / table.sum(axis=1, keepdims=True)
            out.append(model.weights @ chances)
        return np.stack(out, axis=1)
