"""log P(released row | true record) of columns whose noise was drawn together: the joint density, not a product.

It also answers what the noise of one column must have been where the others' is known: r_s | r_o is normal with mean
Σ_so Σ_oo⁻¹ r_o and variance Σ_ss − Σ_so Σ_oo⁻¹ Σ_os. Who knows other values of a person, and the person's row, knows r_o.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks._belief import Belief
from sfumato.attacks.linkage._logs import IMPOSSIBLE, LogArray
from sfumato.channels import CorrelatedGaussian
from sfumato.counts import FloatArray, IntArray

CELLS_A_DEVIATION = 8
NEGLIGIBLE = 1e-6
"""Weight of rows that do not change an answer."""


@dataclass(frozen=True, eq=False)
class JointLogs:
    """Targets against rows over the columns that the intruder knows of one joint law.

    A value is missing in the release where it is missing in truth, so a row with other gaps cannot be the target's; of two
    with the same gaps the columns that are there decide.
    """

    law: CorrelatedGaussian
    names: tuple[str, ...]
    known: FloatArray
    released: FloatArray

    @classmethod
    def build(
        cls, law: CorrelatedGaussian, known: Mapping[str, FloatArray], released: Mapping[str, FloatArray]
    ) -> JointLogs:
        """Of the columns known, in the order of the law."""
        names = tuple(n for n in law.names if n in known)
        return cls(law, names, *(np.column_stack([table[n] for n in names]) for table in (known, released)))

    def without(self, name: str) -> JointLogs | None:
        """The same with one column unknown; None where nothing is left."""
        return self._rests.get(name)

    @cached_property
    def _rests(self) -> Mapping[str, JointLogs]:
        if len(self.names) < 2:
            return {}
        keep = {n: [i for i, other in enumerate(self.names) if other != n] for n in self.names}
        return {
            n: JointLogs(self.law, tuple(self.names[i] for i in k), self.known[:, k], self.released[:, k])
            for n, k in keep.items()
        }

    @property
    def worst(self) -> float:
        """What stands for a record that cannot be: as much as that many columns by themselves would say."""
        return IMPOSSIBLE * len(self.names)

    @cached_property
    def _gaps(self) -> tuple[IntArray, IntArray]:
        """The pattern of missing values of each target and each row, numbered alike."""
        gaps = np.isnan(np.concatenate([self.known, self.released]))
        number = np.zeros(len(gaps), np.int64)
        if gaps.any():
            number = np.unique(np.packbits(gaps, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return number[: len(self.known)], number[len(self.known) :]

    @cached_property
    def _views(self) -> Mapping[int, _View]:
        """For each pattern of gaps among the targets, the rows that have it, whitened."""
        mine, theirs = self._gaps
        return {int(gap): self._view(np.flatnonzero(mine == gap)[0], theirs == gap) for gap in np.unique(mine)}

    def _view(self, target: int, having: NDArray[np.bool_]) -> _View:
        rows = np.flatnonzero(having)
        kept = np.flatnonzero(~np.isnan(self.known[target]))
        names = [self.names[i] for i in kept]
        root = np.linalg.cholesky(self.law.among(names)) if names else np.zeros((0, 0))
        y = self.released[np.ix_(rows, kept)]
        centre = y.mean(axis=0) if len(rows) else np.zeros(len(names))
        # Released values lie on grids: the density times the size of a step is a probability, as for other columns.
        steps = dict(zip(self.law.names, self.law.steps, strict=True)) if self.law.steps else {}
        sizes = np.log([steps.get(n) or 1.0 for n in names]).sum()
        volume = float(sizes - np.log(np.diag(root)).sum() - 0.5 * len(names) * math.log(2 * math.pi))
        inverse = np.asarray(np.linalg.inv(root), dtype=np.float64)
        return _View(rows, kept, inverse, centre, (y - centre) @ inverse.T, volume)

    def of(self, part: slice) -> LogArray:
        """For some targets, against all rows."""
        mine = self._gaps[0][part]
        out = np.full((len(mine), len(self.released)), self.worst, np.float32)
        for gap in np.unique(mine):
            view, here = self._views[int(gap)], np.flatnonzero(mine == gap)
            x = view.white(self.known[part][here])
            # −|y − x|²/2 = x·y − |y|²/2 − |x|²/2: one matrix product for all pairs, the rest added in place
            logs = x.astype(np.float32) @ view.rows32
            logs -= view.half_squares
            logs += (view.volume - 0.5 * (x**2).sum(axis=1)).astype(np.float32)[:, None]
            np.maximum(logs, np.float32(self.worst), out=logs)
            if logs.shape == out.shape:
                return logs
            out[np.ix_(here, view.rows)] = logs
        return out

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        """For target i against row i only."""
        out = np.full(len(rows), self.worst, np.float32)
        mine, theirs = self._gaps
        same = mine[targets] == theirs[rows]
        for gap in np.unique(mine[targets[same]]):
            view, here = self._views[int(gap)], np.flatnonzero(same & (mine[targets] == gap))
            r = view.white(self.known[targets[here]]) - view.white(self.released[rows[here]])
            out[here] = np.maximum(view.volume - 0.5 * (r**2).sum(axis=1), self.worst)
        return out


@dataclass(frozen=True, eq=False)
class _View:
    """Rows with one pattern of gaps, in units in which the noise is white."""

    rows: IntArray
    kept: IntArray
    inverse: FloatArray
    centre: FloatArray
    whitened: FloatArray
    volume: float
    """The logarithm of the density where there is no noise, times the steps of the grids."""

    @cached_property
    def rows32(self) -> LogArray:
        return np.ascontiguousarray(self.whitened.T, dtype=np.float32)

    @cached_property
    def half_squares(self) -> LogArray:
        return (0.5 * (self.whitened**2).sum(axis=1)).astype(np.float32)

    def white(self, values: FloatArray) -> FloatArray:
        return np.asarray((values[:, self.kept] - self.centre) @ self.inverse.T)


def noise_given(law: CorrelatedGaussian, secret: str, others: Sequence[str]) -> tuple[FloatArray, float]:
    """(w, v): E[r_s | r_o] = w·r_o and Var = v."""
    if not others:
        return np.zeros(0), float(law.among([secret])[0, 0])
    matrix = law.among([secret, *others])
    weights = np.asarray(np.linalg.solve(matrix[1:, 1:], matrix[1:, 0]), dtype=np.float64)
    return weights, float(matrix[0, 0] - matrix[0, 1:] @ weights)


@dataclass(frozen=True, eq=False)
class JointSecret:
    """A secret seen through what the noise of the known columns tells of its own.

    For a row that were the target's, r_o = y_o − x_o is known, so y_s − w·r_o is the secret under noise of variance v only.
    It falls apart into a part of the row, y_s − w·y_o, and a part of the target, w·x_o.
    """

    belief: Belief
    row_part: FloatArray
    target_part: FloatArray
    deviation: float
    order: IntArray
    starts: IntArray
    centres: FloatArray

    @classmethod
    def of(cls, belief: Belief, joint: JointLogs, released: FloatArray) -> JointSecret | None:
        """None where no other column of the law is known."""
        name = belief.column.name
        rest = joint.without(name) if name in joint.names else joint
        if rest is None:
            return None
        weights, variance = noise_given(joint.law, name, rest.names)
        rows = released - rest.released @ weights
        deviation = math.sqrt(variance)
        known = np.flatnonzero(~np.isnan(rows))
        cell = deviation / CELLS_A_DEVIATION
        codes = np.floor((rows[known] - rows[known].min(initial=0.0)) / cell).astype(np.int64)
        order = np.argsort(codes, kind="stable")
        cells, starts = np.unique(codes[order], return_index=True)
        centres = rows[known].min(initial=0.0) + (cells + 0.5) * cell
        return cls(belief, rows, rest.known @ weights, deviation, known[order], starts.astype(np.int64), centres)

    def mix(self, weights: LogArray, part: slice, plain: FloatArray) -> FloatArray:
        """Σ_rows w(row) P(p | y_s − w·r_o); `plain` is the answer for targets of whom a known value is missing."""
        out = plain.copy()
        if not len(self.starts):
            return out
        by_cell = np.add.reduceat(weights[:, self.order], self.starts, axis=1).astype(np.float64)
        centres = self.belief.grid.centres
        for i, move in enumerate(self.target_part[part]):
            kept = by_cell[i] > NEGLIGIBLE
            if np.isnan(move) or not kept.any():
                continue
            away = (self.centres[kept, None] + move - centres) / self.deviation
            density = np.exp(np.maximum(-0.5 * away**2, IMPOSSIBLE)) * self.belief.prior
            posterior = by_cell[i][kept] @ (density / np.maximum(density.sum(axis=1, keepdims=True), 1e-300))
            out[i] = posterior / posterior.sum() if posterior.sum() > 0 else plain[i]
        return out
