"""An ensemble of trees as plain data: which way rows go, what the leaves add up to, and what that says of the classes.

Nodes stand in the order in which one walks a tree with the left side first, so a left child is the next node, and only right
children are written down. That also makes a tree without loops: every child comes after its parent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import DataError
from sfumato.schema import Attribute
from sfumato.trees import Columns, Tree, encode

FORMAT = "sfumato-ensemble"
VERSION = 1
LINKS = ("logistic", "softmax", "mean")


@dataclass(frozen=True, eq=False)
class Branches:
    """One tree. Arrays of inner nodes and of leaves are in the order of the nodes.

    Attributes
    ----------
    column : array
        The attribute that each node asks about, −1 for a leaf.
    right : array
        The right child of each inner node.
    cuts : tuple
        Of each inner node: the largest number (or place of a label) that goes left, or the places of the labels that go left.
    missing_left : array of bool
        Of each inner node: whether a missing value, or an unknown label, goes left.
    leaves : array
        What each leaf adds, shape (leaves, numbers): one number, or one for each class.
    output : int
        The sum that it adds to, where a leaf has one number.
    """

    column: IntArray
    right: IntArray
    cuts: tuple[float | tuple[int, ...], ...]
    missing_left: BoolArray
    leaves: FloatArray
    output: int = 0

    @cached_property
    def depth(self) -> int:
        """The longest way from the root to a leaf, in tests."""
        depth, inner = [0] * len(self.column), 0
        for number, column in enumerate(self.column.tolist()):
            if column >= 0:
                depth[number + 1] = depth[self.right[inner]] = depth[number] + 1
                inner += 1
        return max(depth)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        leaves = self.leaves[:, 0] if self.leaves.shape[1] == 1 else self.leaves
        return {
            "output": self.output,
            "column": self.column.tolist(),
            "right": self.right.tolist(),
            "cut": [list(cut) if isinstance(cut, tuple) else cut for cut in self.cuts],
            "missing_left": self.missing_left.astype(int).tolist(),
            "leaf": leaves.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], sizes: Sequence[int | None], outputs: int, width: int) -> Branches:
        """Return the tree that `to_dict` described; raise ValueError where it is not one.

        Parameters
        ----------
        data
            The plain data.
        sizes
            The number of labels of each attribute, None for numbers.
        outputs
            How many sums there are.
        width
            The numbers of a leaf.
        """
        column = _whole_numbers("column", data["column"], -1, len(sizes))
        inner = column >= 0
        right = _whole_numbers("right", data["right"], 0, len(column), int(inner.sum()))
        missing = _whole_numbers("missing_left", data["missing_left"], 0, 2, int(inner.sum()))
        leaves = _finite_numbers("leaf", data["leaf"]).reshape(-1, width)
        if len(leaves) != int((~inner).sum()):
            raise ValueError("a tree does not have one entry for each of its leaves")
        if len(data["cut"]) != len(right):
            raise ValueError("a tree does not have one cut for each of its tests")
        _check_order(inner, right)
        cuts = tuple(_cut(cut, sizes[c]) for cut, c in zip(data["cut"], column[inner].tolist(), strict=True))
        (output,) = _whole_numbers("output", [data["output"]], 0, outputs).tolist()
        return cls(column, right, cuts, missing.astype(bool), leaves, output)


def _check_order(inner: BoolArray, right: IntArray) -> None:
    """Raise ValueError unless nodes stand in the order of a walk, every left side before its right one."""
    waiting: list[int] = []  # right children that are still to come, the nearest last
    tests = iter(right.tolist())
    last = len(inner) - 1
    for number, test in enumerate(inner.tolist()):
        if test:
            waiting.append(next(tests))
        elif waiting:
            if waiting.pop() != number + 1:
                raise ValueError("a tree's nodes are not in the order of a walk, the left side first")
        elif number != last:
            raise ValueError("a tree has nodes that nothing leads to")
    if waiting or not len(inner):
        raise ValueError("a tree has tests without children")


def _cut(cut: Any, labels: int | None) -> float | tuple[int, ...]:
    if labels is None or not isinstance(cut, list):
        return float(_finite_numbers("cut", [cut])[0])
    return tuple(_whole_numbers("cut", cut, 0, labels).tolist())


def _whole_numbers(name: str, values: Any, low: int, high: int, size: int | None = None) -> IntArray:
    """Return whole numbers from `low` up to below `high`; raise ValueError for anything else."""
    if not isinstance(values, list) or not all(type(v) is int and low <= v < high for v in values):
        raise ValueError(f"{name} holds something else than whole numbers from {low} to {high - 1}")
    if size is not None and len(values) != size:
        raise ValueError(f"{name} has {len(values)} entries, not {size}")
    return np.array(values, dtype=np.int64)


def _finite_numbers(name: str, values: Any) -> FloatArray:
    """Return an array of numbers; raise ValueError for anything else."""
    flat = [v for row in values for v in (row if isinstance(row, list) else [row])]
    if not all(type(v) in (int, float) and math.isfinite(v) for v in flat):
        raise ValueError(f"{name} holds something else than finite numbers")
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose leaves add up, in members whose probabilities are averaged.

    Parameters
    ----------
    attributes : tuple of Attribute
        The inputs, in table order.
    labels : tuple of str
        The classes.
    link : str
        How sums become probabilities: logistic (one sum, the log-odds of the last class), softmax (one sum per class), or mean
        (leaves hold the probabilities, and the sum is divided by the number of trees).
    classes : tuple of int
        The places in `labels` of the classes that were learned; the others have probability 0.
    base : array
        What sums start from, shape (members, sums).
    members : tuple of tuples of Branches
        The trees of each member.
    gains : tuple of float
        The share of each attribute in what all tests gain.
    strategy : str
        How it was fitted.
    target : str
        The name of the target column.
    surrogate : Tree, optional
        A small tree that says nearly the same.
    agreement : float
        The share of rows for which the small tree predicts the same class.
    """

    attributes: tuple[Attribute, ...]
    labels: tuple[str, ...]
    link: str
    classes: tuple[int, ...]
    base: FloatArray
    members: tuple[tuple[Branches, ...], ...]
    gains: tuple[float, ...]
    strategy: str = ""
    target: str = "class"
    surrogate: Tree | None = field(default=None)
    agreement: float = 0.0

    @cached_property
    def trees(self) -> tuple[Branches, ...]:
        """All trees, member by member."""
        return tuple(tree for member in self.members for tree in member)

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return sum(len(tree.leaves) for tree in self.trees)

    @cached_property
    def depth(self) -> int:
        """The longest way from a root to a leaf, in tests."""
        return max((tree.depth for tree in self.trees), default=0)

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The attributes that are tested somewhere, in table order."""
        tested = {int(c) for tree in self.trees for c in np.unique(tree.column)}
        return tuple(a.name for place, a in enumerate(self.attributes) if place in tested)

    @cached_property
    def _walk(self) -> Walk:
        return Walk.of(self.trees, max([len(a.labels) for a in self.attributes if not a.kind.numeric], default=1))

    def predict_proba(self, columns: Columns) -> FloatArray:
        """Return P(class) of each row, shape (rows, labels).

        A missing value, or a label that is not known, follows the branch that the test names for it: the one where missing values
        went in training, or the one with most rows if there were none.
        """
        values, rows = encode(self.attributes, self.used, columns)
        matrix = np.full((rows, len(self.attributes)), np.nan)
        for place, attribute in enumerate(self.attributes):
            if attribute.name in values:
                matrix[:, place] = values[attribute.name]
        out = np.zeros((rows, len(self.labels)))
        size = max(1, 2**19 // max(len(self.trees), 1))
        for begin in range(0, rows, size):
            part = slice(begin, begin + size)
            out[part, self.classes] = self._probabilities(matrix[part])
        return out

    def _probabilities(self, matrix: FloatArray) -> FloatArray:
        leaf = self._walk.leaves(matrix)
        total = np.zeros((len(matrix), len(self.classes)))
        first = 0
        for base, member in zip(self.base, self.members, strict=True):
            sums = np.tile(base, (len(matrix), 1))
            for place, tree in enumerate(member):
                added = tree.leaves[leaf[:, first + place]]
                if self.link == "mean":
                    sums += added
                else:
                    sums[:, tree.output] += added[:, 0]
            first += len(member)
            total += link_sums(self.link, sums, max(len(member), 1))
        return np.asarray(total / len(self.members))

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON form; `from_dict` reads it.

        ``inputs`` are attributes as in a manifest. Each of ``members`` has a ``base``, what its sums start from, and ``trees``. The
        nodes of a tree stand in the order of a walk: the root, its left side, its right side. ``column`` has the place in ``inputs``
        that a node asks about, −1 for a leaf. Of each test, in order, ``right`` has its right child (the left one is the next node),
        ``cut`` the largest number that goes left, or a list of the places of labels that do, ``missing_left`` whether missing values
        and unknown labels go left. ``leaf`` has what each leaf adds to sum ``output``. ``link`` says what the sums of a member
        say: log-odds of the last class (logistic), logs of shares (softmax), or shares times the number of trees (mean). The
        probabilities of members are averaged. ``classes`` names the places in ``labels`` that they belong to.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "strategy": self.strategy,
            "target": self.target,
            "labels": list(self.labels),
            "classes": list(self.classes),
            "inputs": [a.to_dict() for a in self.attributes],
            "gains": list(self.gains),
            "link": self.link,
            "surrogate": None if self.surrogate is None else self.surrogate.to_dict(),
            "agreement": self.agreement,
            "members": [
                {"base": base.tolist(), "trees": [tree.to_dict() for tree in member]}
                for base, member in zip(self.base, self.members, strict=True)
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ensemble:
        """Return the ensemble that the JSON form describes; raise DataError where it is not one."""
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise DataError(f"this is not an ensemble of version {VERSION}; use the software that wrote it")
        try:
            return cls._read(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as error:
            raise DataError(f"the model is damaged ({type(error).__name__}: {error}); mine it again") from None

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Ensemble:
        attributes = tuple(Attribute.from_dict(a) for a in data["inputs"])
        labels = tuple(str(label) for label in data["labels"])
        sizes = [None if a.kind.numeric else len(a.labels) for a in attributes]
        classes = tuple(_whole_numbers("classes", data["classes"], 0, len(labels)).tolist())
        if len(set(classes)) != len(classes) or not classes:
            raise ValueError("classes are not different places in labels")
        if (link := data["link"]) not in LINKS or (link == "logistic" and len(classes) != 2):
            raise ValueError(f"link {link!r} with {len(classes)} classes")
        sums, width = 1 if link == "logistic" else len(classes), len(classes) if link == "mean" else 1
        base = _finite_numbers("base", [member["base"] for member in data["members"]])
        if base.shape != (len(data["members"]), sums) or not len(base):
            raise ValueError("base does not have one number for each sum of each member")
        members = tuple(
            tuple(Branches.from_dict(tree, sizes, sums, width) for tree in member["trees"])
            for member in data["members"]
        )
        listed = {cut for member in members for tree in member for cut in tree.cuts if isinstance(cut, tuple)}
        max_marks = 2**28  # what `Walk` lays out: a mark for each label of each list
        if len(listed) * max([n for n in sizes if n is not None], default=0) > max_marks:
            raise ValueError(f"{len(listed):,} lists of labels are more than a model of that size may have")
        if link == "mean" and any((tree.leaves < 0).any() for member in members for tree in member):
            raise ValueError("a share is negative")
        gains = _finite_numbers("gains", data["gains"])
        if gains.shape != (len(attributes),):
            raise ValueError("gains does not have one number for each input")
        surrogate = None if data["surrogate"] is None else Tree.from_dict(data["surrogate"])
        (agreement,) = _finite_numbers("agreement", [data["agreement"]]).tolist()
        return cls(
            attributes, labels, link, classes, base, members, tuple(gains.tolist()),
            str(data["strategy"]), str(data["target"]), surrogate, agreement,
        )  # fmt: skip


def link_sums(link: str, sums: FloatArray, trees: int) -> FloatArray:
    """Return the probabilities of classes, shape (rows, classes), from the sums of a member.

    Examples
    --------
    >>> import numpy as np
    >>> link_sums("logistic", np.array([[0.0]]), 1).tolist()
    [[0.5, 0.5]]
    """
    if link == "logistic":
        odds = np.exp(-np.abs(sums[:, 0]))
        certain, doubtful = 1 / (1 + odds), odds / (1 + odds)
        last = np.where(sums[:, 0] >= 0, certain, doubtful)
        return np.column_stack([1 - last, last])
    if link == "softmax":
        shares = np.exp(sums - sums.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
    total = sums.sum(axis=1, keepdims=True)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), 1 / sums.shape[1]) if trees else sums


@dataclass(frozen=True, eq=False)
class Walk:
    """All trees as one set of arrays over their nodes, so that many rows go down many trees at once."""

    roots: IntArray
    column: IntArray
    right: IntArray
    cut: FloatArray
    """The largest number that goes left; the row of `sets` where labels are listed."""
    listed: BoolArray
    """Whether labels are listed."""
    missing_left: BoolArray
    leaf: IntArray
    """Which leaf of its tree a node is."""
    sets: NDArray[np.bool_]
    """Which labels go left, shape (sets, most labels)."""

    @classmethod
    def of(cls, trees: Sequence[Branches], max_labels: int) -> Walk:
        """Put trees one after the other."""
        nodes = [len(tree.column) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(nodes)[:-1]]).astype(np.int64) if nodes else np.empty(0, np.int64)
        whole = sum(nodes)
        column = np.concatenate([t.column for t in trees]) if trees else np.empty(0, np.int64)
        inner = np.flatnonzero(column >= 0)
        right, missing = np.zeros(whole, np.int64), np.zeros(whole, bool)
        cut, leaf = np.zeros(whole), np.zeros(whole, np.int64)
        if trees:
            right[inner] = np.concatenate([t.right + root for t, root in zip(trees, roots, strict=True)])
            missing[inner] = np.concatenate([t.missing_left for t in trees])
            leaf[column < 0] = np.concatenate([np.arange(len(t.leaves)) for t in trees])
        cuts = [c for tree in trees for c in tree.cuts]
        groups = sorted({c for c in cuts if isinstance(c, tuple)})
        places = {group: place for place, group in enumerate(groups)}
        cut[inner] = [places[c] if isinstance(c, tuple) else c for c in cuts]
        listed = np.zeros(whole, bool)
        listed[inner] = [isinstance(c, tuple) for c in cuts]
        sets = np.zeros((len(groups), max_labels), bool)
        for place, group in enumerate(groups):
            sets[place, list(group)] = True
        return cls(roots, column, right, cut, listed, missing, leaf, sets)

    def leaves(self, matrix: FloatArray) -> IntArray:
        """Return which leaf of each tree each row falls into, shape (rows, trees)."""
        rows, trees = len(matrix), len(self.roots)
        node = np.tile(self.roots, rows)
        row = np.repeat(np.arange(rows), trees)
        open_ = np.flatnonzero(self.column[node] >= 0)
        while len(open_):
            here = node[open_]
            column = self.column[here]
            values = matrix[row[open_], column]
            cut = self.cut[here]
            left = values <= cut
            labels = np.flatnonzero(self.listed[here] & ~np.isnan(values))
            left[labels] = self.sets[cut[labels].astype(np.int64), values[labels].astype(np.int64)]
            left = np.where(np.isnan(values), self.missing_left[here], left)
            here = np.where(left, here + 1, self.right[here])
            node[open_] = here
            open_ = open_[self.column[here] >= 0]
        return self.leaf[node].reshape(rows, trees)
