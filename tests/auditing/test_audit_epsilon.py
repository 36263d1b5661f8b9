"""Every law with a finite ε is held to it by samples; a law that breaks its word is caught."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from sfumato.auditing.epsilon import audit_epsilon, clopper_pearson, probes, telling_event
from sfumato.channels import CHANNELS, Laplace, Projective, SquareWave, Substitution
from sfumato.channels.base import Guarantee
from sfumato.errors import UsageError
from sfumato.randomness import SecretKey, uniform
from sfumato.schema import Attribute, Categories, Interval, Kind

KEY = SecretKey(bytes(range(32)))
DRAWS = 100_000
AGE = Attribute("age", Kind.INTEGER, Interval(0, 90))
INCOME = Attribute("income", Kind.REAL, Interval(0.0, 100.0))
COLOUR = Attribute("colour", Kind.CATEGORICAL, Categories(tuple("abcdef")))
ZIP = Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"{i:03}" for i in range(120))))

FINITE = {
    "substitution": [(Substitution(epsilon=e), a) for e in (0.5, 2.0) for a in (AGE, INCOME, COLOUR, ZIP)]
    + [(Substitution(matrix=((0.6, 0.2, 0.2), (0.3, 0.5, 0.3), (0.1, 0.3, 0.5)), bins=3), INCOME)],
    "projective": [(Projective(epsilon=e), a) for e in (0.5, 2.0) for a in (COLOUR, ZIP)],
    "laplace": [(Laplace(b=45.0), AGE), (Laplace(b=100.0), INCOME), (Laplace(b=20.0), INCOME)],
    "square-wave": [(SquareWave(epsilon=e), a) for e in (0.5, 2.0) for a in (AGE, INCOME)],
}
WITHOUT = {"gaussian", "uniform", "intervals"}
CASES = [pytest.param(w, a, id=f"{w.law}-{i}-{a.name}") for ws in FINITE.values() for i, (w, a) in enumerate(ws)]


def test_every_law_is_either_audited_or_states_no_epsilon():
    assert set(FINITE) | WITHOUT == set(CHANNELS)
    for law in WITHOUT:
        assert CHANNELS[law](privacy=0.3).on(INCOME).guarantee().reason


@pytest.mark.parametrize(("wish", "attribute"), CASES)
def test_samples_keep_the_stated_epsilon(wish, attribute):
    law = wish.on(attribute)
    found = audit_epsilon(law, attribute, draws=DRAWS, key=KEY, false_alarm=1e-6)
    assert math.isfinite(found.stated)
    assert found.holds, found
    # The bound is worth something: a law that uses up its ε is seen to use up most of it.
    if wish.law != "laplace" and law.guarantee().epsilon > 1 and attribute is not AGE:
        assert found.shown > 0.6 * found.stated


@dataclass(frozen=True)
class Understated(Substitution):
    """States 0.8 of its γ."""

    def guarantee(self):
        return Guarantee(0.8 * super().guarantee().gamma)


@dataclass(frozen=True)
class Leaking(SquareWave):
    """One report in five hundred lies beyond the end where only its own value leads."""

    def sample(self, values, words):
        leaks = uniform(words[:, 0]) > 0.998
        return np.where(leaks, 1000.0 + values, super().sample(values, words))


@dataclass(frozen=True)
class Lopsided(Projective):
    """Draws from the wrong set for one value, so that its reports stand out."""

    def sample(self, values, words):
        out = super().sample(values, words)
        return np.where((values == 0) & (uniform(words[:, 1]) < 0.3), 0.0, out)


@pytest.mark.parametrize(
    ("wish", "attribute"),
    [(Understated(epsilon=1.5), COLOUR), (Leaking(epsilon=1.0), INCOME), (Lopsided(epsilon=1.0), ZIP)],
    ids=["stated too low", "leaking tail", "wrong set"],
)
def test_a_law_that_breaks_its_word_is_caught(wish, attribute):
    found = audit_epsilon(wish.on(attribute), attribute, draws=DRAWS, key=KEY, false_alarm=1e-6)
    assert not found.holds, found
    assert found.shown > found.stated


def test_the_bounds_of_clopper_and_pearson_by_hand():
    # Nothing in n draws: upper bound 1 − miss^(1/n); everything: lower bound miss^(1/n).
    lower, upper = clopper_pearson(np.array([0.0, 10.0]), 10, 0.05)
    assert lower[0] == 0.0
    assert upper[0] == pytest.approx(1 - 0.05**0.1)
    assert lower[1] == pytest.approx(0.05**0.1)
    assert upper[1] == 1.0


def test_bounds_miss_no_more_often_than_stated():
    rng = np.random.default_rng(1)
    hits = rng.binomial(400, 0.03, 20_000).astype(float)
    lower, upper = clopper_pearson(hits, 400, 0.02)
    assert np.mean(lower > 0.03) <= 0.023
    assert np.mean(upper < 0.03) <= 0.023


def test_the_telling_event_of_a_leak_is_the_leak():
    first, second = np.array([500, 440, 60]), np.array([495, 505, 0])
    assert telling_event(first, second).tolist() == [2]
    assert telling_event(second[::-1], first[::-1]).tolist() != [0]


def test_true_values_to_try_lie_in_the_domain():
    assert probes(COLOUR) == [0.0, 1.0, 3.0, 5.0]
    assert probes(AGE) == [0.0, 28.0, 45.0, 90.0]
    assert probes(Attribute("b", Kind.CATEGORICAL, Categories(("x", "y")))) == [0.0, 1.0]


def test_too_few_values_or_draws_are_refused():
    law = Substitution(gamma=3).on(COLOUR)
    with pytest.raises(UsageError, match="two true values"):
        audit_epsilon(law, COLOUR, values=[1.0])
    with pytest.raises(UsageError, match="200"):
        audit_epsilon(law, COLOUR, draws=100)
