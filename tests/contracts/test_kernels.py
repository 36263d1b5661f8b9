"""Every kernel against the array it stands for."""

import numpy as np
import pytest

from sfumato.channels import DenseKernel, Projective, Substitution, Transition, with_missing
from sfumato.channels import transition as transitions
from sfumato.channels.projective import ProjectiveSpace
from sfumato.channels.transition import MAX_DENSE_LABELS, TwoLevels, WithMissing, label_operator
from sfumato.counts import Grid
from sfumato.privacy import mutual_information
from sfumato.reconstruction.closed_form import gamma_of
from sfumato.reconstruction.joint import ProductKernel, fit_separable
from sfumato.schema import Attribute, Categories, Kind

SIZE = 60
RNG = np.random.default_rng(5)


def attribute(size: int = SIZE) -> Attribute:
    return Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"z{i}" for i in range(size))))


def law(name: str):
    laws = {"projective": Projective(epsilon=1.3), "substitution": Substitution(gamma=7.0)}
    return laws[name].on(attribute()) if name in laws else None


def pair(name: str):
    """An operator and its array, made by the law itself."""
    grid = Grid.categories(attribute().categories)
    return label_operator(law(name), grid), Transition.of(law(name), grid).matrix.dense()


LAWS = pytest.mark.parametrize("name", ["projective", "substitution", "true"])


def padded(array):
    out = np.pad(array, ((0, 1), (0, 1)))
    out[-1, -1] = 1.0
    return out


def every_kernel():
    """Each kind of kernel with the array that it stands for, computed in another way."""
    array = RNG.dirichlet(np.ones(7), size=5).T
    other = RNG.dirichlet(np.ones(4), size=3).T
    yield "dense", DenseKernel(array), array
    yield "transposed", DenseKernel(array).T, array.T
    yield "dense with missing", with_missing(DenseKernel(array)), padded(array)
    for name in ("projective", "substitution", "true"):
        operator, dense = pair(name)
        yield name, operator, dense
        yield f"{name} transposed", operator.T, dense.T
        yield f"{name} with missing", with_missing(operator), padded(dense)
        yield f"{name} with missing, transposed", with_missing(operator).T, padded(dense).T
    product = ProductKernel((DenseKernel(array), None, DenseKernel(other)), (7, 2, 4))
    whole = np.kron(np.kron(array, np.eye(2)), other)
    yield "product", product, whole
    yield "product transposed", product.T, whole.T


KERNELS = {name: (kernel, dense) for name, kernel, dense in every_kernel()}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_agrees_with_its_array_in_products_from_either_side(name):
    kernel, dense = KERNELS[name]
    rows, columns = dense.shape
    assert kernel.shape == (rows, columns)
    assert kernel.T.shape == (columns, rows)
    right, table = RNG.random(columns), RNG.normal(size=(columns, 3))
    left, lines = RNG.random(rows), RNG.normal(size=(4, rows))
    np.testing.assert_allclose(kernel @ right, dense @ right, rtol=1e-11)
    np.testing.assert_allclose(kernel @ table, dense @ table, atol=1e-12)
    np.testing.assert_allclose(left @ kernel, left @ dense, rtol=1e-11)
    np.testing.assert_allclose(lines @ kernel, lines @ dense, atol=1e-12)
    np.testing.assert_allclose(kernel.T @ left, dense.T @ left, rtol=1e-11)
    np.testing.assert_allclose(right @ kernel.T, dense @ right, rtol=1e-11)
    np.testing.assert_allclose(table.T @ kernel.T, table.T @ dense.T, atol=1e-12)
    for product in (kernel @ right, kernel @ table, left @ kernel, lines @ kernel):
        assert type(product) is np.ndarray


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_agrees_with_its_array_in_rows_entries_and_likeliest_cells(name):
    kernel, dense = KERNELS[name]
    codes, cells = (RNG.integers(0, size, 50) for size in dense.shape)
    np.testing.assert_allclose(kernel.rows(codes), dense[codes], rtol=1e-14)
    np.testing.assert_allclose(kernel.at(codes, cells), dense[codes, cells], rtol=1e-14)
    np.testing.assert_allclose(kernel.dense(), dense, rtol=1e-14)
    np.testing.assert_allclose(kernel.T.dense(), dense.T, rtol=1e-14)
    np.testing.assert_array_equal(kernel.likeliest(), dense.argmax(axis=1))


