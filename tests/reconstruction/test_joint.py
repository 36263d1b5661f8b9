"""Joint tables through separable kernels, and whole tables handed out in sorted order."""

import numpy as np
import pytest

from sfumato.channels import DenseKernel, Gaussian, Substitution, Uniform, coarsen
from sfumato.counts import Grid
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import Problem, fit_separable, reconstruct, reconstruct_dataset, reconstruct_joint
from sfumato.reconstruction.dataset import assign_in_order, jitter, round_to_total
from sfumato.reconstruction.em import iterate, smooth_axis, step_stop
from sfumato.reconstruction.joint import apply_along_axes
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Table

X = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
Y = Attribute("y", Kind.REAL, Interval(0.0, 1.0))
LABEL = Attribute("label", Kind.CATEGORICAL, Categories(("a", "b", "c")))


def words(rng, n):
    return rng.integers(0, 2**64, (n, 2), dtype=np.uint64)


def stochastic(rng, rows, columns):
    return rng.dirichlet(np.ones(rows), size=columns).T


def dense(arrays):
    return [None if array is None else DenseKernel(array) for array in arrays]


def test_contraction_is_the_kronecker_product_never_built():
    rng = np.random.default_rng(0)
    kernels = [stochastic(rng, 5, 3), stochastic(rng, 4, 4), stochastic(rng, 6, 2)]
    tensor = rng.random((3, 4, 2))
    whole = np.kron(np.kron(kernels[0], kernels[1]), kernels[2])
    np.testing.assert_allclose(apply_along_axes(dense(kernels), tensor).ravel(), whole @ tensor.ravel())
    np.testing.assert_allclose(
        apply_along_axes([DenseKernel(kernels[0]), None, None], tensor), np.einsum("ai,ijk->ajk", kernels[0], tensor)
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.05])
def test_joint_em_is_em_on_the_flattened_table(smoothing):
    rng = np.random.default_rng(1)
    kernels = [stochastic(rng, 5, 3), stochastic(rng, 4, 2)]
    counts = rng.integers(0, 50, (5, 4)).astype(float)
    mass = np.full((3, 2), 1 / 6)
    whole = Problem.of(np.kron(*kernels), counts.ravel())
    for _ in range(20):
        mass = iterate(whole, step_stop(0.0), method="step", start=mass.ravel(), most=1).mass.reshape(3, 2)
        for axis in (0, 1):
            mass = smooth_axis(mass, smoothing, axis)
    np.testing.assert_allclose(fit_separable(dense(kernels), counts, smoothing, 20).mass, mass, rtol=1e-10)


def test_the_likelihood_of_joint_em_never_decreases():
    rng = np.random.default_rng(2)
    kernels = [stochastic(rng, 9, 6), stochastic(rng, 8, 5), None]
    fit = fit_separable(dense(kernels), rng.integers(0, 20, (9, 8, 3)).astype(float), 0.0, 200)
    assert len(fit.trail) == 201
    assert (np.diff(fit.trail) >= -1e-9).all()


def test_smoothing_keeps_the_total_and_the_uniform_distribution():
    rng = np.random.default_rng(3)
    mass = rng.dirichlet(np.ones(12)).reshape(3, 4)
    for axis in (0, 1):
        assert smooth_axis(mass, 0.3, axis).sum() == pytest.approx(1)
        np.testing.assert_allclose(smooth_axis(np.full((3, 4), 1 / 12), 0.3, axis), 1 / 12)
    # By hand: (1−s) P + s × mean of neighbours, the end cell its own neighbour.
    np.testing.assert_allclose(smooth_axis(np.array([0.6, 0.3, 0.1]), 0.2, 0), [0.57, 0.31, 0.12])


def test_kernels_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="2 kernels"):
        fit_separable(dense([np.eye(2), np.eye(2)]), np.ones(2))
    with pytest.raises(UsageError, match="axis 1"):
        fit_separable(dense([np.eye(2), np.eye(3)]), np.ones((2, 2)))
    with pytest.raises(UsageError, match="smoothing"):
        fit_separable(dense([np.eye(2)]), np.ones(2), [0.1, 0.1])


