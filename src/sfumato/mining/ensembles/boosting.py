"""The strategies `boosting` and `forest`: ordinary learners, fitted on draws of plausible true rows and averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.mining.ensembles.ensemble import Branches, Ensemble
from sfumato.mining.ensembles.scikit_trees import read_boosted, read_forest
from sfumato.mining.ensembles.surrogate import add_surrogate
from sfumato.mining.plausible_tables import (
    MAX_GROUPS,
    Sizes,
    draw_tables,
    fill_empty,
    label_counts,
    limit_threads,
    spread_labels,
    stack_columns,
)
from sfumato.table import Table
from sfumato.trees import Fitted, keep_classified_rows, strategy

MIN_ROWS_FOR_LARGE_TREES = 5_000
"""Below this many rows there are more draws, as each is noisier, and smaller trees."""

Learned = tuple[FloatArray, tuple[Branches, ...], FloatArray]
"""What sums start from, the trees, and what each attribute gains."""


@strategy("boosting")
def fit_boosting(table: Table, *, draws: int | None = None, trees: int = 100, seed: int = 0) -> Fitted:
    """Fit boosted trees to a release.

    Parameters
    ----------
    table
        The released columns with their laws.
    draws
        Tables of plausible true rows to learn from; by default 5, and 15 where there are fewer than 5,000 rows.
    trees
        Rounds of boosting in each; a round has one tree for two classes, and one for each of more.
    seed
        Another seed gives other draws.

    Returns
    -------
    Fitted
        The ensemble; ``notes["why"]`` says what it learned from.
    """
    return _fit(table, partial(boost_tables, trees=trees), draws, seed)


def boost_tables(tables: Sequence[Table], *, trees: int = 100, seed: int = 0) -> Ensemble:
    """Fit boosted trees to each of several draws of the same rows, and return their mean.

    Parameters
    ----------
    tables
        Plausible true rows with their classes.
    trees
        Rounds of boosting in each.
    seed
        Chance of the learner.
    """

    def learn(matrix: FloatArray, codes: IntArray, sizes: Sizes, number: int) -> Learned:
        from sklearn.ensemble import HistGradientBoostingClassifier

        groups = [i for i, size in enumerate(sizes) if size is not None and size <= MAX_GROUPS]
        # Draws are noisier than true rows: trees of half the usual size rank better at every strength of noise.
        leaves, rate = (15, 0.1) if len(matrix) >= MIN_ROWS_FOR_LARGE_TREES else (8, 0.05)
        model = HistGradientBoostingClassifier(
            max_iter=trees,
            max_leaf_nodes=leaves,
            learning_rate=rate,
            early_stopping=False,
            categorical_features=groups or None,
            random_state=number,
        )
        return read_boosted(model.fit(matrix, codes), sizes)

    return _learn(tables, "boosting", learn, seed)


@strategy("forest")
def fit_forest(table: Table, *, draws: int | None = None, trees: int = 20, seed: int = 0) -> Fitted:
    """Fit a random forest to a release.

    Parameters
    ----------
    table
        The release.
    draws
        Tables of plausible true rows to learn from; by default 5, and 15 where there are fewer than 5,000 rows.
    trees
        Trees that learn from each.
    seed
        Another seed gives other draws.

    Returns
    -------
    Fitted
        The ensemble; ``notes["why"]`` says what it learned from.
    """

    def learn(matrix: FloatArray, codes: IntArray, sizes: Sizes, number: int) -> Learned:
        from sklearn.ensemble import RandomForestClassifier

        spread, origin = spread_labels(matrix, sizes)
        # At most 256 leaves: what a tree of drawn rows tells apart beyond is chance, and the file stays small.
        model = RandomForestClassifier(
            trees, max_leaf_nodes=256, min_samples_leaf=5, max_features=0.3, random_state=number
        )
        branches, gains = read_forest(model.fit(spread, codes), origin)
        return np.zeros(len(model.classes_)), branches, gains

    return _fit(table, lambda tables, seed: _learn(tables, "forest", learn, seed), draws, seed)


def _fit(table: Table, learn: Callable[..., Ensemble], draws: int | None, seed: int) -> Fitted:
    table = keep_classified_rows(table)
    draws = (5 if table.rows >= MIN_ROWS_FOR_LARGE_TREES else 15) if draws is None else draws
    tables, notes = draw_tables(table, draws, seed)
    ensemble = learn(tables, seed=seed)
    return Fitted(add_surrogate(ensemble, tables[0]), {**notes, "why": _why(notes, len(tables))})


def _learn(
    tables: Sequence[Table], name: str, learn: Callable[[FloatArray, IntArray, Sizes, int], Learned], seed: int
) -> Ensemble:
    attributes = tuple(column.attribute for column in tables[0].columns)
    sizes = label_counts(attributes)
    classes = np.unique(np.concatenate([t.codes for t in tables]))
    base: list[FloatArray] = []
    members: list[tuple[Branches, ...]] = []
    gains = np.zeros(len(attributes))
    for number, drawn in enumerate(tables):
        if len(classes) == 1:
            base.append(np.zeros(1))
            members.append(())
            continue
        matrix, codes = _with_every_class(fill_empty(stack_columns(drawn)), drawn.codes, classes)
        with limit_threads(len(matrix)):
            start, trees, gain = learn(matrix, codes, sizes, seed + number)
        base.append(start)
        members.append(trees)
        gains += gain
    link = "mean" if name == "forest" and len(classes) > 1 else "logistic" if len(classes) == 2 else "softmax"
    return Ensemble(
        attributes,
        tables[0].labels,
        link,
        tuple(classes.tolist()),
        np.array(base),
        tuple(members),
        tuple((gains / max(gains.sum(), 1e-300)).tolist()),
        name,
        tables[0].required_target.name,
    )


def _with_every_class(matrix: FloatArray, codes: IntArray, classes: IntArray) -> tuple[FloatArray, IntArray]:
    """Return rows with the places of their classes; a class that a draw of the class lacks has a row without values."""
    lacking = np.setdiff1d(classes, codes)
    matrix = np.vstack([matrix, np.full((len(lacking), matrix.shape[1]), np.nan)])
    return matrix, np.searchsorted(classes, np.concatenate([codes, lacking]))


def _why(notes: dict[str, Any], draws: int) -> str:
    if "model" not in notes:
        return str(notes["why"])
    return f"learned from {draws} draws of plausible true rows, and averaged; of the model they come from: {notes['model']['why']}"
