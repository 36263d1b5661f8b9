"""Plateau and triangles against their own laws, written a second time as densities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from sfumato.errors import UsageError
from sfumato.generators.base import ROWS_PER_BLOCK
from sfumato.generators.shapes import plateau, plateau200, triangles, triangles200

REAL = (plateau, triangles)
INTEGER = (plateau200, triangles200)


def density(name: str, x: float) -> float:
    if name == "plateau":
        return 2.0 if 0.25 <= x <= 0.75 else 0.0
    return max(0.0, 2 - 8 * abs(x - 0.25)) + max(0.0, 2 - 8 * abs(x - 0.75))


def values(shape, rows, seed=0):
    return np.concatenate([block["x"] for block in shape.blocks(rows, seed=seed)])


@pytest.mark.parametrize("shape", REAL, ids=lambda s: s.name)
def test_true_mass_is_the_integral_of_the_density(shape):
    edges = np.linspace(0, 1, 21)
    kinks = [0.25, 0.5, 0.75]
    areas = [
        integrate.quad(lambda x: density(shape.name, x), a, b, points=[k for k in kinks if a < k < b] or None)[0]
        for a, b in itertools.pairwise(edges)
    ]
    assert shape.true_mass(edges) == pytest.approx(areas, abs=1e-9)


@pytest.mark.parametrize(
    ("shape", "edges", "expected"),
    [
        (plateau, [0, 0.25, 0.5, 0.75, 1], [0, 0.5, 0.5, 0]),
        (plateau, [0.2, 0.3], [0.1]),
        # a quarter of a triangle's base at its foot holds 2 (1/4)^2 = 1/8 of it, and each triangle has half of all mass
        (triangles, [0, 0.125, 0.25, 0.375, 0.5], [1 / 16, 3 / 16, 3 / 16, 1 / 16]),
        (triangles, [-1, 0.5, 2], [0.5, 0.5]),
        (plateau200, [1, 51, 151, 200], [0, 1, 0]),
        (plateau200, [50.5, 51.5], [0.01]),
        (plateau200, [51, 52], [0.02]),
        (plateau200, [51, 52, 53], [0.01, 0.02]),
        (triangles200, [0.5, 1.5, 100.5, 200.5], [1 / 10_000, 0.4999, 0.5]),
    ],
)
def test_true_mass_of_hand_worked_intervals(shape, edges, expected):
    assert shape.true_mass(edges) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", REAL, ids=lambda s: s.name)
def test_samples_follow_the_distribution_function(shape):
    assert stats.kstest(values(shape, ROWS_PER_BLOCK + 4_000, seed=1), shape.cdf).pvalue > 0.001


@pytest.mark.parametrize("shape", REAL + INTEGER, ids=lambda s: s.name)
@pytest.mark.parametrize("intervals", [5, 20, 40])
def test_sample_counts_agree_with_true_mass(shape, intervals):
    rows = 100_000
    edges = np.linspace(*shape.domain, intervals + 1)
    expected = rows * shape.true_mass(edges)
    counts = np.histogram(values(shape, rows, seed=2), edges)[0]
    assert expected.sum() == pytest.approx(rows)
    assert not counts[expected == 0].any()
    assert stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 0.001


@pytest.mark.parametrize("shape", INTEGER, ids=lambda s: s.name)
def test_integer_shapes_hold_integers_from_1_to_200(shape):
    x = values(shape, 200_000, seed=3)
    assert x.dtype == np.int64
    low, high = (51, 150) if shape is plateau200 else (1, 200)
    assert low <= x.min() <= low + 5
    assert high - 5 <= x.max() <= high


@pytest.mark.parametrize(("real", "integer"), list(zip(REAL, INTEGER, strict=True)), ids=lambda s: s.name)
def test_an_integer_shape_gives_each_integer_the_mass_of_its_cell(real, integer):
    assert integer.true_mass(np.arange(201) + 0.5) == pytest.approx(real.true_mass(np.arange(201) / 200))


@pytest.mark.parametrize("shape", REAL + INTEGER, ids=lambda s: s.name)
def test_the_first_rows_do_not_depend_on_how_many_follow(shape):
    assert np.array_equal(values(shape, 100, seed=4), values(shape, ROWS_PER_BLOCK + 100, seed=4)[:100])
    assert not np.array_equal(values(shape, 100, seed=4), values(shape, 100, seed=5))


@pytest.mark.parametrize("edges", [[0.5], [0.2, 0.1], [0.1, 0.1], [[0, 1]]])
def test_edges_that_bound_no_intervals_are_refused(edges):
    with pytest.raises(UsageError, match="plateau: edges must be two or more increasing numbers"):
        plateau.true_mass(edges)