def blurred_pair(n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    y = np.where(rng.random(n) < 0.5, x, 1 - x)  # an X: both marginals are uniform, all structure is joint
    gaussian, uniform = Gaussian(sigma=0.08).on(X), Uniform(alpha=0.1).on(Y)
    label = (np.abs(x - 0.5) * 5.999).astype(int).astype(float)
    substitution = Substitution(gamma=10.0).on(LABEL)
    columns = (
        Column(X, gaussian, gaussian.sample(x, words(rng, n))),
        Column(Y, uniform, uniform.sample(y, words(rng, n))),
        Column(LABEL, substitution, substitution.sample(label, words(rng, n))),
    )
    return x, y, label, Table(columns, Column.of_codes("class", ("low", "high"), (x > 0.5).astype(np.int64)))


def test_dependence_that_no_marginal_shows_is_found():
    x, y, _, table = blurred_pair()
    found = reconstruct_joint(table, ["x", "y"], bins=10)
    truth = np.histogram2d(x, y, bins=10, range=[[0, 1], [0, 1]])[0] / len(x)
    product = np.outer(truth.sum(1), truth.sum(0))
    assert np.abs(found.mass - truth).sum() < 0.4 * np.abs(product - truth).sum()
    np.testing.assert_allclose(found.marginal("x"), found.mass.sum(axis=1))
    np.testing.assert_allclose(found.marginal("y", "x"), found.mass.T)


def test_any_mix_of_laws_will_do_also_values_released_as_true():
    x, _, label, table = blurred_pair()
    clear = Column(Attribute("half", Kind.CATEGORICAL, Categories(("l", "h"))), None, (x > 0.5).astype(float))
    found = reconstruct_joint(Table((*table.columns, clear)), ["x", "label", "half"], bins=10)
    assert found.mass.shape == (10, 3, 2)
    truth = np.bincount(label.astype(int), minlength=3) / len(label)
    np.testing.assert_allclose(found.marginal("label"), truth, atol=0.03)
    assert found.mass[:4, :, 1].sum() < 0.05
    assert found.to_dict()["axes"][1] == {"name": "label", "categories": ["a", "b", "c"]}


def test_joint_by_class_divides_the_rows():
    _, _, _, table = blurred_pair()
    found = reconstruct_joint(table, ["x", "y"], bins={"x": 8, "y": 6}, by_class=True, iterations=50)
    assert set(found) == {"low", "high"}
    assert found["low"].mass.shape == (8, 6)
    assert found["low"].n + found["high"].n == 40_000
    assert found["low"].marginal("x")[:4].sum() > 0.9


def test_joint_requests_that_make_no_sense_are_refused():
    _, _, _, table = blurred_pair(n=100)
    with pytest.raises(UsageError, match="different attributes"):
        reconstruct_joint(table, ["x", "x"])
    with pytest.raises(UsageError, match="no class"):
        reconstruct_joint(Table(table.columns), ["x"], by_class=True)
    empty = Column(X, None, np.full(3, np.nan))
    with pytest.raises(DataError, match="no row"):
        reconstruct_joint(Table((empty,)), ["x"])


def test_coarser_grids_cover_everything_with_few_cells():
    law = Gaussian(sigma=0.25).on(X)
    grid = law.observed_grid(Grid.cells(0, 1, 52))
    rng = np.random.default_rng(0)
    column = Column(X, law, law.sample(rng.random(5000), words(rng, 5000)))
    coarse = coarsen(grid, column.values, 64, keep_last_cut=True)
    assert coarse.size <= 64 < grid.size
    assert np.isinf(coarse.points[[0, -1]]).all()
    assert np.isin(coarse.points, grid.points).all()


@pytest.mark.parametrize("n", [1, 7, 100, 12_345])
def test_whole_counts_sum_to_n_and_stay_within_one_of_their_share(n):
    mass = np.random.default_rng(n).dirichlet(np.ones(13))
    counts = round_to_total(mass, n)
    assert counts.sum() == n
    assert (np.abs(counts - n * mass) < 1).all()


def test_largest_remainders_by_hand():
    assert round_to_total(np.array([0.45, 0.35, 0.2]), 4).tolist() == [2, 1, 1]


def test_values_are_handed_out_in_sorted_order():
    cells = assign_in_order(np.array([5.0, 1.0, 3.0, 9.0]), np.array([0.5, 0.25, 0.25]), np.zeros(4))
    assert cells.tolist() == [1, 0, 0, 2]


def test_ties_are_not_broken_by_row_order():
    # All released values are equal, half of them must become each value; the first rows get no preference.
    cells = assign_in_order(np.zeros(10_000), np.array([0.5, 0.5]), jitter("x", 10_000))
    assert abs(cells[:5000].mean() - 0.5) < 5 * 0.5 / np.sqrt(5000)
    assert jitter("x", 5).tolist() == jitter("x", 5).tolist()
    assert jitter("x", 5).tolist() != jitter("y", 5).tolist()


def test_the_reconstructed_table_has_exactly_the_estimated_counts():
    rng = np.random.default_rng(0)
    n = 5000
    age = Attribute("age", Kind.INTEGER, Interval(20, 80))
    first, second = Substitution(gamma=9.0).on(LABEL), Substitution(gamma=9.0, bins=12).on(age)
    label, years = rng.choice(3, n, p=[0.6, 0.3, 0.1]).astype(float), np.round(rng.normal(45, 8, n).clip(20, 80))
    columns = (
        Column(LABEL, first, first.sample(label, words(rng, n))),
        Column(age, second, np.concatenate([second.sample(years[1:], words(rng, n - 1)), [np.nan]])),
        Column(X, None, rng.random(n)),
    )
    table = Table(columns)
    whole = reconstruct_dataset(table)
    for name in ("label", "age"):
        assert whole[name].channel is None
        estimate = reconstruct(table[name])
        values = whole[name].values[~np.isnan(whole[name].values)]
        got = np.bincount(estimate.grid.locate(values), minlength=estimate.grid.size)
        np.testing.assert_array_equal(got, round_to_total(estimate.mass, len(values)))
    assert np.isnan(whole["age"].values[-1])
    assert whole["x"] is columns[2]
    # Sorted assignment never turns the order of two released values round.
    order = np.argsort(table["age"].values[:-1], kind="stable")
    assert (np.diff(whole["age"].values[order]) >= 0).mean() > 0.5
    released, given = table["age"].values[:-1], whole["age"].values[:-1]
    for low, high in zip(np.unique(released), np.unique(released)[1:], strict=False):
        assert given[released == low].max() <= given[released == high].min()


def test_handing_out_by_class_keeps_classes_apart():
    _, _, _, table = blurred_pair(n=4000)
    whole = reconstruct_dataset(table, ["x"], by_class=True, bins=20)
    low = whole["x"].values[table.codes == 0]
    assert low.mean() == pytest.approx(0.25, abs=0.03)
    assert whole["y"] is table["y"]
    with pytest.raises(UsageError, match="no class"):
        reconstruct_dataset(Table(table.columns), by_class=True)
