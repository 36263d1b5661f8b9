"""CACTUS: Table 4.1 of the 2005 paper, connections and cliques by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sfumato.errors import UsageError
from sfumato.generators import customers
from sfumato.papers.detective2005 import cactus, maximal_cliques

DOMAINS = (customers.COUNTRIES, customers.CARS, customers.PROFESSIONS, customers.STATUS)


def codes(seed):
    block = next(customers.csd.blocks(399, seed=seed))
    names = ("country", "car", "profession", "status")
    return [np.array([d.index(v) for v in block[n].tolist()]) for n, d in zip(names, DOMAINS, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_delta_1_gives_exactly_table_4_1(seed):
    found = cactus(codes(seed), [len(d) for d in DOMAINS])
    (cluster,) = found.clusters
    values = [{d[v] for v in some} for d, some in zip(DOMAINS, cluster.values, strict=True)]
    assert values == [{"USA", "England"}, {"Toyota", "Ford"}, {"Scientist"}, {"Good"}]
    assert cluster.expected == pytest.approx(399 * 2 / 3 * 2 / 4 / 3 / 2)
    # Toyota–Good 62 > 399/8 = 49.9 > 48 Nissan–Good, and no other pair of makes is alike with respect to Good alone.
    assert found.strong[1, 3][:, 0].tolist() == [True, True, False, False]


def test_other_deltas_give_as_many_clusters_as_measured():
    sizes = [len(d) for d in DOMAINS]
    assert len(cactus(codes(1), sizes, 0.8).clusters) == 4
    assert len(cactus(codes(1), sizes, 1.2).clusters) == 1


def test_strong_connections_are_counted_by_hand():
    a, b = np.array([0, 0, 0, 0, 1, 1, -1]), np.array([0, 0, 0, 1, 1, 1, 0])
    found = cactus([a, b], [2, 2])
    # 7 records: more than 7/4 together; the record without a value connects nothing.
    assert found.strong[0, 1].tolist() == [[True, False], [False, True]]
    assert {(c.values, c.support) for c in found.clusters} == {(((0,), (0,)), 3), (((1,), (1,)), 2)}


def test_cliques_are_all_the_maximal_ones():
    rng = np.random.default_rng(0)
    linked = np.triu(rng.random((9, 9)) < 0.5, 1)
    linked |= linked.T
    neighbours = [set(np.flatnonzero(row).tolist()) for row in linked]

    def clique(some):
        return all(b in neighbours[a] for a, b in combinations(some, 2))

    all_cliques = [set(s) for k in range(1, 10) for s in combinations(range(9), k) if clique(s)]
    expected = {tuple(sorted(s)) for s in all_cliques if not any(s < t for t in all_cliques)}
    found = list(maximal_cliques(neighbours))
    assert len(found) == len(expected)
    assert set(found) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([np.zeros(3, int)], [1]), "give two or more"),
        (([np.zeros(3, int)] * 2, [1, 1], 0.0), "delta = 0.0 connects everything"),
        (([np.zeros(3, int), np.full(3, 5)], [1, 2]), "attribute 1: codes must be below 2"),
    ],
)
def test_wrong_input_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        cactus(*arguments)
