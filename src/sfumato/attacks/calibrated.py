"""Sets of labels that claim 95 % and hold the truth less often, widened until they hold it in 95 % of the records scored.

A law learned from a few records is too sure of itself. All sets are raised to one level c of posterior probability, the
least at which they cover; their size is then what the attack leaves, at the coverage that it was measured at.
"""

from __future__ import annotations

import numpy as np

from sfumato.attacks.base import Claimed, RankedSets
from sfumato.attacks.belief import CONFIDENCE, smallest_sets
from sfumato.counts import FloatArray

DOUBT = 1e-6
"""The share of every posterior that may be any label: without it no level would reach a label held to be impossible."""


def honest_widths(sets: Claimed, truth: FloatArray, confidence: float = CONFIDENCE) -> FloatArray:
    """The sizes of the sets at the least level that covers `confidence` of the known truth; NaN where there is no set.

    At level c the set of a row takes labels by falling probability m_1, m_2, …; of label j it holds
    min(1, max(0, c − (m_1 + … + m_{j−1})) / m_j), which grows with c, so that the level is found by halving.
    """
    if isinstance(sets, RankedSets):
        before, own = sets.places(truth, DOUBT)
        known = ~np.isnan(before)
        return sets.widths(_level(before[known], own[known], confidence), DOUBT)
    level = _level(*_places(sets, truth), confidence)
    out = np.full(len(truth), np.nan)
    for rows, posterior in sets.posteriors():
        doubted = _doubted(posterior)
        out[rows] = smallest_sets(doubted, np.ones(doubted.shape[1]), level).sum(axis=1)
    return out


def _doubted(posterior: FloatArray) -> FloatArray:
    return (1 - DOUBT) * posterior + DOUBT / posterior.shape[1]


def _places(sets: Claimed, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For every known truth: the probability of all labels before it in its row's order, and its own."""
    before, own = [np.zeros(0)], [np.zeros(0)]
    for rows, posterior in sets.posteriors():
        there = ~np.isnan(truth[rows])
        mass = _doubted(posterior[there])
        order = np.argsort(-mass, axis=1, kind="stable")
        ranked = np.take_along_axis(mass, order, axis=1)
        place = np.argmax(order == sets.grid.locate(truth[rows[there]])[:, None], axis=1)
        at = np.arange(len(mass))
        own.append(ranked[at, place])
        before.append(np.cumsum(ranked, axis=1)[at, place] - ranked[at, place])
    return np.concatenate(before), np.concatenate(own)


def _level(before: FloatArray, own: FloatArray, confidence: float) -> float:
    low, high = 0.0, 1.0
    if not len(own):
        return confidence
    for _ in range(60):
        middle = (low + high) / 2
        if np.clip((middle - before) / own, 0.0, 1.0).mean() < confidence:
            low = middle
        else:
            high = middle
    return high
