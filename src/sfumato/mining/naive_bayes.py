"""Naive Bayes on reconstructed distributions: the second model that a release can be mined for.

Noise is independent across attributes, so the class-conditional distribution of each can be reconstructed by itself, and
their product is all that naive Bayes asks for. No row is ever assigned to anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, Grid
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import reconstruct_by_class
from sfumato.schema import Attribute
from sfumato.table import Table
from sfumato.trees import Columns, encode, strategy

FORMAT = "sfumato-naive-bayes"
NAIVE_BAYES = "naive-bayes"


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """P(class) and P(cell | class) for each attribute, the latter with half a row added to every cell."""

    attributes: tuple[Attribute, ...]
    labels: tuple[str, ...]
    prior: FloatArray
    grids: tuple[Grid, ...]
    mass: tuple[FloatArray, ...]
    """One array per attribute, shape (classes, cells)."""
    target: str = "class"

    @classmethod
    def fit(cls, table: Table) -> NaiveBayes:
        """Reconstruct every attribute by class."""
        if table.target is None:
            raise UsageError("naive Bayes needs a class; release the table with target=COLUMN")
        counts = np.bincount(table.codes[table.codes >= 0], minlength=len(table.labels)).astype(np.float64)
        if not counts.sum():
            raise DataError("no row has a class, so there is nothing to learn from")
        grids, mass = [], []
        for column in table.columns:
            distributions = reconstruct_by_class(table, column.name)
            grid = next(iter(distributions.values())).grid
            rows = []
            for label, n in zip(table.labels, counts, strict=True):
                share = distributions[label].mass if label in distributions else np.full(grid.size, 1 / grid.size)
                rows.append((n * share + 0.5) / (n + 0.5 * grid.size))
            grids.append(grid if column.attribute.scale is None else _in_unit(grid, column.attribute))
            mass.append(np.array(rows))
        prior = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
        attributes = tuple(c.attribute for c in table.columns)
        return cls(attributes, table.labels, prior, tuple(grids), tuple(mass), table.target.name)

    def predict_proba(self, columns: Columns) -> FloatArray:
        """Return P(class | cells) ∝ P(class) Π P(cell | class), missing values left out; shape (rows, classes)."""
        values, rows = encode(self.attributes, [a.name for a in self.attributes], columns)
        logs = np.tile(np.log(self.prior), (rows, 1))
        for attribute, grid, mass in zip(self.attributes, self.grids, self.mass, strict=True):
            known = ~np.isnan(values[attribute.name])
            logs[known] += np.log(mass.T[grid.locate(values[attribute.name][known])])
        scores = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "target": self.target,
            "labels": list(self.labels),
            "prior": self.prior.tolist(),
            "attributes": [
                a.to_dict()
                | ({"edges": g.points.tolist()} if g.edges is not None else {"atoms": g.points.tolist()})
                | {"mass": m.tolist()}
                for a, g, m in zip(self.attributes, self.grids, self.mass, strict=True)
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NaiveBayes:
        """The inverse of `to_dict`."""
        attributes, grids, mass = [], [], []
        for entry in data["attributes"]:
            rest = dict(entry)
            edges, atoms, rows = rest.pop("edges", None), rest.pop("atoms", None), rest.pop("mass")
            attributes.append(Attribute.from_dict(rest))
            grids.append(Grid(edges=np.array(edges)) if edges is not None else Grid(atoms=np.array(atoms)))
            mass.append(_probabilities(rows, (len(data["labels"]), grids[-1].size)))
        prior = _probabilities(data["prior"], (len(data["labels"]),))
        return cls(
            tuple(attributes), tuple(map(str, data["labels"])), prior, tuple(grids), tuple(mass), str(data["target"])
        )


def _in_unit(grid: Grid, attribute: Attribute) -> Grid:
    """Return the cells of a column on a scale in its unit."""
    points = attribute.to_values(grid.points)
    return Grid(edges=points) if grid.edges is not None else Grid(atoms=points)


def _probabilities(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return positive numbers of a shape; raise ValueError where a file holds anything else."""
    out = np.array(values, dtype=np.float64)
    if out.shape != shape or not (out > 0).all() or not np.isfinite(out).all() or not out.size:
        raise ValueError(f"probabilities of shape {out.shape} are not {shape} positive numbers")
    return out


@strategy(NAIVE_BAYES)
def fit_naive_bayes(table: Table) -> NaiveBayes:
    """Fit naive Bayes to a release."""
    return NaiveBayes.fit(table)
