"""Trees out of scikit-learn's fitted models.

Node arrays are private to scikit-learn, so this is the one module that reads them, and a test holds the result to scikit-learn's
own predictions: a version that changes them fails there.
"""

# ruff: noqa: SLF001 - reading what scikit-learn keeps to itself is what this module is for
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.mining.ensembles.ensemble import Branches
from sfumato.schema import MAX_MAGNITUDE


@dataclass(frozen=True, eq=False)
class Nodes:
    """One tree with all columns of its nodes, in any order.

    Attributes
    ----------
    column : array
        The attribute each node asks about, −1 for a leaf.
    left, right : array
        The children.
    missing_left : array of bool
        Where missing values go.
    cuts : sequence
        The largest number that goes left, or the places of the labels that do.
    leaves : array
        What a leaf adds, shape (nodes, numbers).
    gain : array
        What each test gains.
    """

    column: IntArray
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    cuts: Sequence[float | tuple[int, ...]]
    leaves: FloatArray
    gain: FloatArray

    def walk(self, output: int = 0) -> Branches:
        """Return the tree with its nodes in the order of a walk, the left side first."""
        order, waiting = [], [0]
        while waiting:
            order.append(node := waiting.pop())
            if self.column[node] >= 0:
                waiting += [int(self.right[node]), int(self.left[node])]
        place = np.empty(len(self.column), np.int64)
        place[order] = np.arange(len(order))
        inner = [node for node in order if self.column[node] >= 0]
        ends = [node for node in order if self.column[node] < 0]
        return Branches(
            self.column[order],
            place[self.right[inner]],
            tuple(self.cuts[node] for node in inner),
            self.missing_left[inner],
            self.leaves[ends],
            output,
        )

    def gains(self, columns: int) -> FloatArray:
        """Return what the tests of each attribute gain."""
        inner = self.column >= 0
        gains = np.bincount(self.column[inner], np.maximum(self.gain[inner], 0.0), columns)
        return gains.astype(np.float64)


def read_boosted(model: Any, sizes: Sequence[int | None]) -> tuple[FloatArray, tuple[Branches, ...], FloatArray]:
    """Return the base, the trees and the gains by attribute of a fitted HistGradientBoostingClassifier.

    Parameters
    ----------
    model
        The fitted model. Columns it was told to be categories hold places of labels.
    sizes
        The number of labels of each column, None for numbers.
    """
    columns = len(sizes)
    order, labels = np.arange(columns), None
    if model._preprocessor is not None:
        # Columns of labels come first inside the model, and their codes count the labels that training rows have.
        is_label = np.asarray(model.is_categorical_)
        order = np.concatenate([np.flatnonzero(is_label), np.flatnonzero(~is_label)])
        labels = model._preprocessor.named_transformers_["encoder"].categories_
    trees, gains = [], np.zeros(columns)
    for predictors in model._predictors:
        for output, predictor in enumerate(predictors):
            nodes = _boosted_nodes(predictor, order, labels, sizes)
            trees.append(nodes.walk(output))
            gains += nodes.gains(columns)
    return np.asarray(model._baseline_prediction, dtype=np.float64).ravel(), tuple(trees), gains


def bound_cuts(cuts: FloatArray) -> FloatArray:
    """Return cuts that a file can hold: an infinite one, which only missing values pass, becomes larger than any value."""
    return np.clip(cuts, -MAX_MAGNITUDE, MAX_MAGNITUDE)


def _boosted_nodes(
    predictor: Any, order: IntArray, labels: Sequence[FloatArray] | None, sizes: Sequence[int | None]
) -> Nodes:
    raw = predictor.nodes
    leaf = raw["is_leaf"].astype(bool)
    inside = raw["feature_idx"].astype(np.int64)
    cuts: list[float | tuple[int, ...]] = [float(v) for v in bound_cuts(raw["num_threshold"])]
    for node in np.flatnonzero(~leaf & raw["is_categorical"].astype(bool)):
        bits = predictor.raw_left_cat_bitsets[raw["bitset_idx"][node]]
        known = np.asarray(labels[inside[node]] if labels is not None else (), dtype=np.float64)
        known = known[~np.isnan(known)].astype(np.int64)
        codes = np.arange(len(known))
        # A label that no training row has goes where missing values go.
        goes_left = np.full(sizes[order[inside[node]]] or 0, bool(raw["missing_go_to_left"][node]))
        goes_left[known] = (bits[codes >> 5] >> (codes & 31).astype(np.uint32)) & 1
        cuts[node] = tuple(np.flatnonzero(goes_left).tolist())
    return Nodes(
        np.where(leaf, -1, order[np.where(leaf, 0, inside)]),
        raw["left"].astype(np.int64),
        raw["right"].astype(np.int64),
        raw["missing_go_to_left"].astype(bool),
        cuts,
        raw["value"].astype(np.float64)[:, None],
        raw["gain"].astype(np.float64),
    )


def read_forest(model: Any, origin: Sequence[tuple[int, int | None]]) -> tuple[tuple[Branches, ...], FloatArray]:
    """Return the trees and the gains by attribute of a fitted RandomForestClassifier.

    Parameters
    ----------
    model
        The fitted model.
    origin
        Of each of its columns the attribute, and the place of the label it is 1 for; None for a number.
    """
    trees, columns = [], 1 + max(attribute for attribute, _ in origin)
    gains = np.zeros(columns)
    for estimator in model.estimators_:
        nodes = _grown_nodes(estimator.tree_, origin)
        trees.append(nodes.walk())
        gains += nodes.gains(columns)
    return tuple(trees), gains


def _grown_nodes(raw: Any, origin: Sequence[tuple[int, int | None]]) -> Nodes:
    leaf = raw.children_left < 0
    asked = [origin[f] if not end else (-1, None) for f, end in zip(raw.feature.tolist(), leaf.tolist(), strict=True)]
    of_label = np.array([label is not None for _, label in asked])
    # A column that is 1 for one label goes right where it is 1. Here the one label goes left, and all others right.
    left = np.where(of_label, raw.children_right, raw.children_left)
    right = np.where(of_label, raw.children_left, raw.children_right)
    missing = np.asarray(raw.missing_go_to_left).astype(bool)
    weight, impurity = raw.weighted_n_node_samples, raw.impurity
    both = np.where(leaf, 0.0, weight[left] * impurity[left] + weight[right] * impurity[right])
    return Nodes(
        np.array([attribute for attribute, _ in asked], dtype=np.int64),
        left.astype(np.int64),
        right.astype(np.int64),
        np.where(of_label, False, missing),
        [
            t if label is None else (label,)
            for t, (_, label) in zip(bound_cuts(raw.threshold).tolist(), asked, strict=True)
        ],
        raw.value[:, 0, :].astype(np.float64),
        np.where(leaf, 0.0, weight * impurity - both),
    )
