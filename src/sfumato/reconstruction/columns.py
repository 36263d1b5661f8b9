"""From a released column to the distribution of its true values, overall and by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import CellRule, Channel, Discrete, Projective, Transition
from sfumato.counts import BoolArray, Counts, FloatArray, Grid, IntArray, Sums
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction.closed_form import fit_exact, fit_inverse, fit_projection
from sfumato.reconstruction.distribution import Distribution, Source
from sfumato.reconstruction.em import Fit, fit_bayes, fit_em, fit_ems
from sfumato.reconstruction.penalised import MAX_CELLS, fit_averaged, merge_cells
from sfumato.reconstruction.problem import Problem, paper_size
from sfumato.schema import Kind, Missing
from sfumato.table import Column, Table
from sfumato.text import join_names

METHODS = ("auto", "bayes", "em", "ems", "inverse", "projection", "exact")


def true_grid(column: Column, bins: int | None, n: float) -> Grid:
    """Return the grid of the true values: `bins` cells, or the bins of a law that has its own, or m = n/100 within 10 … 100.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.table import Column
    >>> age = sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100))
    >>> true_grid(Column(age, None, np.array([30.0])), None, n=2_000).size
    20
    """
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
    """Return the widths of the true cells where order and distance mean something, None for categories."""
    kind = column.attribute.kind
    if kind is Kind.CATEGORICAL or (kind is Kind.ORDINAL and column.attribute.missing is Missing.CATEGORY):
        return None
    return np.diff(true.finite_edges) if true.edges is not None else np.ones(true.size)


def pose_problem(
    column: Column, true: Grid, *, rule: CellRule = CellRule.EXACT, weights: FloatArray | None = None
) -> Problem:
    """Return the counts of a released column, with the transition that explains them.

    Parameters
    ----------
    column
        Released values with their attribute and law; NaN where missing.
    true
        The grid of the true values.
    rule
        How the probability of a cell is computed.
    weights
        How many rows each row stands for.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.table import Column
    >>> flag = sf.Attribute("flag", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> column = Column(flag, sf.Substitution(gamma=3.0).on(flag), np.array([0.0, 0.0, 1.0, np.nan]))
    >>> pose_problem(column, column.true_grid(2)).counts
    array([2., 1.])
    """
    max_dense_reports = 256  # up to this many values the matrix is small, and Newton's method can use it
    law = column.channel
    if law is None:
        transition = Transition.of(None, true)
    elif isinstance(law, Projective):
        transition = Transition.reuse(law, true, max_dense=max_dense_reports)
    else:
        transition = Transition.reuse(law, true, rule=rule)
    counts = count_cells(column, transition.observed, weights)
    return Problem(transition, counts, spacing(column, true), law if isinstance(law, Projective) else None)


def count_cells(column: Column, grid: Grid, weights: FloatArray | None = None) -> FloatArray:
    """Count the released values in each cell; blocks are counted apart and added up, so that they stay in the cache."""
    block = 2**16
    total = np.zeros(grid.size)
    for begin in range(0, len(column.values), block):
        part = slice(begin, begin + block)
        codes = replace(column, values=column.values[part]).locate(grid)
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
    """Reconstruct the distribution of the true values of a released column.

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

    Returns
    -------
    Distribution
        Masses on a grid, with 95 % bands.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.table import Column
    >>> flag = sf.Attribute("flag", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> law = sf.Substitution(gamma=3.0).on(flag)
    >>> released = Column(flag, law, np.repeat([0.0, 1.0], [600, 400]))
    >>> reconstruct(released).mass.round(3)
    array([0.7, 0.3])
    """
    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}; the methods are {join_names(METHODS)}")
    rule = _cell_rule(kernel)
    absent = np.isnan(column.values)
    gaps = float(np.count_nonzero(absent))
    present = len(absent) - gaps if weights is None else float(weights[~absent].sum())
    missing = gaps if weights is None else float(weights[absent].sum())
    if not present > 0:
        raise DataError(f"{column.name}: no value is present, so there is nothing to reconstruct; leave the column out")
    true = true_grid(column, bins, present)
    if column.channel is None:
        counts = pose_problem(column, true, weights=weights).counts
        return Distribution(
            column.name, true, counts / counts.sum(), present, "counts", stopped="released as true", missing=missing
        )
    problem = pose_problem(column, true, rule=rule, weights=weights)
    if not problem.n > 0:
        raise DataError(
            f"{column.name}: none of its values can come from {column.channel.law} noise on this domain; "
            "check that the manifest belongs to the data"
        )
    if method == "auto" and column.attribute.kind.numeric and _has_noise(problem):
        source = _average(column.channel, true, problem, rule)
    else:
        source = Source(problem, _fit(column.name, problem, method, smoothing))
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


def reconstruct_by_class(
    table: Table,
    name: str,
    *,
    bins: int | None = None,
    method: str = "auto",
    kernel: CellRule | str = CellRule.EXACT,
    weights: FloatArray | None = None,
    smoothing: float = 0.02,
) -> dict[str, Distribution]:
    """Reconstruct one distribution for each class that has rows, all on the same grid; rows without a class are left out.

    Parameters
    ----------
    table
        A release with a target.
    name
        The column.
    bins, method, kernel, weights, smoothing
        As for `reconstruct`.

    Returns
    -------
    dict
        The distribution of each class, by its label.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.table import Column, Table
    >>> age = sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100))
    >>> ill = sf.Attribute("ill", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    >>> columns = (Column(age, None, np.array([10.0, 20.0, 80.0, 90.0])),)
    >>> table = Table(columns, Column(ill, None, np.array([0.0, 0.0, 1.0, 1.0])))
    >>> {label: found.mass for label, found in reconstruct_by_class(table, "age", bins=2).items()}
    {'no': array([1., 0.]), 'yes': array([0., 1.])}
    """
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
        chosen: BoolArray = table.codes == code
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


def _cell_rule(kernel: CellRule | str) -> CellRule:
    try:
        return CellRule(kernel)
    except ValueError:
        raise UsageError(f"there is no kernel {kernel!r}; the kernels are {join_names(list(CellRule))}") from None


def _has_noise(problem: Problem) -> bool:
    """Return whether there is noise to correct for; cells that are certain are simply counted."""
    if problem.widths is None or problem.size < 2:
        return False
    square = problem.kernel.shape == (problem.size, problem.size)
    return not (square and np.allclose(problem.kernel.dense(), np.eye(problem.size), atol=1e-12))


def _average(channel: Channel, true: Grid, problem: Problem, rule: CellRule) -> Source:
    """Fit `auto` on ordered cells; where there is room, on halved cells, so that a slope within a cell is not taken for flat."""
    max_halved = 50  # up to this many cells, halves are solved for and added up in pairs
    if problem.size > MAX_CELLS:
        blocks, spread = merge_cells(problem)
        return Source(blocks, fit_averaged(blocks), collect=spread)
    if true.edges is None or true.step or true.size > max_halved or isinstance(channel, Discrete):
        return Source(problem, fit_averaged(problem))
    halves = np.sort(np.concatenate([true.edges, (true.edges[1:] + true.edges[:-1]) / 2]))
    transition = Transition.of(channel, Grid(edges=halves), problem.transition.observed, rule=rule)
    fine = Problem(transition, problem.counts, np.diff(halves))
    return Source(fine, fit_averaged(fine), collect=np.repeat(np.eye(true.size), 2, axis=1))


def _fit(name: str, problem: Problem, method: str, smoothing: float) -> Fit:
    if method == "auto" and problem.design is not None:
        return fit_projection(problem)
    if method in ("auto", "exact"):
        closed = fit_exact(problem)
        if closed is not None:
            return closed
        if method == "exact":
            raise UsageError(
                f"{name}: exact is for the gamma-diagonal matrix of substitution only; use em, which climbs to the same maximum"
            )
        return fit_em(problem)
    if method == "ems":
        return fit_ems(problem, smoothing=smoothing)
    methods: dict[str, Callable[[Problem], Fit]] = {
        "bayes": fit_bayes,
        "em": fit_em,
        "inverse": fit_inverse,
        "projection": fit_projection,
    }
    return methods[method](problem)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many rows of each class (first those without) have no value (first), or fall into each cell of a grid."""

    names: tuple[str, ...]
    grids: tuple[Grid | None, ...]
    """None: one cell for all values."""

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return one table per place in `names`."""
        classes = np.full(len(rows), -1) if table.target is None else table.codes
        k = len(table.labels) + 1
        out = {}
        for place, (name, grid) in enumerate(zip(self.names, self.grids, strict=True)):
            column = table[name]
            cells = np.where(np.isnan(column.values), -1, 0) if grid is None else column.locate(grid)
            size = 2 if grid is None else grid.size + 1
            key = (classes + 1) * size + cells + 1
            out[place] = np.bincount(key, minlength=k * size).reshape(k, size)
        return Sums(out)


def weighted_column(column: Column, grid: Grid, counts: IntArray) -> tuple[Column, FloatArray]:
    """Return a column with one value per cell and one missing value, and how many rows each stands for.

    Distributions come from counts alone: `reconstruct` makes the same masses from it as from the rows themselves.

    Parameters
    ----------
    column
        The released column, whose values are not used.
    grid
        The observed grid.
    counts
        Rows without a value (first), then the rows in each cell.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.counts import Grid
    >>> from sfumato.table import Column
    >>> age = sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100))
    >>> column, weights = weighted_column(Column(age, None, np.empty(0)), Grid.cells(0, 100, 2), np.array([1, 30, 70]))
    >>> column.values, weights
    (array([nan, 25., 75.]), array([ 1., 30., 70.]))
    """
    centres = grid.centres
    if not np.array_equal(grid.locate(centres), np.arange(grid.size)):
        raise UsageError(f"{column.name}: the cells of its grid are too narrow to tell apart; use fewer bins")
    return replace(column, values=np.append(np.nan, centres)), counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """The counts of one column: on its grid overall, and on that of the classes, the first row for no class."""

    column: Column
    overall: tuple[Grid, IntArray]
    by_class: tuple[Grid, IntArray] | None
    bins: int | None
    """Cells of the true values by class."""


def count_columns(
    columns: Sequence[Column], labels: Sequence[str], folded: Any, *, bins: int | None, by_class: bool
) -> Mapping[str, ColumnCounts]:
    """Count columns by two folds: how many values there are, which determines the grids; then their cells.

    Parameters
    ----------
    columns
        The columns, with their attributes and laws.
    labels
        The classes.
    folded
        Adds up what a count makes of all rows (see `releases.CountedTable.fold`).
    bins
        Cells of the true values, as for `reconstruct`.
    by_class
        Whether to keep the counts of each class.

    Returns
    -------
    mapping
        The counts of each column, by its name.
    """
    names = tuple(c.name for c in columns)
    present = folded(CellCounts(names, (None,) * len(names))).arrays
    grids: list[Grid] = []
    class_bins: list[int | None] = []
    for i, column in enumerate(columns):
        grids.append(column.observed_grid(true_grid(column, bins, float(present[i][:, 1].sum()))))
        known = present[i][1:, 1]
        own = bins
        if own is None and not isinstance(column.channel, Discrete):
            own = true_grid(column, None, float(known.sum()) / max(1, int((known > 0).sum()))).size
        class_bins.append(own)
        grids.append(column.observed_grid(true_grid(column, own, float(max(known.sum(), 1)))))
    twice = tuple(n for n in names for _ in range(2))
    counts = folded(CellCounts(twice, tuple(grids))).arrays
    return {
        column.name: ColumnCounts(
            column,
            (grids[2 * i], counts[2 * i].sum(axis=0)),
            (grids[2 * i + 1], counts[2 * i + 1]) if by_class and labels else None,
            class_bins[i],
        )
        for i, column in enumerate(columns)
    }
