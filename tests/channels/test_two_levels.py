"""The matrix of a law over many labels, held against the array it stands for."""

import numpy as np
import pytest

from sfumato.channels import Projective, Substitution
from sfumato.channels._operators import DENSE_LABELS, WithGap, is_implied, label_matrix, two_levels
from sfumato.channels._projective_space import ProjectiveSpace
from sfumato.counts import Grid
from sfumato.privacy import entropy_privacy, mutual_information
from sfumato.reconstruction.closed_form import gamma_of
from sfumato.reconstruction.separable import joint_em
from sfumato.schema import Attribute, Categories, Kind

SIZE = 60
RNG = np.random.default_rng(5)


def attribute(size: int = SIZE) -> Attribute:
    return Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"z{i}" for i in range(size))))


def law(name: str):
    laws = {"projective": Projective(epsilon=1.3), "substitution": Substitution(gamma=7.0)}
    return laws[name].on(attribute()) if name in laws else None


def pair(name: str):
    grid = Grid.categories(attribute().categories)
    channel = law(name)
    dense = np.eye(SIZE) if channel is None else channel.transition(grid, channel.observed_grid(grid))
    return two_levels(channel, grid), dense


LAWS = pytest.mark.parametrize("name", ["projective", "substitution", "true"])


@LAWS
def test_products_from_either_side_are_those_of_the_array(name):
    found, dense = pair(name)
    assert found.shape == dense.shape
    assert found.T.shape == dense.T.shape
    vector, table = RNG.random(SIZE), RNG.normal(size=(SIZE, 3))
    other, rows = RNG.random(len(dense)), RNG.normal(size=(4, len(dense)))
    assert np.allclose(found @ vector, dense @ vector, rtol=1e-11)
    assert np.allclose(found @ table, dense @ table, atol=1e-12)
    assert np.allclose(other @ found, other @ dense, rtol=1e-11)
    assert np.allclose(rows @ found, rows @ dense, atol=1e-12)
    assert np.allclose(found.T @ other, dense.T @ other, rtol=1e-11)
    assert np.allclose(table.T @ found.T, table.T @ dense.T, atol=1e-12)
    assert (np.zeros((0, len(dense))) @ found).shape == (0, SIZE)


@LAWS
def test_entries_lines_and_likeliest_labels_are_those_of_the_array(name):
    found, dense = pair(name)
    cells, labels = RNG.integers(0, len(dense), 50), RNG.integers(0, SIZE, 50)
    assert np.allclose(found.at(cells, labels), dense[cells, labels], rtol=1e-14)
    assert np.allclose(found.dense(cells), dense[cells], rtol=1e-14)
    assert np.allclose(found.T.dense(labels), dense.T[labels], rtol=1e-14)
    assert np.array_equal(found.rows(cells, labels), dense[np.ix_(cells, labels)] > (found.low + found.high) / 2)
    assert np.array_equal(found.argmax(axis=1), dense.argmax(axis=1))
    assert np.array_equal(found.argmax(axis=0), dense.argmax(axis=0))


@LAWS
def test_the_missing_value_is_one_more_cell_that_no_law_touches(name):
    found, dense = pair(name)
    padded = np.pad(dense, ((0, 1), (0, 1)))
    padded[-1, -1] = 1.0
    whole = WithGap(found)
    assert whole.shape == padded.shape
    right, left = RNG.random((SIZE + 1, 2)), RNG.random((2, len(padded)))
    assert np.allclose(whole @ right, padded @ right, rtol=1e-11)
    assert np.allclose(left @ whole, left @ padded, rtol=1e-11)
    assert np.allclose(whole.T @ left.T, padded.T @ left.T, rtol=1e-11)
    assert np.allclose(whole @ right[:, 0], padded @ right[:, 0], rtol=1e-11)


@LAWS
def test_information_is_that_of_the_array(name):
    found, dense = pair(name)
    prior = RNG.dirichlet(np.full(SIZE, 0.3))
    assert mutual_information(prior, found) == pytest.approx(mutual_information(prior, dense), rel=1e-9)
    widths = np.ones(SIZE)
    assert entropy_privacy(prior, found, widths) == pytest.approx(entropy_privacy(prior, dense, widths), rel=1e-9)


@LAWS
def test_em_takes_the_same_steps_through_it(name):
    found, dense = pair(name)
    counts = RNG.poisson(5.0, len(dense)).astype(float)
    assert np.allclose(joint_em([found], counts, 0.0, 20), joint_em([dense], counts, 0.0, 20), rtol=1e-8)


def test_only_k_ary_response_is_recognised_as_gamma_diagonal():
    assert gamma_of(pair("substitution")[0]) == pytest.approx(7.0)
    assert gamma_of(pair("projective")[0]) is None
    assert gamma_of(pair("true")[0]) is None


def test_few_labels_numbers_and_given_matrices_keep_their_arrays():
    assert label_matrix(None, Grid.categories(tuple(map(str, range(DENSE_LABELS))))) is None
    assert is_implied(label_matrix(None, Grid.categories(tuple(map(str, range(DENSE_LABELS + 1))))))
    assert not is_implied(np.eye(2))
    given = Substitution(matrix=((0.9, 0.2), (0.1, 0.8))).on(attribute(2))
    assert two_levels(given, Grid.categories(("a", "b"))) is None
    assert two_levels(law("substitution"), Grid.cells(0, 1, SIZE)) is None
    assert two_levels(law("substitution"), Grid.categories(("a", "b"))) is None


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
