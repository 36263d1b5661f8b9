"""From a released column to the distribution of its true values, overall and by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import CellRule, Discrete, Projective, Transition
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, Sums
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction.bases import (
    Lattice,
    share_cells,
)
from sfumato.reconstruction.closed_form import fit_exact, fit_inverse, fit_projection
from sfumato.reconstruction.distribution import Distribution, Source
from sfumato.reconstruction.em import Fit, fit_bayes, fit_em, fit_ems
from sfumato.reconstruction.fine_column import FineColumn, count_cells, has_shape, shape_grid
from sfumato.reconstruction.moments import Figure, Moments, RulerScores, Scores, Weights
from sfumato.reconstruction.penalised import AveragedFit, fit_averaged
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
    column: Column,
    true: Grid,
    *,
    rule: CellRule = CellRule.EXACT,
    weights: FloatArray | None = None,
    observed: Grid | None = None,
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
    observed
        The cells in which released values are counted; by default those that the law proposes.

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
    elif observed is not None:
        transition = Transition.of(law, true, observed, rule=rule)
    else:
        transition = Transition.reuse(law, true, rule=rule)
    counts = count_cells(column, transition.observed, weights)
    return Problem(transition, counts, spacing(column, true), law if isinstance(law, Projective) else None)


def reconstruct(
    column: Column,
    *,
    bins: int | None = None,
    method: str = "auto",
    kernel: CellRule | str = CellRule.EXACT,
    weights: FloatArray | None = None,
    smoothing: float = 0.02,
    grid: Grid | None = None,
    moments: Moments | None = None,
) -> Distribution:
    """Reconstruct the distribution of the true values of a released column.

    Parameters
    ----------
    column
        Released values with their attribute and law; NaN where missing.
    bins
        Cells of a numeric domain. By default as many as the rows and the noise allow: at most m = n/100 within 10 … 100,
        none narrower than what the noise hides, or the bins of the law itself.
    method
        ``auto``: on numbers, fits on even and stretched cells, with and without atoms, averaged by held-out likelihood
        (see `penalised`); on categories exact, projection for projective reports, or em where the matrix is neither. Or
        ``bayes``, ``em``, ``ems``, ``inverse``, ``projection``, ``exact`` by name.
    kernel
        ``exact``, or ``midpoint`` as the 2000 paper has it.
    weights
        How many rows each row stands for.
    smoothing
        Strength of ``ems``.
    grid
        Report on these cells, in the place of `bins`.
    moments
        Sums over the rows, where `column` holds counts only (see `weighted_column`).

    Returns
    -------
    Distribution
        Masses on a grid with 95 % bands, and mean, variance, quantiles and shares with intervals.

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
    true = true_grid(column, bins, present) if grid is None else grid
    if column.channel is None:
        counts = pose_problem(column, true, weights=weights).counts
        return Distribution(
            column.name,
            true,
            counts / counts.sum(),
            present,
            "counts",
            stopped="released as true",
            missing=missing,
            figures=_count_moments(column, weights) if moments is None else None,
            ruler=column.attribute.ruler,
        )
    fine, law = None, weights_of(column)
    if method == "auto" and rule is CellRule.EXACT and has_shape(column):
        fine = FineColumn.of(column, weights, law)
        problem = fine.problem
    else:
        counted = observed_grid(column) if bins is None and has_shape(column) else None
        problem = pose_problem(column, true, rule=rule, weights=weights, observed=counted)
    if not problem.n > 0:
        raise DataError(
            f"{column.name}: none of its values can come from {column.channel.law} noise on this domain; "
            "check that the manifest belongs to the data"
        )
    joined = False
    if fine is not None:
        source = fine.fit()
        if bins is None and grid is None:
            true, joined = fine.report(source, paper_size(present))
        source = replace(source, collect=share_cells(true.finite_edges, fine.edges))
    elif method == "auto" and column.attribute.kind.numeric and _has_noise(problem):
        source = Source(problem, fit_averaged(problem))
    else:
        source = Source(problem, _fit(column.name, problem, method, smoothing))
    figures, law, ruler = None, unit_weights(column), column.attribute.ruler
    if law is not None:
        sums = moments or Moments.of(law.scores, column.values[~absent], None if weights is None else weights[~absent])
        cells = true.centres if fine is None else Grid(edges=fine.edges).centres
        figures = sums.figures(law, cells, source.fit.mass)
        if ruler is not None and not figures[0].high - figures[0].low < ruler.high - ruler.low:
            figures = None  # weights that explode in the tail tell less than the domain does
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
        figures,
        fine.describe(fit, joined=joined, ruler=ruler) if fine is not None and isinstance(fit, AveragedFit) else {},
        ruler,
    )


