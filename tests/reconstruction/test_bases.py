"""The cells a column is solved in: whole lattice points, stretched scales, atoms; and which of them is chosen."""

import numpy as np
import pytest

from sfumato.channels import Gaussian, Transition, Uniform
from sfumato.counts import Grid
from sfumato.reconstruction import reconstruct
from sfumato.reconstruction.bases import Basis, Lattice, cell_kernel, join_narrow, share_cells
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

AGE = Attribute("age", Kind.INTEGER, Interval(17, 90))
MONEY = Attribute("money", Kind.INTEGER, Interval(0, 100_000))
PRICE = Attribute("price", Kind.REAL, Interval(0.0, 9.9), resolution=0.1)
UNIT = Attribute("x", Kind.REAL, Interval(0.0, 1.0))


def released(attribute, law, values, seed=0):
    channel = law.on(attribute)
    words = np.random.default_rng(seed).integers(0, 2**64, (len(values), 2), dtype=np.uint64)
    return Column(attribute, channel, channel.sample(values, words))


@pytest.mark.parametrize(("attribute", "cells"), [(AGE, 50), (AGE, 10), (MONEY, 100), (PRICE, 33)], ids=str)
def test_even_cells_hold_the_same_number_of_lattice_points(attribute, cells):
    lattice = Lattice.of(attribute)
    edges = lattice.even_edges(cells)
    points = np.round(np.diff(edges) / lattice.step)
    assert len(edges) - 1 <= cells
    assert len(set(points[:-1])) == 1
    assert points[-1] <= points[0]
    assert points.sum() == lattice.size


def test_even_cells_are_as_wide_as_asked():
    assert np.diff(Lattice.of(AGE).even_edges(50, min_width=3.5))[0] == 4
    assert len(Lattice.of(UNIT).even_edges(50, min_width=0.11)) == 10


@pytest.mark.parametrize("anchor", [0.0, 100_000.0, 50_000.0])
def test_stretched_cells_are_narrow_at_the_anchor_and_wide_far_from_it(anchor):
    lattice = Lattice.of(MONEY)
    edges = lattice.stretched_edges(anchor, 60)
    widths, centres = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    assert (widths >= 1).all()
    assert (edges[0], edges[-1]) == lattice.ends
    near, far = widths[np.argmin(np.abs(centres - anchor))], widths[np.argmax(np.abs(centres - anchor))]
    assert far > 20 * near


def test_shared_cells_spread_whole_cells():
    edges, others = np.array([0.0, 0.5, 1.0, 4.0]), np.array([0.0, 1.0, 2.0, 4.0])
    spread = share_cells(edges, others)
    np.testing.assert_allclose(spread.sum(axis=0), 1)
    np.testing.assert_allclose(spread, [[0.5, 0, 0], [0.5, 0, 0], [0, 1, 1]])


def test_narrow_cells_are_joined():
    np.testing.assert_array_equal(join_narrow(np.array([0.0, 0.1, 0.2, 1.0, 2.0, 2.1]), 0.5), [0, 1.0, 2.1])


def test_the_kernel_of_a_cell_is_the_mean_over_its_lattice_points():
    law = Gaussian(sigma=1.0).on(AGE)
    lattice = Lattice.of(AGE)
    edges = lattice.even_edges(37)
    observed = law.observed_grid(Grid(edges=edges, step=1.0))
    kernel = cell_kernel(law, edges, lattice, observed)
    pair = Transition.of(law, Grid(atoms=np.array([17.0, 18.0])), observed).matrix.dense().mean(axis=1)
    np.testing.assert_allclose(kernel[:, 0], pair, atol=1e-12)
    np.testing.assert_allclose(kernel.sum(axis=0), 1)


def test_a_basis_of_many_cells_joins_them_in_blocks():
    widths = np.arange(1.0, 251.0)
    basis = Basis.of_cells(widths, 112)
    assert len(basis.widths) == 84
    np.testing.assert_allclose(basis.spread.sum(axis=0), 1)
    np.testing.assert_allclose(basis.spread[:3, 0], [1 / 6, 2 / 6, 3 / 6])
    np.testing.assert_allclose(basis.widths[:2], [6, 15])


