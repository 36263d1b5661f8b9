"""CACTUS: clusters of categorical values by how often they occur together (Ganti, Gehrke & Ramakrishnan 1999).

Two values of two attributes are strongly connected if they occur together in more than δ n/(|D_i||D_j|) records, δ times
what independent, uniform attributes would give. A cluster is a set of values with at least one of every attribute, any
two of different attributes strongly connected, which no further value can join, and which holds more than δ times the
records expected of it. It is found exactly here, as a maximal clique: the 2005 paper compares DETECTIVE with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import IntArray
from sfumato.errors import UsageError

MAX_CLIQUES = 200_000

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class CategoricalCluster:
    """Values of each attribute, by their codes, with the records that fall inside."""

    values: tuple[tuple[int, ...], ...]
    support: int
    expected: float


@dataclass(frozen=True, eq=False)
class Cactus:
    """What CACTUS finds.

    ``strong[i, j]`` (i < j) says which values of two attributes are strongly connected; ``similar[i]`` which pairs of
    values of one attribute are, with respect to each other attribute: those with a common strongly connected value.
    """

    strong: dict[tuple[int, int], BoolArray]
    similar: dict[int, dict[int, BoolArray]]
    clusters: tuple[CategoricalCluster, ...]


def cactus(codes: Sequence[NDArray[Any]], sizes: Sequence[int], delta: float = 1.0, least: int = 1) -> Cactus:
    """Find connections, similar values and clusters.

    Parameters
    ----------
    codes
        For each attribute the code of every record, 0 to size − 1; a negative code is missing and connects nothing.
    sizes
        |D_i|, the number of values of each attribute.
    delta
        δ, how many times more often than expected.
    least
        Clusters with fewer records are left out.
    """
    if len(codes) != len(sizes) or len(codes) < 2:
        raise UsageError(
            f"cactus compares attributes; {len(codes)} were given with {len(sizes)} sizes, give two or more"
        )
    if not delta > 0:
        raise UsageError(f"delta = {delta} connects everything; give a positive number, such as 1")
    columns = [np.asarray(c, dtype=np.int64) for c in codes]
    for i, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if len(column) != len(columns[0]) or (len(column) and column.max() >= size):
            raise UsageError(f"attribute {i}: codes must be below {size}, one for each record")
    n = len(columns[0])
    strong = {
        (i, j): _together(columns[i], columns[j], sizes[i], sizes[j]) > delta * n / (sizes[i] * sizes[j])
        for i, j in combinations(range(len(columns)), 2)
    }
    similar: dict[int, dict[int, BoolArray]] = {i: {} for i in range(len(columns))}
    for (i, j), links in strong.items():
        similar[i][j] = (links.astype(np.int64) @ links.T.astype(np.int64)) > 0
        similar[j][i] = (links.T.astype(np.int64) @ links.astype(np.int64)) > 0
    return Cactus(strong, similar, tuple(_clusters(columns, sizes, strong, delta, least)))


def _together(a: IntArray, b: IntArray, rows: int, columns: int) -> IntArray:
    both = (a >= 0) & (b >= 0)
    return np.bincount(a[both] * columns + b[both], minlength=rows * columns).reshape(rows, columns)


def _clusters(
    columns: Sequence[IntArray],
    sizes: Sequence[int],
    strong: dict[tuple[int, int], BoolArray],
    delta: float,
    least: int,
) -> Iterator[CategoricalCluster]:
    first = np.concatenate([[0], np.cumsum(sizes)])
    neighbours = _graph(sizes, strong, first)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    n = len(columns[0])
    for clique in maximal_cliques(neighbours):
        values = tuple(tuple(int(v - first[i]) for v in clique if owner[v] == i) for i in range(len(sizes)))
        if not all(values):
            continue
        inside = np.ones(n, bool)
        for column, some in zip(columns, values, strict=True):
            inside &= np.isin(column, some)
        expected = n * math.prod(len(some) / size for some, size in zip(values, sizes, strict=True))
        support = int(inside.sum())
        if support > delta * expected and support >= least:
            yield CategoricalCluster(values, support, expected)


def _graph(sizes: Sequence[int], strong: dict[tuple[int, int], BoolArray], first: IntArray) -> list[set[int]]:
    """Return the graph of values: those of one attribute are always neighbours, others where they are strongly connected."""
    total = int(first[-1])
    linked = np.zeros((total, total), bool)
    for i in range(len(sizes)):
        linked[first[i] : first[i + 1], first[i] : first[i + 1]] = True
    for (i, j), links in strong.items():
        linked[first[i] : first[i + 1], first[j] : first[j + 1]] = links
        linked[first[j] : first[j + 1], first[i] : first[i + 1]] = links.T
    np.fill_diagonal(linked, False)
    return [set(np.flatnonzero(row).tolist()) for row in linked]


def maximal_cliques(neighbours: Sequence[set[int]]) -> Iterator[tuple[int, ...]]:
    """Yield all maximal cliques of a graph, by Bron and Kerbosch's algorithm with pivots, in a fixed order."""
    found = 0
    stack: list[tuple[tuple[int, ...], set[int], set[int]]] = [((), set(range(len(neighbours))), set())]
    while stack:
        clique, candidates, done = stack.pop()
        if not candidates and not done:
            found += 1
            if found > MAX_CLIQUES:
                raise UsageError(
                    f"more than {MAX_CLIQUES} cliques of values; leave out unrelated attributes, or raise delta"
                )
            yield tuple(sorted(clique))
            continue
        if not candidates:
            continue
        pivot = max(sorted(candidates | done), key=lambda v: len(candidates & neighbours[v]))
        for vertex in sorted(candidates - neighbours[pivot]):
            stack.append(((*clique, vertex), candidates & neighbours[vertex], done & neighbours[vertex]))
            candidates = candidates - {vertex}
            done = done | {vertex}
