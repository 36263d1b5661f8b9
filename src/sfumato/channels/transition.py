"""A column seen through its law: cells of the true value, cells of the released one, and the kernel K between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sfumato.channels._operators import DenseKernel, Kernel, label_operator
from sfumato.channels.base import CellRule, Channel
from sfumato.counts import FloatArray, Grid

MAX_DENSE_LABELS = 1024
"""Up to this many labels a kernel is an array: at most 32 MB, and products of arrays are the fastest."""


@dataclass(frozen=True, eq=False)
class Transition:
    """From cells of the true value to cells of the released one.

    Parameters
    ----------
    true : Grid
        The cells of the true value.
    observed : Grid
        The cells in which released values are counted.
    matrix : Kernel
        K[s, p] = P(released in `observed` cell s | true in `true` cell p).

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.counts import Grid
    >>> answer = sf.Attribute("answer", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> law = sf.Substitution(gamma=3.0).on(answer)
    >>> Transition.of(law, Grid.over(answer, 2)).matrix.dense()
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    true: Grid
    observed: Grid
    matrix: Kernel

    @classmethod
    def of(
        cls,
        channel: Channel | None,
        true: Grid,
        observed: Grid | None = None,
        *,
        rule: CellRule = CellRule.EXACT,
        max_dense: int | None = None,
    ) -> Transition:
        """Return the transition of a law.

        Parameters
        ----------
        channel
            The law; None where values are released as true, and K is the identity.
        true
            The cells of the true value.
        observed
            The cells in which released values are counted; by default those that the law proposes.
        rule
            How the probability of a cell is computed.
        max_dense
            With more labels than this the kernel is an operator where the law has one, an array otherwise.
        """
        if channel is None:
            observed = true
        elif observed is None:
            observed = channel.observed_grid(true)
        if true.size > (MAX_DENSE_LABELS if max_dense is None else max_dense):
            operator = label_operator(channel, true)
            if operator is not None:
                return cls(true, observed, operator)
        array = np.eye(true.size) if channel is None else channel.transition(true, observed, rule)
        return cls(true, observed, DenseKernel(array))

    @classmethod
    def shared(
        cls, channel: Channel, true: Grid, *, rule: CellRule = CellRule.EXACT, max_dense: int | None = None
    ) -> Transition:
        """Return the same as `of` on the law's own observed grid, remembered: classes and nodes ask again and again."""
        key = channel, true.points.tobytes(), true.edges is not None, true.step, rule
        remembered = _remembered(*key, MAX_DENSE_LABELS if max_dense is None else max_dense)
        return replace(remembered, true=true)

    @classmethod
    def numbered(cls, array: FloatArray) -> Transition:
        """Return the transition of a bare matrix, its cells numbered from 0."""
        rows, columns = (Grid(atoms=np.arange(size, dtype=np.float64)) for size in array.shape)
        return cls(columns, rows, DenseKernel(array))


@lru_cache(maxsize=32)
def _remembered(
    channel: Channel, points: bytes, cells: bool, step: float, rule: CellRule, max_dense: int
) -> Transition:
    values = np.frombuffer(points)
    true = Grid(edges=values, step=step) if cells else Grid(atoms=values, step=step)
    made = Transition.of(channel, true, rule=rule, max_dense=max_dense)
    if isinstance(made.matrix, DenseKernel):
        made.matrix.array.setflags(write=False)
    return made


def coarsen(grid: Grid, values: FloatArray, max_cells: int, *, keep_last_cut: bool = False) -> Grid:
    """Return the observed grid cut into at most `max_cells` cells, at cuts of its own.

    The thousandth of the values at each end share the end cells. Every k-th of the cuts between is kept, for the smallest k
    that will do. A joint table also keeps the last cut (`keep_last_cut`), so that both its end cells hold nothing but
    tails; an axis of a tree's model does not, and its upper end cell may be wider.

    Parameters
    ----------
    grid
        The observed grid; one of atoms is returned as it is.
    values
        The released values; NaN where missing.
    max_cells
        The largest number of cells.
    keep_last_cut
        Whether the last cut below the upper tail is kept whatever k is.
    """
    tail = 0.001
    present = values[~np.isnan(values)]
    if grid.edges is None or grid.size <= max_cells or not len(present):
        return grid
    low, high = np.quantile(present, [tail, 1 - tail])
    every = grid.edges[1:-1]
    inner = every[(every >= low) & (every <= high)]
    if keep_last_cut:
        if len(inner) < 2:
            inner = every
        # k cuts make k + 1 cells, two of them tails; every factor-th cut and the last one leave at most `max_cells`.
        factor = -(-(len(inner) - 1) // max(max_cells - 2, 1))
        cuts = np.unique(np.concatenate([inner[::factor], inner[-1:]]))
    else:
        cuts = inner[:: max(1, -(-(len(inner) + 1) // max_cells))]
    return replace(grid, edges=np.concatenate([grid.edges[:1], cuts, grid.edges[-1:]]))