def test_a_long_tail_chooses_the_stretched_scale():
    values = np.minimum(np.random.default_rng(0).lognormal(7, 1, 20_000), 100_000).round()
    found = reconstruct(released(MONEY, Gaussian(privacy=0.5), values))
    assert found.chosen["scale"] == "stretched"
    assert found.chosen["anchor"] == 0
    assert "narrow body near 0" in found.chosen["why"]
    widths = np.diff(found.grid.edges)
    assert widths[-1] > 3 * widths[0]
    assert (widths >= found.source.resolution).all()  # nothing is reported that the noise hides


def test_a_value_that_many_share_is_an_atom():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(30_000) < 0.5, 40.0, rng.integers(17, 91, 30_000))
    found = reconstruct(released(AGE, Uniform(privacy=0.5), values))
    largest = max(found.chosen["atoms"], key=lambda atom: atom["share"])
    assert abs(largest["value"] - 40) <= 1
    assert largest["share"] == pytest.approx(0.5, abs=0.1)
    assert found.share(39, 41) == pytest.approx(np.mean(np.abs(values - 40) <= 1), abs=0.06)


def test_rows_at_both_ends_of_a_domain_are_atoms():
    """Weeks worked in a year: most people have 0 or 52, and noise once spread them out."""
    rng = np.random.default_rng(4)
    weeks = Attribute("weeks", Kind.INTEGER, Interval(0, 52))
    values = rng.choice([0.0, 52.0, -1.0], 500, p=[0.5, 0.35, 0.15])
    values = np.where(values < 0, rng.integers(0, 53, 500), values)
    found = reconstruct(released(weeks, Gaussian(privacy=0.5), values))
    assert [atom["value"] for atom in found.chosen["atoms"]] == [0, 52]
    for end in (0, 52):
        assert found.share(end, end) == pytest.approx(np.mean(values == end), abs=0.15)


def test_no_edge_cuts_through_a_crowd():
    """Four of five people at 0.22, on both sides of an edge at 0.2 as far as noise lets see: one cell holds them."""
    rng = np.random.default_rng(5)
    values = np.where(rng.random(1_000) < 0.8, 0.22, rng.random(1_000))
    found = reconstruct(released(UNIT, Uniform(privacy=1.0), values))
    assert "joined" in found.chosen
    held = found.grid.locate(np.array([0.22]))[0]
    truth = np.mean((values >= found.grid.edges[held]) & (values < found.grid.edges[held + 1]))
    assert found.lower[held] <= truth <= found.upper[held]


def test_up_to_four_values_are_not_smoothed():
    codes = Attribute("code", Kind.INTEGER, Interval(1, 4))
    values = np.random.default_rng(6).choice([1.0, 2.0, 3.0, 4.0], 20_000, p=[0.05, 0.6, 0.05, 0.3])
    column = released(codes, Gaussian(privacy=0.5), values)
    np.testing.assert_allclose(reconstruct(column).mass, reconstruct(column, method="em").mass, atol=0.003)


def test_a_smooth_column_has_no_atoms_and_an_even_scale():
    values = np.random.default_rng(2).normal(50, 8, 20_000).round().clip(17, 90)
    found = reconstruct(released(AGE, Gaussian(privacy=0.5), values))
    assert found.chosen["scale"] == "even"
    assert "atoms" not in found.chosen


@pytest.mark.parametrize("rows", [500, 5_000])
def test_cells_of_ages_never_alternate(rows):
    """Fifty cells of 74 ages once held one age and two in turn, and the masses with them."""
    values = np.random.default_rng(3).normal(45, 12, rows).round().clip(17, 90)
    grid = reconstruct(released(AGE, Gaussian(privacy=0.5), values)).grid
    assert grid.atoms is not None or len(set(np.diff(grid.edges)[:-1])) == 1
