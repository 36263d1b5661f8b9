"""Fast hashes that protect nothing: they break ties and choose samples, the same on any engine.

Whatever must stay secret takes its words from `sfumato.randomness`, under a key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import WordArray

GOLDEN_STEP = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio: splitmix64's step from one stream to the next."""


def splitmix64(words: WordArray) -> WordArray:
    """Return the finaliser of splitmix64 for each word: each input bit reaches each output bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def row_marks(rows: NDArray[Any]) -> WordArray:
    """Return one word per row number."""
    return splitmix64(rows.astype(np.uint64) + GOLDEN_STEP)


def choose_rows(rows: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Return the places of `size` rows, chosen by a hash of their numbers; of all, where there are no more."""
    if len(rows) <= size:
        return np.arange(len(rows))
    marks: WordArray = splitmix64(rows.astype(np.uint64) * GOLDEN_STEP + GOLDEN_STEP)
    return np.argpartition(marks, size)[:size]  # marks differ: the mixer is one-to-one


def draw_uniform(marks: WordArray, stream: int) -> NDArray[np.float64]:
    """Return U[0, 1) for each mark; another `stream` gives unrelated numbers."""
    step = np.uint64((stream + 1) * int(GOLDEN_STEP) % 2**64)
    return np.asarray((splitmix64(marks + step) >> np.uint64(11)) * 2.0**-53)
