"""What a reconstruction starts from: counts of released cells, and the transition that leads from true cells to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Kernel, Transition
from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError

TINY = 1e-300
"""Keeps a quotient finite where both of its parts are zero."""


class Design(Protocol):
    """A law whose released cells are reports: each value owns a set of them, and all sets look alike."""

    def hits(self, counts: FloatArray) -> FloatArray:
        """Return how many of the counted reports lie in the set of each value."""

    @property
    def inside(self) -> float:
        """The probability p of a report in the set of the true value."""

    @property
    def outside(self) -> float:
        """The probability q of a report in the set of a given other value."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Counts of released cells, seen through a law.

    Parameters
    ----------
    transition : Transition
        True cells, released cells, and K[s, p] = P(released in s | true in p). It is computed once per channel and grid, and
        shared by all the counts seen through it: see `with_counts`.
    counts : array
        N(s), the number of released values in s.
    widths : array, optional
        Widths of the true cells where their order and distance mean something; None for unordered categories.
    design : Design, optional
        The law itself where released cells are reports.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([55.0, 45.0]))
    >>> problem.n, problem.share
    (100.0, array([0.55, 0.45]))
    """

    transition: Transition
    counts: FloatArray
    widths: FloatArray | None = None
    design: Design | None = None

    def __post_init__(self) -> None:
        if self.counts.shape != self.kernel.shape[:1]:
            raise UsageError(
                f"counts of shape {self.counts.shape} do not fit a kernel of shape {self.kernel.shape}; "
                "one count is needed for each of its rows"
            )
        if self.widths is not None and self.widths.shape != self.kernel.shape[1:]:
            raise UsageError(f"{len(self.widths)} widths do not fit {self.kernel.shape[1]} true cells")
        if not np.isfinite(self.counts).all() or (self.counts < 0).any():
            raise DataError("counts must be finite and not negative; check the weights")

    @classmethod
    def of(cls, matrix: Kernel | FloatArray, counts: FloatArray, widths: FloatArray | None = None) -> Problem:
        """Return the problem of a bare matrix, its cells numbered from 0."""
        return cls(Transition.of_matrix(matrix), counts, widths)

    @property
    def kernel(self) -> Kernel:
        """K."""
        return self.transition.matrix

    @property
    def size(self) -> int:
        """m, the number of true cells."""
        return self.kernel.shape[1]

    @cached_property
    def possible(self) -> FloatArray:
        """The counts of cells that the law can reach at all; the others say nothing about any true value."""
        if not (self.counts[~self._reachable] > 0).any():
            return self.counts
        return np.where(self._reachable, self.counts, 0.0)

    @cached_property
    def _reachable(self) -> NDArray[np.bool_]:
        return np.asarray(self.kernel @ np.ones(self.size) > 0)

    @cached_property
    def n(self) -> float:
        """How many released values the reconstruction rests on."""
        return float(self.possible.sum())

    @cached_property
    def share(self) -> FloatArray:
        """N(s)/n."""
        if not self.n > 0:
            raise DataError(
                "no released value can be explained by the stated law; check that the law belongs to the data"
            )
        return self.possible / self.n

    def predict(self, mass: FloatArray) -> FloatArray:
        """Return K P, the distribution of released values if P were the truth."""
        return np.maximum(self.kernel @ mass, TINY)

    def log_likelihood(self, mass: FloatArray) -> float:
        """Return Σ N(s) log (K P)(s), in nats."""
        return float(self.possible @ np.log(self.predict(mass)))

    def with_counts(self, counts: FloatArray) -> Problem:
        """Return other counts through the same law."""
        other = replace(self, counts=counts)
        other.__dict__["_reachable"] = self._reachable
        return other

    def coarser(self, factor: int) -> Problem:
        """Return the same data in cells `factor` times as wide, true and released alike."""
        widths = self.widths if self.widths is not None else np.ones(self.size)
        cells, rows = np.arange(0, self.size, factor), np.arange(0, len(self.counts), factor)
        total = np.add.reduceat(widths, cells)
        matrix = np.add.reduceat(np.add.reduceat(self.kernel.dense(), rows, axis=0) * widths, cells, axis=1) / total
        return Problem.of(matrix, np.add.reduceat(self.counts, rows), total)


def paper_size(n: float) -> int:
    """Return the number of intervals m = n/100, within 10 … 100: "an average of 100 points per interval" (2000, section 4.2).

    Examples
    --------
    >>> paper_size(2_500)
    25
    """
    return int(np.clip(n / 100, 10, 100))
