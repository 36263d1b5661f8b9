"""The strategy `mixture`: for each class a mixture of products over all attributes that matter, and a tree grown on it.

A joint table of more than three attributes has too many cells to fill. A mixture of products (`products`) does not care how many
attributes there are, so it serves classes that depend on many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.table import Table, refuse_correlated_noise
from sfumato.trees.grow import Limits, Pruner
from sfumato.trees.strategies.base import Draft, Fitted, Progress, keep_classified_rows, quiet, strategy
from sfumato.trees.strategies.joint_map import choose_attributes, draft_weighted
from sfumato.trees.strategies.judge import fit_draft
from sfumato.trees.strategies.products import fit_mixtures


@strategy("mixture")
def fit_mixture(
    table: Table,
    *,
    limits: Limits | None = None,
    pruner: Pruner | None = None,
    seed: int = 0,
    attributes: Sequence[str] | None = None,
    progress: Progress = quiet,
) -> Fitted:
    """Find the attributes that matter, fit a mixture of products to each class, grow a tree on rows drawn from it.

    Parameters
    ----------
    table
        The release.
    limits, pruner
        Where the tree ends; 200 leaves, and what held-out rows bear out, unless said otherwise.
    seed
        Random starts, drawn rows, and which rows are held out while attributes are chosen.
    attributes
        The attributes that matter, if they are known already.
    progress
        Is told what is being done.
    """
    draft = partial(draft_mixture, limits=limits, seed=seed, attributes=attributes, progress=progress)
    return fit_draft(table, [draft], pruner, max_folds=1)


def draft_mixture(
    table: Table,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    attributes: Sequence[str] | None = None,
    progress: Progress = quiet,
) -> Draft:
    """Fit the mixtures and grow the tree of rows drawn from them; together they weigh as much as the release has rows."""
    drawn_rows = 120_000
    refuse_correlated_noise("the strategy mixture", table.columns)
    table = keep_classified_rows(table)
    if attributes is None:
        progress("choosing attributes")
        attributes = choose_attributes(table, seed=seed).relevant
    models = fit_mixtures(table, attributes, seed=seed, progress=progress)
    progress("growing the tree")
    names = ", ".join(attributes) or "none"
    notes = {
        "attributes": list(attributes),
        "components": [model.size for model in models.models],
        "why": f"{len(attributes)} of {len(table.columns)} attributes say something about the class: {names}",
    }
    limits = limits or Limits(max_leaves=200, min_leaf=max(1.0, table.rows / 1000))
    if not models.axes:
        draft = draft_weighted(table, (), (), models.shares[:, None] * table.rows, "mixture", limits)
    else:
        cells, posterior = models.draw(drawn_rows, np.random.default_rng([seed, 7]))
        weights = posterior * (table.rows / posterior.shape[1])
        draft = draft_weighted(table, models.axes, cells, weights, "mixture", limits)
    return replace(draft, notes=notes)
