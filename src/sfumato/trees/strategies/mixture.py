"""The strategy `mixture`: for each class a mixture of products over all attributes that matter, and a tree grown on it.

A joint table of more than three attributes has too many cells to fill. A mixture of products does not care how many
attributes there are, so it serves classes that depend on many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.table import Table, refuse_correlated_noise
from sfumato.trees.grow import Limits, Pruner
from sfumato.trees.strategies._axes import Axis, class_shares, keep_classified_rows
from sfumato.trees.strategies._products import Products, fit_products, normalise
from sfumato.trees.strategies.attributes import choose_attributes
from sfumato.trees.strategies.base import Fitted, Progress, quiet, strategy
from sfumato.trees.strategies.joint_map import weighted_tree
from sfumato.trees.tree import Tree

COMPONENTS = 24
STARTS = 2
CELLS, BINS = 50, 64
SAMPLE = 120_000


@dataclass(frozen=True, eq=False)
class ClassMixtures:
    """P(true cells | class) as a mixture of products for every class, and the shares of the classes."""

    axes: tuple[Axis, ...]
    models: tuple[Products, ...]
    shares: FloatArray

    def class_log_loss(self, table: Table) -> FloatArray:
        """−log P(class | released values) of each record."""
        if not self.axes:
            return np.asarray(-np.log(self.shares)[table.codes])
        logs = self.pooled().joint_log(self.axes, [axis.codes(table[axis.name]) for axis in self.axes])
        posterior, _ = normalise(logs)
        starts = np.concatenate([[0], np.cumsum([model.size for model in self.models])[:-1]])
        shares = np.add.reduceat(posterior.astype(np.float64), starts, axis=1)
        return np.asarray(-np.log(np.maximum(shares[np.arange(table.rows), table.codes], 1e-12)))

    def pooled(self) -> Products:
        """The distribution of all records, whatever their class."""
        return Products.union(self.models, self.shares)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[list[IntArray], FloatArray]:
        """True cells of records drawn from all classes, and P(class | cells) of each, one row a class.

        The exact posterior instead of the class a record was drawn from: the same expectation, less chance in it.
        """
        cells = self.pooled().sample(size, rng)
        joint = np.stack(
            [share * model.cell_density(cells) for share, model in zip(self.shares, self.models, strict=True)]
        )
        return cells, joint / np.maximum(joint.sum(axis=0), 1e-300)


def fit_mixtures(
    table: Table,
    names: Sequence[str],
    *,
    components: int = COMPONENTS,
    starts: int = STARTS,
    seed: int = 0,
    progress: Progress | None = None,
) -> ClassMixtures:
    """EM for each class from several random starts; the fits are averaged, which smooths out what chance put into each."""
    rows_per_component = 200  # A class with few records gets fewer components.
    table, classes = keep_classified_rows(table)
    tell = progress or quiet
    axes = tuple(Axis.of(table[name], CELLS, BINS) for name in names)
    shares = class_shares(classes, len(table.labels))
    if not axes:
        return ClassMixtures((), tuple(Products(np.ones(1), ()) for _ in shares), shares)
    codes = [axis.codes(table[axis.name]) for axis in axes]
    models = []
    for c, label in enumerate(table.labels):
        rows = np.flatnonzero(classes == c)
        size = max(1, min(components, len(rows) // rows_per_component))
        fits = []
        for start in range(starts if size > 1 else 1):
            tell(f"mixture of {label}, start {start + 1}")
            rng = np.random.default_rng([seed, c, start])
            fits.append(fit_products(axes, [code[rows] for code in codes], size, rng))
        models.append(Products.union(fits, [1 / len(fits)] * len(fits)))
    return ClassMixtures(axes, tuple(models), shares)


@strategy("mixture")
def fit_mixture(
    table: Table,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
    attributes: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Find the attributes that matter, fit a mixture of products to each class, grow a tree on records drawn from it.

    Parameters
    ----------
    table
        The release.
    limits, pruner
        Where the tree ends; 200 leaves and MDL unless said otherwise.
    seed
        Random starts, drawn records, and which records are held out while attributes are chosen.
    attributes
        The attributes that matter, if they are known already.
    progress
        Told what is being done.
    """
    refuse_correlated_noise("the strategy mixture", table.columns)
    table, _ = keep_classified_rows(table)
    tell = progress or quiet
    if attributes is None:
        tell("choosing attributes")
        attributes = choose_attributes(table, seed=seed).relevant
    models = fit_mixtures(table, attributes, seed=seed, progress=progress)
    tell("growing the tree")
    tree = mixture_tree(models, table, limits=limits, pruner=pruner, seed=seed)
    said = ", ".join(attributes) or "none"
    notes = {
        "attributes": list(attributes),
        "components": [model.size for model in models.models],
        "why": f"{len(attributes)} of {len(table.columns)} attributes say something about the class: {said}",
    }
    return Fitted(tree, models.class_log_loss, notes)


def mixture_tree(
    models: ClassMixtures,
    table: Table,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
) -> Tree:
    """The tree of records drawn from fitted mixtures; together they weigh as much as the release has records."""
    max_leaves = 200
    limits = limits or Limits(max_leaves=max_leaves, min_leaf=max(1.0, table.rows / 1000))
    if not models.axes:
        whole = models.shares[:, None] * table.rows
        return weighted_tree(table, (), (), whole, "mixture", limits, pruner)
    cells, posterior = models.draw(SAMPLE, np.random.default_rng([seed, 7]))
    weights = posterior * (table.rows / posterior.shape[1])
    codes = [axis.cell_codes()[cell] for axis, cell in zip(models.axes, cells, strict=True)]
    return weighted_tree(table, models.axes, codes, weights, "mixture", limits, pruner)
