"""A finished tree: tests in true units, counts of classes, and what follows from them for a row.

A `Tree` is plain data. It knows nothing of how it was grown, and a person can apply it to true values on their own
machine, where these need not be disclosed (Agrawal & Srikant 2000, section 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.schema import MISSING_LABEL, Attribute, Kind
from sfumato.text import join_names
from sfumato.trees.inputs import Columns, encode

if TYPE_CHECKING:
    from sfumato.trees.grow import Growth

FORMAT = "sfumato-tree"
VERSION = 1


@dataclass(frozen=True)
class Test:
    """What a node asks of a row.

    Either a `threshold`: the first child takes values below it (or up to it, where `closed`), the second the others. Or
    `groups` of labels, one for each child. A value that is missing, or a label in no group, goes to child `missing`: the
    one with most training rows.
    """

    __test__ = False  # not a test in pytest's sense

    attribute: str
    threshold: float | None = None
    closed: bool = False
    groups: tuple[tuple[str, ...], ...] = ()
    missing: int = 0

    def __post_init__(self) -> None:
        if (self.threshold is None) == (not self.groups):
            raise UsageError(f"{self.attribute}: a test has either a threshold or groups of labels")


@dataclass(frozen=True)
class Node:
    """Class counts of the training rows that came here, and the test with its children, unless it is a leaf."""

    counts: tuple[float, ...]
    test: Test | None = None
    children: tuple[int, ...] = ()

    @property
    def total(self) -> float:
        """The number of training rows."""
        return math.fsum(self.counts)


@dataclass(frozen=True)
class Tree:
    """Nodes with the root first, the columns they ask about, and the labels of the class.

    Parameters
    ----------
    attributes : tuple of Attribute
        The inputs, in table order.
    labels : tuple of str
        The classes, in the order of the nodes' counts.
    nodes : tuple of Node
        The root first, every child after its parent.
    strategy : str
        How the tree was grown.
    target : str
        The name of the target column.

    Examples
    --------
    >>> from sfumato.schema import Attribute, Interval, Kind
    >>> age = Attribute("age", Kind.INTEGER, Interval(0, 120))
    >>> tree = Tree((age,), ("no", "yes"), (Node((2, 6), Test("age", 40.0), (1, 2)), Node((0, 5)), Node((2, 1))))
    >>> tree.leaves, tree.depth, tree.predict({"age": [30, 60]}).tolist()
    (2, 1, ['yes', 'no'])
    """

    attributes: tuple[Attribute, ...]
    labels: tuple[str, ...]
    nodes: tuple[Node, ...]
    strategy: str = ""
    target: str = "class"

    def __post_init__(self) -> None:
        names = {a.name for a in self.attributes}
        reached = {0}
        for number, node in enumerate(self.nodes):
            if node.test is not None and node.test.attribute not in names:
                raise UsageError(f"the tree tests {node.test.attribute!r}, which is not among its inputs")
            expected = 0 if node.test is None else len(node.test.groups) or 2
            if len(node.children) != expected or len(node.counts) != len(self.labels):
                raise UsageError(f"node {number} of the tree does not fit: {expected} children, one count per class")
            if any(not number < child < len(self.nodes) or child in reached for child in node.children):
                raise UsageError(f"node {number} of the tree has children {node.children}; each node has one parent")
            reached.update(node.children)
        if len(reached) != len(self.nodes) or not self.nodes:
            raise UsageError("a tree has a root, and every other node has a parent")

    @classmethod
    def of(
        cls,
        growth: Growth,
        attributes: Sequence[Attribute],
        grids: Sequence[Grid],
        labels: Sequence[str],
        strategy: str = "",
        target: str = "class",
    ) -> Tree:
        """Turn cells into true units: the cut before a cell into its edge, categories into their labels."""
        nodes = []
        for i in range(growth.size):
            counts = tuple(float(c) for c in growth.counts[i])
            if growth.attribute[i] < 0:
                nodes.append(Node(counts))
                continue
            a = int(growth.attribute[i])
            branch = growth.branch[i, 1 : grids[a].size + 1].astype(np.int64)
            children = tuple(growth.child_numbers(i))
            test = _test(attributes[a], grids[a], branch, int(growth.branch[i, 0]), len(children))
            nodes.append(Node(counts, test, children))
        return cls(tuple(attributes), tuple(labels), tuple(nodes), strategy, target)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return sum(node.test is None for node in self.nodes)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Every node's distance from the root."""
        depth = [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            for child in node.children:
                depth[child] = depth[number] + 1
        return tuple(depth)

    @property
    def depth(self) -> int:
        """The longest way from the root to a leaf, in tests."""
        return max(self.depths)

    @property
    def used(self) -> tuple[str, ...]:
        """The attributes that are tested somewhere, in table order."""
        tested = {node.test.attribute for node in self.nodes if node.test is not None}
        return tuple(a.name for a in self.attributes if a.name in tested)

    def attribute(self, name: str) -> Attribute:
        """Return one of the inputs."""
        return next(a for a in self.attributes if a.name == name)

    def paths(self) -> Iterator[tuple[int, tuple[tuple[Test, int], ...]]]:
        """Yield every leaf from first to last, with the tests on the way and the branch taken at each."""
        stack: list[tuple[int, tuple[tuple[Test, int], ...]]] = [(0, ())]
        while stack:
            number, path = stack.pop()
            node = self.nodes[number]
            if node.test is None:
                yield number, path
                continue
            branches = reversed(list(enumerate(node.children)))
            stack += [(child, (*path, (node.test, branch))) for branch, child in branches]

    @cached_property
    def node_classes(self) -> IntArray:
        """The class every node would predict: its most frequent, the first of equals; an empty node has its parent's."""
        return np.argmax(self.node_shares, axis=1)

    def apply(self, columns: Columns) -> IntArray:
        """Return the number of the leaf that each row falls into."""
        values, rows = encode(self.attributes, self.used, columns)
        out = np.zeros(rows, np.int64)
        stack = [(0, np.arange(rows))]
        while stack:
            number, rows_here = stack.pop()
            node = self.nodes[number]
            if node.test is None:
                out[rows_here] = number
                continue
            branch = self._branch(node.test, values[node.test.attribute][rows_here])
            stack.extend((child, rows_here[branch == b]) for b, child in enumerate(node.children))
        return out

    def predict_codes(self, columns: Columns) -> IntArray:
        """Return the number of the predicted class of each row."""
        return self.node_classes[self.apply(columns)]

    def predict(self, columns: Columns) -> NDArray[np.str_]:
        """Return the label of the predicted class of each row.

        `columns` maps names to true values: numbers (dates as days, datetime64 or ISO texts) and texts for categories;
        NaN and None are missing. A `Table` works, too. Missing values and labels that the tree does not know
        follow the branch with most training rows.
        """
        return np.asarray(self.labels)[self.predict_codes(columns)]

    def predict_proba(self, columns: Columns, smoothing: float = 0.0) -> FloatArray:
        """Return class shares of each row's leaf, shape (rows, labels); `smoothing` is added to every count."""
        return self._shares(smoothing)[self.apply(columns)]

    def accuracy(self, columns: Columns, classes: IntArray) -> float:
        """Return the share of rows whose class number is predicted right."""
        if not len(classes):
            raise DataError("accuracy of no rows is undefined; give at least one")
        return float(np.mean(self.predict_codes(columns) == classes))

    @cached_property
    def node_shares(self) -> FloatArray:
        """The class shares of every node, shape (nodes, labels); an empty node has its parent's."""
        return self._shares(0.0)

    def _shares(self, smoothing: float) -> FloatArray:
        shares = np.array([node.counts for node in self.nodes], dtype=np.float64)
        totals = shares.sum(axis=1)
        for number, node in enumerate(self.nodes):  # children come after their parents, so the parent's row is final
            for child in node.children:
                if totals[child] <= 0:
                    shares[child] = shares[number]
        shares += smoothing
        totals = shares.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(shares, totals, out=np.full_like(shares, 1 / len(self.labels)), where=totals > 0))

    def _branch(self, test: Test, values: FloatArray) -> IntArray:
        if test.threshold is not None:
            below = values <= test.threshold if test.closed else values < test.threshold
            return np.where(np.isnan(values), test.missing, np.where(below, 0, 1))
        attribute = self.attribute(test.attribute)
        table = np.full(len(attribute.categories) + 2, test.missing)
        places = {label: i for i, label in enumerate((*attribute.categories, MISSING_LABEL))}
        for child, group in enumerate(test.groups):
            for label in group:
                table[places[label]] = child
        return table[np.where(np.isnan(values), len(table) - 1, values).astype(np.int64)]

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON form; `from_dict` reads it.

        ``inputs`` are attributes as in a manifest. A node has ``counts`` in the order of ``labels``; an inner one also
        ``test`` and ``children`` (places in ``nodes``). A test is ``{"attribute", "below": t}`` (first child if value < t),
        ``{"attribute", "at_most": t}`` (first child if value ≤ t; dates are days since 1970-01-01), or
        ``{"attribute", "groups": [[label, …], …]}``, each with ``missing``, the child for absent or unknown values.
        """
        nodes = []
        for node in self.nodes:
            entry: dict[str, Any] = {"counts": list(node.counts)}
            if node.test is not None:
                entry["test"] = _test_dict(node.test)
                entry["children"] = list(node.children)
            nodes.append(entry)
        return {
            "format": FORMAT,
            "version": VERSION,
            "strategy": self.strategy,
            "target": self.target,
            "labels": list(self.labels),
            "inputs": [a.to_dict() for a in self.attributes],
            "nodes": nodes,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tree:
        """Return the tree that the JSON form describes; raise DataError where it is not one."""
        if data.get("format") != FORMAT:
            raise DataError(f"this is not a {FORMAT} model (its format is {data.get('format')!r}); give a model file")
        if data.get("version") != VERSION:
            raise DataError(f"model version {data.get('version')!r} is not {VERSION}; use the software that wrote it")
        try:
            nodes = tuple(
                Node(
                    tuple(float(c) for c in entry["counts"]),
                    _test_of(entry["test"]) if "test" in entry else None,
                    tuple(int(c) for c in entry.get("children", ())),
                )
                for entry in data["nodes"]
            )
            attributes = tuple(Attribute.from_dict(a) for a in data["inputs"])
            labels = tuple(str(label) for label in data["labels"])
            if not all(math.isfinite(c) for node in nodes for c in node.counts):
                raise ValueError("a count that is not finite")
            known = {a.name: {*a.categories, MISSING_LABEL} for a in attributes if a.domain and not a.kind.numeric}
            for test in (node.test for node in nodes if node.test is not None and node.test.threshold is None):
                if not {label for group in test.groups for label in group} <= known[test.attribute]:
                    raise ValueError(f"{test.attribute} is tested for a label that it does not have")
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"the model is damaged ({type(error).__name__}: {error}); mine it again") from None
        return cls(attributes, labels, nodes, str(data.get("strategy", "")), str(data.get("target", "class")))


def _test(attribute: Attribute, grid: Grid, branch: IntArray, missing: int, children: int) -> Test:
    if not attribute.kind.numeric:
        labels = grid.labels or attribute.categories
        groups = tuple(tuple(labels[i] for i in np.flatnonzero(branch == c)) for c in range(children))
        return Test(attribute.name, groups=groups, missing=missing)
    if children != 2 or (np.diff(branch) < 0).any():
        raise UsageError(f"{attribute.name}: a numeric test has two sides; this one has branches {join_names(branch)}")
    cut = float(attribute.to_values(grid.inner_cuts)[int(np.argmax(branch)) - 1])
    if attribute.kind is Kind.REAL:
        return Test(attribute.name, threshold=cut, missing=missing)
    # Of whole numbers below the cut, people name the last one: x < 36.5 is x ≤ 36.
    last = attribute.step * (math.ceil(cut / attribute.step - 1e-9) - 1)
    return Test(attribute.name, threshold=last, closed=True, missing=missing)


def _test_dict(test: Test) -> dict[str, Any]:
    out: dict[str, Any] = {"attribute": test.attribute}
    if test.threshold is not None:
        out["at_most" if test.closed else "below"] = test.threshold
    else:
        out["groups"] = [list(group) for group in test.groups]
    return out | {"missing": test.missing}


def _test_of(data: Mapping[str, Any]) -> Test:
    closed = "at_most" in data
    threshold = data.get("at_most" if closed else "below")
    return Test(
        attribute=str(data["attribute"]),
        threshold=None if threshold is None else float(threshold),
        closed=closed,
        groups=tuple(tuple(str(label) for label in group) for group in data.get("groups", ())),
        missing=int(data["missing"]),
    )
