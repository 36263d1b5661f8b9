"""Draws are computed by shortcuts that must not change a bit: releases of yesterday are repeated from their keys."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from sfumato import randomness
from sfumato.randomness import CELL_BITS, TAIL_CELLS, exponential, normal, sign, uniform

ENDS = [0, 1, 2**64 - 1, 2**63, 2**63 - 1, TAIL_CELLS << 52, (TAIL_CELLS << 52) - 1, (4096 - TAIL_CELLS << 52) - 1]
WORDS = np.concatenate([np.array(ENDS, np.uint64), np.random.default_rng(0).integers(0, 2**64, 20_000, np.uint64)])


def plain_normal(word: int) -> float:
    """The definition, one word at a time."""
    cell, rest = word >> 64 - CELL_BITS, word & 2 ** (64 - CELL_BITS) - 1
    if cell < TAIL_CELLS or cell >= 2**CELL_BITS - TAIL_CELLS:
        upper = word >= 2**63
        z = float(ndtri((float(2**64 - 1 - word if upper else word) + 0.5) * 2.0**-64))
        return -z if upper else z
    c0, c1, c2, c3 = (float(c[cell]) for c in randomness._TABLE[0].coefficients)
    place = (rest + 0.5) * 2.0 ** (CELL_BITS - 64)
    return ((c3 * place + c2) * place + c1) * place + c0


def test_normal_draws_are_the_definition_to_the_last_bit() -> None:
    drawn = normal(WORDS)
    assert drawn.tolist() == [plain_normal(int(w)) for w in WORDS]


def test_strided_words_give_the_same_draws() -> None:
    pairs = np.column_stack([WORDS, WORDS[::-1]])
    for draw in (normal, uniform, exponential, sign):
        assert np.array_equal(draw(pairs[:, 0]), draw(WORDS))


def test_uniform_draws_are_53_bits() -> None:
    assert uniform(WORDS).tolist() == [(int(w) >> 11) * 2.0**-53 for w in WORDS]


def test_signs_are_the_last_bit() -> None:
    assert sign(WORDS).tolist() == [2.0 * (int(w) & 1) - 1.0 for w in WORDS]


def test_exponential_draws_are_minus_the_logarithm_of_63_bits() -> None:
    plain = [-np.log((float(int(w) >> 1) + 0.5) * 2.0**-63) for w in WORDS]
    assert exponential(WORDS) == pytest.approx(plain, rel=1e-14)


def test_drawing_does_not_change_the_words() -> None:
    words = WORDS.copy()
    for draw in (normal, uniform, exponential, sign):
        draw(words)
    assert np.array_equal(words, WORDS)
