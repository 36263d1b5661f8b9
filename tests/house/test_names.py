"""Names: functions are verbs, limits say MAX or MIN, and one word means one thing."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.support.source import MODULES, ROOT, TREES, functions, place

PARTICIPLE = re.compile(
    r"_*(?:[a-z]+(?:ed|en)|made|told|dealt|drawn|known|shown|found|kept|left|held|built|sent|bound|laid|lost|thrown|grown|stood|met)"
    r"(?:_(?:by|out|of|up|with|from|in|to|at|along|around|together|apart|again|back|through|for|as|on))?"
)
VERBS_AND_NOUNS = {
    "open",
    "seed",
    "need",
    "token",
    "broaden",
    "flatten",
    "shorten",
    "widen",
    "coarsen",
    "sharpen",
    "listen",
}
"""Words that look like participles and are none."""
LIMIT = re.compile(r"_*(?:MOST|FEWEST|LEAST|LONG|LONGEST|LARGEST|FEW|MANY|ENOUGH|HARDLY)(?:_|$)")


def is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(d) for d in node.decorator_list)


def test_functions_are_verbs() -> None:
    """A participle says what the result is like, not what is done. Properties may: they are what they return."""
    bare = [
        f"{place(module, node.lineno)} {node.name}"
        for module, node in functions()
        if PARTICIPLE.fullmatch(node.name) and node.name.strip("_") not in VERBS_AND_NOUNS and not is_property(node)
    ]
    assert not bare


def test_a_result_is_called_what_it_is() -> None:
    found = [
        place(module, node.lineno)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "found" for t in node.targets)
    ]
    assert not found


def constants(tree: ast.Module) -> list[tuple[str, ast.stmt]]:
    """Names in capitals at the top of a module."""
    out: list[tuple[str, ast.stmt]] = []
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        out += [(name, node) for name in names if name.isupper()]
    return out


def test_a_limit_says_max_or_min() -> None:
    vague = [f"{place(m, n.lineno)} {name}" for m, t in TREES.items() for name, n in constants(t) if LIMIT.match(name)]
    assert not vague


def test_a_number_that_one_function_needs_lives_in_it() -> None:
    outside = used_elsewhere()
    lonely = []
    for module, tree in TREES.items():
        for name, node in constants(tree):
            value = getattr(node, "value", None)
            if name in outside or not isinstance(value, ast.Constant | ast.UnaryOp | ast.BinOp):
                continue
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                continue
            users = [u for u in users_of(name, tree) if u is not node]
            if len(users) == 1 and isinstance(users[0], ast.FunctionDef) and not in_signature(name, users[0]):
                lonely.append(f"{place(module, node.lineno)} {name} serves {users[0].name} alone")
    assert not lonely


def users_of(name: str, tree: ast.Module) -> list[ast.AST]:
    """The functions, methods and statements at the top that read a name."""
    parts: list[ast.AST] = []
    for node in tree.body:
        parts += node.body if isinstance(node, ast.ClassDef) else [node]
    return [p for p in parts if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(p))]


def in_signature(name: str, node: ast.FunctionDef) -> bool:
    defaults = [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None], *node.decorator_list]
    return any(isinstance(n, ast.Name) and n.id == name for d in defaults for n in ast.walk(d))


def used_elsewhere() -> set[str]:
    """Constants that other modules import or reach, tests included."""
    trees = [*TREES.values()]
    for folder in ("tests", "benchmarks"):
        files = [p for p in (ROOT / folder).rglob("*.py") if ".peers" not in p.parts]  # a benchmark's peers live there
        trees += [ast.parse(p.read_text("utf-8")) for p in files]
    out: Counter[str] = Counter()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                out.update(a.name for a in node.names)
            elif isinstance(node, ast.Attribute) and node.attr.isupper():
                out[node.attr] += 1
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isupper():
                out[node.value] += 1
    return set(out)


def test_one_word_means_one_thing() -> None:
    """Words that once had several meanings, and the one place where each may stand."""
    text = {name: path.read_text("utf-8") for name, path in MODULES.items()}
    gone = ("ObservedTable", "GuidedRelease", "CountedRelease", "at_its_word", "Sight.friends")
    assert not [f"{name} {word}" for word in gone for name, source in text.items() if word in source]
