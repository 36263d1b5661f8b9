"""log P(released row | true values) through the channels: linkage and inference rest on it. In float32, since they are many.

Columns count one by one, as a product. Where the noise of several was drawn together their joint density takes its place. It also
answers what the noise of one column must have been where the others' is known: r_s | r_o is normal with mean Σ_so Σ_oo⁻¹ r_o and
variance Σ_ss − Σ_so Σ_oo⁻¹ Σ_os. Who knows other values of a person, and the person's row, knows r_o.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Targets, View
from sfumato.channels import CorrelatedGaussian, TwoLevels
from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.table import group_by_joint_law

LogArray = NDArray[np.float32]
Part = slice | IntArray
"""Some of the targets."""
IMPOSSIBLE = -60.0
"""The logarithm that stands for "cannot be": finite, so that a column can be taken out of a sum again."""


def posterior_weights(logs: LogArray) -> LogArray:
    """Posterior weights over rows, every row equally likely beforehand."""
    out = np.exp(floor_logs(logs - logs.max(axis=1, keepdims=True)))
    out /= out.sum(axis=1, keepdims=True)
    return out


def floor_logs(logs: LogArray) -> LogArray:
    """Logarithms not below −60: their exponentials are nothing in a sum, and cost no denormal arithmetic."""
    return np.maximum(logs, np.float32(IMPOSSIBLE))


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
        """What stands for a row that cannot be: as much as that many columns by themselves would say."""
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

    def _view(self, target: int, having: BoolArray) -> _View:
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

    def of(self, part: Part) -> LogArray:
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
        cell = deviation / 8
        codes = np.floor((rows[known] - rows[known].min(initial=0.0)) / cell).astype(np.int64)
        order = np.argsort(codes, kind="stable")
        cells, starts = np.unique(codes[order], return_index=True)
        centres = rows[known].min(initial=0.0) + (cells + 0.5) * cell
        return cls(belief, rest.known @ weights, deviation, known[order], starts.astype(np.int64), centres)

    def mix(self, weights: LogArray, part: slice, plain: FloatArray) -> FloatArray:
        """Σ_rows w(row) P(p | y_s − w·r_o); `plain` is the answer for targets of whom a known value is missing."""
        out = plain.copy()
        if not len(self.starts):
            return out
        by_cell = np.add.reduceat(weights[:, self.order], self.starts, axis=1).astype(np.float64)
        centres = self.belief.grid.centres
        for i, move in enumerate(self.target_part[part]):
            kept = by_cell[i] > 1e-6  # lighter rows do not change the answer
            if np.isnan(move) or not kept.any():
                continue
            away = (self.centres[kept, None] + move - centres) / self.deviation
            density = np.exp(np.maximum(-0.5 * away**2, IMPOSSIBLE)) * self.belief.prior
            posterior = by_cell[i][kept] @ (density / np.maximum(density.sum(axis=1, keepdims=True), 1e-300))
            out[i] = posterior / posterior.sum() if posterior.sum() > 0 else plain[i]
        return out


class ColumnLogs(Protocol):
    """log P(released | true) of one column."""

    def of(self, part: Part) -> LogArray:
        """For some targets, against all rows."""

    def by_cell(self, part: Part) -> LogArray | None:
        """For some targets, against every released cell; None where rows of a cell are not alike."""

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        """For target i against row i only."""


@dataclass(frozen=True, eq=False)
class _Blurred:
    """Through a channel, or a few labels as they are: a table over (true cell, released cell); absence is seen as it is."""

    table: LogArray
    known: IntArray
    released: IntArray

    @classmethod
    def build(cls, belief: Belief, values: FloatArray) -> _Blurred:
        size_s, size_p = belief.kernel.shape
        table = np.full((size_p + 1, size_s + 1), IMPOSSIBLE, np.float32)
        with np.errstate(divide="ignore"):
            table[:-1, :-1] = np.maximum(np.log(belief.kernel.dense().T), IMPOSSIBLE)
        table[-1, -1] = 0.0
        missing = np.isnan(values)
        known = belief.grid.locate(np.where(missing, 0.0, values))
        known[missing] = size_p
        return cls(table, known, np.where(belief.codes < 0, size_s, belief.codes))

    def of(self, part: Part) -> LogArray:
        return np.take(self.table[self.known[part]], self.released, axis=1)

    def by_cell(self, part: Part) -> LogArray | None:
        return self.table[self.known[part], :-1]

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        return self.table[self.known[targets], self.released[rows]]


@dataclass(frozen=True, eq=False)
class _Packed:
    """Several blurred columns as one, over the combinations of their released cells: one look-up in the place of several."""

    columns: tuple[_Blurred, ...]
    released: IntArray

    @classmethod
    def groups(cls, columns: Sequence[_Blurred]) -> list[_Packed]:
        """Put columns together, those of few cells first, as far as a table over their combinations stays small."""
        max_cells = 2000
        groups: list[list[_Blurred]] = []
        size = max_cells
        for column in sorted(columns, key=lambda c: c.table.shape[1]):
            size *= column.table.shape[1]
            if size > max_cells:
                groups.append([])
                size = column.table.shape[1]
            groups[-1].append(column)
        return [cls._of(tuple(group)) for group in groups]

    @classmethod
    def _of(cls, columns: tuple[_Blurred, ...]) -> _Packed:
        released = columns[0].released
        for column in columns[1:]:
            released = released * column.table.shape[1] + column.released
        return cls(columns, released)

    def of(self, part: Part) -> LogArray:
        """For some targets, against all rows."""
        first, *rest = (column.table[column.known[part]] for column in self.columns)
        for own in rest:
            first = (first[:, :, None] + own[:, None, :]).reshape(len(own), -1)
        return np.take(first, self.released, axis=1)


@dataclass(frozen=True, eq=False)
class _Labels:
    """The same among many labels, without the table: two levels, and which released cells belong to whom."""

    kernel: TwoLevels
    known: IntArray
    released: IntArray

    @classmethod
    def build(cls, belief: Belief, values: FloatArray) -> _Labels:
        missing = np.isnan(values)
        known = belief.grid.locate(np.where(missing, 0.0, values))
        assert belief.ranked is not None
        return cls(belief.ranked.kernel, np.where(missing, -1, known), belief.codes)

    def of(self, part: Part) -> LogArray:
        known = self.known[part]
        inside = self.kernel.T.inside(np.maximum(known, 0))
        logs = self._logs(np.take(inside, np.maximum(self.released, 0), axis=1))
        return self._with_gaps(logs, known[:, None] < 0, self.released[None, :] < 0)

    def by_cell(self, part: Part) -> LogArray | None:
        known = self.known[part]
        return self._with_gaps(
            self._logs(self.kernel.T.inside(np.maximum(known, 0))), known[:, None] < 0, np.zeros((1, 1), dtype=bool)
        )

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        known, released = self.known[targets], self.released[rows]
        inside = self.kernel.sets.pairs(np.maximum(released, 0), np.maximum(known, 0))
        return self._with_gaps(self._logs(inside), known < 0, released < 0)

    def _logs(self, inside: BoolArray) -> LogArray:
        levels = self.kernel.low, self.kernel.high
        low, high = (np.float32(max(math.log(v) if v > 0 else IMPOSSIBLE, IMPOSSIBLE)) for v in levels)
        return np.where(inside, high, low)

    @staticmethod
    def _with_gaps(logs: LogArray, unknown: BoolArray, absent: BoolArray) -> LogArray:
        """Absence is seen as it is: certain where both are absent, impossible where one is."""
        if not (unknown.any() or absent.any()):
            return logs
        return np.where(unknown | absent, np.where(unknown & absent, np.float32(0), np.float32(IMPOSSIBLE)), logs)


@dataclass(frozen=True, eq=False)
class _Clear:
    """Released as true: equal or impossible."""

    known: FloatArray
    released: FloatArray

    def of(self, part: Part) -> LogArray:
        equal = self.known[part][:, None] == self.released[None, :]
        return np.where(equal, np.float32(0.0), np.float32(IMPOSSIBLE))

    def by_cell(self, part: Part) -> LogArray | None:  # noqa: ARG002 - taken out of a sum, it leaves nothing exact
        return None

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        return np.where(self.known[targets] == self.released[rows], np.float32(0.0), np.float32(IMPOSSIBLE))


@dataclass(frozen=True, eq=False)
class _Evidence:
    """−log P(released row): the same for every target, so that a row that suits anybody counts for little."""

    logs: LogArray

    def of(self, part: Part) -> LogArray:  # noqa: ARG002 - all targets alike
        return self.logs[None, :]

    def by_cell(self, part: Part) -> LogArray | None:  # noqa: ARG002 - of all columns together
        return None

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:  # noqa: ARG002
        return self.logs[rows]


def log_evidence(view: View, names: Collection[str], beliefs: Mapping[str, Belief]) -> FloatArray:
    """Return Σ_a log P(y_a) for each row, over the blurred columns among `names`.

    Columns count as independent. Those whose noise was drawn together are taken as normal, and a missing value as their mean.
    Clear columns say nothing here: those who know them look only at rows that agree with them.
    """
    out = np.zeros(view.rows)
    joints = group_by_joint_law(view[name] for name in names)
    together = {n for group in joints.values() for n in group}
    for name in names:
        belief = beliefs[name]
        if name in together or belief.clear:
            continue
        seen = belief.codes >= 0
        out[seen] += np.log(np.maximum(belief.evidence[belief.codes[seen]], 1e-26))
    for group in joints.values():
        y = np.column_stack([view[n].values for n in group])
        away = np.nan_to_num(y - np.nanmean(y, axis=0))
        out -= 0.5 * np.einsum("ij,jk,ik->i", away, np.linalg.pinv(np.atleast_2d(np.cov(away, rowvar=False))), away)
    return out


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The sum over the columns that the attacker knows of the targets."""

    columns: Mapping[str, ColumnLogs]
    rows: int
    targets: Targets
    joints: tuple[JointLogs, ...] = ()
    """Columns whose noise was drawn together."""

    @classmethod
    def of(cls, view: View, targets: Targets, beliefs: Mapping[str, Belief] | None = None) -> Likelihood:
        """Through the laws of the release, or through given beliefs about its columns."""
        beliefs = view.beliefs if beliefs is None else beliefs
        if not targets.known:
            raise UsageError("linkage: the attacker knows no column of the targets; name at least one")
        columns: dict[str, ColumnLogs] = {}
        joints = group_by_joint_law(view[name] for name in targets.known)
        for name, values in targets.known.items():
            column = view[name]
            if column.channel is not None and column.channel.joint in joints:
                continue
            if beliefs[name].clear and (column.attribute.kind.numeric or beliefs[name].ranked is not None):
                absent = -1e300  # absence equals absence, and NaN equals nothing
                columns[name] = _Clear(*(np.where(np.isnan(v), absent, v) for v in (values, column.values)))
            else:
                kind = _Blurred if beliefs[name].ranked is None else _Labels
                columns[name] = kind.build(beliefs[name], values)
        together = tuple(
            JointLogs.build(law, {n: targets.known[n] for n in names}, {n: view[n].values for n in names})
            for law, names in joints.items()
        )
        return cls(columns, view.rows, targets, together)

    def against(self, evidence: FloatArray) -> Likelihood:
        """Return log P(y | x)/P(y) in the place of log P(y | x), given log P(y) of each row."""
        return replace(self, columns={**self.columns, "": _Evidence(-evidence.astype(np.float32))})

    @cached_property
    def _summands(self) -> tuple[ColumnLogs | JointLogs | _Packed, ...]:
        """What adds up to the sum of all columns, with as few look-ups as can be."""
        blurred = [c for c in self.columns.values() if isinstance(c, _Blurred)]
        others = [c for c in self.columns.values() if not isinstance(c, _Blurred)]
        return (*_Packed.groups(blurred), *others, *self.joints)

    def parts(self) -> Iterator[slice]:
        """The targets, a few at a time."""
        step = max(1, 500_000 // max(self.rows, 1))  # targets × rows
        for begin in range(0, self.targets.size, step):
            yield slice(begin, min(begin + step, self.targets.size))

    def logs(self, part: slice) -> LogArray:
        """Targets × rows; in a control the target's own row is struck out."""
        out = np.zeros((part.stop - part.start, self.rows), np.float32)
        for column in self._summands:
            out += column.of(part)
        self.strike(out, part)
        return out

    def without(self, name: str, together: LogArray, part: Part) -> LogArray:
        """What `logs` gave, had the column `name` not been known."""
        logs = together
        if name in self.columns:
            logs = together - self.columns[name].of(part)
        for joint in self.joints:
            if name in joint.names:
                rest = joint.without(name)
                logs = together - joint.of(part) + (0.0 if rest is None else rest.of(part))
        if logs is not together:
            self.strike(logs, part)
        return logs

    def factor(self, name: str, part: Part, cells: IntArray) -> LogArray | None:
        """Return what the column adds to the sum for each target and released cell of it; None where it is not by cell."""
        logs = self.columns[name].by_cell(part) if name in self.columns else None
        return None if logs is None else logs[:, cells]

    def joint_of(self, name: str) -> JointLogs | None:
        """The columns whose noise goes with that of `name`, beside which it is known or not."""
        return next((j for j in self.joints if name in j.law.names), None)

    def strike(self, logs: LogArray, part: Part) -> None:
        """Take the rows out that a control is to do without."""
        if self.targets.without is not None:
            logs[np.arange(len(logs)), self.targets.without[part]] = -np.inf

    def pairs(self, targets: IntArray, rows: IntArray) -> FloatArray:
        """Target i against row i."""
        known: tuple[ColumnLogs | JointLogs, ...] = (*self.columns.values(), *self.joints)
        return sum((c.pairs(targets, rows).astype(np.float64) for c in known), np.zeros(len(rows)))
