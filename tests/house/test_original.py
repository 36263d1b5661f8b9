"""The dangerous thing is a different type: true values travel as an `Original`, and one function reads them."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from tests.support.source import functions

import sfumato as sf
from sfumato.attacks import View
from sfumato.channels import Gaussian
from sfumato.errors import UsageError
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Original, Table

AGE = Attribute("age", Kind.INTEGER, Interval(0, 99))
TRUE = Original((Column(AGE, None, np.array([31.0, 64.0, 5.0])),), None)


def annotations(node: ast.FunctionDef) -> str:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return " ".join(ast.unparse(a.annotation) for a in arguments if a.annotation is not None)


def test_one_function_reads_originals() -> None:
    """Papers make tables of their own, and some functions take rows of an original they are handed."""
    readers = [
        f"{module}.{node.name}"
        for module, node in functions()
        if node.returns is not None
        and ast.unparse(node.returns) == "Original"
        and "Original" not in annotations(node)
        and not module.startswith("sfumato.papers")
        and node.name != "require_original"
    ]
    assert readers == ["sfumato.releases.reader.read_original"]


def test_no_attack_takes_or_returns_an_original() -> None:
    handed = [
        f"{module}.{node.name}"
        for module, node in functions()
        if module.startswith("sfumato.attacks")
        and "Original" in annotations(node) + (ast.unparse(node.returns) if node.returns is not None else "")
    ]
    assert not handed


def test_what_went_through_a_law_is_no_original() -> None:
    noisy = Column(AGE, Gaussian(privacy=0.5).on(AGE), np.array([30.0, 70.0, 1.0]))
    with pytest.raises(UsageError, match="age went through a channel"):
        Original((noisy,), None)


def test_a_view_refuses_to_show_an_original(tmp_path) -> None:
    release = sf.release("iris", sf.plan("iris"), tmp_path / "release")
    with pytest.raises(UsageError, match="this is an original"):
        View.of(release, TRUE)


def test_other_values_are_no_longer_the_original() -> None:
    assert type(TRUE.with_values({"age": np.zeros(3)})) is Table


def test_guided_methods_take_an_original() -> None:
    takes = {
        f"{module}.{node.name}": annotations(node)
        for module, node in functions()
        if module.startswith("sfumato.guided")
        and node.name == "perturb"
        and "table"
        in [a.arg for a in node.args.args]  # the methods around clusters are handed scaled numbers by one of these
    }
    assert len(takes) >= 3
    assert all("Original" in words for words in takes.values())
