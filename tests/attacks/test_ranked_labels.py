"""Posteriors over many labels, found by rank, held against the whole array of them."""

import numpy as np
import pytest

from sfumato.attacks._belief import CONFIDENCE, RankedLabels, smallest_sets
from sfumato.attacks.base import RankedSets, Sets
from sfumato.auditing.score import DOUBT, honest_widths
from sfumato.channels import Projective, Substitution
from sfumato.channels import transition as operators
from sfumato.channels.transition import label_operator
from sfumato.counts import Grid
from sfumato.schema import Attribute, Categories, Kind

SIZE = 70


def laws():
    attribute = Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"z{i}" for i in range(SIZE))))
    return {
        "projective": Projective(epsilon=1.3).on(attribute),
        "sharp projective": Projective(epsilon=4.0).on(attribute),
        "substitution": Substitution(gamma=9.3).on(attribute),
        "sharp substitution": Substitution(gamma=2000.7).on(attribute),
    }


def priors():
    rng = np.random.default_rng(3)
    uneven = rng.dirichlet(np.full(SIZE, 0.4))
    sparse = np.where(rng.random(SIZE) < 0.6, 0.0, uneven)
    counted = rng.integers(0, 4, SIZE).astype(float)
    return {
        "uneven": uneven,
        "sparse": sparse / sparse.sum(),
        "equal": np.full(SIZE, 1 / SIZE),
        "counted": counted / counted.sum(),
        "certain": np.eye(SIZE)[4],
    }


@pytest.fixture(params=list(laws()))
def law(request):
    return laws()[request.param]


@pytest.fixture(params=list(priors()))
def ranked(request, law, monkeypatch):
    monkeypatch.setattr(operators, "MAX_CELLS_AT_ONCE", 5 * SIZE)  # many parts, the last one shorter
    return RankedLabels(label_operator(law, Grid.categories(tuple(map(str, range(SIZE))))), priors()[request.param])


def whole(ranked: RankedLabels):
    return ranked.dense(np.arange(ranked.kernel.shape[0]))


def test_dense_posteriors_are_bayes_rule(law, ranked):
    grid = Grid.categories(tuple(map(str, range(SIZE))))
    joint = law.transition(grid, law.observed_grid(grid)) * ranked.prior
    assert np.allclose(whole(ranked), joint / joint.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("level", [0.2, 0.95, 0.9999])
def test_guesses_and_set_sizes_are_those_of_the_whole_posterior(ranked, level):
    posterior = whole(ranked)
    picks, widths = ranked.guesses(np.arange(len(posterior)), level)
    assert np.allclose(posterior[np.arange(len(picks)), picks], posterior.max(axis=1), rtol=1e-12)
    assert np.allclose(widths, smallest_sets(posterior, np.ones(SIZE), level).sum(axis=1), atol=1e-7)


def test_guesses_are_the_first_of_the_likeliest(ranked):
    posterior = whole(ranked)
    picks, _ = ranked.guesses(np.arange(len(posterior)), 0.5)
    first = np.argmax(posterior >= posterior.max(axis=1, keepdims=True) * (1 - 1e-12), axis=1)
    assert np.array_equal(picks, first)


@pytest.mark.parametrize("doubt", [0.0, DOUBT, 0.3])
def test_what_stands_before_a_label_is_what_the_whole_order_says(ranked, doubt):
    doubted = RankedLabels(ranked.kernel, ranked.prior, doubt)
    cells, labels = (a.ravel() for a in np.meshgrid(np.arange(ranked.kernel.shape[0]), np.arange(SIZE)))
    before, own = doubted.places(cells, labels)
    mass = (1 - doubt) * whole(ranked) + doubt / SIZE
    assert np.allclose(own, mass[cells, labels], rtol=1e-9)
    # Among labels of equal mass any order will do, so only the ends of their run are known.
    larger = (mass[cells] * (mass[cells] > own[:, None] * (1 + 1e-9))).sum(axis=1)
    not_less = (mass[cells] * (mass[cells] >= own[:, None] * (1 - 1e-9))).sum(axis=1)
    assert (before >= larger - 1e-9).all()
    assert (before <= not_less - own + 1e-9).all()


def test_sets_of_two_kinds_claim_the_same(law, ranked):
    rng = np.random.default_rng(8)
    grid = Grid.categories(tuple(map(str, range(SIZE))))
    truth = rng.choice(SIZE, 400, p=ranked.prior).astype(float)
    truth[:7] = np.nan
    codes = rng.integers(-1, ranked.kernel.shape[0], 400)
    posterior = whole(ranked)
    credit = smallest_sets(posterior, np.ones(SIZE))
    dense, found = Sets(grid, credit, codes, posterior), RankedSets(grid, ranked, codes)
    assert np.array_equal(np.isnan(found.covers(truth)), np.isnan(dense.covers(truth)))
    if len(np.unique(ranked.prior)) == SIZE:  # no label ties with another
        assert np.allclose(found.covers(truth), dense.covers(truth), atol=1e-9, equal_nan=True)
        assert np.allclose(honest_widths(found, truth), honest_widths(dense, truth), atol=1e-6, equal_nan=True)
    widths = np.where(codes < 0, np.nan, credit.sum(axis=1)[codes])
    assert np.allclose(found.widths(CONFIDENCE), widths, atol=1e-7, equal_nan=True)
    for (rows, part), (others, same) in zip(_joined(found), _joined(dense), strict=True):
        assert rows == others
        assert np.allclose(part, same, rtol=1e-12)


def _joined(sets):
    return [(row, line) for rows, lines in sets.posteriors() for row, line in zip(rows, lines, strict=True)]
