"""A tree or an ensemble as an ONNX graph, which runs in any language without this library.

Labels come in as texts and become places, trees run on the matrix of all columns, and sums become probabilities as in `Ensemble`. All
numbers are doubles: in single precision a value next to a threshold could go the other way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.mining.ensembles.ensemble import Branches, Ensemble
from sfumato.schema import MISSING_LABEL, Attribute, Missing
from sfumato.trees import Test, Tree

AT_MOST, MEMBER = 0, 6
"""Modes of a node: the value is at most the split, or among the members."""


def to_onnx(body: Tree | Ensemble, absent: Mapping[str, Collection[str]] | None = None) -> bytes:
    """Return the graph of a model.

    Parameters
    ----------
    body
        The model.
    absent
        Texts that stand for a missing value, by column.
    """
    try:
        import onnx
    except ImportError:
        raise UsageError("writing ONNX needs the package onnx; install it with: pip install 'sfumato[onnx]'") from None
    ensemble = body if isinstance(body, Ensemble) else tree_as_ensemble(body)
    graph = _Graph(onnx.helper, onnx.TensorProto, onnx.numpy_helper)
    inputs = [
        _read_input(graph, a, (absent or {}).get(a.name, ())) for a in ensemble.attributes if a.name in ensemble.used
    ]
    if not inputs:
        raise UsageError("the model looks at no column and always says the same, so there is nothing to write as ONNX")
    graph.add("Concat", [name for name, _ in inputs], "matrix", axis=1)
    _add_probabilities(graph, ensemble, "matrix")
    graph.add("ArgMax", ["probabilities"], "place", axis=1, keepdims=0)
    graph.keep("labels", np.array(ensemble.labels, dtype=object))
    graph.add("Gather", ["labels", "place"], "label", axis=0)
    helper, kinds = onnx.helper, onnx.TensorProto
    outputs = [
        helper.make_tensor_value_info("label", kinds.STRING, [None]),
        helper.make_tensor_value_info("probabilities", kinds.DOUBLE, [None, len(ensemble.labels)]),
    ]
    proto = helper.make_graph(graph.nodes, "sfumato", [info for _, info in inputs], outputs, graph.constants)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)]
    model = helper.make_model(proto, opset_imports=versions, producer_name="sfumato", ir_version=10)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@dataclass
class _Graph:
    """Nodes and constants, as they come."""

    helper: Any
    kinds: Any
    numpy_helper: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        self.nodes.append(self.helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def keep(self, name: str, values: Any) -> str:
        """Add a constant and return its name."""
        self.constants.append(self.numpy_helper.from_array(values, name))
        return name


def _read_input(graph: _Graph, attribute: Attribute, absent: Collection[str]) -> tuple[str, Any]:
    """Add one input; return the name of its numbers and the description of what comes in."""
    name, kinds = attribute.name, graph.kinds
    if attribute.kind.numeric:
        return name, graph.helper.make_tensor_value_info(name, kinds.DOUBLE, [None, 1])
    places = {label: float(place) for place, label in enumerate(attribute.categories)}
    if attribute.missing is Missing.CATEGORY:
        places = {text: float(len(attribute.categories)) for text in ("", *absent)} | places
    code = graph.add(
        "LabelEncoder",
        [name],
        f"place of {name}",
        "ai.onnx.ml",
        keys_strings=list(places),
        values_floats=list(places.values()),
        default_float=math.nan,
    )
    out = graph.add("Cast", [code], f"number of {name}", to=kinds.DOUBLE)
    return out, graph.helper.make_tensor_value_info(name, kinds.STRING, [None, 1])


def _add_probabilities(graph: _Graph, ensemble: Ensemble, matrix: str) -> None:
    """Add what turns the matrix of columns into `probabilities`, one column per label."""
    columns = {place: number for number, place in enumerate(_places_used(ensemble))}
    classes = len(ensemble.classes)
    shares = []
    for number, (base, member) in enumerate(zip(ensemble.base, ensemble.members, strict=True)):
        sums = graph.add(
            "TreeEnsemble",
            [matrix],
            f"sums {number}",
            "ai.onnx.ml",
            **_tree_attributes(graph, ensemble.link, member, columns, classes),
        )
        start = base if ensemble.link != "mean" else base[: classes - 1]
        sums = graph.add("Add", [sums, graph.keep(f"base {number}", start[None, :])], f"totals {number}")
        if ensemble.link == "softmax":
            shares.append(graph.add("Softmax", [sums], f"shares {number}", axis=1))
            continue
        if ensemble.link == "logistic":
            told = graph.add("Sigmoid", [sums], f"last {number}")
        else:
            size = graph.keep(f"trees {number}", np.array([[float(max(len(member), 1))]]))
            told = graph.add("Div", [sums, size], f"first {number}")
        whole = graph.add("ReduceSum", [told, graph.keep(f"axis {number}", np.array([1]))], f"sum {number}", keepdims=1)
        rest = graph.add("Sub", [graph.keep(f"one {number}", np.array([[1.0]])), whole], f"rest {number}")
        # Log-odds speak of the last class, and shares of all classes but the last.
        order = [rest, told] if ensemble.link == "logistic" else [told, rest]
        shares.append(graph.add("Concat", order, f"shares {number}", axis=1))
    total = graph.add("Sum", shares, "all shares")
    spread = np.zeros((classes, len(ensemble.labels)))
    spread[np.arange(classes), list(ensemble.classes)] = 1 / len(shares)
    graph.add("MatMul", [total, graph.keep("classes", spread)], "probabilities")


def _places_used(ensemble: Ensemble) -> list[int]:
    return [place for place, a in enumerate(ensemble.attributes) if a.name in ensemble.used]


def _tree_attributes(
    graph: _Graph, link: str, member: tuple[Branches, ...], columns: Mapping[int, int], classes: int
) -> dict[str, Any]:
    """Return trees as the arrays of the operator TreeEnsemble, inner nodes and leaves apart.

    A leaf adds to one sum. Where it has a share for each class, the tree stands there once for each but the last, whose share is what
    is left.
    """
    sums = classes - 1 if link == "mean" else 1 if link == "logistic" else classes
    out = _Arrays()
    for tree in member:
        for number in range(sums) if link == "mean" else (0,):
            out.add(tree, columns, tree.leaves[:, number], number if link == "mean" else tree.output)
    tensor = graph.numpy_helper.from_array
    attributes: dict[str, Any] = {
        "n_targets": sums,
        "aggregate_function": 1,  # the sum
        "post_transform": 0,
        "tree_roots": out.roots,
        "nodes_featureids": out.column,
        "nodes_modes": tensor(np.array(out.modes, np.uint8), "modes"),
        "nodes_splits": tensor(np.array(out.splits), "splits"),
        "nodes_missing_value_tracks_true": out.missing,
        "nodes_truenodeids": out.left,
        "nodes_trueleafs": out.left_leaf,
        "nodes_falsenodeids": out.right,
        "nodes_falseleafs": out.right_leaf,
        "leaf_targetids": out.target,
        "leaf_weights": tensor(np.array(out.weight), "weights"),
    }
    if out.members:
        attributes["membership_values"] = tensor(np.array(out.members), "members")
    return attributes


@dataclass
class _Arrays:
    """Trees one after the other, as the operator wants them."""

    roots: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    left_leaf: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    right_leaf: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    members: list[float] = field(default_factory=list)
    """The members of each list, a NaN after each."""

    def add(self, tree: Branches, columns: Mapping[int, int], weights: FloatArray, target: int) -> None:
        """Add a tree whose leaves add `weights` to one target."""
        first, first_leaf = len(self.column), len(self.weight)
        inner = tree.column >= 0
        number = np.where(inner, np.cumsum(inner) - 1 + first, np.cumsum(~inner) - 1 + first_leaf)
        self.roots.append(first)
        self.target += [target] * len(weights)
        self.weight += weights.tolist()
        if not inner[0]:  # a root without a test has one that leads to the same leaf on both sides
            self._add_test(min(columns.values()), AT_MOST, 0.0, False, (first_leaf, True), (first_leaf, True))
            return
        for place, node in enumerate(np.flatnonzero(inner).tolist()):
            left, right, cut = node + 1, int(tree.right[place]), tree.cuts[place]
            listed = isinstance(cut, tuple)
            if isinstance(cut, tuple):
                self.members += [*map(float, cut or (-1,)), math.nan]
            self._add_test(
                columns[int(tree.column[node])],
                MEMBER if listed else AT_MOST,
                0.0 if isinstance(cut, tuple) else cut,
                bool(tree.missing_left[place]),
                (int(number[left]), not inner[left]),
                (int(number[right]), not inner[right]),
            )

    def _add_test(
        self, column: int, mode: int, split: float, missing: bool, left: tuple[int, bool], right: tuple[int, bool]
    ) -> None:
        self.column.append(column)
        self.modes.append(mode)
        self.splits.append(split)
        self.missing.append(int(missing))
        self.left.append(left[0])
        self.left_leaf.append(int(left[1]))
        self.right.append(right[0])
        self.right_leaf.append(int(right[1]))


def tree_as_ensemble(tree: Tree) -> Ensemble:
    """Return a decision tree as an ensemble of one: the same probabilities from tests with two sides.

    Parameters
    ----------
    tree
        A tree; a test of labels with several groups becomes several tests, one after the other.
    """
    shares = tree.node_shares
    column: list[int] = []
    right: list[int] = []
    cuts: list[float | tuple[int, ...]] = []
    missing: list[bool] = []
    leaves: list[FloatArray] = []
    names = {a.name: place for place, a in enumerate(tree.attributes)}
    # A piece of work is a node of the tree and how many of its groups are settled, or the test whose right side comes next.
    waiting: list[tuple[int, int, int]] = [(0, 0, -1)]
    while waiting:
        number, settled, parent = waiting.pop()
        if parent >= 0:
            right[parent] = len(column)
        node = tree.nodes[number]
        if node.test is None:
            column.append(-1)
            leaves.append(shares[number])
            continue
        if settled == len(node.children) - 1:  # the last group needs no test
            waiting.append((node.children[settled], 0, -1))
            continue
        column.append(names[node.test.attribute])
        cuts.append(_left_side(tree.attribute(node.test.attribute), node.test, settled))
        missing.append(node.test.missing == settled)
        waiting.append((number, settled + 1, len(right)))
        right.append(0)
        waiting.append((node.children[settled], 0, -1))
    branches = Branches(
        np.array(column), np.array(right, dtype=np.int64), tuple(cuts), np.array(missing, bool), np.array(leaves)
    )
    classes, gains = tuple(range(len(tree.labels))), (0.0,) * len(tree.attributes)
    return Ensemble(
        tree.attributes,
        tree.labels,
        "mean",
        classes,
        np.zeros((1, len(classes))),
        ((branches,),),
        gains,
        tree.strategy,
        tree.target,
    )


def _left_side(attribute: Attribute, test: Test, group: int) -> float | tuple[int, ...]:
    """Return the largest number that goes to the first child, or the labels that go to a child."""
    if test.threshold is not None:
        return test.threshold if test.closed else float(np.nextafter(test.threshold, -math.inf))
    labels = (*attribute.categories, MISSING_LABEL)[: len(attribute.labels)]
    owner = {label: child for child, same in enumerate(test.groups) for label in same}
    return tuple(place for place, label in enumerate(labels) if owner.get(label, test.missing) == group)
