"""Draws are integer arithmetic: counted one by one they have exactly the probabilities that are stated."""

from __future__ import annotations

import hashlib
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from sfumato.tables import (
    CELLS_PER_SIGMA,
    WORDS,
    OwnOrAny,
    WordTable,
    choose,
    exponential,
    fewest_and_most,
    float_above,
    float_below,
    half_normal,
    leading_bits,
    scaled_factor,
)

SOME = np.random.default_rng(0).integers(0, WORDS, 3000, np.uint64)
ENDS = np.array([0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, WORDS - 2, WORDS - 1], np.uint64)
WIDE = np.concatenate([ENDS, SOME])


@given(st.integers(1, 2**62), st.integers(1, 2**62))
def test_a_chosen_place_is_the_product_rounded_down(factor: int, outcomes: int) -> None:
    bits = leading_bits(factor, outcomes)
    assert choose(WIDE[:40], factor, outcomes).tolist() == [(int(w) >> 64 - bits) * factor >> bits for w in WIDE[:40]]


def test_strided_words_give_the_same_draws_and_stay_as_they_are() -> None:
    pairs = np.column_stack([WIDE, WIDE[::-1]])
    before = pairs.copy()
    for factor in (7, 2**40):
        assert np.array_equal(choose(pairs[:, 0], factor), choose(WIDE, factor))
    half_normal().draw(pairs)
    assert np.array_equal(pairs, before)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000, 2**20 + 7, 2**40 + 1])
def test_the_fewest_and_the_most_words_of_an_outcome_are_counted(size: int) -> None:
    words = 2 ** leading_bits(size)
    below = [-(-place * words // size) for place in (0, 1, 2, size // 2, size // 2 + 1, size - 1, size)]
    own = [below[1] - below[0], below[4] - below[3], below[6] - below[5]]
    fewest, most = (share * words for share in fewest_and_most(size))
    assert below[-1] == words
    assert fewest <= min(own) <= max(own) <= most <= fewest + 1
    assert size < 256 or most / fewest < 1.01


@given(st.lists(st.integers(1, WORDS - 1), max_size=60), st.integers(0, 63))
def test_a_table_finds_what_a_search_finds(cuts: list[int], squeeze: int) -> None:
    """Squeezed into the lowest words, cuts crowd the entries of the guide."""
    starts = sorted({0, *(max(cut >> squeeze, 1) for cut in cuts)})
    table = WordTable.of(starts)
    words = np.array(sorted({*starts, *(s - 1 for s in starts[1:]), WORDS - 1, *WIDE.tolist()}), np.uint64)
    assert np.array_equal(table.locate(words), np.searchsorted(table.starts, words, side="right") - 1)
    assert sum(table.counts) == WORDS


def test_the_normal_table_is_the_same_everywhere() -> None:
    starts = half_normal().table.starts
    assert hashlib.sha256(starts.tobytes()).hexdigest()[:16] == "8e8afe1f2622d0c1"
    assert len(starts) == 4424
    assert (starts % 2 == 0).all()


def test_beyond_the_last_cell_the_normal_table_draws_nothing_and_many_values_are_looked_up_as_one_is() -> None:
    normal = half_normal()
    far = (len(normal.upto) - 1) / CELLS_PER_SIGMA
    ends = np.array([-np.inf, -far, -far + 1e-9, 0.0, far - 1e-9, far, np.inf])
    assert normal.cdf(ends)[[0, 1, 3, 5, 6]].tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    z = np.random.default_rng(0).normal(0, 6, (70, 500))
    for function in (normal.cdf, normal.cdf_integral):
        assert np.array_equal(function(z)[3, ::7], [function(np.array([one]))[0] for one in z[3, ::7]])


def test_the_normal_table_is_the_series_of_the_error_function_rounded() -> None:
    """2Φ(z) − 1 = √(2/π) Σ (−1)ᵏ z²ᵏ⁺¹/(2ᵏ k! (2k+1)), to 70 digits."""
    starts = half_normal().table.starts
    with localcontext() as context:
        context.prec = 90
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
        for node in [*range(0, len(starts), 211), len(starts) - 1]:
            z = Decimal(node) / CELLS_PER_SIGMA
            term = total = z
            k = 0
            while abs(term) > Decimal(10) ** -60:
                k += 1
                term = -term * z * z / (2 * k)
                total += term / (2 * k + 1)
            assert int((total * (2 / pi).sqrt() * 2**63).to_integral_value()) * 2 == int(starts[node])


def test_the_stated_normal_law_is_within_its_bound_of_the_ideal_one() -> None:
    z = np.linspace(-9, 9, 300_001)
    table = half_normal()
    assert np.abs(table.cdf(z) - ndtr(z)).max() < 1.2e-7
    ideal = z * ndtr(z) + np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    assert np.abs(table.cdf_integral(z) - ideal).max() < 2e-7
    step = z[1] - z[0]
    assert np.abs(np.cumsum(table.cdf(z)) * step - table.cdf_integral(z))[-1] < 1e-4


@pytest.mark.parametrize("gamma", [1.0001, 2.0, 19.0, 1e6, 1e12, 1e16, 1e21, 1e30])
@pytest.mark.parametrize(("own", "every"), [(1, 2), (1, 20), (5, 14), (57, 400), (1001, 2001)])
def test_own_or_any_never_exceeds_the_asked_ratio_and_reaches_it_where_words_can(
    gamma: float, own: int, every: int
) -> None:
    table = OwnOrAny.within(Fraction(gamma), own, every)
    assert 1 < table.gamma <= Fraction(gamma)
    assert 0 < table.rest <= 1
    if gamma < 1e15:
        assert float(table.gamma) == pytest.approx(gamma, rel=1e-3 if gamma > 1e12 else 1e-6)
        assert OwnOrAny(own, every, table.threshold + 1).gamma > Fraction(gamma), "one more word would exceed it"


def test_own_or_any_on_short_words_counts_as_stated() -> None:
    """The same arithmetic with all words of 12 bits: every pair is drawn once."""
    own, every, threshold, size = 3, 7, 1500, 2**12
    counts: Counter[int] = Counter()
    for first in range(size):
        for second in range(size):
            counts[second * own // size if first < threshold else second * every // size] += 1
        if first == threshold + 3:
            break
    near = [-(-(k + 1) * size // own) + (-k * size // own) for k in range(own)]
    far = [-(-(k + 1) * size // every) + (-k * size // every) for k in range(every)]
    for k in range(every):
        assert counts[k] == threshold * (near[k] if k < own else 0) + 4 * far[k]


def test_exponentials_are_bounded_from_both_sides() -> None:
    for exponent in (Fraction(0), Fraction(1), Fraction(-3, 7), Fraction(50), Fraction(0.1)):
        low, high = exponential(exponent)
        with localcontext() as context:
            context.prec = 80
            ideal = Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())
        assert low <= ideal <= high
        assert float_below(low) <= ideal <= float_above(high)
        assert float_above(high) - float_below(low) <= 2 * np.spacing(float(low))


@given(st.fractions(Fraction(1, 10**6), 10**9))
def test_a_scaled_factor_has_its_digits(value: Fraction) -> None:
    factor, shift = scaled_factor(value, 31)
    assert abs(Fraction(factor, 2**shift) / value - 1) < Fraction(1, 10**9)
    assert 1 <= shift <= 61
