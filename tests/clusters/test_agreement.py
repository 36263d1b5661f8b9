from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sfumato.clusters.kmeans import (
    Spread,
    agreement,
    fixed_point_agreement,
    kmeans,
    rerun_agreement,
    single_start_agreement,
)
from sfumato.errors import UsageError


def test_agreement_is_the_best_over_all_renamings():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 4, 30), rng.integers(0, 4, 30)
        naive = max((np.array(p)[a] == b).mean() for p in permutations(range(4)))
        assert agreement(a, b) == pytest.approx(naive)


def test_agreement_by_hand():
    # Matching 0→1 (2 records) and 1→0 (2 records) leaves the last one out.
    assert agreement([0, 0, 1, 1, 1], [1, 1, 0, 0, 2]) == pytest.approx(0.8)
    assert agreement(["a", "a", "b"], [7, 7, 3]) == 1.0


@pytest.mark.parametrize(("a", "b"), [([0, 1], [0]), ([], [])])
def test_agreement_of_nothing_or_of_different_lengths_is_refused(a, b):
    with pytest.raises(UsageError):
        agreement(a, b)


def table() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(size=(60, 3)) * 0.1 + c for c in ([0, 0, 0], [1, 0, 0], [0, 1, 1])])


def test_the_original_agrees_with_itself_under_every_protocol():
    x = table()
    fit = kmeans(x, 3)
    assert rerun_agreement(x, fit.labels, 3) == 1.0
    assert fixed_point_agreement(x, fit.labels, fit.centres) == 1.0
    assert single_start_agreement(x, x, 3, seed=3) == 1.0


def test_the_protocols_tell_apart_what_they_should():
    x = table()
    fit = kmeans(x, 3)
    moved = x + 5.0  # the same clusters elsewhere
    assert rerun_agreement(moved, fit.labels, 3) == 1.0
    assert single_start_agreement(x, moved, 3) == 1.0
    assert fixed_point_agreement(moved, fit.labels, fit.centres) < 1.0
    shuffled = x[np.random.default_rng(2).permutation(len(x))]
    assert rerun_agreement(shuffled, fit.labels, 3) < 0.6


def test_single_start_needs_the_same_rows():
    with pytest.raises(UsageError, match="same rows"):
        single_start_agreement(table(), table()[:5], 2)
    with pytest.raises(UsageError, match="cannot start"):
        single_start_agreement(table()[:2], table()[:2], 3)


def test_a_spread_by_hand():
    s = Spread.of([1.0, 2.0, 6.0])
    assert (s.mean, s.min, s.median, s.runs) == (3.0, 1.0, 2.0, 3)
    assert s.sd == pytest.approx(7**0.5)
    assert Spread.of([4.0]).sd == 0.0
    with pytest.raises(UsageError):
        Spread.of([])
