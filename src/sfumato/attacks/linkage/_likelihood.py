"""log P(released row | true values) through the channels, column by column or by the joint law: linkage and inference rest on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Targets, View
from sfumato.attacks.linkage._correlated_likelihood import JointLogs
from sfumato.attacks.linkage._logs import IMPOSSIBLE, LogArray
from sfumato.channels import CorrelatedGaussian, TwoLevels
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError


class ColumnLogs(Protocol):
    """log P(released | true) of one column."""

    def of(self, part: slice) -> LogArray:
        """For some targets, against all rows."""

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        """For target i against row i only."""


@dataclass(frozen=True, eq=False)
class _Blurred:
    """Through a channel: a table over (true cell, released cell), looked up; absence is seen as it is."""

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

    def of(self, part: slice) -> LogArray:
        return np.take(self.table[self.known[part]], self.released, axis=1)

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        return self.table[self.known[targets], self.released[rows]]


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

    def of(self, part: slice) -> LogArray:
        known = self.known[part]
        inside = self.kernel.T.inside(np.maximum(known, 0))
        logs = self._logs(np.take(inside, np.maximum(self.released, 0), axis=1))
        return self._with_gaps(logs, known[:, None] < 0, self.released[None, :] < 0)

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        known, released = self.known[targets], self.released[rows]
        inside = self.kernel.sets.pairs(np.maximum(released, 0), np.maximum(known, 0))
        return self._with_gaps(self._logs(inside), known < 0, released < 0)

    def _logs(self, inside: NDArray[np.bool_]) -> LogArray:
        low, high = (np.float32(max(math.log(v) if v > 0 else IMPOSSIBLE, IMPOSSIBLE)) for v in self._levels)
        return np.where(inside, high, low)

    @property
    def _levels(self) -> tuple[float, float]:
        return self.kernel.low, self.kernel.high

    @staticmethod
    def _with_gaps(logs: LogArray, unknown: NDArray[np.bool_], absent: NDArray[np.bool_]) -> LogArray:
        """Absence is seen as it is: certain where both are absent, impossible where one is."""
        if not (unknown.any() or absent.any()):
            return logs
        return np.where(unknown | absent, np.where(unknown & absent, np.float32(0), np.float32(IMPOSSIBLE)), logs)


@dataclass(frozen=True, eq=False)
class _Clear:
    """Released as true: equal or impossible."""

    known: FloatArray
    released: FloatArray

    def of(self, part: slice) -> LogArray:
        equal = self.known[part, None] == self.released[None, :]
        return np.where(equal, np.float32(0.0), np.float32(IMPOSSIBLE))

    def pairs(self, targets: IntArray, rows: IntArray) -> LogArray:
        return np.where(self.known[targets] == self.released[rows], np.float32(0.0), np.float32(IMPOSSIBLE))


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
        joints: dict[CorrelatedGaussian, list[str]] = {}
        for name, values in targets.known.items():
            column = view[name]
            if column.channel is not None and (law := column.channel.joint) is not None:
                joints.setdefault(law, []).append(name)
            elif beliefs[name].clear:
                absent = -1e300  # absence equals absence, and NaN equals nothing
                columns[name] = _Clear(_filled(values, absent), _filled(column.values, absent))
            else:
                kind = _Blurred if beliefs[name].ranked is None else _Labels
                columns[name] = kind.build(beliefs[name], values)
        together = tuple(
            JointLogs.build(law, {n: targets.known[n] for n in names}, {n: view[n].values for n in names})
            for law, names in joints.items()
        )
        return cls(columns, view.rows, targets, together)

    def parts(self) -> Iterator[slice]:
        """The targets, a few at a time."""
        step = max(1, 500_000 // max(self.rows, 1))  # targets × rows
        for begin in range(0, self.targets.size, step):
            yield slice(begin, min(begin + step, self.targets.size))

    def logs(self, part: slice) -> LogArray:
        """Targets × rows; in a control the target's own row is struck out."""
        out = np.zeros((part.stop - part.start, self.rows), np.float32)
        for column in (*self.columns.values(), *self.joints):
            out += column.of(part)
        self.strike(out, part)
        return out

    def without(self, name: str, together: LogArray, part: slice) -> LogArray:
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

    def joint_of(self, name: str) -> JointLogs | None:
        """The columns whose noise goes with that of `name`, beside which it is known or not."""
        return next((j for j in self.joints if name in j.law.names), None)

    def strike(self, logs: LogArray, part: slice) -> None:
        """Take the rows out that a control is to do without."""
        if self.targets.without is not None:
            logs[np.arange(len(logs)), self.targets.without[part]] = -np.inf

    def pairs(self, targets: IntArray, rows: IntArray) -> FloatArray:
        """Target i against row i."""
        known = (*self.columns.values(), *self.joints)
        return sum((c.pairs(targets, rows).astype(np.float64) for c in known), np.zeros(len(rows)))


def _filled(values: FloatArray, absent: float) -> FloatArray:
    return np.where(np.isnan(values), absent, values)
