"""The strategy mixture: products fitted through the noise, and a tree on records drawn from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support import mined_tables as tables

from sfumato.channels import Gaussian, Substitution, Uniform
from sfumato.reconstruction import smooth_axis
from sfumato.table import Table
from sfumato.trees.grow import MDL
from sfumato.trees.strategies.base import Axis, marginal, reconstruct_axis
from sfumato.trees.strategies.mixture import draft_mixture, fit_mixture
from sfumato.trees.strategies.products import (
    Indicators,
    Products,
    _passes,
    fit_mixtures,
    fit_products,
    normalise,
    tilt_exponentially,
)

truth, released, bands = tables.truth, tables.released, tables.bands

NOISE = {"x": Gaussian(privacy=1.0), "y": Gaussian(privacy=1.0), "junk": Uniform(privacy=1.0)}


@pytest.fixture(scope="module")
def banded():
    columns = truth(20_000, 1)
    return released(columns, bands(columns), NOISE)


def axes_of(table, names=("x", "y"), cells=12, bins=16):
    axes = [Axis.of(table[name], cells, bins) for name in names]
    return axes, [axis.codes(table) for axis in axes]


def random_products(axes, components, seed):
    rng = np.random.default_rng(seed)
    rows = tuple(rng.dirichlet(np.ones(axis.size), components) for axis in axes)
    return Products(rng.dirichlet(np.ones(components)), rows)


def test_the_likelihood_never_decreases_without_smoothing(banded):
    axes, codes = axes_of(banded.take(np.arange(2000)))
    seen = Indicators.of(axes, codes)
    model = random_products(axes, 3, 0)
    trail = []
    for _ in range(15):
        trail.append(float(normalise(seen.joint_log(model))[1].astype(np.float64).sum()))
        model = _passes(seen, model, 1, 0.0)
    assert np.diff(trail).min() > -0.05  # float32 sums of 2000 terms near -5
    assert trail[-1] > trail[0] + 10


def test_joint_log_is_the_sum_written_out(banded):
    part = banded.take(np.arange(40))
    axes, codes = axes_of(part)
    codes[0] = np.where(np.arange(40) % 7 == 0, -1, codes[0])
    model = random_products(axes, 4, 1)
    found = model.joint_log(axes, codes)
    for row in range(40):
        for k in range(4):
            expected = np.log(model.weights[k])
            for axis, table, code in zip(axes, model.tables, codes, strict=True):
                if code[row] >= 0:
                    expected += np.log(axis.kernel.dense()[code[row]] @ table[k])
            assert found[row, k] == pytest.approx(expected, abs=1e-4)


def test_cell_density_is_the_sum_written_out(banded):
    axes, _ = axes_of(banded)
    model = random_products(axes, 3, 2)
    cells = [np.array([0, 3, 11]), np.array([5, 5, 0])]
    for i in range(3):
        terms = [model.weights[k] * model.tables[0][k, cells[0][i]] * model.tables[1][k, cells[1][i]] for k in range(3)]
        assert model.cell_density(cells)[i] == pytest.approx(sum(terms))


def test_drawn_records_follow_the_mixture(banded):
    axes, _ = axes_of(banded, cells=4)
    model = random_products(axes, 3, 3)
    cells = model.sample(50_000, np.random.default_rng(4))
    counts = np.bincount(cells[0] * 4 + cells[1], minlength=16)
    places = np.divmod(np.arange(16), 4)
    expected = 50_000 * model.cell_density(list(places))
    # The 1 - 1e-5 quantile of chi-squared with 15 degrees of freedom is 50.5.
    assert ((counts - expected) ** 2 / expected).sum() < 50.5


def test_smoothing_keeps_the_total_and_the_missing_cell(banded):
    column = banded.take(np.arange(500))["x"]
    holes = replace(column, values=np.where(np.arange(500) % 5 == 0, np.nan, column.values))
    axis = Axis.of(holes, 12, 16)
    assert axis.gaps
    counts = np.bincount(axis.codes(Table((holes,))), minlength=axis.kernel.shape[0])[None, :].astype(float)
    start = np.full((1, axis.size), 1 / axis.size)
    plain, smooth = (reconstruct_axis(axis, counts, start, 1, strength) for strength in (0.0, 0.3))
    np.testing.assert_allclose(smooth.sum(axis=1), 1.0)
    np.testing.assert_array_equal(smooth[:, -1], plain[:, -1])
    assert plain[0, -1] == pytest.approx(0.2, abs=1e-6)
    np.testing.assert_array_equal(smooth[:, :-1], smooth_axis(plain[:, :-1], 0.3, 1))


def test_one_component_is_the_reconstruction_of_each_attribute(banded):
    axes, codes = axes_of(banded)
    shared = [marginal(axis, code) for axis, code in zip(axes, codes, strict=True)]
    model = fit_products(axes, codes, shared, 1, np.random.default_rng(0), passes=(0, 20), strength=0.02)
    # Sixty steps to start from, and three in each of twenty passes.
    alone = marginal(axes[0], codes[0], steps=120)
    np.testing.assert_allclose(model.tables[0], alone, atol=1e-4)


def test_a_start_is_a_distribution_for_every_component():
    base = np.full((1, 9), 1 / 9)
    for ordered in (True, False):
        start = tilt_exponentially(base, 5, ordered, np.random.default_rng(6))
        assert start.shape == (5, 9)
        np.testing.assert_allclose(start.sum(axis=1), 1.0)
        assert np.ptp(start, axis=0).min() > 0


def test_a_union_weighs_its_parts(banded):
    axes, _ = axes_of(banded)
    one, two = random_products(axes, 2, 7), random_products(axes, 3, 8)
    cells = [np.array([1, 2]), np.array([3, 4])]
    both = Products.union([one, two], [0.25, 0.75])
    expected = 0.25 * one.cell_density(cells) + 0.75 * two.cell_density(cells)
    np.testing.assert_allclose(both.cell_density(cells), expected)


def test_mixture_sees_an_interaction_through_the_noise(banded):
    fresh = truth(4000, 2)
    fitted = fit_mixture(banded)
    assert fitted.notes["attributes"] == ["x", "y"]
    assert fitted.tree.accuracy(released(fresh, bands(fresh), {}), bands(fresh)) > 0.84


def test_the_same_seed_gives_the_same_tree(banded):
    part = banded.take(np.arange(5000))
    one = fit_mixture(part, seed=1, attributes=("x", "y"))
    two = fit_mixture(part, seed=1, attributes=("x", "y"))
    assert one.tree == two.tree


def test_trees_weigh_as_much_as_the_release_has_records(banded):
    part = banded.take(np.arange(3000))
    tree = draft_mixture(part, attributes=("x", "y")).cut(MDL())
    assert tree.nodes[0].total == pytest.approx(3000)


def test_few_records_get_few_components_and_missing_values_a_cell():
    columns = truth(900, 3)
    classes = (columns["x"] > 0.4).astype(np.int64)
    columns["x"][::9] = np.nan
    noise = {"x": Gaussian(privacy=0.5), "colour": Substitution(signal=0.5)}
    models = fit_mixtures(released(columns, classes, noise), ("x", "colour"))
    # One component for 200 records; from two starts where there is more than one.
    sizes = [n // 200 * (2 if n >= 400 else 1) for n in np.bincount(classes)]
    assert [model.size for model in models.models] == sizes
    assert models.axes[0].gaps
    for model in models.models:
        assert model.tables[0][:, -1] @ model.weights == pytest.approx(1 / 9, abs=0.04)


def test_without_attributes_only_the_shares_are_known(banded):
    part = banded.take(np.arange(500))
    fitted = fit_mixture(part, attributes=())
    assert fitted.tree.leaves == 1
    np.testing.assert_allclose(fitted.tree.nodes[0].total, 500)