def unit_weights(column: Column) -> Weights | None:
    """Return the weights from which mean and variance follow without bias, in the unit of the column."""
    ruler = column.attribute.ruler
    if ruler is None or column.channel is None:
        return weights_of(column)
    return Weights.on_ruler(column.channel, ruler)


def weights_of(column: Column) -> Weights | None:
    """Return the weights of the numbers that the law acts on; None where it has none."""
    if column.channel is None or not column.attribute.kind.numeric:
        return None
    return Weights.of(column.channel, Lattice.of(column.attribute))


def observed_grid(column: Column, bins: int | None = None) -> Grid:
    """Return the cells in which released values are counted; they do not depend on the rows.

    Parameters
    ----------
    column
        The column, whose values are not used.
    bins
        Cells of the true values, where they were asked for.
    """
    if bins is None and has_shape(column):
        return shape_grid(column)
    return column.observed_grid(true_grid(column, bins, 1e4))


def _count_moments(column: Column, weights: FloatArray | None) -> tuple[Figure, Figure] | None:
    """Return mean and variance of values released as true, which leave no doubt about these rows."""
    if not column.attribute.kind.numeric:
        return None
    present = ~np.isnan(column.values)
    values = column.attribute.to_values(column.values[present])
    rows = np.ones(len(values)) if weights is None else weights[present]
    n = rows.sum()
    mean = float(rows @ values / n)
    squares = (values - mean) ** 2
    variance = float(rows @ squares / max(n - 1, 1.0))
    return (
        Figure(mean, 0.0, population_error=math.sqrt(variance / float(n))),
        Figure(variance, 0.0, population_error=math.sqrt(float(rows @ (squares - variance) ** 2)) / float(n)),
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
    grid: Grid | None = None,
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
    grid
        Report on these cells; by default on those of all rows that have a class.

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
    options: dict[str, Any] = {"bins": bins, "method": method, "kernel": kernel, "smoothing": smoothing}
    present: BoolArray = (table.codes >= 0) & ~np.isnan(column.values)
    if bins is None and grid is None and present.any():
        rows = None if weights is None else weights[present]
        grid = reconstruct(column.take(present), weights=rows, **options).grid
    out: dict[str, Distribution] = {}
    for code, label in enumerate(table.labels):
        chosen: BoolArray = table.codes == code
        if (chosen & present).any():
            rows = None if weights is None else weights[chosen]
            out[label] = reconstruct(column.take(chosen), weights=rows, grid=grid, **options)
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
    grids: tuple[Grid, ...]
    scores: tuple[Scores | RulerScores | None, ...] = ()
    """Where given, the sums of `Moments` are added up as well."""

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return one table per place in `names`, and one row of sums for each law's scores."""
        classes = np.full(len(rows), -1) if table.target is None else table.codes
        k = len(table.labels) + 1
        out: dict[Any, Any] = {}
        for place, (name, grid) in enumerate(zip(self.names, self.grids, strict=True)):
            key = (classes + 1) * (grid.size + 1) + table[name].locate(grid) + 1
            out[place] = np.bincount(key, minlength=k * (grid.size + 1)).reshape(k, grid.size + 1)
        for place, scores in enumerate(self.scores):
            values = table[self.names[place]].values
            if scores is not None:
                out["sums", place] = np.array(astuple(Moments.of(scores, values[~np.isnan(values)])))
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
    """The counts of one column on its observed grid, one row per class and the first for none, and its sums."""

    column: Column
    grid: Grid
    counts: IntArray
    moments: Moments | None


def count_columns(columns: Sequence[Column], folded: Any, *, bins: int | None) -> Mapping[str, ColumnCounts]:
    """Count columns in one fold.

    Parameters
    ----------
    columns
        The columns, with their attributes and laws.
    folded
        Adds up what a count makes of all rows (see `releases.CountedTable.fold`).
    bins
        Cells of the true values, as for `reconstruct`.

    Returns
    -------
    mapping
        The counts of each column, by its name.
    """
    names = tuple(c.name for c in columns)
    grids = tuple(observed_grid(c, bins) for c in columns)
    laws = [unit_weights(c) for c in columns]
    arrays = folded(CellCounts(names, grids, tuple(None if law is None else law.scores for law in laws))).arrays
    return {
        column.name: ColumnCounts(
            column, grids[i], arrays[i], Moments(*arrays["sums", i].tolist()) if laws[i] is not None else None
        )
        for i, column in enumerate(columns)
    }
