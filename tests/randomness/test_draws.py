"""Draws against their laws, tails included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from sfumato.randomness import Rows, SecretKey, Stream, exponential, normal, random_words, sign, uniform

KEY = SecretKey(bytes(range(32)))
SIZE = 1_000_000
WORDS = random_words(KEY, Rows(0, SIZE), np.zeros(SIZE))
FALSE_ALARM = 1e-6
ORDERS = list(itertools.permutations(range(4)))
LOWEST, HIGHEST = np.array([0], np.uint64), np.array([2**64 - 1], np.uint64)


@pytest.mark.parametrize(
    ("draw", "law"),
    [(uniform, stats.uniform), (exponential, stats.expon), (normal, stats.norm)],
    ids=["uniform", "exponential", "normal"],
)
def test_draws_obey_their_law_and_its_tails(draw: object, law: stats.rv_continuous) -> None:
    for words in (WORDS[:, 0], WORDS[:, 1]):
        values = draw(words)  # type: ignore[operator]
        assert stats.kstest(values, law.cdf).pvalue > FALSE_ALARM
        for tail in (1e-2, 1e-3, 1e-4, 1e-5):
            for count in ((values > law.isf(tail)).sum(), (values < law.ppf(tail)).sum()):
                assert stats.binomtest(int(count), SIZE, tail).pvalue > FALSE_ALARM


def test_normal_is_the_inverse_of_the_distribution_function_word_for_word() -> None:
    from scipy.special import ndtri

    edges = (np.arange(4096, dtype=np.uint64) << np.uint64(52))[:, None]
    near = np.array([0, 1, 2**20, 2**51, 2**52 - 2**20, 2**52 - 1], np.uint64)
    words = np.concatenate([(edges + near).ravel(), WORDS[:200_000, 0]])
    u = (words.astype(np.float64) + 0.5) * 2.0**-64
    inner = (u > 1e-6) & (u < 1 - 1e-6)
    assert np.abs(normal(words)[inner] - ndtri(u[inner])).max() < 1e-10


def test_normal_is_odd_and_never_falls() -> None:
    words = np.sort(WORDS[:200_000, 0])
    assert np.abs(normal(words) + normal(~words)).max() < 1e-9
    assert np.diff(normal(words)).min() > -1e-10
    deep = np.array([2**k for k in range(64)], np.uint64)
    assert (np.diff(normal(deep)) > 0).all()
    assert (np.diff(normal(~deep[::-1])) > 0).all()


def test_extreme_words_give_finite_draws() -> None:
    assert uniform(LOWEST)[0] == 0
    assert uniform(HIGHEST)[0] == 1 - 2.0**-53
    assert normal(LOWEST)[0] == pytest.approx(-stats.norm.isf(2.0**-65), rel=1e-9)
    assert normal(HIGHEST)[0] == -normal(LOWEST)[0]
    assert exponential(LOWEST)[0] == pytest.approx(64 * np.log(2), rel=1e-12)
    assert exponential(HIGHEST)[0] == pytest.approx(0, abs=1e-15)
    assert exponential(LOWEST, LOWEST)[0] == pytest.approx(117 * np.log(2), rel=1e-12)
    assert exponential(HIGHEST, HIGHEST)[0] == pytest.approx(0, abs=1e-15)
    assert set(sign(WORDS[:1000, 0]).tolist()) == {-1.0, 1.0}


def test_a_second_word_only_continues_the_exponential() -> None:
    one, two = exponential(WORDS[:, 0]), exponential(WORDS[:, 0], WORDS[:, 1])
    common = one < 30
    assert np.abs(one - two)[common].max() < 1e-5
    small = np.arange(64, dtype=np.uint64)
    assert np.unique(exponential(np.zeros(64, np.uint64), small << np.uint64(58))).size == 64, (
        "what one word calls equal"
    )


def test_sign_and_size_of_a_draw_are_independent() -> None:
    assert abs(np.corrcoef(sign(WORDS[:, 0]), exponential(WORDS[:, 0]))[0, 1]) < 5 / np.sqrt(SIZE)


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
