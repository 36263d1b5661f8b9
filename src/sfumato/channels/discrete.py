"""What laws with finitely many outputs share: bins of the true value, one representative each, a matrix between them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.channels.base import Channel, answer
from sfumato.channels.transition import CellRule
from sfumato.counts import FloatArray, Grid, IntArray, cell_cdf, differences, snap
from sfumato.schema import Attribute


@dataclass(frozen=True)
class Discrete(Channel):
    """x falls into bin k; the release holds the representative of bin h with probability M[h, k]."""

    @property
    @abstractmethod
    def bin_grid(self) -> Grid:
        """The bins: cells of a numeric domain, or atoms."""

    @answer
    @abstractmethod
    def matrix_product(self, shares: FloatArray) -> FloatArray:
        """Return M @ shares, without building M where its form allows."""

    @property
    def lattice(self) -> float:
        """The spacing of the true values, 0 where they are continuous."""
        return 0.0

    @cached_property
    def representatives(self) -> FloatArray:
        """The values that can be released, one for each bin: its centre, or the true value next to it (the lower of two)."""
        grid, step = self.bin_grid, self.lattice
        if grid.edges is None or not step or np.diff(grid.edges).min() < step * (1 - 1e-9):
            return grid.centres
        return snap(grid.centres - 1e-6 * step, step)

    def bins_of(self, values: FloatArray) -> IntArray:
        """Return the bin of each true value."""
        return self.bin_grid.locate(values)

    def observed_grid(self, true: Grid) -> Grid:  # noqa: ARG002 - the same whatever the true grid
        """Return the representatives themselves."""
        grid = self.bin_grid
        return grid if grid.atoms is not None else Grid(atoms=self.representatives)

    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Return exact probabilities; the mid-point rule takes each true cell to lie wholly in the bin of its centre."""
        bins = self.bin_grid
        if rule is CellRule.MIDPOINT:
            shares = np.zeros((bins.size, true.size))
            shares[bins.locate(true.centres), np.arange(true.size)] = 1.0
        else:
            shares = differences(cell_cdf(true, bins.thresholds))
        by_bin = self.matrix_product(shares)
        out = np.zeros((observed.size, true.size))
        np.add.at(out, observed.locate(self.representatives), by_bin)
        return out


def bins_over(attribute: Attribute, size: int) -> tuple[float, ...] | None:
    """Return edges of `size` equal bins over a numeric domain; None where the domain has no more values than that.

    "If the domain of an attribute has only d ≤ N distinct values, it is wise to choose N = d" (Dowd et al. 2006, section 6).
    """
    grid = Grid.over(attribute, size)
    return None if grid.edges is None else tuple(float(e) for e in grid.edges)
