"""How far off does a statistic of the draws come out? Taken from draws of which the truth is known.

A draw is taken for the true table, blurred anew by the stated laws, modelled, and drawn from. What a statistic of that second draw
lacks beside the same statistic of the first says how the model leans: a mixture of few components blunts what columns have in
common. It is the bootstrap of the whole procedure, and needs nothing but the release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.modelling.bootstrap import resample_models
from sfumato.modelling.table_model import HeldRows, Progress, Rows, TableModel
from sfumato.randomness import SecretKey
from sfumato.table import Table


def rehearse_draws(
    common: TableModel, models: Sequence[TableModel], rows: Rows | Table, names: Sequence[str], progress: Progress
) -> tuple[tuple[Table, Table], ...]:
    """Return for each draw a pair: a table that is taken for the truth, and a draw from a release of it.

    Parameters
    ----------
    common
        The common fit, whose number of components is taken.
    models
        The models of the draws.
    rows
        The released rows; of more than 20,000 a sample, since how a model leans depends little on their number.
    names
        The names of the draws.
    progress
        Is told what is being done.
    """
    max_rows = 20_000
    source: Rows = HeldRows(rows) if isinstance(rows, Table) else rows
    released = source.sample(max_rows)
    numbers = np.arange(released.rows)
    out = []
    for place, (model, name) in enumerate(zip(models, names, strict=True)):
        progress(f"rehearsing, {place + 1} of {len(models)}")
        truth = model.draw(released, numbers, name)
        # No secret: chance for an experiment, repeated under its name.
        key = SecretKey(hashlib.sha256(f"rehearsal {name}".encode()).digest())
        columns = tuple(
            column if facet.column.channel is None else column.through(facet.column.channel, key.derive(column.name))
            for column, facet in zip(truth.all_columns, model.facets, strict=True)
        )
        again = Table(columns[:-1], columns[-1]) if truth.target is not None else Table(columns)
        settings = replace(common.settings, components=(common.chosen["components"],), starts=1, seed=place)
        (own,) = resample_models(TableModel.fit(again, settings), again, [f"rehearsal {name}"])
        out.append((truth, own.draw(again, numbers, f"rehearsal {name}")))
    return tuple(out)
