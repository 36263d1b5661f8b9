"""What the grid of a column does to a law: noise that is finer than the grid is rounded away."""

from __future__ import annotations

import numpy as np

from sfumato.channels import Additive, Channel, Discrete, Intervals, Substitution, snap
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.schema import Attribute

MOSTLY_TRUE = 0.5
"""Above this share of exactly true cells the width of the noise says little about what is hidden, and a caution is due."""
LEAST_CHANGED = 1e-6
"""A law that changes fewer cells than one in a million modifies nothing."""


def exactly_true(channel: Channel, attribute: Attribute) -> float | None:
    """Return P(the value next to the released one is the true one), over the values of the grid alike; None off a grid.

    "Next to" matters where a release has other steps than the column: whoever knows the grid rounds to it.
    """
    step = attribute.step if attribute.kind.numeric else 0.0
    if not step or attribute.interval.range == 0:
        return None
    if isinstance(channel, Discrete):
        return _by_bins(channel, attribute)
    wide = max(step, channel.step or step)
    low, high = attribute.interval.low, attribute.interval.high
    middle = float(snap(np.array([(low + high) / 2]), wide)[0])
    if not low <= middle <= high:
        return 0.0
    near = Grid(atoms=middle + wide * np.arange(-1.0, 2.0))
    kept = float(channel.transition(Grid(atoms=np.array([middle])), near)[1, 0])
    return kept * _size(attribute, wide) / _size(attribute, step)


def _size(attribute: Attribute, step: float) -> float:
    """Return how many multiples of a step lie in the domain."""
    return float(np.floor(attribute.interval.high / step + 1e-9) - np.ceil(attribute.interval.low / step - 1e-9) + 1)


def _by_bins(channel: Discrete, attribute: Attribute) -> float:
    """Return Σ_h M[h, bin of v_h]/n, where v_h is the value of the grid next to what stands for bin h, of n values in all."""
    near = snap(channel.representatives - 1e-6 * attribute.step, attribute.step)
    inside = (near >= attribute.interval.low - 1e-9) & (near <= attribute.interval.high + 1e-9)
    places = np.flatnonzero(inside)
    return float(_chances(channel, places, channel.bins_of(near[places])).sum() / _size(attribute, attribute.step))


def _chances(channel: Discrete, released: IntArray, true: IntArray) -> FloatArray:
    """Return M[h, k] for pairs of bins."""
    same = (released == true).astype(np.float64)
    if not isinstance(channel, Substitution):
        return same
    if channel.matrix is not None:
        return np.array(channel.matrix)[released, true]
    return channel.keep * same + (1 - channel.keep) / channel.bin_grid.size


def hides_little(channel: Channel, attribute: Attribute) -> bool:
    """Return whether the grid rounds most of the noise away. The width of a substitution counts values, and so says it itself."""
    share = None if isinstance(channel, Substitution) else exactly_true(channel, attribute)
    return share is not None and share > MOSTLY_TRUE


def refuse_unchanged(channel: Channel, attribute: Attribute) -> None:
    """Refuse noise that leaves a column as it is, which would be true values under another name."""
    share = None if isinstance(channel, Substitution) else exactly_true(channel, attribute)
    if share is None or share <= 1 - LEAST_CHANGED:
        return
    raise UsageError(
        f"{attribute.name}: {channel.law} noise of this size leaves {100 * share:.4g} % of the cells exactly true, since values "
        f"lie on a grid of steps of {attribute.step:g}; {_enough(channel, attribute)}declare the column categorical and "
        "use substitution, or release it as true"
    )


def _enough(channel: Channel, attribute: Attribute) -> str:
    """Return what changes every other cell: half of the noise beyond half a step, or two values per interval."""
    if isinstance(channel, Additive):
        scale = attribute.step / channel.quantile_width(0.5)
        return f"ask for a privacy of {scale * channel.quantile_width(0.95) / attribute.interval.range:.2g} or more, "
    values = int(_size(attribute, attribute.step))
    if isinstance(channel, Intervals):
        return f"ask for at most {values // 2} intervals, " if values >= 4 else ""
    return "ask for less epsilon, "
