"""Attackers who know the true values of a few rows, and which rows they are. The rows they knew count for nothing.

Some learn the law of a guided column, which no release states. The residuals y − x of the known rows, spread a little, serve as
the noise of a number. For labels, the counts of (true, released) pairs, drawn towards the shares of the release, serve as the matrix.

Others undo what was done to all rows alike, such as a rotation. Chen, Sun & Liu 2007 name this known-input attack against their own
geometric perturbation: with Y = X Rᵀ + t the best rotation through known pairs is U Vᵀ of the singular value decomposition of XᵀY
(Procrustes), exact from d + 1 rows in general position on. Inside each cluster a regression does the same, and only it sees
through the reflection y = 2c − x.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import Claim, KnowsRows, Pairs, Recovery, Remedy, Scope, ValueAttack, View
from sfumato.attacks.column_posterior import DISTRIBUTION, recover_column
from sfumato.attacks.linear_filters import BayesEstimate
from sfumato.channels import DenseKernel, Transition
from sfumato.counts import FloatArray, Grid, IntArray, scatter
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.reconstruction import paper_size
from sfumato.table import Column


@dataclass(frozen=True)
class LearnsLaw(KnowsRows):
    """An attack that learns the law of guided columns from known rows, and goes on as if the release had stated it."""

    guided_only: ClassVar[bool] = True

    def beliefs(self, view: View) -> Mapping[str, Belief]:
        """What the release states, and for guided columns what the known rows teach."""
        return {**view.beliefs, **learn_beliefs(view, self.pairs)}


@dataclass(frozen=True)
class LearnedPosterior(LearnsLaw, ValueAttack):
    """Learn the law of each guided column from known rows, then apply Bayes' rule to all others."""

    name: ClassVar[str] = "learned-posterior"
    title: ClassVar[str] = "Posterior, law learned from known rows"
    assumes: ClassVar[str] = "True values of some rows of the release, and which rows they are."
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMN
    remedy: ClassVar[Remedy] = DISTRIBUTION

    def run(self, view: View) -> Claim:
        """Return one recovery per guided column with enough known rows."""
        learned = learn_beliefs(view, self.pairs)
        if not learned:
            return Claim(skipped="no guided column has enough known rows to learn its law from")
        return Claim(tuple(recover_column(b) for b in learned.values()), {"known_rows": len(self.pairs.rows)})


@dataclass(frozen=True)
class LearnedBayes(LearnsLaw, BayesEstimate):
    """BE-DR with the noise that the known rows show in the guided columns."""

    name: ClassVar[str] = "learned-bayes"
    title: ClassVar[str] = "Bayes estimate from all columns, law learned from known rows"
    assumes: ClassVar[str] = (
        "True values of some rows of the release, and which rows they are; that the true values are roughly jointly normal."
    )


def learn_beliefs(view: View, pairs: Pairs) -> dict[str, Belief]:
    """Return a belief for each guided column whose law can be learned from the known rows."""
    names = [n for n in view.names if n in view.guided and n in pairs.values]
    beliefs = {n: learn_belief(view[n], pairs.rows, pairs.values[n]) for n in names}
    return {n: b for n, b in beliefs.items() if b is not None}


def learn_belief(column: Column, rows: IntArray, values: FloatArray, min_rows: int = 4) -> Belief | None:
    """Learn the law of a column from the rows whose true values are known; None where fewer than `min_rows` are."""
    pseudo_rows = 2.0  # weight, in rows, of the shares of the whole release in each column of a learned matrix
    released = column.values[rows]
    there = ~np.isnan(released) & ~np.isnan(values)
    if there.sum() < min_rows:
        return None
    x, y = values[there], released[there]
    present = column.values[~np.isnan(column.values)]
    grid = column.true_grid(paper_size(len(present)))
    observed = _released_grid(column, grid, present)
    shares = np.bincount(observed.locate(present), minlength=observed.size) / len(present)
    if column.attribute.kind.numeric:
        kernel = _noise(grid, observed, y - x, shares)
    else:
        kernel = np.tile(pseudo_rows * shares[:, None], (1, grid.size))
        np.add.at(kernel, (observed.locate(y), grid.locate(x)), 1.0)
    kernel /= kernel.sum(axis=0, keepdims=True)
    mass = np.bincount(grid.locate(present), minlength=grid.size) / len(present)
    return Belief(column, Transition(grid, observed, DenseKernel(kernel)), mass, learned=True)


