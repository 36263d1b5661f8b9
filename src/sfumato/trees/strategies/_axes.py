"""A column as an axis of a model: cells of the true value, bins of the released one, and the kernel between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.channels import DenseKernel, Kernel, Transition, with_missing
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.schema import Attribute, Kind
from sfumato.table import Column, Table


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
        """How many cells the true values have, the missing one included."""
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
        """The strength of smoothing that suits the axis: none between categories, nor between a handful of atoms."""
        return strength if self.ordered and self.grid.edges is not None else 0.0

    def codes(self, column: Column) -> IntArray:
        """The bin of every released value; −1 where it is missing and no missing value was expected."""
        codes = column.located(self.bins)
        return np.where(codes < 0, self.bins.size, codes) if self.gaps else codes

    def cell_codes(self) -> IntArray:
        """The codes of the cells as a tree counts them: −1 for the missing one."""
        codes = np.arange(self.size)
        if self.gaps:
            codes[-1] = -1
        return codes


def keep_classified_rows(table: Table) -> tuple[Table, IntArray]:
    """The rows that have a class, and their classes; refuses a table from which nothing can be learned."""
    if table.target is None:
        raise UsageError("a tree needs a class; declare the target column of the release")
    if not table.columns:
        raise UsageError("a tree needs at least one attribute beside the class; the release has none")
    known = table.codes >= 0
    if not known.any():
        raise DataError("no record has a class; check the target column of the release")
    return (table, table.codes) if known.all() else (table.take(known), table.codes[known])


def class_shares(classes: IntArray, size: int) -> FloatArray:
    """π_c with half a record added to each class, so that a class seen nowhere is unlikely rather than impossible."""
    counts = np.bincount(classes, minlength=size) + 0.5
    return np.asarray(counts / counts.sum())