@LAWS
def test_what_is_inside_a_set_has_the_higher_level(name):
    found, dense = pair(name)
    cells, labels = RNG.integers(0, len(dense), 50), RNG.integers(0, SIZE, 50)
    assert np.array_equal(found.inside(cells, labels), dense[np.ix_(cells, labels)] > (found.low + found.high) / 2)
    assert (np.zeros((0, len(dense))) @ found).shape == (0, SIZE)


@LAWS
def test_information_is_that_of_the_array(name):
    found, dense = pair(name)
    prior = RNG.dirichlet(np.full(SIZE, 0.3))
    assert mutual_information(prior, found) == pytest.approx(mutual_information(prior, dense), rel=1e-9)


@LAWS
def test_em_takes_the_same_steps_through_it(name):
    found, dense = pair(name)
    counts = RNG.poisson(5.0, len(dense)).astype(float)
    masses = [fit_separable([k], counts, 0.0, 20).mass for k in (found, DenseKernel(dense))]
    assert np.allclose(*masses, rtol=1e-8)


def test_only_k_ary_response_is_recognised_as_gamma_diagonal():
    assert gamma_of(pair("substitution")[0]) == pytest.approx(7.0)
    assert gamma_of(pair("projective")[0]) is None
    assert gamma_of(pair("true")[0]) is None


def test_few_labels_numbers_and_given_matrices_keep_their_arrays():
    few, many = (Grid.categories(tuple(map(str, range(MAX_DENSE_LABELS + more)))) for more in (0, 1))
    assert isinstance(Transition.of(None, few).matrix, DenseKernel)
    assert isinstance(Transition.of(None, many).matrix, TwoLevels)
    assert isinstance(with_missing(Transition.of(None, many).matrix), WithMissing)
    given = Substitution(matrix=((0.9, 0.2), (0.1, 0.8))).on(attribute(2))
    assert label_operator(given, Grid.categories(("a", "b"))) is None
    assert label_operator(law("substitution"), Grid.cells(0, 1, SIZE)) is None
    assert label_operator(law("substitution"), Grid.categories(("a", "b"))) is None


@LAWS
def test_a_transition_is_the_same_whichever_kernel_it_holds(name, monkeypatch):
    grid = Grid.categories(attribute().categories)
    dense = Transition.of(law(name), grid)
    monkeypatch.setattr(transitions, "MAX_DENSE_LABELS", 10)
    implied = Transition.of(law(name), grid)
    assert isinstance(implied.matrix, TwoLevels)
    assert implied.true is dense.true is grid
    assert np.array_equal(implied.observed.points, dense.observed.points)
    np.testing.assert_allclose(implied.matrix.dense(), dense.matrix.dense(), rtol=1e-12)


def test_points_are_orthogonal_where_the_product_is_a_multiple_of_the_prime():
    space = law("projective").space
    first, second = RNG.integers(0, space.size, 30), RNG.integers(0, space.size, 40)
    products = space.points[first] @ space.points[second].T
    assert np.array_equal(space.orthogonal(first, second), products % space.order == 0)


@pytest.mark.parametrize(("order", "dimension"), [(2, 3), (2, 6), (3, 4), (5, 3), (7, 4), (13, 3)])
def test_quick_hits_are_the_sums_over_the_sets(order, dimension):
    space = ProjectiveSpace(order, dimension)
    amounts = RNG.normal(size=space.size)
    assert np.allclose(space.quick_hits(amounts), space.incidence(space.size).T @ amounts, atol=1e-10)