def _released_grid(column: Column, grid: Grid, present: FloatArray) -> Grid:
    """Return cells of the true grid's width over all released values, which a rotation may have led out of the domain."""
    if not column.attribute.kind.numeric or grid.size == 1:
        return grid
    width = float(np.median(np.diff(grid.finite_edges)))
    low, high = min(present.min(), grid.finite_edges[0]), max(present.max(), grid.finite_edges[-1])
    cells = int(np.clip(np.ceil((high - low) / width), 1, 1000))
    return Grid.cells(low, high, cells) if high > low else grid


def _noise(grid: Grid, observed: Grid, residuals: FloatArray, shares: FloatArray) -> FloatArray:
    """K[s, p] ∝ mean over residuals r of φ((c_s − c_p − r)/h)/h, and a little of the release at large.

    h is Silverman's width, but not below half a cell: finer, the grid would show through.
    """
    broad = 0.02  # share of the noise that may be anything at all
    width = float(np.median(np.diff(observed.finite_edges)))
    spread = min(residuals.std(), np.subtract(*np.quantile(residuals, [0.75, 0.25])) / 1.349)
    h = max(0.9 * spread * len(residuals) ** -0.2, width / 2)
    shifts = observed.centres[:, None] - grid.centres[None, :]
    kernel = np.zeros(shifts.shape)
    for r in residuals[:500]:
        kernel += np.exp(-0.5 * ((shifts - r) / h) ** 2)
    kernel /= np.maximum(kernel.sum(axis=0, keepdims=True), 1e-300)
    return (1 - broad) * kernel + broad * shares[:, None]


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
        place = scatter(view.rows, rows, np.arange(len(rows)), -1)
        return cls(names, rows, table[rows], place[pairs.rows[usable]], truth[usable], low, span, view.rows)

    def to_recoveries(self, scaled: FloatArray) -> tuple[Recovery, ...]:
        """Return estimates on the scale of the domains as recoveries over all rows."""
        out = []
        for i, name in enumerate(self.names):
            full = scatter(self.total, self.rows, scaled[:, i] * self.span[i] + self.low[i])
            out.append(Recovery(name, full, np.clip(full, self.low[i], self.low[i] + self.span[i])))
        return tuple(out)


@dataclass(frozen=True)
class UndoesTransform(KnowsRows, ValueAttack):
    """An attack that learns from known rows how the numeric columns of all rows were transformed."""

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        paired = Paired.of(view, self.pairs)
        if paired is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        return self.undo(paired)

    @abstractmethod
    def undo(self, paired: Paired) -> Claim:
        """Return the columns as they were before the transform."""


@dataclass(frozen=True)
class KnownInput(UndoesTransform):
    """Fit a rotation and a translation to the known pairs, and undo them for all rows."""

    name: ClassVar[str] = "known-input"
    title: ClassVar[str] = "Rotation undone by known rows"
    assumes: ClassVar[str] = "True values of a few rows of the release, and which rows they are."
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF417", "A few known rows undo what was done to all rows alike. Add noise of its own to every row.")
    )

    def undo(self, paired: Paired) -> Claim:
        """Turn all rows back as the known ones are."""
        rotation, shift = procrustes(paired.known, paired.released[paired.at])
        turned = float(np.abs(rotation - np.eye(len(rotation))).max())
        return Claim(
            paired.to_recoveries(paired.released @ rotation + shift),
            {"known_records": len(paired.at), "largest_turn": turned},
        )


def find_clusters(table: FloatArray, k: int, seed: int) -> tuple[IntArray, FloatArray]:
    """Return labels and centres by Lloyd's rounds from a k-means++ start, found on a sample of large tables.

    The last answer is remembered: two attacks ask for the clusters of the same release.
    """
    labels, centres = _cluster(np.ascontiguousarray(table).tobytes(), table.shape, k, seed)
    return labels.copy(), centres.copy()


