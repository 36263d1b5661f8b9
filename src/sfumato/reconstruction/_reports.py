"""Counts of reports and what they say of the values: `projective` reports, without ever building their matrix.

Whether a report lies in the set of value x is a coin with q + (p−q) P(x), so the number of hits of each value is binomial and
P̂(x) = (hits/n − q)/(p−q) is unbiased. Hits of all values together are one fast transform of the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from sfumato.channels import Projective, TwoLevels
from sfumato.counts import FloatArray

DENSE_VALUES = 256
"""Up to so many values the matrix is small, and Newton's method can use it."""


class Design(Protocol):
    """A law of which each value owns a set of reports, all sets alike."""

    def hits(self, counts: FloatArray) -> FloatArray:
        """How many of the counted reports lie in the set of each value."""

    @property
    def inside(self) -> float:
        """The probability p of a report in the set of the true value."""

    @property
    def outside(self) -> float:
        """The probability q of a report in the set of a given other value."""


@dataclass(frozen=True, eq=False)
class ReportMatrix:
    """M, or its transpose, as a product that is computed by transforms."""

    law: Projective
    turned: bool = False

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Codes × values."""
        shape = (self.law.reports, len(self.law.bin_grid.points))
        return shape[::-1] if self.turned else shape

    @property
    def T(self) -> ReportMatrix:  # noqa: N802 - as arrays call it
        """The transpose."""
        return ReportMatrix(self.law, not self.turned)

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        return self.law.adjoint(vector) if self.turned else self.law.matrix_product(vector)

    def max(self, axis: int, initial: float = 0.0) -> FloatArray:  # noqa: ARG002 - as arrays have it
        """At least 1/T: every report is possible."""
        return np.full(self.shape[1 - axis], 1 / self.law.total)


def report_matrix(law: Projective) -> FloatArray:
    """M as an array for few values, as an operator with the same products for many."""
    if law.bin_grid.size > DENSE_VALUES:
        return cast("FloatArray", ReportMatrix(law))
    return law.transition(law.bin_grid, law.observed_grid(law.bin_grid))


def transposed(kernel: FloatArray | ReportMatrix | TwoLevels) -> FloatArray:
    """Mᵀ: of an array laid out by rows for fast products, of an operator as it is."""
    return (
        cast("FloatArray", kernel.T) if isinstance(kernel, ReportMatrix | TwoLevels) else np.ascontiguousarray(kernel.T)
    )


def unbiased(design: Design, share: FloatArray) -> FloatArray:
    """P̂(x) = (hits − q)/(p−q) from the shares of the reports; entries may be negative, and need not sum to one."""
    return (design.hits(share) - design.outside) / (design.inside - design.outside)
