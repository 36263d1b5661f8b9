"""A column of thousands of labels, as the whole-table model sees it: the commonest ones are cells, all others share one.

Noise hides whether a rare label goes with other columns, so the model does not ask. Among the rare labels shares stay as
reconstructed, and a draw follows them and the released value. No array of labels × labels is made: laws on thousands of labels
have two probabilities only (see `channels.TwoLevels`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sfumato.channels import DenseKernel, Kernel, Projective, TwoLevels, label_operator, with_missing
from sfumato.counts import FloatArray, IntArray, scatter
from sfumato.modelling.chance import Chance
from sfumato.modelling.facets import Facet, Locator
from sfumato.table import Column


@dataclass(frozen=True, eq=False)
class ManyLabels(Facet):
    """One column of many labels.

    Parameters
    ----------
    common : array
        The labels that are cells by themselves. One more cell holds the rest.
    place : array
        The cell of every label.
    operator : TwoLevels
        P(released code | label).
    """

    common: IntArray = field(kw_only=True)
    place: IntArray = field(kw_only=True)
    operator: TwoLevels = field(kw_only=True)

    @classmethod
    def fits(cls, column: Column) -> bool:
        """Return whether a column has more labels than the model takes one by one, under a law of two probabilities."""
        max_own_labels = 256
        if column.attribute.kind.numeric or len(column.attribute.labels) <= max_own_labels:
            return False
        return label_operator(column.channel, column.true_grid(1)) is not None

    @classmethod
    def of(cls, column: Column, max_cells: int = 128) -> ManyLabels:
        """Look at a released column: reconstruct the shares of its labels, and choose the common ones.

        Parameters
        ----------
        column
            The released values with their law.
        max_cells
            Cells at most. There are fewer where noise hides which labels are common, and where each of thousands of
            codes has a probability in every cell.
        """
        max_entries = 2**20  # codes × cells of a kernel, which every pass multiplies by
        true = column.true_grid(1)
        operator = label_operator(column.channel, true)
        if operator is None:
            raise ValueError(f"{column.name}: its law has more than two probabilities")
        observed = column.observed_grid(true)
        if isinstance(column.channel, Projective):
            max_cells = int(np.clip(max_entries // observed.size, 2, max_cells))
        mass, common = estimate_shares(operator, column.locate(observed), max_cells - 1)
        place = scatter(true.size, common, np.arange(len(common)), len(common))
        return cls(
            replace(column, values=np.empty(0)),
            true,
            mass,
            observed,
            operator,
            np.arange(len(common) + 1),
            bool(np.isnan(column.values).any()),
            common=common,
            place=place,
            operator=operator,
        )

    @property
    def _reports(self) -> bool:
        """Whether a released code stands for a set of labels; if not, it is a label, and rare ones share a bin."""
        return isinstance(self.column.channel, Projective)

    @cached_property
    def _rest(self) -> FloatArray:
        """The share of every label among the rare ones; 0 for a common one."""
        rest = np.where(self.place == len(self.common), self.mass, 0.0)
        return np.asarray(rest / rest.sum())

    @cached_property
    def kernel(self) -> Kernel:
        """P(bin | cell), with a last row and column for the missing value where there are gaps."""
        if self._reports:
            columns = [self.operator.T.rows(self.common).T, (self.operator @ self._rest)[:, None]]
            kernel = np.concatenate(columns, axis=1)
        else:
            size, low = len(self.common), self.operator.low
            kernel = np.full((size + 1, size + 1), low)
            kernel[np.arange(size), np.arange(size)] = self.operator.high
            kernel[size, :size] = low * (len(self.place) - size)
            kernel[size, size] = 1 - low * size
        return with_missing(DenseKernel(kernel)) if self.gaps else DenseKernel(kernel)

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each cell, the missing one included as if one row in a thousand had it."""
        shares = np.bincount(self.place, self.mass, minlength=len(self.first))
        shares = np.append(shares, 1e-3) if self.gaps else shares
        return np.asarray(shares / shares.sum())

    @cached_property
    def locator(self) -> Locator:
        """What finds the bin of a released value: the cell of its label, or the code itself where it stands for many."""
        return Locator(self.observed, self.gaps, None if self._reports else self.place)

    def values(self, cells: IntArray, codes: IntArray, column: Column | None, chance: Chance) -> FloatArray:  # noqa: ARG002
        """Draw a true label in each cell, given what was released; NaN where it is missing."""
        if column is not None and self.column.channel is None:
            return column.values.astype(np.float64)
        size = len(self.common)
        labels = np.append(self.common, [0, 0])[np.minimum(cells, size + 1)]
        rows = np.flatnonzero(cells == size)
        if len(rows):
            released = np.full(len(rows), -1) if column is None else column.take(rows).locate(self.observed)
            labels[rows] = self._draw_rare(released, chance.take(rows))
        out = labels.astype(np.float64)
        out[cells > size] = np.nan
        if column is not None:
            out[np.isnan(column.values)] = np.nan
        return out

    def _draw_rare(self, released: IntArray, chance: Chance) -> IntArray:
        """Draw from P(label | released, rare) ∝ share K[released, label]; by the shares where nothing was released.

        K = low + (high − low) A. So the draw is one of the labels that the code stands for with probability
        (high − low) S/(low + (high − low) S), S their shares in all, and else one of all rare labels.
        """
        upto = np.cumsum(self._rest)

        def draw(who: Chance, step: str) -> IntArray:
            return np.minimum(np.searchsorted(upto, who.heights(step) * upto[-1], side="right"), len(upto) - 1)

        labels = draw(chance, "rare label")
        known = np.flatnonzero(released >= 0)
        gain = self.operator.high - self.operator.low
        inside = gain * (self._inside[released[known]])
        rows = known[chance.take(known).heights("inside") * (self.operator.low + inside) < inside]
        if not self._reports:
            labels[rows] = released[rows]
            return labels
        max_rounds = 200  # a set holds a tenth of all labels or so, and the share of none is much smaller
        for trial in range(max_rounds):
            if not len(rows):
                return labels
            labels[rows] = draw(chance.take(rows), f"inside {trial}")
            rows = rows[self.operator.at(released[rows], labels[rows]) < self.operator.high]
        return labels

    @cached_property
    def _inside(self) -> FloatArray:
        """The share, among the rare labels, of those that each released code stands for."""
        return np.maximum(np.asarray(self.operator.sets.cells_of(self._rest)), 0.0)


