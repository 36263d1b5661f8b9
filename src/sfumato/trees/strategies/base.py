"""What strategies share: a registry, the axes of a model of true values, and the rows that a tree can learn from.

A strategy is one way to grow a model from a release, by its name, with what it needs to see. Its module enters it in
`STRATEGIES`; nothing else in the house lists strategies by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np

from sfumato.channels import DenseKernel, Kernel, Transition, with_missing
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.engines import Needs
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import em_step, smooth_axis
from sfumato.schema import Attribute, Kind
from sfumato.table import Column, Table
from sfumato.text import join_names
from sfumato.trees.grow import MDL, Growth, KeepHopeful, Pruner
from sfumato.trees.tree import Tree

Progress = Callable[[str], None]
"""Is told in a few words what is being done."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A mined tree, or another model that predicts, with notes on what was chosen; ``notes["why"]`` is a sentence for people."""

    tree: Any
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Draft:
    """A tree that is grown but not cut back yet.

    Attributes
    ----------
    cut
        Given a pruner, the tree that it leaves.
    notes
        What was chosen on the way.
    """

    cut: Callable[[Pruner], Tree]
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, grow: Callable[[Pruner], Growth], finish: Callable[[Growth], Tree], **notes: Any) -> Draft:
        """Return a draft that grows once for all trees that MDL cuts from it."""
        whole = cache(lambda: grow(KeepHopeful()))

        def cut(pruner: Pruner) -> Tree:
            growth = whole().end_at(pruner.leaves(whole())) if isinstance(pruner, MDL) else grow(pruner)
            return finish(growth)

        return cls(cut, notes)


def quiet(_: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Strategy:
    """One way to grow a model from a table.

    Attributes
    ----------
    name
        What people call it.
    needs
        Whether it needs all rows in memory. Trees of a strategy that needs counts grow by folds as well (`distributed`).
    fit
        Grows the model: a function of a table that returns a tree, a `Fitted`, or another model.
    true_values
        Whether it is for tables whose values are true, and so not a way to mine a release.
    """

    name: str
    needs: Needs
    fit: Callable[..., Any]
    true_values: bool = False

    def grow(self, table: Table, **options: Any) -> tuple[Any, Mapping[str, Any]]:
        """Return the model of a table in memory, and notes on what was chosen."""
        fitted = self.fit(table, **options)
        return (fitted.tree, dict(fitted.notes)) if isinstance(fitted, Fitted) else (fitted, {})


STRATEGIES: dict[str, Strategy] = {}
"""Every strategy by its name."""

F = TypeVar("F", bound=Callable[..., Any])


def strategy(name: str, needs: Needs = Needs.ROWS, *, true_values: bool = False) -> Callable[[F], F]:
    """Enter a function in `STRATEGIES`."""

    def enter(fit: F) -> F:
        STRATEGIES[name] = Strategy(name, needs, fit, true_values)
        return fit

    return enter


def strategy_for_release(name: str) -> Strategy:
    """Return a strategy by its name, or raise UsageError with the names there are."""
    choices = sorted(s.name for s in STRATEGIES.values() if not s.true_values)
    if name not in choices:
        raise UsageError(f"there is no strategy {name!r}; choose {join_names(choices, 12)}")
    return STRATEGIES[name]


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute of a model of true values that is seen through a channel.

    Attributes
    ----------
    attribute
        The column.
    transition
        The cells of its true values, the bins of its released values, and the kernel between them.
    gaps
        Whether values are missing. The missing value is then one more cell, the last one, known exactly.
    """

    attribute: Attribute
    transition: Transition
    gaps: bool

    @classmethod
    def of(cls, column: Column, cells: int, max_bins: int) -> Axis:
        """Return the natural grid of the true values in at most `cells` cells, the released ones in at most `max_bins`."""
        transition = column.transition(column.true_grid(cells), max_bins)
        return cls(column.attribute, transition, bool(np.isnan(column.values).any()))

    @property
    def grid(self) -> Grid:
        """The cells of the true values."""
        return self.transition.true

    @property
    def bins(self) -> Grid:
        """The bins of the released values."""
        return self.transition.observed

    @cached_property
    def kernel(self) -> Kernel:
        """K[s, p] = P(released in s | true in p), with a last row and column for the missing value where there are gaps."""
        return with_missing(self.transition.matrix) if self.gaps else self.transition.matrix

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @property
    def size(self) -> int:
        """The number of cells of the true values, the missing one included."""
        return self.kernel.shape[1]

    @property
    def many_labels(self) -> bool:
        """Whether the kernel is an operator, since its array would be too large."""
        return not isinstance(self.kernel, DenseKernel)

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells hold neighbouring values."""
        return self.attribute.kind is not Kind.CATEGORICAL

    def smoothing(self, strength: float) -> float:
        """Return the strength of smoothing that suits the axis: 0 between categories and between a handful of atoms."""
        return strength if self.ordered and self.grid.edges is not None else 0.0

    def codes(self, table: Table) -> IntArray:
        """Return the bin of every released value; −1 where it is missing and no missing value was expected."""
        codes = table[self.name].locate(self.bins)
        return np.where(codes < 0, self.bins.size, codes) if self.gaps else codes

    def cell_codes(self) -> IntArray:
        """Return the codes of the cells as a tree counts them: −1 for the missing one."""
        codes = np.arange(self.size)
        if self.gaps:
            codes[-1] = -1
        return codes


TINY = 1e-30
FLOOR = 1e-9
"""Mass that every cell keeps: a cell that EM has emptied once could never fill again."""


def reconstruct_axis(axis: Axis, counts: FloatArray, start: FloatArray, steps: int, strength: float) -> FloatArray:
    """Make `steps` of EMS on every row of counts: P ← P ∘ Kᵀ(N/(KP)), then the smoother."""
    tables = start
    for _ in range(steps):
        tables = em_step(axis.kernel, counts, tables, TINY).mass + FLOOR
        tables /= tables.sum(axis=1, keepdims=True)
        # The cell of missing values stands apart.
        cells = axis.grid.size
        tables[:, :cells] = smooth_axis(tables[:, :cells], axis.smoothing(strength), 1)
    return tables


def marginal(axis: Axis, codes: IntArray, steps: int = 60, strength: float = 0.02) -> FloatArray:
    """Return the distribution of one attribute alone, as a single row."""
    size = axis.kernel.shape[0]
    counts = np.bincount(codes[codes >= 0], minlength=size)[None, :size].astype(np.float64)
    return reconstruct_axis(axis, counts, np.full((1, axis.size), 1 / axis.size), steps, strength)


def check_columns(table: Table) -> None:
    """Raise UsageError unless a table has a class and something to predict it from."""
    if table.target is None:
        raise UsageError("a tree needs a class; declare the target column of the release")
    if not table.columns:
        raise UsageError("a tree needs at least one attribute beside the class; the release has none")


def check_minable(table: Table) -> IntArray:
    """Return the numbers of the rows that have a class; raise an error where nothing can be learned from a table."""
    check_columns(table)
    rows = np.flatnonzero(table.codes >= 0)
    if not len(rows):
        raise DataError("no record has a class; check the target column of the release")
    return rows


def keep_classified_rows(table: Table) -> Table:
    """Return the rows that have a class; raise an error where nothing can be learned from a table."""
    rows = check_minable(table)
    return table if len(rows) == table.rows else table.take(rows)


def class_shares(codes: IntArray, size: int) -> FloatArray:
    """Return π_c with half a row added to each class, so that a class without rows is unlikely rather than impossible."""
    counts = np.bincount(codes, minlength=size) + 0.5
    return np.asarray(counts / counts.sum())
