"""Log-likelihoods of targets against rows, in float32: they are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LogArray = NDArray[np.float32]
IMPOSSIBLE = -60.0
"""The logarithm that stands for "cannot be": finite, so that a column can be taken out of a sum again."""


def posterior_weights(logs: LogArray) -> LogArray:
    """Posterior weights over rows, every row equally likely beforehand."""
    out = np.exp(floor_logs(logs - logs.max(axis=1, keepdims=True)))
    out /= out.sum(axis=1, keepdims=True)
    return out


def floor_logs(logs: LogArray) -> LogArray:
    """Logarithms not below −60: their exponentials are nothing in a sum, and cost no denormal arithmetic."""
    return np.maximum(logs, np.float32(IMPOSSIBLE))
