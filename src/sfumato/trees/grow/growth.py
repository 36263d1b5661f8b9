"""In what order to grow: level by level, from counts alone.

One pass over the rows per level counts them by (node, class, cell) for every attribute; all decisions follow from these
histograms. Splitter and pruner are objects that can be exchanged, and so is the source of counts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.trees.grow.coded_rows import CodedRows
from sfumato.trees.grow.pruning import MDL, Pruner
from sfumato.trees.grow.splits import MIN_GAIN, BinarySplitter, BranchArray, Splits, Splitter

Counted = TypeVar("Counted")
Counted_co = TypeVar("Counted_co", covariant=True)


@dataclass(frozen=True)
class Limits:
    """Where growth ends at the latest.

    `max_leaves` keeps the splits that gain most, as growing best-first would have chosen them.
    """

    max_depth: int | None = None
    min_leaf: float = 1.0
    max_leaves: int | None = None

    @classmethod
    def for_rows(cls, n: float) -> Limits:
        """Return no limit but the size of a leaf: one row in five thousand, as finer ones would be pruned again."""
        return cls(min_leaf=max(1.0, n // 5000))

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 0:
            raise UsageError(f"max_depth = {self.max_depth} is negative; give 0 or more, or none for no limit")
        if not self.min_leaf >= 0:
            raise UsageError(f"min_leaf = {self.min_leaf} is negative; give the least number of records of a leaf")
        if self.max_leaves is not None and self.max_leaves < 1:
            raise UsageError(f"max_leaves = {self.max_leaves} leaves no tree; give 1 or more, or none for no limit")


@dataclass(frozen=True, eq=False)
class Growth:
    """A tree in codes, as arrays over its nodes: the root is 0, levels follow one another, siblings are consecutive.

    Attributes
    ----------
    counts
        Rows (or weight) by node and class.
    depth, first_child, children
        Distance from the root; the number of the first child and how many there are.
    attribute
        The attribute tested, −1 for a leaf.
    gain, bits
        What the test gains, and the bits that say which test of its attribute it is.
    branch
        For every node a row that gives each cell its child: cell 0 is a missing value, cell 1 + i is code i.
    cut
        The last code of the first child where the splitter lists no cells (see `Splits`), else −1.
    attributes
        d, how many attributes there were to choose from.
    """

    counts: FloatArray
    depth: IntArray
    attribute: IntArray
    first_child: IntArray
    children: IntArray
    gain: FloatArray
    bits: FloatArray
    branch: BranchArray
    cut: IntArray
    attributes: int

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.depth)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int((self.attribute < 0).sum())

    def levels(self) -> list[IntArray]:
        """Return the nodes of each depth."""
        return np.split(np.arange(self.size), np.flatnonzero(np.diff(self.depth)) + 1)

    def parents(self) -> IntArray:
        """Return the number of every node's parent, −1 for the root."""
        return np.concatenate([[-1], np.repeat(np.arange(self.size), self.children)])

    def child_numbers(self, node: int) -> range:
        """Return the numbers of a node's children."""
        first = int(self.first_child[node])
        return range(first, first + int(self.children[node]))

    def end_at(self, leaf: BoolArray) -> Growth:
        """Return the tree that ends at the given nodes, without what was below them."""
        kept = np.ones(self.size, bool)
        inner = (self.attribute >= 0) & ~leaf
        parent = self.parents()
        for nodes in self.levels()[1:]:
            kept[nodes] = kept[parent[nodes]] & inner[parent[nodes]]
        number = np.cumsum(kept) - 1
        inner = inner[kept]
        part = {f.name: getattr(self, f.name)[kept] for f in fields(self) if f.name != "attributes"}
        part["attribute"] = np.where(inner, part["attribute"], -1)
        part["first_child"] = np.where(inner, number[part["first_child"]], 0)
        for name in ("children", "gain", "bits"):
            part[name] = np.where(inner, part[name], 0)
        return replace(self, **part)


class Source(Protocol[Counted_co]):
    """Count rows by node, class and cell; the only part that ever sees them."""

    sizes: tuple[int, ...]
    """How many codes each attribute has."""

    n_classes: int

    def totals(self) -> FloatArray:
        """Return class counts of all rows."""

    def count_open_nodes(self) -> Iterator[Counted_co]:
        """Yield what the splitter reads, for the open nodes in order, first the root.

        For `BinarySplitter` that is histograms: one array (nodes, classes, 1 + cells) per attribute.

        A level too large for the memory comes in several parts.
        """

    def descend(self, splits: Splits, is_open: BoolArray) -> None:
        """Send every row to its child. Children of all split nodes are numbered consecutively; `is_open` says which go on."""


