"""From a released column to the distribution of its true values, overall and by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import CellRule, Channel, Discrete, Projective, Transition
from sfumato.counts import Counts, FloatArray, Grid, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction.closed_form import exact, inverse, projection
from sfumato.reconstruction.distribution import Distribution, Source
from sfumato.reconstruction.em import Fit, bayes, em, ems
from sfumato.reconstruction.penalised import MOST_CELLS, averaged, in_blocks
from sfumato.reconstruction.problem import Problem, paper_size
from sfumato.schema import Kind, Missing
from sfumato.table import Column, Table
from sfumato.text import join_names

METHODS = ("auto", "bayes", "em", "ems", "inverse", "projection", "exact")

BLOCK = 2**16
FINEST = 50
"""Up to so many cells `auto` solves on cells half as wide and adds them up in pairs."""


def true_grid(column: Column, bins: int | None, n: float) -> Grid:
    """The grid of the true values: `bins` cells, or the bins of a law that has its own, or m = n/100 within 10 … 100."""
    channel = column.channel
    if bins is not None and bins < 1:
        raise UsageError(f"{column.name}: {bins} bins are too few; give at least 1")
    if bins is None and isinstance(channel, Discrete) and column.attribute.kind.numeric:
        own = channel.bin_grid
        return own if own.atoms is not None else replace(own, step=_lattice(column))
    return column.true_grid(paper_size(n) if bins is None else bins)


def _lattice(column: Column) -> float:
    return column.attribute.step if column.attribute.kind is not Kind.REAL else 0.0


def spacing(column: Column, true: Grid) -> FloatArray | None:
    """Widths of the true cells where order and distance mean something, None for categories."""
    kind = column.attribute.kind
    if kind is Kind.CATEGORICAL or (kind is Kind.ORDINAL and column.attribute.missing is Missing.CATEGORY):
        return None
    return np.diff(true.finite_edges) if true.edges is not None else np.ones(true.size)


def problem_of(
    column: Column, true: Grid, *, kernel: CellRule = CellRule.EXACT, weights: FloatArray | None = None
) -> Problem:
    """Return the counts of a released column, with the transition that explains them."""
    max_dense_reports = 256  # up to this many values the matrix is small, and Newton's method can use it
    law = column.channel
    if law is None:
        transition = Transition.of(None, true)
    elif isinstance(law, Projective):
        transition = Transition.shared(law, true, max_dense=max_dense_reports)
    else:
        transition = Transition.shared(law, true, rule=kernel)
    counts = counted(column, transition.observed, weights)
    return Problem(transition, counts, spacing(column, true), law if isinstance(law, Projective) else None)


def counted(column: Column, grid: Grid, weights: FloatArray | None = None) -> FloatArray:
    """How many released values lie in each cell; blocks are counted apart and added up, so that they stay in the cache."""
    total = np.zeros(grid.size)
    for begin in range(0, len(column.values), BLOCK):
        part = slice(begin, begin + BLOCK)
        codes = replace(column, values=column.values[part]).located(grid)
        total += Counts.of([grid], [codes], None if weights is None else weights[part]).table
    return total


def reconstruct(
    column: Column,
    *,
    bins: int | None = None,
    method: str = "auto",
    kernel: CellRule | str = CellRule.EXACT,
    weights: FloatArray | None = None,
    smoothing: float = 0.02,
) -> Distribution:
    """The distribution of the true values of a released column.

    Parameters
    ----------
    column
        Released values with their attribute and law; NaN where missing.
    bins
        Cells of a numeric domain; by default m = n/100 within 10 … 100, or the bins of the law itself.
    method
        ``auto``: on numbers, penalised fits averaged by held-out likelihood, through any law (see `penalised`); on
        categories exact, projection for projective reports, or em where the matrix is neither. Or ``bayes``, ``em``,
        ``ems``, ``inverse``, ``projection``, ``exact`` by name.
    kernel
        ``exact``, or ``midpoint`` as the 2000 paper has it.
    weights
        How many rows each row stands for.
    smoothing
        Strength of ``ems``.
    """
    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}; the methods are {join_names(METHODS)}")
    kernel = _kernel_name(kernel)
    absent = np.isnan(column.values)
    gaps = float(np.count_nonzero(absent))
    present = len(absent) - gaps if weights is None else float(weights[~absent].sum())
    missing = gaps if weights is None else float(weights[absent].sum())
    if not present > 0:
        raise DataError(f"{column.name}: no value is present, so there is nothing to reconstruct; leave the column out")
    true = true_grid(column, bins, present)
    if column.channel is None:
        counts = problem_of(column, true, weights=weights).counts
        return Distribution(
            column.name, true, counts / counts.sum(), present, "counts", stopped="released as true", missing=missing
        )
    problem = problem_of(column, true, kernel=kernel, weights=weights)
    if not problem.n > 0:
        raise DataError(
            f"{column.name}: none of its values can come from {column.channel.law} noise on this domain; "
            "check that the manifest belongs to the data"
        )
    if method == "auto" and column.attribute.kind.numeric and _averages(problem):
        source = _averaged(column.channel, true, problem, kernel)
    else:
        source = Source(problem, _fitted(column.name, problem, method, smoothing))
    fit = source.fit
    return Distribution(
        column.name,
        true,
        fit.mass if source.collect is None else source.collect @ fit.mass,
        problem.n,
        fit.method,
        fit.iterations,
        fit.stopped,
        fit.trail,
        missing,
        float(problem.counts.sum() - problem.n),
        source,
    )


def by_class(
    table: Table,
    name: str,
    *,
    bins: int | None = None,
    method: str = "auto",
    kernel: CellRule | str = CellRule.EXACT,
    weights: FloatArray | None = None,
    smoothing: float = 0.02,
) -> dict[str, Distribution]:
    """One distribution for each class that has rows, all on the same grid; rows without a class are left out."""
    if table.target is None:
        raise UsageError(f"{name}: the table has no class to divide by; name a target, or reconstruct it overall")
    column = table[name]
    rows = table.codes >= 0
    if bins is None:
        present = rows & ~np.isnan(column.values)
        grid = true_grid(column, None, float(present.sum()) / max(1, len(np.unique(table.codes[present]))))
        bins = grid.size if not isinstance(column.channel, Discrete) else None
    out: dict[str, Distribution] = {}
    for code, label in enumerate(table.labels):
        chosen: NDArray[np.bool_] = table.codes == code
        if not (chosen & ~np.isnan(column.values)).any():
            continue
        out[label] = reconstruct(
            column.take(chosen),
            bins=bins,
            method=method,
            kernel=kernel,
            weights=None if weights is None else weights[chosen],
            smoothing=smoothing,
        )
    return out


def _kernel_name(kernel: CellRule | str) -> CellRule:
    try:
        return CellRule(kernel)
    except ValueError:
        raise UsageError(f"there is no kernel {kernel!r}; the kernels are {join_names(list(CellRule))}") from None


def _averages(problem: Problem) -> bool:
    """Whether there is noise to make up for; cells that are certain are simply counted."""
    if problem.widths is None or problem.size < 2:
        return False
    square = problem.kernel.shape == (problem.size, problem.size)
    return not (square and np.allclose(problem.kernel.dense(), np.eye(problem.size), atol=1e-12))


def _averaged(channel: Channel, true: Grid, problem: Problem, kernel: CellRule) -> Source:
    """`auto` on ordered cells; where there is room, on halved cells, so that a slope within a cell is not taken for flat."""
    if problem.size > MOST_CELLS:
        blocks, spread = in_blocks(problem)
        return Source(blocks, averaged(blocks), collect=spread)
    if true.edges is None or true.step or true.size > FINEST or isinstance(channel, Discrete):
        return Source(problem, averaged(problem))
    halves = np.sort(np.concatenate([true.edges, (true.edges[1:] + true.edges[:-1]) / 2]))
    transition = Transition.of(channel, Grid(edges=halves), problem.transition.observed, rule=kernel)
    fine = Problem(transition, problem.counts, np.diff(halves))
    return Source(fine, averaged(fine), collect=np.repeat(np.eye(true.size), 2, axis=1))


def _fitted(name: str, problem: Problem, method: str, smoothing: float) -> Fit:
    if method == "auto" and problem.design is not None:
        return projection(problem)
    if method in ("auto", "exact"):
        closed = exact(problem)
        if closed is not None:
            return closed
        if method == "exact":
            raise UsageError(
                f"{name}: exact is for the gamma-diagonal matrix of substitution only; use em, which climbs to the same maximum"
            )
        return em(problem)
    if method == "ems":
        return ems(problem, smoothing=smoothing)
    methods: dict[str, Callable[[Problem], Fit]] = {
        "bayes": bayes,
        "em": em,
        "inverse": inverse,
        "projection": projection,
    }
    return methods[method](problem)


@dataclass(frozen=True, eq=False)
class Tables:
    """Several tables of counts that are added up together."""

    tables: tuple[IntArray, ...]

    def __add__(self, other: Tables) -> Tables:
        return Tables(tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)))


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many rows of each class (first those without) have no value (first), or fall into each cell of a grid."""

    names: tuple[str, ...]
    grids: tuple[Grid | None, ...]
    """None: one cell for all values."""

    def __call__(self, table: Table, rows: IntArray) -> Tables:
        """One table a name."""
        classes = np.full(len(rows), -1) if table.target is None else table.codes
        k = len(table.labels) + 1
        out = []
        for name, grid in zip(self.names, self.grids, strict=True):
            column = table[name]
            cells = np.where(np.isnan(column.values), -1, 0) if grid is None else column.located(grid)
            size = 2 if grid is None else grid.size + 1
            key = (classes + 1) * size + cells + 1
            out.append(np.bincount(key, minlength=k * size).reshape(k, size))
        return Tables(tuple(out))


