"""Pictures of long lists of labels: the commonest, and how much the others have together."""

import numpy as np

from sfumato.counts import Grid
from sfumato.report.charts import MAX_LABELS, SHOWN_LABELS, distribution


def test_of_a_long_list_the_commonest_are_drawn_and_the_others_summed():
    size = 20_000
    mass = np.full(size, 0.6 / (size - SHOWN_LABELS))
    common = np.arange(7, 7 + SHOWN_LABELS)
    mass[common] = 0.4 / SHOWN_LABELS
    grid = Grid.categories(tuple(f"z{i:05d}" for i in range(size)))
    text = distribution("zip", grid, mass, lower=mass / 2, upper=mass * 2, released=(grid, mass * 1000), original=mass)
    assert f"the {SHOWN_LABELS} commonest of 20,000 labels, all others 60.0 %" in text
    assert "z00007" in text
    assert "z00006" not in text
    assert len(text) < 100_000


def test_a_short_list_is_drawn_whole():
    mass = np.full(MAX_LABELS, 1 / MAX_LABELS)
    text = distribution("town", Grid.categories(tuple(f"t{i:02d}" for i in range(MAX_LABELS))), mass)
    assert "commonest" not in text
    assert all(f"t{i:02d}" in text for i in range(MAX_LABELS))
