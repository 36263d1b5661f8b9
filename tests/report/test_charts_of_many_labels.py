"""Pictures of long lists of labels: the commonest, and how much the others have together."""

import numpy as np

from sfumato.counts import Grid
from sfumato.report.charts import COMMONEST, MOST_LABELS, distribution


def test_of_a_long_list_the_commonest_are_drawn_and_the_others_summed():
    size = 20_000
    mass = np.full(size, 0.6 / (size - COMMONEST))
    common = np.arange(7, 7 + COMMONEST)
    mass[common] = 0.4 / COMMONEST
    grid = Grid.categories(tuple(f"z{i:05d}" for i in range(size)))
    text = distribution("zip", grid, mass, lower=mass / 2, upper=mass * 2, released=(grid, mass * 1000), original=mass)
    assert f"the {COMMONEST} commonest of 20,000 labels, all others 60.0 %" in text
    assert "z00007" in text
    assert "z00006" not in text
    assert len(text) < 100_000


def test_a_short_list_is_drawn_whole():
    mass = np.full(MOST_LABELS, 1 / MOST_LABELS)
    text = distribution("town", Grid.categories(tuple(f"t{i:02d}" for i in range(MOST_LABELS))), mass)
    assert "commonest" not in text
    assert all(f"t{i:02d}" in text for i in range(MOST_LABELS))