def weighted(column: Column, grid: Grid, counts: IntArray) -> tuple[Column, FloatArray]:
    """A column with one value in each cell and one missing value, and how many rows each stands for."""
    centres = grid.centres
    if not np.array_equal(grid.locate(centres), np.arange(grid.size)):
        raise UsageError(f"{column.name}: the cells of its grid are too narrow to be told apart; use fewer bins")
    return replace(column, values=np.append(np.nan, centres)), counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """What was counted of one column: on its grid overall, and on that of the classes, first row for no class."""

    column: Column
    overall: tuple[Grid, IntArray]
    by_class: tuple[Grid, IntArray] | None
    bins: int | None
    """Cells of the true values by class."""


def counted_columns(
    columns: Sequence[Column], labels: Sequence[str], folded: Any, *, bins: int | None, by_class: bool
) -> Mapping[str, ColumnCounts]:
    """Count the named columns by two folds: how many values there are, which settles the grids; then their cells.

    `folded` adds up what a count makes of all rows (see `releases.reading.CountedTable.fold`).
    """
    names = tuple(c.name for c in columns)
    present = folded(CellCounts(names, (None,) * len(names))).tables
    grids: list[Grid] = []
    class_bins: list[int | None] = []
    for column, table in zip(columns, present, strict=True):
        grids.append(column.observed_grid(true_grid(column, bins, float(table[:, 1].sum()))))
        known = table[1:, 1]
        own = bins
        if own is None and not isinstance(column.channel, Discrete):
            own = true_grid(column, None, float(known.sum()) / max(1, int((known > 0).sum()))).size
        class_bins.append(own)
        grids.append(column.observed_grid(true_grid(column, own, float(max(known.sum(), 1)))))
    twice = tuple(n for n in names for _ in range(2))
    counts = folded(CellCounts(twice, tuple(grids))).tables
    return {
        column.name: ColumnCounts(
            column,
            (grids[2 * i], counts[2 * i].sum(axis=0)),
            (grids[2 * i + 1], counts[2 * i + 1]) if by_class and labels else None,
            class_bins[i],
        )
        for i, column in enumerate(columns)
    }
