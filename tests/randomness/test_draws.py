"""Draws against their laws, tails included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from sfumato.randomness import Rows, SecretKey, Stream, normal, random_words, uniform

KEY = SecretKey(bytes(range(32)))
SIZE = 1_000_000
WORDS = random_words(KEY, Rows(0, SIZE), np.zeros(SIZE))
FALSE_ALARM = 1e-6
ORDERS = list(itertools.permutations(range(4)))


@pytest.mark.parametrize(
    ("values", "law"),
    [(uniform(WORDS[:, 0]), stats.uniform), (uniform(WORDS[:, 1]), stats.uniform), (normal(WORDS), stats.norm)],
    ids=["uniform", "uniform of the second word", "normal"],
)
def test_draws_obey_their_law_and_its_tails(values: np.ndarray, law: stats.rv_continuous) -> None:
    assert stats.kstest(values, law.cdf).pvalue > FALSE_ALARM
    for tail in (1e-2, 1e-3, 1e-4, 1e-5):
        for count in ((values > law.isf(tail)).sum(), (values < law.ppf(tail)).sum()):
            assert stats.binomtest(int(count), SIZE, tail).pvalue > FALSE_ALARM


def test_extreme_words_give_finite_draws() -> None:
    ends = np.array([0, 1, 2**64 - 2, 2**64 - 1], np.uint64)
    assert uniform(ends)[0] == 0
    assert uniform(ends)[-1] == 1 - 2.0**-53
    least, most = (
        normal(np.column_stack([ends, np.zeros(4, np.uint64)])),
        normal(np.column_stack([ends, ends[[3] * 4]])),
    )
    assert least.tolist() == [0.0, -0.0, 4423 / 512, -4423 / 512]
    assert np.abs(most).max() == 4424 / 512


def test_a_stream_is_repeatable_and_never_repeats_itself() -> None:
    first, again = Stream(KEY), Stream(KEY)
    a = [first.words(3), first.words(4), first.words(1)]
    b = [again.words(3), again.words(4), again.words(1)]
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert len(set(np.concatenate(a).tolist())) == 8
    assert not np.array_equal(Stream(KEY.derive("x")).words(8), Stream(KEY).words(8))
    assert Stream(KEY).words(0).size == 0
    assert Stream(KEY).uniform(3, 4).shape == (3, 4)


def test_integers_of_a_stream_are_uniform() -> None:
    drawn = Stream(KEY).integers(700_000, 7)
    assert stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > FALSE_ALARM


def test_permutations_are_uniform_over_all_orders() -> None:
    stream = Stream(KEY)
    seen = np.zeros(24)
    for _ in range(24_000):
        order = stream.permutation(4)
        seen[ORDERS.index(tuple(order.tolist()))] += 1
    assert stats.chisquare(seen).pvalue > FALSE_ALARM


def test_a_permutation_within_groups_stays_there_and_is_uniform() -> None:
    groups = np.array([5, 2, 5, 5, 2, 9, 2, 5])
    stream = Stream(KEY)
    landed = np.zeros((8, 8))
    rounds = 12_000
    for _ in range(rounds):
        order = stream.permutation_within(groups)
        assert np.array_equal(groups[order], groups)
        assert np.array_equal(np.sort(order), np.arange(8))
        landed[np.arange(8), order] += 1
    for group in (2, 5):
        members = np.flatnonzero(groups == group)
        square = landed[np.ix_(members, members)]
        # Rows and columns add up to `rounds`: (k − 1)² cells are free, and Σ(o − e)²/e is k/(k − 1) times a chi-square.
        k = len(members)
        statistic = ((square - rounds / k) ** 2 / (rounds / k)).sum() * (k - 1) / k
        assert stats.chi2.sf(statistic, (k - 1) ** 2) > FALSE_ALARM
    assert landed[5, 5] == rounds
    assert stream.permutation_within(np.empty(0, np.int64)).size == 0
