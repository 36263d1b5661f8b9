"""A sorted table under a law without chance: the rows of one class stand between the classes before and after it.

Released in classes, sorted values climb in steps. Where a step is, the value is the edge of the class; between two steps it
has gone from one edge to the next, and the row's place says how far.
"""

from __future__ import annotations

import numpy as np

from sfumato.attacks.base import Recovery
from sfumato.attacks.belief import Belief
from sfumato.attacks.windows import FEWEST_ROWS

FEWEST_STEPS = 2


def between_steps(belief: Belief) -> Recovery | None:
    """Values on straight lines from step to step; None where the released values neither only rise nor only fall."""
    known = np.flatnonzero(belief.codes >= 0)
    codes = belief.codes[known]
    climbs = np.diff(codes)
    if len(known) < FEWEST_ROWS or not (np.all(climbs >= 0) or np.all(climbs <= 0)):
        return None
    at = np.flatnonzero(climbs)
    if len(at) < FEWEST_STEPS:
        return None
    edges = belief.grid.finite_edges
    holds = belief.kernel > 0
    low, high = edges[np.argmax(holds, axis=1)], edges[holds.shape[1] - np.argmax(holds[:, ::-1], axis=1)]
    before, after = codes[at], codes[at + 1]
    rising = climbs[at] > 0
    steps = (np.where(rising, high[before], low[before]) + np.where(rising, low[after], high[after])) / 2
    first = low[codes[0]] if rising[0] else high[codes[0]]
    last = high[codes[-1]] if rising[-1] else low[codes[-1]]
    places = np.concatenate([[-0.5], at + 0.5, [len(codes) - 0.5]])
    values = np.full(len(belief.codes), np.nan)
    values[known] = np.interp(np.arange(len(codes)), places, np.concatenate([[first], steps, [last]]))
    return Recovery(belief.column.name, values, values)
