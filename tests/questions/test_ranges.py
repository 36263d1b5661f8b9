"""Ranges of blurred numbers: the bounds by hand, and that nothing is assumed of the column."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Grid
from sfumato.questions.functions import NumberSet, Piece
from sfumato.questions.ranges import BlurredCounts, bound_share, join_cells
from sfumato.reconstruction import observed_grid
from sfumato.table import Column

AGE = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 80))
UPPER = NumberSet((Piece(low=40.0),))


def blurred(values, law, seed):
    channel = law.on(AGE)
    words = np.random.default_rng(seed).integers(0, 2**64, (len(values), 2), dtype=np.uint64)
    column = Column(AGE, channel, channel.sample(values, words))
    grid = observed_grid(column)
    return BlurredCounts(
        column.take(np.zeros(0, dtype=int)),
        grid,
        np.bincount(grid.locate(column.values), minlength=grid.size).astype(float),
    )


def test_without_noise_the_bounds_are_those_of_a_binomial_share():
    """χ² = (n ρ − h₁)²/h₁ + (n(1 − ρ) − h₀)²/h₀, at the best n: p ± 1.96 √(p(1 − p)/n) to first order."""
    low, high = bound_share(np.eye(2), np.array([9000.0, 1000.0]), np.array([9000.0, 1000.0]), np.array([0.0, 1.0]))
    half = 1.96 * np.sqrt(0.1 * 0.9 / 10_000)
    assert low == pytest.approx(0.1 - half, abs=2e-4)
    assert high == pytest.approx(0.1 + half, abs=2e-4)


def test_cells_that_cannot_be_told_apart_leave_every_share_open():
    low, high = bound_share(
        np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([50.0, 50.0]), np.array([50.0, 50.0]), np.array([0.0, 1.0])
    )
    assert (low, high) == (0.0, 1.0)


def test_bounds_narrow_with_rows_and_with_less_noise():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 81, 20_000).astype(float)
    widths = {}
    for n, privacy in ((500, 0.5), (20_000, 0.5), (20_000, 0.1)):
        low, high = blurred(values[:n], sf.Gaussian(privacy=privacy), 1).bounds(UPPER)
        widths[n, privacy] = high - low
    assert widths[20_000, 0.1] < widths[20_000, 0.5] < widths[500, 0.5]


@pytest.mark.parametrize("shape", ["spike at the cut", "two spikes", "even", "heaped"])
@pytest.mark.parametrize("law", [sf.Gaussian(privacy=0.5), sf.Uniform(privacy=0.5), sf.Laplace(privacy=1.0)], ids=str)
def test_bounds_hold_whatever_the_column_looks_like(shape, law):
    """12 releases of each: 2 misses of 12 happen once in 10 if 95 % hold, 5 in fewer than one in 10,000."""
    rng = np.random.default_rng(3)
    values = {
        "spike at the cut": np.where(rng.random(2000) < 0.6, 40, rng.integers(0, 81, 2000)),
        "two spikes": np.where(rng.random(2000) < 0.5, 39, 41),
        "even": rng.integers(0, 81, 2000),
        "heaped": 10 * rng.integers(0, 9, 2000),
    }[shape].astype(float)
    truth = np.mean(values >= 40)
    held = 0
    for seed in range(12):
        low, high = blurred(values, law, seed).bounds(UPPER)
        held += low <= truth <= high
    assert held >= 8


def test_cells_are_joined_until_each_expects_enough():
    join = join_cells(np.array([1.0, 1.0, 8.0, 2.0, 9.0]), 5.0)
    assert join.tolist() == [[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]


def test_an_open_end_leaves_the_lattice_point_out():
    counts = BlurredCounts(Column(AGE, sf.Gaussian(privacy=0.1).on(AGE), np.empty(0)), Grid.cells(0, 1, 1), np.ones(1))
    counts.__dict__["distribution"] = sf.reconstruct(Column(AGE, None, np.array([39.0, 40.0, 40.0, 41.0])), bins=81)
    shares = [
        float(counts.share(NumberSet((piece,))))
        for piece in (Piece(low=40.0), Piece(low=40.0, low_in=False), Piece(40.0, 40.0))
    ]
    np.testing.assert_allclose(shares, [0.75, 0.25, 0.5], atol=1e-9)