@lru_cache(maxsize=1)
def _cluster(values: bytes, shape: tuple[int, int], k: int, seed: int) -> tuple[IntArray, FloatArray]:
    max_rows = 20_000
    from sfumato.clusters import lloyd, nearest_centre

    table = np.frombuffer(values).reshape(shape)
    rng = np.random.default_rng(seed)
    part = table if len(table) <= max_rows else table[rng.choice(len(table), max_rows, replace=False)]
    centres = part[rng.integers(len(part))][None, :]
    for _ in range(1, min(k, len(part))):
        squared = ((part[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).min(axis=1)
        if not squared.sum() > 0:
            break
        centres = np.vstack([centres, part[rng.choice(len(part), p=squared / squared.sum())]])
    run = lloyd(part, centres)
    return nearest_centre(table, run.centres), run.centres


@dataclass(frozen=True)
class ClusterLinear(UndoesTransform):
    """Regress the known rows on their released values in every cluster of the release, and apply it to the other rows."""

    name: ClassVar[str] = "cluster-linear"
    title: ClassVar[str] = "Linear reconstruction inside clusters"
    assumes: ClassVar[str] = "True values of some rows in every cluster, and which rows they are."
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF418", "Inside clusters the release is nearly a linear function of the original. Perturb each row alone."
        )
    )
    clusters: int = 3
    seed: int = 0

    def undo(self, paired: Paired) -> Claim:
        """Regress cluster by cluster."""
        labels, _ = find_clusters(paired.released, self.clusters, self.seed)
        estimate = np.empty_like(paired.released)
        for cluster in np.unique(labels):
            members = labels == cluster
            at = np.flatnonzero(labels[paired.at] == cluster)
            estimate[members] = _regress(
                paired.released[members], paired.released[paired.at[at]], paired.known[at], paired.known.mean(axis=0)
            )
        return Claim(
            paired.to_recoveries(estimate), {"clusters": int(labels.max()) + 1, "known_records": len(paired.at)}
        )


def _regress(rows: FloatArray, released: FloatArray, known: FloatArray, default: FloatArray) -> FloatArray:
    """Least squares of known on (1, released); with fewer than 2(d + 1) known rows, only their mean."""
    if not len(known):
        return np.tile(default, (len(rows), 1))
    if len(known) < 2 * (rows.shape[1] + 1):
        return np.tile(known.mean(axis=0), (len(rows), 1))
    y_mean, x_mean = released.mean(axis=0), known.mean(axis=0)
    slope = np.linalg.lstsq(released - y_mean, known - x_mean, rcond=1e-10)[0]
    return np.asarray((rows - y_mean) @ slope + x_mean)


@dataclass(frozen=True)
class Reflection(UndoesTransform):
    """Guess 2c − y with c the centre of the row's cluster: it undoes a reflection, which linkage and variance take for safe."""

    name: ClassVar[str] = "reflection"
    title: ClassVar[str] = "Reflection at cluster centres undone"
    assumes: ClassVar[str] = "A few known rows, to see whether the reflected row fits them better than the row itself."
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF419", "The release is a reflection and can be undone. Use another method.")
    )
    clusters: int = 3
    seed: int = 0

    def undo(self, paired: Paired) -> Claim:
        """Return recoveries only where the known rows say that the release was reflected."""
        labels, centres = find_clusters(paired.released, self.clusters, self.seed)
        mirrored = 2 * centres[labels] - paired.released
        as_is = float(np.mean((paired.released[paired.at] - paired.known) ** 2))
        turned = float(np.mean((mirrored[paired.at] - paired.known) ** 2))
        notes = {"fits_as_is": as_is, "fits_reflected": turned, "reflected": turned < as_is}
        if turned >= as_is:
            return Claim(notes=notes, skipped="known rows fit the release as it is better than its reflection")
        return Claim(paired.to_recoveries(mirrored), notes)
