"""The source tree as data, for tests of the house: modules, their imports, their functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import sfumato

SOURCE = Path(sfumato.__file__).parent
ROOT = SOURCE.parent.parent
FACE = "__init__"


def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package by that of its face."""
    out = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("sfumato", *path.relative_to(SOURCE).with_suffix("").parts)
        out[".".join(parts).removesuffix(f".{FACE}")] = path
    return out


MODULES = modules()
ROOMS = {name for name, path in MODULES.items() if path.stem == FACE}
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def imports(name: str) -> Iterator[tuple[str, int]]:
    """Every module of ours that `name` imports, with the line; `from room import module` is an import of that module."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names if a.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in MODULES else node.module), node.lineno


def importers() -> dict[str, set[str]]:
    """For every module, the modules that import it."""
    out: dict[str, set[str]] = defaultdict(set)
    for name in MODULES:
        for other, _ in imports(name):
            if other != name:
                out[other].add(name)
    return out


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function and method, with its module."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield name, node


def place(name: str, line: int) -> str:
    """Where a finding stands, as an editor opens it."""
    return f"{MODULES[name].relative_to(ROOT)}:{line}"
