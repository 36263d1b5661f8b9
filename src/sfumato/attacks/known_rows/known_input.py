"""The known-input attack: a few known rows undo what was done to all rows alike, such as a rotation.

Chen, Sun & Liu 2007 name it against their own geometric perturbation: with Y = X Rᵀ + t the best rotation through known
pairs is U Vᵀ of the singular value decomposition of XᵀY (Procrustes), exact from d + 1 rows in general position on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, KnowsRows, Pairs, Recovery, Remedy, ValueAttack, View
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.findings import Note


def procrustes(known: FloatArray, released: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(R, t) with x ≈ y R + t, R orthogonal: least squares over the known pairs."""
    if len(known) < 2:
        raise UsageError(f"known-input: {len(known)} known rows fix no rotation; give at least two")
    x_mean, y_mean = known.mean(axis=0), released.mean(axis=0)
    left, _, right = np.linalg.svd((released - y_mean).T @ (known - x_mean))
    rotation = left @ right
    return rotation, x_mean - y_mean @ rotation


@dataclass(frozen=True, eq=False)
class Paired:
    """The numeric columns of the complete rows, and the known pairs among them, on the scale of the domains."""

    names: tuple[str, ...]
    rows: IntArray
    released: FloatArray
    at: IntArray
    known: FloatArray
    low: FloatArray
    span: FloatArray
    total: int

    @classmethod
    def of(cls, view: View, pairs: Pairs) -> Paired | None:
        """None where fewer than two numeric columns or known rows are there."""
        columns = [c for c in view.numeric if c.name in pairs.values]
        if len(columns) < 2:
            return None
        names = tuple(c.name for c in columns)
        low = np.array([c.attribute.interval.low for c in columns])
        span = np.array([c.attribute.interval.range for c in columns])
        table = (np.column_stack([c.values for c in columns]) - low) / span
        truth = (np.column_stack([pairs.values[n] for n in names]) - low) / span
        complete = ~np.isnan(table).any(axis=1)
        usable = complete[pairs.rows] & ~np.isnan(truth).any(axis=1)
        if usable.sum() < 2:
            return None
        rows = np.flatnonzero(complete)
        place = np.full(view.rows, -1)
        place[rows] = np.arange(len(rows))
        return cls(names, rows, table[rows], place[pairs.rows[usable]], truth[usable], low, span, view.rows)

    def to_recoveries(self, scaled: FloatArray) -> tuple[Recovery, ...]:
        """Return estimates on the scale of the domains as recoveries over all rows."""
        out = []
        for i, name in enumerate(self.names):
            full = np.full(self.total, np.nan)
            full[self.rows] = scaled[:, i] * self.span[i] + self.low[i]
            out.append(Recovery(name, full, np.clip(full, self.low[i], self.low[i] + self.span[i])))
        return tuple(out)


@dataclass(frozen=True)
class KnownInput(KnowsRows, ValueAttack):
    """Fit a rotation and a translation to the known pairs, and undo them for all rows."""

    name: ClassVar[str] = "known-input"
    title: ClassVar[str] = "Rotation undone by known records"
    assumes: ClassVar[str] = "True values of a few rows of the release, and which rows they are."
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF417", "A few known records undo what was done to all rows alike. Add noise of its own to every row.")
    )

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        paired = Paired.of(view, self.pairs)
        if paired is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        rotation, shift = procrustes(paired.known, paired.released[paired.at])
        turned = float(np.abs(rotation - np.eye(len(rotation))).max())
        return Claim(
            paired.to_recoveries(paired.released @ rotation + shift),
            {"known_records": len(paired.at), "largest_turn": turned},
        )
