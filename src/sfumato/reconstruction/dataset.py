"""Matrix-based reconstruction of a whole table (Dowd, Xu & Zhang 2006, Algorithm 2), so that any ordinary miner can be used.

Each attribute is reconstructed on its own and its values are assigned in sorted order: the lowest released values become the
lowest true values, in exactly the numbers that the reconstruction estimates. The result is a table that has the
estimated distributions, but not anybody's original row.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.channels import CellRule, Projective
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.reconstruction.columns import reconstruct
from sfumato.table import Column, Table


def round_to_total(mass: FloatArray, n: int) -> IntArray:
    """Return whole numbers near n × mass that sum to n, each within one of its share: round the largest remainders up."""
    share = mass / mass.sum() * n
    counts = np.floor(share + 1e-9).astype(np.int64)
    short = n - int(counts.sum())
    if short > 0:
        counts[np.argsort(-(share - counts), kind="stable")[:short]] += 1
    return counts


def jitter(name: str, rows: int, seed: int = 0) -> FloatArray:
    """Return a pseudo-random number per row, another one for each attribute, the same in every run.

    Substitution leaves many equal values. If row order broke the ties, earlier rows would get the lower values, and a table
    sorted by class or by another column would show dependence that is not there.
    """
    return np.random.default_rng([seed, zlib.crc32(name.encode())]).random(rows)


def assign_in_order(released: FloatArray, mass: FloatArray, tie: FloatArray) -> IntArray:
    """Return the cell of each row: rows sorted by released value, the first Dist[1] of them get cell 1, and so on."""
    order = np.lexsort((tie, released))
    cells = np.empty(len(released), dtype=np.int64)
    cells[order] = np.repeat(np.arange(len(mass)), round_to_total(mass, len(released)))
    return cells


def meet_counts(cells: IntArray, targets: IntArray, tie: FloatArray) -> IntArray:
    """Change as few cells as possible to meet the target counts: the surplus of each moves to where some are short.

    Codes of reports have no order, so their values are drawn from the posterior instead of assigned in order.
    """
    counts = np.bincount(cells, minlength=len(targets))
    order = np.lexsort((tie, cells))
    place = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = np.minimum(counts, targets)
    moving = order[place >= np.repeat(kept, counts)]
    out = cells.copy()
    out[moving] = np.repeat(np.arange(len(targets)), targets - kept)
    return out


def representatives(grid: Grid) -> FloatArray:
    """Return getValue(i): the atom, or the centre of the cell, on the lattice of the values where there is one."""
    if grid.atoms is not None or not grid.step:
        return grid.centres
    return np.floor(grid.centres / grid.step + 0.5) * grid.step


def reconstruct_dataset(
    table: Table,
    names: Sequence[str] | None = None,
    *,
    bins: int | None = None,
    method: str = "auto",
    kernel: CellRule | str = CellRule.EXACT,
    by_class: bool = False,
    seed: int = 0,
) -> Table:
    """Return a table of reconstructed values, one attribute at a time; columns released as true stay as they are.

    Parameters
    ----------
    table
        The release.
    names
        Attributes to reconstruct; all by default.
    bins, method, kernel
        As for `reconstruct`.
    by_class
        Reconstruct and assign within each class, as ByClass of the 2000 paper does; Algorithm 2 does not.
    seed
        Another seed breaks ties in another way.

    Returns
    -------
    Table
        The same rows, targets and columns, with reconstructed values.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.table import Column, Table
    >>> flag = sf.Attribute("flag", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> law = sf.Substitution(gamma=3.0).on(flag)
    >>> released = Table((Column(flag, law, np.repeat([0.0, 1.0], [60, 40])),))
    >>> int(reconstruct_dataset(released)["flag"].values.sum())
    30
    """
    chosen = {c.name for c in table.columns} if names is None else {table[n].name for n in names}
    if by_class and table.target is None:
        raise UsageError("the table has no class to divide by; name a target, or reconstruct without by_class")
    columns = []
    for column in table.columns:
        if column.name not in chosen or column.channel is None or np.isnan(column.values).all():
            columns.append(column)
            continue
        tie = jitter(column.name, len(column.values), seed)
        values = np.full(len(column.values), np.nan)
        groups = np.zeros(len(values), dtype=np.int64) if not by_class else table.codes
        for group in np.unique(groups):
            rows = np.flatnonzero((groups == group) & ~np.isnan(column.values))
            if len(rows):
                values[rows] = _deal_values(column.take(rows), tie[rows], bins, method, kernel)
        columns.append(replace(column, channel=None, values=values))
    return Table(tuple(columns), table.target)


def _deal_values(column: Column, tie: FloatArray, bins: int | None, method: str, kernel: CellRule | str) -> FloatArray:
    distribution = reconstruct(column, bins=bins, method=method, kernel=kernel)
    mass, law = distribution.mass, column.channel
    if isinstance(law, Projective):
        cells = meet_counts(
            law.draw_values(column.values.astype(np.int64), mass, tie), round_to_total(mass, len(tie)), tie
        )
    else:
        cells = assign_in_order(column.values, mass, tie)
    return representatives(distribution.grid)[cells]
