"""Runs of equal labels along the rows: what the labels around a row say of the one between them, through the law.

The model: a neighbour has the row's own true label with probability ρ, and otherwise any label, as they are distributed in
the whole table. A neighbour released as s then speaks for label p with ρ K[s, p] + (1 − ρ) P(s). Window and ρ are the ones
that predict the released labels they leave out best.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.attacks.belief import Belief
from sfumato.attacks.conditional import Conditional
from sfumato.attacks.windows import SURE, agreement, half_widths, window_sums
from sfumato.counts import FloatArray, IntArray

LOOKS = (1, 8, 64, 512)
"""Half-widths at which runs are looked for."""
ALIKE = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.995)
TRIED_ROWS = 6000
"""Rows on which windows are compared."""
MOST_NUMBERS = 30_000_000
"""Rows times labels whose priors are held; of a larger table rows in equal steps are attacked."""
NATS = 10.0
TINY = 1e-300


def along_runs(belief: Belief) -> tuple[Conditional | None, dict[str, Any]]:
    """The priors of single rows from the labels around them; None where the order of the rows says nothing."""
    codes = belief.codes
    if max(agreement(codes, h) for h in LOOKS) < SURE:
        return None, {}
    known = np.flatnonzero(codes >= 0)
    tried = known[np.linspace(0, len(known) - 1, min(TRIED_ROWS, len(known))).astype(np.int64)]
    best = max((_gain(belief, tried, half, alike), half, alike) for alike in ALIKE for half in half_widths(len(codes)))
    if best[0] < NATS:
        return None, {}
    _, half, alike = best
    most = max(1, MOST_NUMBERS // belief.grid.size)
    rows = known if len(known) <= most else known[np.linspace(0, len(known) - 1, most).astype(np.int64)]
    groups = np.full(len(codes), -1, np.int64)
    groups[rows] = np.arange(len(rows))
    about = {"rows_each_side": half, "neighbours_alike": alike}
    return Conditional(belief, _priors(belief, rows, half, alike), groups), about


def _priors(belief: Belief, rows: IntArray, half: int, alike: float) -> FloatArray:
    """π(p) Π_j (ρ K[s_j, p] + (1 − ρ) P(s_j)) over the neighbours j, brought to sum one."""
    said = np.log(np.maximum(alike * belief.kernel + (1 - alike) * belief.evidence[:, None], TINY))
    logs = window_sums(said, belief.codes, rows, half)
    logs += np.log(np.maximum(belief.prior, TINY))
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    return np.asarray(logs / logs.sum(axis=1, keepdims=True))


def _gain(belief: Belief, rows: IntArray, half: int, alike: float) -> float:
    """Nats by which the neighbours predict released labels better than the whole table does."""
    own = belief.codes[rows]
    seen = (belief.kernel[own] * _priors(belief, rows, half, alike)).sum(axis=1)
    return float(np.log(np.maximum(seen, TINY) / np.maximum(belief.evidence[own], TINY)).sum())
