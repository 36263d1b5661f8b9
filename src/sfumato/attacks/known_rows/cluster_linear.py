"""Linear reconstruction inside each cluster from known rows, and the reflection y = 2c − x that only it sees through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, KnowsRows, Remedy, ValueAttack, View
from sfumato.attacks.known_rows.known_input import Paired
from sfumato.counts import FloatArray, IntArray
from sfumato.findings import Note


def find_clusters(table: FloatArray, k: int, seed: int) -> tuple[IntArray, FloatArray]:
    """Return labels and centres by Lloyd's rounds from a k-means++ start, found on a sample of large tables."""
    max_rows = 20_000
    from sfumato.clusters import lloyd, nearest_centre

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
class ClusterLinear(KnowsRows, ValueAttack):
    """Regress the known rows on their released values in every cluster of the release, and apply it to the other rows."""

    name: ClassVar[str] = "cluster-linear"
    title: ClassVar[str] = "Linear reconstruction inside clusters"
    assumes: ClassVar[str] = "True values of some rows in every cluster, and which rows they are."
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF418",
            "Inside clusters the release is nearly a linear function of the original. Perturb each record alone.",
        )
    )
    clusters: int = 3
    seed: int = 0

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column."""
        paired = Paired.of(view, self.pairs)
        if paired is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
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
class Reflection(KnowsRows, ValueAttack):
    """Guess 2c − y with c the centre of the row's cluster: it undoes a reflection, which linkage and variance take for safe."""

    name: ClassVar[str] = "reflection"
    title: ClassVar[str] = "Reflection at cluster centres undone"
    assumes: ClassVar[str] = (
        "A few known records, to see whether the reflected row fits them better than the row itself."
    )
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF419", "The release is a reflection and can be undone. Use another method.")
    )
    clusters: int = 3
    seed: int = 0

    def run(self, view: View) -> Claim:
        """Return recoveries only where the known rows say that the release was reflected."""
        paired = Paired.of(view, self.pairs)
        if paired is None:
            return Claim(skipped="fewer than two numeric columns with complete rows")
        labels, centres = find_clusters(paired.released, self.clusters, self.seed)
        mirrored = 2 * centres[labels] - paired.released
        as_is = float(np.mean((paired.released[paired.at] - paired.known) ** 2))
        turned = float(np.mean((mirrored[paired.at] - paired.known) ** 2))
        notes = {"fits_as_is": as_is, "fits_reflected": turned, "reflected": turned < as_is}
        if turned >= as_is:
            return Claim(notes=notes, skipped="known records fit the release as it is better than its reflection")
        return Claim(paired.to_recoveries(mirrored), notes)
