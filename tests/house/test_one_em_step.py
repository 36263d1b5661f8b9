"""The EM step P ← P ∘ Kᵀ(N/KP) is written once, and a kernel is never passed off as an array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.source import MODULES, SOURCE, TREES, place

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{MODULES[module].relative_to(SOURCE)}:{node.name}", node


def em_steps(function: Function) -> list[str]:
    """Products with a quotient whose denominator is itself a product, local names followed to what they stand for.

    A quotient with a transpose above the line is a curvature, Kᵀ diag(1/q) K, and no step.
    """
    named: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    named.setdefault(target.id, []).append(node.value)

    def meanings(expression: ast.expr, depth: int = 3) -> Iterator[ast.expr]:
        yield expression
        if isinstance(expression, ast.Name) and depth:
            for value in named.get(expression.id, []):
                yield from meanings(value, depth - 1)

    def has_product(expression: ast.expr) -> bool:
        parts = [node for node in ast.walk(expression) if isinstance(node, ast.expr)]
        whole = [meaning for part in parts for meaning in meanings(part)]
        return any(
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            for meaning in whole
            for node in ast.walk(meaning)
        )

    return [
        ast.unparse(node)
        for node in ast.walk(function)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        for side in (node.left, node.right)
        for meaning in meanings(side)
        if isinstance(meaning, ast.BinOp) and isinstance(meaning.op, ast.Div) and has_product(meaning.right)
        if not any(isinstance(part, ast.Attribute) and part.attr == "T" for part in ast.walk(meaning.left))
    ]


def test_the_em_step_is_written_once() -> None:
    assert {name for name, function in functions() if em_steps(function)} == {"reconstruction/em.py:em_step"}


def test_the_search_finds_an_em_step_however_it_is_spelled() -> None:
    spellings = [
        "def f(k, n, p): return p * ((n / np.maximum(p @ k.T, 1e-300)) @ k)",
        "def f(k, n, p):\n    q = np.maximum(k @ p, 1e-300)\n    return p * (k.T @ (n / q))",
        "def f(k, n, p):\n    ratio = n / np.maximum(p @ k.T, 1e-300)\n    return p * (ratio @ k)",
    ]
    for text in spellings:
        function = ast.parse(text).body[0]
        assert isinstance(function, Function)
        assert em_steps(function), text


def test_no_kernel_is_cast_to_an_array() -> None:
    casts = [
        place(module, node.lineno)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast"
    ]
    assert casts == []