def estimate_shares(operator: TwoLevels, codes: IntArray, max_common: int) -> tuple[FloatArray, IntArray]:
    """Estimate the shares of many labels, and choose those that are common beyond doubt.

    A released code lies in the set of its own label with probability p, in that of another with q, so the share of codes in the
    set of a label, h, makes (h − q)/(p − q) an unbiased estimate of its share, of variance h(1 − h)/n/(p − q)². Common labels
    stand out of the mean by 3 standard errors. Of the others the noise is larger than the differences, and estimates
    are shrunk to their mean by the part of their variance that is noise (James & Stein 1961).

    Parameters
    ----------
    operator
        P(released code | label).
    codes
        The released codes, −1 where one is missing.
    max_common
        Common labels at most.

    Returns
    -------
    tuple of arrays
        The share of every label, above 0, and the places of the common ones.
    """
    min_z = 3.0
    size = operator.shape[1]
    seen = codes[codes >= 0]
    if not len(seen):
        return np.full(size, 1 / size), np.arange(min(1, max_common))
    one = scatter(size, np.array([0]), np.ones(1), 0.0)
    inside, outside = operator.sets.labels_of(operator @ one)[:2]
    hits = operator.sets.labels_of(np.bincount(seen, minlength=operator.shape[0]) / len(seen))
    raw = (hits - outside) / (inside - outside)
    noise = np.clip(hits * (1 - hits), 1 / len(seen), None) / len(seen) / (inside - outside) ** 2
    if inside == 1.0 and outside == 0.0:  # released as true: nothing is hidden
        common = np.sort(np.argsort(-raw, kind="stable")[:max_common])
        return np.maximum(raw, 0.5 / len(seen) / size), common
    height = (raw - raw.mean()) / np.sqrt(noise)
    order = np.argsort(-height, kind="stable")[:max_common]
    common = np.sort(order[height[order] > min_z])
    rare = np.setdiff1d(np.arange(size), common)
    middle = max(float(raw[rare].mean()), 0.0)
    signal = max(float(raw[rare].var() - noise[rare].mean()), 0.0)
    shares = raw.copy()
    shares[rare] = middle + signal / (signal + noise[rare].mean()) * (raw[rare] - middle)
    shares = np.maximum(shares, 0.5 / len(seen) / size)
    return np.asarray(shares / shares.sum()), common
