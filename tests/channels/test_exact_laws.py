"""Laws are tables of whole numbers: figures are counted, extremes are kept or refused."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from sfumato.channels import (
    CHANNELS,
    Channel,
    Gaussian,
    Intervals,
    Laplace,
    Projective,
    SquareWave,
    Substitution,
    Uniform,
)
from sfumato.counts import Grid
from sfumato.errors import UsageError
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.tables import exponential

KEY = SecretKey(bytes(range(32)))
COLOUR = Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue")))
CODES = Attribute("code", Kind.CATEGORICAL, Categories(tuple(f"{i:03}" for i in range(200))))
AGE = Attribute("age", Kind.INTEGER, Interval(0, 100))
SHARE = Attribute("share", Kind.REAL, Interval(0, 1))
ALL_BUT_LAST = np.array([[2**64 - 1, 2**63]], np.uint64)


@pytest.mark.parametrize("epsilon", [20.0, 37.0, 40.0, 45.0, 50.0])
@pytest.mark.parametrize(
    ("law", "attribute"), [(Substitution, COLOUR), (Projective, CODES), (SquareWave, AGE), (SquareWave, SHARE)]
)
def test_hole_10_an_epsilon_of_37_and_more_is_kept(law: type[Channel], attribute: Attribute, epsilon: float) -> None:
    """The keep probability used to round to 1, so that the release was the truth and no ε was kept."""
    channel = law(epsilon=epsilon).on(attribute)
    exact = channel.guarantee().exact
    assert exact is not None
    assert 1 < exact <= exponential(Fraction(epsilon))[1]
    size = 3 if attribute is COLOUR else 200 if attribute is CODES else 101
    values = np.arange(size) / (1 if attribute is not SHARE else 100)
    kept = channel.sample(values, np.repeat(np.zeros((1, 2), np.uint64), size, axis=0))
    redrawn = channel.sample(values, np.repeat(ALL_BUT_LAST, size, axis=0))
    assert len(np.unique(redrawn)) == 1, "the last word draws without regard to the value"
    assert len(np.unique(kept)) > 1
    true = Grid(atoms=values)
    table = channel.transition(true, channel.observed_grid(true))
    assert table.min() > 0, "no report rules a value out"
    assert (table.max(axis=1) / table.min(axis=1)).max() <= float(exact) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [37.0, 44.0, 50.0])
def test_hole_10_laplace_noise_keeps_a_large_epsilon(epsilon: float) -> None:
    law = Laplace(b=100 / epsilon).on(AGE)
    exact = law.guarantee().exact
    assert exact is not None
    assert exact <= exponential(Fraction(100) / Fraction(law.b))[1]
    assert math.isinf(Laplace(b=1.9).on(AGE).guarantee().gamma)


TINY = [(0.0, 5e-324), (-5e-324, 5e-324), (0.0, 1e-310), (0.0, 1e-300), (1.0, 1.0000000000000002), (-1e300, 1e300)]
NARROW = [
    Gaussian(sigma=1e-308),
    Gaussian(sigma=5e-324),
    Gaussian(sigma=1e-20, step=1.0),
    Gaussian(sigma=1.0, step=5e-324),
    Gaussian(privacy=1e-300),
    Uniform(alpha=1e-310),
    Laplace(b=1e-308),
    Laplace(b=1e-20, step=1.0),
    Laplace(privacy=1e-300),
]


def bind(wish: Channel, attribute: Attribute) -> tuple[Channel | None, str]:
    """The law, or the words with which it is refused."""
    try:
        return wish.on(attribute), ""
    except UsageError as refusal:
        return None, str(refusal)


@pytest.mark.parametrize("domain", [*TINY, (0.0, 1.0)], ids=str)
@pytest.mark.parametrize("resolution", [None, 5e-324, 1e-310])
@pytest.mark.parametrize(
    "wish", [*(w for law in CHANNELS.values() if law.numeric for w in law.examples()), *NARROW], ids=str
)
def test_hole_12_absurd_domains_and_scales_work_or_are_refused_by_name(
    wish: Channel, domain: tuple[float, float], resolution: float | None
) -> None:
    attribute = Attribute("depth", Kind.REAL, Interval(*domain), resolution=resolution)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        law, refusal = bind(wish, attribute)
        if law is None:
            assert refusal.startswith("depth: ")
            assert "\n" not in refusal
            return
        law.perturb(KEY, Rows(0, 3), np.array([domain[0], domain[1], domain[0]]))
        true = Grid.over(attribute, 20)
        law.transition(true, law.observed_grid(true))
        assert law.guarantee().gamma > 1


def test_a_coarse_grid_rounds_the_value_before_noise_is_added() -> None:
    """Values that round alike have one law, and a cell of values the mixture of those laws."""
    law = Gaussian(sigma=3.0, step=5.0).on(SHARE_OF_TEN)
    observed = Grid(atoms=np.arange(-40, 45, 5.0), step=5.0)
    one, other = law.transition(Grid(atoms=np.array([0.1, 2.4])), observed).T
    assert np.array_equal(one, other)
    whole = law.transition(Grid(edges=np.array([0.0, 10.0])), observed)[:, 0]
    parts = law.transition(Grid(atoms=np.array([0.0, 5.0, 10.0])), observed) @ [0.25, 0.5, 0.25]
    assert np.allclose(whole, parts, atol=1e-12)


SHARE_OF_TEN = Attribute("share", Kind.REAL, Interval(0, 10))


@pytest.mark.parametrize("b", [0.3, 2.0, 40.0, 5000.0, 30_000.0, 1e6])
def test_laplace_noise_is_the_rounded_density_in_every_step(b: float) -> None:
    """Cells wider than a step are straight pieces; where they are one step wide, probabilities are right to the last digits."""
    law = Laplace(b=b).on(Attribute("wage", Kind.INTEGER, Interval(0, 10 * math.ceil(b))))
    far, table = 300, law.table
    cut = np.arange(-far, far + 2.0) - 0.5
    ideal = np.diff(np.where(cut < 0, 0.5 * np.exp(-np.abs(cut) / b), 1 - 0.5 * np.exp(-np.abs(cut) / b)))
    assert np.allclose(np.diff(law.cdf(cut)), ideal, rtol=1e-6 if table.width == 1 else 3e-4, atol=1e-15)
    upper = [Fraction(count * cell, 2**128) for count in table.counts[:-1] for cell in table.cells.counts]
    zero = table.blocks.counts[0]
    assert zero + 2 * sum(table.counts) == 2**64
    if table.width == 1:
        exact = [zero / 2**64, *(float(mass) for mass in upper[:far])]
        assert np.allclose(exact, ideal[far : far + len(exact)], rtol=1e-9, atol=1e-15)


def test_a_matrix_is_drawn_by_counts_that_add_up() -> None:
    matrix = ((0.7, 0.1, 1e-30), (0.2, 0.8, 0.3), (0.1, 0.1, 0.7))
    law = Substitution(matrix=matrix).on(COLOUR)
    assert (law.counts.sum(axis=0) == 2**law._bits).all()
    assert law.counts[0, 2] == 1
    assert law.guarantee().exact == Fraction(int(law.counts[0, 0]), 1)
    assert np.abs(law.counts / 2.0**law._bits - np.array(matrix)).max() < 1e-14


def test_intervals_use_no_chance() -> None:
    law = Intervals(count=4).on(AGE)
    values = np.arange(101.0)
    words = np.random.default_rng(0).integers(0, 2**64, (101, 2), np.uint64)
    assert np.array_equal(law.sample(values, words), law.sample(values, ~words))
