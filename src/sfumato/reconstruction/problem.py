"""What a reconstruction starts from: counts of released cells, and the kernel that leads from true cells to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction._reports import Design, transposed

TINY = 1e-300
"""Keeps a quotient finite where both of its parts are zero."""


@dataclass(frozen=True, eq=False)
class Problem:
    """K[s, p] = P(released in s | true in p) and N(s), the number of released values in s.

    The kernel is computed once for a channel and two grids, and shared by all the counts seen through it: `with_counts`.
    ``widths`` are those of the true cells where their order and distance mean something, None for unordered categories.
    ``design`` is the law itself where released cells are reports, of which each value owns a set.
    """

    kernel: FloatArray
    counts: FloatArray
    widths: FloatArray | None = None
    design: Design | None = None

    def __post_init__(self) -> None:
        if self.kernel.ndim != 2 or self.counts.shape != self.kernel.shape[:1]:
            raise UsageError(
                f"counts of shape {self.counts.shape} do not fit a kernel of shape {self.kernel.shape}; "
                "one count is needed for each of its rows"
            )
        if self.widths is not None and self.widths.shape != self.kernel.shape[1:]:
            raise UsageError(f"{len(self.widths)} widths do not fit {self.kernel.shape[1]} true cells")
        if not np.isfinite(self.counts).all() or (self.counts < 0).any():
            raise DataError("counts must be finite and not negative; check the weights")

    @property
    def size(self) -> int:
        """m, the number of true cells."""
        return int(self.kernel.shape[1])

    @cached_property
    def possible(self) -> FloatArray:
        """The counts of cells that the law can reach at all; the others say nothing about any true value."""
        if not (self.counts[~self._reachable] > 0).any():
            return self.counts
        return np.where(self._reachable, self.counts, 0.0)

    @cached_property
    def _reachable(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return np.asarray(self.kernel.max(axis=1, initial=0.0) > 0)

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

    @cached_property
    def transposed(self) -> FloatArray:
        """Kᵀ, laid out by rows for fast products."""
        return transposed(self.kernel)

    def expected(self, mass: FloatArray) -> FloatArray:
        """K P, the distribution of released values if P were the truth."""
        return np.maximum(self.kernel @ mass, TINY)

    def log_likelihood(self, mass: FloatArray) -> float:
        """Σ N(s) log (K P)(s), in nats."""
        return float(self.possible @ np.log(self.expected(mass)))

    def with_counts(self, counts: FloatArray) -> Problem:
        """The same law seen through other counts; the transposed kernel is kept."""
        other = replace(self, counts=counts)
        other.__dict__["transposed"] = self.transposed
        other.__dict__["_reachable"] = self._reachable
        return other

    def coarser(self, factor: int) -> Problem:
        """The same data seen in cells `factor` times as wide, true and released alike."""
        widths = self.widths if self.widths is not None else np.ones(self.size)
        cells, rows = np.arange(0, self.size, factor), np.arange(0, len(self.counts), factor)
        total = np.add.reduceat(widths, cells)
        kernel = np.add.reduceat(np.add.reduceat(self.kernel, rows, axis=0) * widths, cells, axis=1) / total
        return Problem(kernel, np.add.reduceat(self.counts, rows), total)


def paper_size(n: float) -> int:
    """The number of intervals m = n/100, within 10 … 100: "an average of 100 points per interval" (2000, section 4.2)."""
    return int(np.clip(n / 100, 10, 100))
