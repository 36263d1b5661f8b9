"""How sure the model is of itself: fits of rows drawn anew, one for each draw.

A draw from one fitted model knows the noise of a row, and takes the model for the truth. Rubin's rules need draws that also differ
as models fitted to other rows would. So each draw has a model of its own: it starts from the common fit and sees every row as often
as a Poisson count of mean one says, which belongs to the row's number. A few passes of EM lead to the fit of these rows, since the
common fit is near. All models are fitted in the same passes.

How far a statistic of the draws leans is found by rehearsing. A draw is taken for the true table, blurred anew by the stated laws,
modelled, and drawn from: what the second draw lacks beside the first is what the model blunts. It is a bootstrap of the whole
procedure, and needs nothing but the release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.modelling.chance import Chance
from sfumato.modelling.product_mixture import Bins, Expectation, maximise
from sfumato.modelling.table_model import HeldRows, Locating, Progress, Rows, TableModel, locate
from sfumato.randomness import SecretKey
from sfumato.table import Table


def resample_models(
    model: TableModel,
    rows: Rows | Table,
    names: Sequence[str],
    *,
    passes: int = 30,
    progress: Progress | None = None,
) -> tuple[TableModel, ...]:
    """Return one model per name, each fitted to rows drawn anew.

    Parameters
    ----------
    model
        The common fit.
    rows
        The rows that it was fitted to.
    names
        Another name draws other rows.
    passes
        Passes over all rows.
    progress
        Is told what is being done.
    """
    source: Rows = HeldRows(rows) if isinstance(rows, Table) else rows
    settings = model.settings
    starts = model.mixture.parts(model.mixture.size // int(model.chosen["components"]))
    mixtures = [starts[place % len(starts)] for place in range(len(names))]
    locators = tuple(facet.locator for facet in model.facets)
    bins = numbers = None
    if isinstance(source, HeldRows):
        numbers = np.arange(source.table.rows)
        turned = model.whitening.turn(source.table, Chance.of_rows(numbers, "fit"))
        bins = Bins.of(locators, locate(locators, turned))
    if progress:
        progress(f"fitting {len(names)} models to rows drawn anew")
    for _ in range(passes):
        expectations = tuple(Expectation.of(mixture, model.facets) for mixture in mixtures)
        count = Locating(model.whitening, locators, expectations, tuple(names))
        sums = source.fold(count) if bins is None or numbers is None else count.count(bins, numbers)
        mixtures = [
            maximise(mixture, count.part(sums, place), model.facets, settings.prior)
            for place, mixture in enumerate(mixtures)
        ]
    return tuple(replace(model, mixture=mixture) for mixture in mixtures)


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
            column if seen.channel is None else column.through(seen.channel, key.derive(column.name))
            for column, seen in zip(truth.all_columns, released.all_columns, strict=True)
        )
        again = Table(columns[:-1], columns[-1]) if truth.target is not None else Table(columns)
        settings = replace(common.settings, components=(common.chosen["components"],), starts=1, seed=place)
        (own,) = resample_models(TableModel.fit(again, settings), again, [f"rehearsal {name}"])
        out.append((truth, own.draw(again, numbers, f"rehearsal {name}")))
    return tuple(out)
