"""The index of formulas names functions and tests that exist."""

from __future__ import annotations

import ast
import re

import pytest
from tests.support.pages import DOCS, ROOT
from tests.support.source import TREES

ROWS = re.findall(
    r"^\| (.+?) \| (.+) \| ([^|]+) \| ([^|]+) \|$", (DOCS / "formulas.md").read_text("utf-8"), re.MULTILINE
)[1:]
FUNCTIONS = sorted({name for row in ROWS for name in re.findall(r"`([\w.]+)", row[2])})
TESTS = sorted({name for row in ROWS for name in re.findall(r"`(tests/[\w/]+\.py)`", row[3])})


def names_in_the_source() -> set[str]:
    """Every module, function, class and method by its dotted path below sfumato."""
    out = set()
    for name, tree in TREES.items():
        module = name.removeprefix("sfumato.")
        out.add(module)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inner = node.body if isinstance(node, ast.ClassDef) else []
                out |= {f"{module}.{node.name}"} | {
                    f"{module}.{node.name}.{n.name}" for n in inner if isinstance(n, ast.FunctionDef)
                }
    return out


NAMES = names_in_the_source()


def test_the_index_was_read() -> None:
    assert len(ROWS) > 30
    assert all(re.search(r"`", row[2]) and re.search(r"`tests/", row[3]) for row in ROWS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_in_the_index_exists_once(name: str) -> None:
    found = [n for n in NAMES if f".{n}".endswith(f".{name}")]
    assert len(found) == 1, f"{name}: {found}; write the path that tells it apart"


@pytest.mark.parametrize("name", TESTS)
def test_a_test_in_the_index_exists(name: str) -> None:
    assert (ROOT / name).exists()