def grow(
    codes: Sequence[NDArray[Any]],
    grids: Sequence[Grid],
    classes: NDArray[Any],
    n_classes: int,
    weights: FloatArray | None = None,
    limits: Limits | None = None,
    *,
    pruner: Pruner | None = None,
    splitter: Splitter[list[FloatArray]] | None = None,
    ordered: Sequence[bool] | None = None,
) -> Growth:
    """Grow and prune a tree on coded rows, or on the weighted cells of a distribution.

    Parameters
    ----------
    codes
        For each attribute the cell of every row on its grid; −1 where the value is missing.
    grids
        The grid of each attribute. One with labels is unordered, unless `ordered` says otherwise.
    classes, n_classes
        The class of every row, 0 to n_classes − 1.
    weights
        How many rows each entry stands for; one each unless given. Pruning reads the sum as the number of rows.
    limits, pruner, splitter
        Where to stop, what to keep (MDL unless said otherwise), and how to split (gini, two branches).

    Returns
    -------
    Growth
        The tree in codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.counts import Grid
    >>> codes, classes = np.repeat([0, 1, 2, 3], 25), np.repeat([0, 1], 50)
    >>> growth = grow([codes], [Grid.cells(0, 4, 4)], classes, 2)
    >>> growth.leaves, growth.counts.tolist()
    (2, [[50.0, 50.0], [50.0, 0.0], [0.0, 50.0]])
    """
    source = CodedRows.of(codes, [g.size for g in grids], classes, n_classes, weights)
    flags = [g.labels is None for g in grids] if ordered is None else ordered
    unordered = frozenset(a for a, flag in enumerate(flags) if not flag)
    splitter = BinarySplitter(categorical=unordered) if splitter is None else splitter
    return grow_from(source, splitter, MDL() if pruner is None else pruner, limits or Limits())


def grow_from(source: Source[Counted], splitter: Splitter[Counted], pruner: Pruner, limits: Limits) -> Growth:
    """Grow from any source: find the tests of a level, open their children, count again; then prune."""
    attributes = len(source.sizes)
    least_bits = splitter.least_bits(source.sizes)
    nodes = _Nodes(max(source.sizes) + 1, attributes)
    root = source.totals()[None, :]
    nodes.add(root, 0)

    def open_ones(counts: FloatArray, depth: int) -> BoolArray:
        if limits.max_depth is not None and depth >= limits.max_depth:
            return np.zeros(len(counts), bool)
        n = counts.sum(axis=1)
        mixed = n - counts.max(axis=1) > MIN_GAIN * n
        return mixed & (n >= 2 * limits.min_leaf) & ~pruner.hopeless(counts, attributes, least_bits)

    depth = 0
    frontier = np.flatnonzero(open_ones(root, 0))
    while len(frontier):
        parts, below = [], []
        for counted in source.count_open_nodes():
            splits = splitter.best(counted, limits.min_leaf)
            parts.append(splits)
            below.append(splitter.below(splits, counted))
        splits, counts = Splits.join(parts), np.concatenate(below)
        if not len(counts):
            break
        depth += 1
        nodes.split(frontier, splits)
        is_open = open_ones(counts, depth)
        frontier = nodes.add(counts, depth)[is_open]
        if len(frontier):
            source.descend(splits, is_open)
    growth = nodes.growth()
    if limits.max_leaves is not None:
        growth = best_first(growth, limits.max_leaves)
    return growth.end_at(pruner.leaves(growth))


def best_first(growth: Growth, max_leaves: int) -> Growth:
    """Return the tree that best-first growth would have reached: a node's test does not depend on when it is made."""
    leaf = np.ones(growth.size, bool)
    queue = [(-float(growth.gain[0]), 0)] if growth.attribute[0] >= 0 else []
    leaves = 1
    while queue:
        _, node = heapq.heappop(queue)
        if leaves + int(growth.children[node]) - 1 > max_leaves:
            continue
        leaves += int(growth.children[node]) - 1
        leaf[node] = False
        for child in growth.child_numbers(node):
            if growth.attribute[child] >= 0:
                heapq.heappush(queue, (-float(growth.gain[child]), child))
    return growth.end_at(leaf)


class _Nodes:
    """The arrays of a `Growth` while it grows."""

    def __init__(self, width: int, attributes: int) -> None:
        self._width = width
        self._attributes = attributes
        self._size = 0
        self._levels: list[dict[str, NDArray[Any]]] = []

    def add(self, counts: FloatArray, depth: int) -> IntArray:
        """Append a level of leaves; return their numbers."""
        n = len(counts)
        level = {"counts": counts, "depth": np.full(n, depth), "branch": np.zeros((n, self._width), np.uint8)}
        level |= {name: np.full(n, -1) for name in ("attribute", "cut")}
        level |= {name: np.zeros(n, np.int64) for name in ("first_child", "children")}
        level |= {name: np.zeros(n) for name in ("gain", "bits")}
        self._levels.append(level)
        self._size += n
        return np.arange(self._size - n, self._size)

    def split(self, frontier: IntArray, splits: Splits) -> None:
        """Record the tests of the last level, whose children will be added next."""
        level = self._levels[-1]
        made = splits.made
        here = frontier[made] - (self._size - len(level["depth"]))
        level["first_child"][here] = self._size + splits.first[made]
        for name in ("attribute", "children", "gain", "bits"):
            level[name][here] = getattr(splits, name)[made]
        level["branch"][here, : splits.branch.shape[1]] = splits.branch[made]
        if splits.cut is not None:
            level["cut"][here] = splits.cut[made]

    def growth(self) -> Growth:
        """Return the finished arrays."""
        joined = {name: np.concatenate([level[name] for level in self._levels]) for name in self._levels[0]}
        return Growth(**joined, attributes=self._attributes)
