"""Grids: where a value lies, however it is found."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.counts import Counts, Grid


@pytest.mark.parametrize(("first", "size"), [(0, 5), (-3, 7), (40, 1), (0, 1000)])
def test_codes_are_found_by_rounding_where_a_search_would_find_them(first, size):
    grid = Grid(atoms=first + np.arange(size, dtype=np.float64))
    near = np.random.default_rng(0).uniform(first - 3, first + size + 3, 20_000).round(2)
    values = np.concatenate([near, [np.nan, np.inf, -np.inf], first + np.arange(size) + 0.5])
    assert np.array_equal(grid.locate(values), np.searchsorted(grid.thresholds, values, side="right"))


@pytest.mark.parametrize("atoms", [[0.0, 2.0, 3.0], [0.5, 1.5, 2.5], [0.0, 0.5, 1.0]])
def test_other_atoms_are_searched_for(atoms):
    grid = Grid(atoms=np.array(atoms))
    values = np.linspace(-1, 4, 501)
    nearest = np.abs(values[:, None] - np.array(atoms) + 1e-9).argmin(axis=1)
    assert np.array_equal(grid.locate(values), nearest)


def test_rows_with_a_missing_code_are_left_out_of_a_table_and_the_codes_are_not_changed():
    grids = [Grid(atoms=np.arange(3.0)), Grid(atoms=np.arange(2.0))]
    first, second = np.array([0, 1, -1, 2, 2]), np.array([0, -1, 1, 1, 1])
    assert Counts.of(grids, [first, second]).table.tolist() == [[1, 0], [0, 0], [0, 2]]
    assert Counts.of(grids[:1], [first]).table.tolist() == [1, 1, 2]
    assert first.tolist() == [0, 1, -1, 2, 2]
