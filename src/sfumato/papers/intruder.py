"""An intruder who knows some values of a person and looks for the record (Islam & Brankovic 2003, section 3.2).

p(X → Y) = Π_i p_i(A*_i − A_i) over the known attributes, normalised over the released records Y: where the cell (Y, i) was
perturbed, by the law of the noise; where it was not, the values must match. Y's leaf decides which cells were perturbed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.guided import Leaves, Room, ValueNoise, spread_of
from sfumato.table import Original, Table


@dataclass(frozen=True, eq=False)
class Intrusion:
    """What the intruder ends up believing, one entry per target.

    Attributes
    ----------
    p_true
        The chance given to the target's own row.
    effective_set
        2^H of the belief: among how many rows the target hides.
    class_certainty
        The chance given to the target's true class.
    picked
        Chance that the likeliest row is the target's (a tie is shared).
    found
        Targets that fit at least one released row; the others keep the uniform belief.
    """

    p_true: FloatArray
    effective_set: FloatArray
    class_certainty: FloatArray
    picked: FloatArray
    found: NDArray[np.bool_]

    def to_dict(self) -> dict[str, Any]:
        """Return means, as plain data."""
        return {
            "p_true": float(self.p_true.mean()),
            "effective_set": float(self.effective_set.mean()),
            "class_certainty": float(self.class_certainty.mean()),
            "picked": float(self.picked.mean()),
            "targets": len(self.p_true),
        }


def intrude(
    original: Original,
    released: Table,
    leaves: Leaves,
    cells: dict[str, NDArray[np.bool_]],
    noise: ValueNoise,
    known: Sequence[str],
    targets: IntArray | None = None,
) -> Intrusion:
    """Try to find each target among the released records.

    Parameters
    ----------
    original, released
        The same rows in the same order; the intruder knows a target's values in `original` for the columns in `known`.
    leaves
        The owner's leaves of the released records.
    cells, noise
        Which cells were perturbed (see `cells_to_perturb`) and by which law; both are public.
    targets
        Rows to look for, all unless given.
    """
    if not known:
        raise UsageError("an intruder who knows nothing cannot look for anybody; name known columns")
    rows = np.arange(original.rows) if targets is None else targets
    log_belief = np.zeros((len(rows), released.rows))
    with np.errstate(divide="ignore"):
        for name in known:
            log_belief += np.log(_likelihood(original, released, leaves, cells, noise, name, rows))
    most = log_belief.max(axis=1, keepdims=True)
    found = np.isfinite(most[:, 0])
    belief = np.exp(log_belief - np.where(np.isfinite(most), most, 0.0))
    belief[~found] = 1.0
    belief /= belief.sum(axis=1, keepdims=True)
    entropy = -np.where(belief > 0, belief * np.log2(np.where(belief > 0, belief, 1.0)), 0.0).sum(axis=1)
    own = belief[np.arange(len(rows)), rows]
    top = belief >= belief.max(axis=1, keepdims=True) * (1 - 1e-9)
    certainty = own.copy()
    if original.target is not None:
        certainty = (belief * (released.codes[None, :] == original.codes[rows, None])).sum(axis=1)
    return Intrusion(own, 2.0**entropy, certainty, top[np.arange(len(rows)), rows] / top.sum(axis=1), found)


def _likelihood(
    original: Original,
    released: Table,
    leaves: Leaves,
    cells: dict[str, NDArray[np.bool_]],
    noise: ValueNoise,
    name: str,
    rows: IntArray,
) -> FloatArray:
    """Return P(released value of Y | known value of X) for one column; a missing value fits only a missing one."""
    column = original[name]
    x, y = column.values[rows], released[name].values
    same = (x[:, None] == y) | (np.isnan(x)[:, None] & np.isnan(y))
    out = same.astype(np.float64)
    noisy = cells.get(name)
    if noisy is None:
        return out
    at = np.flatnonzero(noisy & ~np.isnan(y))
    have = np.flatnonzero(~np.isnan(x))
    spread = spread_of(column)
    step = noise.step(column, spread)
    interval = column.attribute.interval
    low, high = leaves.interval(name, interval.low, interval.high, step or 1.0)
    room = Room(low[leaves.number[at]], high[leaves.number[at]], step)
    out[np.ix_(have, at)] = noise.chances(x[have], y[at], spread, room)
    return out
