"""How sure the model is of itself: fits of rows drawn anew, one for each draw.

A draw from one fitted model knows the noise of a row, and takes the model for the truth. Rubin's rules need draws that also differ
as models fitted to other rows would. So each draw has a model of its own: it starts from the common fit and sees every row as often
as a Poisson count of mean one says, which belongs to the row's number. A few passes of EM lead to the fit of these rows, since the
common fit is near. All models are fitted in the same passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.counts import IntArray, Sums
from sfumato.modelling.chance import Chance
from sfumato.modelling.facets import Facet
from sfumato.modelling.product_mixture import Bins, Expectation, maximise
from sfumato.modelling.table_model import HeldRows, Progress, Rows, TableModel, locate
from sfumato.table import Table


@dataclass(frozen=True, eq=False)
class Resampling:
    """One pass of EM for several models over a block, each with its own counts of the rows. It travels to any worker as it is."""

    facets: tuple[Facet, ...]
    expectations: tuple[Expectation, ...]
    names: tuple[str, ...]

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the sums of every model over the rows of a block."""
        return self.count(Bins.of(self.facets, locate(self.facets, table)), rows)

    def count(self, bins: Bins, rows: IntArray) -> Sums:
        """Return the sums of every model over rows that were located already."""
        out: dict[tuple[str, int, str], Any] = {}
        for place, (expectation, name) in enumerate(zip(self.expectations, self.names, strict=True)):
            sums = expectation(bins, Chance.of_rows(rows, name).times("times"))
            out |= {("sum", place, what): array for what, array in sums.arrays.items()}
        return Sums(out)


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
    bins = Bins.of(model.facets, locate(model.facets, source.table)) if isinstance(source, HeldRows) else None
    for done in range(passes):
        if progress:
            progress(f"fitting to rows drawn anew, pass {done + 1} of {passes}")
        expectations = tuple(Expectation.of(mixture, model.facets) for mixture in mixtures)
        count = Resampling(model.facets, expectations, tuple(names))
        sums = source.fold(count) if bins is None else count.count(bins, np.arange(bins.rows))
        mixtures = [
            maximise(mixture, _of(sums, place), model.facets, settings.prior) for place, mixture in enumerate(mixtures)
        ]
    return tuple(replace(model, mixture=mixture) for mixture in mixtures)


def _of(sums: Sums, place: int) -> Sums:
    """Return the sums of one model."""
    return Sums({name[2]: array for name, array in sums.arrays.items() if name[1] == place})
