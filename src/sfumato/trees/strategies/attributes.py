"""Which attributes say something about the class: a forward choice on released values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.counts import FloatArray
from sfumato.table import Table
from sfumato.trees.strategies._axes import Axis, class_shares
from sfumato.trees.strategies._maps import fit_map

COARSE = ((40, 56), (24, 32), (14, 22), (8, 14))
"""Cells and bins an axis while comparing maps of one to four attributes: coarse maps rank alike and cost little."""


MAX_BINS = 100_000
"""A map whose released values would have more bins than this is not tried: its categories are too many to combine."""


@dataclass(frozen=True)
class Trial:
    """What adding one attribute (or two) did: mean gain in held-out log loss, its standard error, and the separation."""

    added: tuple[str, ...]
    gain: float
    error: float
    separation: float

    @property
    def sure(self) -> float:
        """The gain in standard errors."""
        return self.gain / self.error if self.error > 0 else 0.0


@dataclass(frozen=True)
class Choice:
    """The attributes in the order of choice, all that helped at some point, and the trials of every round."""

    chosen: tuple[str, ...]
    relevant: tuple[str, ...]
    rounds: tuple[tuple[Trial, ...], ...]

    def sentence(self) -> str:
        """The choice in words."""
        if not self.chosen:
            return "no attribute tells the classes apart on held-out records"
        parts = []
        for trials, name in zip(self.rounds, self.chosen, strict=False):
            best = next((t for t in trials if t.added[-1] == name), None)
            parts.append(name if best is None else f"{name} ({best.sure:.0f} standard errors)")
        return "chosen on held-out records: " + ", ".join(parts)


def choose_attributes(table: Table, *, most: int = 4, seed: int = 0) -> Choice:
    """Forward choice of up to `most` attributes.

    A candidate is kept in view only if the class given the *released* values of all chosen ones and it has a held-out log
    loss lower by `NEEDED` paired standard errors; among those the one whose reconstructed map separates the classes best
    is taken. Where no attribute says anything alone, all pairs are looked at: two may speak only together.
    """
    held_out = 1 / 3
    max_candidates = 16  # With more attributes than this, only those that say most alone take part in later choices.
    min_pair_gain_z = 3.5  # The same for the best of all pairs, of which there are many more.
    min_gain_z = 2.0  # A candidate must lower the held-out log loss by so many paired standard errors.
    held = np.random.default_rng(seed).random(table.rows) < held_out
    train, test = table.take(~held), table.take(held)
    if not test.rows or len(np.unique(train.codes)) < 2:
        return Choice((), (), ())
    chosen: tuple[str, ...] = ()
    pool = [c.name for c in table.columns]
    relevant: list[str] = []
    rounds: list[tuple[Trial, ...]] = []
    for size in range(1, most + 1):
        if len(chosen) >= size:
            continue
        candidates = [(name,) for name in pool if name not in chosen]
        trials = _trials(train, test, chosen, candidates, size)
        rounds.append(trials)
        good = [t for t in trials if t.sure > min_gain_z]
        relevant += [t.added[0] for t in good if t.added[0] not in relevant]
        if size == 1:
            ranked = sorted(trials, key=lambda t: -t.sure)[:max_candidates]
            pool = [name for name in pool if any(name in t.added for t in ranked)]
        if not good and size == 1 and most > 1:
            trials = _trials(train, test, (), list(combinations(pool, 2)), 2)
            good = [t for t in trials if t.sure > min_pair_gain_z]
            rounds.append(tuple(good))
            relevant += sorted({name for t in good for name in t.added})
        if not good:
            break
        chosen = (*chosen, *max(good, key=lambda t: t.separation).added)
    order = [c.name for c in table.columns]
    return Choice(chosen, tuple(sorted(set(relevant) | set(chosen), key=order.index)), tuple(rounds))


def _trials(
    train: Table,
    test: Table,
    chosen: Sequence[str],
    candidates: Sequence[tuple[str, ...]],
    size: int,
) -> tuple[Trial, ...]:
    # EM steps while comparing: the likelihood of *released* values settles long before the map does.
    comparing_steps = 40
    cells, bins = COARSE[min(size, len(COARSE)) - 1]
    axes = {c.name: Axis.of(c, cells, bins) for c in train.columns}

    def score(names: Sequence[str]) -> tuple[FloatArray, float]:
        here = fit_map([axes[name] for name in names], train, iterations=comparing_steps, smoothing=0.02)
        return here.class_log_loss(test), here.separation

    if chosen:
        before, _ = score(chosen)
    else:
        before = -np.log(class_shares(train.codes, len(train.labels)))[test.codes]
    out = []
    for added in candidates:
        if math.prod(axes[name].kernel.shape[0] for name in (*chosen, *added)) > MAX_BINS:
            continue
        loss, separation = score((*chosen, *added))
        gain = before - loss
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        out.append(Trial(added, float(gain.mean()), error, separation))
    return tuple(out)
